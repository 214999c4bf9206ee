//! The computer's turns: how they are found, kept from other processes, and played.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::Notify;

use super::thinking::{BRIEF, seed_of_turn};
use super::turn::Turn;
use super::write::Plan;
use super::{Result, Service};
use crate::engine::Action;
use crate::ids::GameId;
use crate::store::{self, By, Condition, Lease};

/// How long a process has a computer's turn to itself, in seconds, unless it renews that: how long a turn waits whose
/// process has died.
const LEASE: f64 = 0.8;
/// How long it may take to hear of a turn that another process has written and not taken up.
const LOOK_WITHIN: Duration = Duration::from_secs(1);

/// What has become of a computer's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComputerTurn {
    /// The computer does not have the turn.
    NotDue,
    /// It has played and the turn is somebody else's.
    Played,
    /// It has the turn again, of the same seat or another.
    DueAgain {
        /// How many further sowings the seat has earned in its turn.
        earned: u32,
    },
}

/// Computer turns that this process has just written, with the lease on them: nobody has to look for those.
#[derive(Default)]
pub(crate) struct Queue {
    games: Mutex<Vec<GameId>>,
    bell: Notify,
}

impl Queue {
    /// One more, whose event has been written.
    pub(super) fn add(&self, game: GameId) {
        self.games.lock().expect("nobody panics while holding it").push(game);
        self.bell.notify_one();
    }

    /// Returns when there is one.
    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }

    /// All of them, in order.
    pub(crate) fn take(&self) -> Vec<GameId> {
        std::mem::take(&mut self.games.lock().expect("nobody panics while holding it"))
    }
}

impl Service {
    /// The lease that this process takes on computer turns.
    pub(super) fn lease(&self) -> Lease {
        Lease { holder: self.process, seconds: LEASE }
    }

    /// Takes computer turns that nobody holds, longest waiting first: some of them, and when to look again.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn take_computer_turns(&self) -> Result<(Vec<GameId>, Duration)> {
        let mut db = self.database.connection().await?;
        let games = store::lease_computer_turns(&mut db, self.lease()).await?;
        let next = if games.is_empty() {
            let seconds = store::next_lease_to_end(&mut db, self.process).await?.unwrap_or(f64::MAX);
            Duration::try_from_secs_f64(seconds).map_or(LOOK_WITHIN, |next| next.min(LOOK_WITHIN))
        } else {
            // There may be more.
            Duration::ZERO
        };
        db.done();
        Ok((games, next + Duration::from_millis(5)))
    }

    /// Keeps the computer turns that this process is at from all others for a little longer.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn keep_computer_turns(&self, games: &[GameId]) -> Result<()> {
        let mut db = self.database.connection().await?;
        store::renew_leases(&mut db, self.lease(), games).await?;
        db.done();
        Ok(())
    }

    /// Plays one sowing of a game in which the computer has the turn, if it is so.
    /// Harmless to call at any time, from any number of processes: the guard lets one write through. `earned` is what
    /// the last call said.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn play_computer_turn(&self, id: GameId, earned: u32) -> Result<ComputerTurn> {
        let mut db = self.database.connection().await?;
        let stored = store::game(&mut db, id, None).await?;
        db.done();
        let Some(stored) = stored else { return Ok(ComputerTurn::NotDue) };
        let turn = Turn::of(&stored.game, &stored.seats, &stored.options);
        let Turn::Computer(seat, level) = turn else { return Ok(ComputerTurn::NotDue) };
        let position = *stored.game.position();
        // No connection is held while it thinks.
        let seed = seed_of_turn(stored.seed, stored.seq);
        // Nobody waits for a game that all people have resigned.
        let seats = stored.game.rules().seats().zip(&stored.seats);
        let awaited = seats.into_iter().any(|(s, who)| who.person().is_some() && !stored.game.is_resigned(s));
        let pit = self.thinking.choose(level, position, seed, if awaited { earned } else { BRIEF }).await;
        let Some(pit) = pit else { return Ok(ComputerTurn::NotDue) };
        let mut plan = Plan::new(&stored);
        plan.add(seat, Action::Move { pit }, Some(By::Computer)).expect("a legal move of the seat to move");
        let db = self.database.connection().await?;
        let written = self.commit(db, plan, Condition::Always).await?;
        // Not written: somebody else has acted; whether the turn is still the computer's is for the next look.
        let Some((now, _)) = written else { return Ok(ComputerTurn::DueAgain { earned: 0 }) };
        Ok(match Turn::of(&now.game, &now.seats, &now.options) {
            Turn::Computer(next, _) => {
                ComputerTurn::DueAgain { earned: if next == seat { earned + 1 } else { 0 } }
            }
            _ => ComputerTurn::Played,
        })
    }
}
