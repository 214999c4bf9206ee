//! Computer players: which pit a level plays. Pure: the seed and the budget are given, the clock is only read
//! against the budget.

mod evaluation;
mod search;

use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::engine::Position;

/// How well a computer player plays (`docs/rules.md`, "Computer players").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Looks one move ahead, and four times in ten plays at random.
    Easy,
    /// Looks five moves ahead.
    Medium,
    /// Looks up to fourteen moves ahead, as far as its time allows.
    Hard,
    /// Never gives away a result of two-player Kalah.
    Perfect,
}

impl Level {
    /// Every level, weakest first.
    pub const ALL: [Self; 4] = [Self::Easy, Self::Medium, Self::Hard, Self::Perfect];

    /// The name by which the level travels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Easy => "easy",
            Self::Medium => "medium",
            Self::Hard => "hard",
            Self::Perfect => "perfect",
        }
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A level that does not exist.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown level; expected easy, medium, hard or perfect")]
pub struct UnknownLevel;

impl std::str::FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(s: &str) -> Result<Self, UnknownLevel> {
        Self::ALL.into_iter().find(|level| level.as_str() == s).ok_or(UnknownLevel)
    }
}

/// The pit that `level` plays for the seat to move; `None` only when the game is over.
///
/// The same position, seed and level give the same pit, as long as `time` does not cut the search short
/// (`easy` and `medium` hardly need it). Thinks for at most about `time`; meant for a thread of its own.
pub fn choose(level: Level, position: &Position, seed: u64, time: Duration) -> Option<u8> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut pits: Vec<u8> = position.legal().collect();
    // Equal moves are told apart by chance, so that games differ.
    for i in (1..pits.len()).rev() {
        pits.swap(i, rng.random_range(0..=i));
    }
    let first = *pits.first()?;
    if pits.len() == 1 || (level == Level::Easy && rng.random_range(0..10) < 4) {
        return Some(first);
    }
    let depths = match level {
        Level::Easy => 1..=1,
        Level::Medium => 1..=5,
        Level::Hard | Level::Perfect => 1..=14,
    };
    let deadline = Instant::now() + time;
    let mut best = first;
    for depth in depths {
        match search::best_pit(position, &pits, depth, deadline) {
            Some(pit) => best = pit,
            None => break,
        }
        // The next depth looks at the best pit first: it cuts most.
        pits.sort_by_key(|&p| p != best);
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::{Level, choose};
    use crate::engine::{Position, Rules, RulesRequest, Seat, Variant};
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    fn start(variant: Variant, players: u8) -> Position {
        let rules = Rules::effective(variant, players, &RulesRequest::default()).unwrap();
        Position::start(rules, Seat::new(0).unwrap()).unwrap()
    }

    #[test]
    fn every_level_plays_legal_moves_to_the_end_of_every_game() {
        for (variant, players) in
            [(Variant::Kalah, 2), (Variant::Kalah, 4), (Variant::Basic, 2), (Variant::Basic, 3)]
        {
            for level in [Level::Easy, Level::Medium] {
                let mut position = start(variant, players);
                let mut sowings = 0;
                while let Some(pit) = choose(level, &position, sowings, SECOND) {
                    position.sow(pit).unwrap();
                    sowings += 1;
                    assert!(sowings < 2_000, "{variant} for {players} does not end");
                }
                assert_eq!(position.to_move(), None);
            }
        }
    }

    #[test]
    fn the_same_seed_plays_the_same_pit() {
        let position = start(Variant::Kalah, 2);
        for seed in 0..50 {
            assert_eq!(
                choose(Level::Easy, &position, seed, SECOND),
                choose(Level::Easy, &position, seed, SECOND)
            );
        }
    }

    #[test]
    fn easy_is_not_always_the_same() {
        let position = start(Variant::Kalah, 2);
        let pits: std::collections::HashSet<_> =
            (0..50).map(|seed| choose(Level::Easy, &position, seed, SECOND)).collect();
        assert!(pits.len() > 1);
    }

    #[test]
    fn medium_beats_easy_in_most_games() {
        let mut won = 0;
        for game in 0..40_u64 {
            let mut position = start(Variant::Kalah, 2);
            let medium = Seat::new(u8::from(game % 2 == 1)).unwrap();
            let mut sowings = game << 32;
            while let Some(seat) = position.to_move() {
                let level = if seat == medium { Level::Medium } else { Level::Easy };
                position.sow(choose(level, &position, sowings, SECOND).unwrap()).unwrap();
                sowings += 1;
            }
            let other = Seat::new(u8::from(game % 2 == 0)).unwrap();
            won += u32::from(position.store(medium) > position.store(other));
        }
        assert!(won >= 32, "medium won {won} of 40");
    }
}
