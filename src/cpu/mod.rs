//! Computer players and exact search. Pure: seeds are given, and so is the patience: `go_on` is asked every fraction of
//! a millisecond whether to search on, so that the caller's clock (or anything else) ends a search.

mod general;
pub mod kalah;
mod level;

pub use level::{Level, UnknownLevel};

use std::sync::{Arc, OnceLock};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::engine::Position;
use kalah::Kalah;

/// How many turns `hard` looks ahead in the opening of two-player Kalah.
const OPENING_TURNS: u8 = 10;

/// What a level plays, and what it took to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The pit, which is legal.
    pub pit: u8,
    /// How many turns ahead the search looked through completely; where it played games to their end instead, how many
    /// the line has that it tried most.
    pub depth: u8,
    /// How many positions were searched.
    pub nodes: u64,
}

/// What a search has found out about a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// Every legal move, by pit.
    pub moves: Vec<MoveValue>,
    /// The pit of the best move. In Kalah between two it is the one of the greatest value. Elsewhere it need not be: a
    /// place goes before stones, and what is certain before what is hoped for. So a proven win by one stone is better
    /// than an estimate of ten, and in Basic with full ranking, where all but the first and the last end with a margin
    /// of 0, the better place is. Where every value is exact, none is greater than that of the best move.
    pub best: u8,
    /// The pits of best play by all sides from the position on, sowing by sowing; the first is `best`.
    pub line: Vec<u8>,
    /// How many turns ahead all moves were looked through, before what is exact was searched to the end of the game.
    pub depth: u8,
    /// How many positions were searched.
    pub nodes: u64,
    /// Whether the value of every move is exact.
    pub exact: bool,
}

/// What a move is worth to the seat that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveValue {
    /// The pit that is sown.
    pub pit: u8,
    /// In stones, more is better, and never more than there are on the board. Kalah: the margin at the end, own store
    /// minus the best other one. Basic: stones left on the best other side, which is the emptiest, minus own, when the
    /// game or the seat's part in it ends. A side that has left the board has no stones left, so that with full ranking
    /// only the first seat ends above 0 and only the last one below. Others that have resigned do not count.
    pub value: i16,
    /// Whether `value` is what best play leads to, and not an estimate.
    pub exact: bool,
}

/// How much memory the tables of two-player Kalah may take. It is taken when such a game is first searched, by each
/// number of pits with and without `capture_empty` for itself, and 16 MB more.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Bytes for the values of small positions with six pits, by the usual rules: 87 million for 18 stones.
    pub usual: usize,
    /// Bytes for those by each of the 13 other rules.
    pub others: usize,
    /// Proofs that are kept by the usual rules, as log2 of their number; each takes eight bytes.
    pub usual_proofs: u32,
    /// The same by each of the other rules.
    pub other_proofs: u32,
}

impl Memory {
    /// For hard positions one at a time: 87 MB and 512 MB.
    pub const PATIENT: Self =
        Self { usual: 87_000_000, others: 87_000_000, usual_proofs: 26, other_proofs: 26 };

    /// For a server: so many million bytes at most for small positions, and 34 MB for the proofs by the usual rules.
    /// With 100 these have all positions of up to 18 stones.
    pub const fn server(megabytes: u16) -> Self {
        let hundredth = megabytes as usize * 10_000;
        Self { usual: 87 * hundredth, others: hundredth, usual_proofs: 22, other_proofs: 21 }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::server(100)
    }
}

/// The computer players of one process with the tables that they share. Searches may run on several threads at once.
pub struct Computers {
    memory: Memory,
    /// By pits a side less one, without and with `capture_empty`.
    kalah: [[OnceLock<Arc<Kalah>>; 2]; 7],
}

impl Default for Computers {
    fn default() -> Self {
        Self::new(Memory::default())
    }
}

impl Computers {
    /// Players whose tables take at most that memory.
    pub fn new(memory: Memory) -> Self {
        Self { memory, kalah: Default::default() }
    }

    /// What is known of two-player Kalah by the rules of `position`, if it is a running game of that.
    fn kalah(&self, position: &Position) -> Option<&Arc<Kalah>> {
        let stones = Kalah::stones(position)?;
        let (pits, takes_lone_stone) = (position.rules().pits(), position.rules().takes_lone_stone());
        let kalah = self.kalah[usize::from(pits) - 1][usize::from(takes_lone_stone)].get_or_init(|| {
            let Memory { usual, others, usual_proofs, other_proofs } = self.memory;
            let (bytes, proofs) = match (pits, takes_lone_stone) {
                (6, false) => (usual, usual_proofs),
                _ => (others, other_proofs),
            };
            Arc::new(Kalah::new(pits, takes_lone_stone, bytes, proofs).with_openings())
        });
        kalah.fill(stones);
        Some(kalah)
    }

    /// The pit that `level` plays for the seat to move; `None` only when the game is over.
    ///
    /// The same position, seed and level give the same pit, as long as `go_on` does not cut the search short
    /// (`easy` and `medium` hardly need it) and, for `hard` and `perfect`, earlier searches have left the same in the
    /// tables. Meant for a thread of its own, but `Easy` takes no time.
    pub fn choose(
        &self,
        level: Level,
        position: &Position,
        seed: u64,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Choice> {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut pits: Vec<u8> = position.legal().collect();
        // Equal moves are told apart by chance, so that games differ.
        for i in (1..pits.len()).rev() {
            pits.swap(i, rng.random_range(0..=i));
        }
        let first = *pits.first()?;
        if pits.len() == 1 || (level == Level::Easy && rng.random_range(0..10) < 4) {
            return Some(Choice { pit: first, depth: 0, nodes: 0 });
        }
        let kalah = if level >= Level::Hard { self.kalah(position) } else { None };
        match kalah {
            Some(kalah) if level == Level::Perfect => kalah.perfect(position, &pits, go_on),
            Some(_) if Kalah::is_opening(position) => {
                general::choose(position, &pits, OPENING_TURNS, seed, go_on)
            }
            Some(kalah) => kalah.hard(position, &pits, go_on),
            None => general::choose(position, &pits, level.turns(), seed, go_on),
        }
    }

    /// Forgets the tables of all other rules than those of `position`: enough for positions one after the other.
    pub fn keep_only(&mut self, position: &Position) {
        let rules = position.rules();
        for (pits, tables) in (1..).zip(&mut self.kalah) {
            for (takes_lone_stone, table) in [false, true].into_iter().zip(tables) {
                if (pits, takes_lone_stone) != (rules.pits(), rules.takes_lone_stone()) {
                    table.take();
                }
            }
        }
    }

    /// The best pit by looking exactly `turns` ahead, with neither proofs nor opening data: in two-player Kalah on
    /// packed boards if `packed`, else as in all other games. For measuring.
    pub fn look_ahead(&self, position: &Position, turns: u8, packed: bool) -> Option<Choice> {
        let pits: Vec<u8> = position.legal().collect();
        match self.kalah(position).filter(|_| packed) {
            Some(kalah) => kalah.look_ahead(position, &pits, turns),
            None => general::choose(position, &pits, turns, 0, &|| true),
        }
    }

    /// The value of every legal move, as far as `go_on` allows; `None` when the game is over.
    pub fn analyse(&self, position: &Position, go_on: &dyn Fn() -> bool) -> Option<Analysis> {
        match self.kalah(position) {
            Some(kalah) => kalah.analyse(position, go_on),
            // As far as there is time, or to the end.
            None => general::analyse(position, u8::MAX, go_on),
        }
    }

    /// The exact margin of a game of two-player Kalah for the seat to move, own store minus the other's at the end
    /// under best play; `None` when it was not found before `go_on` said no, in every other game, and when the game
    /// is over.
    pub fn margin(&self, position: &Position, go_on: &dyn Fn() -> bool) -> Option<i16> {
        self.kalah(position)?.margin(position, go_on)
    }
}

#[cfg(test)]
mod tests {
    use super::{Computers, Level};
    use crate::engine::{Position, Rules, RulesRequest, Seat, Variant};

    fn choose(level: Level, position: &Position, seed: u64) -> Option<u8> {
        Computers::default().choose(level, position, seed, &|| true).map(|choice| choice.pit)
    }

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
                while let Some(pit) = choose(level, &position, sowings) {
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
            assert_eq!(choose(Level::Easy, &position, seed), choose(Level::Easy, &position, seed));
        }
    }

    #[test]
    fn easy_is_not_always_the_same() {
        let position = start(Variant::Kalah, 2);
        let pits: std::collections::HashSet<_> =
            (0..50).map(|seed| choose(Level::Easy, &position, seed)).collect();
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
                position.sow(choose(level, &position, sowings).unwrap()).unwrap();
                sowings += 1;
            }
            let other = Seat::new(u8::from(game % 2 == 0)).unwrap();
            won += u32::from(position.store(medium) > position.store(other));
        }
        assert!(won >= 32, "medium won {won} of 40");
    }
}
