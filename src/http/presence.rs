//! Who is there.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get};
use serde::Serialize;
use time::OffsetDateTime;
use utoipa::ToSchema;

use super::caller::Caller;
use super::problem::Failure;
use crate::engine::Seat;
use crate::ids::GameId;
use crate::service::{self, Attendance, Service};

/// Whether the person on a seat is there. Either `connected` or `hidden` is present.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"seat": 1, "connected": false, "last_seen": "2026-11-30T18:20:04Z"}))]
pub struct SeatPresence {
    /// Its number.
    #[schema(maximum = 3)]
    pub seat: u8,
    /// Whether the person has a stream open, or had one a few seconds ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected: Option<bool>,
    /// Of a person who is not connected: when they were last heard of, if ever.
    #[serde(with = "time::serde::rfc3339::option", skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<OffsetDateTime>,
    /// Present and true if the person has blocked the caller, who is told nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<bool>,
}

/// Who is there in a game.
#[derive(Serialize, ToSchema)]
pub struct Presence {
    /// The people seated, in the order of their seats; computers are not among them.
    pub seats: Vec<SeatPresence>,
}

impl From<&service::SeatPresence> for SeatPresence {
    fn from(of: &service::SeatPresence) -> Self {
        let seat = Seat::get(of.seat);
        let (connected, last_seen, hidden) = match of.attendance {
            Attendance::Connected => (Some(true), None, None),
            Attendance::Away(last_seen) => (Some(false), last_seen, None),
            Attendance::Hidden => (None, None, Some(true)),
        };
        Self { seat, connected, last_seen, hidden }
    }
}

/// Who is there. Not part of the log: it has no number, and does not come again.
#[derive(Serialize, ToSchema)]
pub struct PresenceMessage {
    /// Always `presence`.
    #[serde(rename = "type")]
    pub kind: PresenceType,
    /// The people seated, in the order of their seats; computers are not among them.
    pub seats: Vec<SeatPresence>,
}

/// See [`PresenceMessage`].
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PresenceType {
    /// The only value.
    Presence,
}

impl From<&[service::SeatPresence]> for PresenceMessage {
    fn from(seats: &[service::SeatPresence]) -> Self {
        Self { kind: PresenceType::Presence, seats: seats.iter().map(SeatPresence::from).collect() }
    }
}

/// See who is there
///
/// For those seated in the game and the members of its group: which of the people seated are connected, and when the others
/// were last heard of. Whoever reads a stream, of any kind, is connected, and for a few seconds after the last one has
/// closed. Of somebody who has blocked the caller neither is told (`hidden`). None of it is part of the game or its ETag;
/// the stream of the game tells each change.
#[utoipa::path(tag = "games", security(("bearer" = []), ("personal_token" = ["games:read"])),
    params(("id" = GameId, Path, description = "The game.")),
    responses((status = 200, description = "Who is there now.", body = Presence)))]
#[get("/games/{id}/presence")]
pub async fn get_presence(
    service: Data<Service>,
    caller: Caller,
    id: Path<GameId>,
) -> Result<HttpResponse, Failure> {
    let seats = service.presence(caller.player(), *id).await?;
    Ok(HttpResponse::Ok().json(Presence { seats: seats.iter().map(SeatPresence::from).collect() }))
}
