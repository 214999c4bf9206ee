//! Who is there: the server processes by their heartbeat, the players by their streams and by what was heard of them.

use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{Result, corrupt};
use crate::engine::Seat;
use crate::ids::{GameId, PlayerId};

/// Beats the heart that all processes share. Whoever finds that it stood still, for three seconds or before the first
/// beat of its own process (`first`), gives every turn anew that would have run out meanwhile, in the same statement.
/// How many turns that were, and the time. A last beat in the future is one from before the clock was set back: it does not count.
pub async fn beat(db: &mut PgConnection, first: bool) -> Result<(i64, OffsetDateTime)> {
    let row = sqlx::query!(
        r#"with old as (
               select at, at < now() - interval '3 seconds' as stood from heartbeat where single for update
           ), beat as (
               update heartbeat h
               set at = case when h.at > now() + interval '3 seconds' then now() else greatest(h.at, now()) end,
                   resumed_at = case when old.stood then now() else h.resumed_at end
               from old where h.single
           ), anew as (
               update game g
               set turn_began = now(),
                   deadline = now() + make_interval(secs => (g.options ->> 'turn_seconds')::float8)
               from old
               where g.id = any(array(
                         select game_id from due
                         where (select stood or $1 from old) and kind <> 'computer' and kind = 'clock'
                           and at <= now() + interval '1 second'))
                 and g.deadline > old.at and g.deadline <= now()
               returning g.id
           )
           select count(*) as "count!", clock_timestamp() as "now!" from anew"#,
        first
    )
    .fetch_one(db)
    .await?;
    Ok((row.count, row.now))
}

/// Notes that players were heard of so many seconds ago. Both lists have the same length; players in the order of
/// their ids, so that two processes lock them in the same order.
pub async fn note_heard(db: &mut PgConnection, players: &[PlayerId], seconds_ago: &[f64]) -> Result<()> {
    let players: Vec<Uuid> = players.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "insert into heard (player_id, at)
         select p.id, now() - make_interval(secs => n.ago)
         from unnest($1::uuid[], $2::float8[]) as n (id, ago)
         cross join lateral (select id from player where id = n.id and kind <> 'deleted' limit 1) p
         on conflict (player_id) do update set at = greatest(heard.at, excluded.at)",
        &players,
        seconds_ago
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Says that a process is there, and removes those that have not said so for half a minute, with who is connected to them.
/// Whether the process was known: if not, nobody counts as connected to it until that is written anew. A time in the
/// future is one from before the clock was set back. What others are at is left to them: after an outage all beat at once.
pub async fn beat_process(db: &mut PgConnection, process: Uuid) -> Result<bool> {
    let known = sqlx::query_scalar!(
        r#"with gone as (
               delete from process where id = any(array(
                   select id from process
                   where id <> $1 and at not between now() - interval '30 seconds' and now() + interval '5 seconds'
                   for update skip locked))
           ), beat as (
               update process set at = now() where id = $1 returning id
           ), new as (
               insert into process (id, at) select $1, now() where not exists (select from beat)
           )
           select exists (select from beat) as "known!""#,
        process
    )
    .fetch_one(db)
    .await?;
    Ok(known)
}

/// Notes that players have a stream open at a process.
pub async fn connect(db: &mut PgConnection, process: Uuid, players: &[PlayerId]) -> Result<()> {
    let players: Vec<Uuid> = players.iter().map(|id| id.uuid()).collect();
    sqlx::query!(
        "insert into connected (player_id, process_id) select id, $1 from unnest($2::uuid[]) as p (id)
         on conflict do nothing",
        process,
        &players
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Notes that players have no stream open at a process any more.
pub async fn disconnect(db: &mut PgConnection, process: Uuid, players: &[PlayerId]) -> Result<()> {
    let players: Vec<Uuid> = players.iter().map(|id| id.uuid()).collect();
    sqlx::query!("delete from connected where player_id = any($2) and process_id = $1", process, &players)
        .execute(db)
        .await?;
    Ok(())
}

/// Those of these players who are connected to any process.
pub async fn connected(db: &mut PgConnection, players: &[Uuid]) -> Result<Vec<PlayerId>> {
    let ids = sqlx::query_scalar!(
        "select distinct c.player_id from connected c join process p on p.id = c.process_id
         where c.player_id = any($1)
           and p.at between now() - interval '5 seconds' and now() + interval '5 seconds'",
        players
    )
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(PlayerId::from).collect())
}

/// Whether a person who is seated is there.
#[derive(Clone, Copy, Debug)]
pub struct SeatedRow {
    /// Where.
    pub seat: Seat,
    /// Who.
    pub player: PlayerId,
    /// Whether the person has a stream open at any process.
    pub connected: bool,
    /// When the person was last heard of, as far as that is written.
    pub heard_at: Option<OffsetDateTime>,
    /// Whether the person has blocked the viewer.
    pub blocks_viewer: bool,
}

/// Whether the people seated in a game are there, in the order of their seats; nothing unless the viewer is one of them or
/// a member of the game's group.
pub async fn presence(db: &mut PgConnection, game: GameId, viewer: PlayerId) -> Result<Vec<SeatedRow>> {
    sqlx::query!(
        r#"select s.seat, s.player_id as "player_id!", h.at as "heard_at?",
                  exists (select from connected c join process p on p.id = c.process_id
                          where c.player_id = s.player_id
                            and p.at between now() - interval '5 seconds' and now() + interval '5 seconds')
                      as "connected!",
                  exists (select from block b where b.player_id = s.player_id and b.blocked_id = $2)
                      as "blocks_viewer!"
           from seat s left join heard h on h.player_id = s.player_id
           where s.game_id = $1 and s.player_id is not null
             and (exists (select from seat o where o.game_id = $1 and o.player_id = $2)
                  or exists (select from game g join group_member m on m.group_id = g.group_id
                             where g.id = $1 and m.player_id = $2))
           order by s.seat"#,
        game.uuid(),
        viewer.uuid()
    )
    .fetch_all(db)
    .await?
    .into_iter()
    .map(|row| {
        let seat = u8::try_from(row.seat).ok().and_then(Seat::new);
        Ok(SeatedRow {
            seat: seat.ok_or_else(|| corrupt("seat.seat", row.seat))?,
            player: row.player_id.into(),
            connected: row.connected,
            heard_at: row.heard_at,
            blocks_viewer: row.blocks_viewer,
        })
    })
    .collect()
}
