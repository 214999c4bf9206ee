//! What a ranked game can still do to ratings.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get};
use serde::Serialize;
use utoipa::ToSchema;

use super::caller::Viewer;
use super::objects::Pool;
use super::problem::Failure;
use crate::ids::{GameId, PlayerId};
use crate::service::{self, Service};

/// What finishing in a place would do to a rating, in whole points as players see them.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"place": 1, "smallest": 61, "largest": 97}))]
pub struct PlaceOutlook {
    /// The place; 1 is best.
    #[schema(minimum = 1, maximum = 4)]
    pub place: u8,
    /// The least that the rating changes by then.
    pub smallest: i16,
    /// The most. The two differ with who is beaten, and with whether the place is shared (in Kalah).
    pub largest: i16,
}

/// What the game can still do to the rating of a seat.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"seat": 0, "player_id": "01936f0c-5b1a-7d02-9c77-6a0e4b9d8c21", "rating": 1500, "deviation": 350,
    "provisional": true, "expected": 0.5, "places": [{"place": 1, "smallest": 0, "largest": 162},
        {"place": 2, "smallest": -162, "largest": -162}]}))]
pub struct SeatOutlook {
    /// Its number.
    pub seat: u8,
    /// Who sits there.
    pub player_id: PlayerId,
    /// The rating now, from which the game will be rated.
    pub rating: i16,
    /// How uncertain it is now: the standard deviation in points.
    #[schema(minimum = 55, maximum = 350)]
    pub deviation: i16,
    /// Whether it is provisional: its deviation is more than 110.
    pub provisional: bool,
    /// The mean score that the ratings let expect against the others: 1 is a win, one half a tie.
    #[schema(minimum = 0, maximum = 1)]
    pub expected: f64,
    /// The places in which it may still finish.
    pub places: Vec<PlaceOutlook>,
}

/// What a ranked game can still do to the ratings of its players.
#[derive(Serialize, ToSchema)]
pub struct Outlook {
    /// The state of the game that this is of.
    pub seq: i32,
    /// In which pool it counts.
    pub pool: Pool,
    /// The seats, in turn order.
    pub seats: Vec<SeatOutlook>,
}

impl From<&service::SeatOutlook> for SeatOutlook {
    fn from(of: &service::SeatOutlook) -> Self {
        let places = of.places.iter();
        Self {
            seat: of.seat.get(),
            player_id: of.player,
            rating: of.standing.rating.displayed(),
            deviation: of.standing.deviation.displayed(),
            provisional: of.standing.deviation.is_provisional(),
            expected: of.expected,
            places: places
                .map(|(&place, &(smallest, largest))| PlaceOutlook { place, smallest, largest })
                .collect(),
        }
    }
}

/// See what a ranked game may change
///
/// For every seat of a ranked game that is being played, and every place in which it may still finish: by how much its
/// rating changes then, at least and at most. All of it follows from the present ratings and from the places that are
/// certain already, not from the stones. An aborted game changes nothing.
#[utoipa::path(tag = "ratings", security((), ("bearer" = []), ("personal_token" = ["games:read"])),
    params(("id" = GameId, Path, description = "The game.")),
    responses((status = 200, description = "What may follow.", body = Outlook)))]
#[get("/games/{id}/outlook")]
pub async fn get_outlook(
    service: Data<Service>,
    viewer: Viewer,
    id: Path<GameId>,
) -> Result<HttpResponse, Failure> {
    let outlook = service.outlook(viewer.player(), *id).await?;
    Ok(HttpResponse::Ok().json(Outlook {
        seq: outlook.seq,
        pool: outlook.pool.into(),
        seats: outlook.seats.iter().map(SeatOutlook::from).collect(),
    }))
}
