//! Leaf counts of whole trees, known from an independent implementation.

use mancala_server::engine::{CaptureFrom, Position, Rules, RulesRequest, Seat, Variant};

fn leaves(position: &Position, depth: u32) -> u64 {
    if depth == 0 || position.to_move().is_none() {
        return 1;
    }
    let mut count = 0;
    for pit in position.legal() {
        let mut next = *position;
        next.sow(pit).unwrap();
        count += leaves(&next, depth - 1);
    }
    count
}

fn check(variant: Variant, players: u8, asked: &RulesRequest, expected: &[u64]) {
    let rules = Rules::effective(variant, players, asked).unwrap();
    let start = Position::start(rules, Seat::ALL[0]).unwrap();
    for (depth, expected) in (1..).zip(expected) {
        assert_eq!(leaves(&start, depth), *expected, "{rules:?} at depth {depth}");
    }
}

#[test]
fn two_player_kalah_has_the_known_leaf_counts() {
    let expected = [6, 35, 185, 942, 4690, 23233, 114_430];
    check(Variant::Kalah, 2, &RulesRequest::default(), &expected);
}

#[test]
fn kalah_of_three_and_four_has_the_known_leaf_counts() {
    check(Variant::Kalah, 3, &RulesRequest::default(), &[6, 35, 204, 1099, 5670]);
    let from_all = RulesRequest { capture_from: Some(CaptureFrom::All), ..RulesRequest::default() };
    check(Variant::Kalah, 4, &from_all, &[6, 35, 204, 1188, 6491]);
}

#[test]
fn basic_mancala_has_the_known_leaf_counts() {
    check(Variant::Basic, 2, &RulesRequest::default(), &[6, 35, 185, 949, 4782]);
    let four_pits = RulesRequest { pits: Some(4), ..RulesRequest::default() };
    check(Variant::Basic, 4, &four_pits, &[4, 15, 60, 240, 831]);
}
