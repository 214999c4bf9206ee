//! Random games under all options, with people resigning, leaving and coming back, beside the
//! naive reference.

use mancala_server::engine::{Action, ActionError, EndReason, Game, Position, Record, Seat};

use crate::naive::{Naive, Story};
use crate::random::Random;

const GAMES: u64 = 100_000;
/// Checking a snapshot after every event costs more than playing; a part of the games does.
const SNAPSHOT_EVERY: u64 = 10;

struct Play {
    game: Game,
    record: Record,
    naive: Naive,
    stones: u16,
    snapshots: bool,
}

impl Play {
    fn new(seed: u64, random: &mut Random) -> Self {
        let rules = random.rules();
        let starter = Seat::ALL[random.below(usize::from(rules.players()))];
        let ranked = random.chance(2);
        let game = Game::new(rules, starter, ranked).unwrap();
        Self {
            stones: game.position().total(),
            game,
            record: Record { rules, starter, ranked, events: Vec::new() },
            naive: Naive::start(rules, starter.index()),
            snapshots: seed.is_multiple_of(SNAPSHOT_EVERY),
        }
    }

    fn step(&mut self, random: &mut Random, one_departure_in: usize) {
        if random.chance(one_departure_in) {
            let action = random.pick(&[Action::Resign, Action::Leave, Action::Leave, Action::Return]);
            self.depart(Seat::ALL[random.below(self.naive.resigned.len())], action);
        } else {
            let legal: Vec<u8> = self.game.position().legal().collect();
            assert!(!legal.is_empty(), "a running game has a legal move");
            self.sow(random.pick(&legal));
        }
        assert_eq!(self.game.position().total(), self.stones);
        assert_eq!(self.game.is_over(), self.game.position().to_move().is_none());
        self.naive.assert_same(self.game.position());
        if self.snapshots {
            let record = &self.record;
            let restored = Game::restore(record.rules, record.ranked, &self.game.snapshot());
            assert_eq!(restored.as_ref(), Ok(&self.game));
        }
    }

    fn depart(&mut self, seat: Seat, action: Action) {
        let before = self.game.clone();
        match self.game.apply(seat, action) {
            Err(error) => {
                assert_ne!(error, ActionError::GameOver);
                assert_eq!(self.game, before, "an error changes nothing");
            }
            Ok(applied) => {
                self.record.events.push((seat, action));
                self.naive.forfeiting[seat.index()] = self.record.ranked && action == Action::Leave;
                if action == Action::Resign {
                    self.naive.resigned[seat.index()] = true;
                    let ends = self.naive.stayers_without_a_place() <= 1;
                    assert_eq!(applied.ended, ends);
                    assert_eq!(self.game.end(), ends.then_some(EndReason::Resigned));
                    if ends {
                        self.naive.to_move = None;
                    }
                }
            }
        }
    }

    fn sow(&mut self, pit: u8) {
        let seat = self.game.position().to_move().unwrap();
        let mut position: Position = *self.game.position();
        let sown = position.sow(pit).unwrap();
        let applied = self.game.apply(seat, Action::Move { pit }).unwrap();
        let sowing = applied.sowing.unwrap();
        assert_eq!(&position, self.game.position());
        assert_eq!(position, sowing.position);
        assert_eq!(sown.extra, sowing.extra);
        assert_eq!(sown.over, sowing.ends_game);
        assert_eq!(sown.over, applied.ended);
        assert_eq!(sown.finished, sowing.finished.first().copied());
        assert_eq!(Some(sown.last), sowing.path.last().copied());
        assert_eq!(sown.captured, sowing.captured.iter().map(|(_, stones)| stones).sum::<u8>());
        assert_eq!(self.naive.sow(usize::from(pit)), Story::of(&sowing));
        self.record.events.push((seat, Action::Move { pit }));
    }

    fn check_end(&self) {
        let record = &self.record;
        assert_eq!(record.replay().as_ref(), Ok(&self.game));
        assert_eq!(record.to_string().parse().as_ref(), Ok(record));
        let places: Vec<u8> = self.game.places().into_iter().map(Option::unwrap).collect();
        assert_eq!(places, self.naive.places(record), "{record}");
        for place in &places {
            let better = places.iter().filter(|other| *other < place).count();
            assert_eq!(usize::from(*place), better + 1, "{places:?} is no ranking");
        }
        let resigned = record.events.iter().filter(|(_, action)| *action == Action::Resign);
        for (seat, _) in resigned {
            let place = places[seat.index()];
            assert_eq!(places.iter().filter(|other| **other == place).count(), 1);
        }
    }
}

#[test]
fn random_games_agree_with_the_naive_reference_and_with_their_own_records() {
    for seed in 0..GAMES {
        let mut random = Random::new(seed);
        let mut play = Play::new(seed, &mut random);
        let one_departure_in = random.pick(&[15, 60, 1_000_000]);
        let mut known = play.game.places();
        while !play.game.is_over() {
            play.step(&mut random, one_departure_in);
            let places = play.game.places();
            for (before, now) in known.iter().zip(&places) {
                assert!(before.is_none() || before == now, "a known place changed: {}", play.record);
            }
            known = places;
        }
        play.check_end();
    }
}
