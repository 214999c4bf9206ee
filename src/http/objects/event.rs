//! Events: what happened in a game, with everything needed to draw it.

use serde::Serialize;
use time::OffsetDateTime;
use utoipa::ToSchema;

use super::{CapturedCup, Cup, Position, captured, path};
use crate::service::events::EventView;
use crate::{engine, store};

/// What happened.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EventType {
    /// A sowing.
    Move,
    /// A seat resigned.
    Resign,
    /// A player left; the computer plays until the player returns.
    Leave,
    /// A player who had left came back.
    Return,
    /// The game ended without a result.
    Abort,
}

/// Who played a move.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The player of the seat.
    Player,
    /// The computer, on its own seat or in a player's place.
    Computer,
    /// The computer, because the turn had run out.
    Clock,
}

impl From<store::By> for By {
    fn from(by: store::By) -> Self {
        match by {
            store::By::Player => Self::Player,
            store::By::Computer => Self::Computer,
            store::By::Clock => Self::Clock,
        }
    }
}

/// Why a game ended.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// By the rules of the game.
    Played,
    /// The last event was a resignation.
    Resigned,
    /// A ranked game in which somebody's first turn ran out.
    NoShow,
    /// Nobody came back.
    Abandoned,
}

impl From<engine::EndReason> for EndReason {
    fn from(reason: engine::EndReason) -> Self {
        match reason {
            engine::EndReason::Played => Self::Played,
            engine::EndReason::Resigned => Self::Resigned,
            engine::EndReason::NoShow => Self::NoShow,
            engine::EndReason::Abandoned => Self::Abandoned,
        }
    }
}

/// How a game ended.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Ending {
    /// Why.
    pub reason: EndReason,
    /// Places by seat, from 1; equal ones are shared. Absent when the game was aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<Vec<u8>>,
}

/// An event of a game, with everything needed to draw it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({"seq": 1, "at": "2026-11-30T12:00:00Z", "type": "move", "seat": 0, "pit": 2, "by": "player",
    "path": [{"seat": 0, "pit": 3}, {"seat": 0, "pit": 4}, {"seat": 0, "pit": 5}, {"seat": 0, "store": true}],
    "captured": [], "extra": true, "finished": [],
    "position": {"variant": "kalah", "options": {"players": 2, "pits": 6, "stones": 4},
        "pits": [[4, 4, 0, 5, 5, 5], [4, 4, 4, 4, 4, 4]], "stores": [1, 0], "out": [false, false], "to_move": 0}}))]
pub struct Event {
    /// Its number in the game, from 1.
    pub seq: i32,
    /// When it happened, by the database's clock.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// Whose event: of an abort, who let the very first turn run out; absent when nobody came back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// Moves: the pit sown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pit: Option<u8>,
    /// Moves: who played it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// Moves: every cup that a stone fell into, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<Cup>>,
    /// Moves: the pits that the capture emptied, the last stone's own pit among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captured: Option<Vec<CapturedCup>>,
    /// Moves: whether the same seat sows again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<bool>,
    /// Moves: seats that left the board by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<Vec<u8>>,
    /// The event that ended the game: how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<Ending>,
    /// The position after the event.
    pub position: Position,
    /// When the turn after the event runs out, in games with `turn_seconds`; absent while the computer has the turn or the
    /// game pauses.
    #[serde(with = "time::serde::rfc3339::option", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<OffsetDateTime>,
    /// In streams: the database's clock when it was sent, against which the deadline is measured.
    #[serde(with = "time::serde::rfc3339::option", skip_serializing_if = "Option::is_none")]
    pub server_time: Option<OffsetDateTime>,
}

impl From<&EventView> for Event {
    fn from(view: &EventView) -> Self {
        let row = view.row;
        let sowing = view.sowing.as_ref();
        Self {
            seq: row.seq,
            at: row.at,
            kind: match row.kind {
                store::EventKind::Move => EventType::Move,
                store::EventKind::Resign => EventType::Resign,
                store::EventKind::Leave => EventType::Leave,
                store::EventKind::Return => EventType::Return,
                store::EventKind::Abort => EventType::Abort,
            },
            seat: row.seat.map(engine::Seat::get),
            pit: row.pit,
            by: row.by.map(By::from),
            path: sowing.map(path),
            captured: sowing.map(captured),
            extra: sowing.map(|s| s.extra),
            finished: sowing.map(|s| s.finished.iter().map(|seat| seat.get()).collect()),
            ends: view.ends.as_ref().map(|(reason, places)| Ending {
                reason: (*reason).into(),
                places: places.iter().copied().collect(),
            }),
            position: Position::from(&view.position),
            deadline: view.deadline,
            server_time: None,
        }
    }
}
