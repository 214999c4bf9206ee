//! The caller's own player, and what proves that it is the caller's.

use actix_web::web::Data;
use actix_web::{HttpResponse, get, patch, post, put};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use time::OffsetDateTime;
use utoipa::ToSchema;

use super::body::Body;
use super::caller::Caller;
use super::objects::{Player, PlayerKind};
use super::problem::{Failure, ProblemCode};
use crate::account::{Name, Password, RecoveryCode};
use crate::ids::PlayerId;
use crate::service::Service;
use crate::store::OwnPlayer;

/// How large preferences may be, in bytes of JSON without spaces.
const MAX_PREFERENCES: usize = 4 * 1024;

/// The caller's own player: what others see of it, and what only its owner does.
#[derive(Serialize, ToSchema)]
pub struct Me {
    /// The player's id, for ever.
    pub id: PlayerId,
    /// The display name: 1 to 40 characters.
    #[schema(example = "Ana")]
    pub name: String,
    /// Guest, account or bot.
    pub kind: PlayerKind,
    /// Accounts and bots: what to sign in with. Nobody else is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ana")]
    pub username: Option<String>,
    /// Whatever the player's clients keep here.
    #[schema(value_type = Object)]
    pub preferences: Value,
    /// Since when there is this player.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
}

impl From<OwnPlayer> for Me {
    fn from(own: OwnPlayer) -> Self {
        let Player { id, name, kind } = Player::from(&own.player);
        let OwnPlayer { username, preferences, created_at, .. } = own;
        Self { id, name, kind, username, preferences, created_at }
    }
}

/// What of the caller's player is to change.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "Ana"}))]
pub struct ProfileChange {
    /// A new display name of 1 to 40 characters.
    #[schema(min_length = 1, max_length = 40)]
    pub name: Option<String>,
    /// Takes the place of all preferences: any object of at most 4096 bytes, as JSON without spaces.
    #[schema(value_type = Option<Object>)]
    pub preferences: Option<Map<String, Value>>,
}

/// The caller's password once more.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"password": "seven pits, four stones"}))]
pub struct PasswordAgain {
    /// The caller's password.
    #[schema(min_length = 8, max_length = 128)]
    pub password: String,
}

/// A new password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"password": "seven pits, four stones", "new_password": "six pits, five stones"}))]
pub struct PasswordChange {
    /// The one until now.
    #[schema(min_length = 8, max_length = 128)]
    pub password: String,
    /// 8 to 128 characters of any script, and none of the first million that an attacker would try.
    #[schema(min_length = 8, max_length = 128)]
    pub new_password: String,
}

/// The way back for somebody who forgets the password.
#[derive(Serialize, ToSchema)]
pub struct RecoveryCodes {
    /// Each sets a new password once. They are never shown again.
    #[schema(min_items = 10, max_items = 10)]
    pub recovery_codes: Vec<String>,
}

impl From<Vec<RecoveryCode>> for RecoveryCodes {
    fn from(codes: Vec<RecoveryCode>) -> Self {
        Self { recovery_codes: codes.into_iter().map(RecoveryCode::into_text).collect() }
    }
}

/// Read the caller's player
///
/// Who the access token belongs to, with what only that player is told.
#[utoipa::path(tag = "identity", security(("bearer" = []), ("personal_token" = ["profile"])),
    responses((status = 200, description = "The caller's player.", body = Me)))]
#[get("/me")]
pub async fn get_me(service: Data<Service>, caller: Caller) -> Result<HttpResponse, Failure> {
    Ok(HttpResponse::Ok().json(Me::from(service.own_player(caller.player()).await?)))
}

/// Change the caller's name or preferences
///
/// Others see the new name at once, in running and finished games too. Preferences are for the player's clients alone and
/// are replaced as a whole.
#[utoipa::path(tag = "identity", security(("bearer" = []), ("personal_token" = ["profile"])), request_body = ProfileChange,
    responses((status = 200, description = "The caller's player.", body = Me)))]
#[patch("/me")]
pub async fn update_me(
    service: Data<Service>,
    caller: Caller,
    body: Body<ProfileChange>,
) -> Result<HttpResponse, Failure> {
    let name = body.value.name.map(|text| name(&text)).transpose()?;
    let preferences = body.value.preferences.map(preferences).transpose()?;
    let me = service.update_player(caller.player(), name.as_ref(), preferences.as_ref()).await?;
    Ok(HttpResponse::Ok().json(Me::from(me)))
}

/// Change the caller's password
///
/// Ends all other sessions of the account, and answers ten new recovery codes, which take the place of the old ones. Tokens
/// for programs stay good: look through them (`GET /v1/me/tokens`) if somebody else may have known the password.
#[utoipa::path(tag = "identity", security(("bearer" = [])), request_body = PasswordChange,
    responses((status = 200, description = "The password has changed. The codes are never shown again.",
        body = RecoveryCodes)))]
#[put("/me/password")]
pub async fn change_password(
    service: Data<Service>,
    caller: Caller,
    body: Body<PasswordChange>,
) -> Result<HttpResponse, Failure> {
    let [old, new] = [body.value.password, body.value.new_password].map(|text| Password::presented(&text));
    let changed = service.change_password(caller.player(), caller.session()?, old, new).await;
    let codes = changed.map_err(Failure::about_new_password)?;
    Ok(HttpResponse::Ok().json(RecoveryCodes::from(codes)))
}

/// Get new recovery codes
///
/// Ten new ones take the place of all that there were. Each lets its owner set a new password once, without the old one.
#[utoipa::path(tag = "identity", security(("bearer" = [])), request_body = PasswordAgain,
    responses((status = 201, description = "The codes. They are never shown again.", body = RecoveryCodes)))]
#[post("/me/recovery")]
pub async fn create_recovery_codes(
    service: Data<Service>,
    caller: Caller,
    body: Body<PasswordAgain>,
) -> Result<HttpResponse, Failure> {
    let password = Password::presented(&body.value.password);
    let codes = service.new_recovery_codes(caller.player(), password).await?;
    Ok(HttpResponse::Created().json(RecoveryCodes::from(codes)))
}

/// A display name from a body.
pub fn name(text: &str) -> Result<Name, Failure> {
    Name::try_from(text).map_err(|e| Failure::field(ProblemCode::InvalidValue, "/name", e.to_string()))
}

fn preferences(object: Map<String, Value>) -> Result<Value, Failure> {
    let value = Value::Object(object);
    if value.to_string().len() > MAX_PREFERENCES {
        let detail = "preferences have at most 4096 bytes as JSON without spaces";
        return Err(Failure::field(ProblemCode::InvalidValue, "/preferences", detail));
    }
    Ok(value)
}
