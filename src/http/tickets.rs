//! Waiting for a ranked game.

use actix_web::http::header::LOCATION;
use actix_web::web::{Data, Path, Query};
use actix_web::{HttpResponse, delete, get, post};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::{IntoParams, ToSchema};

use super::body::{Body, Idempotency};
use super::caller::{Caller, Viewer};
use super::games::wait_of;
use super::objects::Variant;
use super::problem::{Failure, ProblemCode};
use crate::ids::{GameId, TicketId};
use crate::service::{self, Service};
use crate::store;

/// A wish for a ranked game.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"variant": "kalah", "players": 2, "turn_seconds": 30}))]
pub struct NewTicket {
    /// Which of the two games.
    pub variant: Variant,
    /// How many seats the game has.
    #[schema(minimum = 2, maximum = 4)]
    pub players: u32,
    /// Seconds for each sowing: 30 or 60.
    #[schema(minimum = 30, maximum = 60, multiple_of = 30)]
    pub turn_seconds: u32,
    /// The greatest difference of ratings to anyone in the game, in points. A hard limit: it may mean a long wait.
    #[schema(minimum = 1, maximum = 4000)]
    pub max_gap: Option<u32>,
    /// Whether the game may have bots in it, for a person; those who do not say so meet people only. Bots meet one another,
    /// and people who say so. Default false.
    #[serde(default)]
    #[schema(required = false)]
    pub with_bots: bool,
}

/// How a ticket stands.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TicketStatus {
    /// For opponents.
    Waiting,
    /// There is a game: `game_id`.
    Matched,
    /// By its player.
    Cancelled,
    /// Its player had not been heard of for 30 seconds.
    Expired,
}

/// A wish for a ranked game, and what has become of it.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"id": "01936f0c-5b1a-7d02-9c77-6a0e4b9d8c30", "status": "waiting", "variant": "kalah", "players": 2,
    "turn_seconds": 30, "with_bots": false, "waited": 3.2, "window": 31.4, "estimate": 5.0, "created_at": "2026-11-30T12:00:00Z"}))]
pub struct Ticket {
    /// The ticket's id.
    pub id: TicketId,
    /// Waiting, matched, cancelled or expired.
    pub status: TicketStatus,
    /// Which of the two games.
    pub variant: Variant,
    /// How many seats.
    pub players: u8,
    /// Seconds for each sowing.
    pub turn_seconds: u32,
    /// The greatest difference of ratings to anyone in the game, in points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_gap: Option<u16>,
    /// Whether the game may have bots in it, for a person.
    pub with_bots: bool,
    /// The game, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub game_id: Option<GameId>,
    /// For how many seconds it has waited, or had when that ended.
    pub waited: f64,
    /// While it waits: the largest gap of ratings, in points, at which a newcomer would be matched with it now. It grows
    /// with the wait. The less is known of either player, the less a gap counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<f64>,
    /// While it waits: how many seconds players in this queue have usually waited within the last hour; absent when
    /// nobody was matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<f64>,
    /// When it was made.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
}

impl From<service::Ticket> for Ticket {
    fn from(ticket: service::Ticket) -> Self {
        let store::TicketRow { id, queue, max_gap, with_bots, status, game, waited, created_at } = ticket.row;
        Self {
            id,
            status: match status {
                store::TicketStatus::Waiting => TicketStatus::Waiting,
                store::TicketStatus::Matched => TicketStatus::Matched,
                store::TicketStatus::Cancelled => TicketStatus::Cancelled,
                store::TicketStatus::Expired => TicketStatus::Expired,
            },
            variant: queue.variant.into(),
            players: queue.players,
            turn_seconds: queue.turn_seconds,
            max_gap,
            with_bots,
            game_id: game,
            waited,
            window: ticket.window,
            estimate: ticket.estimate,
            created_at,
        }
    }
}

/// For how long to wait.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TicketQuery {
    /// For how many seconds to wait for the end of the waiting, at most 25.
    #[param(minimum = 0, maximum = 25, required = false)]
    pub wait: Option<u32>,
}

/// Look for a ranked game
///
/// Puts the caller into the queue for this game, number of seats and time. Watch the ticket with `wait`: that is also what
/// keeps it alive, since a ticket whose player has not been heard of for 30 seconds expires. A player has one ticket at a
/// time, and none while in a running ranked game. Ranked games have the standard local rules: 6 pits, 4 stones. Who lets
/// the very first turn of one run out ends it without a result and has a pause of a minute, doubled by each time within a
/// day, an hour at most; from the third time within a day on that counts as a resignation.
#[utoipa::path(tag = "ranked", security(("bearer" = []), ("personal_token" = ["ranked"])), request_body = NewTicket,
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$",
            description = "Repeating the request with the same key within a day creates nothing twice.")),
    responses((status = 201, description = "The ticket.", body = Ticket,
        headers(("Location" = String, description = "Where to watch it.")))))]
#[post("/tickets")]
pub async fn create_ticket(
    service: Data<Service>,
    caller: Caller,
    key: Idempotency,
    body: Body<NewTicket>,
) -> Result<HttpResponse, Failure> {
    let wish = body.value.checked()?;
    let ticket = service.create_ticket(caller.player(), wish, key.with(&body.raw).as_ref()).await?;
    let location = format!("/v1/tickets/{}", ticket.row.id);
    Ok(HttpResponse::Created().insert_header((LOCATION, location)).json(Ticket::from(ticket)))
}

impl NewTicket {
    fn checked(&self) -> Result<store::Wish, Failure> {
        let invalid = |pointer, detail: &str| Failure::field(ProblemCode::InvalidValue, pointer, detail);
        let players = u8::try_from(self.players).ok().filter(|players| (2..=4).contains(players));
        let players = players.ok_or_else(|| invalid("/players", "a ranked game has 2, 3 or 4 players"))?;
        if ![30, 60].contains(&self.turn_seconds) {
            return Err(invalid("/turn_seconds", "a ranked game has 30 or 60 seconds for each sowing"));
        }
        let gap = |gap: u32| u16::try_from(gap).ok().filter(|gap| (1..=4000).contains(gap));
        let max_gap = match self.max_gap {
            Some(asked) => {
                Some(gap(asked).ok_or_else(|| invalid("/max_gap", "max_gap is from 1 to 4000 points"))?)
            }
            None => None,
        };
        let variant = self.variant.into();
        let queue = store::Queue { variant, players, turn_seconds: self.turn_seconds };
        Ok(store::Wish { queue, max_gap, with_bots: self.with_bots })
    }
}

/// Watch a ticket
///
/// With `wait` it answers as soon as the ticket no longer waits, else at the end of the wait. While the request is open its
/// player counts as being there. Ask again until there is a `game_id`.
#[utoipa::path(tag = "ranked", security(("bearer" = []), ("personal_token" = ["ranked"])),
    params(("id" = TicketId, Path, description = "The ticket."), TicketQuery),
    responses((status = 200, description = "The ticket.", body = Ticket)))]
#[get("/tickets/{id}")]
pub async fn get_ticket(
    service: Data<Service>,
    caller: Caller,
    viewer: Viewer,
    id: Path<TicketId>,
    query: Query<TicketQuery>,
) -> Result<HttpResponse, Failure> {
    let wait = wait_of(query.wait)?;
    let ticket = service.ticket_after(caller.player(), *id, wait).await?;
    viewer.is_still_in(&service)?;
    Ok(HttpResponse::Ok().json(Ticket::from(ticket)))
}

/// Cancel a ticket
///
/// Ends the waiting. A ticket is either cancelled or matched, never both: 409 says that there is a game. Repeating it is safe.
#[utoipa::path(tag = "ranked", security(("bearer" = []), ("personal_token" = ["ranked"])),
    params(("id" = TicketId, Path, description = "The ticket.")),
    responses((status = 200, description = "The ticket no longer waits.", body = Ticket)))]
#[delete("/tickets/{id}")]
pub async fn cancel_ticket(
    service: Data<Service>,
    caller: Caller,
    id: Path<TicketId>,
) -> Result<HttpResponse, Failure> {
    Ok(HttpResponse::Ok().json(Ticket::from(service.cancel_ticket(caller.player(), *id).await?)))
}
