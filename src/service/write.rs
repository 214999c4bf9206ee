//! The one write path: events are played in the engine first, then written by one guarded statement.

use sqlx::PgConnection;

use super::events::{EventView, ends};
use super::{Result, Service};
use crate::cpu::Level;
use crate::engine::{Action, ActionError, Game, Position, Seat, Sowing};
use crate::options::Options;
use crate::store::{self, By, EventKind, EventRow, NewEvent, Occupant, Progress, StoredGame};

/// Events that have been played but not yet written.
pub(super) struct Plan {
    game: Game,
    steps: Vec<(NewEvent, Option<Sowing>, Position)>,
    board_before: Option<Vec<u8>>,
}

impl Plan {
    pub(super) fn new(stored: &StoredGame) -> Self {
        Self { game: stored.game.clone(), steps: Vec::with_capacity(2), board_before: None }
    }

    /// Plays one more event.
    pub(super) fn add(
        &mut self,
        seat: Seat,
        action: Action,
        by: Option<By>,
    ) -> std::result::Result<(), ActionError> {
        let before = matches!(action, Action::Move { .. }).then(|| self.game.snapshot().board);
        let applied = self.game.apply(seat, action)?;
        self.board_before = before.or(self.board_before.take());
        let (kind, pit) = match action {
            Action::Move { pit } => (EventKind::Move, Some(pit)),
            Action::Resign => (EventKind::Resign, None),
            Action::Leave => (EventKind::Leave, None),
            Action::Return => (EventKind::Return, None),
            Action::Abort(_) => (EventKind::Abort, None),
        };
        self.steps.push((NewEvent { kind, seat, pit, by }, applied.sowing, *self.game.position()));
        Ok(())
    }
}

impl Service {
    /// Writes a plan if the game still stands where it was loaded, and returns it as it stands then with the new
    /// events. `None`: somebody was faster; load again and decide again.
    pub(super) async fn commit(
        &self,
        db: &mut PgConnection,
        stored: &StoredGame,
        plan: Plan,
    ) -> Result<Option<(StoredGame, Vec<EventView>)>> {
        let events: Vec<NewEvent> = plan.steps.iter().map(|(event, ..)| *event).collect();
        let computer_turn = computer_to_play(&plan.game, &stored.seats, &stored.options).is_some();
        let progress = Progress {
            game: &plan.game,
            events: &events,
            board_before: plan.board_before.as_deref(),
            computer_turn,
        };
        let turn_seconds = stored.options.turn_seconds();
        let Some(written) = store::append(db, stored.id, stored.seq, turn_seconds, &progress).await? else {
            return Ok(None);
        };
        for by in events.iter().filter_map(|event| event.by) {
            self.metrics.moved(by.as_str());
        }
        self.bell(stored.id).notify_waiters();
        if computer_turn {
            self.computer_turns.notify_one();
        }
        let last = plan.steps.len();
        let views: Vec<EventView> = (stored.seq + 1..)
            .zip(plan.steps)
            .enumerate()
            .map(|(i, (seq, (event, sowing, position)))| EventView {
                row: EventRow {
                    seq,
                    at: written.at,
                    kind: event.kind,
                    seat: Some(event.seat),
                    pit: event.pit,
                    by: event.by,
                },
                sowing,
                position,
                ends: ends(&plan.game).filter(|_| i + 1 == last),
                deadline: if i + 1 == last { written.deadline } else { stored.deadline },
            })
            .collect();
        let now = StoredGame {
            seq: views.last().map_or(stored.seq, |view| view.row.seq),
            last_event: views.last().map(|view| view.row),
            board_before: plan.board_before.or_else(|| stored.board_before.clone()),
            deadline: written.deadline,
            ended_at: plan.game.is_over().then_some(written.at),
            now: written.at,
            game: plan.game,
            ..stored.clone()
        };
        Ok(Some((now, views)))
    }
}

/// The level at which the computer plays the seat to move, if it is the computer's turn: a computer seat, one that
/// has resigned, or one that is left while somebody waits. A game that nobody attends pauses (`docs/rules.md`,
/// rule 7), but one that everybody has resigned is played to its end: nobody can come back to it.
pub(super) fn computer_to_play(game: &Game, seats: &[Occupant], options: &Options) -> Option<Level> {
    let seat = game.position().to_move()?;
    let people = || game.rules().seats().zip(seats).filter(|(_, o)| o.person().is_some()).map(|(s, _)| s);
    let attended = people().any(|s| !game.is_left(s) && !game.is_resigned(s));
    let can_return = |s| game.is_left(s) && !game.position().is_out(s);
    if !attended && people().any(can_return) {
        return None;
    }
    match &seats[seat.index()] {
        Occupant::Computer(level) => Some(*level),
        Occupant::Person(_) if game.is_resigned(seat) || game.is_left(seat) => Some(options.stand_in()),
        Occupant::Person(_) => None,
    }
}
