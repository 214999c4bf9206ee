//! Players, and the access tokens by which they are known.

use serde_json::Value;
use time::OffsetDateTime;

use super::sessions::begin_session;
use super::{Error, Result, Service};
use crate::account::{ACCESS_SECONDS, DeviceLabel, Name, RefreshToken};
use crate::ids::{PlayerId, SessionId};
use crate::store::{self, OwnPlayer, PlayerKind, PlayerRow};

/// What a device signs in with. No `Debug`: tokens are never logged.
pub struct Tokens {
    /// For requests.
    pub access: String,
    /// Seconds for which it is good.
    pub expires_in: u32,
    /// For the next pair of tokens.
    pub refresh: String,
}

/// A player with the tokens of a device that has just signed in.
pub struct Device {
    /// Who.
    pub player: PlayerRow,
    /// What the device signs in with.
    pub tokens: Tokens,
}

impl Service {
    /// Makes a guest with a session.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn create_guest(
        &self,
        name: Option<Name>,
        device: &DeviceLabel,
        now: OffsetDateTime,
    ) -> Result<Device> {
        let name = name.unwrap_or_else(Name::of_guest);
        let player = PlayerId::new();
        let mut tx = self.database.begin().await?;
        store::insert_player(&mut tx, player, PlayerKind::Guest, &name).await?;
        let (session, refresh) = begin_session(&mut tx, player, device).await?;
        tx.commit().await?;
        let player = PlayerRow { id: player, name: name.as_str().to_owned(), kind: PlayerKind::Guest };
        let tokens = self.tokens(player.id, session, refresh, now);
        Ok(Device { player, tokens })
    }

    /// A player.
    ///
    /// # Errors
    /// `PlayerNotFound`.
    pub async fn player(&self, id: PlayerId) -> Result<PlayerRow> {
        store::player(&mut *self.database.connection().await?, id).await?.ok_or(Error::PlayerNotFound)
    }

    /// The caller's own player.
    ///
    /// # Errors
    /// `PlayerNotFound`.
    pub async fn own_player(&self, id: PlayerId) -> Result<OwnPlayer> {
        let mut db = self.database.connection().await?;
        let player = store::own_player(&mut db, id).await?.ok_or(Error::PlayerNotFound)?;
        db.done();
        Ok(player)
    }

    /// Changes the display name and the preferences, those that are given.
    ///
    /// # Errors
    /// `PlayerNotFound`.
    pub async fn update_player(
        &self,
        id: PlayerId,
        name: Option<&Name>,
        preferences: Option<&Value>,
    ) -> Result<OwnPlayer> {
        let mut db = self.database.connection().await?;
        let changed = store::update_player(&mut db, id, name, preferences).await?;
        let player = if changed { store::own_player(&mut db, id).await? } else { None };
        db.done();
        player.ok_or(Error::PlayerNotFound)
    }

    pub(super) fn tokens(
        &self,
        player: PlayerId,
        session: SessionId,
        refresh: RefreshToken,
        now: OffsetDateTime,
    ) -> Tokens {
        let access = self.keys.issue(player, session, now);
        Tokens { access, expires_in: ACCESS_SECONDS, refresh: refresh.into_text() }
    }
}
