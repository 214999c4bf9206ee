//! The search for three and four players: max^n, in which each seat plays for its own place.

use super::evaluation::{Promise, on_side, stored};
use super::search::ASK_EVERY;
use super::table::key;
use crate::engine::{Position, Seat, Variant};

/// Being certainly ahead of one rival, in a unit small enough for four values to share a word.
pub const RIVAL: i32 = 1 << 13;

/// What the end, or an estimate of it, is worth to each seat: how many rivals it is ahead of, less those before it.
#[derive(Clone, Copy)]
pub struct Values {
    by_seat: [i16; 4],
    /// Whether looking further would not change them.
    proven: bool,
}

impl Values {
    pub fn to(self, seat: Seat) -> i16 {
        self.by_seat[seat.index()]
    }

    pub fn are_proven(self) -> bool {
        self.proven
    }
}

/// One search with what it has learnt so far.
pub struct Several<'a> {
    root: Seat,
    variant: Variant,
    resigned: [bool; 4],
    chance: u64,
    pub nodes: u64,
    go_on: &'a dyn Fn() -> bool,
    /// Keys, whose lowest bit says whether the values are proven, and values.
    table: Vec<[u64; 2]>,
}

/// How many positions are remembered. The pages of the table are only touched as they fill.
const PLACES: usize = 1 << 20;

impl<'a> Several<'a> {
    /// A search for `root`; what is worth about the same is told apart by `chance`.
    pub fn new(position: &Position, root: Seat, chance: u64, go_on: &'a dyn Fn() -> bool) -> Self {
        Self {
            root,
            variant: position.rules().variant(),
            resigned: Seat::ALL.map(|seat| position.is_resigned(seat)),
            chance,
            nodes: 0,
            go_on,
            table: vec![[0; 2]; PLACES],
        }
    }

    /// What sowing `pit` is worth, looking `depth` turns ahead with this one; `None` when the patience has run out.
    pub fn sowing(&mut self, position: &Position, pit: u8, depth: u8) -> Option<Values> {
        let mut next = *position;
        let sown = next.sow(pit).expect("only legal pits are searched");
        self.node(&next, if sown.extra { depth } else { depth - 1 })
    }

    fn node(&mut self, position: &Position, depth: u8) -> Option<Values> {
        self.nodes += 1;
        if self.nodes.is_multiple_of(ASK_EVERY) && !(self.go_on)() {
            return None;
        }
        let settled = position.is_out(self.root);
        let Some(seat) = position.to_move().filter(|_| depth > 0 && !settled) else {
            return Some(self.judge(position, settled));
        };
        let key = (key(position) ^ u64::from(depth).wrapping_mul(0xd6e8_feb8_6659_fd93)) & !1;
        // The length is a power of two.
        let place = usize::try_from(key >> 24).unwrap_or(usize::MAX) & (self.table.len() - 1);
        let [known, values] = self.table[place];
        if known & !1 == key {
            return Some(Values { by_seat: unpack(values), proven: known & 1 == 1 });
        }
        let mut best: Option<Values> = None;
        let mut proven = true;
        for pit in (0..position.rules().pits()).rev().filter(|pit| position.legal_mask() >> pit & 1 == 1) {
            let values = self.sowing(position, pit, depth)?;
            proven &= values.proven;
            if best.is_none_or(|best| values.to(seat) > best.to(seat)) {
                best = Some(values);
            }
        }
        let best = Values { proven, ..best? };
        self.table[place] = [key | u64::from(proven), pack(best.by_seat)];
        Some(best)
    }

    fn judge(&self, position: &Position, settled: bool) -> Values {
        let over = position.to_move().is_none();
        let promise = Promise::of(position);
        let seats = || position.seats();
        let mut values = [0; 4];
        let (mut scores, mut open) = ([0; 4], 0);
        for seat in seats() {
            let side = position.side_word(seat);
            open += on_side(side);
            scores[seat.index()] = match self.variant {
                _ if !over => promise.score(side),
                Variant::Kalah => stored(side),
                Variant::Basic => -on_side(side),
            };
        }
        let doubt = Promise::doubt(open);
        for one in seats() {
            for other in seats().skip(one.index() + 1) {
                let lead = scores[one.index()] - scores[other.index()];
                let ahead = match (position.is_out(one), position.is_out(other)) {
                    (true, true) => 0,
                    (true, false) => RIVAL,
                    (false, true) => -RIVAL,
                    _ if over => RIVAL * lead.signum(),
                    _ => RIVAL * lead / (lead.abs() + doubt),
                };
                // Who has resigned is behind everybody who stayed, but its seat plays on as if it were not.
                let (gone, other_gone) = (self.resigned[one.index()], self.resigned[other.index()]);
                values[one.index()] += if other_gone && !gone { RIVAL } else { ahead };
                values[other.index()] += if gone && !other_gone { RIVAL } else { -ahead };
            }
        }
        let mut chance = if over { 0 } else { key(position).wrapping_mul(self.chance | 1) >> 32 };
        for (value, score) in values.iter_mut().zip(scores) {
            // At the end stones tell equal places apart, before it a little chance.
            *value += if over { score } else { i32::try_from(chance & 15).unwrap_or(0) * (RIVAL >> 10) };
            chance >>= 4;
        }
        let by_seat = values.map(|value| i16::try_from(value).unwrap_or(i16::MAX));
        Values { by_seat, proven: over || settled }
    }
}

fn pack(values: [i16; 4]) -> u64 {
    values.iter().rev().fold(0, |packed, value| packed << 16 | u64::from(value.cast_unsigned()))
}

fn unpack(packed: u64) -> [i16; 4] {
    let [a, b, c, d, e, f, g, h] = packed.to_le_bytes();
    [[a, b], [c, d], [e, f], [g, h]].map(i16::from_le_bytes)
}
