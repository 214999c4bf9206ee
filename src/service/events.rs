//! Events as clients see them: the bare log enriched with what the engine knows of each.

use time::{Duration, OffsetDateTime};

use super::turn::{Turn, left_of_turn};
use super::{Error, Result};
use crate::engine::{AbortReason, Action, EndReason, Game, Position, Record, Seat, Snapshot, Sowing};
use crate::store::{By, EventKind, EventRow, StoredGame};

/// An event with everything needed to draw it.
#[derive(Clone, Debug)]
pub struct EventView {
    /// As it lies in the log.
    pub row: EventRow,
    /// What a move did.
    pub sowing: Option<Sowing>,
    /// The position after the event.
    pub position: Position,
    /// How the game ended, on the event that ended it: why, and the places by seat where there are any.
    pub ends: Option<(EndReason, Vec<Option<u8>>)>,
    /// When the turn after this event runs out.
    pub deadline: Option<OffsetDateTime>,
}

/// The event that the game stands at, without reading the log. `None` before the first.
pub fn last_event(stored: &StoredGame) -> Option<EventView> {
    let row = stored.last_event?;
    Some(EventView {
        row,
        sowing: last_sowing(stored, &row),
        position: *stored.game.position(),
        ends: ends(&stored.game),
        deadline: stored.deadline,
    })
}

/// What the last move did, sown again from the board before it.
fn last_sowing(stored: &StoredGame, row: &EventRow) -> Option<Sowing> {
    let (seat, pit, board) = (row.seat?, row.pit?, stored.board_before.clone()?);
    let now = stored.game.snapshot();
    let before = Snapshot {
        board,
        to_move: Some(seat.get()),
        // Only the mover can have left the board by this move.
        left_board: now.left_board.into_iter().filter(|&s| s != seat.get()).collect(),
        end: None,
        ..now
    };
    let mut game = Game::restore(stored.options.rules(), stored.game.ranked(), &before).ok()?;
    game.apply(seat, Action::Move { pit }).ok()?.sowing
}

/// How a game that is over has ended.
pub fn ends(game: &Game) -> Option<(EndReason, Vec<Option<u8>>)> {
    game.end().map(|reason| (reason, game.places()))
}

/// All events of a game, enriched by replaying its log.
///
/// # Errors
/// When the log does not replay, which only a change from outside can have caused.
pub fn history(stored: &StoredGame, log: &[EventRow]) -> Result<Vec<EventView>> {
    let corrupt = |e: &dyn std::fmt::Display| {
        Error::Database(sqlx::Error::Decode(format!("log of game {}: {e}", stored.id).into()))
    };
    let mut game =
        Game::new(stored.options.rules(), stored.starter, stored.game.ranked()).map_err(|e| corrupt(&e))?;
    let turn_of = |game: &Game| Turn::of(game, &stored.seats, &stored.options);
    let (mut turn, mut began) = (turn_of(&game), stored.created_at);
    log.iter()
        .enumerate()
        .map(|(at, row)| {
            let seat = row.seat.unwrap_or(stored.starter);
            let applied = game.apply(seat, row.action(abort_reason(stored))).map_err(|e| corrupt(&e))?;
            let before = std::mem::replace(&mut turn, turn_of(&game));
            let limit = turn.limit(&stored.options);
            if row.kind == EventKind::Move || turn != before {
                began = row.at;
                if let Some(limit) = limit.filter(|_| row.kind == EventKind::Return) {
                    let left = left_of_turn(stored.created_at, &log[..at], seat, limit);
                    began -= Duration::seconds_f64(f64::from(limit) - left);
                }
            }
            let limit = limit.map(|seconds| Duration::seconds(seconds.into()));
            Ok(EventView {
                row: *row,
                sowing: applied.sowing,
                position: *game.position(),
                ends: ends(&game),
                // An outage moves the present deadline, and leaves no event.
                deadline: if row.seq == stored.seq {
                    stored.deadline
                } else {
                    limit.map(|limit| began + limit)
                },
            })
        })
        .collect()
}

/// The log as a record. An abort is not part of it.
pub fn record(stored: &StoredGame, log: &[EventRow]) -> Record {
    Record {
        rules: stored.options.rules(),
        starter: stored.starter,
        ranked: stored.game.ranked(),
        events: log
            .iter()
            .filter(|row| row.kind != EventKind::Abort)
            .filter_map(|row| Some((row.seat?, row.action(abort_reason(stored)))))
            .collect(),
    }
}

/// Why the game was aborted, for replaying its last event; meaningless in any other game.
pub fn abort_reason(stored: &StoredGame) -> AbortReason {
    match stored.game.end() {
        Some(EndReason::NoShow) => AbortReason::NoShow,
        _ => AbortReason::Abandoned,
    }
}

/// The first move after `seq` in a piece of the log, and whether it is the one that `seat` asked for.
pub(super) enum Since {
    /// Nobody has moved.
    Nothing,
    /// Exactly this move was made by this player.
    Repeated(EventRow),
    /// The computer or the clock made exactly this move for this seat.
    PlayedForYou,
    /// This seat moved, but otherwise, whoever played.
    OwnMove,
    /// Another seat moved.
    Moved,
}

/// What has happened since the state that a caller looked at (the events after it).
pub(super) fn since(later: &[EventRow], seat: Seat, pit: u8) -> Since {
    let Some(first) = later.iter().find(|row| row.kind == EventKind::Move) else { return Since::Nothing };
    if first.seat != Some(seat) {
        Since::Moved
    } else if first.pit != Some(pit) {
        Since::OwnMove
    } else if first.by != Some(By::Player) {
        Since::PlayedForYou
    } else {
        Since::Repeated(*first)
    }
}
