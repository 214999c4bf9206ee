//! Options made effective, and positions given whole: what is accepted and what is refused.

use mancala_server::engine::{
    CaptureFrom, Position, PositionError, Rules, RulesError, RulesRequest, Seat, Setup, Variant,
};

const SEATS: [Seat; 4] = Seat::ALL;

#[test]
fn pits_that_the_players_may_not_have_become_six() {
    for (players, asked, effective) in
        [(2, 4, 6), (2, 6, 6), (2, 7, 7), (3, 4, 4), (3, 6, 6), (3, 7, 6), (4, 4, 4), (4, 6, 6), (4, 7, 6)]
    {
        let request = RulesRequest { pits: Some(asked), ..RulesRequest::default() };
        for variant in Variant::ALL {
            let rules = Rules::effective(variant, players, &request).unwrap();
            assert_eq!(rules.pits(), effective, "{asked} for {players}");
        }
    }
}

#[test]
fn options_out_of_range_are_refused_by_name() {
    let pits = |pits| RulesRequest { pits: Some(pits), ..RulesRequest::default() };
    let stones = |stones| RulesRequest { stones: Some(stones), ..RulesRequest::default() };
    for (players, asked, error, field) in [
        (1, RulesRequest::default(), RulesError::Players(1), "players"),
        (5, RulesRequest::default(), RulesError::Players(5), "players"),
        (2, pits(5), RulesError::Pits(5), "pits"),
        (3, pits(0), RulesError::Pits(0), "pits"),
        (3, pits(8), RulesError::Pits(8), "pits"),
        (2, stones(2), RulesError::Stones(2), "stones"),
        (2, stones(7), RulesError::Stones(7), "stones"),
    ] {
        assert_eq!(Rules::effective(Variant::Kalah, players, &asked), Err(error));
        assert_eq!(error.field(), field);
    }
    for pits in [0, 8, 255] {
        let rules = Rules::for_position(Variant::Basic, 2, pits, &RulesRequest::default());
        assert_eq!(rules, Err(RulesError::Pits(pits)));
    }
}

#[test]
fn options_that_do_not_apply_are_absent_and_change_nothing() {
    let default = RulesRequest::default();
    let odd = RulesRequest {
        capture_from: Some(CaptureFrom::All),
        capture_empty: Some(true),
        full_ranking: Some(false),
        ..default
    };
    let shown = |variant, players, asked| {
        let rules = Rules::effective(variant, players, asked).unwrap();
        (rules.capture_from(), rules.capture_empty(), rules.full_ranking())
    };
    assert_eq!(shown(Variant::Kalah, 2, &odd), (None, Some(true), None));
    assert_eq!(shown(Variant::Kalah, 3, &odd), (Some(CaptureFrom::All), Some(true), None));
    assert_eq!(shown(Variant::Basic, 2, &odd), (None, None, None));
    assert_eq!(shown(Variant::Basic, 4, &odd), (None, None, Some(false)));
    assert_eq!(shown(Variant::Kalah, 4, &default), (Some(CaptureFrom::Next), Some(false), None));
    assert_eq!(shown(Variant::Basic, 3, &default), (None, None, Some(true)));
    assert_eq!(Rules::effective(Variant::Basic, 2, &odd), Rules::effective(Variant::Basic, 2, &default));
    let opposite = RulesRequest { capture_from: Some(CaptureFrom::Opposite), ..default };
    assert_eq!(shown(Variant::Kalah, 3, &opposite).0, Some(CaptureFrom::Opposite));
}

#[test]
fn names_are_read_as_they_are_written() {
    for variant in Variant::ALL {
        assert_eq!(variant.to_string().parse(), Ok(variant));
    }
    for from in CaptureFrom::ALL {
        assert_eq!(from.to_string().parse(), Ok(from));
    }
    assert!("Kalah".parse::<Variant>().is_err() && "".parse::<CaptureFrom>().is_err());
}

#[test]
fn the_starter_must_sit_at_the_board() {
    let rules = Rules::effective(Variant::Kalah, 3, &RulesRequest::default()).unwrap();
    assert_eq!(Position::start(rules, SEATS[2]).unwrap().to_move(), Some(SEATS[2]));
    let error = PositionError::NoSuchSeat { seat: SEATS[3], players: 3 };
    assert_eq!(Position::start(rules, SEATS[3]), Err(error));
    assert_eq!(Seat::new(4), None);
}

fn setup(variant: Variant, sides: &[&[u8]]) -> Setup {
    let players = u8::try_from(sides.len()).unwrap();
    Setup {
        rules: Rules::for_position(variant, players, 3, &RulesRequest::default()).unwrap(),
        pits: sides.iter().map(|side| side.to_vec()).collect(),
        stores: vec![0; sides.len()],
        out: vec![false; sides.len()],
        to_move: Some(SEATS[0]),
    }
}

fn given_total(given: &Setup) -> u16 {
    given.pits.iter().flatten().chain(&given.stores).copied().map(u16::from).sum()
}

#[test]
fn a_position_of_one_to_seven_pits_stands_as_given() {
    for pits in 1..=7 {
        let rules = Rules::for_position(Variant::Kalah, 2, pits, &RulesRequest::default()).unwrap();
        let side: Vec<u8> = (1..=pits).collect();
        let given = Setup {
            rules,
            pits: vec![side.clone(), side.clone()],
            stores: vec![9, 8],
            out: vec![false; 2],
            to_move: Some(SEATS[1]),
        };
        let mut position = Position::from_setup(&given).unwrap();
        assert_eq!((position.pits(SEATS[0]), position.store(SEATS[1])), (side.as_slice(), 8));
        assert_eq!(position.to_move(), Some(SEATS[1]));
        position.sow(pits - 1).unwrap();
        assert_eq!(position.total(), given_total(&given));
    }
}

#[test]
fn impossible_positions_are_refused() {
    type Change = fn(&mut Setup);
    let kalah = |change: Change| {
        let mut setup = setup(Variant::Kalah, &[&[1, 0, 2], &[0, 0, 3]]);
        change(&mut setup);
        Position::from_setup(&setup)
    };
    let basic = |change: Change| {
        let mut setup = setup(Variant::Basic, &[&[1, 0, 2], &[0, 0, 3], &[0, 0, 0]]);
        setup.out[2] = true;
        change(&mut setup);
        Position::from_setup(&setup)
    };
    assert!(kalah(|_| ()).is_ok());
    assert!(basic(|_| ()).is_ok());
    for (result, error, field) in [
        (kalah(|s| s.pits.truncate(1)), PositionError::Sides { players: 2, found: 1 }, "pits"),
        (kalah(|s| s.pits[1].push(0)), PositionError::Pits { seat: SEATS[1], pits: 3, found: 4 }, "pits"),
        (kalah(|s| s.stores.push(0)), PositionError::Stores { players: 2, found: 3 }, "stores"),
        (kalah(|s| s.out.clear()), PositionError::Out { players: 2, found: 0 }, "out"),
        (kalah(|s| s.stores[0] = 250), PositionError::TooManyStones, "pits"),
        (
            kalah(|s| s.to_move = Some(SEATS[2])),
            PositionError::NoSuchSeat { seat: SEATS[2], players: 2 },
            "to_move",
        ),
        (kalah(|s| s.pits[1].fill(0)), PositionError::EmptySide(SEATS[1]), "pits"),
        (kalah(|s| s.pits[0].fill(0)), PositionError::EmptySide(SEATS[0]), "pits"),
        (kalah(|s| s.out[1] = true), PositionError::NobodyLeaves(SEATS[1]), "out"),
        (basic(|s| s.pits[2][0] = 1), PositionError::OutWithStones(SEATS[2]), "out"),
        (basic(|s| s.to_move = Some(SEATS[2])), PositionError::MoverOut(SEATS[2]), "to_move"),
        (basic(|s| s.out[2] = false), PositionError::EmptySide(SEATS[2]), "pits"),
        (
            basic(|s| {
                s.pits[1].fill(0);
                s.out[1] = true;
            }),
            PositionError::TooFewSeats,
            "out",
        ),
    ] {
        assert_eq!(result, Err(error));
        assert_eq!(error.field(), field);
    }
    assert!(kalah(|s| s.stores[0] = 249).is_ok(), "255 stones are not too many");
}

#[test]
fn a_position_without_a_seat_to_move_is_over() {
    let mut given = setup(Variant::Basic, &[&[0, 0, 0], &[0, 0, 3], &[0, 0, 0]]);
    given.to_move = None;
    given.out = vec![false, false, true];
    let position = Position::from_setup(&given).unwrap();
    assert_eq!((position.to_move(), position.legal_mask()), (None, 0));
}

#[test]
fn a_position_is_small() {
    assert!(size_of::<Position>() <= 48);
}
