//! A game as a few plain numbers, so that it can be kept and taken up again without replaying it.

use super::{EndReason, Game, Position, PositionError, Rules, Seat, Setup};

/// Everything that a running or ended game is, apart from its rules and whether it is ranked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The circle: the pits of seat 0, its store, the pits of seat 1, its store, and so on.
    pub board: Vec<u8>,
    /// The seat to move; `None` when the game is over.
    pub to_move: Option<u8>,
    /// The seats that are out, in the order in which they left the board.
    pub left_board: Vec<u8>,
    /// The seats that have resigned or are left, in order of departure.
    pub departed: Vec<u8>,
    /// Those of them that have resigned.
    pub resigned: Vec<u8>,
    /// How the game ended; `None` while it runs.
    pub end: Option<EndReason>,
}

/// Why a snapshot is not of a game under the rules it is restored with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The board has another number of cups.
    #[error("the board has {found} cups instead of {expected}")]
    Board {
        /// Cups by the rules.
        expected: usize,
        /// Cups given.
        found: usize,
    },
    /// Stones were created or lost (both games, rule 5).
    #[error("the board holds {found} stones instead of {expected}")]
    Stones {
        /// Stones at the start by the rules.
        expected: u16,
        /// Stones given.
        found: u16,
    },
    /// A list names a seat that does not exist, or one twice.
    #[error("{list} names a seat that does not exist, or one twice")]
    Seats {
        /// The name of the list.
        list: &'static str,
    },
    /// A seat has resigned without having departed.
    #[error("a seat has resigned but not departed")]
    ResignedWithoutDeparting,
    /// A game with a seat to move has ended, or one without has not.
    #[error("a game has either an end or a seat to move")]
    End,
    /// A running game in which at most one player who stayed has no place ("Resigning" 4).
    #[error("the game should have ended")]
    ShouldHaveEnded,
    /// The position cannot be.
    #[error(transparent)]
    Position(#[from] PositionError),
}

impl Game {
    /// The game as plain numbers; [`Game::restore`] gives the same game back.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let numbers = |seats: &[Seat]| seats.iter().map(|seat| seat.get()).collect();
        let position = &self.position;
        let mut board = Vec::new();
        for seat in position.seats() {
            board.extend_from_slice(position.pits(seat));
            board.push(position.store(seat));
        }
        Snapshot {
            board,
            to_move: position.to_move().map(Seat::get),
            left_board: numbers(&self.left_board),
            departed: numbers(&self.departed),
            resigned: (self.departed.iter())
                .filter(|seat| self.is_resigned(**seat))
                .map(|seat| seat.get())
                .collect(),
            end: self.end,
        }
    }

    /// The game that a snapshot was taken of, given what it leaves out.
    ///
    /// # Errors
    /// [`SnapshotError`] if no game under these rules can look like that.
    pub fn restore(rules: Rules, ranked: bool, snapshot: &Snapshot) -> Result<Self, SnapshotError> {
        let left_board = seats(&rules, "left_board", &snapshot.left_board)?;
        let departed = seats(&rules, "departed", &snapshot.departed)?;
        let resigned = seats(&rules, "resigned", &snapshot.resigned)?;
        if resigned.iter().any(|seat| !departed.contains(seat)) {
            return Err(SnapshotError::ResignedWithoutDeparting);
        }
        let to_move = match snapshot.to_move {
            Some(number) => Some(Seat::new(number).ok_or(SnapshotError::Seats { list: "to_move" })?),
            None => None,
        };
        if to_move.is_some() == snapshot.end.is_some() {
            return Err(SnapshotError::End);
        }
        let mut position = board(rules, &snapshot.board, &left_board, to_move)?;
        for seat in &departed {
            let bit = seat.bit();
            if resigned.contains(seat) {
                position.resigned |= bit;
            } else if ranked {
                position.forfeiting |= bit;
            }
        }
        if to_move.is_some() && position.contenders().count_ones() <= 1 {
            return Err(SnapshotError::ShouldHaveEnded);
        }
        Ok(Self { position, ranked, left_board, departed, end: snapshot.end })
    }
}

fn seats(rules: &Rules, list: &'static str, numbers: &[u8]) -> Result<Vec<Seat>, SnapshotError> {
    let mut seats = Vec::new();
    for number in numbers {
        match Seat::new(*number) {
            Some(seat) if rules.has(seat) && !seats.contains(&seat) => seats.push(seat),
            _ => return Err(SnapshotError::Seats { list }),
        }
    }
    Ok(seats)
}

fn board(rules: Rules, cups: &[u8], out: &[Seat], to_move: Option<Seat>) -> Result<Position, SnapshotError> {
    let side = usize::from(rules.pits()) + 1;
    let expected = side * usize::from(rules.players());
    if cups.len() != expected {
        return Err(SnapshotError::Board { expected, found: cups.len() });
    }
    let position = Position::from_setup(&Setup {
        rules,
        pits: cups.chunks(side).map(|side| side[..side.len() - 1].to_vec()).collect(),
        stores: cups.chunks(side).map(|side| side[side.len() - 1]).collect(),
        out: rules.seats().map(|seat| out.contains(&seat)).collect(),
        to_move,
    })?;
    let expected = u16::from(rules.players()) * u16::from(rules.pits()) * u16::from(rules.stones());
    if position.total() != expected {
        return Err(SnapshotError::Stones { expected, found: position.total() });
    }
    Ok(position)
}
