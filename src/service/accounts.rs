//! Accounts: registering, signing in, passwords and the way back without one.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::passwords::Verified;
use super::sessions::begin_session;
use super::{Device, Error, Result, Service};
use crate::account::{
    ACCESS_SECONDS, CanonicalName, DeviceLabel, Name, Password, RecoveryCode, RefreshToken, TokenError,
    Username,
};
use crate::ids::{PlayerId, SessionId};
use crate::store::{self, PlayerKind, PlayerRow};

/// How many sessions a player has at most: the one used least lately makes room for a new one.
const MOST_SESSIONS: i64 = 100;

/// What somebody registers with.
pub struct Registration {
    /// What to sign in with.
    pub username: Username,
    /// What to prove it with.
    pub password: Password,
    /// The display name; a guest keeps the old one without it, others get a made-up one.
    pub name: Option<Name>,
    /// What the device calls itself.
    pub device: DeviceLabel,
}

/// A new account. No `Debug`: neither tokens nor codes are ever logged.
pub struct Registered {
    /// The player with the tokens of this device.
    pub device: Device,
    /// Shown this once.
    pub recovery_codes: Vec<RecoveryCode>,
}

impl Service {
    /// Makes an account, of the guest who calls or of somebody new, with a session of its own: whoever else has the
    /// guest's tokens does not get the account with them. The guest's access tokens are good until they run out by
    /// themselves, so that a game that is being played is not disturbed.
    ///
    /// # Errors
    /// `UsernameTaken`, `AlreadyRegistered`, `Password`, `SignInBusy`; `Token` when the guest is gone or its session goes
    /// on no more.
    pub async fn register(
        &self,
        guest: Option<(PlayerId, SessionId)>,
        new: Registration,
        now: OffsetDateTime,
    ) -> Result<Registered> {
        let known = match guest {
            Some((player, _)) => Some(self.player(player).await?),
            None => None,
        };
        if let Some(player) = &known {
            is_guest(player.kind)?;
        }
        let names = [new.name.as_ref().map(Name::as_str), known.as_ref().map(|player| player.name.as_str())];
        let names = names.into_iter().flatten().chain([new.username.as_str()]);
        let password = self.new_password(new.password, names.map(str::to_owned).collect()).await?;
        let codes = RecoveryCode::generate_set();

        let mut tx = self.database.begin().await?;
        let player = match guest {
            Some((player, session)) => {
                promote(&mut tx, player, session, new.name.as_ref()).await?;
                player
            }
            None => {
                let (player, name) = (PlayerId::new(), new.name.unwrap_or_else(Name::of_account));
                store::insert_player(&mut tx, player, PlayerKind::Account, &name).await?;
                player
            }
        };
        store::insert_account(&mut tx, player, &new.username, &password).await?;
        store_codes(&mut tx, player, &codes).await?;
        let (row, session, refresh) = let_in(&mut tx, player, &new.device).await?;
        tx.commit().await?;
        tracing::info!(player.id = %player, guest = guest.is_some(), "an account was made");
        let device = Device { player: row, tokens: self.tokens(player, session, refresh, now) };
        Ok(Registered { device, recovery_codes: codes })
    }

    /// Signs a device in. A caller who is a guest with something to lose is warned first: `leaving` is that guest, unless
    /// the warning has been heard.
    ///
    /// # Errors
    /// `WrongCredentials`, `GuestWouldBeLost`, `SignInBusy`.
    pub async fn sign_in(
        &self,
        username: &str,
        password: Password,
        device: &DeviceLabel,
        leaving: Option<PlayerId>,
        now: OffsetDateTime,
    ) -> Result<Device> {
        let name = CanonicalName::of(username);
        let mut db = self.database.connection().await?;
        let account = store::account_by_name(&mut db, &name).await?;
        db.done();
        let verified = self.verify(&name, account, password).await?.ok_or(Error::WrongCredentials)?;
        let mut tx = self.database.begin().await?;
        if !verified.still_holds(&mut tx).await? {
            return Err(Error::WrongCredentials);
        }
        let player = verified.account.player;
        if let Some(guest) = leaving
            && guest != player
            && store::guest_has_something(&mut tx, guest).await?
        {
            return Err(Error::GuestWouldBeLost);
        }
        let (row, session, refresh) = let_in(&mut tx, player, device).await?;
        let ended = store::end_sessions_beyond(&mut tx, player, MOST_SESSIONS).await?;
        tx.commit().await?;
        self.have_ended(player, &ended);
        Ok(Device { player: row, tokens: self.tokens(player, session, refresh, now) })
    }

    /// Changes the caller's password, and ends all other sessions. Ten new recovery codes take the place of the old ones:
    /// somebody who knew the old password may have got some.
    ///
    /// # Errors
    /// `AccountNeeded`, `WrongPassword`, `Password`, `SignInBusy`; `Token` when the session that asks goes on no more.
    pub async fn change_password(
        &self,
        player: PlayerId,
        session: SessionId,
        old: Password,
        new: Password,
    ) -> Result<Vec<RecoveryCode>> {
        let account = self.with_password(player, old).await?.account;
        let name = self.player(player).await?.name;
        let password = self.new_password(new, vec![account.username, name]).await?;
        let codes = RecoveryCode::generate_set();
        let mut tx = self.database.begin().await?;
        if !store::set_password(&mut tx, player, account.password_changed_at, &password).await? {
            return Err(Error::WrongPassword);
        }
        store_codes(&mut tx, player, &codes).await?;
        let ended = store::end_sessions(&mut tx, player, Some(session)).await?;
        if !store::session_goes_on(&mut tx, player, session).await? {
            return Err(TokenError::Ended.into());
        }
        tx.commit().await?;
        tracing::info!(player.id = %player, "a password was changed");
        self.have_ended(player, &ended);
        Ok(codes)
    }

    /// Ten new recovery codes for the caller; the old ones are worthless.
    ///
    /// # Errors
    /// `AccountNeeded`, `WrongPassword`, `SignInBusy`.
    pub async fn new_recovery_codes(
        &self,
        player: PlayerId,
        password: Password,
    ) -> Result<Vec<RecoveryCode>> {
        let verified = self.with_password(player, password).await?;
        let codes = RecoveryCode::generate_set();
        let mut tx = self.database.begin().await?;
        if !verified.still_holds(&mut tx).await? {
            return Err(Error::WrongPassword);
        }
        store_codes(&mut tx, player, &codes).await?;
        tx.commit().await?;
        tracing::info!(player.id = %player, "recovery codes were replaced");
        Ok(codes)
    }

    /// Signs a device in with a recovery code, which sets a new password. All other sessions end, and all tokens for
    /// programs: whoever needs this may have been robbed.
    ///
    /// # Errors
    /// `WrongCredentials`, `Password`, `SignInBusy`.
    pub async fn recover(
        &self,
        username: &str,
        code: &RecoveryCode,
        password: Password,
        device: &DeviceLabel,
        now: OffsetDateTime,
    ) -> Result<Device> {
        let name = CanonicalName::of(username);
        let mut db = self.database.connection().await?;
        // One statement, whether there is such an account or not. Nothing is hashed before the code is known to be good.
        let account = store::account_by_recovery_code(&mut db, &name, &code.hash()).await?;
        db.done();
        let account = account.ok_or(Error::WrongCredentials)?;
        let display_name = self.player(account.player).await?.name;
        let password = self.new_password(password, vec![account.username, display_name]).await?;
        let mut tx = self.database.begin().await?;
        if !store::set_password(&mut tx, account.player, account.password_changed_at, &password).await?
            || !store::use_recovery_code(&mut tx, account.player, &code.hash()).await?
        {
            return Err(Error::WrongCredentials);
        }
        let ended = store::end_sessions(&mut tx, account.player, None).await?;
        let removed = store::remove_personal_tokens(&mut tx, account.player).await?;
        let (row, session, refresh) = let_in(&mut tx, account.player, device).await?;
        tx.commit().await?;
        tracing::info!(player.id = %account.player, "an account was recovered");
        self.have_ended(account.player, &ended);
        self.tokens_have_ended(&removed);
        Ok(Device { player: row, tokens: self.tokens(account.player, session, refresh, now) })
    }

    /// The account of a player who has given its password once more.
    ///
    /// # Errors
    /// `AccountNeeded`, `WrongPassword`, `SignInBusy`.
    pub(super) async fn with_password(&self, player: PlayerId, password: Password) -> Result<Verified> {
        let mut db = self.database.connection().await?;
        let account = store::account(&mut db, player).await?.ok_or(Error::AccountNeeded)?;
        db.done();
        let name = account.canonical.clone();
        self.verify(&name, Some(account), password).await?.ok_or(Error::WrongPassword)
    }
}

/// A guest can register, nobody else.
fn is_guest(kind: PlayerKind) -> Result<()> {
    match kind {
        PlayerKind::Guest => Ok(()),
        PlayerKind::Account | PlayerKind::Bot => Err(Error::AlreadyRegistered),
        PlayerKind::Deleted => Err(TokenError::Invalid.into()),
    }
}

/// Makes a guest an account, and lets the session end in which it asks for that.
async fn promote(
    db: &mut PgConnection,
    player: PlayerId,
    session: SessionId,
    name: Option<&Name>,
) -> Result<()> {
    if !store::promote_guest(db, player, name).await? {
        // It has become something else since it was looked at.
        let now = store::player(db, player).await?.ok_or(TokenError::Invalid)?;
        return is_guest(now.kind).and(Err(Error::Busy));
    }
    if !store::let_session_end(db, player, session, f64::from(ACCESS_SECONDS)).await? {
        return Err(TokenError::Ended.into());
    }
    Ok(())
}

/// Begins a session, and says who the player is now.
async fn let_in(
    db: &mut PgConnection,
    player: PlayerId,
    device: &DeviceLabel,
) -> Result<(PlayerRow, SessionId, RefreshToken)> {
    let (session, refresh) = begin_session(db, player, device).await?;
    let row = store::player(db, player).await?.ok_or(Error::PlayerNotFound)?;
    Ok((row, session, refresh))
}

async fn store_codes(db: &mut PgConnection, player: PlayerId, codes: &[RecoveryCode]) -> Result<()> {
    let hashes: Vec<_> = codes.iter().map(RecoveryCode::hash).collect();
    Ok(store::replace_recovery_codes(db, player, &hashes).await?)
}
