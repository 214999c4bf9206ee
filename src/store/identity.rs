//! Players.

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{Result, corrupt};
use crate::account::Name;
use crate::ids::PlayerId;

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

/// Changes a player's name and preferences, those that are given; false when there is no such player (any more).
pub async fn update_player(
    db: &mut PgConnection,
    id: PlayerId,
    name: Option<&Name>,
    preferences: Option<&Value>,
) -> Result<bool> {
    let done = sqlx::query!(
        "update player set name = coalesce($2, name), preferences = coalesce($3::text::json, preferences)
         where id = $1 and kind <> 'deleted'",
        id.uuid(),
        name.map(Name::as_str),
        preferences.map(Value::to_string)
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}
