//! Players, their sessions and the refresh tokens of each session.

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{Result, corrupt};
use crate::account::{DeviceLabel, Name, TokenHash};
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

/// A player as it is told to that player alone.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnPlayer {
    /// As others see it.
    pub player: PlayerRow,
    /// What an account signs in with.
    pub username: Option<String>,
    /// What the player's clients keep here.
    pub preferences: Value,
    /// Since when there is this player.
    pub created_at: OffsetDateTime,
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

/// Adds a player.
pub async fn insert_player(db: &mut PgConnection, id: PlayerId, kind: PlayerKind, name: &Name) -> Result<()> {
    sqlx::query!(
        "insert into player (id, kind, name) values ($1, $2, $3)",
        id.uuid(),
        kind.as_str(),
        name.as_str()
    )
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

/// A player as it is told to that player alone.
pub async fn own_player(db: &mut PgConnection, id: PlayerId) -> Result<Option<OwnPlayer>> {
    let row = sqlx::query!(
        r#"select p.kind, p.name, p.preferences as "preferences: Value", p.created_at, a.username as "username?"
           from player p left join account a on a.player_id = p.id where p.id = $1"#,
        id.uuid()
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        let player = PlayerRow { id, name: row.name, kind: PlayerKind::stored(&row.kind)? };
        let (username, preferences, created_at) = (row.username, row.preferences, row.created_at);
        Ok(OwnPlayer { player, username, preferences, created_at })
    })
    .transpose()
}

/// Changes a player's name and preferences, those that are given; nothing happens when there is no such player.
pub async fn update_player(
    db: &mut PgConnection,
    id: PlayerId,
    name: Option<&Name>,
    preferences: Option<&Value>,
) -> Result<()> {
    sqlx::query!(
        "update player set name = coalesce($2, name), preferences = coalesce($3::text::json, preferences)
         where id = $1 and kind <> 'deleted'",
        id.uuid(),
        name.map(Name::as_str),
        preferences.map(Value::to_string)
    )
    .execute(db)
    .await?;
    Ok(())
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
