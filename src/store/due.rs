//! What has to happen in running games without anybody asking for it: found, leased and put off.

use sqlx::PgConnection;
use uuid::Uuid;

use super::Result;
use crate::ids::GameId;

/// What has to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The computer has the turn.
    Computer,
    /// A player's turn may run out of time.
    Clock,
    /// A player whose turn it is may count as left.
    Away,
    /// A game that nobody attends may end.
    Abandon,
}

impl Due {
    /// Its name as stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Computer => "computer",
            Self::Clock => "clock",
            Self::Away => "away",
            Self::Abandon => "abandon",
        }
    }
}

/// For whom, and for how long, a computer turn is kept from other processes.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    /// The process.
    pub holder: Uuid,
    /// How long, in seconds.
    pub seconds: f64,
}

/// Leases computer turns that no process holds, longest waiting first, 64 at most.
pub async fn lease_computer_turns(db: &mut PgConnection, lease: Lease) -> Result<Vec<GameId>> {
    let mut rows = sqlx::query!(
        "update due set holder = $1, until = now() + make_interval(secs => $2)
         where game_id in (
             select game_id from due
             where kind = 'computer' and (until is null or until < now())
             order by at limit 64 for update skip locked)
         returning game_id, at",
        lease.holder,
        lease.seconds
    )
    .fetch_all(db)
    .await?;
    rows.sort_unstable_by_key(|row| row.at);
    Ok(rows.into_iter().map(|row| row.game_id.into()).collect())
}

/// In how many seconds the first lease on a computer turn ends that another process holds.
pub async fn next_lease_to_end(db: &mut PgConnection, holder: Uuid) -> Result<Option<f64>> {
    sqlx::query_scalar!(
        "select extract(epoch from min(until) - now())::float8 from due
         where kind = 'computer' and holder is distinct from $1 and until >= now()",
        holder
    )
    .fetch_one(db)
    .await
}

/// Renews the leases that a process holds on computer turns, for all of `games` in one statement.
pub async fn renew_leases(db: &mut PgConnection, lease: Lease, games: &[GameId]) -> Result<()> {
    let games: Vec<Uuid> = games.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "update due set until = now() + make_interval(secs => $2)
         where game_id = any($3) and holder = $1 and kind = 'computer'",
        lease.holder,
        lease.seconds,
        &games
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Puts off what was noted as due but is not yet: turns that have begun anew since, players who have been heard of.
/// `margin` seconds are added to the silence that a player is allowed.
pub async fn put_off(db: &mut PgConnection, margin: f64) -> Result<()> {
    sqlx::query!(
        "update due d set at = later.at
         from (
             select o.game_id,
                    case o.kind when 'clock' then g.deadline + interval '1 second'
                                else greatest(g.turn_began, h.at, b.resumed_at)
                                     + make_interval(secs => (g.options ->> 'away_seconds')::float8 + $1) end as at
             from due o
             join game g on g.id = o.game_id
             left join seat s on s.game_id = g.id and s.seat = g.to_move
             left join heard h on h.player_id = s.player_id
             join heartbeat b on b.single
             where o.game_id = any(array(
                 select game_id from due
                 where kind <> 'computer' and kind in ('clock', 'away') and at < now()
                 order by at limit 1000 for update skip locked))
         ) later
         where d.game_id = later.game_id and later.at >= now()
           and d.kind <> 'computer' and d.kind in ('clock', 'away') and d.at < now()",
        margin
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Leases what time has made due and no process holds, longest waiting first, 64 at most.
pub async fn lease_due(db: &mut PgConnection, lease: Lease) -> Result<Vec<GameId>> {
    let mut rows = sqlx::query!(
        "update due set holder = $1, until = now() + make_interval(secs => $2)
         where game_id in (
             select game_id from due
             where kind <> 'computer' and at < now() and (until is null or until < now())
             order by at limit 64 for update skip locked)
         returning game_id, at",
        lease.holder,
        lease.seconds
    )
    .fetch_all(db)
    .await?;
    rows.sort_unstable_by_key(|row| row.at);
    Ok(rows.into_iter().map(|row| row.game_id.into()).collect())
}

/// In how many seconds the first thing becomes due, or free of its lease, if that is within `within` seconds.
pub async fn next_due(db: &mut PgConnection, within: f64) -> Result<Option<f64>> {
    sqlx::query_scalar!(
        "select extract(epoch from min(greatest(at, until)) - now())::float8 from due
         where kind <> 'computer' and at < now() + make_interval(secs => $1)",
        within
    )
    .fetch_one(db)
    .await
}
