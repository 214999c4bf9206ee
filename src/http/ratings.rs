//! Ratings of players and what has changed them.

use actix_web::web::{Data, Path, Query};
use actix_web::{HttpResponse, get};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::{IntoParams, ToSchema};

use super::caller::Viewer;
use super::objects::Pool;
use super::problem::{Failure, ProblemCode};
use crate::ids::{GameId, PlayerId};
use crate::pool;
use crate::service::{OwnStanding, Service};
use crate::store::{self, Cause, HistoryRow};

/// What a rated game did to one of its players: everything from which it can be reckoned again, unrounded.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"seat": 0, "player_id": "01936f0c-5b1a-7d02-9c77-6a0e4b9d8c21", "pool": "kalah-2", "place": 1,
    "players": 2, "rating_before": 1500.0, "deviation_before": 350.0, "rating_after": 1662.2120026057642,
    "deviation_after": 290.2305060910569, "expected": 0.5, "formula": 1}))]
pub struct Receipt {
    /// Where the player sat.
    pub seat: u8,
    /// Who.
    pub player_id: PlayerId,
    /// In which pool the game counted.
    pub pool: Pool,
    /// The place; 1 is best, shared places are equal.
    #[schema(minimum = 1, maximum = 4)]
    pub place: u8,
    /// How many played.
    #[schema(minimum = 2, maximum = 4)]
    pub players: u8,
    /// The rating before the game.
    pub rating_before: f64,
    /// The deviation before the game, idle days counted.
    pub deviation_before: f64,
    /// The rating after the game.
    pub rating_after: f64,
    /// The deviation after the game.
    pub deviation_after: f64,
    /// The mean score that was expected against the others, from 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub expected: f64,
    /// The version of the formulas.
    pub formula: i16,
}

/// The receipts of a game.
#[derive(Serialize, ToSchema)]
pub struct Receipts {
    /// One for each seat, in turn order; none if the game is not ranked, is not over, or was aborted.
    pub items: Vec<Receipt>,
}

/// How a player stands in a pool.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"pool": "kalah-2", "rating": 1662, "deviation": 290, "provisional": true, "games": 1}))]
pub struct PlayerRating {
    /// Which pool.
    pub pool: Pool,
    /// The rating in whole points; receipts have exact ones.
    pub rating: i16,
    /// How uncertain it is now, idle days counted: the standard deviation in whole points.
    #[schema(minimum = 55, maximum = 350)]
    pub deviation: i16,
    /// Whether the rating is provisional, shown with a question mark: its deviation is more than 110.
    pub provisional: bool,
    /// How many rated games.
    pub games: i32,
    /// The rank on the leaderboard; absent for players who are not on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub rank: Option<i64>,
}

/// How a player stands.
#[derive(Serialize, ToSchema)]
pub struct PlayerRatings {
    /// One for each pool in which the player has a rated game.
    pub items: Vec<PlayerRating>,
}

/// Which part of the history.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// Of the rating in this pool.
    pub pool: Pool,
    /// `next` of the page before, of the same player and pool.
    #[param(required = false, max_length = 64)]
    pub cursor: Option<String>,
}

/// A change of a rating: by a game, or by the shift of a whole pool at the beginning of a month. The changes of all points
/// add up.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"at": "2026-11-30T12:00:00Z", "rating": 1662, "change": 162, "deviation": 290, "provisional": true,
    "game_id": "01936f0c-6f1e-7c3a-8a53-3d1f6b7f2f10", "place": 1, "players": 2}))]
pub struct RatingPoint {
    /// When.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// The rating afterwards, in whole points.
    pub rating: i16,
    /// What it had been less, in whole points.
    pub change: i16,
    /// The deviation afterwards, in whole points; a season changes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 55, maximum = 350)]
    pub deviation: Option<i16>,
    /// Whether the rating was provisional afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisional: Option<bool>,
    /// The game.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub game_id: Option<GameId>,
    /// The player's place in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 4)]
    pub place: Option<u8>,
    /// How many played.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 2, maximum = 4)]
    pub players: Option<u8>,
    /// The month of the season that shifted all ratings of the pool; absent for games.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2026-12", pattern = "^[0-9]{4}-[0-9]{2}$")]
    pub season: Option<String>,
}

/// A page of the history of a rating.
#[derive(Serialize, ToSchema)]
pub struct RatingHistory {
    /// Newest first.
    pub items: Vec<RatingPoint>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl From<&store::Receipt> for Receipt {
    fn from(receipt: &store::Receipt) -> Self {
        Self {
            seat: receipt.seat,
            player_id: receipt.player,
            pool: receipt.pool.into(),
            place: receipt.place,
            players: receipt.players,
            rating_before: receipt.before.rating.points(),
            deviation_before: receipt.before.deviation.points(),
            rating_after: receipt.after.rating.points(),
            deviation_after: receipt.after.deviation.points(),
            expected: receipt.expected,
            formula: receipt.formula,
        }
    }
}

impl From<OwnStanding> for PlayerRating {
    fn from(own: OwnStanding) -> Self {
        Self {
            pool: own.pool.into(),
            rating: own.standing.rating.displayed(),
            deviation: own.standing.deviation.displayed(),
            provisional: own.standing.deviation.is_provisional(),
            games: own.games,
            rank: own.rank.ok(),
        }
    }
}

impl From<&HistoryRow> for RatingPoint {
    fn from(row: &HistoryRow) -> Self {
        let rating = row.after.displayed();
        let bare = Self {
            at: row.at,
            rating,
            change: rating - row.before.displayed(),
            deviation: None,
            provisional: None,
            game_id: None,
            place: None,
            players: None,
            season: None,
        };
        match row.cause {
            Cause::Game { game, place, players, deviation } => Self {
                deviation: Some(deviation.displayed()),
                provisional: Some(deviation.is_provisional()),
                game_id: Some(game),
                place: Some(place),
                players: Some(players),
                ..bare
            },
            Cause::Season(month) => {
                Self { season: Some(format!("{:04}-{:02}", month.year(), u8::from(month.month()))), ..bare }
            }
        }
    }
}

/// Read the receipts of a game
///
/// What a ranked game did to the ratings of its players, with everything from which that can be reckoned again: the
/// formulas are in `docs/ratings.md`. Whoever may see the game may see them.
#[utoipa::path(tag = "ratings", security((), ("bearer" = []), ("personal_token" = ["games:read"])),
    params(("id" = GameId, Path, description = "The game.")),
    responses((status = 200, description = "The receipts.", body = Receipts)))]
#[get("/games/{id}/receipts")]
pub async fn list_receipts(
    service: Data<Service>,
    viewer: Viewer,
    id: Path<GameId>,
) -> Result<HttpResponse, Failure> {
    let receipts = service.receipts(viewer.player(), *id).await?;
    Ok(HttpResponse::Ok().json(Receipts { items: receipts.iter().map(Receipt::from).collect() }))
}

/// Read a player's ratings
///
/// How the player stands in every pool with a rated game.
#[utoipa::path(tag = "ratings", security((), ("bearer" = []), ("personal_token" = ["games:read"])),
    params(("id" = PlayerId, Path, description = "The player.")),
    responses((status = 200, description = "The ratings.", body = PlayerRatings)))]
#[get("/players/{id}/ratings")]
pub async fn list_ratings(service: Data<Service>, id: Path<PlayerId>) -> Result<HttpResponse, Failure> {
    let items = service.ratings(*id).await?.into_iter().map(PlayerRating::from).collect();
    Ok(HttpResponse::Ok().json(PlayerRatings { items }))
}

/// Read the history of a rating
///
/// Every change of a player's rating in a pool, newest first: points in time for a chart.
#[utoipa::path(tag = "ratings", security((), ("bearer" = []), ("personal_token" = ["games:read"])),
    params(("id" = PlayerId, Path, description = "The player."), HistoryQuery),
    responses((status = 200, description = "A page of the history.", body = RatingHistory)))]
#[get("/players/{id}/rating-history")]
pub async fn list_rating_history(
    service: Data<Service>,
    id: Path<PlayerId>,
    query: Query<HistoryQuery>,
) -> Result<HttpResponse, Failure> {
    let pool = query.pool.into();
    let before = query.cursor.as_deref().map(|text| parse_cursor(text, *id, pool)).transpose()?;
    let (rows, more) = service.rating_history(*id, pool, before).await?;
    let next = rows.last().filter(|_| more).map(|row| cursor(*id, pool, row.number));
    Ok(HttpResponse::Ok().json(RatingHistory { items: rows.iter().map(RatingPoint::from).collect(), next }))
}

/// A cursor names its player and pool, so that it is refused for others.
pub fn cursor(player: PlayerId, pool: pool::Pool, number: i32) -> String {
    let mut bytes = player.uuid().as_bytes().to_vec();
    bytes.extend(number.to_be_bytes());
    bytes.extend(pool.as_str().as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The number of the change that a cursor of this player and pool stands for.
pub fn parse_cursor(text: &str, player: PlayerId, pool: pool::Pool) -> Result<i32, Failure> {
    let bytes = URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
    let number = bytes.strip_prefix(player.uuid().as_bytes()).and_then(|rest| {
        let (number, named) = rest.split_first_chunk::<4>()?;
        (named == pool.as_str().as_bytes()).then_some(i32::from_be_bytes(*number))
    });
    number.ok_or_else(|| {
        let detail = "cursor is not one of ours for this player and pool";
        Failure::new(ProblemCode::InvalidParameter, detail)
    })
}
