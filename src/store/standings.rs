//! Where players stand: their ratings as idle days have left them, and the leaderboard.

use sqlx::PgConnection;
use uuid::Uuid;

use super::identity::{PlayerKind, PlayerRow};
use super::{Result, corrupt};
use crate::ids::PlayerId;
use crate::pool::Pool;
use crate::rating::{Deviation, Rating, Standing};

/// For how many days after a rated game the leaderboard shows a player.
pub(super) const LISTED_DAYS: f64 = 30.0;

/// How one player stands in a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolStanding {
    /// Which pool.
    pub pool: Pool,
    /// How many different opponents the leaderboard asks for at present.
    pub opponents_needed: i32,
    /// What rated games have made of the player; `None` before the first.
    pub rated: Option<Rated>,
}

/// What rated games have made of a player in a pool.
#[derive(Clone, Copy, Debug)]
pub struct Rated {
    /// The live standing.
    pub standing: Standing,
    /// How many rated games.
    pub games: i32,
    /// How many different opponents.
    pub opponents: i32,
    /// Whether the last of the games is too long ago for the leaderboard.
    pub idle: bool,
    /// Whether games and certainty, opponents aside, suffice for the leaderboard.
    pub current: bool,
    /// How many on the leaderboard have a higher rating; `None` if the player is not on it.
    pub above: Option<i64>,
}

/// How a player stands in these pools, in their order.
pub async fn standings(db: &mut PgConnection, player: PlayerId, pools: &[Pool]) -> Result<Vec<PoolStanding>> {
    let names: Vec<String> = pools.iter().map(|pool| pool.as_str().to_owned()).collect();
    let rows = sqlx::query!(
        r#"select n.needed as "needed!", r.rating as "rating?", r.deviation as "deviation?",
                  r.games as "games?", r.opponents as "opponents?", r.listed_until > now() as current,
                  extract(epoch from now() - r.rated_at)::float8 / 86400 as idle_days,
                  case when r.listed_until > now() and r.opponents >= n.needed then
                      (select count(*) from rating b
                       where b.pool = q.pool::pool and b.rating > r.rating and b.listed_until > now()
                         and b.opponents >= n.needed)
                  end as above
           from unnest($2::text[]) with ordinality q (pool, number)
           cross join lateral (select case when count(*) < 50 then 3 else 10 end as needed
                               from (select from rating p where p.pool = q.pool::pool limit 50) p) n
           left join rating r on r.player_id = $1 and r.pool = q.pool::pool
           order by q.number"#,
        player.uuid(),
        &names
    )
    .fetch_all(db)
    .await?;
    let of_pool = pools.iter().zip(rows).map(|(&pool, row)| {
        let rated = match (row.rating, row.deviation, row.games, row.opponents, row.idle_days) {
            (Some(rating), Some(deviation), Some(games), Some(opponents), Some(days)) => Some(Rated {
                standing: live(rating, deviation, days),
                games,
                opponents,
                idle: days >= LISTED_DAYS,
                current: row.current.unwrap_or(false),
                above: row.above,
            }),
            _ => None,
        };
        PoolStanding { pool, opponents_needed: row.needed, rated }
    });
    Ok(of_pool.collect())
}

/// How these players stand in a pool, in their order.
pub async fn live_standings(
    db: &mut PgConnection,
    pool: Pool,
    players: &[PlayerId],
) -> Result<Vec<Standing>> {
    let players: Vec<Uuid> = players.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        r#"select r.rating as "rating?", r.deviation as "deviation?",
                  extract(epoch from now() - r.rated_at)::float8 / 86400 as idle_days
           from unnest($2::uuid[]) with ordinality q (player_id, number)
           left join rating r on r.player_id = q.player_id and r.pool = $1::text::pool
           order by q.number"#,
        pool.as_str(),
        &players
    )
    .fetch_all(db)
    .await?;
    let standing = rows.into_iter().map(|row| match (row.rating, row.deviation, row.idle_days) {
        (Some(rating), Some(deviation), Some(days)) => live(rating, deviation, days),
        _ => Standing::NEW,
    });
    Ok(standing.collect())
}

/// A stored rating as so many days without a game have left it.
pub(super) fn live(rating: f64, deviation: f64, idle_days: f64) -> Standing {
    Standing { rating: Rating::new(rating), deviation: Deviation::new(deviation).after_days(idle_days) }
}

/// A player on the leaderboard.
#[derive(Clone, Debug)]
pub struct ListedRow {
    /// Who.
    pub player: PlayerRow,
    /// The live standing.
    pub standing: Standing,
    /// How many rated games.
    pub games: i32,
}

/// How many players a page of the leaderboard shows.
pub const LEADERBOARD_PAGE: usize = 50;

/// The players on the leaderboard of a pool, best first, who come after this rating and player: a page of them, and one
/// more if there are more. One walk along the index, however deep the page.
pub async fn leaderboard(
    db: &mut PgConnection,
    pool: Pool,
    after: Option<(Rating, PlayerId)>,
) -> Result<Vec<ListedRow>> {
    let rows = sqlx::query!(
        r#"select p.id, p.name, p.kind, r.rating, r.deviation, r.games,
                  extract(epoch from now() - r.rated_at)::float8 / 86400 as "idle_days!"
           from rating r join player p on p.id = r.player_id
           where r.pool = $1::text::pool and r.listed_until > now()
             and r.opponents >= (select case when count(*) < 50 then 3 else 10 end
                                 from (select from rating where pool = $1::text::pool limit 50) p)
             and (r.rating, r.player_id) < (coalesce($2, 'infinity'::float8),
                                            coalesce($3, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid))
           order by r.rating desc, r.player_id desc limit 51"#,
        pool.as_str(),
        after.map(|(rating, _)| rating.points()),
        after.map(|(_, player)| player.uuid())
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let kind = PlayerKind::stored(&row.kind)?;
            Ok(ListedRow {
                player: PlayerRow { id: row.id.into(), name: row.name, kind },
                standing: live(row.rating, row.deviation, row.idle_days),
                games: row.games,
            })
        })
        .collect()
}

/// A stored pool.
pub(super) fn pool(name: &str) -> Result<Pool> {
    name.parse().map_err(|e| corrupt("pool", e))
}
