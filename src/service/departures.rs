//! How players go: by their own wish, or as guests who have not been heard of for long.
//!
//! First everything ends that others take part in, by the ways in which a player would end it. Then one transaction
//! removes what belonged to the player alone. A crash in between leaves a player who has resigned here and there and can
//! ask again. What a request of the same player begins in between is found by that transaction, which then gives way;
//! what comes later finds the player gone ([`store::hold_players`]).

use super::passwords::Verified;
use super::{Conflict, Error, Result, Service};
use crate::account::{Password, TokenError};
use crate::ids::PlayerId;
use crate::store::{self, IdleGuest, PlayerKind, Ties};

/// How often something new may have begun while the rest was ended.
const ATTEMPTS: usize = 16;
/// How many guests are looked at in one go.
const GUESTS: i64 = 100;

impl Service {
    /// Deletes a player, who proves to be its owner by the password of the account. The games stay, with
    /// [`crate::account::Name::OF_THE_DELETED`] in them.
    ///
    /// # Errors
    /// A token of somebody who is gone already; `PasswordNeeded` and `WrongPassword` of an account; `Busy`.
    pub async fn delete_player(&self, player: PlayerId, password: Option<Password>) -> Result<()> {
        let mut db = self.database.connection().await?;
        let row = store::player(&mut db, player).await?.ok_or(Error::PlayerNotFound)?;
        db.done();
        let proof = match row.kind {
            PlayerKind::Deleted => return Err(Error::Token(TokenError::Invalid)),
            PlayerKind::Guest => None,
            PlayerKind::Account | PlayerKind::Bot => {
                Some(self.with_password(player, password.ok_or(Error::PasswordNeeded)?).await?)
            }
        };
        self.remove(player, proof.as_ref(), None).await
    }

    /// Ends everything that others take part in, then removes what belonged to the player alone: a guest, or an account
    /// whose password is the `proof`. If that is because of so many days without a sign of life, only as long as there is
    /// none.
    async fn remove(&self, player: PlayerId, proof: Option<&Verified>, idle: Option<f64>) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let mut db = self.database.connection().await?;
            if let Some(days) = idle
                && !store::is_idle(&mut db, player, days).await?
            {
                db.done();
                return Ok(());
            }
            let ties = store::ties(&mut db, player).await?;
            db.done();
            self.cut(player, ties).await?;
            if self.forget_player(player, proof, idle).await? {
                return Ok(());
            }
        }
        Err(Error::Busy)
    }

    /// Ends the waiting, leaves the groups, resigns the games: in this order, so that no game begins in between.
    async fn cut(&self, player: PlayerId, ties: Ties) -> Result<()> {
        let Ties { ticket, groups, games } = ties;
        if let Some(ticket) = ticket {
            match self.cancel_ticket(player, ticket).await {
                Ok(_) | Err(Error::TicketMatched { .. } | Error::TicketNotFound) => {}
                Err(error) => return Err(error),
            }
        }
        for group in groups {
            match self.leave_group(player, group).await {
                Ok(()) | Err(Error::NotMember | Error::GroupNotFound) => {}
                Err(error) => return Err(error),
            }
        }
        for game in games {
            let over = [Conflict::GameOver, Conflict::AlreadyPlaced];
            match self.resign(player, game).await {
                Ok(_) => {}
                Err(Error::Conflict { conflict, .. }) if over.contains(&conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The one transaction in which a player goes. False: something has begun since, which has to end first.
    async fn forget_player(
        &self,
        player: PlayerId,
        proof: Option<&Verified>,
        idle: Option<f64>,
    ) -> Result<bool> {
        let mut tx = self.database.begin().await?;
        // The account first, as where anybody signs in: then ratings, player, sessions.
        let proven = match proof {
            Some(verified) => Some(verified.still_holds(&mut tx).await?),
            None => None,
        };
        match (store::lock_going(&mut tx, player).await?, proven) {
            // Another request of the same player has been faster.
            (None, _) => return Ok(true),
            (Some(PlayerKind::Guest), None) | (Some(_), Some(true)) => {}
            // The password has just changed.
            (Some(_), Some(false)) => return Err(Error::WrongPassword),
            // The guest has just registered: no account goes without its password, or as an idle guest.
            (Some(_), None) => return Err(Error::Busy),
        }
        if let Some(days) = idle
            && !store::lock_idle(&mut tx, player, days).await?
        {
            return Ok(true);
        }
        if !store::ties(&mut tx, player).await?.is_empty() {
            return Ok(false);
        }
        let ended = store::end_sessions(&mut tx, player, None).await?;
        let removed = store::remove_personal_tokens(&mut tx, player).await?;
        store::delete_player(&mut tx, player).await?;
        tx.commit().await?;
        self.have_ended(player, &ended);
        self.tokens_have_ended(&removed);
        Ok(true)
    }

    /// Looks for guests who have not been heard of for so many days, in a page of guests after this one. Where the next
    /// page begins, `None` at the end; and those whom [`Service::retire_guest`] is to remove.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn idle_guests(
        &self,
        days: f64,
        after: Option<PlayerId>,
    ) -> Result<(Option<PlayerId>, Vec<IdleGuest>)> {
        let mut db = self.database.connection().await?;
        let found = store::idle_guests(&mut db, after, days, GUESTS).await?;
        db.done();
        Ok(found)
    }

    /// Removes a guest who has still not been heard of for so many days: without a trace if nobody knows of them, else as
    /// if they had asked for it. Safe to do in several processes at once.
    ///
    /// # Errors
    /// When the database fails; `Busy` if the guest registers this very moment.
    pub async fn retire_guest(&self, guest: IdleGuest, days: f64) -> Result<()> {
        let IdleGuest { player, unknown } = guest;
        if unknown { self.erase(player, days).await } else { self.remove(player, None, Some(days)).await }
    }

    async fn erase(&self, player: PlayerId, days: f64) -> Result<()> {
        let mut tx = self.database.begin().await?;
        if store::lock_going(&mut tx, player).await? != Some(PlayerKind::Guest)
            || !store::lock_idle(&mut tx, player, days).await?
        {
            return Ok(());
        }
        match store::erase_guest(&mut tx, player).await {
            Ok(()) => Ok(tx.commit().await?),
            // The guest has begun something since the page was read, and stays.
            Err(error) if store::broken_constraint(&error).is_some() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
