//! The sessions of a player with their refresh tokens: how they begin, go on and end.

use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::Result;
use crate::account::{DeviceLabel, TokenHash};
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

/// A refresh token that somebody presented.
pub struct RefreshRow {
    /// The session it belongs to.
    pub session: SessionId,
    /// Whose session that is.
    pub player: PlayerId,
    /// Whether the session has ended.
    pub revoked: bool,
    /// When its tokens were last renewed.
    pub last_used_at: OffsetDateTime,
    /// Since when it is the session of an account; none for guests.
    pub account_since: Option<OffsetDateTime>,
    /// The token that this one replaced.
    pub parent: Option<Vec<u8>>,
    /// When it was used, if it was.
    pub used_at: Option<OffsetDateTime>,
    /// The database's clock.
    pub now: OffsetDateTime,
}

/// What has become of the tokens that replaced one.
pub struct Successors {
    /// How many there are.
    pub count: i64,
    /// Whether one has been used.
    pub used: bool,
}

/// Begins a session.
pub async fn insert_session(
    db: &mut PgConnection,
    id: SessionId,
    player: PlayerId,
    device: &DeviceLabel,
) -> Result<()> {
    sqlx::query!(
        "insert into session (id, player_id, label, of_account)
         values ($1, $2, $3, coalesce((select kind <> 'guest' from player where id = $2), false))",
        id.uuid(),
        player.uuid(),
        device.as_str()
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Adds a refresh token to a session.
pub async fn insert_refresh(
    db: &mut PgConnection,
    session: SessionId,
    hash: &TokenHash,
    parent: Option<&TokenHash>,
) -> Result<()> {
    sqlx::query!(
        "insert into refresh_token (hash, session_id, parent) values ($1, $2, $3)",
        hash.as_slice(),
        session.uuid(),
        parent.map(TokenHash::as_slice)
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Finds a refresh token and locks its session, so that two refreshes of one session take turns.
pub async fn lock_refresh(db: &mut PgConnection, hash: &TokenHash) -> Result<Option<RefreshRow>> {
    // Two statements: the second one sees what a refresh that held the lock has committed meanwhile.
    let session = sqlx::query!(
        r#"select s.id, s.player_id, s.revoked_at is not null as "revoked!", s.last_used_at,
                  case when a.player_id is not null then greatest(s.created_at, a.created_at) end as account_since
           from session s left join account a on a.player_id = s.player_id
           where s.id = (select session_id from refresh_token where hash = $1) for update of s"#,
        hash.as_slice()
    )
    .fetch_optional(&mut *db)
    .await?;
    let Some(session) = session else { return Ok(None) };
    let token = sqlx::query!(
        "select parent, used_at, clock_timestamp() as \"now!\" from refresh_token where hash = $1",
        hash.as_slice()
    )
    .fetch_optional(db)
    .await?;
    Ok(token.map(|token| RefreshRow {
        session: session.id.into(),
        player: session.player_id.into(),
        revoked: session.revoked,
        last_used_at: session.last_used_at,
        account_since: session.account_since,
        parent: token.parent,
        used_at: token.used_at,
        now: token.now,
    }))
}

/// The tokens that replaced `hash`.
pub async fn successors(db: &mut PgConnection, hash: &TokenHash) -> Result<Successors> {
    let row = sqlx::query!(
        r#"select count(*) as "count!", count(used_at) > 0 as "used!" from refresh_token where parent = $1"#,
        hash.as_slice()
    )
    .fetch_one(db)
    .await?;
    Ok(Successors { count: row.count, used: row.used })
}

/// Says that a session is used now.
pub async fn touch_session(db: &mut PgConnection, id: SessionId) -> Result<()> {
    sqlx::query!("update session set last_used_at = now() where id = $1", id.uuid()).execute(db).await?;
    Ok(())
}

/// Marks a refresh token as used now, if it was not, and with it every other one that replaced the same `parent`: a
/// device that got two answers to one request goes on with one of them, and the other is dead from then.
pub async fn mark_used(db: &mut PgConnection, hash: &TokenHash, parent: Option<&[u8]>) -> Result<()> {
    sqlx::query!(
        "update refresh_token set used_at = clock_timestamp() where (hash = $1 or parent = $2) and used_at is null",
        hash.as_slice(),
        parent
    )
    .execute(db)
    .await?;
    Ok(())
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

/// Whether a session of a player goes on: its tokens are renewed. It does so until the transaction ends.
pub async fn session_goes_on(db: &mut PgConnection, player: PlayerId, id: SessionId) -> Result<bool> {
    let found = sqlx::query_scalar!(
        "select id from session where id = $1 and player_id = $2 and revoked_at is null for share",
        id.uuid(),
        player.uuid()
    )
    .fetch_optional(db)
    .await?;
    Ok(found.is_some())
}

/// Lets a session of a player end in so many seconds: its refresh tokens are worthless from now on, its access tokens
/// are not refused before. False when it does not go on any more.
pub async fn let_session_end(
    db: &mut PgConnection,
    player: PlayerId,
    id: SessionId,
    seconds: f64,
) -> Result<bool> {
    let done = sqlx::query!(
        "update session set revoked_at = now() + make_interval(secs => $3)
         where id = $1 and player_id = $2 and revoked_at is null",
        id.uuid(),
        player.uuid(),
        seconds
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends a session of a player: none of its refresh tokens is good any more. Whether it had not ended before.
pub async fn end_session(db: &mut PgConnection, player: PlayerId, id: SessionId) -> Result<bool> {
    let done = sqlx::query!(
        "update session set revoked_at = now()
         where id = $1 and player_id = $2 and (revoked_at is null or revoked_at > now())",
        id.uuid(),
        player.uuid()
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends all sessions of a player but the one to `keep`; those that it ended. All are locked, in the order of their ids.
pub async fn end_sessions(
    db: &mut PgConnection,
    player: PlayerId,
    keep: Option<SessionId>,
) -> Result<Vec<SessionId>> {
    let mut ending = sqlx::query_scalar!(
        "select id from session where player_id = $1 and (revoked_at is null or revoked_at > now())
         order by id for update",
        player.uuid()
    )
    .fetch_all(&mut *db)
    .await?;
    ending.retain(|id| keep.is_none_or(|keep| keep.uuid() != *id));
    sqlx::query!("update session set revoked_at = now() where id = any($1)", &ending).execute(db).await?;
    Ok(ending.into_iter().map(SessionId::from).collect())
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

/// Sessions that have ended within so many seconds.
pub async fn sessions_ended_within(db: &mut PgConnection, seconds: f64) -> Result<Vec<SessionId>> {
    let ids = sqlx::query_scalar!(
        "select id from session where revoked_at > now() - make_interval(secs => $1) and revoked_at <= now()",
        seconds
    )
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(SessionId::from).collect())
}
