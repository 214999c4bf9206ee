//! Resigning, leaving, coming back and aborting: who may, what it ends, and what it costs
//! (`docs/rules.md`, "Resigning, leaving, time").

use mancala_server::engine::{
    AbortReason, Action, ActionError, EndReason, Game, Record, Rules, RulesRequest, Seat, Snapshot, SowError,
    Variant,
};

const SEATS: [Seat; 4] = Seat::ALL;

/// The game of a record in notation.
fn played(text: &str) -> Game {
    text.parse::<Record>().unwrap().replay().unwrap()
}

#[test]
fn resigners_rank_from_the_last_place_upward() {
    for (text, places) in [
        ("[kalah players=2 starter=0] R0", [2, 1].as_slice()),
        ("[kalah players=2 starter=0] R1", &[1, 2]),
        ("[basic players=2 starter=1] R1", &[1, 2]),
        ("[kalah players=3 starter=0] R2 R0", &[2, 1, 3]),
        ("[basic players=3 starter=0 full_ranking=false] R0 R1", &[3, 2, 1]),
        ("[kalah players=4 starter=0] R3 c-b R1 R0", &[2, 3, 1, 4]),
        ("[basic players=4 starter=0] R3 c-b R1 R0", &[2, 3, 1, 4]),
        // Being left costs nothing in an unranked game, and a resignation counts from itself.
        ("[kalah players=2 starter=0] L0 R1", &[1, 2]),
        ("[kalah players=3 starter=0] L0 R1 R2", &[1, 3, 2]),
        ("[kalah players=3 starter=0] L0 R1 R0", &[2, 3, 1]),
        // In a ranked one it counts from when the seat was left, unless the player came back.
        ("[kalah players=2 starter=0 ranked=true] L0 R1", &[2, 1]),
        ("[kalah players=2 starter=0 ranked=true] L0 B0 R1", &[1, 2]),
        ("[kalah players=2 starter=0 ranked=true] L0 L1 R0", &[2, 1]),
        ("[kalah players=2 starter=0 ranked=true] L0 L1 B0 L0 R0", &[1, 2]),
        ("[kalah players=3 starter=0 ranked=true] L0 R1 R2", &[3, 2, 1]),
        ("[kalah players=3 starter=0 ranked=true] L0 R1 R0", &[3, 2, 1]),
        ("[kalah players=3 starter=0 ranked=true] L0 R1 B0 R0", &[2, 3, 1]),
        ("[kalah players=3 starter=0 ranked=true] R1 L0 R2", &[2, 3, 1]),
    ] {
        let game = played(&text.replace(']', "]\n"));
        assert_eq!(game.end(), Some(EndReason::Resigned), "{text}");
        let places: Vec<_> = places.iter().copied().map(Some).collect();
        assert_eq!(game.places(), places, "{text}");
    }
}

#[test]
fn a_resigned_seat_goes_on_being_played_and_the_board_is_not_swept() {
    let mut game = played("[kalah players=3 starter=0]\nR1 c-b a");
    assert!(!game.is_over() && game.is_resigned(SEATS[1]));
    assert_eq!(game.position().to_move(), Some(SEATS[2]));
    assert_eq!(game.places(), [None, Some(3), None]);
    let before = *game.position();
    let applied = game.apply(SEATS[0], Action::Resign).unwrap();
    assert!(applied.ended && applied.sowing.is_none());
    for seat in SEATS {
        assert_eq!(game.position().pits(seat), before.pits(seat));
        assert_eq!(game.position().store(seat), before.store(seat));
    }
    assert_eq!((game.position().to_move(), game.position().legal_mask()), (None, 0));
}

#[test]
fn places_during_a_ranked_game_wait_for_those_who_may_return() {
    let mut game = played("[kalah players=4 starter=0 ranked=true]\nR3 L0 R1");
    assert_eq!(game.places(), [None, None, None, Some(4)]);
    game.apply(SEATS[0], Action::Return).unwrap();
    assert_eq!(game.places(), [None, Some(3), None, Some(4)]);
}

#[test]
fn departures_that_make_no_sense_are_refused_and_change_nothing() {
    for (text, seat, action, code) in [
        ("", 3, Action::Resign, "no_such_seat"),
        ("", 3, Action::Move { pit: 0 }, "no_such_seat"),
        ("", 1, Action::Move { pit: 0 }, "not_your_turn"),
        ("", 0, Action::Move { pit: 6 }, "pit_out_of_range"),
        ("c", 0, Action::Move { pit: 2 }, "pit_empty"),
        ("R1", 1, Action::Resign, "already_resigned"),
        ("R1", 1, Action::Leave, "already_resigned"),
        ("R1", 1, Action::Return, "already_resigned"),
        ("L1", 1, Action::Leave, "already_left"),
        ("", 1, Action::Return, "not_left"),
        ("L1 B1", 1, Action::Return, "not_left"),
        ("R1 R2", 0, Action::Move { pit: 0 }, "game_over"),
        ("R1 R2", 0, Action::Return, "game_over"),
        ("R1 R2", 0, Action::Abort(AbortReason::Abandoned), "game_over"),
    ] {
        let game = played(&format!("[kalah players=3 starter=0]\n{text}"));
        let mut after = game.clone();
        let error = after.apply(SEATS[seat], action).unwrap_err();
        assert_eq!(error.code(), code, "{text} then {action:?} of {seat}");
        assert_eq!(after, game);
    }
    assert_eq!(ActionError::AlreadyPlaced(SEATS[0]).code(), "already_placed");
    assert_eq!(ActionError::Sow(SowError::GameOver).code(), "game_over");
}

#[test]
fn an_aborted_game_has_no_places() {
    for (reason, end) in
        [(AbortReason::NoShow, EndReason::NoShow), (AbortReason::Abandoned, EndReason::Abandoned)]
    {
        let mut game = played("[kalah players=3 starter=0]\nR1 c");
        // The seat of an abort means nothing, not even that it must exist.
        assert!(game.apply(SEATS[3], Action::Abort(reason)).unwrap().ended);
        assert_eq!(game.end(), Some(end));
        assert_eq!(game.places(), [None; 3]);
        assert_eq!(game.position().to_move(), None);
    }
}

/// A game of four just before its end: seats 0 and 1 finish with their next sowing.
fn late(full_ranking: bool, ranked: bool, departed: &[u8], resigned: &[u8]) -> Game {
    let asked = RulesRequest { pits: Some(4), full_ranking: Some(full_ranking), ..RulesRequest::default() };
    let rules = Rules::effective(Variant::Basic, 4, &asked).unwrap();
    let snapshot = Snapshot {
        board: vec![0, 0, 0, 1, 10, 0, 0, 0, 1, 10, 1, 0, 0, 0, 15, 1, 1, 0, 0, 24],
        to_move: Some(0),
        left_board: vec![],
        departed: departed.to_vec(),
        resigned: resigned.to_vec(),
        end: None,
    };
    Game::restore(rules, ranked, &snapshot).unwrap()
}

fn sow(game: &mut Game, pit: u8) -> bool {
    let seat = game.position().to_move().unwrap();
    game.apply(seat, Action::Move { pit }).unwrap().ended
}

#[test]
fn finishers_have_their_place_at_once_and_cannot_give_it_up() {
    let mut game = late(true, true, &[], &[]);
    assert!(!sow(&mut game, 3));
    assert_eq!(game.places(), [Some(1), None, None, None]);
    for action in [Action::Resign, Action::Leave] {
        assert_eq!(game.apply(SEATS[0], action), Err(ActionError::AlreadyPlaced(SEATS[0])));
    }
    assert_eq!(game.apply(SEATS[0], Action::Return), Err(ActionError::NotLeft(SEATS[0])));
    assert!(!sow(&mut game, 3));
    assert_eq!(game.places(), [Some(1), Some(2), None, None]);
    // Only one who stayed is without a place now.
    assert!(game.apply(SEATS[2], Action::Resign).unwrap().ended);
    assert_eq!(game.places(), [Some(1), Some(2), Some(4), Some(3)]);
    assert_eq!(game.end(), Some(EndReason::Resigned));
}

#[test]
fn a_resigned_seat_that_empties_its_side_is_out_but_no_finisher() {
    for full_ranking in [true, false] {
        let mut game = late(full_ranking, false, &[0], &[0]);
        assert!(!sow(&mut game, 3), "it ends nothing");
        assert!(game.position().is_out(SEATS[0]));
        assert_eq!(game.places(), [Some(4), None, None, None]);
        let ended = sow(&mut game, 3);
        assert_eq!(ended, !full_ranking);
        assert_eq!(game.position().is_out(SEATS[1]), full_ranking);
        let rest = if full_ranking { [None; 2] } else { [Some(2), Some(3)] };
        assert_eq!(game.places(), [Some(4), Some(1), rest[0], rest[1]]);
    }
}

#[test]
fn a_left_seat_that_empties_its_side_finishes_only_in_unranked_games() {
    let mut unranked = late(true, false, &[0], &[]);
    sow(&mut unranked, 3);
    assert_eq!(unranked.places(), [Some(1), None, None, None]);

    for full_ranking in [true, false] {
        let mut ranked = late(full_ranking, true, &[0], &[]);
        assert!(!sow(&mut ranked, 3));
        assert_eq!(ranked.places(), [Some(4), None, None, None]);
        assert_eq!(ranked.apply(SEATS[0], Action::Return), Err(ActionError::NotLeft(SEATS[0])));
        assert_eq!(ranked.apply(SEATS[0], Action::Resign), Err(ActionError::AlreadyPlaced(SEATS[0])));
        sow(&mut ranked, 3);
        assert_eq!(ranked.places()[1], Some(1));
    }
    assert!(late(false, false, &[0], &[]).apply(SEATS[0], Action::Move { pit: 3 }).unwrap().ended);
}

#[test]
fn a_forfeited_place_is_certain_once_nobody_before_it_can_return() {
    let mut game = late(true, true, &[2, 0], &[]);
    sow(&mut game, 3);
    assert_eq!(game.places(), [None; 4]);
    game.apply(SEATS[2], Action::Return).unwrap();
    assert_eq!(game.places(), [Some(4), None, None, None]);
}

#[test]
fn equal_sides_share_a_place_and_a_left_seat_does_not_share_it_in_a_ranked_game() {
    let board = |game: &Game| {
        let mut snapshot = game.snapshot();
        snapshot.board[15..].copy_from_slice(&[1, 0, 0, 0, 25]);
        Game::restore(*game.rules(), game.ranked(), &snapshot).unwrap()
    };
    let mut game = board(&late(false, true, &[], &[]));
    assert!(sow(&mut game, 3));
    assert_eq!(game.places(), [Some(1), Some(2), Some(2), Some(2)]);
    let mut game = board(&late(false, true, &[2], &[]));
    assert!(sow(&mut game, 3));
    assert_eq!(game.places(), [Some(1), Some(2), Some(4), Some(2)]);
}

#[test]
fn a_seat_that_is_left_when_a_ranked_game_of_two_ends_is_second() {
    for (variant, ranked, departed, places) in [
        (Variant::Kalah, false, vec![0], [1, 2]),
        (Variant::Kalah, true, vec![], [1, 2]),
        (Variant::Kalah, true, vec![0], [2, 1]),
        (Variant::Kalah, true, vec![1, 0], [1, 2]),
        (Variant::Basic, false, vec![0], [1, 2]),
        (Variant::Basic, true, vec![0], [2, 1]),
        (Variant::Basic, true, vec![0, 1], [2, 1]),
        (Variant::Basic, true, vec![1], [1, 2]),
    ] {
        let rules = Rules::effective(variant, 2, &RulesRequest::default()).unwrap();
        let snapshot = Snapshot {
            board: vec![0, 0, 0, 0, 0, 1, 30, 1, 0, 0, 0, 0, 0, 16],
            to_move: Some(0),
            left_board: vec![],
            departed,
            resigned: vec![],
            end: None,
        };
        let mut game = Game::restore(rules, ranked, &snapshot).unwrap();
        assert!(sow(&mut game, 5));
        assert_eq!(game.end(), Some(EndReason::Played));
        assert!(!game.position().is_out(SEATS[0]));
        assert_eq!(game.places(), places.map(Some), "{variant} {ranked} {snapshot:?}");
    }
}
