//! Programs that play for an account.

use actix_web::web::Data;
use actix_web::{HttpResponse, put};

use super::body::{Body, Empty};
use super::caller::Caller;
use super::objects::Player;
use super::problem::Failure;
use crate::service::Service;

/// Declare a bot
///
/// Says that a program plays for this account. It is shown as `kind` `bot` from then on, for good, and in ranked play it
/// meets other bots, and people whose tickets say `with_bots`. For accounts before their first ranked game. Repeating it
/// is safe.
#[utoipa::path(tag = "identity", security(("bearer" = [])), request_body = Empty,
    responses((status = 200, description = "The caller's player.", body = Player)))]
#[put("/me/bot")]
pub async fn declare_bot(
    service: Data<Service>,
    caller: Caller,
    _body: Body<Empty>,
) -> Result<HttpResponse, Failure> {
    Ok(HttpResponse::Ok().json(Player::from(&service.declare_bot(caller.player()).await?)))
}
