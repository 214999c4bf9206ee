//! A game as the list of what happened in it, which says everything: replaying it with its rules
//! gives the position, the places and the end.

use std::iter::FusedIterator;

use super::{Action, ActionError, Game, Rules, Seat};

/// A game's rules, starter and events. Its text form is the notation of `docs/rules.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The effective rules.
    pub rules: Rules,
    /// The seat that moved first.
    pub starter: Seat,
    /// Whether the game was ranked, which decides the places of seats that are left.
    pub ranked: bool,
    /// What happened, in order. Aborting has no notation and is left out of it.
    pub events: Vec<(Seat, Action)>,
}

/// The first event of a record that the rules do not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("event {index}: {error}")]
pub struct BadEvent {
    /// Its index, from 0. A starter who is not in the game counts against event 0.
    pub index: usize,
    /// Why it is not allowed.
    #[source]
    pub error: ActionError,
}

impl Record {
    /// Plays the whole record.
    ///
    /// # Errors
    /// The first event that is not allowed.
    pub fn replay(&self) -> Result<Game, BadEvent> {
        let mut game = self.start()?;
        for (index, (seat, action)) in self.events.iter().enumerate() {
            game.apply(*seat, *action).map_err(|error| BadEvent { index, error })?;
        }
        Ok(game)
    }

    /// The game at the start and after every event, ending early with the first event that is
    /// not allowed.
    #[must_use]
    pub const fn states(&self) -> Replay<'_> {
        Replay { record: self, game: None, index: 0, failed: false }
    }

    fn start(&self) -> Result<Game, BadEvent> {
        Game::new(self.rules, self.starter, self.ranked)
            .map_err(|_| BadEvent { index: 0, error: ActionError::NoSuchSeat(self.starter) })
    }
}

/// The states of a record, one after the other; see [`Record::states`].
#[derive(Debug, Clone)]
pub struct Replay<'a> {
    record: &'a Record,
    game: Option<Game>,
    index: usize,
    failed: bool,
}

impl Replay<'_> {
    fn advance(&mut self) -> Option<Result<Game, BadEvent>> {
        let Some(game) = &mut self.game else { return Some(self.record.start()) };
        let (seat, action) = *self.record.events.get(self.index)?;
        let index = self.index;
        self.index += 1;
        Some(match game.apply(seat, action) {
            Ok(_) => Ok(game.clone()),
            Err(error) => Err(BadEvent { index, error }),
        })
    }
}

impl Iterator for Replay<'_> {
    type Item = Result<Game, BadEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let step = self.advance();
        match &step {
            Some(Ok(game)) if self.game.is_none() => self.game = Some(game.clone()),
            Some(Err(_)) => self.failed = true,
            _ => {}
        }
        step
    }
}

impl FusedIterator for Replay<'_> {}
