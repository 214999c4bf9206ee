//! The search against a plain full-width minimax, and what it promises of itself.

use std::cell::Cell;
use std::cmp::Reverse;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{analyse, choose};
use crate::engine::{Action, CaptureFrom, Game, Position, Rules, RulesRequest, Seat, Setup, Variant};

/// Every combination of options that positions can have with `pits` a side.
fn every_rules(pits: u8) -> Vec<Rules> {
    let mut all = Vec::new();
    for variant in Variant::ALL {
        for players in 2..=4 {
            for capture_from in CaptureFrom::ALL {
                for on in [false, true] {
                    let asked = RulesRequest {
                        capture_from: Some(capture_from),
                        capture_empty: Some(on),
                        full_ranking: Some(on),
                        ..RulesRequest::default()
                    };
                    let rules = Rules::for_position(variant, players, pits, &asked).unwrap();
                    if !all.contains(&rules) {
                        all.push(rules);
                    }
                }
            }
        }
    }
    all
}

/// A position with about `stones` stones in pits and a few in stores; somebody may be out where that can be.
fn random_position(rng: &mut Pcg64Mcg, rules: Rules, stones: u32) -> Position {
    let seats = usize::from(rules.players());
    let mut out = vec![false; seats];
    if rules.full_ranking() == Some(true) && rng.random_range(0..3) == 0 {
        out[rng.random_range(0..seats)] = true;
    }
    let on_board: Vec<usize> = (0..seats).filter(|&seat| !out[seat]).collect();
    let mut pits = vec![vec![0; usize::from(rules.pits())]; seats];
    let mut drop = |seat: usize, rng: &mut Pcg64Mcg| {
        pits[seat][rng.random_range(0..usize::from(rules.pits()))] += 1;
    };
    for &seat in &on_board {
        drop(seat, rng);
    }
    for _ in on_board.len()..usize::try_from(stones).unwrap() {
        drop(on_board[rng.random_range(0..on_board.len())], rng);
    }
    let stores = (0..seats).map(|_| rng.random_range(0..4)).collect();
    let to_move = Seat::new(u8::try_from(on_board[rng.random_range(0..on_board.len())]).unwrap());
    Position::from_setup(&Setup { rules, pits, stores, out, to_move }).unwrap()
}

/// The end as the root seat sees it: whether it is ahead or behind, and the margin.
fn margin(position: &Position, root: Seat) -> i16 {
    let score = |seat| match position.rules().variant() {
        Variant::Kalah => i16::from(position.store(seat)),
        Variant::Basic => -position.pits(seat).iter().map(|&stones| i16::from(stones)).sum::<i16>(),
    };
    score(root) - position.seats().filter(|&seat| seat != root).map(score).max().unwrap()
}

/// The margin that the root seat gets with everybody else against it, by trying everything; `None` if that takes more
/// than the positions that are left.
fn plain(position: &Position, root: Seat, left: &mut u32) -> Option<i16> {
    *left = left.checked_sub(1)?;
    if position.to_move().is_none() || position.is_out(root) {
        return Some(margin(position, root));
    }
    let mut values = Vec::new();
    for pit in position.legal() {
        let mut next = *position;
        next.sow(pit).unwrap();
        values.push(plain(&next, root, left)?);
    }
    if position.to_move() == Some(root) { values.into_iter().max() } else { values.into_iter().min() }
}

fn after(mut position: Position, pit: u8) -> Position {
    position.sow(pit).unwrap();
    position
}

#[test]
fn exact_values_are_those_of_a_plain_minimax() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut compared = 0;
    for round in 0..40 {
        for rules in (1..=4).flat_map(every_rules) {
            let position = random_position(&mut rng, rules, 3 + round % 6);
            let root = position.to_move().unwrap();
            let mut left = 20_000;
            let plainly: Option<Vec<i16>> =
                position.legal().map(|pit| plain(&after(position, pit), root, &mut left)).collect();
            let Some(plainly) = plainly else { continue };
            let analysis = analyse(&position, u8::MAX, &|| true).unwrap();
            let found: Vec<i16> = analysis.moves.iter().map(|found| found.value).collect();
            assert_eq!(found, plainly, "{position:?}");
            assert!(analysis.exact && analysis.moves.iter().all(|found| found.exact), "{position:?}");
            let best = position.legal().zip(&plainly).max_by_key(|(pit, value)| (**value, *pit)).unwrap();
            let chosen = position.legal().zip(&plainly).find(|(pit, _)| *pit == analysis.best).unwrap();
            assert_eq!(chosen.1, best.1, "{position:?}");
            compared += 1;
        }
    }
    assert!(compared > 2_000, "{compared}");
}

#[test]
fn what_is_called_exact_is_so_after_a_search_of_few_turns_too() {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let (mut exact, mut not) = (0, 0);
    for _ in 0..20 {
        for rules in (2..=4).flat_map(every_rules) {
            let position = random_position(&mut rng, rules, 9);
            let root = position.to_move().unwrap();
            let analysis = analyse(&position, 3, &|| true).unwrap();
            assert!(analysis.depth <= 3);
            for found in &analysis.moves {
                if !found.exact {
                    not += 1;
                    continue;
                }
                if let Some(value) = plain(&after(position, found.pit), root, &mut 20_000) {
                    assert_eq!(found.value, value, "{position:?}");
                    exact += 1;
                }
            }
        }
    }
    assert!(exact > 300 && not > 300, "{exact} exact, {not} not");
}

#[test]
fn lines_are_legal_and_lead_to_the_value_when_they_reach_the_end() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    let mut ended = 0;
    for _ in 0..10 {
        for rules in (1..=7).flat_map(every_rules) {
            let position = random_position(&mut rng, rules, 10);
            let root = position.to_move().unwrap();
            let analysis = analyse(&position, 6, &|| true).unwrap();
            assert_eq!(analysis.line.first(), Some(&analysis.best));
            let end = analysis.line.iter().fold(position, |position, &pit| after(position, pit));
            let best = analysis.moves.iter().find(|found| found.pit == analysis.best).unwrap();
            if best.exact && (end.to_move().is_none() || end.is_out(root)) {
                assert_eq!(margin(&end, root), best.value, "{position:?} {analysis:?}");
                ended += 1;
            }
        }
    }
    assert!(ended > 200, "{ended}");
}

#[test]
fn every_level_s_turns_give_a_legal_pit_in_every_position() {
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    for round in 0..12 {
        for rules in (1..=7).flat_map(every_rules) {
            let most = 250 - 4 * u32::from(rules.players());
            let stones = [4, 12, 30, 60, 120, most][round % 6];
            let position = random_position(&mut rng, rules, stones.max(4));
            let pits: Vec<u8> = position.legal().collect();
            for (turns, patience) in [(1, 20), (5, 20), (14, 4), (14, 0)] {
                let left = Cell::new(patience);
                let go_on = || {
                    let had = left.get();
                    left.set(had - 1);
                    had > 0
                };
                let choice = choose(&position, &pits, turns, 5, &go_on).unwrap();
                assert!(pits.contains(&choice.pit) && choice.depth <= turns);
                assert!(left.get() >= -1, "asked again after the answer was no");
                assert!(choice.nodes < 4_096 * (u64::try_from(patience).unwrap() + 1), "{}", choice.nodes);
                let analysis = analyse(&position, turns, &|| false).unwrap();
                let analysed: Vec<u8> = analysis.moves.iter().map(|found| found.pit).collect();
                assert_eq!(analysed, pits);
            }
        }
    }
}

#[test]
fn games_with_resigned_seats_are_played_on() {
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    for rules in [4, 6].into_iter().flat_map(every_rules).filter(|rules| rules.players() > 2) {
        let mut game = Game::new(rules, Seat::ALL[0], false).unwrap();
        let resigner = Seat::new(rng.random_range(0..rules.players())).unwrap();
        let at = rng.random_range(0..20);
        for sowing in 0.. {
            let Some(seat) = game.position().to_move() else { break };
            if sowing == at && !game.position().is_out(resigner) {
                game.apply(resigner, Action::Resign).unwrap();
            }
            let pits: Vec<u8> = game.position().legal().collect();
            let choice = choose(game.position(), &pits, 2, sowing, &|| true).unwrap();
            game.apply(seat, Action::Move { pit: choice.pit }).unwrap();
            assert!(sowing < 3_000, "the game does not end");
        }
    }
}

#[test]
fn the_same_seed_finds_the_same_as_often_as_it_is_asked() {
    let mut rng = Pcg64Mcg::seed_from_u64(6);
    for rules in [1, 4, 6].into_iter().flat_map(every_rules) {
        let position = random_position(&mut rng, rules, 20);
        let pits: Vec<u8> = position.legal().collect();
        let first = choose(&position, &pits, 3, 7, &|| true);
        assert_eq!(choose(&position, &pits, 3, 7, &|| true), first);
        assert_eq!(analyse(&position, 3, &|| true), analyse(&position, 3, &|| true));
    }
}

#[test]
fn a_won_game_is_won_even_if_more_stones_beckon() {
    // Basic: seat 0 can finish now. Kalah: a capture decides, while another move only gains.
    for (variant, own, other) in
        [(Variant::Basic, [0, 0, 1], [1, 0, 0]), (Variant::Kalah, [0, 0, 1], [0, 0, 2])]
    {
        let rules = Rules::for_position(variant, 2, 3, &RulesRequest::default()).unwrap();
        let setup = Setup {
            rules,
            pits: vec![own.to_vec(), other.to_vec()],
            stores: vec![6, 4],
            out: vec![false; 2],
            to_move: Seat::new(0),
        };
        let position = Position::from_setup(&setup).unwrap();
        let analysis = analyse(&position, 14, &|| true).unwrap();
        let best = analysis.moves.iter().max_by_key(|found| (found.value, Reverse(found.pit))).unwrap();
        assert!(best.exact && best.value > 0, "{analysis:?}");
    }
}
