//! Whose turn it is, and what that makes due.

use time::OffsetDateTime;

use crate::cpu::Level;
use crate::engine::{Action, Game, Seat};
use crate::options::Options;
use crate::store::{By, Due, EventKind, EventRow, Occupant, Seconds, StoredGame};

/// The most that a move may be late, in seconds: for its way to us ("Time" 9 of `docs/rules.md`).
pub(super) const GRACE: u32 = 1;
/// What is added to the silence that a player is allowed, in seconds: what was heard is written every three seconds,
/// and nobody hears anything while a server that died is started again at once.
pub(super) const MARGIN: u32 = 6;
/// After how many seconds a game that nobody attends ends: 30 days ("Leaving" 7).
const ABANDONED: u32 = 30 * 86_400;

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nobody's any more.
    Over,
    /// A person's who is present: neither left nor resigned.
    Person(Seat),
    /// The computer's, for its own seat or in somebody's place.
    Computer(Seat, Level),
    /// Nobody's until a person returns ("Leaving" 7).
    Paused,
}

impl Turn {
    /// Whose turn it is in a game of these occupants.
    pub(super) fn of(game: &Game, seats: &[Occupant], options: &Options) -> Self {
        let Some(seat) = game.position().to_move() else { return Self::Over };
        let people = || game.rules().seats().zip(seats).filter(|(_, o)| o.person().is_some()).map(|(s, _)| s);
        let can_return = |s| game.is_left(s) && !game.position().is_out(s);
        // Ranked games go on. One that everybody has resigned does too: nobody can come back to it.
        if !game.ranked() && !people().any(|s| is_present(game, s)) && people().any(can_return) {
            return Self::Paused;
        }
        match &seats[seat.index()] {
            Occupant::Computer(level) => Self::Computer(seat, *level),
            Occupant::Person(_) if is_present(game, seat) => Self::Person(seat),
            Occupant::Person(_) => Self::Computer(seat, stand_in(game, options)),
        }
    }

    /// The time limit of this turn, in seconds.
    pub(super) fn limit(self, options: &Options) -> Option<u32> {
        options.turn_seconds().filter(|_| matches!(self, Self::Person(_)))
    }

    /// What this turn makes due, and how many seconds after it began.
    pub(super) fn due(self, game: &Game, seats: &[Occupant], options: &Options) -> Option<(Due, Seconds)> {
        let (due, seconds) = match self {
            Self::Over => return None,
            Self::Computer(..) => (Due::Computer, 0),
            Self::Paused => (Due::Abandon, ABANDONED),
            Self::Person(seat) => match (options.turn_seconds(), options.away_seconds()) {
                (Some(limit), _) => (Due::Clock, limit + GRACE),
                (None, Some(silence)) if another_waits(game, seats, seat) => (Due::Away, silence + MARGIN),
                (None, _) => return None,
            },
        };
        Some((due, seconds.into()))
    }
}

/// The seconds that `seat` has left of the turn in which it left, now that it returns: what it had used before counts, its
/// absence does not. `log` is what came before; `limit` the seconds of a whole turn.
pub(super) fn left_of_turn(created_at: OffsetDateTime, log: &[EventRow], seat: Seat, limit: u32) -> Seconds {
    let mut used = time::Duration::ZERO;
    let mut present_since = Some(created_at);
    for row in log {
        match row.kind {
            EventKind::Move => {
                used = time::Duration::ZERO;
                present_since = present_since.map(|_| row.at);
            }
            EventKind::Leave if row.seat == Some(seat) => {
                used += present_since.take().map_or(time::Duration::ZERO, |since| row.at - since);
            }
            EventKind::Return if row.seat == Some(seat) => present_since = Some(row.at),
            _ => {}
        }
    }
    (Seconds::from(limit) - used.as_seconds_f64()).max(1.0)
}

/// The level that plays in somebody's place.
pub(super) fn stand_in(game: &Game, options: &Options) -> Level {
    if game.ranked() { Level::Easy } else { options.stand_in() }
}

/// Whether a person other than the one at `seat` waits: one who has neither left nor resigned.
fn another_waits(game: &Game, seats: &[Occupant], seat: Seat) -> bool {
    let mut others = game.rules().seats().zip(seats).filter(|(s, _)| *s != seat);
    others.any(|(s, occupant)| occupant.person().is_some() && is_present(game, s))
}

fn is_present(game: &Game, seat: Seat) -> bool {
    !game.is_left(seat) && !game.is_resigned(seat)
}

/// Notes in `run_out`, the seats whose last turn ran out of time, what an event means for it. A player who moves, leaves
/// or returns begins anew.
pub(super) fn note_run_out(run_out: &mut Vec<u8>, seat: Option<Seat>, action: Action, by: Option<By>) {
    let Some(seat) = seat else { return };
    match (action, by) {
        (Action::Move { .. }, Some(By::Clock)) if !run_out.contains(&seat.get()) => run_out.push(seat.get()),
        (Action::Move { .. }, Some(By::Player)) | (Action::Leave | Action::Return, _) => {
            run_out.retain(|s| *s != seat.get());
        }
        _ => {}
    }
}

/// Whether the turn of a player who is present has run out.
pub(super) fn has_run_out(stored: &StoredGame) -> bool {
    stored.deadline.is_some_and(|deadline| stored.now > deadline + time::Duration::seconds(GRACE.into()))
}
