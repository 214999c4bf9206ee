//! Whom the caller does not want to meet.

use actix_web::web::{Data, Path, Query};
use actix_web::{HttpResponse, delete, get, put};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::games::{cursor, parse_cursor};
use super::objects::Player;
use super::problem::Failure;
use crate::ids::PlayerId;
use crate::service::Service;
use crate::store::BlockRow;

/// A player whom the caller has blocked.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"player": {"id": "01936f0c-5b1a-7d02-9c77-6a0e4b9d8c21", "name": "Ben", "kind": "guest"},
    "created_at": "2026-11-30T12:00:00Z"}))]
pub struct Block {
    /// Who.
    pub player: Player,
    /// Since when.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
}

/// A page of the players whom the caller has blocked.
#[derive(Serialize, ToSchema)]
pub struct BlockPage {
    /// In the order of the ids of the players.
    pub items: Vec<Block>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// From where to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BlockQuery {
    /// `next` of the page before.
    #[param(required = false, max_length = 64)]
    pub cursor: Option<String>,
}

impl From<&BlockRow> for Block {
    fn from(row: &BlockRow) -> Self {
        Self { player: Player::from(&row.player), created_at: row.created_at }
    }
}

/// List blocked players
///
/// The players whom the caller has blocked. Nobody else sees them.
#[utoipa::path(tag = "identity", security(("bearer" = []), ("personal_token" = ["profile"])), params(BlockQuery),
    responses((status = 200, description = "A page of blocked players.", body = BlockPage)))]
#[get("/me/blocks")]
pub async fn list_blocks(
    service: Data<Service>,
    caller: Caller,
    query: Query<BlockQuery>,
) -> Result<HttpResponse, Failure> {
    let after = query.cursor.as_deref().map(parse_cursor).transpose()?;
    let (rows, more) = service.blocks(caller.player(), after).await?;
    let last = rows.last().filter(|_| more);
    let next = last.map(|row| cursor(row.player.id.uuid()));
    Ok(HttpResponse::Ok().json(BlockPage { items: rows.iter().map(Block::from).collect(), next }))
}

/// Look up a block
///
/// Whether, and since when, the caller has blocked this player.
#[utoipa::path(tag = "identity", security(("bearer" = []), ("personal_token" = ["profile"])),
    params(("player_id" = PlayerId, Path, description = "The other player.")),
    responses((status = 200, description = "The player is blocked.", body = Block)))]
#[get("/me/blocks/{player_id}")]
pub async fn get_block(
    service: Data<Service>,
    caller: Caller,
    player: Path<PlayerId>,
) -> Result<HttpResponse, Failure> {
    Ok(HttpResponse::Ok().json(Block::from(&service.block_of(caller.player(), *player).await?)))
}

/// Block a player
///
/// From now on matchmaking makes no game with both, and the other player cannot join, by code, a group of which the caller
/// is a member: the answer is that of a wrong code. Games that run go on. The other player is not told. At most 1,000
/// players can be blocked. Repeating it is safe.
#[utoipa::path(tag = "identity", security(("bearer" = []), ("personal_token" = ["profile"])),
    params(("player_id" = PlayerId, Path, description = "The other player.")),
    responses((status = 204, description = "The player is blocked.")))]
#[put("/me/blocks/{player_id}")]
pub async fn block_player(
    service: Data<Service>,
    caller: Caller,
    player: Path<PlayerId>,
) -> Result<HttpResponse, Failure> {
    service.block(caller.player(), *player).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Unblock a player
///
/// Repeating it is safe.
#[utoipa::path(tag = "identity", security(("bearer" = []), ("personal_token" = ["profile"])),
    params(("player_id" = PlayerId, Path, description = "The other player.")),
    responses((status = 204, description = "The player is not blocked.")))]
#[delete("/me/blocks/{player_id}")]
pub async fn unblock_player(
    service: Data<Service>,
    caller: Caller,
    player: Path<PlayerId>,
) -> Result<HttpResponse, Failure> {
    service.unblock(caller.player(), *player).await?;
    Ok(HttpResponse::NoContent().finish())
}
