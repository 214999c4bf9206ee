//! The log of a game.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{Result, corrupt};
use crate::engine::{AbortReason, Action, Seat};
use crate::ids::GameId;

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A sowing.
    Move,
    /// A seat resigned.
    Resign,
    /// A player left; the computer plays.
    Leave,
    /// A player who had left came back.
    Return,
    /// The game ended without a result.
    Abort,
}

/// Who played a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The player of the seat.
    Player,
    /// The computer, for a computer seat or one that is left or has resigned.
    Computer,
    /// The clock, because the turn had run out.
    Clock,
}

/// An event as it lies in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Its number, from 1.
    pub seq: i32,
    /// When it was written, by the database's clock.
    pub at: OffsetDateTime,
    /// What it is, apart from the pit.
    pub kind: EventKind,
    /// Whose it is; none for an abort.
    pub seat: Option<Seat>,
    /// The pit of a move.
    pub pit: Option<u8>,
    /// Who played a move.
    pub by: Option<By>,
}

/// An event about to be written.
#[derive(Clone, Copy, Debug)]
pub struct NewEvent {
    /// What it is.
    pub kind: EventKind,
    /// Whose it is; none for an abort.
    pub seat: Option<Seat>,
    /// The pit of a move.
    pub pit: Option<u8>,
    /// Who played a move.
    pub by: Option<By>,
}

impl EventRow {
    /// The event as the engine plays it; `reason` is why the game was aborted, if it was.
    pub fn action(&self, reason: AbortReason) -> Action {
        match (self.kind, self.pit) {
            (EventKind::Move, Some(pit)) => Action::Move { pit },
            (EventKind::Abort | EventKind::Move, _) => Action::Abort(reason),
            (EventKind::Resign, _) => Action::Resign,
            (EventKind::Leave, _) => Action::Leave,
            (EventKind::Return, _) => Action::Return,
        }
    }
}

impl EventKind {
    /// Its name, stored and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Move => "move",
            Self::Resign => "resign",
            Self::Leave => "leave",
            Self::Return => "return",
            Self::Abort => "abort",
        }
    }
}

impl By {
    /// Its name, stored and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Player => "player",
            Self::Computer => "computer",
            Self::Clock => "clock",
        }
    }
}

/// The columns of one event, checked.
pub(super) fn event_row(
    seq: i32,
    at: OffsetDateTime,
    kind: &str,
    seat: Option<i16>,
    pit: Option<i16>,
    by: Option<&str>,
) -> Result<EventRow> {
    let kinds = [EventKind::Move, EventKind::Resign, EventKind::Leave, EventKind::Return, EventKind::Abort];
    let bys = [By::Player, By::Computer, By::Clock];
    if (kind == EventKind::Move.as_str()) != pit.is_some() {
        return Err(corrupt("game_event.pit", "a move has a pit, and nothing else has"));
    }
    Ok(EventRow {
        seq,
        at,
        kind: *kinds.iter().find(|k| k.as_str() == kind).ok_or_else(|| corrupt("game_event.kind", kind))?,
        seat: seat
            .map(|s| u8::try_from(s).ok().and_then(Seat::new).ok_or_else(|| corrupt("game_event.seat", s)))
            .transpose()?,
        pit: pit.map(|p| u8::try_from(p).map_err(|e| corrupt("game_event.pit", e))).transpose()?,
        by: by
            .map(|by| bys.into_iter().find(|b| b.as_str() == by).ok_or_else(|| corrupt("game_event.by", by)))
            .transpose()?,
    })
}

/// The events of a game after `seq`, in order.
pub async fn events_after(db: &mut PgConnection, game: GameId, seq: i32) -> Result<Vec<EventRow>> {
    sqlx::query!(
        r#"select seq, at, kind::text as "kind!", seat, pit, by::text from game_event
           where game_id = $1 and seq > $2 order by seq"#,
        game.uuid(),
        seq
    )
    .fetch_all(db)
    .await?
    .into_iter()
    .map(|r| event_row(r.seq, r.at, &r.kind, r.seat, r.pit, r.by.as_deref()))
    .collect()
}
