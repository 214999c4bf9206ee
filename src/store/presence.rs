//! Who was there: the server processes by their heartbeat, the players by what was heard of them.

use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::Result;
use crate::ids::PlayerId;

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
