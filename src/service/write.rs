//! The one write path: events are played in the engine first, then written by one guarded statement.

use time::Duration;

use super::events::{EventView, ends};
use super::turn::{GRACE, Turn, note_run_out};
use super::{Result, Service};
use crate::engine::{AbortReason, Action, ActionError, Game, Position, Seat, Sowing};
use crate::store::{
    self, By, Condition, Connection, Due, DueChange, EventKind, EventRow, NewEvent, Progress, Seconds,
    StoredGame,
};

/// Events that have been played but not yet written.
pub(super) struct Plan<'a> {
    stored: &'a StoredGame,
    game: Game,
    run_out: Vec<u8>,
    turn: Turn,
    /// Whether the turn after the last step began with one of the steps.
    turn_begins: bool,
    steps: Vec<Step>,
    board_before: Option<Vec<u8>>,
    /// See [`Plan::misses`].
    no_show: Option<Seat>,
}

struct Step {
    event: NewEvent,
    sowing: Option<Sowing>,
    position: Position,
    turn: Turn,
    turn_begins: bool,
    /// See [`Plan::leaves`].
    left: Option<Seconds>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(stored: &'a StoredGame) -> Self {
        let game = stored.game.clone();
        Self {
            stored,
            turn: Turn::of(&game, &stored.seats, &stored.options),
            turn_begins: false,
            game,
            run_out: stored.run_out.clone(),
            steps: Vec::with_capacity(2),
            board_before: None,
            no_show: None,
        }
    }

    /// The turn after the last step has only so many seconds left when it is a person's.
    pub(super) fn leaves(&mut self, seconds: Seconds) {
        self.steps.last_mut().expect("somebody has returned").left = Some(seconds);
    }

    /// The seat has let its very first turn of a ranked game run out.
    pub(super) fn misses(&mut self, seat: Seat) {
        self.no_show = Some(seat);
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
        let turn = Turn::of(&self.game, &self.stored.seats, &self.stored.options);
        self.turn_begins |= before.is_some() || turn != self.turn;
        self.turn = turn;
        self.board_before = before.or(self.board_before.take());
        let (kind, pit) = match action {
            Action::Move { pit } => (EventKind::Move, Some(pit)),
            Action::Resign => (EventKind::Resign, None),
            Action::Leave => (EventKind::Leave, None),
            Action::Return => (EventKind::Return, None),
            Action::Abort(_) => (EventKind::Abort, None),
        };
        // To abandon a game is nobody's doing.
        let seat = (action != Action::Abort(AbortReason::Abandoned)).then_some(seat);
        note_run_out(&mut self.run_out, seat, action, by);
        let event = NewEvent { kind, seat, pit, by };
        let (position, turn_begins) = (*self.game.position(), self.turn_begins);
        self.steps.push(Step { event, sowing: applied.sowing, position, turn, turn_begins, left: None });
        Ok(())
    }

    /// The game after the events so far.
    pub(super) fn game(&self) -> &Game {
        &self.game
    }
}

impl Service {
    /// Writes a plan, over a connection that is given back, if the game still stands where it was loaded and the condition holds, and returns it as it stands
    /// then with the new events. `None`: somebody was faster, or the condition does not hold; load again and decide again.
    pub(super) async fn commit(
        &self,
        mut db: Connection,
        plan: Plan<'_>,
        condition: Condition,
    ) -> Result<Option<(StoredGame, Vec<EventView>)>> {
        let Plan { stored, game, run_out, turn, turn_begins, steps, board_before, no_show } = plan;
        let left = steps.last().and_then(|step| step.left);
        let (seats, options) = (&stored.seats, &stored.options);
        let events: Vec<NewEvent> = steps.iter().map(|step| step.event).collect();
        let was_due = Turn::of(&stored.game, seats, options).due(&stored.game, seats, options);
        let is_due = turn.due(&game, seats, options).map(|(due, seconds)| match left {
            Some(left) if due == Due::Clock => (due, left + Seconds::from(GRACE)),
            _ => (due, seconds),
        });
        let by_time = !matches!(condition, Condition::Always | Condition::InTime);
        let due = match is_due {
            // What is noted may be too early, which is put right when it is found; it is never too late.
            _ if !by_time && is_due.map(|(due, _)| due) == was_due.map(|(due, _)| due) => DueChange::Keep,
            Some((due, seconds)) => DueChange::Now(due, seconds, self.lease()),
            None => DueChange::Nothing,
        };
        let progress = Progress {
            game: &game,
            events: &events,
            board_before: board_before.as_deref(),
            run_out: &run_out,
            turn_begins,
            turn_seconds: turn.limit(options).map(|limit| left.unwrap_or(limit.into())),
            due,
        };
        let ends_ranked = stored.game.ranked() && game.is_over();
        let written = if ends_ranked || no_show.is_some() {
            // A transaction has a connection of its own: whoever holds one must not wait for another.
            db.done();
            self.append_ranked(stored, &progress, condition, no_show).await?
        } else {
            let written = store::append(&mut db, stored.id, stored.seq, &progress, condition).await?;
            db.done();
            written.map(|written| (written, stored.ratings.clone()))
        };
        let Some((written, ratings)) = written else { return Ok(None) };
        for event in events.iter().filter(|event| event.kind == EventKind::Move) {
            self.metrics.moved(event.by.expect("somebody makes each move").as_str());
        }
        if matches!(due, DueChange::Now(Due::Computer, ..)) {
            self.computer_turns.add(stored.id);
        }
        let last = steps.len();
        let views: Vec<EventView> = (stored.seq + 1..)
            .zip(steps)
            .enumerate()
            .map(|(i, (seq, step))| EventView {
                row: EventRow {
                    seq,
                    at: written.at,
                    kind: step.event.kind,
                    seat: step.event.seat,
                    pit: step.event.pit,
                    by: step.event.by,
                },
                sowing: step.sowing,
                position: step.position,
                ends: ends(&game).filter(|_| i + 1 == last),
                deadline: match step.turn.limit(options) {
                    _ if i + 1 == last => written.deadline,
                    Some(limit) if step.turn_begins => {
                        Some(written.at + Duration::seconds_f64(step.left.unwrap_or(limit.into())))
                    }
                    Some(_) => stored.deadline,
                    None => None,
                },
            })
            .collect();
        let now = StoredGame {
            seq: views.last().map_or(stored.seq, |view| view.row.seq),
            last_event: views.last().map(|view| view.row),
            board_before: board_before.or_else(|| stored.board_before.clone()),
            run_out,
            deadline: written.deadline,
            ratings,
            ended_at: game.is_over().then_some(written.at),
            now: written.at,
            private: written.private,
            game,
            ..stored.clone()
        };
        self.news.tell_events(&now, &views);
        Ok(Some((now, views)))
    }
}
