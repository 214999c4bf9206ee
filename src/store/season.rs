//! The monthly shift of a pool against deflation.

use sqlx::PgConnection;
use time::Date;

use super::Result;
use super::standings::live;
use crate::pool::Pool;
use crate::rating::Standing;

/// Begins this month's look at a pool; `None` if the pool has been looked at this month. Another look of the same month
/// waits here until this one is written.
pub async fn begin_season(db: &mut PgConnection, pool: Pool) -> Result<Option<Date>> {
    // A pool may be large.
    sqlx::query!("set local statement_timeout = 0").execute(&mut *db).await?;
    sqlx::query_scalar!(
        "insert into season (pool, month, players, shift)
         values ($1::text::pool, date_trunc('month', now())::date, 0, 0) on conflict do nothing returning month",
        pool.as_str()
    )
    .fetch_optional(db)
    .await
}

/// Locks all ratings of a pool, in the order of the players, and says how they stand.
pub async fn lock_pool(db: &mut PgConnection, pool: Pool) -> Result<Vec<Standing>> {
    let rows = sqlx::query!(
        r#"select rating, deviation, extract(epoch from now() - rated_at)::float8 / 86400 as "idle_days!"
           from rating where pool = $1::text::pool order by player_id for update"#,
        pool.as_str()
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| live(row.rating, row.deviation, row.idle_days)).collect())
}

/// What a look at a pool came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Season {
    /// The first day of its month.
    pub month: Date,
    /// How many players are rated with some certainty.
    pub players: i32,
    /// Their mean rating, in points; `None` if there are none.
    pub mean: Option<f64>,
    /// By how many points every rating of the pool moves; 0 if the mean is near enough.
    pub shift: f64,
}

/// Writes what a look came to, moves the ratings of a pool that is locked, and gives each player a receipt.
pub async fn finish_season(db: &mut PgConnection, pool: Pool, season: &Season) -> Result<()> {
    sqlx::query!(
        "update season set players = $3, mean = $4, shift = $5 where pool = $1::text::pool and month = $2",
        pool.as_str(),
        season.month,
        season.players,
        season.mean,
        season.shift
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "with moved as (
             update rating r
             set rating = least(greatest(r.rating + $3, 100), 4000), changes = r.changes + 1
             from rating o
             where r.pool = $1::text::pool and o.player_id = r.player_id and o.pool = r.pool and $3::float8 <> 0
             returning r.player_id, r.changes, o.rating as rating_before, r.rating as rating_after
         )
         insert into season_change (pool, month, player_id, number, rating_before, rating_after)
         select $1::text::pool, $2, player_id, changes, rating_before, rating_after from moved",
        pool.as_str(),
        season.month,
        season.shift
    )
    .execute(db)
    .await?;
    Ok(())
}
