//! What has changed ratings: receipts of games, and seasons.

use sqlx::PgConnection;
use time::{Date, OffsetDateTime};

use super::standings::pool as stored_pool;
use super::{Result, corrupt};
use crate::ids::{GameId, PlayerId};
use crate::pool::Pool;
use crate::rating::{Deviation, Rating, Standing};

/// What a rated game did to one of its players.
#[derive(Clone, Copy, Debug)]
pub struct Receipt {
    /// Where the player sat.
    pub seat: u8,
    /// Who.
    pub player: PlayerId,
    /// In which pool it counted.
    pub pool: Pool,
    /// The place; 1 is best.
    pub place: u8,
    /// How many played.
    pub players: u8,
    /// The live standing before the game.
    pub before: Standing,
    /// The standing after it.
    pub after: Standing,
    /// The mean score that was expected against the others, from 0 to 1.
    pub expected: f64,
    /// The version of the formulas.
    pub formula: i16,
}

/// The receipts of a game by seat; none before it is rated.
pub async fn receipts(db: &mut PgConnection, game: GameId) -> Result<Vec<Receipt>> {
    let rows = sqlx::query!(
        r#"select seat, player_id, pool::text as "pool!", place, players, rating_before, deviation_before, rating_after,
                  deviation_after, expected, formula
           from rating_change where game_id = $1 order by seat"#,
        game.uuid()
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Receipt {
                seat: small(row.seat)?,
                player: row.player_id.into(),
                pool: stored_pool(&row.pool)?,
                place: small(row.place)?,
                players: small(row.players)?,
                before: standing(row.rating_before, row.deviation_before),
                after: standing(row.rating_after, row.deviation_after),
                expected: row.expected,
                formula: row.formula,
            })
        })
        .collect()
}

/// A change of a player's rating in a pool.
#[derive(Clone, Copy, Debug)]
pub struct HistoryRow {
    /// Counts the player's changes in the pool from 1.
    pub number: i32,
    /// When.
    pub at: OffsetDateTime,
    /// The rating before.
    pub before: Rating,
    /// The rating after.
    pub after: Rating,
    /// What brought it about.
    pub cause: Cause,
}

/// What has changed a rating.
#[derive(Clone, Copy, Debug)]
pub enum Cause {
    /// A rated game.
    Game {
        /// Which.
        game: GameId,
        /// The player's place.
        place: u8,
        /// How many played.
        players: u8,
        /// The deviation after it.
        deviation: Deviation,
    },
    /// The shift of the whole pool at the beginning of this month.
    Season(Date),
}

/// How many changes a page of the history has.
pub const HISTORY_PAGE: usize = 100;

/// The changes of a player's rating in a pool, newest first, before the one with this number: a page of them, and one
/// more if there are more.
pub async fn rating_history(
    db: &mut PgConnection,
    player: PlayerId,
    pool: Pool,
    before: Option<i32>,
) -> Result<Vec<HistoryRow>> {
    // Each kind along its own index: a limit that stands outside alone would have all of them read.
    let rows = sqlx::query!(
        r#"select number as "number!", at as "at!", rating_before as "rating_before!", rating_after as "rating_after!",
                  deviation_after as "deviation_after?", place as "place?", players as "players?", game_id as "game_id?",
                  month as "month?"
           from ((select c.number, c.at, c.rating_before, c.rating_after, c.deviation_after, c.place, c.players, c.game_id,
                         null::date as month
                  from rating_change c
                  where c.player_id = $1 and c.pool = $2::text::pool and c.number < coalesce($3, 2147483647)
                  order by c.number desc limit 101)
                 union all
                 (select s.number, e.at, s.rating_before, s.rating_after, null, null, null, null, s.month
                  from season_change s join season e on e.pool = s.pool and e.month = s.month
                  where s.player_id = $1 and s.pool = $2::text::pool and s.number < coalesce($3, 2147483647)
                  order by s.number desc limit 101)) h
           order by number desc limit 101"#,
        player.uuid(),
        pool.as_str(),
        before
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let cause = match (row.game_id, row.place, row.players, row.deviation_after, row.month) {
                (Some(game), Some(place), Some(players), Some(deviation), None) => Cause::Game {
                    game: game.into(),
                    place: small(place)?,
                    players: small(players)?,
                    deviation: Deviation::new(deviation),
                },
                (None, None, None, None, Some(month)) => Cause::Season(month),
                _ => return Err(corrupt("rating_change", "neither of a game nor of a season")),
            };
            Ok(HistoryRow {
                number: row.number,
                at: row.at,
                before: Rating::new(row.rating_before),
                after: Rating::new(row.rating_after),
                cause,
            })
        })
        .collect()
}

fn standing(rating: f64, deviation: f64) -> Standing {
    Standing { rating: Rating::new(rating), deviation: Deviation::new(deviation) }
}

fn small(number: i16) -> Result<u8> {
    u8::try_from(number).map_err(|e| corrupt("rating_change", e))
}
