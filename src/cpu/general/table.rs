//! What a search remembers of positions that it has seen: they come again by other orders of the same sowings.

use super::evaluation::Worth;
use crate::engine::Position;

/// What a value says about the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    AtMost,
    AtLeast,
    Exact,
}

/// What is remembered of one position, from the view of the side to move.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub worth: Worth,
    pub bound: Bound,
    /// Turns looked ahead.
    pub depth: u8,
    /// The best pit that was found.
    pub pit: u8,
}

/// Places for entries, in pairs: the first of a pair keeps what took most work, the second what came last.
pub struct Table {
    /// The key of the position and the packed entry; all zero is empty.
    places: Vec<[u64; 2]>,
}

/// Searches of few turns get a small table, which costs nothing to have; the pages of the large one are only touched
/// as they fill.
const SMALL: usize = 1 << 14;
const LARGE: usize = 1 << 20;

impl Table {
    /// A table for searches of at most `turns`.
    pub fn new(turns: u8) -> Self {
        Self { places: vec![[0; 2]; if turns > 5 { LARGE } else { SMALL }] }
    }

    pub fn get(&self, key: u64) -> Option<Entry> {
        let first = self.first_of_pair(key);
        self.places[first..first + 2].iter().find(|place| place[0] == key).and_then(|place| unpack(place[1]))
    }

    pub fn put(&mut self, key: u64, entry: Entry) {
        let first = self.first_of_pair(key);
        let [older, newer] = &mut self.places[first..first + 2] else { unreachable!("pairs are whole") };
        let packed = [key, pack(entry)];
        if older[0] == key || work(packed[1]) >= work(older[1]) {
            if older[0] != key {
                *newer = *older;
            }
            *older = packed;
        } else {
            *newer = packed;
        }
    }

    fn first_of_pair(&self, key: u64) -> usize {
        // The length is a power of two; the high bits of the key are the best mixed.
        let index = usize::try_from(key >> 20).unwrap_or(usize::MAX);
        index & (self.places.len() - 2)
    }
}

/// The key of a position: pits, stores and whose turn it is. Who is out shows in the empty side; who has resigned does
/// not change within a search.
#[inline]
pub fn key(position: &Position) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut key = position.to_move().map_or(7, |seat| u64::from(seat.get()));
    for seat in position.seats() {
        key = (key ^ position.side_word(seat)).wrapping_mul(MIX);
        key ^= key >> 29;
    }
    key = key.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    key ^ key >> 32
}

const PROVEN: u64 = 1 << 48;

/// The value in the low half; then depth, pit and bound, and highest whether it is proven, so that proven entries and
/// then deep ones count as most work.
fn pack(entry: Entry) -> u64 {
    let bound = match entry.bound {
        Bound::AtMost => 1,
        Bound::AtLeast => 2,
        Bound::Exact => 3,
    };
    u64::from(entry.worth.value.cast_unsigned())
        | bound << 32
        | u64::from(entry.pit) << 36
        | u64::from(entry.depth) << 40
        | if entry.worth.proven { PROVEN } else { 0 }
}

fn unpack(packed: u64) -> Option<Entry> {
    let [v0, v1, v2, v3, low, depth, ..] = packed.to_le_bytes();
    let bound = match low & 3 {
        1 => Bound::AtMost,
        2 => Bound::AtLeast,
        3 => Bound::Exact,
        _ => return None,
    };
    let value = i32::from_le_bytes([v0, v1, v2, v3]);
    let worth = Worth { value, proven: packed & PROVEN != 0 };
    Some(Entry { worth, bound, depth, pit: low >> 4 })
}

fn work(packed: u64) -> u64 {
    packed >> 40
}
