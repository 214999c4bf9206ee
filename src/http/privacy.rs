//! What is the caller's own: everything to take along, and the end of it.

use actix_web::http::header::CONTENT_DISPOSITION;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpResponse, delete, get};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::Body;
use super::caller::Caller;
use super::problem::Failure;
use crate::account::Password;
use crate::service::Service;

/// What a line of an export is about.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "for the document: the database writes the lines")]
pub enum ExportType {
    /// The player: name, kind, preferences, when last heard of.
    Player,
    /// The credentials, without what signs in.
    Account,
    /// A device that is or was signed in.
    Session,
    /// A token for a program, without the token.
    PersonalToken,
    /// A player whom the caller has blocked.
    Block,
    /// The standing in a pool.
    Rating,
    /// What a rated game changed about it.
    RatingChange,
    /// What a season changed about it.
    SeasonChange,
    /// How often another player was met in rated games of a pool.
    Opponent,
    /// A ranked game that began without the caller.
    NoShow,
    /// A wish for a ranked game; they are forgotten after a day.
    Ticket,
    /// A group of which the caller is a member.
    Group,
    /// How the caller came to a group, or left it.
    GroupEvent,
    /// A game in which the caller has a seat.
    Game,
    /// What happened on the caller's seat.
    Event,
    /// The last line: without it the export has been cut off.
    End,
}

/// A line of an export. Which other fields it has depends on its type; null means that there is nothing.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"type": "block", "player_id": "01936f0c-5b1a-7d02-9c77-6a0e4b9d8c21",
    "created_at": "2026-11-30T12:00:00+00:00"}))]
pub struct ExportLine {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: ExportType,
}

/// How the caller proves to be the owner of the account.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"password": "three blue herons over the bay"}))]
pub struct Deletion {
    /// The password of the account; guests have none.
    #[schema(min_length = 8, max_length = 128)]
    pub password: Option<String>,
}

/// Export everything
///
/// All that is stored about the caller, except secrets: one JSON object a line (NDJSON), the last with the `type` `end`. It
/// is read from the database while it is sent, so what changes meanwhile may be in it or not. When the session ends it is
/// cut off. It counts among the requests that create something, of which there are fewer.
#[utoipa::path(tag = "identity", security(("bearer" = [])),
    responses((status = 200, description = "The lines.", body = ExportLine, content_type = "application/x-ndjson",
        headers(("Content-Disposition" = String, description = "A name for the file.")))))]
#[get("/me/export")]
pub async fn export_me(service: Data<Service>, caller: Caller) -> Result<HttpResponse, Failure> {
    let lines = service.export(caller.player(), caller.session()?).await?;
    // Too late for another status: the answer breaks off, which its reader sees by the missing end.
    let lines = lines.map_ok(Bytes::from).map_err(|error| actix_web::Error::from(Failure::from(error)));
    Ok(HttpResponse::Ok()
        .content_type("application/x-ndjson")
        .insert_header((CONTENT_DISPOSITION, "attachment; filename=\"mancala.ndjson\""))
        .streaming(lines))
}

/// Delete the caller's player
///
/// For good. Running games are resigned, the ticket is cancelled, groups are left; then name, preferences, credentials,
/// sessions, tokens and blocks are removed, and the ratings leave the leaderboards. What belongs to the games of others
/// stays, with a player of kind `deleted` whose name is `Deleted player`. If it fails on the way (a repeat of the
/// request is safe), some of this may have been done. Accounts send their password, guests need none.
#[utoipa::path(tag = "identity", security(("bearer" = [])), request_body = Deletion,
    responses((status = 204, description = "The player is gone; the access token is worthless.")))]
#[delete("/me")]
pub async fn delete_me(
    service: Data<Service>,
    caller: Caller,
    body: Body<Deletion>,
) -> Result<HttpResponse, Failure> {
    let password = body.value.password.as_deref().map(Password::presented);
    service.delete_player(caller.player(), password).await?;
    Ok(HttpResponse::NoContent().finish())
}
