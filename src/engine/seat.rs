//! Who sits where: the seats of a board, and the cups that belong to them.

use std::fmt;

/// A place at the board, 0 to 3 in turn order (`docs/rules.md`, "Words").
///
/// A seat may still lie outside a particular game: seat 3 exists, but not in a game of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(u8);

impl Seat {
    /// Every seat that a board can have, in turn order.
    pub const ALL: [Self; 4] = [Self(0), Self(1), Self(2), Self(3)];

    /// The seat of that number, or `None` above 3.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number < 4 { Some(Self(number)) } else { None }
    }

    /// The seat's number, for indexing lists by seat.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        // The bound repeats what the constructor guarantees, for the optimiser's sake.
        (self.0 & 3) as usize
    }

    /// The seat's number, 0 to 3.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The next seat around a full board of `players` (both games, rule 4).
    #[inline]
    pub(super) const fn after(self, players: u8) -> Self {
        if self.0 + 1 < players { Self(self.0 + 1) } else { Self(0) }
    }

    /// The seat's bit in a mask of seats.
    #[inline]
    pub(super) const fn bit(self) -> u8 {
        1 << (self.0 & 3)
    }
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A pit or a store (`docs/rules.md`, "Words").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cup {
    /// One of the small hollows.
    Pit {
        /// Its owner.
        seat: Seat,
        /// 0 is where stones enter the side.
        pit: u8,
    },
    /// The large hollow at the right end of a side.
    Store {
        /// Its owner.
        seat: Seat,
    },
}
