//! One sowing with everything that follows from it: capture, extra sowing, leaving the board, the
//! next seat, the end. [`Position::sow`] is what searching calls millions of times a second;
//! [`Position::trace`] tells the same story in full for those who show it.

use std::mem;

use super::position::STORE;
use super::{Cup, Position, Seat, Variant};

/// What a sowing led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sown {
    /// The same seat sows again now; false when the game has ended or the seat left the board.
    pub extra: bool,
    /// Stones that went to the mover's store by capture, its own last stone included.
    pub captured: u8,
    /// The seat that left the board with this sowing, with a place or without (Basic rule 6,
    /// "Resigning" 4). A first finisher who ends the game stays on it (Basic rules 5 and 7).
    pub finished: Option<Seat>,
    /// The game has ended with this sowing.
    pub over: bool,
    /// Where the last stone fell.
    pub last: Cup,
}

/// A sowing in full detail, and the position it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sowing {
    /// Who sowed.
    pub seat: Seat,
    /// The pit that was lifted.
    pub pit: u8,
    /// Every cup that a stone fell into, in order.
    pub path: Vec<Cup>,
    /// The cups that a capture emptied with their stones: the captured pits in turn order, then
    /// the mover's own last stone.
    pub captured: Vec<(Cup, u8)>,
    /// The same seat sows again now; false when the game has ended or the seat left the board.
    pub extra: bool,
    /// The seats that left the board with this sowing; see [`Sown::finished`].
    pub finished: Vec<Seat>,
    /// The game has ended with this sowing.
    pub ends_game: bool,
    /// The board afterwards, swept if the game ended (Kalah rule 6).
    pub position: Position,
}

/// Why a pit cannot be sown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SowError {
    /// Nobody is to move.
    #[error("the game is over")]
    GameOver,
    /// There is no such pit.
    #[error("there is no such pit: a side has pits 0 to {}", pits - 1)]
    PitOutOfRange {
        /// The pit asked for.
        pit: u8,
        /// Pits a side.
        pits: u8,
    },
    /// Both games, rule 1.
    #[error("pit {pit} is empty")]
    PitEmpty {
        /// The pit asked for.
        pit: u8,
    },
}

impl SowError {
    /// The stable name of the error for machines.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::GameOver => "game_over",
            Self::PitOutOfRange { .. } => "pit_out_of_range",
            Self::PitEmpty { .. } => "pit_empty",
        }
    }
}

impl Position {
    /// Sows `pit` of the seat to move.
    ///
    /// # Errors
    /// [`SowError`] if the game is over or the pit empty or not there; nothing changes then.
    #[inline]
    pub fn sow(&mut self, pit: u8) -> Result<Sown, SowError> {
        let (seat, origin) = self.sowable(pit)?;
        let last = self.scatter(seat, origin);
        let mut sown = Sown {
            extra: last % (STORE + 1) == STORE,
            captured: 0,
            finished: None,
            over: false,
            last: Self::cup(last),
        };
        match self.rules.variant() {
            Variant::Kalah => {
                sown.captured = self.capture(seat, last);
                sown.over = self.any_side_is_empty();
                if sown.over {
                    self.sweep();
                }
            }
            Variant::Basic if self.side_is_empty(seat) => {
                sown.extra = false;
                self.finish(seat, &mut sown);
            }
            Variant::Basic => {}
        }
        if sown.over {
            sown.extra = false;
            self.to_move = None;
        } else if !sown.extra {
            self.to_move = Some(self.seat_after(seat));
        }
        Ok(sown)
    }

    /// What [`Position::sow`] would do, step by step; the position itself stays as it is.
    ///
    /// # Errors
    /// The same as [`Position::sow`].
    pub fn trace(&self, pit: u8) -> Result<Sowing, SowError> {
        let (seat, origin) = self.sowable(pit)?;
        let stones = usize::from(self.sides.as_flattened()[origin]);
        let circle = self.receiving(seat);
        let path = (Bits(circle).filter(|cup| *cup > origin))
            .chain(std::iter::repeat_with(|| Bits(circle)).flatten())
            .take(stones)
            .map(Self::cup)
            .collect();

        let mut before_capture = *self;
        before_capture.scatter(seat, origin);
        let mut position = *self;
        let sown = position.sow(pit)?;
        let mut captured = Vec::new();
        if sown.captured > 0
            && let Cup::Pit { pit: own, .. } = sown.last
        {
            for (seat, pit) in self.corresponding(seat, own) {
                let stones = before_capture.pits(seat)[usize::from(pit)];
                if stones > 0 {
                    captured.push((Cup::Pit { seat, pit }, stones));
                }
            }
            captured.push((sown.last, 1));
        }
        Ok(Sowing {
            seat,
            pit,
            path,
            captured,
            extra: sown.extra,
            finished: sown.finished.into_iter().collect(),
            ends_game: sown.over,
            position,
        })
    }

    /// The seat to move and the index of its `pit` among all cups.
    #[inline]
    fn sowable(&self, pit: u8) -> Result<(Seat, usize), SowError> {
        let seat = self.to_move.ok_or(SowError::GameOver)?;
        let pits = self.rules.pits();
        if pit >= pits {
            return Err(SowError::PitOutOfRange { pit, pits });
        }
        let origin = seat.index() * (STORE + 1) + usize::from(pit);
        if self.sides.as_flattened()[origin] == 0 {
            return Err(SowError::PitEmpty { pit });
        }
        Ok((seat, origin))
    }

    /// Mask of the cups that a sowing by `seat` goes through, in circle order from the lowest bit
    /// (Kalah rule 1, Basic rules 1 and 6).
    #[inline]
    fn receiving(&self, seat: Seat) -> u32 {
        const ONE_A_SIDE: u32 = 0x0101_0101;
        let pits = (1 << self.rules.pits()) - 1;
        match self.rules.variant() {
            Variant::Kalah => {
                let everybody = ONE_A_SIDE >> (32 - 8 * u32::from(self.rules.players()));
                (everybody * pits) | (1 << (8 * seat.index() + STORE))
            }
            Variant::Basic => {
                let mut circle = 0;
                for seat in self.seats().filter(|seat| !self.is_out(*seat)) {
                    circle |= (pits | (1 << STORE)) << (8 * seat.index());
                }
                circle
            }
        }
    }

    /// Lifts the stones of cup `origin` and drops them along the circle; returns the last cup.
    #[inline]
    fn scatter(&mut self, seat: Seat, origin: usize) -> usize {
        let circle = self.receiving(seat);
        let cups = self.sides.as_flattened_mut();
        let stones = mem::take(&mut cups[origin]);
        let mut last = origin;
        let mut ahead = circle & (!1 << origin);
        for _ in 0..stones {
            if ahead == 0 {
                ahead = circle;
            }
            last = lowest(ahead);
            cups[last] += 1;
            ahead &= ahead - 1;
        }
        last
    }

    /// Takes what the last stone captures, if it does (Kalah rule 3); returns how many stones.
    #[inline]
    fn capture(&mut self, seat: Seat, last: usize) -> u8 {
        let pit = last % (STORE + 1);
        // One stone there now means none before it fell, the lifted pit after a lap included.
        if pit == STORE || last / (STORE + 1) != seat.index() || self.sides[seat.index()][pit] != 1 {
            return 0;
        }
        let across = usize::from(self.rules.pits()) - 1 - pit;
        let mut taken = 0;
        for other in self.rules.captured_seats(seat) {
            taken += mem::take(&mut self.sides[other.index()][across]);
        }
        if taken == 0 && !self.rules.takes_lone_stone() {
            return 0;
        }
        taken += mem::take(&mut self.sides[seat.index()][pit]);
        self.sides[seat.index()][STORE] += taken;
        taken
    }

    #[inline]
    fn any_side_is_empty(&self) -> bool {
        self.seats().any(|seat| self.side_is_empty(seat))
    }

    /// Kalah rule 6: what is left on a side belongs to its owner.
    #[cold]
    fn sweep(&mut self) {
        for side in &mut self.sides {
            side[STORE] = side.iter().sum();
            side[..STORE].fill(0);
        }
    }

    /// The side of `seat` is empty after its own sowing (Basic rules 4 to 7, "Resigning" 4).
    #[cold]
    fn finish(&mut self, seat: Seat, sown: &mut Sown) {
        let stayed = (self.resigned | self.forfeiting) & seat.bit() == 0;
        if self.rules.players() == 2 || (stayed && !self.rules.ranks_in_full()) {
            sown.over = true;
        } else {
            self.out |= seat.bit();
            sown.finished = Some(seat);
            sown.over = self.contenders().count_ones() <= 1;
        }
    }

    #[inline]
    fn seat_after(&self, seat: Seat) -> Seat {
        let players = self.rules.players();
        let mut next = seat.after(players);
        while self.is_out(next) {
            next = next.after(players);
        }
        next
    }
}

/// The indices of the bits set in a mask, in ascending order.
struct Bits(u32);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let index = lowest(self.0);
        self.0 &= self.0 - 1;
        Some(index)
    }
}

/// The index of the lowest bit set, below 32 for the optimiser's sake even when there is none.
#[inline]
const fn lowest(mask: u32) -> usize {
    (mask.trailing_zeros() & 31) as usize
}
