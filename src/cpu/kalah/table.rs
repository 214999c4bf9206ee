//! What earlier searches have found out, in eight bytes a position. A position's number is kept whole, part of it in
//! where the entry lies, so no position is ever taken for another and proofs may rest on the table.

use std::sync::atomic::{AtomicU64, Ordering};

use super::board::{Board, MOST_STONES, stones_on};
use super::small::choose;

/// Entries that lie together, of which the least valuable gives way.
const BUCKET: usize = 4;
/// There are fewer positions than two to this, with 14 cups and a hundred stones.
const NUMBER_BITS: u32 = 59;
/// An entry is the tag and below it a note of this many bits.
const NOTE_BITS: u32 = 24;
/// The highest bits of a note say what it is worth to keep it.
const WORTH_SHIFT: u32 = 19;
const WORTH_MASK: u64 = 0x1f;

/// Notes on positions under given rules, shared by all searches.
pub struct Table {
    entries: Box<[AtomicU64]>,
    /// log2 of the number of buckets.
    bits: u32,
    /// By cup and stones up to it: what the cup adds to a position's number.
    adds: Box<[[u64; 128]; 14]>,
    pits: usize,
}

/// Where the note on a position lies.
#[derive(Clone, Copy)]
pub struct Place {
    bucket: usize,
    tag: u64,
}

impl Table {
    /// With room for two to `bits` positions, at least 2^21: with fewer buckets a tag would not hold what is left of a
    /// number.
    pub fn new(pits: u8, bits: u32) -> Self {
        let bits =
            bits.max(NUMBER_BITS - (64 - NOTE_BITS) + BUCKET.trailing_zeros()) - BUCKET.trailing_zeros();
        // Zeroed by the system as it is used, which is nothing to wait for.
        let entries = bytemuck::zeroed_slice_box(BUCKET << bits);
        let pits = usize::from(pits);
        let mut adds = Box::new([[0; 128]; 14]);
        for (cup, adds) in adds.iter_mut().enumerate().take(2 * pits) {
            for (stones, add) in adds.iter_mut().enumerate().take(usize::from(MOST_STONES) + 1) {
                *add = choose(stones + cup, cup + 1);
            }
        }
        Self { entries, bits, adds, pits }
    }

    /// Where the note on `board` lies, whether there is one or not.
    #[inline(always)]
    pub fn place(&self, board: Board) -> Place {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const MASK: u64 = (1 << NUMBER_BITS) - 1;
        let mut own = board.own.wrapping_mul(ONES);
        let mut other = (board.other + stones_on(board.own) as u64).wrapping_mul(ONES);
        let mut number = 0;
        for adds in &self.adds[..self.pits] {
            number += adds[(own & 0x7f) as usize];
            own >>= 8;
        }
        for adds in &self.adds[self.pits..2 * self.pits] {
            number += adds[(other & 0x7f) as usize];
            other >>= 8;
        }
        // Every step can be undone, so different numbers stay different, but near ones come to lie far apart.
        number ^= number >> 29;
        number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) & MASK;
        number ^= number >> 29;
        number = number.wrapping_mul(0xbf58_476d_1ce4_e5b9) & MASK;
        number ^= number >> 29;
        let bucket = (number & ((1 << self.bits) - 1)) as usize * BUCKET;
        Place { bucket, tag: number >> self.bits }
    }

    /// The note at `place`.
    #[inline(always)]
    pub fn get(&self, place: Place) -> Option<u32> {
        let bucket = &self.entries[place.bucket..place.bucket + BUCKET];
        for entry in bucket {
            let entry = entry.load(Ordering::Relaxed);
            let note = (entry & ((1 << NOTE_BITS) - 1)) as u32;
            // No note is zero, which is what an empty entry holds.
            if entry >> NOTE_BITS == place.tag && note != 0 {
                return Some(note);
            }
        }
        None
    }

    /// Puts a note there, in place of the one on the same position or the least valuable.
    #[inline(always)]
    pub fn put(&self, place: Place, note: u32) {
        let bucket = &self.entries[place.bucket..place.bucket + BUCKET];
        let mut victim = &bucket[0];
        let mut least = u64::MAX;
        for entry in bucket {
            let there = entry.load(Ordering::Relaxed);
            if there != 0 && there >> NOTE_BITS == place.tag {
                victim = entry;
                break;
            }
            let worth = there >> WORTH_SHIFT & WORTH_MASK;
            if worth < least {
                least = worth;
                victim = entry;
            }
        }
        victim.store(place.tag << NOTE_BITS | u64::from(note), Ordering::Relaxed);
    }
}

/// What has been proven of a position: its margin to come lies within these bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// At least this.
    pub lower: i32,
    /// At most this.
    pub upper: i32,
    /// The pit to try first, 7 for none.
    pub pit: u8,
}

impl Bounds {
    /// Nothing proven but that all stones fall to one seat at most.
    pub fn unknown(stones: i32) -> Self {
        Self { lower: -stones, upper: stones, pit: 7 }
    }

    /// As a note that was found out by searching `nodes`, beyond what an earlier note said.
    #[inline(always)]
    pub fn note(self, nodes: u64, earlier: Option<u32>) -> u32 {
        let effort = (64 - nodes.leading_zeros()).clamp(1, 31);
        let effort = earlier.map_or(effort, |earlier| effort.max(earlier >> WORTH_SHIFT));
        effort << WORTH_SHIFT
            | u32::from(self.pit) << 16
            | ((self.upper + 128) as u32) << 8
            | (self.lower + 128) as u32
    }

    /// From a note.
    #[inline(always)]
    pub fn read(note: u32) -> Self {
        Self {
            lower: (note & 0xff) as i32 - 128,
            upper: (note >> 8 & 0xff) as i32 - 128,
            pit: (note >> 16 & 7) as u8,
        }
    }
}

/// What a search some turns ahead has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// In [`super::evaluation::STONE`]ths of a stone, within 13 bits.
    pub value: i32,
    /// Whether the value is at least a lower or an upper bound; both make it the value.
    pub is_lower: bool,
    /// See `is_lower`.
    pub is_upper: bool,
    /// Turns looked ahead.
    pub depth: u8,
    /// The pit to try first, 7 for none.
    pub pit: u8,
}

impl Estimate {
    /// As a note: the deeper, the more valuable.
    #[inline(always)]
    pub fn note(self) -> u32 {
        u32::from(self.depth.min(31)) << WORTH_SHIFT
            | u32::from(self.pit) << 16
            | u32::from(self.is_lower) << 15
            | u32::from(self.is_upper) << 14
            | (self.value + (1 << 13)) as u32 & 0x3fff
    }

    /// From a note.
    #[inline(always)]
    pub fn read(note: u32) -> Self {
        Self {
            value: (note & 0x3fff) as i32 - (1 << 13),
            is_lower: note >> 15 & 1 == 1,
            is_upper: note >> 14 & 1 == 1,
            depth: (note >> WORTH_SHIFT & 0x1f) as u8,
            pit: (note >> 16 & 7) as u8,
        }
    }
}
