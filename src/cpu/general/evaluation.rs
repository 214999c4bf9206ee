//! What a position is worth to a seat, when the search looks no further.

use crate::engine::{Position, Seat, Variant};

/// A decided game outweighs every count of stones (at most 255).
const DECIDED: i32 = 1_000;

/// Worth of `position` to `seat`, in stones: more is better.
///
/// Kalah: own store minus the best other one. Basic: stones on the emptiest other side minus own. A game that is
/// over counts a thousand for the first place and minus a thousand for any other, so that winning comes first.
pub fn worth(position: &Position, seat: Seat) -> i32 {
    let margin = i32::from(margin(position, seat));
    if position.to_move().is_none() { margin + DECIDED * margin.signum() } else { margin }
}

/// The lead of `seat` over the best other one, in stones.
pub fn margin(position: &Position, seat: Seat) -> i16 {
    let others = position.seats().filter(|&s| s != seat);
    score(position, seat) - others.map(|s| score(position, s)).max().unwrap_or_default()
}

fn score(position: &Position, seat: Seat) -> i16 {
    match position.rules().variant() {
        Variant::Kalah => i16::from(position.store(seat)),
        Variant::Basic => -position.pits(seat).iter().map(|&stones| i16::from(stones)).sum::<i16>(),
    }
}
