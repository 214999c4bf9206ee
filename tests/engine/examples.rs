//! The worked examples of `docs/rules.md`, and the corners of single rules.

use mancala_server::engine::{
    CaptureFrom, Cup, Position, Rules, RulesRequest, Seat, Setup, SowError, Variant,
};

const SEATS: [Seat; 4] = Seat::ALL;

/// A position from lines like `4 4 0 5 5 5|1`, one a seat.
pub fn position(variant: Variant, asked: &RulesRequest, sides: &[&str], to_move: u8) -> Position {
    let mut pits = Vec::new();
    let mut stores = Vec::new();
    for side in sides {
        let (row, store) = side.split_once('|').unwrap();
        pits.push(row.split_whitespace().map(|stones| stones.parse().unwrap()).collect::<Vec<u8>>());
        stores.push(store.trim().parse().unwrap());
    }
    let players = u8::try_from(sides.len()).unwrap();
    let width = u8::try_from(pits[0].len()).unwrap();
    Position::from_setup(&Setup {
        rules: Rules::for_position(variant, players, width, asked).unwrap(),
        pits,
        stores,
        out: vec![false; sides.len()],
        to_move: Seat::new(to_move),
    })
    .unwrap()
}

/// The same notation, for comparing.
fn shown(position: &Position) -> Vec<String> {
    let side = |seat| {
        let pits: Vec<_> = position.pits(seat).iter().map(u8::to_string).collect();
        format!("{}|{}", pits.join(" "), position.store(seat))
    };
    position.seats().map(side).collect()
}

struct Example {
    name: &'static str,
    variant: Variant,
    before: &'static [&'static str],
    pit: u8,
    after: &'static [&'static str],
    captured: u8,
    to_move: Option<u8>,
}

#[test]
fn the_worked_examples_come_out_as_written() {
    let examples = [
        Example {
            name: "1: last stone in the own store",
            variant: Variant::Kalah,
            before: &["4 4 4 4 4 4|0", "4 4 4 4 4 4|0"],
            pit: 2,
            after: &["4 4 0 5 5 5|1", "4 4 4 4 4 4|0"],
            captured: 0,
            to_move: Some(0),
        },
        Example {
            name: "1: three stones in the third pit from the right",
            variant: Variant::Kalah,
            before: &["4 4 4 3 4 4|0", "4 4 4 4 4 4|0"],
            pit: 3,
            after: &["4 4 4 0 5 5|1", "4 4 4 4 4 4|0"],
            captured: 0,
            to_move: Some(0),
        },
        Example {
            name: "2: capture",
            variant: Variant::Kalah,
            before: &["1 0 0 0 0 2|10", "0 3 0 0 5 1|20"],
            pit: 0,
            after: &["0 0 0 0 0 2|16", "0 3 0 0 0 1|20"],
            captured: 6,
            to_move: Some(1),
        },
        Example {
            name: "3: nothing opposite",
            variant: Variant::Kalah,
            before: &["1 0 0 0 0 2|10", "0 3 0 0 0 1|20"],
            pit: 0,
            after: &["0 1 0 0 0 2|10", "0 3 0 0 0 1|20"],
            captured: 0,
            to_move: Some(1),
        },
        Example {
            name: "4: full circle",
            variant: Variant::Kalah,
            before: &["0 13 0 0 0 0|4", "0 2 0 0 1 0|4"],
            pit: 1,
            after: &["1 0 1 1 1 1|8", "1 3 1 1 0 1|4"],
            captured: 3,
            to_move: Some(1),
        },
        Example {
            name: "5: the end cuts a chain",
            variant: Variant::Kalah,
            before: &["0 0 0 0 0 1|30", "0 3 0 2 0 1|11"],
            pit: 5,
            after: &["0 0 0 0 0 0|31", "0 0 0 0 0 0|17"],
            captured: 0,
            to_move: None,
        },
        Example {
            name: "6: a capture empties the other side",
            variant: Variant::Kalah,
            before: &["1 0 0 0 0 2|10", "0 0 0 0 5 0|30"],
            pit: 0,
            after: &["0 0 0 0 0 0|18", "0 0 0 0 0 0|30"],
            captured: 6,
            to_move: None,
        },
        Example {
            name: "7: Basic ends though the last stone is in a store",
            variant: Variant::Basic,
            before: &["0 0 0 0 0 8|3", "1 0 0 2 0 0|5"],
            pit: 5,
            after: &["0 0 0 0 0 0|4", "2 1 1 3 1 1|6"],
            captured: 0,
            to_move: None,
        },
    ];
    for example in examples {
        let name = example.name;
        let before = position(example.variant, &RulesRequest::default(), example.before, 0);
        let sowing = before.trace(example.pit).unwrap();
        let mut after = before;
        let sown = after.sow(example.pit).unwrap();
        assert_eq!(shown(&after), example.after, "{name}");
        assert_eq!(sowing.position, after, "{name}");
        assert_eq!(sown.captured, example.captured, "{name}");
        assert_eq!(after.to_move().map(Seat::get), example.to_move, "{name}");
        assert_eq!(sown.over, example.to_move.is_none(), "{name}");
        assert_eq!(sown.extra, example.to_move == Some(0), "{name}");
    }
}

#[test]
fn the_circle_closes_behind_a_finisher() {
    // Worked example 8.
    let asked = RulesRequest::default();
    let sides = ["0 0 0 0 0 6|3", "0 0 0 0 0 1|5", "2 0 0 0 0 0|1"];
    let mut position = position(Variant::Basic, &asked, &sides, 1);
    let sown = position.sow(5).unwrap();
    assert_eq!((sown.finished, sown.extra, sown.over), (Some(SEATS[1]), false, false));
    assert_eq!(sown.last, Cup::Store { seat: SEATS[1] });
    assert!(position.is_out(SEATS[1]));
    assert_eq!(position.to_move(), Some(SEATS[2]));
    position.sow(0).unwrap();
    assert_eq!(position.to_move(), Some(SEATS[0]));
    let sowing = position.trace(5).unwrap();
    assert_eq!(sowing.path[0], Cup::Store { seat: SEATS[0] });
    assert_eq!(sowing.path[1], Cup::Pit { seat: SEATS[2], pit: 0 });
    assert!(sowing.ends_game);
}

#[test]
fn a_full_lap_captures_from_the_lifted_pit() {
    let asked = RulesRequest::default();
    let before = position(Variant::Kalah, &asked, &["0 13 0 0 0 0|4", "0 2 0 0 0 0|4"], 0);
    let sowing = before.trace(1).unwrap();
    let lifted = Cup::Pit { seat: SEATS[0], pit: 1 };
    assert_eq!(sowing.path.len(), 13);
    assert_eq!(sowing.path[12], lifted);
    assert_eq!(sowing.captured, [(Cup::Pit { seat: SEATS[1], pit: 4 }, 1), (lifted, 1)]);
}

#[test]
fn two_full_laps_capture_nothing() {
    let asked = RulesRequest::default();
    let mut position = position(Variant::Kalah, &asked, &["0 26 0 0 0 0|4", "0 2 0 0 0 0|4"], 0);
    assert_eq!(position.sow(1).unwrap().captured, 0);
    assert_eq!(shown(&position), ["2 2 2 2 2 2|6", "2 4 2 2 2 2|4"]);
}

#[test]
fn captures_take_from_the_seats_that_the_option_names() {
    let sides = ["1 0 0 1|0", "1 1 2 1|0", "1 1 3 1|0", "1 1 5 1|0"];
    for (from, players, taken) in [
        (CaptureFrom::Next, 4, vec![(1, 2)]),
        (CaptureFrom::Opposite, 4, vec![(2, 3)]),
        (CaptureFrom::All, 4, vec![(1, 2), (2, 3), (3, 5)]),
        (CaptureFrom::Next, 3, vec![(1, 2)]),
        (CaptureFrom::Opposite, 3, vec![(1, 2)]),
        (CaptureFrom::All, 3, vec![(1, 2), (2, 3)]),
        (CaptureFrom::All, 2, vec![(1, 2)]),
    ] {
        let asked = RulesRequest { capture_from: Some(from), ..RulesRequest::default() };
        let position = position(Variant::Kalah, &asked, &sides[..players], 0);
        let mut expected: Vec<_> =
            taken.iter().map(|(seat, stones)| (Cup::Pit { seat: SEATS[*seat], pit: 2 }, *stones)).collect();
        expected.push((Cup::Pit { seat: SEATS[0], pit: 1 }, 1));
        assert_eq!(position.trace(0).unwrap().captured, expected, "{from} of {players}");
        let seats: Vec<_> = position.corresponding(SEATS[0], 1).collect();
        let expected: Vec<_> = taken.iter().map(|(seat, _)| (SEATS[*seat], 2)).collect();
        assert_eq!(seats, expected, "{from} of {players}");
    }
}

#[test]
fn capturing_from_all_skips_pits_without_stones() {
    let asked = RulesRequest { capture_from: Some(CaptureFrom::All), ..RulesRequest::default() };
    let sides = ["1 0 0 1|0", "1 1 0 1|0", "1 1 3 1|0"];
    let sowing = position(Variant::Kalah, &asked, &sides, 0).trace(0).unwrap();
    let expected = [(Cup::Pit { seat: SEATS[2], pit: 2 }, 3), (Cup::Pit { seat: SEATS[0], pit: 1 }, 1)];
    assert_eq!(sowing.captured, expected);
}

#[test]
fn the_house_rule_takes_a_lone_last_stone() {
    let asked = RulesRequest { capture_empty: Some(true), ..RulesRequest::default() };
    let before = position(Variant::Kalah, &asked, &["1 0 0 0 0 2|10", "0 3 0 0 0 1|20"], 0);
    let sowing = before.trace(0).unwrap();
    assert_eq!(shown(&sowing.position), ["0 0 0 0 0 2|11", "0 3 0 0 0 1|20"]);
    assert_eq!(sowing.captured, [(Cup::Pit { seat: SEATS[0], pit: 1 }, 1)]);
}

#[test]
fn nothing_corresponds_in_basic_or_beside_the_board() {
    let asked = RulesRequest::default();
    let sides = ["4 4 4 4 4 4|0", "4 4 4 4 4 4|0"];
    let basic = position(Variant::Basic, &asked, &sides, 0);
    assert_eq!(basic.corresponding(SEATS[0], 1).count(), 0);
    let kalah = position(Variant::Kalah, &asked, &sides, 0);
    assert_eq!(kalah.corresponding(SEATS[1], 0).collect::<Vec<_>>(), [(SEATS[0], 5)]);
    for (seat, pit) in [(0, 6), (0, 255), (2, 0)] {
        assert_eq!(kalah.corresponding(SEATS[seat], pit).count(), 0);
    }
}

#[test]
fn a_pit_that_cannot_be_sown_changes_nothing() {
    let asked = RulesRequest::default();
    let before = position(Variant::Kalah, &asked, &["1 0 0 0 0 2|10", "0 3 0 0 0 1|20"], 0);
    assert_eq!(before.legal().collect::<Vec<_>>(), [0, 5]);
    assert_eq!(before.legal_mask(), 0b10_0001);
    for (pit, error) in [
        (1, SowError::PitEmpty { pit: 1 }),
        (6, SowError::PitOutOfRange { pit: 6, pits: 6 }),
        (7, SowError::PitOutOfRange { pit: 7, pits: 6 }),
        (255, SowError::PitOutOfRange { pit: 255, pits: 6 }),
    ] {
        let mut after = before;
        assert_eq!(after.sow(pit), Err(error));
        assert_eq!(before.trace(pit), Err(error));
        assert_eq!(after, before);
    }
    let over = position(Variant::Kalah, &asked, &["0 0 0 0 0 0|36", "0 0 0 0 0 0|0"], 4);
    assert_eq!(over.trace(0), Err(SowError::GameOver));
    assert_eq!((over.legal().count(), over.legal_mask()), (0, 0));
}
