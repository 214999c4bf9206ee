//! A game from its first sowing to its end: a position plus who has resigned, left or finished, in
//! which order, and how it ended. Everything that happens is an [`Action`].

use super::{Position, PositionError, Rules, Seat, SowError, Sowing};

/// Something that happens in a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// The seat sows one of its pits, whoever decided so: its player, the computer, the clock.
    Move {
        /// The pit, from 0.
        pit: u8,
    },
    /// The player gives up (`docs/rules.md`, "Resigning").
    Resign,
    /// The player counts as left (`docs/rules.md`, "Leaving").
    Leave,
    /// The player is back.
    Return,
    /// The game ends without a result.
    Abort(AbortReason),
}

/// Why a game ends without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AbortReason {
    /// A seat's very first turn ran out in a ranked game ("Time" 11).
    NoShow,
    /// No person came back ("Leaving" 7).
    Abandoned,
}

/// How a game ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// By a sowing.
    Played,
    /// By a resignation.
    Resigned,
    /// Aborted, see [`AbortReason::NoShow`].
    NoShow,
    /// Aborted, see [`AbortReason::Abandoned`].
    Abandoned,
}

impl EndReason {
    /// The name used on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Played => "played",
            Self::Resigned => "resigned",
            Self::NoShow => "no_show",
            Self::Abandoned => "abandoned",
        }
    }

    /// Whether the game ended without places.
    #[must_use]
    pub const fn is_abort(self) -> bool {
        matches!(self, Self::NoShow | Self::Abandoned)
    }
}

impl From<AbortReason> for EndReason {
    fn from(reason: AbortReason) -> Self {
        match reason {
            AbortReason::NoShow => Self::NoShow,
            AbortReason::Abandoned => Self::Abandoned,
        }
    }
}

/// What an action led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The sowing, if the action was a move.
    pub sowing: Option<Sowing>,
    /// The game ended with this action.
    pub ended: bool,
}

/// Why an action is not possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// The seat is not on this board.
    #[error("seat {0} does not exist in this game")]
    NoSuchSeat(Seat),
    /// The game has ended.
    #[error("the game is over")]
    GameOver,
    /// Both games, rule 1.
    #[error("it is the turn of seat {to_move}, not of seat {seat}")]
    NotYourTurn {
        /// Who wanted to move.
        seat: Seat,
        /// Whose turn it is.
        to_move: Seat,
    },
    /// The pit cannot be sown.
    #[error(transparent)]
    Sow(SowError),
    /// The seat has resigned, so it can neither resign, leave nor return.
    #[error("seat {0} has already resigned")]
    AlreadyResigned(Seat),
    /// The seat is left already.
    #[error("seat {0} has already left")]
    AlreadyLeft(Seat),
    /// The seat is not left, or has left the board since.
    #[error("seat {0} is not left")]
    NotLeft(Seat),
    /// The seat is off the board and can neither resign nor leave ("Resigning" 1).
    #[error("seat {0} already has its place")]
    AlreadyPlaced(Seat),
}

impl ActionError {
    /// The stable name of the error for machines.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NoSuchSeat(_) => "no_such_seat",
            Self::GameOver => "game_over",
            Self::NotYourTurn { .. } => "not_your_turn",
            Self::Sow(error) => error.code(),
            Self::AlreadyResigned(_) => "already_resigned",
            Self::AlreadyLeft(_) => "already_left",
            Self::NotLeft(_) => "not_left",
            Self::AlreadyPlaced(_) => "already_placed",
        }
    }
}

/// A game at some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Game {
    pub(super) position: Position,
    pub(super) ranked: bool,
    /// Seats that are out, in the order in which they left the board.
    pub(super) left_board: Vec<Seat>,
    /// Seats that have resigned or are left, in the order that decides the last places.
    pub(super) departed: Vec<Seat>,
    pub(super) end: Option<EndReason>,
}

impl Game {
    /// A game before its first sowing. In a ranked one it costs the place to be left ("Leaving" 8).
    ///
    /// # Errors
    /// [`PositionError::NoSuchSeat`] if the starter does not sit at this board.
    pub fn new(rules: Rules, starter: Seat, ranked: bool) -> Result<Self, PositionError> {
        Ok(Self {
            position: Position::start(rules, starter)?,
            ranked,
            left_board: Vec::new(),
            departed: Vec::new(),
            end: None,
        })
    }

    /// Lets something happen to `seat`; for [`Action::Abort`] the seat is ignored.
    ///
    /// # Errors
    /// [`ActionError`] if the rules do not allow it; nothing changes then.
    pub fn apply(&mut self, seat: Seat, action: Action) -> Result<Applied, ActionError> {
        let aborts = matches!(action, Action::Abort(_));
        if !aborts && !self.rules().has(seat) {
            return Err(ActionError::NoSuchSeat(seat));
        }
        if self.is_over() {
            return Err(ActionError::GameOver);
        }
        let mut sowing = None;
        match action {
            Action::Move { pit } => sowing = Some(self.sow(seat, pit)?),
            Action::Resign => self.resign(seat)?,
            Action::Leave => self.leave(seat)?,
            Action::Return => self.come_back(seat)?,
            Action::Abort(reason) => self.stop(reason.into()),
        }
        Ok(Applied { sowing, ended: self.is_over() })
    }

    fn sow(&mut self, seat: Seat, pit: u8) -> Result<Sowing, ActionError> {
        if let Some(to_move) = self.position.to_move().filter(|to_move| *to_move != seat) {
            return Err(ActionError::NotYourTurn { seat, to_move });
        }
        let sowing = self.position.trace(pit).map_err(ActionError::Sow)?;
        self.position = sowing.position;
        self.left_board.extend(&sowing.finished);
        if sowing.ends_game {
            self.end = Some(EndReason::Played);
        }
        Ok(sowing)
    }

    fn resign(&mut self, seat: Seat) -> Result<(), ActionError> {
        self.check_playing(seat)?;
        // A resignation counts from its own moment, except that in a ranked game a seat which is
        // left counts from when it left ("Leaving" 8).
        if !(self.ranked && self.is_left(seat)) {
            self.departed.retain(|departed| *departed != seat);
            self.departed.push(seat);
        }
        self.position.resigned |= seat.bit();
        self.position.forfeiting &= !seat.bit();
        if self.position.contenders().count_ones() <= 1 {
            self.stop(EndReason::Resigned);
        }
        Ok(())
    }

    fn leave(&mut self, seat: Seat) -> Result<(), ActionError> {
        self.check_playing(seat)?;
        if self.is_left(seat) {
            return Err(ActionError::AlreadyLeft(seat));
        }
        self.departed.push(seat);
        if self.ranked {
            self.position.forfeiting |= seat.bit();
        }
        Ok(())
    }

    fn come_back(&mut self, seat: Seat) -> Result<(), ActionError> {
        if self.is_resigned(seat) {
            return Err(ActionError::AlreadyResigned(seat));
        }
        if !self.is_left(seat) || self.position.is_out(seat) {
            return Err(ActionError::NotLeft(seat));
        }
        self.departed.retain(|departed| *departed != seat);
        self.position.forfeiting &= !seat.bit();
        Ok(())
    }

    fn check_playing(&self, seat: Seat) -> Result<(), ActionError> {
        if self.is_resigned(seat) {
            return Err(ActionError::AlreadyResigned(seat));
        }
        if self.position.is_out(seat) {
            return Err(ActionError::AlreadyPlaced(seat));
        }
        Ok(())
    }

    /// Ends the game as it stands: it is not swept ("Resigning" 3).
    fn stop(&mut self, reason: EndReason) {
        self.position.to_move = None;
        self.end = Some(reason);
    }

    /// The board as it is now.
    #[must_use]
    pub const fn position(&self) -> &Position {
        &self.position
    }

    /// The rules that the game is played by.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        self.position.rules()
    }

    /// Whether a seat that is left loses its claim to a place.
    #[must_use]
    pub const fn ranked(&self) -> bool {
        self.ranked
    }

    /// Whether `seat` has resigned.
    #[must_use]
    pub const fn is_resigned(&self, seat: Seat) -> bool {
        self.position.is_resigned(seat)
    }

    /// Whether `seat` is left and has neither returned nor resigned since.
    #[must_use]
    pub fn is_left(&self, seat: Seat) -> bool {
        self.departed.contains(&seat) && !self.is_resigned(seat)
    }

    /// Whether the game has ended.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// How the game ended; `None` while it runs.
    #[must_use]
    pub const fn end(&self) -> Option<EndReason> {
        self.end
    }
}
