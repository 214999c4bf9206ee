//! Two-player Kalah packed: a side is the bytes of a word, and a sowing one addition from a table. Stores are left out:
//! what is in one never moves again, so positions are judged by the stones still to come.

use crate::engine::{Position, Seat, Variant};

/// The most stones on the board, stores included, that are searched exactly.
pub const MOST_STONES: u16 = 100;

/// The pits of both sides, seen by the seat to move. Byte `i` is pit `i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Board {
    /// The side of the seat to move.
    pub own: u64,
    /// The side of the other seat.
    pub other: u64,
}

/// What a sowing did.
#[derive(Clone, Copy, Debug)]
pub struct Sown {
    /// The board, still seen by the seat that sowed.
    pub board: Board,
    /// Stones that came into the sower's store, by sowing and capture.
    pub gain: i32,
    /// The last stone fell into the store: the same seat sows again, if the game goes on.
    pub extra: bool,
}

impl Sown {
    /// The board as whoever sows next sees it, if the game goes on.
    #[inline(always)]
    pub fn next(self) -> Board {
        if self.extra { self.board } else { self.board.turned() }
    }
}

/// The local rules that matter on a packed board, with the sowings by pit and number of stones.
pub struct Sower {
    pits: u8,
    takes_lone_stone: bool,
    /// By pit and stones; see [`Sower::slot`].
    sowings: Box<[Sowing; SLOTS]>,
}

const SLOTS: usize = 8 << 7;

#[derive(Clone, Copy, Default)]
struct Sowing {
    own: u64,
    other: u64,
    gain: u8,
    /// Own pit of the last stone; [`STORE`] or [`ELSEWHERE`].
    last: u8,
}

const STORE: u8 = 8;
const ELSEWHERE: u8 = 9;

impl Sower {
    /// For `pits` a side, 1 to 7.
    pub fn new(pits: u8, takes_lone_stone: bool) -> Self {
        let mut sowings = Box::new([Sowing::default(); SLOTS]);
        for pit in 0..pits {
            let mut sowing = Sowing { last: ELSEWHERE, ..Sowing::default() };
            let mut cup = pit;
            for stones in 1..=u8::try_from(MOST_STONES).expect("a hundred") {
                cup = (cup + 1) % (2 * pits + 1);
                sowing.last = if cup < pits {
                    sowing.own += 1 << (8 * cup);
                    cup
                } else if cup == pits {
                    sowing.gain += 1;
                    STORE
                } else {
                    sowing.other += 1 << (8 * (cup - pits - 1));
                    ELSEWHERE
                };
                sowings[Self::slot(pit, stones)] = sowing;
            }
        }
        Self { pits, takes_lone_stone, sowings }
    }

    /// Whether the last stone is taken even when nothing is opposite (`capture_empty`).
    pub fn takes_lone_stone(&self) -> bool {
        self.takes_lone_stone
    }

    /// Pits a side.
    pub fn pits(&self) -> u8 {
        self.pits
    }

    #[inline(always)]
    fn slot(pit: u8, stones: u8) -> usize {
        (usize::from(pit) << 7 | usize::from(stones)) & (SLOTS - 1)
    }

    /// Sows `pit`, which must hold stones, for the seat to move.
    #[inline(always)]
    pub fn sow(&self, board: Board, pit: u8) -> Sown {
        let stones = stones_in(board.own, pit);
        let sowing = &self.sowings[Self::slot(pit, stones)];
        let mut own = (board.own & !(0xff << (8 * pit))) + sowing.own;
        let mut other = board.other + sowing.other;
        let mut gain = i32::from(sowing.gain);
        let last = sowing.last;
        // One stone there now means none before it fell.
        if last < STORE && stones_in(own, last) == 1 {
            let across = self.pits - 1 - last;
            let taken = stones_in(other, across);
            if taken != 0 || self.takes_lone_stone {
                own &= !(0xff << (8 * last));
                other &= !(0xff << (8 * across));
                gain += i32::from(taken) + 1;
            }
        }
        Sown { board: Board { own, other }, gain, extra: last == STORE }
    }
}

impl Board {
    /// The pits of a running game of two-player Kalah with at most [`MOST_STONES`] on the board; `None` for any other.
    pub fn of(position: &Position) -> Option<Self> {
        let rules = position.rules();
        let mover = position.to_move()?;
        if rules.variant() != Variant::Kalah || rules.players() != 2 || position.total() > MOST_STONES {
            return None;
        }
        let side = |seat: Seat| {
            position.pits(seat).iter().rev().fold(0, |side, &stones| side << 8 | u64::from(stones))
        };
        let other = position.seats().find(|&seat| seat != mover)?;
        Some(Self { own: side(mover), other: side(other) })
    }

    /// The same board seen by the other seat.
    #[inline(always)]
    pub fn turned(self) -> Self {
        Self { own: self.other, other: self.own }
    }

    /// Whether the game is over: a side is empty.
    #[inline(always)]
    pub fn is_over(self) -> bool {
        self.own == 0 || self.other == 0
    }

    /// Stones in a pit of the seat to move.
    #[inline(always)]
    pub fn stones_in(self, pit: u8) -> u8 {
        stones_in(self.own, pit)
    }

    /// Stones in all pits.
    #[inline(always)]
    pub fn stones(self) -> i32 {
        stones_on(self.own + self.other)
    }

    /// What the seat to move has more on its side than the other: the margin to come when the game is over.
    #[inline(always)]
    pub fn lead(self) -> i32 {
        stones_on(self.own) - stones_on(self.other)
    }
}

/// Stones in one pit of a side.
#[inline(always)]
pub fn stones_in(side: u64, pit: u8) -> u8 {
    (side >> (8 * pit)) as u8
}

/// Stones in all pits of a side; at most 255.
#[inline(always)]
pub fn stones_on(side: u64) -> i32 {
    (side.wrapping_mul(0x0101_0101_0101_0101) >> 56) as i32
}
