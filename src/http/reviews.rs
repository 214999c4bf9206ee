//! Reviews of finished games.

use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse, get};
use serde::Serialize;
use utoipa::ToSchema;

use super::caller::Viewer;
use super::limits::have_thought;
use super::objects::By;
use super::problem::{Failure, ProblemCode};
use crate::ids::GameId;
use crate::service::{self, Service};

/// What a new review takes from a player's milliseconds of thinking: most need less.
const COST_MS: u32 = 5_000;

/// A move and what it was worth, in stones of the final margin (own store minus the other's) of the seat that made it.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"seq": 1, "seat": 0, "pit": 0, "by": "player", "before": 2, "after": -14, "exact": true,
    "given_away": 16, "best": 4}))]
pub struct ReviewMove {
    /// The event.
    pub seq: i32,
    /// Who moved.
    pub seat: u8,
    /// The pit sown.
    pub pit: u8,
    /// Who decided so.
    pub by: By,
    /// What best play by both would have come to before the move; absent where it was not found in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<i16>,
    /// What best play by both would have come to after the move; absent where it was not found in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<i16>,
    /// Whether both are known. They are always exact.
    pub exact: bool,
    /// Stones that the move cost: `before` minus `after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_away: Option<u32>,
    /// A pit that would have given nothing away: the one sown, if it gave nothing away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<u8>,
}

/// What the player of a seat did.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"seat": 0, "judged": 12, "flawless": 9, "given_away": 11, "accuracy": 75}))]
pub struct ReviewSeat {
    /// The seat.
    pub seat: u8,
    /// How many of its player's moves are judged: those with `exact`. Moves of the computer and of the clock are not.
    pub judged: u32,
    /// How many of them gave nothing away.
    pub flawless: u32,
    /// Stones that the others gave away in all.
    pub given_away: u32,
    /// The percentage of the judged moves that gave nothing away, rounded down; absent when none is judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 100)]
    pub accuracy: Option<u32>,
}

/// What best play comes to for a seat.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// More stones than the other seat.
    Won,
    /// As many.
    Drawn,
    /// Fewer.
    Lost,
}

/// A move after which best play no longer comes to the same result.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"seq": 1, "seat": 0, "before": "won", "after": "lost"}))]
pub struct TurningPoint {
    /// The event.
    pub seq: i32,
    /// Who moved.
    pub seat: u8,
    /// What it was for that seat before the move.
    pub before: Outcome,
    /// What it was for that seat afterwards.
    pub after: Outcome,
}

/// What a finished game was worth, move by move.
#[derive(Serialize, ToSchema)]
pub struct Review {
    /// Whether every move is judged.
    pub exact: bool,
    /// Every move, in order, whoever made it.
    pub moves: Vec<ReviewMove>,
    /// What the players did, by seat.
    pub seats: Vec<ReviewSeat>,
    /// The moves that changed the result.
    pub turning_points: Vec<TurningPoint>,
}

impl From<service::Outcome> for Outcome {
    fn from(outcome: service::Outcome) -> Self {
        match outcome {
            service::Outcome::Won => Self::Won,
            service::Outcome::Drawn => Self::Drawn,
            service::Outcome::Lost => Self::Lost,
        }
    }
}

impl From<&service::ReviewedMove> for ReviewMove {
    fn from(of: &service::ReviewedMove) -> Self {
        Self {
            seq: of.seq,
            seat: of.seat.get(),
            pit: of.pit,
            by: of.by.into(),
            before: of.before,
            after: of.after,
            exact: of.before.is_some() && of.after.is_some(),
            given_away: of.given_away(),
            best: of.best,
        }
    }
}

impl From<&service::Review> for Review {
    fn from(review: &service::Review) -> Self {
        let moves: Vec<ReviewMove> = review.moves.iter().map(ReviewMove::from).collect();
        let seats = review.seats.iter().map(|&(seat, did)| ReviewSeat {
            seat: seat.get(),
            judged: did.judged,
            flawless: did.flawless,
            given_away: did.given_away,
            accuracy: (did.flawless * 100).checked_div(did.judged),
        });
        let turning_points = review.turning_points.iter().map(|point| TurningPoint {
            seq: point.seq,
            seat: point.seat.get(),
            before: point.before.into(),
            after: point.after.into(),
        });
        Self {
            exact: moves.iter().all(|of| of.exact),
            seats: seats.collect(),
            turning_points: turning_points.collect(),
            moves,
        }
    }
}

/// Review a finished game
///
/// For finished games of Kalah between two players: what every move was worth under best play, as far as could be found
/// out, what it gave away, and where the result changed. A review is computed once, at the first request with a token, which
/// may take half a minute and costs 5 seconds of that player's 20 of thinking a minute. It is kept, and from then on
/// anybody who may see the game gets it at once; without a token nothing but that is answered.
#[utoipa::path(tag = "analysis", security((), ("bearer" = []), ("personal_token" = ["games:read"])),
    params(("id" = GameId, Path, description = "The game.")),
    responses((status = 200, description = "The review.", body = Review, headers(
        ("RateLimit-Policy" = String, description = "Of a new review. The budget: so many ms of thinking (q) in so many seconds (w)."),
        ("RateLimit" = String, description = "Of a new review. What is left of it (r), and in how many seconds it is full (t).")))))]
#[get("/games/{id}/review")]
pub async fn get_review(
    service: Data<Service>,
    viewer: Viewer,
    id: Path<GameId>,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let game = service.reviewable(viewer.player(), *id).await?;
    if game.is_new() {
        let detail =
            "the review of this game has not been computed yet; send an access token to have that done";
        let player = viewer.player().ok_or_else(|| Failure::new(ProblemCode::TokenMissing, detail))?;
        have_thought(player, COST_MS, &request)?;
    }
    let review = service.review(game).await?;
    Ok(HttpResponse::Ok().json(Review::from(&review)))
}
