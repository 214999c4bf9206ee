//! Sessions: signing in, new tokens, and the devices that are signed in.

use actix_web::http::header::USER_AGENT;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse, delete, get, post};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::ToSchema;

use super::body::Body;
use super::caller::Caller;
use super::objects::Player;
use super::problem::{Failure, ProblemCode};
use crate::account::{DeviceLabel, Password, RecoveryCode, RefreshToken};
use crate::ids::SessionId;
use crate::service::{Device, Service};
use crate::store::SessionRow;

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

impl From<Device> for SignedIn {
    fn from(device: Device) -> Self {
        let Tokens { access_token, token_type, expires_in, refresh_token } = device.tokens.into();
        Self { player: Player::from(&device.player), access_token, token_type, expires_in, refresh_token }
    }
}

/// What an account signs in with.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"username": "ana", "password": "seven pits, four stones", "device": "Ana's phone"}))]
pub struct Credentials {
    /// As it was registered, or written in a way that looks alike.
    #[schema(min_length = 3, max_length = 30)]
    pub username: String,
    /// The password.
    #[schema(min_length = 8, max_length = 128)]
    pub password: String,
    /// What the device calls itself in the list of sessions; without it that is told from `User-Agent`.
    #[schema(max_length = 80)]
    pub device: Option<String>,
    /// Says that a guest whose access token comes with this request may be left behind, with all that it has. Default
    /// false.
    pub leave_guest: Option<bool>,
}

/// The way back without a password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"username": "ana", "recovery_code": "01234-56789-abcde-fghjk",
    "new_password": "six pits, five stones"}))]
pub struct Recovery {
    /// As it was registered, or written in a way that looks alike.
    #[schema(min_length = 3, max_length = 30)]
    pub username: String,
    /// One that has not been used; hyphens and case do not matter.
    #[schema(min_length = 20, max_length = 40)]
    pub recovery_code: String,
    /// 8 to 128 characters of any script, and none of the first million that an attacker would try.
    #[schema(min_length = 8, max_length = 128)]
    pub new_password: String,
    /// What the device calls itself in the list of sessions; without it that is told from `User-Agent`.
    #[schema(max_length = 80)]
    pub device: Option<String>,
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

/// A device that is signed in.
#[derive(Serialize, ToSchema)]
pub struct Session {
    /// The session's id.
    pub id: SessionId,
    /// What the device calls itself; may be empty.
    #[schema(max_length = 80, example = "Ana's phone")]
    pub device: String,
    /// When it signed in.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    /// When its tokens were last renewed.
    #[serde(with = "time::serde::rfc3339")]
    pub last_used_at: OffsetDateTime,
    /// Whether it is the one that asks.
    pub current: bool,
}

/// All devices that are signed in.
#[derive(Serialize, ToSchema)]
pub struct SessionList {
    /// The one used last first.
    #[schema(max_items = 100)]
    pub items: Vec<Session>,
}

/// Sign in
///
/// Signs this device in to an account. Unknown usernames and wrong passwords get the same answer in the same time; after
/// repeated attempts with one username answers take up to 4 seconds longer. A guest's access token may come along: if
/// that guest has a seat in a running game, a place in a group, a ticket or a rating, none of which the account will get,
/// the answer is 409 (`guest_would_be_lost`) until `leave_guest` says that this is known. The guest's own tokens stay good.
/// A session lasts for 60 days without use, and for 365 days at most.
#[utoipa::path(tag = "identity", security((), ("bearer" = [])), request_body = Credentials,
    responses((status = 201, description = "The player with the tokens of this device.", body = SignedIn)))]
#[post("/sessions")]
pub async fn create_session(
    service: Data<Service>,
    caller: Option<Caller>,
    request: HttpRequest,
    body: Body<Credentials>,
) -> Result<HttpResponse, Failure> {
    let Credentials { username, password, device: label, leave_guest } = body.value;
    let device = device(label.as_deref(), &request)?;
    let guest = caller.map(|caller| caller.player()).filter(|_| leave_guest != Some(true));
    let password = Password::presented(&password);
    let signed_in = service.sign_in(&username, password, &device, guest, OffsetDateTime::now_utc()).await?;
    Ok(HttpResponse::Created().json(SignedIn::from(signed_in)))
}

/// Sign in with a recovery code
///
/// Sets a new password and signs this device in. The code is used up. All other sessions end, and all tokens for programs
/// are removed.
#[utoipa::path(tag = "identity", request_body = Recovery,
    responses((status = 201, description = "The player with the tokens of this device.", body = SignedIn)))]
#[post("/sessions/recovery")]
pub async fn recover_account(
    service: Data<Service>,
    request: HttpRequest,
    body: Body<Recovery>,
) -> Result<HttpResponse, Failure> {
    let Recovery { username, recovery_code, new_password, device: label } = body.value;
    let device = device(label.as_deref(), &request)?;
    let (code, password) = (RecoveryCode::presented(&recovery_code), Password::presented(&new_password));
    let recovered = service.recover(&username, &code, password, &device, OffsetDateTime::now_utc()).await;
    let recovered = recovered.map_err(Failure::about_new_password)?;
    Ok(HttpResponse::Created().json(SignedIn::from(recovered)))
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

/// List the caller's sessions
///
/// The devices that are signed in, the one used last first. There are at most 100: one more sign-in ends the one that was
/// used least lately.
#[utoipa::path(tag = "identity", security(("bearer" = [])),
    responses((status = 200, description = "All of them.", body = SessionList)))]
#[get("/sessions")]
pub async fn list_sessions(service: Data<Service>, caller: Caller) -> Result<HttpResponse, Failure> {
    let own = caller.session()?;
    let sessions = service.sessions(caller.player()).await?;
    let wire = |SessionRow { id, device, created_at, last_used_at }| Session {
        current: id == own,
        id,
        device,
        created_at,
        last_used_at,
    };
    Ok(HttpResponse::Ok().json(SessionList { items: sessions.into_iter().map(wire).collect() }))
}

/// Sign out everywhere
///
/// Ends all of the caller's sessions, the one that asks too. A guest who does this cannot come back.
#[utoipa::path(tag = "identity", security(("bearer" = [])),
    responses((status = 204, description = "All sessions have ended.")))]
#[delete("/sessions")]
pub async fn delete_sessions(service: Data<Service>, caller: Caller) -> Result<HttpResponse, Failure> {
    service.end_sessions(caller.player()).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Sign this device out
///
/// Ends the session: its tokens are worthless from now on. A guest who does this cannot come back.
#[utoipa::path(tag = "identity", security(("bearer" = [])),
    responses((status = 204, description = "The session has ended.")))]
#[delete("/sessions/current")]
pub async fn delete_current_session(service: Data<Service>, caller: Caller) -> Result<HttpResponse, Failure> {
    service.end_session(caller.player(), caller.session()?).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Sign a device out
///
/// Ends one of the caller's sessions. Repeating it is safe.
#[utoipa::path(tag = "identity", security(("bearer" = [])),
    params(("id" = SessionId, Path, description = "The session.")),
    responses((status = 204, description = "The session has ended.")))]
#[delete("/sessions/{id}")]
pub async fn delete_session(
    service: Data<Service>,
    caller: Caller,
    id: Path<SessionId>,
) -> Result<HttpResponse, Failure> {
    service.end_session(caller.player(), *id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// What a device calls itself: as it says, else as its `User-Agent` tells.
pub fn device(label: Option<&str>, request: &HttpRequest) -> Result<DeviceLabel, Failure> {
    if let Some(text) = label {
        return DeviceLabel::try_from(text)
            .map_err(|e| Failure::field(ProblemCode::InvalidValue, "/device", e.to_string()));
    }
    let header = request.headers().get(USER_AGENT).and_then(|value| value.to_str().ok());
    Ok(DeviceLabel::of_user_agent(header.unwrap_or_default()))
}
