//! What a player's games come to.

use std::collections::BTreeMap;

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get};
use serde::Serialize;
use utoipa::ToSchema;

use super::objects::{Player, Pool};
use super::problem::Failure;
use crate::ids::PlayerId;
use crate::service::{self, Service};
use crate::store;

/// The rated games of a pool.
#[derive(Default, Serialize, ToSchema)]
#[schema(example = json!({"played": 12, "by_place": {"1": 7, "2": 5}}))]
pub struct PoolStatistics {
    /// How many.
    pub played: i64,
    /// How often the player had which place: the key is the place, 1 is best. Shared places count as they are.
    pub by_place: BTreeMap<String, i64>,
}

/// How a player has done against others: every other seat of a game counts once.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(example = json!({"played": 12, "won": 7, "tied": 1, "lost": 4}))]
pub struct Tally {
    /// How often they met.
    pub played: i64,
    /// How often the player had the better place.
    pub won: i64,
    /// How often they shared a place.
    pub tied: i64,
    /// How often the player had the worse place.
    pub lost: i64,
}

/// How a player has done against one other in the rated games of a pool.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"player": {"id": "01936f0c-5b1a-7d02-9c77-6a0e4b9d8c21", "name": "Ana", "kind": "guest"},
    "pool": "kalah-2", "played": 12, "won": 7, "tied": 1, "lost": 4}))]
pub struct OpponentStatistics {
    /// The other.
    pub player: Player,
    /// In which pool.
    pub pool: Pool,
    /// How often they met.
    pub played: i64,
    /// How often the player had the better place.
    pub won: i64,
    /// How often they shared a place.
    pub tied: i64,
    /// How often the player had the worse place.
    pub lost: i64,
}

/// What a player's finished games come to.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"pools": {"kalah-2": {"played": 12, "by_place": {"1": 7, "2": 5}}},
    "computers": {"kalah": {"easy": {"played": 3, "won": 2, "tied": 0, "lost": 1}}},
    "people": {"basic": {"played": 1, "won": 0, "tied": 0, "lost": 1}}, "opponents": []}))]
pub struct Statistics {
    /// Rated games by pool (`kalah-2`, `kalah-multi`, `basic-2`, `basic-multi`); only pools with games.
    pub pools: BTreeMap<String, PoolStatistics>,
    /// Games against computers, by variant and level. In a game with several of them each one counts.
    pub computers: BTreeMap<String, BTreeMap<String, Tally>>,
    /// Games against people that are not ranked, by variant. In a game with several of them each one counts.
    pub people: BTreeMap<String, Tally>,
    /// Whom the player has met most often in rated games, by pool: twenty at most, most games first.
    pub opponents: Vec<OpponentStatistics>,
}

impl From<store::Tally> for Tally {
    fn from(tally: store::Tally) -> Self {
        let store::Tally { played, won, tied } = tally;
        Self { played, won, tied, lost: played - won - tied }
    }
}

impl From<&store::OpponentRow> for OpponentStatistics {
    fn from(row: &store::OpponentRow) -> Self {
        let Tally { played, won, tied, lost } = row.tally.into();
        Self { player: Player::from(&row.player), pool: row.pool.into(), played, won, tied, lost }
    }
}

impl From<&service::Statistics> for Statistics {
    fn from(found: &service::Statistics) -> Self {
        let mut statistics = Self {
            pools: BTreeMap::new(),
            computers: BTreeMap::new(),
            people: BTreeMap::new(),
            opponents: found.opponents.iter().map(OpponentStatistics::from).collect(),
        };
        for (pool, place, games) in &found.places {
            let pool = statistics.pools.entry(pool.to_string()).or_default();
            pool.played += games;
            pool.by_place.insert(place.to_string(), *games);
        }
        for (variant, level, tally) in &found.unranked {
            let variant = variant.as_str().to_owned();
            match level {
                Some(level) => {
                    let levels = statistics.computers.entry(variant).or_default();
                    levels.insert(level.to_string(), (*tally).into());
                }
                None => {
                    statistics.people.insert(variant, (*tally).into());
                }
            }
        }
        statistics
    }
}

/// Read a player's statistics
///
/// What the finished games of a player come to; aborted ones do not count. Against others, seats are compared two at a
/// time by their places. Games of private groups are in the numbers.
#[utoipa::path(tag = "players", security((), ("bearer" = []), ("personal_token" = ["games:read"])),
    params(("id" = PlayerId, Path, description = "The player.")),
    responses((status = 200, description = "The statistics.", body = Statistics)))]
#[get("/players/{id}/statistics")]
pub async fn get_statistics(service: Data<Service>, id: Path<PlayerId>) -> Result<HttpResponse, Failure> {
    Ok(HttpResponse::Ok().json(Statistics::from(&service.statistics(*id).await?)))
}
