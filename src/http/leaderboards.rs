//! Leaderboards, and one's own place on them.

use actix_web::web::{Data, Path, Query};
use actix_web::{HttpResponse, get};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::caller::Caller;
use super::objects::{Player, Pool};
use super::problem::{Failure, ProblemCode};
use crate::pool;
use crate::rating::Rating;
use crate::service::{self, Listed, Mark, OwnStanding, Service};

/// From where to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LeaderboardQuery {
    /// `next` of the page before, of the same pool.
    #[param(required = false, max_length = 64)]
    pub cursor: Option<String>,
}

/// A player on a leaderboard.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"rank": 1, "player": {"id": "01936f0c-5b1a-7d02-9c77-6a0e4b9d8c21", "name": "Ana", "kind": "guest"},
    "rating": 1874, "deviation": 62, "games": 214}))]
pub struct LeaderboardEntry {
    /// One more than there are players with a higher rating; equal ratings share a rank.
    #[schema(minimum = 1)]
    pub rank: u32,
    /// Who.
    pub player: Player,
    /// The rating in whole points. Players are ordered by the exact one.
    pub rating: i16,
    /// How uncertain it is now: the standard deviation in points.
    #[schema(minimum = 55, maximum = 110)]
    pub deviation: i16,
    /// How many rated games the player has in the pool.
    pub games: i32,
}

/// A page of a leaderboard.
#[derive(Serialize, ToSchema)]
pub struct LeaderboardPage {
    /// Highest rating first.
    pub items: Vec<LeaderboardEntry>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Why a player is not on a leaderboard.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnlistedReason {
    /// No rated game in the pool yet.
    NoGames,
    /// The last rated game was 30 days ago or more.
    Idle,
    /// The rating is provisional: its deviation is more than 110.
    Provisional,
    /// Fewer different opponents than `opponents_needed`.
    TooFewOpponents,
}

/// One's own place on a leaderboard.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"listed": false, "reason": "provisional", "rating": 1662, "deviation": 290, "provisional": true,
    "games": 1, "opponents": 1, "opponents_needed": 10}))]
pub struct OwnRank {
    /// Whether the leaderboard shows the caller.
    pub listed: bool,
    /// One more than there are listed players with a higher rating; absent unless listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub rank: Option<i64>,
    /// What is missing; absent when listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<UnlistedReason>,
    /// The rating in whole points; that of a new player before the first rated game.
    pub rating: i16,
    /// How uncertain it is now: the standard deviation in points.
    #[schema(minimum = 55, maximum = 350)]
    pub deviation: i16,
    /// Whether the rating is provisional: its deviation is more than 110.
    pub provisional: bool,
    /// How many rated games the caller has in the pool.
    pub games: i32,
    /// How many different players the caller has met in them.
    pub opponents: i32,
    /// How many the leaderboard asks for: 10, or 3 while fewer than 50 players have a rated game in the pool.
    pub opponents_needed: i32,
}

impl From<&Listed> for LeaderboardEntry {
    fn from(listed: &Listed) -> Self {
        Self {
            rank: listed.rank,
            player: Player::from(&listed.row.player),
            rating: listed.row.standing.rating.displayed(),
            deviation: listed.row.standing.deviation.displayed(),
            games: listed.row.games,
        }
    }
}

impl From<OwnStanding> for OwnRank {
    fn from(own: OwnStanding) -> Self {
        let reason = own.rank.err().map(|unlisted| match unlisted {
            service::Unlisted::NoGames => UnlistedReason::NoGames,
            service::Unlisted::Idle => UnlistedReason::Idle,
            service::Unlisted::Provisional => UnlistedReason::Provisional,
            service::Unlisted::TooFewOpponents => UnlistedReason::TooFewOpponents,
        });
        Self {
            listed: own.rank.is_ok(),
            rank: own.rank.ok(),
            reason,
            rating: own.standing.rating.displayed(),
            deviation: own.standing.deviation.displayed(),
            provisional: own.standing.deviation.is_provisional(),
            games: own.games,
            opponents: own.opponents,
            opponents_needed: own.opponents_needed,
        }
    }
}

/// Read a leaderboard
///
/// The players of a pool, highest rating first, whose rating is not provisional, who have played a rated game within 30
/// days, and who have met at least 10 different opponents (3 while fewer than 50 players have a rated game in the pool).
/// Later pages count on from the page before, so ranks may shift by what happens in between.
#[utoipa::path(tag = "ratings", security((), ("bearer" = []), ("personal_token" = ["games:read"])),
    params(("pool" = Pool, Path, description = "The pool."), LeaderboardQuery),
    responses((status = 200, description = "A page of the leaderboard.", body = LeaderboardPage)))]
#[get("/leaderboards/{pool}")]
pub async fn list_leaderboard(
    service: Data<Service>,
    pool: Path<String>,
    query: Query<LeaderboardQuery>,
) -> Result<HttpResponse, Failure> {
    let pool = pool_of(&pool)?;
    let after = query.cursor.as_deref().map(|text| parse_cursor(text, pool)).transpose()?;
    let (listed, next) = service.leaderboard(pool, after).await?;
    let items = listed.iter().map(LeaderboardEntry::from).collect();
    Ok(HttpResponse::Ok().json(LeaderboardPage { items, next: next.map(|mark| cursor(pool, &mark)) }))
}

/// Read the caller's rank
///
/// The caller's place on the leaderboard of a pool, or what is missing for one.
#[utoipa::path(tag = "ratings", security(("bearer" = []), ("personal_token" = ["games:read"])),
    params(("pool" = Pool, Path, description = "The pool.")),
    responses((status = 200, description = "The caller's place.", body = OwnRank)))]
#[get("/leaderboards/{pool}/me")]
pub async fn get_own_rank(
    service: Data<Service>,
    caller: Caller,
    pool: Path<String>,
) -> Result<HttpResponse, Failure> {
    let own = service.own_standing(caller.player(), pool_of(&pool)?).await?;
    Ok(HttpResponse::Ok().json(OwnRank::from(own)))
}

fn pool_of(text: &str) -> Result<pool::Pool, Failure> {
    text.parse().map_err(|error: pool::NoSuchPool| Failure::new(ProblemCode::PoolNotFound, error.to_string()))
}

/// A cursor names its pool, so that another one can refuse it; and what the next page counts on from.
pub fn cursor(pool: pool::Pool, mark: &Mark) -> String {
    let mut bytes = mark.player.uuid().as_bytes().to_vec();
    bytes.extend(mark.rating.points().to_be_bytes());
    bytes.extend(mark.rank.to_be_bytes());
    bytes.extend(mark.count.to_be_bytes());
    bytes.extend(pool.as_str().as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// What a cursor of this pool counts on from.
pub fn parse_cursor(text: &str, pool: pool::Pool) -> Result<Mark, Failure> {
    let bytes = URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
    parse(&bytes, pool).ok_or_else(|| {
        Failure::new(
            ProblemCode::InvalidParameter,
            "cursor is not one of ours for the leaderboard of this pool",
        )
    })
}

fn parse(bytes: &[u8], pool: pool::Pool) -> Option<Mark> {
    let (player, rest) = bytes.split_first_chunk::<16>()?;
    let (rating, rest) = rest.split_first_chunk::<8>()?;
    let (rank, rest) = rest.split_first_chunk::<4>()?;
    let (count, named) = rest.split_first_chunk::<4>()?;
    let (points, rank, count) =
        (f64::from_be_bytes(*rating), u32::from_be_bytes(*rank), u32::from_be_bytes(*count));
    let good = named == pool.as_str().as_bytes() && points.is_finite() && (1..=count).contains(&rank);
    let player = Uuid::from_bytes(*player).into();
    good.then(|| Mark { rating: Rating::new(points), player, rank, count })
}
