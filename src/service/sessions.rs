//! Sessions: devices that are signed in, kept up by refresh tokens until they end.

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::{Error, Result, Service, Tokens};
use crate::account::{DeviceLabel, RefreshToken};
use crate::ids::{PlayerId, SessionId};
use crate::store::{self, SessionRow};

/// How long the token that has just been replaced is honoured once more: its answer may have been lost, and a guest
/// has nothing else.
const FORGIVENESS: Duration = Duration::seconds(30);
/// How long a session of an account lasts without being used.
const IDLE: Duration = Duration::days(60);
/// How long a session of an account lasts at most.
const AGE: Duration = Duration::days(365);

impl Service {
    /// Exchanges a refresh token for a new pair. Each is used once; presenting a used one again ends the session,
    /// since two parties have it, except that the one replaced last is honoured once more within 30 seconds.
    ///
    /// # Errors
    /// `RefreshInvalid` or `RefreshReused`.
    pub async fn refresh(&self, presented: &RefreshToken, now: OffsetDateTime) -> Result<Tokens> {
        let hash = presented.hash();
        let mut tx = self.database.begin().await?;
        let row = store::lock_refresh(&mut tx, &hash).await?.ok_or(Error::RefreshInvalid)?;
        let idle = row.now - row.last_used_at;
        // Guests have nothing else than their session: it ends when their player does.
        let expired = row.account_since.is_some_and(|since| idle > IDLE || row.now - since > AGE);
        if row.revoked || expired {
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
            store::end_session(&mut tx, row.player, row.session).await?;
            tx.commit().await?;
            self.have_ended(row.player, &[row.session]);
            return Err(Error::RefreshReused);
        }
        let next = RefreshToken::generate();
        store::mark_used(&mut tx, &hash, row.parent.as_deref()).await?;
        store::touch_session(&mut tx, row.session).await?;
        store::insert_refresh(&mut tx, row.session, &next.hash(), Some(&hash)).await?;
        tx.commit().await?;
        self.hear(row.player);
        Ok(self.tokens(row.player, row.session, next, now))
    }

    /// The caller's sessions, the one used last first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn sessions(&self, player: PlayerId) -> Result<Vec<SessionRow>> {
        let mut db = self.database.connection().await?;
        let sessions = store::sessions(&mut db, player).await?;
        db.done();
        Ok(sessions)
    }

    /// Ends a session of the caller: its refresh tokens are worthless from now on. Repeating it changes nothing more.
    ///
    /// # Errors
    /// `SessionNotFound`, also for sessions of others.
    pub async fn end_session(&self, player: PlayerId, session: SessionId) -> Result<()> {
        let mut db = self.database.connection().await?;
        let ended = store::end_session(&mut db, player, session).await?;
        let known = ended || store::has_session(&mut db, player, session).await?;
        db.done();
        if ended {
            self.have_ended(player, &[session]);
        }
        if known { Ok(()) } else { Err(Error::SessionNotFound) }
    }

    /// Ends all sessions of the caller.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn end_sessions(&self, player: PlayerId) -> Result<()> {
        let mut db = self.database.connection().await?;
        let ended = store::end_sessions(&mut db, player, None).await?;
        db.done();
        self.have_ended(player, &ended);
        Ok(())
    }

    /// Ends sessions of accounts that have lasted too long.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn end_old_sessions(&self) -> Result<()> {
        let mut db = self.database.connection().await?;
        store::end_old_sessions(&mut db, IDLE.as_seconds_f64(), AGE.as_seconds_f64()).await?;
        db.done();
        Ok(())
    }

    /// Forgets refresh tokens that were used long ago.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn forget_used_tokens(&self) -> Result<()> {
        let mut db = self.database.connection().await?;
        store::forget_used_tokens(&mut db).await?;
        db.done();
        Ok(())
    }

    /// Forgets sessions that ended long ago.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn forget_sessions(&self) -> Result<()> {
        let mut db = self.database.connection().await?;
        store::forget_sessions(&mut db).await?;
        db.done();
        Ok(())
    }
}

/// Begins a session, with its first refresh token.
pub(super) async fn begin_session(
    db: &mut PgConnection,
    player: PlayerId,
    device: &DeviceLabel,
) -> Result<(SessionId, RefreshToken)> {
    let (session, refresh) = (SessionId::new(), RefreshToken::generate());
    store::insert_session(db, session, player, device).await?;
    store::insert_refresh(db, session, &refresh.hash(), None).await?;
    Ok((session, refresh))
}
