//! Snapshots that are not of a game; that those of real games are exact is checked on random games.

use mancala_server::engine::{
    EndReason, Game, PositionError, Rules, RulesRequest, Seat, Snapshot, SnapshotError, Variant,
};

fn rules() -> Rules {
    let asked = RulesRequest { pits: Some(4), ..RulesRequest::default() };
    Rules::effective(Variant::Basic, 3, &asked).unwrap()
}

fn valid() -> Snapshot {
    Snapshot {
        board: vec![0, 0, 0, 0, 9, 1, 0, 3, 0, 15, 1, 1, 1, 1, 16],
        to_move: Some(2),
        left_board: vec![0],
        departed: vec![1, 0],
        resigned: vec![0],
        end: None,
    }
}

#[test]
fn a_snapshot_is_taken_up_again_as_it_was() {
    for ranked in [false, true] {
        let game = Game::restore(rules(), ranked, &valid()).unwrap();
        assert_eq!(game.snapshot(), valid());
        assert!(game.is_left(Seat::ALL[1]) && game.is_resigned(Seat::ALL[0]));
        assert!(game.position().is_out(Seat::ALL[0]));
    }
    let new = Game::new(rules(), Seat::ALL[1], true).unwrap();
    assert_eq!(new.snapshot().board, [4, 4, 4, 4, 0, 4, 4, 4, 4, 0, 4, 4, 4, 4, 0]);
}

#[test]
fn snapshots_of_no_game_are_refused() {
    type Change = fn(&mut Snapshot);
    let cases: [(Change, SnapshotError); 13] = [
        (|s| s.board.truncate(14), SnapshotError::Board { expected: 15, found: 14 }),
        (|s| s.board[4] = 8, SnapshotError::Stones { expected: 48, found: 47 }),
        (|s| s.board[4] = 255, SnapshotError::Position(PositionError::TooManyStones)),
        (|s| s.to_move = Some(4), SnapshotError::Seats { list: "to_move" }),
        (|s| s.left_board = vec![0, 0], SnapshotError::Seats { list: "left_board" }),
        (|s| s.departed = vec![3], SnapshotError::Seats { list: "departed" }),
        (|s| s.resigned = vec![9], SnapshotError::Seats { list: "resigned" }),
        (|s| s.departed = vec![1], SnapshotError::ResignedWithoutDeparting),
        (|s| s.to_move = None, SnapshotError::End),
        (|s| s.end = Some(EndReason::Played), SnapshotError::End),
        (|s| s.resigned = vec![0, 1], SnapshotError::ShouldHaveEnded),
        (|s| s.to_move = Some(0), SnapshotError::Position(PositionError::MoverOut(Seat::ALL[0]))),
        (|s| s.left_board.clear(), SnapshotError::Position(PositionError::EmptySide(Seat::ALL[0]))),
    ];
    for (change, error) in cases {
        let mut snapshot = valid();
        change(&mut snapshot);
        assert_eq!(Game::restore(rules(), false, &snapshot), Err(error), "{snapshot:?}");
    }
}
