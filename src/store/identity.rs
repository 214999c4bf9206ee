//! Players, their sessions and the refresh tokens of each session.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{Result, corrupt};
use crate::account::{Name, TokenHash};
use crate::ids::{PlayerId, SessionId};

/// What kind of player somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerKind {
    /// Plays without having registered.
    Guest,
    /// Has a username and a password.
    Account,
    /// A program.
    Bot,
    /// Is gone; the games remain.
    Deleted,
}

/// A player as others see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayerRow {
    /// Who.
    pub id: PlayerId,
    /// The display name.
    pub name: String,
    /// Guest, account, bot or deleted.
    pub kind: PlayerKind,
}

impl PlayerKind {
    /// Its name, stored and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guest => "guest",
            Self::Account => "account",
            Self::Bot => "bot",
            Self::Deleted => "deleted",
        }
    }

    /// A stored kind.
    pub(super) fn stored(text: &str) -> Result<Self> {
        [Self::Guest, Self::Account, Self::Bot, Self::Deleted]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| corrupt("player.kind", text))
    }
}

/// A refresh token that somebody presented.
pub struct RefreshRow {
    /// The session it belongs to.
    pub session: SessionId,
    /// Whose session that is.
    pub player: PlayerId,
    /// Whether the session has ended.
    pub revoked: bool,
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

/// Adds a guest.
pub async fn insert_player(db: &mut PgConnection, id: PlayerId, name: &Name) -> Result<()> {
    sqlx::query!("insert into player (id, kind, name) values ($1, 'guest', $2)", id.uuid(), name.as_str())
        .execute(db)
        .await?;
    Ok(())
}

/// A player by id.
pub async fn player(db: &mut PgConnection, id: PlayerId) -> Result<Option<PlayerRow>> {
    sqlx::query!("select name, kind from player where id = $1", id.uuid())
        .fetch_optional(db)
        .await?
        .map(|row| Ok(PlayerRow { id, name: row.name, kind: PlayerKind::stored(&row.kind)? }))
        .transpose()
}

/// Changes a player's name; false when there is no such player.
pub async fn rename_player(db: &mut PgConnection, id: PlayerId, name: &Name) -> Result<bool> {
    let done = sqlx::query!(
        "update player set name = $2 where id = $1 and kind <> 'deleted'",
        id.uuid(),
        name.as_str()
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Begins a session.
pub async fn insert_session(db: &mut PgConnection, id: SessionId, player: PlayerId) -> Result<()> {
    sqlx::query!("insert into session (id, player_id) values ($1, $2)", id.uuid(), player.uuid())
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
        "select id, player_id, revoked_at is not null as \"revoked!\" from session
         where id = (select session_id from refresh_token where hash = $1) for update",
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

/// Ends a session: none of its refresh tokens is good any more.
pub async fn end_session(db: &mut PgConnection, id: SessionId) -> Result<()> {
    sqlx::query!("update session set revoked_at = now() where id = $1 and revoked_at is null", id.uuid())
        .execute(db)
        .await?;
    Ok(())
}
