//! Guests and the tokens of their devices; the caller's own player.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, delete, get, patch, post};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::ToSchema;

use super::body::Body;
use super::caller::Caller;
use super::objects::Player;
use super::problem::{Failure, ProblemCode};
use crate::account::{Name, RefreshToken};
use crate::ids::PlayerId;
use crate::service::Service;

/// Which tokens there are: only this kind.
#[derive(Serialize, ToSchema)]
pub enum TokenType {
    /// To be sent as `Authorization: Bearer …`.
    Bearer,
}

/// A pair of tokens.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"access_token": "eyJ0eXAiOiJhdCtqd3QiLCJhbGciOiJIUzI1NiJ9.e30.c2ln", "token_type": "Bearer",
    "expires_in": 900, "refresh_token": "mancala_rt_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}))]
pub struct Tokens {
    /// For requests.
    pub access_token: String,
    /// Always Bearer.
    pub token_type: TokenType,
    /// Seconds for which the access token is good.
    pub expires_in: u32,
    /// For the next pair; good once. Keep it: for a guest it is all there is.
    pub refresh_token: String,
}

impl From<crate::service::Tokens> for Tokens {
    fn from(tokens: crate::service::Tokens) -> Self {
        Self {
            access_token: tokens.access,
            token_type: TokenType::Bearer,
            expires_in: tokens.expires_in,
            refresh_token: tokens.refresh,
        }
    }
}

/// A player with the tokens of a device.
#[derive(Serialize, ToSchema)]
pub struct SignedIn {
    /// Who.
    pub player: Player,
    /// For requests.
    pub access_token: String,
    /// Always Bearer.
    pub token_type: TokenType,
    /// Seconds for which the access token is good.
    pub expires_in: u32,
    /// For the next pair; good once. Keep it: for a guest it is all there is.
    pub refresh_token: String,
}

/// A guest to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "Ana"}))]
pub struct NewGuest {
    /// A display name of 1 to 40 characters; without one the guest gets a made-up one.
    #[schema(min_length = 1, max_length = 40)]
    pub name: Option<String>,
}

/// A refresh token to be exchanged.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"refresh_token": "mancala_rt_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}))]
pub struct RefreshRequest {
    /// As it came with the last pair.
    #[schema(max_length = 512)]
    pub refresh_token: String,
}

/// What of the caller's player is to change.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "Ana"}))]
pub struct ProfileChange {
    /// A new display name of 1 to 40 characters.
    #[schema(min_length = 1, max_length = 40)]
    pub name: Option<String>,
}

/// Play at once as a guest
///
/// Makes a player and signs this device in. No form, no password: the refresh token is all that a guest has, so the
/// device keeps it and exchanges it for the next pair when the access token has expired.
#[utoipa::path(tag = "identity", request_body = NewGuest,
    responses((status = 201, description = "The new guest with its tokens.", body = SignedIn)))]
#[post("/guests")]
pub async fn create_guest(service: Data<Service>, body: Body<NewGuest>) -> Result<HttpResponse, Failure> {
    let name = body.value.name.map(|text| name(&text)).transpose()?;
    let device = service.create_guest(name, OffsetDateTime::now_utc()).await?;
    let Tokens { access_token, token_type, expires_in, refresh_token } = device.tokens.into();
    let player = Player::from(&device.player);
    let answer = SignedIn { player, access_token, token_type, expires_in, refresh_token };
    Ok(HttpResponse::Created().json(answer))
}

/// Get new tokens
///
/// Exchanges a refresh token for a new pair. Each refresh token is good once; using one again ends its session, since
/// two parties have it, except that the one replaced last is honoured once more within 30 seconds: a client that got
/// no answer may simply repeat the request.
#[utoipa::path(tag = "identity", request_body = RefreshRequest,
    responses((status = 200, description = "A new pair of tokens.", body = Tokens)))]
#[post("/sessions/refresh")]
pub async fn refresh_session(
    service: Data<Service>,
    body: Body<RefreshRequest>,
) -> Result<HttpResponse, Failure> {
    let token = RefreshToken::presented(body.value.refresh_token);
    let tokens = service.refresh(&token, OffsetDateTime::now_utc()).await?;
    Ok(HttpResponse::Ok().json(Tokens::from(tokens)))
}

/// Sign this device out
///
/// Ends the session: its tokens are worthless from now on. A guest who does this cannot come back.
#[utoipa::path(tag = "identity", security(("bearer" = [])),
    responses((status = 204, description = "The session has ended.")))]
#[delete("/sessions/current")]
pub async fn delete_current_session(service: Data<Service>, caller: Caller) -> Result<HttpResponse, Failure> {
    service.end_session(caller.session()?).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Read the caller's player
///
/// Who the access token belongs to.
#[utoipa::path(tag = "identity", security(("bearer" = []), ("personal_token" = ["profile"])),
    responses((status = 200, description = "The caller's player.", body = Player)))]
#[get("/me")]
pub async fn get_me(service: Data<Service>, caller: Caller) -> Result<HttpResponse, Failure> {
    Ok(HttpResponse::Ok().json(Player::from(&service.player(caller.player()).await?)))
}

/// Change the caller's name
///
/// Others see the new name at once, in running and finished games too.
#[utoipa::path(tag = "identity", security(("bearer" = []), ("personal_token" = ["profile"])), request_body = ProfileChange,
    responses((status = 200, description = "The caller's player.", body = Player)))]
#[patch("/me")]
pub async fn update_me(
    service: Data<Service>,
    caller: Caller,
    body: Body<ProfileChange>,
) -> Result<HttpResponse, Failure> {
    let player = match body.value.name {
        Some(text) => service.rename(caller.player(), &name(&text)?).await?,
        None => service.player(caller.player()).await?,
    };
    Ok(HttpResponse::Ok().json(Player::from(&player)))
}

/// Read a player
///
/// A player's public profile.
#[utoipa::path(tag = "players", security((), ("bearer" = []), ("personal_token" = ["games:read"])),
    params(("id" = PlayerId, Path, description = "The player.")),
    responses((status = 200, description = "The player.", body = Player)))]
#[get("/players/{id}")]
pub async fn get_player(service: Data<Service>, id: Path<PlayerId>) -> Result<HttpResponse, Failure> {
    Ok(HttpResponse::Ok().json(Player::from(&service.player(*id).await?)))
}

fn name(text: &str) -> Result<Name, Failure> {
    Name::try_from(text).map_err(|e| Failure::field(ProblemCode::InvalidValue, "/name", e.to_string()))
}
