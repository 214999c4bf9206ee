//! The packed search against the engine and against a plain minimax.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::board::{Board, Sower};
use super::table::{Bounds, Estimate, Table};
use super::{Kalah, Task, book, openings};
use crate::engine::{Position, Rules, RulesRequest, Seat, Setup, Variant};

fn rules(pits: u8, capture_empty: bool) -> Rules {
    let asked = RulesRequest { capture_empty: Some(capture_empty), ..RulesRequest::default() };
    Rules::for_position(Variant::Kalah, 2, pits, &asked).unwrap()
}

fn position(own: &[u8], other: &[u8], stores: [u8; 2], capture_empty: bool) -> Position {
    let setup = Setup {
        rules: rules(u8::try_from(own.len()).unwrap(), capture_empty),
        pits: vec![own.to_vec(), other.to_vec()],
        stores: stores.to_vec(),
        out: vec![false; 2],
        to_move: Seat::new(0),
    };
    Position::from_setup(&setup).unwrap()
}

fn start(pits: usize, stones: u8, capture_empty: bool) -> Position {
    position(&vec![stones; pits], &vec![stones; pits], [0, 0], capture_empty)
}

/// A running position with `stones` in pits that lie anywhere.
fn random(rng: &mut Pcg64Mcg, pits: usize, stones: u8, capture_empty: bool) -> Position {
    loop {
        let mut sides = [vec![0; pits], vec![0; pits]];
        for _ in 0..stones {
            sides[rng.random_range(0..2)][rng.random_range(0..pits)] += 1;
        }
        if sides.iter().all(|side| side.iter().any(|&stones| stones > 0)) {
            return position(
                &sides[0],
                &sides[1],
                [rng.random_range(0..20), rng.random_range(0..20)],
                capture_empty,
            );
        }
    }
}

fn kalah(pits: u8, capture_empty: bool) -> Arc<Kalah> {
    let kalah = Arc::new(Kalah::new(pits, capture_empty, 300_000, 20));
    while kalah.small.fill_next(&kalah.sower) {}
    kalah
}

/// The margin at the end for the seat to move, by trying everything.
fn minimax(position: &Position, known: &mut HashMap<Position, i16>) -> i16 {
    let Some(mover) = position.to_move() else { unreachable!("only running games") };
    if let Some(&value) = known.get(position) {
        return value;
    }
    let best = position.legal().map(|pit| after(position, mover, pit, known)).max().unwrap();
    known.insert(*position, best);
    best
}

fn after(position: &Position, mover: Seat, pit: u8, known: &mut HashMap<Position, i16>) -> i16 {
    let mut next = *position;
    next.sow(pit).unwrap();
    match next.to_move() {
        None => {
            let other = position.seats().find(|&seat| seat != mover).unwrap();
            i16::from(next.store(mover)) - i16::from(next.store(other))
        }
        Some(seat) if seat == mover => minimax(&next, known),
        Some(_) => -minimax(&next, known),
    }
}

#[test]
fn a_packed_sowing_is_the_engines() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    for round in 0..20_000 {
        let (pits, capture_empty) = (1 + round % 7, round % 2 == 0);
        let sower = Sower::new(u8::try_from(pits).unwrap(), capture_empty);
        let stones = rng.random_range(2..60);
        let position = random(&mut rng, pits, stones, capture_empty);
        let board = Board::of(&position).unwrap();
        for pit in position.legal() {
            let sown = sower.sow(board, pit);
            let mut next = position;
            let really = next.sow(pit).unwrap();
            let (own, other) = (Seat::new(0).unwrap(), Seat::new(1).unwrap());
            assert_eq!(sown.board.is_over(), really.over, "{position:?} {pit}");
            if really.over {
                let lead = i32::from(position.store(own)) - i32::from(position.store(other));
                let margin = i32::from(next.store(own)) - i32::from(next.store(other));
                assert_eq!(lead + sown.gain + sown.board.lead(), margin);
            } else {
                assert_eq!(sown.extra, really.extra, "{position:?} {pit}");
                assert_eq!(Board::of(&next).unwrap(), sown.next(), "{position:?} {pit}");
                assert_eq!(i32::from(next.store(own)) - i32::from(position.store(own)), sown.gain);
            }
        }
    }
}

#[test]
fn small_positions_have_the_value_of_a_plain_minimax() {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    for (pits, stones, capture_empty) in [
        (1, 9, false),
        (2, 9, true),
        (3, 9, false),
        (4, 8, true),
        (5, 8, false),
        (6, 7, false),
        (6, 7, true),
        (7, 7, false),
    ] {
        let kalah = kalah(pits, capture_empty);
        assert!(kalah.small.filled() >= stones.into(), "{pits} pits");
        let mut known = HashMap::new();
        for _ in 0..150 {
            let count = rng.random_range(2..=stones);
            let position = random(&mut rng, pits.into(), count, capture_empty);
            let task = Task::of(&position).unwrap();
            let margin = task.lead + kalah.small.margin(task.board, task.board.stones());
            assert_eq!(margin, i32::from(minimax(&position, &mut known)), "{position:?}");
        }
    }
}

#[test]
fn solved_margins_are_those_of_a_plain_minimax() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    for (pits, stones, capture_empty) in
        [(2, 16, false), (3, 14, true), (3, 14, false), (4, 12, false), (6, 10, true)]
    {
        // Hardly any layer of small positions, so that the search itself has work to do.
        let kalah = Kalah::new(pits, capture_empty, 200, 20);
        while kalah.small.fill_next(&kalah.sower) {}
        let mut known = HashMap::new();
        for _ in 0..25 {
            let position = random(&mut rng, pits.into(), stones, capture_empty);
            let mover = position.to_move().unwrap();
            let best = minimax(&position, &mut known);
            assert_eq!(kalah.margin(&position, &|| true), Some(best), "{position:?}");
            let analysis = kalah.analyse(&position, &|| true).unwrap();
            assert!(analysis.exact);
            for found in &analysis.moves {
                assert_eq!(
                    found.value,
                    after(&position, mover, found.pit, &mut known),
                    "{position:?} {found:?}"
                );
            }
            let pits: Vec<u8> = position.legal().collect();
            let chosen = kalah.perfect(&position, &pits, &|| true).unwrap();
            assert_eq!(after(&position, mover, chosen.pit, &mut known), best, "{position:?}");
            let mut played = position;
            for &pit in &analysis.line {
                played.sow(pit).unwrap();
            }
            let other = Seat::new(1).unwrap();
            assert_eq!(played.to_move(), None, "the line of {position:?} leads to the end");
            assert_eq!(i16::from(played.store(mover)) - i16::from(played.store(other)), best);
        }
    }
}

/// `docs/rules.md`, "Known results".
#[test]
fn known_results_are_found() {
    for (pits, stones, first) in [
        (3, 3, vec![2, 2, -4]),
        (4, 3, vec![-6, 6, 2, -2]),
        (4, 4, vec![2, 0, 0, -2]),
        (5, 3, vec![-12, -14, 6, -4, -4]),
        (6, 3, vec![-14, -16, -10, -2, 2, 0]),
    ] {
        let kalah = Kalah::new(u8::try_from(pits).unwrap(), false, 3_000_000, 20);
        while kalah.small.fill_next(&kalah.sower) {}
        let position = start(pits, stones, false);
        let analysis = kalah.analyse(&position, &|| true).unwrap();
        let values: Vec<i16> = analysis.moves.iter().map(|m| m.value).collect();
        assert_eq!(values, first, "{pits} x {stones}");
        assert!(analysis.exact);
        assert_eq!(kalah.margin(&position, &|| true), first.iter().max().copied());
    }
}

#[test]
fn no_two_positions_share_a_note() {
    let table = Table::new(6, 20);
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    let mut bounds = HashMap::new();
    for _ in 0..200_000 {
        let stones = rng.random_range(2..=60);
        let board = Board::of(&random(&mut rng, 6, stones, false)).unwrap();
        let stones = board.stones();
        let known =
            Bounds { lower: rng.random_range(-stones..=0), upper: rng.random_range(0..=stones), pit: 3 };
        table.put(table.place(board), known.note(rng.random_range(0..1_000_000), None));
        bounds.insert(board, known);
    }
    let mut kept = 0;
    for (board, known) in bounds {
        if let Some(note) = table.get(table.place(board)) {
            assert_eq!(Bounds::read(note), known, "{board:?}");
            kept += 1;
        }
    }
    assert!(kept > 100_000, "a table of a million keeps most of 200,000 notes, not {kept}");
}

#[test]
fn an_estimate_is_read_as_it_was_noted() {
    for value in [-1_700, -1, 0, 1, 1_700] {
        for (is_lower, is_upper) in [(true, false), (false, true), (true, true)] {
            let estimate = Estimate { value, is_lower, is_upper, depth: 14, pit: 6 };
            assert_eq!(Estimate::read(estimate.note()), estimate);
        }
    }
}

#[test]
fn a_search_that_may_not_go_on_still_names_a_legal_pit() {
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    for round in 0..300 {
        let pits = 1 + round % 7;
        let stones = rng.random_range(2..100);
        let setup = random(&mut rng, pits, stones.min(60), false);
        let legal: Vec<u8> = setup.legal().collect();
        let kalah = Kalah::new(u8::try_from(pits).unwrap(), false, 1_000, 20);
        for choice in [kalah.hard(&setup, &legal, &|| false), kalah.perfect(&setup, &legal, &|| false)] {
            assert!(legal.contains(&choice.unwrap().pit));
        }
        let analysis = kalah.analyse(&setup, &|| false).unwrap();
        assert_eq!(analysis.moves.len(), legal.len());
    }
}

#[test]
fn opening_data_is_read_as_it_is_written() {
    let board = Board::of(&start(6, 4, false)).unwrap();
    let bounds = Bounds { lower: -3, upper: 8, pit: 2 };
    let line = openings::line(board, 6, bounds);
    assert_eq!(line, "4 4 4 4 4 4 / 4 4 4 4 4 4 = -3..8 c");
    assert_eq!(openings::read(&line, 6).unwrap(), [(board, bounds)]);
    assert_eq!(openings::read(&line, 5).unwrap(), [], "a board of another size");
    for bad in [
        "4 4 / 4 = 1 a",
        "4 4 / 4 4 = 1 c",
        "4 4 / 4 4 = 2..1 a",
        "4 4 / 4 4",
        "x 4 / 4 4 = 1 a",
        "4 4 / 4 4 = 1 ab",
    ] {
        assert!(openings::read(bad, 2).is_err(), "{bad}");
    }
}

/// The data was proven once; here those of its positions are proven again that have become small enough.
#[test]
fn the_shipped_openings_are_true() {
    let mut shipped = openings::shipped(6);
    let begin = Board::of(&start(6, 4, false)).unwrap();
    assert!(shipped.contains(&(begin, Bounds { lower: 8, upper: 8, pit: 2 })));
    shipped.sort_by_key(|(board, _)| board.stones());
    let kalah = Kalah::new(6, true, 3_000_000, 20);
    let unaided = Kalah { sower: Sower::new(6, false), ..kalah };
    while unaided.small.fill_next(&unaided.sower) {}
    for (board, bounds) in shipped.into_iter().take(8) {
        let margin = unaided.solver(&|| true).margin(board, bounds.lower).unwrap();
        assert!(
            (bounds.lower..=bounds.upper).contains(&margin),
            "{board:?}: {margin} is not within {bounds:?}"
        );
        let pit = unaided.solver(&|| true).first(board, &[bounds.pit], bounds.lower).unwrap();
        assert_eq!(pit.0, Some(bounds.pit), "{board:?}: the pit keeps the lower bound");
    }
}

#[test]
fn made_opening_data_leaves_nothing_slow_and_goes_on_where_it_stopped() {
    let effort = book::Effort { quick: 500, margins: false, patience: 1_000_000 };
    let mut whole: Vec<String> = Vec::new();
    book::make(4, 4, "", effort, &mut |line| {
        whole.push(line.to_owned());
        true
    })
    .unwrap();
    assert!(whole.len() > 2, "{whole:?}");
    let mut lines = whole[..2].to_vec();
    book::make(4, 4, &whole[..2].join("\n"), effort, &mut |line| {
        lines.push(line.to_owned());
        true
    })
    .unwrap();
    let positions = |lines: &[String]| -> HashSet<Board> {
        openings::read(&lines.join("\n"), 4).unwrap().into_iter().map(|(board, _)| board).collect()
    };
    assert_eq!(lines.len(), positions(&lines).len(), "no position is done twice");
    assert_eq!(positions(&lines), positions(&whole));
}
