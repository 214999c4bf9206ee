//! The board between two sowings. A [`Position`] is small and `Copy`, because searching copies
//! millions of them; it is always valid, because only [`Position::start`], a checked [`Setup`]
//! and legal sowings make one.

use super::{Cup, Rules, Seat, Variant};

/// Index of the store in a side; pits lie before it, whatever their number.
pub(super) const STORE: usize = 7;

/// The stones on the board, who has left it, and whose turn it is, under given rules.
///
/// Knows who has resigned too, since that decides what emptying a side means in Basic
/// (`docs/rules.md`, "Resigning" 4 and "Leaving" 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    pub(super) rules: Rules,
    /// By seat: pits from 0, unused places empty, the store last. Eight bytes a side make whether
    /// a side is empty one comparison of a word.
    pub(super) sides: [[u8; STORE + 1]; 4],
    /// Mask of the seats whose pits and store are no longer part of the circle.
    pub(super) out: u8,
    /// Mask of the seats that have resigned.
    pub(super) resigned: u8,
    /// Mask of the seats that count as resigned if they empty their side now: left, ranked.
    pub(super) forfeiting: u8,
    pub(super) to_move: Option<Seat>,
}

/// A position as somebody claims it to be, by seat; [`Position::from_setup`] checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// The rules, which also fix the number of seats and of pits a side.
    pub rules: Rules,
    /// Stones in the pits, by seat and pit.
    pub pits: Vec<Vec<u8>>,
    /// Stones in the stores, by seat.
    pub stores: Vec<u8>,
    /// Who has left the board, by seat.
    pub out: Vec<bool>,
    /// Whose turn it is; `None` when the game is over.
    pub to_move: Option<Seat>,
}

/// Why a position cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PositionError {
    /// Not one list of pits for each player.
    #[error("pits of {found} seats given for {players} players")]
    Sides {
        /// Players by the rules.
        players: u8,
        /// Lists given.
        found: usize,
    },
    /// A side with another number of pits than the rules say.
    #[error("seat {seat} has {found} pits instead of {pits}")]
    Pits {
        /// The side's owner.
        seat: Seat,
        /// Pits a side by the rules.
        pits: u8,
        /// Pits given.
        found: usize,
    },
    /// Not one store for each player.
    #[error("{found} stores given for {players} players")]
    Stores {
        /// Players by the rules.
        players: u8,
        /// Stores given.
        found: usize,
    },
    /// Not one `out` for each player.
    #[error("out given for {found} seats, but there are {players} players")]
    Out {
        /// Players by the rules.
        players: u8,
        /// Values given.
        found: usize,
    },
    /// More stones than the engine can count, which is 255 in all.
    #[error("more than 255 stones on the board")]
    TooManyStones,
    /// The seat to move, or to start, is not on this board.
    #[error("seat {seat} does not exist with {players} players")]
    NoSuchSeat {
        /// The seat given.
        seat: Seat,
        /// Players by the rules.
        players: u8,
    },
    /// The seat to move has left the board.
    #[error("seat {0} is to move but has left the board")]
    MoverOut(Seat),
    /// A seat left the board where nobody can: only in Basic with three or four players.
    #[error("seat {0} cannot have left the board in this game")]
    NobodyLeaves(Seat),
    /// A seat that left the board still has stones in its pits.
    #[error("seat {0} has left the board but has stones in its pits")]
    OutWithStones(Seat),
    /// A seat on the board without stones: the game would be over, or the seat out.
    #[error("seat {0} has no stones in its pits, so the game cannot be going on like this")]
    EmptySide(Seat),
    /// A game goes on with at least two seats on the board.
    #[error("fewer than two seats are still on the board")]
    TooFewSeats,
}

impl PositionError {
    /// The part of the position that is wrong: `pits`, `stores`, `out` or `to_move`.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Sides { .. } | Self::Pits { .. } | Self::TooManyStones | Self::EmptySide(_) => "pits",
            Self::Stores { .. } => "stores",
            Self::Out { .. } | Self::NobodyLeaves(_) | Self::OutWithStones(_) | Self::TooFewSeats => "out",
            Self::NoSuchSeat { .. } | Self::MoverOut(_) => "to_move",
        }
    }
}

impl Position {
    /// The position before the first sowing: every pit full, stores empty (`docs/rules.md`,
    /// "Options", `stones`; both games, rule 4).
    ///
    /// # Errors
    /// [`PositionError::NoSuchSeat`] if the starter does not sit at this board.
    pub fn start(rules: Rules, starter: Seat) -> Result<Self, PositionError> {
        let players = rules.players();
        if !rules.has(starter) {
            return Err(PositionError::NoSuchSeat { seat: starter, players });
        }
        let mut position = Self::bare(rules, Some(starter));
        for seat in rules.seats() {
            position.sides[seat.index()][..usize::from(rules.pits())].fill(rules.stones());
        }
        Ok(position)
    }

    /// Checks a position that was given whole. Without a seat to move it is over, and then
    /// anything of the right shape stands.
    ///
    /// # Errors
    /// The first [`PositionError`] found.
    pub fn from_setup(setup: &Setup) -> Result<Self, PositionError> {
        let rules = setup.rules;
        let players = rules.players();
        let seats = usize::from(players);
        if setup.pits.len() != seats {
            return Err(PositionError::Sides { players, found: setup.pits.len() });
        }
        if setup.stores.len() != seats {
            return Err(PositionError::Stores { players, found: setup.stores.len() });
        }
        if setup.out.len() != seats {
            return Err(PositionError::Out { players, found: setup.out.len() });
        }
        let mut position = Self::bare(rules, setup.to_move);
        for seat in rules.seats() {
            let pits = &setup.pits[seat.index()];
            if pits.len() != usize::from(rules.pits()) {
                return Err(PositionError::Pits { seat, pits: rules.pits(), found: pits.len() });
            }
            let side = &mut position.sides[seat.index()];
            side[..pits.len()].copy_from_slice(pits);
            side[STORE] = setup.stores[seat.index()];
            if setup.out[seat.index()] {
                position.out |= seat.bit();
            }
        }
        position.check()?;
        Ok(position)
    }

    fn check(&self) -> Result<(), PositionError> {
        if self.total() > u16::from(u8::MAX) {
            return Err(PositionError::TooManyStones);
        }
        let players = self.rules.players();
        for seat in self.seats().filter(|seat| self.is_out(*seat)) {
            if self.rules.variant() == Variant::Kalah || players == 2 {
                return Err(PositionError::NobodyLeaves(seat));
            }
            if !self.side_is_empty(seat) {
                return Err(PositionError::OutWithStones(seat));
            }
        }
        let Some(mover) = self.to_move else { return Ok(()) };
        if !self.rules.has(mover) {
            return Err(PositionError::NoSuchSeat { seat: mover, players });
        }
        if self.is_out(mover) {
            return Err(PositionError::MoverOut(mover));
        }
        let on_board = || self.seats().filter(|seat| !self.is_out(*seat));
        if on_board().count() < 2 {
            return Err(PositionError::TooFewSeats);
        }
        match on_board().find(|seat| self.side_is_empty(*seat)) {
            Some(seat) => Err(PositionError::EmptySide(seat)),
            None => Ok(()),
        }
    }

    const fn bare(rules: Rules, to_move: Option<Seat>) -> Self {
        Self { rules, sides: [[0; STORE + 1]; 4], out: 0, resigned: 0, forfeiting: 0, to_move }
    }

    /// The rules that the position is played by.
    #[inline]
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Whose turn it is; `None` when the game is over.
    #[inline]
    #[must_use]
    pub const fn to_move(&self) -> Option<Seat> {
        self.to_move
    }

    /// The stones in the pits of `seat`, from pit 0 on.
    ///
    /// A seat beyond the players has only empty pits.
    #[inline]
    #[must_use]
    pub fn pits(&self, seat: Seat) -> &[u8] {
        &self.sides[seat.index()][..usize::from(self.rules.pits()).min(STORE)]
    }

    /// The stones in the store of `seat`.
    #[inline]
    #[must_use]
    pub const fn store(&self, seat: Seat) -> u8 {
        self.sides[seat.index()][STORE]
    }

    /// The side of `seat` in one word, for searches: pit `i` in byte `i`, no stones beyond the last pit, the store in
    /// the highest byte.
    #[inline]
    #[must_use]
    pub const fn side_word(&self, seat: Seat) -> u64 {
        u64::from_le_bytes(self.sides[seat.index()])
    }

    /// Whether `seat` has left the board (Basic rule 6, "Resigning" 4).
    #[inline]
    #[must_use]
    pub const fn is_out(&self, seat: Seat) -> bool {
        self.out & seat.bit() != 0
    }

    /// Whether `seat` has resigned; positions given whole know of no resignations.
    #[inline]
    #[must_use]
    pub const fn is_resigned(&self, seat: Seat) -> bool {
        self.resigned & seat.bit() != 0
    }

    /// All stones in pits and stores; the same before and after any sowing (both games, rule 5).
    #[must_use]
    pub fn total(&self) -> u16 {
        self.sides.as_flattened().iter().copied().map(u16::from).sum()
    }

    /// The stones left on the side of `seat`, its store not counted.
    #[inline]
    #[must_use]
    pub fn on_side(&self, seat: Seat) -> u16 {
        self.pits(seat).iter().copied().map(u16::from).sum()
    }

    /// The seats of the board in turn order, those that have left it included.
    pub fn seats(&self) -> impl DoubleEndedIterator<Item = Seat> + ExactSizeIterator + use<> {
        self.rules.seats()
    }

    /// The pits that may be sown now, in ascending order; none when the game is over (both games,
    /// rule 1).
    pub fn legal(&self) -> impl Iterator<Item = u8> + use<> {
        let mask = self.legal_mask();
        (0..self.rules.pits()).filter(move |pit| mask >> pit & 1 == 1)
    }

    /// The pits that may be sown now, bit `i` for pit `i`; 0 when the game is over.
    #[inline]
    #[must_use]
    pub fn legal_mask(&self) -> u8 {
        let Some(seat) = self.to_move else { return 0 };
        let mut mask = 0;
        for (pit, stones) in self.sides[seat.index()][..STORE].iter().enumerate() {
            mask |= u8::from(*stones != 0) << pit;
        }
        mask
    }

    /// The pits that a capture by `seat` from its own `pit` takes from, in turn order after the
    /// seat, whether they hold stones or not (Kalah rules 4 and 5). None in Basic, nor for a pit
    /// or seat that is not on the board.
    pub fn corresponding(&self, seat: Seat, pit: u8) -> impl Iterator<Item = (Seat, u8)> + use<> {
        let pits_right_of_it = self.rules.pits().checked_sub(pit).and_then(|n| n.checked_sub(1));
        let across = pits_right_of_it.filter(|_| self.rules.has(seat));
        self.rules.captured_seats(seat).filter_map(move |other| across.map(|pit| (other, pit)))
    }

    #[inline]
    pub(super) fn side_is_empty(&self, seat: Seat) -> bool {
        // The store is the highest byte.
        u64::from_le_bytes(self.sides[seat.index()]) << 8 == 0
    }

    /// Mask of the players who stayed and are still without a place.
    #[inline]
    pub(super) const fn contenders(&self) -> u8 {
        let everybody = (1 << self.rules.players()) - 1;
        everybody & !self.out & !self.resigned
    }

    pub(super) const fn cup(index: usize) -> Cup {
        let seat = Seat::ALL[index / (STORE + 1)];
        match index % (STORE + 1) {
            STORE => Cup::Store { seat },
            pit => Cup::Pit { seat, pit: PIT_NUMBERS[pit] },
        }
    }
}

/// An index as a pit's number, free of casts and checks.
const PIT_NUMBERS: [u8; STORE] = [0, 1, 2, 3, 4, 5, 6];
