//! The ledgers of ratings as the audit reads them: every change of a player's rating in a pool, one after the other.

use sqlx::PgConnection;
use uuid::Uuid;

use super::Result;
use super::standings::pool;
use crate::ids::PlayerId;
use crate::pool::Pool;

/// Where a player stands as stored.
#[derive(Clone, Copy, Debug)]
pub struct LedgerRow {
    /// Who.
    pub player: PlayerId,
    /// In which pool.
    pub pool: Pool,
    /// Unrounded points.
    pub rating: f64,
    /// As it was after the last game.
    pub deviation: f64,
    /// The number of the last change.
    pub changes: i32,
    /// How many rated games.
    pub games: i32,
    /// How many different opponents.
    pub opponents: i32,
    /// First moves had less those to be expected, in twelfths.
    pub start_balance: i32,
    /// Opponents of whom there is a tally.
    pub tallied: i64,
    /// Whether these tallies are what the receipts come to.
    pub tallies_hold: bool,
    /// Whether the last game is when the rating says it was.
    pub dated: bool,
    /// Whether the player is gone, whom no leaderboard shows.
    pub deleted: bool,
    /// For how many seconds after the last game the leaderboard may show the player; `None` if not even then.
    pub listed: Option<f64>,
}

/// One change of a rating.
#[derive(Clone, Copy, Debug)]
pub struct LedgerEntry {
    /// Counts the player's changes in the pool from 1.
    pub number: i32,
    /// Unrounded points.
    pub rating_before: f64,
    /// Unrounded points.
    pub rating_after: f64,
    /// By what.
    pub cause: LedgerCause,
}

/// What has changed a rating.
#[derive(Clone, Copy, Debug)]
pub enum LedgerCause {
    /// A game.
    Game(LedgerGame),
    /// A season, which shifted the pool by so many points.
    Season(f64),
}

/// What of an entry only games have.
#[derive(Clone, Copy, Debug)]
pub struct LedgerGame {
    /// Live.
    pub deviation_before: f64,
    /// After the game.
    pub deviation_after: f64,
    /// Days since the player's rated game before; 0 for the first.
    pub idle_days: f64,
    /// How many played.
    pub players: i16,
    /// Whether the player had the first move.
    pub began: bool,
}

/// Up to `limit` ratings after this one, in the order of players.
pub async fn ledgers(
    db: &mut PgConnection,
    after: Option<(PlayerId, Pool)>,
    limit: i64,
) -> Result<Vec<LedgerRow>> {
    sqlx::query!(
        r#"select player_id, pool::text as "pool!", rating, deviation, changes, games, opponents, start_balance,
                  (select count(*) from opponent o where o.player_id = r.player_id and o.pool = r.pool) as "met!",
                  not exists (
                      select from (select opponent_id, games, won, tied from opponent o
                                   where o.player_id = r.player_id and o.pool = r.pool) kept
                      full join (select b.player_id, count(*) as games, count(*) filter (where a.place < b.place) as won,
                                        count(*) filter (where a.place = b.place) as tied
                                 from rating_change a
                                 join rating_change b on b.game_id = a.game_id and b.player_id <> a.player_id
                                 where a.player_id = r.player_id and a.pool = r.pool
                                 group by b.player_id) reckoned
                      on reckoned.player_id = kept.opponent_id
                      where (kept.games, kept.won, kept.tied)
                            is distinct from (reckoned.games, reckoned.won, reckoned.tied)) as "tallies_hold!",
                  coalesce(rated_at = (select at from rating_change c where c.player_id = r.player_id and c.pool = r.pool
                                       order by number desc limit 1), false) as "dated!",
                  (select kind = 'deleted' from player where id = r.player_id) as "deleted!",
                  extract(epoch from listed_until - rated_at)::float8 as listed
           from rating r
           where (player_id, pool) > (coalesce($1, '00000000-0000-0000-0000-000000000000'::uuid), coalesce($2::text::pool, 'kalah-2'))
           order by player_id, pool limit $3"#,
        after.map(|(player, _)| player.uuid()),
        after.map(|(_, pool)| pool.as_str()),
        limit
    )
    .fetch_all(db)
    .await?
    .into_iter()
    .map(|row| {
        Ok(LedgerRow {
            player: row.player_id.into(),
            pool: pool(&row.pool)?,
            rating: row.rating,
            deviation: row.deviation,
            changes: row.changes,
            games: row.games,
            opponents: row.opponents,
            start_balance: row.start_balance,
            tallied: row.met,
            tallies_hold: row.tallies_hold,
            dated: row.dated,
            deleted: row.deleted,
            listed: row.listed,
        })
    })
    .collect()
}

/// All changes of a player's rating in a pool, in the order of their numbers.
pub async fn ledger_entries(db: &mut PgConnection, player: PlayerId, pool: Pool) -> Result<Vec<LedgerEntry>> {
    let rows = sqlx::query!(
        r#"select number as "number!", rating_before as "rating_before!", rating_after as "rating_after!",
                  deviation_before, deviation_after, players, began, shift as "shift?",
                  extract(epoch from at - lag(at) over (partition by season order by number))::float8 / 86400 as idle_days
           from (select c.number, c.rating_before, c.rating_after, c.deviation_before, c.deviation_after, c.players,
                        c.seat = g.starter as began, c.at, false as season, null::float8 as shift
                 from rating_change c join game g on g.id = c.game_id
                 where c.player_id = $1 and c.pool = $2::text::pool
                 union all
                 select c.number, c.rating_before, c.rating_after, null, null, null, null, null, true, s.shift
                 from season_change c join season s on s.pool = c.pool and s.month = c.month
                 where c.player_id = $1 and c.pool = $2::text::pool) e
           order by number"#,
        player.uuid(),
        pool.as_str()
    )
    .fetch_all(db)
    .await?;
    let entry = rows.into_iter().map(|row| LedgerEntry {
        number: row.number,
        rating_before: row.rating_before,
        rating_after: row.rating_after,
        cause: match (row.deviation_before, row.deviation_after, row.players, row.began) {
            (Some(deviation_before), Some(deviation_after), Some(players), Some(began)) => {
                LedgerCause::Game(LedgerGame {
                    deviation_before,
                    deviation_after,
                    idle_days: row.idle_days.unwrap_or_default(),
                    players,
                    began,
                })
            }
            _ => LedgerCause::Season(row.shift.unwrap_or_default()),
        },
    });
    Ok(entry.collect())
}

/// Players with changes of ratings, but without a rating: none, unless somebody else has written to the database.
pub async fn changes_without_rating(db: &mut PgConnection) -> Result<Vec<(PlayerId, Pool)>> {
    sqlx::query!(
        r#"select distinct c.player_id as "player!: Uuid", c.pool::text as "pool!"
           from (select player_id, pool from rating_change union all select player_id, pool from season_change) c
           where not exists (select from rating r where r.player_id = c.player_id and r.pool = c.pool)"#
    )
    .fetch_all(db)
    .await?
    .into_iter()
    .map(|row| Ok((row.player.into(), pool(&row.pool)?)))
    .collect()
}
