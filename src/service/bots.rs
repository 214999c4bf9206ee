//! Programs that play for an account.

use super::{Error, Result, Service};
use crate::ids::PlayerId;
use crate::store::{self, PlayerKind, PlayerRow};

impl Service {
    /// Declares that a program plays for an account, for good. Repeating it changes nothing.
    ///
    /// # Errors
    /// `PlayerNotFound`; `AccountNeeded` of a guest; `BotTooLate` after a ranked game.
    pub async fn declare_bot(&self, player: PlayerId) -> Result<PlayerRow> {
        let mut tx = self.database.begin().await?;
        store::lock_open_tickets(&mut tx, &[player]).await?;
        let made = store::make_bot(&mut tx, player).await?;
        let row = store::player(&mut tx, player).await?.ok_or(Error::PlayerNotFound)?;
        match row.kind {
            PlayerKind::Bot => {
                if made {
                    tx.commit().await?;
                }
                Ok(row)
            }
            PlayerKind::Account => Err(Error::BotTooLate),
            PlayerKind::Guest => Err(Error::AccountNeeded),
            PlayerKind::Deleted => Err(Error::PlayerNotFound),
        }
    }
}
