//! Ratings, what rated games change about them, and who let a game begin without them.

use sqlx::PgConnection;
use uuid::Uuid;

use super::Result;
use super::games::SeatRating;
use super::standings::{LISTED_DAYS, live};
use crate::engine::Seat;
use crate::ids::{GameId, PlayerId};
use crate::pool::Pool;
use crate::rating::{Change, Deviation, FORMULA, Standing};

const SECONDS_A_DAY: f64 = 86_400.0;

/// Where a player stands in a pool, as idle days have left it.
#[derive(Clone, Copy, Debug)]
pub struct LockedRating {
    /// Who.
    pub player: PlayerId,
    /// The live standing.
    pub standing: Standing,
}

/// Locks the ratings of players in a pool, in the order of their ids; who has none gets that of a new player.
pub async fn lock_ratings(
    db: &mut PgConnection,
    pool: Pool,
    players: &[PlayerId],
) -> Result<Vec<LockedRating>> {
    let players: Vec<Uuid> = players.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "insert into rating (player_id, pool) select id, $1::text::pool from unnest($2::uuid[]) as id order by id
         on conflict do nothing",
        pool.as_str(),
        &players
    )
    .execute(&mut *db)
    .await?;
    let rows = sqlx::query!(
        r#"select player_id, rating, deviation, extract(epoch from now() - rated_at)::float8 / 86400 as "idle_days!"
           from rating where pool = $1::text::pool and player_id = any($2) order by player_id for update"#,
        pool.as_str(),
        &players
    )
    .fetch_all(db)
    .await?;
    let locked = rows.into_iter().map(|row| LockedRating {
        player: row.player_id.into(),
        standing: live(row.rating, row.deviation, row.idle_days),
    });
    Ok(locked.collect())
}

/// What a rated game has done to one of its seats.
#[derive(Clone, Copy, Debug)]
pub struct SeatChange {
    /// Where it sat.
    pub seat: Seat,
    /// Who sat there.
    pub player: PlayerId,
    /// The place in the game; 1 is best.
    pub place: u8,
    /// The live standing before the game.
    pub before: Standing,
    /// What the game did to it.
    pub change: Change,
    /// What it did to the balance of first moves, in twelfths.
    pub start_share: i32,
}

impl SeatChange {
    /// As everybody in the game is shown it.
    pub fn shown(&self) -> SeatRating {
        SeatRating {
            before: self.before.rating.displayed(),
            after: Some(self.change.after.rating.displayed()),
            provisional: self.change.after.deviation.is_provisional(),
        }
    }
}

/// Writes what a game has done to its players, whose ratings are locked: receipts, ratings, who has met whom, and what
/// the game shows of it.
pub async fn insert_changes(
    db: &mut PgConnection,
    game: GameId,
    pool: Pool,
    changes: &[SeatChange],
) -> Result<()> {
    let players: Vec<Uuid> = changes.iter().map(|c| c.player.uuid()).collect();
    let seats: Vec<i16> = changes.iter().map(|c| c.seat.get().into()).collect();
    let places: Vec<i16> = changes.iter().map(|c| c.place.into()).collect();
    let befores: Vec<f64> = changes.iter().map(|c| c.before.rating.points()).collect();
    let deviations_before: Vec<f64> = changes.iter().map(|c| c.before.deviation.points()).collect();
    let afters: Vec<f64> = changes.iter().map(|c| c.change.after.rating.points()).collect();
    let deviations_after: Vec<f64> = changes.iter().map(|c| c.change.after.deviation.points()).collect();
    let expected: Vec<f64> = changes.iter().map(|c| c.change.expected).collect();
    let starts: Vec<i32> = changes.iter().map(|c| c.start_share).collect();
    let shown: Vec<SeatRating> = changes.iter().map(SeatChange::shown).collect();
    let shown_before: Vec<i16> = shown.iter().map(|s| s.before).collect();
    let shown_after: Vec<Option<i16>> = shown.iter().map(|s| s.after).collect();
    let provisional: Vec<bool> = shown.iter().map(|s| s.provisional).collect();
    let listed: Vec<Option<f64>> = changes.iter().map(|c| listed_seconds(c.change.after.deviation)).collect();
    sqlx::query!(
        "with new as (
             select * from unnest($3::uuid[], $4::smallint[], $5::smallint[], $6::float8[], $7::float8[], $8::float8[],
                                  $9::float8[], $10::float8[], $11::integer[], $12::smallint[], $13::smallint[],
                                  $14::boolean[], $15::float8[])
                 as n (player, seat, place, rating_before, deviation_before, rating_after, deviation_after, expected,
                       start_share, shown_before, shown_after, provisional, listed)
         ), met as (
             insert into opponent (player_id, pool, opponent_id, games, won, tied)
             select a.player, $2::text::pool, b.player, 1, (a.place < b.place)::integer, (a.place = b.place)::integer
             from new a join new b on b.player <> a.player
             order by a.player, b.player
             on conflict (player_id, pool, opponent_id) do update
             set games = opponent.games + 1, won = opponent.won + excluded.won, tied = opponent.tied + excluded.tied
             returning player_id, games
         ), rated as (
             update rating r
             set rating = n.rating_after, deviation = n.deviation_after, rated_at = now(), changes = r.changes + 1,
                 games = r.games + 1, start_balance = r.start_balance + n.start_share,
                 opponents = r.opponents + (select count(*) from met m where m.player_id = n.player and m.games = 1),
                 -- Who has resigned and gone is rated when the others have finished, and listed no more.
                 listed_until = case when p.kind <> 'deleted' then now() + make_interval(secs => n.listed) end
             from new n join player p on p.id = n.player
             where r.player_id = n.player and r.pool = $2::text::pool
             returning r.player_id, r.changes
         ), shown as (
             update seat s
             set rating_before = n.shown_before, rating_after = n.shown_after, provisional = n.provisional
             from new n where s.game_id = $1 and s.seat = n.seat
         )
         insert into rating_change (game_id, player_id, pool, number, seat, place, players, rating_before,
                                    deviation_before, rating_after, deviation_after, expected, formula)
         select $1, n.player, $2::text::pool, r.changes, n.seat, n.place, (select count(*) from new)::smallint, n.rating_before,
                n.deviation_before, n.rating_after, n.deviation_after, n.expected, $16
         from new n join rated r on r.player_id = n.player",
        game.uuid(),
        pool.as_str(),
        &players,
        &seats,
        &places,
        &befores,
        &deviations_before,
        &afters,
        &deviations_after,
        &expected,
        &starts,
        &shown_before,
        &shown_after as &[Option<i16>],
        &provisional,
        &listed as &[Option<f64>],
        FORMULA
    )
    .execute(db)
    .await?;
    Ok(())
}

/// For how many seconds after a game the leaderboard may show a player who plays no other; `None` if not even now.
pub fn listed_seconds(deviation: Deviation) -> Option<f64> {
    let days = deviation.days_until(Deviation::ESTABLISHED);
    (days >= 0.0).then_some(days.min(LISTED_DAYS) * SECONDS_A_DAY)
}

/// How often a player has let the very first turn of a ranked game run out within a day.
pub async fn recent_no_shows(db: &mut PgConnection, player: PlayerId) -> Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from no_show where player_id = $1 and at > now() - interval '1 day'"#,
        player.uuid()
    )
    .fetch_one(db)
    .await
}

/// Notes that a player has done so once more: no tickets for a minute, doubled by each time within a day, an hour at most.
pub async fn insert_no_show(db: &mut PgConnection, game: GameId, player: PlayerId) -> Result<()> {
    sqlx::query!(
        "insert into no_show (game_id, player_id, until)
         select $1, $2, now() + least(interval '1 hour', interval '1 minute' * power(2, least(count(*), 10)))
         from no_show where player_id = $2 and at > now() - interval '1 day'",
        game.uuid(),
        player.uuid()
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Lets the players of a ranked game that has ended look for another.
pub async fn release_tickets(db: &mut PgConnection, game: GameId) -> Result<()> {
    sqlx::query!("update ticket set open = false where game_id = $1 and open", game.uuid())
        .execute(db)
        .await?;
    Ok(())
}
