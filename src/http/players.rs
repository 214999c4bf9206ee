//! Players as others see them.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get};

use super::objects::Player;
use super::problem::Failure;
use crate::ids::PlayerId;
use crate::service::Service;

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
