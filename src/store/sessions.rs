//! The sessions of a player: which there are, and how they end.

use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::Result;
use crate::ids::{PlayerId, SessionId};

/// A session as its player sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Which.
    pub id: SessionId,
    /// What the device calls itself.
    pub device: String,
    /// When it began.
    pub created_at: OffsetDateTime,
    /// When its tokens were last renewed.
    pub last_used_at: OffsetDateTime,
}

/// The sessions of a player that have not ended, the one used last first.
pub async fn sessions(db: &mut PgConnection, player: PlayerId) -> Result<Vec<SessionRow>> {
    let rows = sqlx::query!(
        "select id, label, created_at, last_used_at from session where player_id = $1 and revoked_at is null
         order by last_used_at desc, id desc",
        player.uuid()
    )
    .fetch_all(db)
    .await?;
    let row = |id: Uuid, device, created_at, last_used_at| SessionRow {
        id: id.into(),
        device,
        created_at,
        last_used_at,
    };
    Ok(rows.into_iter().map(|r| row(r.id, r.label, r.created_at, r.last_used_at)).collect())
}

/// Whether a player has or had this session.
pub async fn has_session(db: &mut PgConnection, player: PlayerId, id: SessionId) -> Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from session where id = $1 and player_id = $2) as "has!""#,
        id.uuid(),
        player.uuid()
    )
    .fetch_one(db)
    .await
}

/// Ends a session of a player: none of its refresh tokens is good any more. Whether it had not ended before.
pub async fn end_session(db: &mut PgConnection, player: PlayerId, id: SessionId) -> Result<bool> {
    let done = sqlx::query!(
        "update session set revoked_at = now() where id = $1 and player_id = $2 and revoked_at is null",
        id.uuid(),
        player.uuid()
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends all sessions of a player but the one to `keep`; those that it ended.
pub async fn end_sessions(
    db: &mut PgConnection,
    player: PlayerId,
    keep: Option<SessionId>,
) -> Result<Vec<SessionId>> {
    let ended = sqlx::query_scalar!(
        "update session set revoked_at = now()
         where player_id = $1 and revoked_at is null and id is distinct from $2 returning id",
        player.uuid(),
        keep.map(SessionId::uuid)
    )
    .fetch_all(db)
    .await?;
    Ok(ended.into_iter().map(SessionId::from).collect())
}

/// Ends the sessions of a player that were used least lately, all but `most`; those that it ended.
pub async fn end_sessions_beyond(
    db: &mut PgConnection,
    player: PlayerId,
    most: i64,
) -> Result<Vec<SessionId>> {
    let ended = sqlx::query_scalar!(
        "update session set revoked_at = now() where id in (
             select id from session where player_id = $1 and revoked_at is null
             order by last_used_at desc, id desc offset $2)
         returning id",
        player.uuid(),
        most
    )
    .fetch_all(db)
    .await?;
    Ok(ended.into_iter().map(SessionId::from).collect())
}

/// Ends the sessions of accounts that have not been used for `idle` seconds or are older than `age` seconds, so many at a
/// time that it is done soon. Sessions of guests, of which there may be far more, are not even looked at: they end with
/// their players.
pub async fn end_old_sessions(db: &mut PgConnection, idle: f64, age: f64) -> Result<()> {
    sqlx::query!(
        "update session set revoked_at = now() where id in (
             (select id from session
              where of_account and revoked_at is null and last_used_at < now() - make_interval(secs => $1) limit 5000)
             union all
             (select s.id from session s join account a on a.player_id = s.player_id
              where s.of_account and s.revoked_at is null and s.created_at < now() - make_interval(secs => $2)
                and a.created_at < now() - make_interval(secs => $2) limit 5000))",
        idle,
        age
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Forgets refresh tokens that were used a month ago, so many at a time that it is done soon.
pub async fn forget_used_tokens(db: &mut PgConnection) -> Result<()> {
    sqlx::query!(
        "delete from refresh_token where hash in (
             select hash from refresh_token where used_at < now() - interval '30 days' limit 50000)"
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Forgets sessions that ended a month ago, with their refresh tokens: these are as unknown then as they were worthless
/// before. So many at a time that it is done soon.
pub async fn forget_sessions(db: &mut PgConnection) -> Result<()> {
    sqlx::query!(
        "with old as (
             select id from session where revoked_at < now() - interval '30 days' order by revoked_at limit 1000
         ), tokens as (
             delete from refresh_token where session_id in (select id from old)
         )
         delete from session where id in (select id from old)"
    )
    .execute(db)
    .await?;
    Ok(())
}
