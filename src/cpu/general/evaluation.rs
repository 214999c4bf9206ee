//! What a position is worth to the seat that searches.

use crate::engine::{Position, Seat, Variant};

/// Estimates and stones are counted in sixteenths of a stone.
const STONE: i32 = 16;
/// Places and chances of them are counted in whole steps, each of which outweighs any count of stones (at most 255 of
/// them), so that a value holds both, the margin apart from the steps.
const STEP: i32 = 1 << 14;
/// Being certainly ahead of one rival.
pub const AHEAD: i32 = STEP * 16;

/// What a search is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The margin in stones over the best rival, which every value then holds; a better place first of all.
    Stones,
    /// The place.
    Places,
}

/// What a search says of a position. Within its window the value itself, outside a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worth {
    pub value: i32,
    /// Whether it holds to the end of the game: everything below was settled, or cut off by what was.
    pub proven: bool,
}

impl std::ops::Neg for Worth {
    type Output = Self;

    fn neg(self) -> Self {
        Self { value: -self.value, ..self }
    }
}

/// Judges positions from the view of one seat.
///
/// Rivals are the other seats that have not resigned: who has is behind everybody who stayed, whatever its stones.
#[derive(Clone, Debug)]
pub struct Judge {
    seat: Seat,
    rivals: Vec<Seat>,
    variant: Variant,
    goal: Goal,
    /// Whether the value of a finished game is the margin with its sign; places with each rival otherwise.
    by_margin: bool,
    chance: Option<u64>,
}

impl Judge {
    /// A judge for the seat to move; none when the game is over. With `chance`, positions that are worth about the
    /// same are told apart by it, so that games differ.
    pub fn new(position: &Position, goal: Goal, chance: Option<u64>) -> Option<Self> {
        let seat = position.to_move()?;
        let others = || position.seats().filter(move |&other| other != seat);
        let mut rivals: Vec<Seat> = others().filter(|&other| !position.is_resigned(other)).collect();
        if position.is_resigned(seat) || rivals.is_empty() {
            rivals = others().collect();
        }
        let rules = position.rules();
        let by_margin = rules.full_ranking() != Some(true) && (goal == Goal::Stones || rules.players() == 2);
        Some(Self { seat, rivals, variant: rules.variant(), goal, by_margin, chance })
    }

    /// The seat whose view this is.
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// Whether nothing can change any more for the seat: the game is over or the seat has left the board.
    #[inline]
    pub fn is_settled(&self, position: &Position) -> bool {
        position.to_move().is_none() || position.is_out(self.seat)
    }

    /// The worth of a position without looking any further.
    pub fn worth(&self, position: &Position) -> Worth {
        if self.is_settled(position) {
            Worth { value: self.settled(position), proven: true }
        } else {
            Worth { value: self.estimate(position), proven: false }
        }
    }

    /// The lead over the best rival in stones. Kalah: own store minus the best other one. Basic: stones on the
    /// emptiest other side minus own; none are on a side that has left the board.
    fn margin(&self, position: &Position) -> i32 {
        let score = |seat| match self.variant {
            Variant::Kalah => stored(position.side_word(seat)),
            Variant::Basic => -on_side(position.side_word(seat)),
        };
        let best = self.rivals.iter().map(|&rival| score(rival)).max().unwrap_or_default();
        score(self.seat) - best
    }

    /// The value of a position in which everything is settled.
    fn settled(&self, position: &Position) -> i32 {
        let margin = self.margin(position);
        if self.by_margin {
            return value_of(margin);
        }
        let own = position.side_word(self.seat);
        let places: i32 = (self.rivals.iter())
            .map(|&rival| {
                let other = position.side_word(rival);
                match self.variant {
                    Variant::Kalah => (stored(own) - stored(other)).signum(),
                    // Who left the board before is ahead, though both sides may be empty.
                    Variant::Basic if position.is_out(rival) => -1,
                    Variant::Basic => (on_side(other) - on_side(own)).signum(),
                }
            })
            .sum();
        places * AHEAD + margin * STONE
    }

    /// The least and the most that a position can still be worth, where that is known.
    #[inline]
    pub fn limits(&self, position: &Position) -> Option<(i32, i32)> {
        if !self.by_margin || self.variant == Variant::Basic {
            return None;
        }
        let margin = self.margin(position);
        let open = open(position);
        Some((value_of(margin - open), value_of(margin + open)))
    }

    /// The value of a position at which the search looks no further.
    #[inline]
    pub fn estimate(&self, position: &Position) -> i32 {
        let promise = Promise::of(position);
        let own = promise.score(position.side_word(self.seat));
        let value = if self.by_margin {
            self.promised(position, promise, own)
        } else {
            let doubt = Promise::doubt(open(position));
            let chances = self.rivals.iter().map(|&rival| {
                if position.is_out(rival) {
                    return -AHEAD;
                }
                let lead = own - promise.score(position.side_word(rival));
                AHEAD * lead / (lead.abs() + doubt)
            });
            let chances: i32 = chances.sum();
            match self.goal {
                Goal::Places => chances,
                // Rounded towards zero, so that what is hoped for never comes up to what is certain.
                Goal::Stones => chances / STEP * STEP + self.promised(position, promise, own),
            }
        };
        value + self.chance.map_or(0, |seed| self.noise(position, seed))
    }

    /// What is promised of the margin at the end, in sixteenths of a stone, to a seat that is promised `own`.
    ///
    /// Only who ends first has a positive one, and with full ranking only who ends last has a negative one: all
    /// between leave the board with an empty side, as somebody did before.
    #[inline]
    fn promised(&self, position: &Position, promise: Promise, own: i32) -> i32 {
        let (mut may_be_first, mut range) = (true, None);
        for &rival in &self.rivals {
            if position.is_out(rival) {
                may_be_first = false;
                continue;
            }
            let lead = own - promise.score(position.side_word(rival));
            let (least, most) = range.unwrap_or((lead, lead));
            range = Some((lead.min(least), lead.max(most)));
        }
        let (over_best, over_worst) = range.unwrap_or_default();
        if may_be_first && over_best > 0 {
            return over_best;
        }
        if self.by_margin { over_best.min(0) } else { over_worst.min(0) }
    }

    /// The margin in stones that `value` holds, which a search from `position` found: what a settled game ends with,
    /// else an estimate, never beyond what the stones in the pits allow.
    pub fn in_stones(&self, position: &Position, value: i32) -> i16 {
        let steps = (value + STEP / 2).div_euclid(STEP);
        let rounded = (value - steps * STEP + STONE / 2).div_euclid(STONE);
        let open = open(position);
        let kept = match self.variant {
            Variant::Kalah => self.margin(position),
            // No stone comes back from a store to a side.
            Variant::Basic => 0,
        };
        i16::try_from(rounded.clamp(kept - open, kept + open)).expect("at most 255 stones")
    }

    /// Less than a stone, and always the same for the same position and seed.
    fn noise(&self, position: &Position, seed: u64) -> i32 {
        let mut mixed = seed;
        for seat in position.seats() {
            mixed = (mixed ^ position.side_word(seat)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^= mixed >> 31;
        }
        let fraction = i32::try_from(mixed >> 60).expect("four bits");
        if self.by_margin { fraction } else { fraction * (AHEAD >> 10) }
    }
}

/// What the sides of a position promise before the end.
#[derive(Clone, Copy)]
pub struct Promise {
    variant: Variant,
    /// How far the pits are shifted, so that the one next to the store is always the seventh.
    shift: u32,
}

impl Promise {
    pub fn of(position: &Position) -> Self {
        let rules = position.rules();
        Self { variant: rules.variant(), shift: 7 - u32::from(rules.pits()) }
    }

    /// What a side promises, in sixteenths of a stone.
    #[inline]
    pub fn score(self, side: u64) -> i32 {
        let filled = filled(side) << self.shift & 0x7f;
        match self.variant {
            Variant::Kalah => stored(side) * STONE + on_side(side) * 5 + i32::from(KALAH[filled]),
            Variant::Basic => on_side(side) * 8 + i32::from(BASIC[filled]),
        }
    }

    /// The lead with which a seat is half certain to end before a rival, with `open` stones in all pits.
    #[inline]
    pub fn doubt(open: i32) -> i32 {
        STONE * 2 + STONE * open / 8
    }
}

/// What it is worth, in sixteenths of a stone, that pits hold stones at all: the sum for each mask of filled pits. From
/// the results of some thousand games by least squares. In Kalah filled pits far from the store are choices and threats.
/// In Basic each filled pit must still be sown, which gives others a turn unless it lies near the store; how many stones
/// it holds hardly matters.
static KALAH: [i16; 128] = sums([24, 24, 32, 32, 20, 5, -8]);
static BASIC: [i16; 128] = sums([-75, -55, -34, -16, -2, 10, 24]);

const fn sums(weights: [i16; 7]) -> [i16; 128] {
    let mut sums = [0; 128];
    let mut mask = 1;
    while mask < sums.len() {
        let lowest = mask.trailing_zeros();
        sums[mask] = sums[mask & (mask - 1)] + weights[lowest as usize];
        mask += 1;
    }
    sums
}

/// The mask of the pits of a side that hold stones.
#[inline]
fn filled(side: u64) -> usize {
    const LOW: u64 = 0x007f_7f7f_7f7f_7f7f;
    const GATHER: u64 = 0x0102_0408_1020_4000;
    let pits = side & PITS;
    let full = (((pits & LOW) + LOW) | pits) & !LOW & PITS;
    let gathered = (full >> 7).wrapping_mul(GATHER);
    usize::from(gathered.to_le_bytes()[7])
}

fn value_of(margin: i32) -> i32 {
    margin.signum() * AHEAD + margin * STONE
}

const PITS: u64 = 0x00ff_ffff_ffff_ffff;

/// The stones in the pits of a side: the sum of the bytes, which is at most 255.
#[inline]
pub fn on_side(side: u64) -> i32 {
    i32::from((side & PITS).wrapping_mul(0x0101_0101_0101_0101).to_le_bytes()[7])
}

/// The stones in all pits.
#[inline]
fn open(position: &Position) -> i32 {
    position.seats().map(|seat| on_side(position.side_word(seat))).sum()
}

/// The stones in the store of a side.
#[inline]
pub fn stored(side: u64) -> i32 {
    i32::from(side.to_le_bytes()[7])
}
