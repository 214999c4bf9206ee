//! Guests, and the tokens that devices sign in with.

use time::{Duration, OffsetDateTime};

use super::{Error, Result, Service};
use crate::account::{ACCESS_SECONDS, Name, RefreshToken};
use crate::ids::{PlayerId, SessionId};
use crate::store::{self, PlayerRow};

/// How long the token that has just been replaced is honoured once more: its answer may have been lost, and a guest
/// has nothing else.
const FORGIVENESS: Duration = Duration::seconds(30);

/// What a device signs in with. No `Debug`: tokens are never logged.
pub struct Tokens {
    /// For requests.
    pub access: String,
    /// Seconds for which it is good.
    pub expires_in: u32,
    /// For the next pair of tokens.
    pub refresh: String,
}

/// A new player with the device's tokens.
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
    pub async fn create_guest(&self, name: Option<Name>, now: OffsetDateTime) -> Result<Device> {
        let name = name.unwrap_or_else(Name::of_guest);
        let (player, session, refresh) = (PlayerId::new(), SessionId::new(), RefreshToken::generate());
        let mut tx = self.database.begin().await?;
        store::insert_player(&mut tx, player, &name).await?;
        store::insert_session(&mut tx, session, player).await?;
        store::insert_refresh(&mut tx, session, &refresh.hash(), None).await?;
        tx.commit().await?;
        let player = PlayerRow { id: player, name: name.as_str().to_owned(), kind: store::PlayerKind::Guest };
        let tokens = self.tokens(player.id, session, refresh, now);
        Ok(Device { player, tokens })
    }

    /// Exchanges a refresh token for a new pair. Each is used once; presenting a used one again ends the session,
    /// since two parties have it, except that the one replaced last is honoured once more within 30 seconds.
    ///
    /// # Errors
    /// `RefreshInvalid` or `RefreshReused`.
    pub async fn refresh(&self, presented: &RefreshToken, now: OffsetDateTime) -> Result<Tokens> {
        let hash = presented.hash();
        let mut tx = self.database.begin().await?;
        let row = store::lock_refresh(&mut tx, &hash).await?.ok_or(Error::RefreshInvalid)?;
        if row.revoked {
            return Err(Error::RefreshInvalid);
        }
        let good = match row.used_at {
            None => true,
            Some(used) => {
                let successors = store::successors(&mut tx, &hash).await?;
                row.now - used <= FORGIVENESS && successors.count == 1 && !successors.used
            }
        };
        if !good {
            store::end_session(&mut tx, row.session).await?;
            tx.commit().await?;
            self.sessions_ended([row.session]);
            return Err(Error::RefreshReused);
        }
        let next = RefreshToken::generate();
        store::mark_used(&mut tx, &hash, row.parent.as_deref()).await?;
        store::insert_refresh(&mut tx, row.session, &next.hash(), Some(&hash)).await?;
        tx.commit().await?;
        self.hear(row.player);
        Ok(self.tokens(row.player, row.session, next, now))
    }

    /// Ends a session: its tokens are worthless from now on.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn end_session(&self, session: SessionId) -> Result<()> {
        store::end_session(&mut *self.database.connection().await?, session).await?;
        self.sessions_ended([session]);
        Ok(())
    }

    /// A player.
    ///
    /// # Errors
    /// `PlayerNotFound`.
    pub async fn player(&self, id: PlayerId) -> Result<PlayerRow> {
        store::player(&mut *self.database.connection().await?, id).await?.ok_or(Error::PlayerNotFound)
    }

    /// Changes the display name.
    ///
    /// # Errors
    /// `PlayerNotFound`.
    pub async fn rename(&self, id: PlayerId, name: &Name) -> Result<PlayerRow> {
        let mut db = self.database.connection().await?;
        if !store::rename_player(&mut db, id, name).await? {
            return Err(Error::PlayerNotFound);
        }
        store::player(&mut db, id).await?.ok_or(Error::PlayerNotFound)
    }

    fn tokens(
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
