//! Waiting for a ranked game: tickets are made, watched and cancelled.

use std::time::Duration;

use sqlx::PgConnection;
use tokio::time::{Instant, sleep_until};

use super::{Error, IdempotencyKey, Result, Service, Topic, claim};
use crate::ids::{PlayerId, TicketId};
use crate::matching::window;
use crate::store::{self, TicketRow, TicketStatus, Wish};

/// A ticket with what its player may expect.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// As stored.
    pub row: TicketRow,
    /// While it waits: the largest gap at which a newcomer would be matched with it now, in rating points.
    pub window: Option<f64>,
    /// While it waits: how many seconds others have usually waited lately, if any have been matched.
    pub estimate: Option<f64>,
}

impl Service {
    /// Puts `player` into a queue.
    ///
    /// # Errors
    /// `TicketOpen`, `InRankedGame`, `Cooldown`, or a reused idempotency key.
    pub async fn create_ticket(
        &self,
        player: PlayerId,
        wish: Wish,
        key: Option<&IdempotencyKey>,
    ) -> Result<Ticket> {
        let id = TicketId::new();
        let mut tx = self.database.begin().await?;
        if let Some(earlier) = claim(&mut tx, player, "create_ticket", key, id.uuid()).await? {
            drop(tx);
            return self.ticket(player, earlier.into()).await;
        }
        if !store::hold_players(&mut tx, &[player]).await? {
            return Err(Error::PlayerNotFound);
        }
        if let Some(seconds) = store::cooldown(&mut tx, player).await? {
            return Err(Error::Cooldown { seconds: whole_seconds(seconds) });
        }
        if let Err(error) = store::insert_ticket(&mut tx, id, player, wish).await {
            if store::broken_constraint(&error) != Some("ticket_one_open") {
                return Err(error.into());
            }
            drop(tx);
            return Err(self.why_not(player).await?);
        }
        tx.commit().await?;
        self.news.tell(Topic::Player(player), 0);
        self.ticket(player, id).await
    }

    /// Why a player cannot have another ticket.
    async fn why_not(&self, player: PlayerId) -> Result<Error> {
        let open = store::open_ticket(&mut *self.database.connection().await?, player).await?;
        Ok(match open {
            Some((_, Some(game))) => Error::InRankedGame { game },
            Some((ticket, None)) => Error::TicketOpen { ticket },
            // Both have ended since: trying again will do.
            None => Error::Busy,
        })
    }

    /// A ticket of `player`.
    ///
    /// # Errors
    /// `TicketNotFound`, also for tickets of others.
    pub async fn ticket(&self, player: PlayerId, id: TicketId) -> Result<Ticket> {
        let mut db = self.database.connection().await?;
        let row = store::ticket(&mut db, id, player).await?.ok_or(Error::TicketNotFound)?;
        let ticket = with_prospects(&mut db, row).await?;
        db.done();
        Ok(ticket)
    }

    /// A ticket as soon as it no longer waits, or as it is when `wait` is over. No connection is held meanwhile.
    ///
    /// # Errors
    /// `TicketNotFound`, also for tickets of others.
    pub async fn ticket_after(&self, player: PlayerId, id: TicketId, wait: Duration) -> Result<Ticket> {
        let end = Instant::now() + wait;
        // At once, and once: the poll may wait for as long as a ticket lives on, and nothing tells whether its client is
        // still there.
        let mut db = self.database.connection().await?;
        store::note_heard(&mut db, &[player], &[0.0]).await?;
        db.done();
        // Listening before looking: what comes in between is heard.
        let listening = self.news.listen([Topic::Ticket(id)]);
        loop {
            let mut db = self.database.connection().await?;
            let row = store::ticket(&mut db, id, player).await?.ok_or(Error::TicketNotFound)?;
            let over = Instant::now() >= end || self.stopping.is_cancelled();
            if over || row.status != TicketStatus::Waiting {
                let ticket = with_prospects(&mut db, row).await?;
                db.done();
                return Ok(ticket);
            }
            db.done();
            tokio::select! {
                _ = listening.rung() => {}
                () = sleep_until(end) => {}
                () = self.stopping.cancelled() => {}
            }
        }
    }

    /// Ends the waiting of a ticket of `player`. Repeating it changes nothing more.
    ///
    /// # Errors
    /// `TicketNotFound`, also for tickets of others; `TicketMatched`.
    pub async fn cancel_ticket(&self, player: PlayerId, id: TicketId) -> Result<Ticket> {
        let mut db = self.database.connection().await?;
        store::cancel_ticket(&mut db, id, player).await?;
        db.done();
        self.news.tell(Topic::Ticket(id), 0);
        self.news.tell(Topic::Player(player), 0);
        let ticket = self.ticket(player, id).await?;
        match ticket.row.game {
            Some(game) => Err(Error::TicketMatched { game }),
            None => Ok(ticket),
        }
    }
}

/// What the player of a ticket may expect.
pub(super) async fn with_prospects(db: &mut PgConnection, row: TicketRow) -> Result<Ticket> {
    let mut ticket = Ticket { window: None, estimate: None, row };
    if ticket.row.status == TicketStatus::Waiting {
        let TicketRow { waited, queue, max_gap, .. } = ticket.row;
        let window = window(waited, queue.players.into());
        ticket.window = Some(max_gap.map_or(window, |gap| window.min(gap.into())));
        ticket.estimate = store::usual_wait(db, queue).await?;
    }
    Ok(ticket)
}

/// At least one, and never too few.
fn whole_seconds(seconds: f64) -> u64 {
    Duration::try_from_secs_f64(seconds).map_or(1, |time| time.as_secs() + 1)
}
