//! Guests.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, post};
use serde::Deserialize;
use time::OffsetDateTime;
use utoipa::ToSchema;

use super::body::Body;
use super::me::name;
use super::problem::Failure;
use super::sessions::{SignedIn, device};
use crate::service::Service;

/// A guest to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "Ana"}))]
pub struct NewGuest {
    /// A display name of 1 to 40 characters; without one the guest gets a made-up one.
    #[schema(min_length = 1, max_length = 40)]
    pub name: Option<String>,
    /// What the device calls itself in the list of sessions; without it that is told from `User-Agent`.
    #[schema(max_length = 80)]
    pub device: Option<String>,
}

/// Play at once as a guest
///
/// Makes a player and signs this device in. No form, no password: the refresh token is all that a guest has, so the
/// device keeps it and exchanges it for the next pair when the access token has expired.
#[utoipa::path(tag = "identity", request_body = NewGuest,
    responses((status = 201, description = "The new guest with its tokens.", body = SignedIn)))]
#[post("/guests")]
pub async fn create_guest(
    service: Data<Service>,
    request: HttpRequest,
    body: Body<NewGuest>,
) -> Result<HttpResponse, Failure> {
    let name = body.value.name.map(|text| name(&text)).transpose()?;
    let device = device(body.value.device.as_deref(), &request)?;
    let guest = service.create_guest(name, &device, OffsetDateTime::now_utc()).await?;
    Ok(HttpResponse::Created().json(SignedIn::from(guest)))
}
