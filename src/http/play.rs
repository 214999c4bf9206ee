//! Acting in a game.

use actix_web::http::header::ETAG;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse, post};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{Body, Empty};
use super::caller::Caller;
use super::games::{answered, etag};
use super::limits::come_or_go;
use super::objects::{Event, Game};
use super::problem::Failure;
use crate::ids::GameId;
use crate::service::{Rematch, Service};

/// A move.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"pit": 2, "seq": 0}))]
pub struct NewMove {
    /// The pit to sow, from 0, left to right as its owner sees them.
    #[schema(minimum = 0, maximum = 6)]
    pub pit: u32,
    /// The `seq` of the game that the player looked at.
    #[schema(minimum = 0)]
    pub seq: u32,
}

/// A move that counts.
#[derive(Serialize, ToSchema)]
pub struct PlayedMove {
    /// The event that this request made, now or when it was first sent.
    pub accepted: Event,
    /// The game as it is now.
    pub game: Game,
}

/// Whether a rematch has begun.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RematchStatus {
    /// Others have still to agree.
    Offered,
    /// The new game is running.
    Started,
}

/// Where a rematch stands.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"status": "offered", "agreed": [0]}))]
pub struct RematchAnswer {
    /// Offered or started.
    pub status: RematchStatus,
    /// The seats of the people who agree.
    pub agreed: Vec<u8>,
    /// The new game.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub game_id: Option<GameId>,
}

/// Sow a pit
///
/// Repeating the very same request is safe for ever: it makes no second move, and answers with the event that it made
/// the first time. So a client repeats until it has an answer. A move is current as long as no other move has been made
/// since `seq`; somebody leaving, returning or resigning in between does not spoil it.
///
/// In games with `turn_seconds` a move counts that reaches the database at most one second after `deadline`. A later one
/// is answered when the computer has made the sowing instead, with all further ones that it earned: 409 with
/// `turn_played_for_you` if its first sowing is this very move, else `stale`. If the server itself was not there when
/// the turn ran out, the turn begins anew and the move counts.
#[utoipa::path(tag = "play", security(("bearer" = []), ("personal_token" = ["games:play"])), request_body = NewMove,
    params(("id" = GameId, Path, description = "The game.")),
    responses((status = 200, description = "The move counts.", body = PlayedMove,
        headers(("ETag" = String, description = "W/\"seq\"")))))]
#[post("/games/{id}/moves")]
pub async fn create_move(
    service: Data<Service>,
    caller: Caller,
    id: Path<GameId>,
    body: Body<NewMove>,
) -> Result<HttpResponse, Failure> {
    let pit = u8::try_from(body.value.pit).unwrap_or(u8::MAX);
    let seq = i32::try_from(body.value.seq).unwrap_or(i32::MAX);
    let played = service.play(caller.player(), *id, pit, seq).await?;
    let accepted = Event::from(&played.accepted);
    let answer = PlayedMove { accepted, game: Game::from(&played.game) };
    Ok(HttpResponse::Ok().insert_header((ETAG, etag(&played.game))).json(answer))
}

/// Resign
///
/// At any moment of a running game. Whoever resigns is last, the first to resign last of all; with 3 or 4 players the
/// computer plays the seat on. In a ranked game a seat that is left counts as resigned from the moment it was left, so
/// whoever resigns after that is placed before it. Repeating it is safe.
#[utoipa::path(tag = "play", security(("bearer" = []), ("personal_token" = ["games:play"])), request_body = Empty,
    params(("id" = GameId, Path, description = "The game.")),
    responses((status = 200, description = "The caller has resigned.", body = Game, headers(("ETag" = String, description = "W/\"seq\"")))))]
#[post("/games/{id}/resign")]
pub async fn resign_game(
    service: Data<Service>,
    caller: Caller,
    id: Path<GameId>,
    _body: Body<Empty>,
) -> Result<HttpResponse, Failure> {
    Ok(answered(&service.resign(caller.player(), *id).await?))
}

/// Leave a game for a while
///
/// The computer plays in the caller's place, at the level of `stand_in`, until the caller returns, or simply moves again.
/// Whoever lets two turns in a row run out of time, or says nothing for `away_seconds` while another person waits, leaves
/// in the same way. A game that all people have left pauses, and ends after 30 days as `abandoned`.
///
/// In a ranked game the stand-in is always `easy`, the game goes on when all have left, and a seat that is still left at its end,
/// or when it finishes, ranks as if it had resigned when it was left. At most 4 times a minute
/// together with returning. Repeating it is safe.
#[utoipa::path(tag = "play", security(("bearer" = []), ("personal_token" = ["games:play"])), request_body = Empty,
    params(("id" = GameId, Path, description = "The game.")),
    responses((status = 200, description = "The computer plays.", body = Game, headers(("ETag" = String, description = "W/\"seq\"")))))]
#[post("/games/{id}/leave")]
pub async fn leave_game(
    service: Data<Service>,
    caller: Caller,
    id: Path<GameId>,
    _body: Body<Empty>,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    // Only what changes something counts.
    if !service.is_away(caller.player(), *id).await? {
        come_or_go(caller.player(), &request)?;
    }
    Ok(answered(&service.leave(caller.player(), *id).await?))
}

/// Return to a game
///
/// Takes the seat back from the computer. If it is the turn in which the player left, what was left of its time goes on;
/// any other begins in full. At most 4 times a minute together with leaving. Repeating it is safe.
#[utoipa::path(tag = "play", security(("bearer" = []), ("personal_token" = ["games:play"])), request_body = Empty,
    params(("id" = GameId, Path, description = "The game.")),
    responses((status = 200, description = "The caller plays again.", body = Game, headers(("ETag" = String, description = "W/\"seq\"")))))]
#[post("/games/{id}/return")]
pub async fn return_to_game(
    service: Data<Service>,
    caller: Caller,
    id: Path<GameId>,
    _body: Body<Empty>,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    if service.is_away(caller.player(), *id).await? {
        come_or_go(caller.player(), &request)?;
    }
    Ok(answered(&service.return_to(caller.player(), *id).await?))
}

/// Ask for a rematch
///
/// The same people, seats and local rules once more, the start going round. The new game begins when every person of
/// the finished one has asked; against computers only, at once. Repeat the request to learn whether it has begun.
#[utoipa::path(tag = "play", security(("bearer" = []), ("personal_token" = ["games:play"])), request_body = Empty,
    params(("id" = GameId, Path, description = "The finished game.")),
    responses((status = 200, description = "Where the rematch stands.", body = RematchAnswer)))]
#[post("/games/{id}/rematch")]
pub async fn request_rematch(
    service: Data<Service>,
    caller: Caller,
    id: Path<GameId>,
    _body: Body<Empty>,
) -> Result<HttpResponse, Failure> {
    let Rematch { agreed, game } = service.rematch(caller.player(), *id).await?;
    let status = if game.is_some() { RematchStatus::Started } else { RematchStatus::Offered };
    Ok(HttpResponse::Ok().json(RematchAnswer { status, agreed, game_id: game }))
}
