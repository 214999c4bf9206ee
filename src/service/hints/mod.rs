//! Hints: what a level would play, and why that is good.

mod reasons;

pub use reasons::Reason;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use super::moves::{seat_of, visible};
use super::reviews::margin_after;
use super::thinking::{Kind, effort, full_time, seed_of_turn};
use super::{Conflict, Error, Result, Service};
use crate::cpu::Level;
use crate::engine::{Position, Variant};
use crate::ids::{GameId, PlayerId};
use crate::store::StoredGame;

/// How long it is looked for whether the move keeps the exact result.
const EXACT_BUDGET: Duration = Duration::from_millis(200);
/// How many hints are kept; then all are forgotten.
const KEPT: usize = 1_024;

/// A hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The state of the game that it is for.
    pub seq: i32,
    /// The level that would play so.
    pub level: Level,
    /// The pit that it would sow.
    pub pit: u8,
    /// Why that is good, most telling first; never empty.
    pub reasons: Vec<Reason>,
}

/// Hints that were given: whoever asks twice is told the same, though a search by the clock may end otherwise.
pub(super) type KeptHints = Mutex<HashMap<(GameId, i32, Level), Hint>>;

impl Service {
    /// The game in which `player` is to move and may have a hint.
    ///
    /// # Errors
    /// `GameNotFound`, `NotSeated`, `Ranked`, a `Conflict` when the game is over or the turn is not the player's, or
    /// `ThinkingBusy`.
    pub async fn may_have_hint(&self, player: PlayerId, id: GameId) -> Result<StoredGame> {
        let mut db = self.database.connection().await?;
        let stored = visible(&mut db, id, Some(player)).await?;
        db.done();
        let seat = seat_of(&stored, player)?;
        if stored.game.is_over() {
            return Err(Conflict::GameOver.with(stored));
        }
        if stored.game.ranked() {
            return Err(Error::Ranked);
        }
        if stored.game.position().to_move() != Some(seat) || stored.game.is_resigned(seat) {
            return Err(Conflict::NotYourTurn.with(stored));
        }
        self.thinking.has_room(Kind::Hint(Level::Easy, player))?;
        Ok(stored)
    }

    /// What `level` would play in a running game as it stands, for `player`.
    ///
    /// # Errors
    /// `ThinkingBusy`.
    pub async fn hint(&self, player: PlayerId, stored: &StoredGame, level: Level) -> Result<Hint> {
        let position = *stored.game.position();
        let key = (stored.id, stored.seq, level);
        if let Some(kept) = self.kept_hints().get(&key) {
            return Ok(kept.clone());
        }
        let seed = seed_of_turn(stored.seed, stored.seq);
        let kind = Kind::Hint(level, player);
        let studied = self.thinking.study(kind, full_time(level), move |computers, go_on| {
            let choice = computers.choose(level, &position, seed, go_on);
            (choice, choice.as_ref().map(effort))
        });
        let choice = studied.await?.answer.ok_or(Error::ThinkingFailed)?;
        let exact = self.exact_margin(kind, position, choice.pit).await;
        let reasons = reasons::of(&position, &choice, exact);
        let hint = Hint { seq: stored.seq, level, pit: choice.pit, reasons };
        let mut kept = self.kept_hints();
        if kept.len() >= KEPT {
            kept.clear();
        }
        Ok(kept.entry(key).or_insert(hint).clone())
    }

    fn kept_hints(&self) -> std::sync::MutexGuard<'_, HashMap<(GameId, i32, Level), Hint>> {
        self.hints.lock().expect("nobody panics while holding it")
    }

    /// The exact margin of the position, if it can be found quickly and `pit` keeps it.
    async fn exact_margin(&self, kind: Kind, position: Position, pit: u8) -> Option<i16> {
        let rules = position.rules();
        if rules.variant() != Variant::Kalah || rules.players() != 2 {
            return None;
        }
        let studied = self.thinking.study(kind, EXACT_BUDGET, move |computers, go_on| {
            let margin = computers.margin(&position, go_on);
            (margin.filter(|_| margin_after(computers, &position, pit, go_on) == margin), None)
        });
        // The hint is good without it.
        studied.await.ok()?.answer
    }
}
