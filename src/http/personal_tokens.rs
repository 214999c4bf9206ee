//! Personal access tokens: made, listed and taken back by their owner.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, delete, get, post};
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};
use utoipa::ToSchema;

use super::body::Body;
use super::caller::Caller;
use super::problem::{Failure, ProblemCode};
use crate::account::{self, TokenName};
use crate::ids::PersonalTokenId;
use crate::service::{Service, WantedToken};
use crate::store::PersonalTokenRow;

/// What a personal token is good for. Each operation says which one it needs.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
pub enum Scope {
    /// Reading games, ratings and players.
    #[serde(rename = "games:read")]
    GamesRead,
    /// Making games and acting in them.
    #[serde(rename = "games:play")]
    GamesPlay,
    /// Everything about groups.
    #[serde(rename = "groups")]
    Groups,
    /// Looking for ranked games.
    #[serde(rename = "ranked")]
    Ranked,
    /// Reading and changing the player itself.
    #[serde(rename = "profile")]
    Profile,
}

impl From<Scope> for account::Scope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::GamesRead => Self::GamesRead,
            Scope::GamesPlay => Self::GamesPlay,
            Scope::Groups => Self::Groups,
            Scope::Ranked => Self::Ranked,
            Scope::Profile => Self::Profile,
        }
    }
}

impl From<account::Scope> for Scope {
    fn from(scope: account::Scope) -> Self {
        use account::Scope as S;
        match scope {
            S::GamesRead => Self::GamesRead,
            S::GamesPlay => Self::GamesPlay,
            S::Groups => Self::Groups,
            S::Ranked => Self::Ranked,
            S::Profile => Self::Profile,
        }
    }
}

/// A token to be made for a program.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "my bot", "scopes": ["games:read", "games:play"]}))]
pub struct NewPersonalToken {
    /// What it is for, in 1 to 60 characters.
    #[schema(min_length = 1, max_length = 60)]
    pub name: String,
    /// What the program may do.
    #[schema(min_items = 1, max_items = 5)]
    pub scopes: Vec<Scope>,
    /// When it ends by itself. Without this it lasts until it is deleted.
    #[serde(default, with = "time::serde::rfc3339::option")]
    pub expires_at: Option<OffsetDateTime>,
}

/// A token as it is listed.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"id": "01936f0c-5b1a-7d02-9c77-6a0e4b9d8c30", "name": "my bot",
    "scopes": ["games:read", "games:play"], "created_at": "2026-11-30T12:00:00Z", "last_used_at": "2026-11-30T12:34:00Z"}))]
pub struct PersonalToken {
    /// By which it is deleted.
    pub id: PersonalTokenId,
    /// What it is for.
    pub name: String,
    /// What the program may do.
    pub scopes: Vec<Scope>,
    /// When it was made.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    /// When it was last used, to the minute; absent if never.
    #[serde(with = "time::serde::rfc3339::option", skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<OffsetDateTime>,
    /// When it ends, or has ended, by itself.
    #[serde(with = "time::serde::rfc3339::option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<OffsetDateTime>,
}

/// A token that has just been made.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"id": "01936f0c-5b1a-7d02-9c77-6a0e4b9d8c30", "name": "my bot",
    "scopes": ["games:read", "games:play"], "created_at": "2026-11-30T12:00:00Z",
    "token": "mancala_pat_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}))]
pub struct MadeToken {
    /// By which it is deleted.
    pub id: PersonalTokenId,
    /// What it is for.
    pub name: String,
    /// What the program may do.
    pub scopes: Vec<Scope>,
    /// When it was made.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    /// When it ends by itself.
    #[serde(with = "time::serde::rfc3339::option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<OffsetDateTime>,
    /// To be sent as `Authorization: Bearer …`. It is told here and never again.
    pub token: String,
}

/// The caller's tokens, in the order in which they were made.
#[derive(Serialize, ToSchema)]
pub struct PersonalTokenList {
    /// At most 20.
    pub items: Vec<PersonalToken>,
}

impl From<PersonalTokenRow> for PersonalToken {
    fn from(row: PersonalTokenRow) -> Self {
        let PersonalTokenRow { id, name, scopes, created_at, last_used_at, expires_at } = row;
        Self {
            id,
            name,
            scopes: scopes.iter().map(Scope::from).collect(),
            created_at,
            last_used_at,
            expires_at,
        }
    }
}

/// Make a token for a program
///
/// For bots and scripts, which do with it what its scopes allow, in the name of the caller's player. The text of the
/// token is answered this once. A player has at most 20 of them; guests have none.
#[utoipa::path(tag = "identity", security(("bearer" = [])), request_body = NewPersonalToken,
    responses((status = 201, description = "The new token.", body = MadeToken)))]
#[post("/me/tokens")]
pub async fn create_personal_token(
    service: Data<Service>,
    caller: Caller,
    body: Body<NewPersonalToken>,
) -> Result<HttpResponse, Failure> {
    let wanted = wanted(body.value, OffsetDateTime::now_utc())?;
    let (row, token) = service.create_personal_token(caller.player(), caller.session()?, wanted).await?;
    let PersonalToken { id, name, scopes, created_at, expires_at, .. } = row.into();
    let token = token.into_text();
    Ok(HttpResponse::Created().json(MadeToken { id, name, scopes, created_at, expires_at, token }))
}

/// List the caller's tokens
///
/// What the caller's programs have, without the texts, which nobody but the programs knows.
#[utoipa::path(tag = "identity", security(("bearer" = [])),
    responses((status = 200, description = "The tokens.", body = PersonalTokenList)))]
#[get("/me/tokens")]
pub async fn list_personal_tokens(service: Data<Service>, caller: Caller) -> Result<HttpResponse, Failure> {
    let rows = service.personal_tokens(caller.player()).await?;
    Ok(HttpResponse::Ok()
        .json(PersonalTokenList { items: rows.into_iter().map(PersonalToken::from).collect() }))
}

/// Take a token back
///
/// It is refused from now on.
#[utoipa::path(tag = "identity", security(("bearer" = [])),
    params(("id" = PersonalTokenId, Path, description = "The token.")),
    responses((status = 204, description = "The token is no more.")))]
#[delete("/me/tokens/{id}")]
pub async fn delete_personal_token(
    service: Data<Service>,
    caller: Caller,
    id: Path<PersonalTokenId>,
) -> Result<HttpResponse, Failure> {
    service.revoke_personal_token(caller.player(), *id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// The farthest end of a token.
const LONGEST: Duration = Duration::days(3_653);

fn wanted(new: NewPersonalToken, now: OffsetDateTime) -> Result<WantedToken, Failure> {
    let invalid = |pointer, detail: &str| Err(Failure::field(ProblemCode::InvalidValue, pointer, detail));
    let name = TokenName::try_from(new.name.as_str())
        .map_err(|error| Failure::field(ProblemCode::InvalidValue, "/name", error.to_string()))?;
    if new.scopes.is_empty() {
        return invalid("/scopes", "a token without a scope is good for nothing");
    }
    if new.expires_at.is_some_and(|end| end <= now) {
        return invalid("/expires_at", "this is in the past");
    }
    if new.expires_at.is_some_and(|end| end > now + LONGEST) {
        return invalid("/expires_at", "at most ten years from now; without it the token has no end");
    }
    // To the second and in UTC, as it is kept and told.
    let in_utc = |end: OffsetDateTime| OffsetDateTime::from_unix_timestamp(end.unix_timestamp());
    let expires_at = new.expires_at.and_then(|end| in_utc(end).ok());
    let scopes = new.scopes.into_iter().map(account::Scope::from).collect();
    Ok(WantedToken { name, scopes, expires_at })
}
