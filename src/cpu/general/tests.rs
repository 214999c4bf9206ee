//! The search against a plain full-width minimax, and what it promises of itself.

use std::cell::Cell;

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

/// The rivals that the root seat of a game of Basic with full ranking ends before, less those behind which it ends, and
/// the margin, with everybody else against it; `None` if that takes more than the positions that are left.
fn plain_place(position: &Position, root: Seat, left: &mut u32) -> Option<(i32, i16)> {
    *left = left.checked_sub(1)?;
    if position.is_out(root) || position.to_move().is_none() {
        let others = position.seats().filter(|&seat| seat != root);
        let place =
            others.map(|other| if position.is_out(root) && !position.is_out(other) { 1 } else { -1 }).sum();
        return Some((place, margin(position, root)));
    }
    let mut ends = Vec::new();
    for pit in position.legal() {
        ends.push(plain_place(&after(*position, pit), root, left)?);
    }
    if position.to_move() == Some(root) { ends.into_iter().max() } else { ends.into_iter().min() }
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
    let (mut exact, mut not, mut won) = (0, 0, 0);
    for _ in 0..20 {
        for rules in (2..=4).flat_map(every_rules) {
            let position = random_position(&mut rng, rules, 9);
            let root = position.to_move().unwrap();
            let analysis = analyse(&position, 3, &|| true).unwrap();
            assert!(analysis.depth <= 3);
            if analysis.moves.iter().any(|found| found.exact && found.value > 0)
                && let Some(value) = plain(&after(position, analysis.best), root, &mut 20_000)
            {
                assert!(value > 0, "an estimate goes before a certain win: {position:?} {analysis:?}");
                won += 1;
            }
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
    assert!(exact > 300 && not > 300 && won > 50, "{exact} exact, {not} not, {won} won");
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
                assert!(pits.contains(&choice.pit));
                // Playouts go to the end of the game.
                assert!(choice.depth <= turns || (turns == 14 && rules.players() > 2));
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
fn playouts_find_what_puts_a_seat_ahead_of_all_others() {
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    let (mut found, mut compared) = (0, 0);
    for round in 0..80 {
        let several = |rules: &Rules| rules.players() > 2 && rules.full_ranking() != Some(true);
        for rules in (2..=4).flat_map(every_rules).filter(several) {
            let position = random_position(&mut rng, rules, 5 + round % 6);
            let root = position.to_move().unwrap();
            let margin = |pit| Some((pit, plain(&after(position, pit), root, &mut 20_000)?));
            let Some(margins) = position.legal().map(margin).collect::<Option<Vec<_>>>() else { continue };
            // Certainly ahead with some pits, certainly not with others, whatever the others do.
            if !margins.iter().any(|(_, margin)| *margin > 0) || margins.iter().all(|(_, margin)| *margin > 0)
            {
                continue;
            }
            let left = Cell::new(12);
            let go_on = || left.replace(left.get() - 1) > 0;
            let pits: Vec<u8> = position.legal().collect();
            let choice = choose(&position, &pits, 14, round.into(), &go_on).unwrap();
            found += u32::from(margins.iter().any(|&(pit, margin)| pit == choice.pit && margin > 0));
            compared += 1;
        }
    }
    assert!(compared > 300 && found * 100 >= compared * 97, "{found} of {compared}");
}

#[test]
fn no_value_is_more_than_the_stones_on_the_board() {
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    let mut estimates = 0;
    for round in 0..12 {
        for rules in (1..=7).flat_map(every_rules) {
            let most = 250 - 4 * u32::from(rules.players());
            let stones = [4, 8, 24, 72, 120, most][round % 6];
            let position = random_position(&mut rng, rules, stones);
            let in_pits: u16 = position.seats().map(|seat| position.on_side(seat)).sum();
            let on_board = if rules.variant() == Variant::Basic { in_pits } else { position.total() };
            for (turns, patience) in [(0, 0), (1, 9), (5, 0), (5, 1)] {
                let left = Cell::new(patience);
                let go_on = || left.replace(left.get() - 1) > 0;
                let analysis = analyse(&position, turns, &go_on).unwrap();
                for found in &analysis.moves {
                    assert!(found.value.unsigned_abs() <= on_board, "{found:?} {position:?}");
                    estimates += u32::from(!found.exact);
                }
            }
        }
    }
    assert!(estimates > 10_000, "{estimates}");
}

#[test]
fn with_full_ranking_the_best_place_is_found_and_its_margin_told() {
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    let (mut exact, mut best_places, mut between) = (0, 0, 0);
    for round in 0..200 {
        let ranked = |rules: &Rules| rules.full_ranking() == Some(true);
        for rules in (1..=6).flat_map(every_rules).filter(ranked) {
            let position = random_position(&mut rng, rules, 4 + round % 8);
            let root = position.to_move().unwrap();
            let mut left = 20_000;
            let plainly: Option<Vec<_>> =
                position.legal().map(|pit| plain_place(&after(position, pit), root, &mut left)).collect();
            let Some(plainly) = plainly else { continue };
            let turns = if round % 2 == 0 { u8::MAX } else { 3 };
            let analysis = analyse(&position, turns, &|| true).unwrap();
            for (found, (_, margin)) in analysis.moves.iter().zip(&plainly).filter(|(found, _)| found.exact) {
                assert_eq!(found.value, *margin, "{position:?}");
                exact += 1;
            }
            if analysis.exact {
                let chosen = position.legal().position(|pit| pit == analysis.best).unwrap();
                let best = *plainly.iter().max().unwrap();
                assert_eq!(plainly[chosen], best, "{position:?}");
                best_places += 1;
                between += u32::from(best.1 == 0 && plainly.iter().any(|end| end.1 == 0 && end.0 < best.0));
            }
        }
    }
    assert!(exact > 1_500 && best_places > 1_000 && between > 5, "{exact}, {best_places}, {between}");
}
