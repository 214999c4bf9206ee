//! Tickets: who waits for a ranked game, and how waiting ends.

use std::collections::HashMap;

use serde::Deserialize;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::identity::{PlayerKind, PlayerRow};
use super::standings::live;
use super::{Result, corrupt};
use crate::engine::Variant;
use crate::ids::{GameId, PlayerId, TicketId};
use crate::matching::{Company, Meeting, Waiting};
use crate::pool::Pool;
use crate::rating::Standing;

/// Players who can be matched: the same game with as many seats and as much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Which game.
    pub variant: Variant,
    /// How many seats, 2 to 4.
    pub players: u8,
    /// Seconds for each sowing.
    pub turn_seconds: u32,
}

impl Queue {
    /// The pool in which its games count.
    pub fn pool(self) -> Pool {
        Pool::of(self.variant, self.players)
    }

    fn columns(self) -> Result<(&'static str, i16, i16)> {
        let turn_seconds = i16::try_from(self.turn_seconds).map_err(|e| corrupt("ticket.turn_seconds", e))?;
        Ok((self.variant.as_str(), self.players.into(), turn_seconds))
    }

    fn stored(variant: &str, players: i16, turn_seconds: i16) -> Result<Self> {
        Ok(Self {
            variant: variant.parse().map_err(|e| corrupt("ticket.variant", e))?,
            players: u8::try_from(players).map_err(|e| corrupt("ticket.players", e))?,
            turn_seconds: u32::try_from(turn_seconds).map_err(|e| corrupt("ticket.turn_seconds", e))?,
        })
    }
}

/// How a ticket stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketStatus {
    /// For opponents.
    Waiting,
    /// There is a game.
    Matched,
    /// By its player.
    Cancelled,
    /// Its player had not been heard of.
    Expired,
}

/// A ticket as its player sees it.
#[derive(Clone, Debug)]
pub struct TicketRow {
    /// Which ticket.
    pub id: TicketId,
    /// For what.
    pub queue: Queue,
    /// The greatest difference of ratings to anyone in the game.
    pub max_gap: Option<u16>,
    /// Whether a person is willing to meet bots.
    pub with_bots: bool,
    /// How it stands.
    pub status: TicketStatus,
    /// The game, once there is one.
    pub game: Option<GameId>,
    /// For how many seconds it has waited, or had when that ended.
    pub waited: f64,
    /// When it was made.
    pub created_at: OffsetDateTime,
}

/// What somebody wishes for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Which game.
    pub queue: Queue,
    /// The greatest difference of ratings to anyone in the game.
    pub max_gap: Option<u16>,
    /// Whether a person is willing to meet bots.
    pub with_bots: bool,
}

/// Makes a ticket. A second open one of the same player breaks the constraint `ticket_one_open`.
pub async fn insert_ticket(db: &mut PgConnection, id: TicketId, player: PlayerId, wish: Wish) -> Result<()> {
    let (variant, players, turn_seconds) = wish.queue.columns()?;
    sqlx::query!(
        "insert into ticket (id, player_id, variant, players, turn_seconds, max_gap, with_bots)
         values ($1, $2, $3::text::variant, $4, $5, $6, $7)",
        id.uuid(),
        player.uuid(),
        variant,
        players,
        turn_seconds,
        wish.max_gap.map(i16::try_from).transpose().map_err(|e| corrupt("ticket.max_gap", e))?,
        wish.with_bots
    )
    .execute(db)
    .await?;
    Ok(())
}

/// How many seconds are left of a player's cooldown, if there is one.
pub async fn cooldown(db: &mut PgConnection, player: PlayerId) -> Result<Option<f64>> {
    sqlx::query_scalar!(
        "select extract(epoch from max(until) - now())::float8 from no_show where player_id = $1 and until > now()",
        player.uuid()
    )
    .fetch_one(db)
    .await
}

/// A player's ticket.
pub async fn ticket(db: &mut PgConnection, id: TicketId, player: PlayerId) -> Result<Option<TicketRow>> {
    sqlx::query_as!(
        TicketColumns,
        r#"select id, variant::text as "variant!", players, turn_seconds, max_gap, with_bots, status::text as "status!", game_id,
                  extract(epoch from coalesce(ended_at, now()) - created_at)::float8 as "waited!", created_at
           from ticket where id = $1 and player_id = $2"#,
        id.uuid(),
        player.uuid()
    )
    .fetch_optional(db)
    .await?
    .map(TicketColumns::row)
    .transpose()
}

/// A ticket as it is read.
#[derive(Debug, Deserialize)]
pub(super) struct TicketColumns {
    id: Uuid,
    variant: String,
    players: i16,
    turn_seconds: i16,
    max_gap: Option<i16>,
    with_bots: bool,
    status: String,
    game_id: Option<Uuid>,
    waited: f64,
    #[serde(with = "time::serde::rfc3339")]
    created_at: OffsetDateTime,
}

impl TicketColumns {
    pub(super) fn row(self) -> Result<TicketRow> {
        Ok(TicketRow {
            id: self.id.into(),
            queue: Queue::stored(&self.variant, self.players, self.turn_seconds)?,
            max_gap: self.max_gap.map(u16::try_from).transpose().map_err(|e| corrupt("ticket.max_gap", e))?,
            with_bots: self.with_bots,
            status: match self.status.as_str() {
                "waiting" => TicketStatus::Waiting,
                "matched" => TicketStatus::Matched,
                "cancelled" => TicketStatus::Cancelled,
                "expired" => TicketStatus::Expired,
                other => return Err(corrupt("ticket.status", other)),
            },
            game: self.game_id.map(GameId::from),
            waited: self.waited,
            created_at: self.created_at,
        })
    }
}

/// The one open ticket of a player, if there is one, and its game.
pub async fn open_ticket(
    db: &mut PgConnection,
    player: PlayerId,
) -> Result<Option<(TicketId, Option<GameId>)>> {
    let row = sqlx::query!("select id, game_id from ticket where player_id = $1 and open", player.uuid())
        .fetch_optional(db)
        .await?;
    Ok(row.map(|row| (row.id.into(), row.game_id.map(GameId::from))))
}

/// Ends a player's waiting; whether the ticket was still waiting.
pub async fn cancel_ticket(db: &mut PgConnection, id: TicketId, player: PlayerId) -> Result<bool> {
    let done = sqlx::query!(
        "update ticket set status = 'cancelled', open = false, ended_at = now()
         where id = $1 and player_id = $2 and status = 'waiting'",
        id.uuid(),
        player.uuid()
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// How long the last twenty who were matched in a queue had waited, within the last hour: the median, in seconds.
pub async fn usual_wait(db: &mut PgConnection, queue: Queue) -> Result<Option<f64>> {
    let (variant, players, turn_seconds) = queue.columns()?;
    sqlx::query_scalar!(
        "select percentile_cont(0.5) within group (order by extract(epoch from ended_at - created_at))::float8
         from (select ended_at, created_at from ticket
               where variant = $1::text::variant and players = $2 and turn_seconds = $3 and status = 'matched'
                 and ended_at > now() - interval '1 hour'
               order by ended_at desc limit 20) t",
        variant,
        players,
        turn_seconds
    )
    .fetch_one(db)
    .await
}

/// The queues in which anybody waits.
pub async fn queues(db: &mut PgConnection) -> Result<Vec<Queue>> {
    sqlx::query!(
        r#"select distinct variant::text as "variant!", players, turn_seconds from ticket where status = 'waiting'"#
    )
    .fetch_all(db)
    .await?
    .into_iter()
    .map(|row| Queue::stored(&row.variant, row.players, row.turn_seconds))
    .collect()
}

/// Has a queue to itself until the transaction ends; false if another process has it.
pub async fn try_lock_queue(db: &mut PgConnection, queue: Queue) -> Result<bool> {
    let (variant, players, turn_seconds) = queue.columns()?;
    sqlx::query_scalar!(
        r#"select pg_try_advisory_xact_lock(hashtextextended('queue ' || $1 || $2::text || '/' || $3::text, 0)) as "locked!""#,
        variant,
        players.to_string(),
        turn_seconds.to_string()
    )
    .fetch_one(db)
    .await
}

/// Ends the waiting of those who have not been heard of for `silence` seconds, outages of the whole service left out.
pub async fn expire_tickets(
    db: &mut PgConnection,
    queue: Queue,
    silence: f64,
) -> Result<Vec<(TicketId, PlayerId)>> {
    let (variant, players, turn_seconds) = queue.columns()?;
    let expired = sqlx::query!(
        "update ticket set status = 'expired', open = false, ended_at = now()
         where id in (
             select t.id from ticket t
             left join heard h on h.player_id = t.player_id
             join heartbeat b on b.single
             where t.variant = $1::text::variant and t.players = $2 and t.turn_seconds = $3 and t.status = 'waiting'
               and greatest(t.created_at, h.at, b.resumed_at) < now() - make_interval(secs => $4)
             order by t.id for update of t)
         returning id, player_id",
        variant,
        players,
        turn_seconds,
        silence
    )
    .fetch_all(db)
    .await?;
    Ok(expired.into_iter().map(|row| (row.id.into(), row.player_id.into())).collect())
}

/// Somebody who waits.
pub struct Waiter {
    /// Which ticket.
    pub ticket: TicketId,
    /// Whose.
    pub player: PlayerRow,
    /// What matchmaking considers.
    pub waiting: Waiting,
    /// First moves had less those to be expected, in twelfths.
    pub start_balance: i32,
}

/// Whether nothing keeps the owners of these tickets from one game: a block between any two, or a bot where a person
/// minds. Asked when the tickets are locked: what was read before them may have changed.
pub async fn may_meet(db: &mut PgConnection, tickets: &[TicketId]) -> Result<bool> {
    let ids: Vec<Uuid> = tickets.iter().map(|id| id.uuid()).collect();
    sqlx::query_scalar!(
        r#"select (select not (bool_or(p.kind = 'bot') and bool_or(p.kind <> 'bot' and not t.with_bots))
                   from ticket t join player p on p.id = t.player_id where t.id = any($1))
                  and not exists (select from ticket a join block b on b.player_id = a.player_id
                                  join ticket o on o.player_id = b.blocked_id and o.id = any($1)
                                  where a.id = any($1)) as "may!""#,
        &ids
    )
    .fetch_one(db)
    .await
}

/// Who waits in a queue, longest first, with ratings as they are now.
pub async fn waiters(db: &mut PgConnection, queue: Queue) -> Result<Vec<Waiter>> {
    let (variant, players, turn_seconds) = queue.columns()?;
    let rows = sqlx::query!(
        r#"select t.id, t.player_id, t.max_gap, t.with_bots, extract(epoch from now() - t.created_at)::float8 as "waited!", p.name,
                  p.kind, r.rating as "rating?", r.deviation as "deviation?", r.start_balance as "start_balance?",
                  extract(epoch from now() - r.rated_at)::float8 / 86400 as idle_days
           from ticket t
           join player p on p.id = t.player_id
           left join rating r on r.player_id = t.player_id and r.pool = $4::text::pool
           where t.variant = $1::text::variant and t.players = $2 and t.turn_seconds = $3 and t.status = 'waiting'
           order by t.created_at, t.id"#,
        variant,
        players,
        turn_seconds,
        queue.pool().as_str()
    )
    .fetch_all(&mut *db)
    .await?;
    let ids: Vec<Uuid> = rows.iter().map(|row| row.player_id).collect();
    let mut meetings = meetings(db, &ids).await?;
    let mut blocked = blocked(db, queue).await?;
    rows.into_iter()
        .map(|row| {
            let standing = match (row.rating, row.deviation, row.idle_days) {
                (Some(rating), Some(deviation), Some(days)) => live(rating, deviation, days),
                _ => Standing::NEW,
            };
            let player = PlayerId::from(row.player_id);
            let kind = PlayerKind::stored(&row.kind)?;
            let company = match kind {
                PlayerKind::Bot => Company::Bot,
                _ if row.with_bots => Company::Anybody,
                _ => Company::People,
            };
            Ok(Waiter {
                ticket: row.id.into(),
                waiting: Waiting {
                    player,
                    company,
                    standing,
                    waited: row.waited,
                    max_gap: row.max_gap.map(f64::from),
                    recent: meetings.remove(&row.player_id).unwrap_or_default(),
                    blocked: blocked.remove(&row.player_id).unwrap_or_default(),
                },
                player: PlayerRow { id: player, name: row.name, kind },
                start_balance: row.start_balance.unwrap_or_default(),
            })
        })
        .collect()
}

/// Whom those who wait in a queue have blocked, of those who wait there too.
async fn blocked(db: &mut PgConnection, queue: Queue) -> Result<HashMap<Uuid, Vec<PlayerId>>> {
    let (variant, players, turn_seconds) = queue.columns()?;
    let rows = sqlx::query!(
        "select b.player_id, b.blocked_id
         from ticket t
         join block b on b.player_id = t.player_id
         join ticket o on o.player_id = b.blocked_id and o.open
         where t.variant = $1::text::variant and t.players = $2 and t.turn_seconds = $3 and t.status = 'waiting'
           and o.variant = t.variant and o.players = t.players and o.turn_seconds = t.turn_seconds
           and o.status = 'waiting'",
        variant,
        players,
        turn_seconds
    )
    .fetch_all(db)
    .await?;
    let mut blocked = HashMap::<Uuid, Vec<PlayerId>>::new();
    for row in rows {
        blocked.entry(row.player_id).or_default().push(row.blocked_id.into());
    }
    Ok(blocked)
}

/// The last three rated games of players, with whom they were played.
async fn meetings(db: &mut PgConnection, players: &[Uuid]) -> Result<HashMap<Uuid, Vec<Meeting>>> {
    let rows = sqlx::query!(
        r#"select u.id as "player!", c.game_id, array_agg(o.player_id) as "others!"
           from unnest($1::uuid[]) as u (id)
           cross join lateral (select game_id from rating_change where player_id = u.id order by at desc limit 3) c
           join rating_change o on o.game_id = c.game_id and o.player_id <> u.id
           group by u.id, c.game_id"#,
        players
    )
    .fetch_all(db)
    .await?;
    let mut meetings = HashMap::<Uuid, Vec<Meeting>>::new();
    for row in rows {
        let players = row.others.into_iter().map(PlayerId::from).collect();
        meetings.entry(row.player).or_default().push(Meeting { game: row.game_id.into(), players });
    }
    Ok(meetings)
}

/// Locks tickets in the order of their ids; whether all of them are still waiting.
pub async fn lock_waiting(db: &mut PgConnection, tickets: &[TicketId]) -> Result<bool> {
    let ids: Vec<Uuid> = tickets.iter().map(|id| id.uuid()).collect();
    let waiting = sqlx::query_scalar!(
        "select id from ticket where id = any($1) and status = 'waiting' order by id for update",
        &ids
    )
    .fetch_all(db)
    .await?;
    Ok(waiting.len() == ids.len())
}

/// Ends the waiting of tickets with a game.
pub async fn match_tickets(db: &mut PgConnection, tickets: &[TicketId], game: GameId) -> Result<()> {
    let ids: Vec<Uuid> = tickets.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "update ticket set status = 'matched', game_id = $2, ended_at = now() where id = any($1)",
        &ids,
        game.uuid()
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Forgets tickets that are a day old and no longer open.
pub async fn forget_tickets(db: &mut PgConnection) -> Result<()> {
    sqlx::query!("delete from ticket where not open and created_at < now() - interval '1 day'")
        .execute(db)
        .await?;
    Ok(())
}
