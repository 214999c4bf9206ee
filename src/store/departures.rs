//! Players who come and go: who is still there, what has to end before somebody goes, and what goes then.

use sqlx::PgConnection;
use uuid::Uuid;

use super::Result;
use super::identity::PlayerKind;
use crate::account::Name;
use crate::ids::{GameId, GroupId, PlayerId, TicketId};

/// Keeps players from going until the transaction ends, and says whether all of them are still there: whatever gives a
/// player something new asks this first. Who is about to go waits, and then finds the new thing.
pub async fn hold_players(db: &mut PgConnection, players: &[PlayerId]) -> Result<bool> {
    let mut ids: Vec<Uuid> = players.iter().map(|id| id.uuid()).collect();
    ids.sort_unstable();
    ids.dedup();
    let held = sqlx::query_scalar!(
        "select id from player where id = any($1) and kind <> 'deleted' order by id for key share",
        &ids
    )
    .fetch_all(db)
    .await?;
    Ok(held.len() == ids.len())
}

/// Locks the open tickets of players, in the order of their ids: until then a match may be about to be made of them.
pub async fn lock_open_tickets(db: &mut PgConnection, players: &[PlayerId]) -> Result<()> {
    let players: Vec<Uuid> = players.iter().map(|id| id.uuid()).collect();
    sqlx::query_scalar!(
        "select id from ticket where player_id = any($1) and open order by id for update",
        &players
    )
    .fetch_all(db)
    .await?;
    Ok(())
}

/// What has to end before a player goes.
#[derive(Debug, Default)]
pub struct Ties {
    /// The ticket that waits.
    pub ticket: Option<TicketId>,
    /// Groups of which the player is a member.
    pub groups: Vec<GroupId>,
    /// Running games in which the player can resign.
    pub games: Vec<GameId>,
}

impl Ties {
    /// Whether nothing has to end any more.
    pub fn is_empty(&self) -> bool {
        self.ticket.is_none() && self.groups.is_empty() && self.games.is_empty()
    }
}

/// What has to end before a player goes.
pub async fn ties(db: &mut PgConnection, player: PlayerId) -> Result<Ties> {
    let row = sqlx::query!(
        r#"select (select id from ticket where player_id = $1 and open and status = 'waiting') as ticket,
                  array(select group_id from group_member where player_id = $1) as "groups!",
                  array(select s.game_id from seat s join game g on g.id = s.game_id
                        where s.player_id = $1 and g.status = 'running'
                          and s.seat <> all(g.resigned) and s.seat <> all(g.left_board)) as "games!""#,
        player.uuid()
    )
    .fetch_one(db)
    .await?;
    Ok(Ties {
        ticket: row.ticket.map(TicketId::from),
        groups: row.groups.into_iter().map(GroupId::from).collect(),
        games: row.games.into_iter().map(GameId::from).collect(),
    })
}

/// Locks a player who is about to go, and says what kind of player that is; `None` if there is no such
/// player any more. The ratings come first, as where a game is rated: its receipts, which come last, hold on to the player.
pub async fn lock_going(db: &mut PgConnection, player: PlayerId) -> Result<Option<PlayerKind>> {
    sqlx::query_scalar!(
        r#"select pool::text as "pool!" from rating where player_id = $1 order by pool for update"#,
        player.uuid()
    )
    .fetch_all(&mut *db)
    .await?;
    let found = sqlx::query_scalar!(
        "select kind from player where id = $1 and kind <> 'deleted' for update",
        player.uuid()
    )
    .fetch_optional(db)
    .await?;
    found.as_deref().map(PlayerKind::stored).transpose()
}

/// Removes what belonged to a player alone, and the name. The player is locked, and has no ties and no tokens for
/// programs. What belongs to the games of others stays: seats, events, receipts, tallies, and the ratings by which those
/// are reckoned.
pub async fn delete_player(db: &mut PgConnection, player: PlayerId) -> Result<()> {
    sqlx::query!(
        "with a as (delete from account where player_id = $1),
              c as (delete from recovery_code where player_id = $1),
              b as (delete from block where player_id = $1 or blocked_id = $1),
              h as (delete from heard where player_id = $1),
              i as (delete from idempotency where player_id = $1),
              n as (delete from no_show where player_id = $1),
              t as (delete from ticket where player_id = $1 and not open),
              r as (delete from refresh_token where session_id in (select id from session where player_id = $1)),
              s as (update session set label = '' where player_id = $1),
              l as (update rating set listed_until = null where player_id = $1)
         update player set kind = 'deleted', name = $2, preferences = '{}' where id = $1",
        player.uuid(),
        Name::OF_THE_DELETED
    )
    .execute(db)
    .await?;
    Ok(())
}

/// A guest who has not been heard of for long.
#[derive(Clone, Copy, Debug)]
pub struct IdleGuest {
    /// Who.
    pub player: PlayerId,
    /// Whether the guest has never been in a game, a group or a queue: nobody knows of them.
    pub unknown: bool,
}

/// Looks through so many guests after this one, in the order of their making: the last of them, and those who have not
/// been heard of for so many days. No last one: there are no more who are old enough.
pub async fn idle_guests(
    db: &mut PgConnection,
    after: Option<PlayerId>,
    days: f64,
    most: i64,
) -> Result<(Option<PlayerId>, Vec<IdleGuest>)> {
    let rows = sqlx::query!(
        r#"select p.id,
                  greatest(p.created_at, h.at, (select max(s.last_used_at) from session s where s.player_id = p.id))
                      < now() - make_interval(secs => $2::float8 * 86400) as "idle!",
                  not exists (select from seat where player_id = p.id)
                  and not exists (select from group_member where player_id = p.id)
                  and not exists (select from group_event where player_id = p.id)
                  and not exists (select from ticket where player_id = p.id)
                  and not exists (select from rating where player_id = p.id) as "unknown!"
           from (select id, created_at from player
                 where kind = 'guest' and id > coalesce($1, '00000000-0000-0000-0000-000000000000'::uuid)
                 order by id limit $3) p
           left join heard h on h.player_id = p.id
           where p.created_at < now() - make_interval(secs => $2::float8 * 86400)
           order by p.id"#,
        after.map(PlayerId::uuid),
        days,
        most
    )
    .fetch_all(db)
    .await?;
    let last = rows.last().map(|row| row.id.into());
    let idle = rows.into_iter().filter(|row| row.idle);
    Ok((last, idle.map(|row| IdleGuest { player: row.id.into(), unknown: row.unknown }).collect()))
}

/// Whether a player has not been heard of for so many days.
pub async fn is_idle(db: &mut PgConnection, player: PlayerId, days: f64) -> Result<bool> {
    let idle = sqlx::query_scalar!(
        r#"select greatest(p.created_at, h.at, (select max(s.last_used_at) from session s where s.player_id = p.id))
                      < now() - make_interval(secs => $2::float8 * 86400) as "idle!"
           from player p left join heard h on h.player_id = p.id where p.id = $1"#,
        player.uuid(),
        days
    )
    .fetch_optional(db)
    .await?;
    Ok(idle.unwrap_or_default())
}

/// The same of a player who is locked, for as long as the transaction lasts: the sessions are locked too, so that a
/// refresh is over before this looks, or waits and then finds its session gone.
pub async fn lock_idle(db: &mut PgConnection, player: PlayerId, days: f64) -> Result<bool> {
    sqlx::query_scalar!("select id from session where player_id = $1 order by id for update", player.uuid())
        .fetch_all(&mut *db)
        .await?;
    is_idle(db, player, days).await
}

/// Removes a guest of whom nobody knows, without a trace. The player and the sessions are locked. Whatever the guest has
/// begun before that holds on to the player: a broken constraint.
pub async fn erase_guest(db: &mut PgConnection, player: PlayerId) -> Result<()> {
    sqlx::query!(
        "delete from refresh_token where session_id in (select id from session where player_id = $1)",
        player.uuid()
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "with s as (delete from session where player_id = $1),
              p as (delete from personal_token where player_id = $1),
              b as (delete from block where player_id = $1 or blocked_id = $1),
              h as (delete from heard where player_id = $1),
              i as (delete from idempotency where player_id = $1)
         delete from player where id = $1 and kind = 'guest'",
        player.uuid()
    )
    .execute(db)
    .await?;
    Ok(())
}
