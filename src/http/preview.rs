//! What every legal move would do: of a game, or of any position.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get, post};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::Body;
use super::caller::Viewer;
use super::objects::{CapturedCup, Cup, Position, captured, path};
use super::problem::Failure;
use crate::engine;
use crate::ids::GameId;
use crate::service::Service;

/// What a legal move would do.
#[derive(Serialize, ToSchema)]
pub struct PreviewMove {
    /// The pit sown.
    pub pit: u8,
    /// Every cup that a stone falls into, in order.
    pub path: Vec<Cup>,
    /// The pits that the capture empties, the last stone's own pit among them.
    pub captured: Vec<CapturedCup>,
    /// Whether the same seat sows again.
    pub extra: bool,
    /// Whether the game is over then.
    pub ends_game: bool,
    /// The position afterwards.
    pub position: Position,
}

/// A pit of another seat.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"seat": 1, "pit": 5}))]
pub struct CorrespondingPit {
    /// Whose.
    pub seat: u8,
    /// Which.
    pub pit: u8,
}

/// Everything that the seat to move can do.
#[derive(Serialize, ToSchema)]
pub struct Preview {
    /// The `seq` of the game that was looked at; absent for a bare position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<i32>,
    /// Every legal move; none when the game is over.
    pub moves: Vec<PreviewMove>,
    /// For each own pit of the seat to move, the pits that a capture from it would take (Kalah).
    pub corresponding: Vec<Vec<CorrespondingPit>>,
}

/// A position to look at.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewRequest {
    /// Any position that the rules allow, with 1 to 7 pits a side.
    pub position: Position,
}

impl Preview {
    fn of(position: &engine::Position, seq: Option<i32>) -> Self {
        let moves = position.legal().filter_map(|pit| position.trace(pit).ok()).map(|sowing| PreviewMove {
            pit: sowing.pit,
            path: path(&sowing),
            captured: captured(&sowing),
            extra: sowing.extra,
            ends_game: sowing.ends_game,
            position: Position::from(&sowing.position),
        });
        let corresponding = position.to_move().into_iter().flat_map(|seat| {
            (0..position.rules().pits()).map(move |pit| {
                let pits = position.corresponding(seat, pit);
                pits.map(|(seat, pit)| CorrespondingPit { seat: seat.get(), pit }).collect()
            })
        });
        Self { seq, moves: moves.collect(), corresponding: corresponding.collect() }
    }
}

/// Preview the moves of a game
///
/// For each legal move its path, captures, extra sowing and the position afterwards, and which pits correspond to
/// which: all that a client needs to show a move before it is made.
#[utoipa::path(tag = "games", security((), ("bearer" = []), ("personal_token" = ["games:read"])),
    params(("id" = GameId, Path, description = "The game.")),
    responses((status = 200, description = "What every legal move would do.", body = Preview)))]
#[get("/games/{id}/preview")]
pub async fn preview_game(
    service: Data<Service>,
    viewer: Viewer,
    id: Path<GameId>,
) -> Result<HttpResponse, Failure> {
    let game = service.game(viewer.player(), *id).await?;
    Ok(HttpResponse::Ok().json(Preview::of(game.game.position(), Some(game.seq))))
}

/// Preview the moves of any position
///
/// The same for a position given whole, with 1 to 7 pits a side.
#[utoipa::path(tag = "positions", request_body = PreviewRequest,
    responses((status = 200, description = "What every legal move would do.", body = Preview)))]
#[post("/positions/preview")]
pub async fn preview_position(body: Body<PreviewRequest>) -> Result<HttpResponse, Failure> {
    let position = body.value.position.parse("/position")?;
    Ok(HttpResponse::Ok().json(Preview::of(&position, None)))
}
