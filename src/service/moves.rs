//! Acting in a game: move, resign, leave, return. Every use case loads, decides, and writes under the guard; when the
//! guard does not hold it loads and decides again, so that a request can be repeated until it is answered.

use sqlx::PgConnection;

use super::events::{EventView, Since, history, since};
use super::turn::{has_run_out, left_of_turn};
use super::write::Plan;
use super::{Conflict, Error, Result, Service};
use crate::engine::{Action, ActionError, Seat};
use crate::ids::{GameId, PlayerId};
use crate::store::{self, By, Condition, StoredGame};

/// Every lost race means that somebody else's event was written, so this many in a row hardly happen.
const ATTEMPTS: usize = 64;

/// A move that counts.
#[derive(Debug)]
pub struct Played {
    /// The event that the request made, now or when it was first sent.
    pub accepted: EventView,
    /// The game as it is now.
    pub game: StoredGame,
}

impl Service {
    /// Sows `pit` for `player`, who looked at the state `seq`. Two round trips to the database: load and write.
    ///
    /// # Errors
    /// `GameNotFound`, `NotSeated`, a `Conflict` with the game as it is now, or a pit that cannot be sown.
    pub async fn play(&self, player: PlayerId, id: GameId, pit: u8, seq: i32) -> Result<Played> {
        for _ in 0..ATTEMPTS {
            let mut db = self.database.connection().await?;
            let stored = visible(&mut db, id, Some(player)).await?;
            let seat = seat_of(&stored, player)?;
            let later =
                if stored.seq > seq { store::events_after(&mut db, id, seq).await? } else { Vec::new() };
            if later.last().is_some_and(|row| row.seq > stored.seq) {
                // Somebody has moved between the two reads: the answer is to show the game with it.
                continue;
            }
            let conflict = match since(&later, seat, pit) {
                Since::Repeated(row) => return repeated(&mut db, stored, row.seq).await,
                Since::PlayedForYou => Some(Conflict::TurnPlayedForYou),
                _ if stored.game.is_over() => Some(Conflict::GameOver),
                Since::OwnMove => Some(Conflict::Stale),
                // The computer plays the seat from now on.
                _ if stored.game.is_resigned(seat) => Some(Conflict::NotYourTurn),
                _ if stored.game.position().to_move() != Some(seat) => Some(Conflict::NotYourTurn),
                Since::Moved => Some(Conflict::Stale),
                Since::Nothing if seq > stored.seq => Some(Conflict::Stale),
                Since::Nothing => None,
            };
            if let Some(conflict) = conflict {
                return Err(conflict.with(stored));
            }
            if has_run_out(&stored) {
                // Too late, and a refusal has to show what the clock has played. Or nobody was there when the turn ran
                // out: then it is about to begin anew.
                db.done();
                self.wait_for_the_clock(id).await?;
                continue;
            }
            let mut plan = Plan::new(&stored);
            if stored.game.is_left(seat) {
                plan_action(&mut plan, &stored, seat, Action::Return, None)?;
                note_left(&mut db, &mut plan, &stored, seat).await?;
            }
            plan_action(&mut plan, &stored, seat, Action::Move { pit }, Some(By::Player))?;
            if let Some((game, views)) = self.commit(db, plan, Condition::InTime).await? {
                let accepted = views.into_iter().last().expect("a committed plan has its events");
                return Ok(Played { accepted, game });
            }
        }
        Err(Error::Busy)
    }

    /// Resigns `player`'s seat. Repeating it changes nothing more.
    ///
    /// # Errors
    /// `GameNotFound`, `NotSeated`, or a `Conflict` when the game ended first or the seat has its place.
    pub async fn resign(&self, player: PlayerId, id: GameId) -> Result<StoredGame> {
        self.act(player, id, |stored, seat| (!stored.game.is_resigned(seat)).then_some(Action::Resign)).await
    }

    /// Leaves `player`'s seat to the computer. Repeating it changes nothing more.
    ///
    /// # Errors
    /// `GameNotFound`, `NotSeated`, or a `Conflict` when the game is over or the seat has its place.
    pub async fn leave(&self, player: PlayerId, id: GameId) -> Result<StoredGame> {
        self.act(player, id, |stored, seat| {
            let gone = stored.game.is_left(seat) || stored.game.is_resigned(seat);
            (!gone).then_some(Action::Leave)
        })
        .await
    }

    /// Takes `player`'s seat back from the computer. Repeating it changes nothing more.
    ///
    /// # Errors
    /// `GameNotFound`, `NotSeated`, or a `Conflict` when the game is over.
    pub async fn return_to(&self, player: PlayerId, id: GameId) -> Result<StoredGame> {
        self.act(player, id, |stored, seat| {
            let can_return = stored.game.is_left(seat) && !stored.game.position().is_out(seat);
            can_return.then_some(Action::Return)
        })
        .await
    }

    /// Whether `player` has left the game and not returned.
    ///
    /// # Errors
    /// `GameNotFound` or `NotSeated`.
    pub async fn is_away(&self, player: PlayerId, id: GameId) -> Result<bool> {
        let stored = self.game(Some(player), id).await?;
        let seat = seat_of(&stored, player)?;
        Ok(stored.game.is_left(seat))
    }

    /// Writes the event that `decide` wants for the player's seat; none means that it lies there already.
    async fn act(
        &self,
        player: PlayerId,
        id: GameId,
        decide: impl Fn(&StoredGame, Seat) -> Option<Action>,
    ) -> Result<StoredGame> {
        for _ in 0..ATTEMPTS {
            let mut db = self.database.connection().await?;
            let stored = visible(&mut db, id, Some(player)).await?;
            let seat = seat_of(&stored, player)?;
            let Some(action) = decide(&stored, seat) else { return Ok(stored) };
            if stored.game.is_over() {
                return Err(Conflict::GameOver.with(stored));
            }
            let mut plan = Plan::new(&stored);
            plan_action(&mut plan, &stored, seat, action, None)?;
            if action == Action::Return {
                note_left(&mut db, &mut plan, &stored, seat).await?;
            }
            if let Some((game, _)) = self.commit(db, plan, Condition::Always).await? {
                return Ok(game);
            }
        }
        Err(Error::Busy)
    }
}

/// Notes in a plan that ends with a return how much is left of a turn in which the seat had left: else nobody would have to
/// move who leaves and returns.
async fn note_left(
    db: &mut PgConnection,
    plan: &mut Plan<'_>,
    stored: &StoredGame,
    seat: Seat,
) -> Result<()> {
    let its_turn = stored.game.position().to_move() == Some(seat);
    if let Some(limit) = stored.options.turn_seconds().filter(|_| its_turn) {
        let log = store::events_after(db, stored.id, 0).await?;
        plan.leaves(left_of_turn(stored.created_at, &log, seat, limit));
    }
    Ok(())
}

/// The game, if there is one that `viewer` may see: the one check of who sees what.
pub(super) async fn visible(
    db: &mut PgConnection,
    id: GameId,
    viewer: Option<PlayerId>,
) -> Result<StoredGame> {
    store::game(db, id, viewer).await?.filter(|game| !game.hidden).ok_or(Error::GameNotFound)
}

/// The seat of `player`.
pub(super) fn seat_of(stored: &StoredGame, player: PlayerId) -> Result<Seat> {
    let holds = |occupant: &store::Occupant| occupant.person().is_some_and(|person| person.id == player);
    let seats = stored.options.rules().seats();
    seats
        .zip(&stored.seats)
        .find(|(_, occupant)| holds(occupant))
        .map(|(seat, _)| seat)
        .ok_or(Error::NotSeated)
}

fn plan_action(
    plan: &mut Plan<'_>,
    stored: &StoredGame,
    seat: Seat,
    action: Action,
    by: Option<By>,
) -> Result<()> {
    plan.add(seat, action, by).map_err(|error| match error {
        ActionError::Sow(error) => error.into(),
        ActionError::AlreadyPlaced(_) => Conflict::AlreadyPlaced.with(stored.clone()),
        ActionError::GameOver => Conflict::GameOver.with(stored.clone()),
        _ => Conflict::NotYourTurn.with(stored.clone()),
    })
}

/// The answer to a request that has been carried out before: its event, found again by replaying the log.
async fn repeated(db: &mut PgConnection, stored: StoredGame, seq: i32) -> Result<Played> {
    let log = store::events_after(db, stored.id, 0).await?;
    let accepted = history(&stored, &log)?
        .into_iter()
        .find(|view| view.row.seq == seq)
        .ok_or(Error::Database(sqlx::Error::RowNotFound))?;
    Ok(Played { accepted, game: stored })
}
