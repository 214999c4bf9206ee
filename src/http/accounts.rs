//! Registering.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, post};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::ToSchema;

use super::body::Body;
use super::caller::Caller;
use super::me::{RecoveryCodes, name};
use super::objects::Player;
use super::problem::{Failure, ProblemCode};
use super::sessions::{SignedIn, TokenType, device};
use crate::account::{Password, Username, UsernameError};
use crate::service::{Registration, Service};

/// An account to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"username": "ana", "password": "seven pits, four stones", "name": "Ana"}))]
pub struct NewAccount {
    /// What to sign in with, shown to nobody else: 3 to 30 letters and digits of one script, with `_`, `-` and `.` between
    /// them. Case does not matter, and two that look alike are the same.
    #[schema(min_length = 3, max_length = 30)]
    pub username: String,
    /// 8 to 128 characters of any script, and none of the first million that an attacker would try.
    #[schema(min_length = 8, max_length = 128)]
    pub password: String,
    /// A display name of 1 to 40 characters; without one a guest keeps the old name, others get a made-up one.
    #[schema(min_length = 1, max_length = 40)]
    pub name: Option<String>,
    /// What the device calls itself in the list of sessions; without it that is told from `User-Agent`.
    #[schema(max_length = 80)]
    pub device: Option<String>,
}

/// A new account, with the tokens of this device.
#[derive(Serialize, ToSchema)]
pub struct Registered {
    /// Who.
    pub player: Player,
    /// For requests.
    pub access_token: String,
    /// Always Bearer.
    pub token_type: TokenType,
    /// Seconds for which the access token is good.
    pub expires_in: u32,
    /// For the next pair; good once.
    pub refresh_token: String,
    /// Each sets a new password once, for whoever has forgotten the old one. They are never shown again.
    #[schema(min_items = 10, max_items = 10)]
    pub recovery_codes: Vec<String>,
}

/// Register
///
/// Makes an account. With the access token of a guest, that guest becomes the account and keeps everything: seats, groups,
/// ratings and tickets, with the new tokens of this answer: the guest's refresh token is worthless from now on, and its access
/// token runs out by itself. Without a token it is a new player. There is no e-mail:
/// whoever loses the password needs one of the recovery codes of this answer. If no answer came, sign in, and get other
/// codes at `POST /v1/me/recovery`.
#[utoipa::path(tag = "identity", security((), ("bearer" = [])), request_body = NewAccount,
    responses((status = 201, description = "The player with the tokens of this device.", body = Registered)))]
#[post("/accounts")]
pub async fn create_account(
    service: Data<Service>,
    caller: Option<Caller>,
    request: HttpRequest,
    body: Body<NewAccount>,
) -> Result<HttpResponse, Failure> {
    let NewAccount { username, password, name: display_name, device: label } = body.value;
    let new = Registration {
        username: self::username(&username)?,
        password: Password::presented(&password),
        name: display_name.map(|text| name(&text)).transpose()?,
        device: device(label.as_deref(), &request)?,
    };
    let guest = caller.map(|caller| Ok::<_, Failure>((caller.player(), caller.session()?))).transpose()?;
    let made = service.register(guest, new, OffsetDateTime::now_utc()).await?;
    let SignedIn { player, access_token, token_type, expires_in, refresh_token } = made.device.into();
    let RecoveryCodes { recovery_codes } = made.recovery_codes.into();
    let answer = Registered { player, access_token, token_type, expires_in, refresh_token, recovery_codes };
    Ok(HttpResponse::Created().json(answer))
}

fn username(text: &str) -> Result<Username, Failure> {
    Username::try_from(text).map_err(|error| {
        let code = match error {
            UsernameError::Reserved => ProblemCode::UsernameReserved,
            _ => ProblemCode::InvalidValue,
        };
        Failure::field(code, "/username", error.to_string())
    })
}
