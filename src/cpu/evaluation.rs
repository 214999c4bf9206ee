//! What a position is worth to a seat, when the search looks no further.

use crate::engine::{Position, Seat, Variant};

/// A decided game outweighs every count of stones (at most 255).
const DECIDED: i32 = 1_000;

/// Worth of `position` to `seat`, in stones: more is better.
///
/// Kalah: own store minus the best other one. Basic: stones on the emptiest other side minus own. A game that is
/// over counts a thousand for the first place and minus a thousand for any other, so that winning comes first.
pub fn worth(position: &Position, seat: Seat) -> i32 {
    let own = score(position, seat);
    let best_other =
        position.seats().filter(|&s| s != seat).map(|s| score(position, s)).max().unwrap_or_default();
    let margin = own - best_other;
    if position.to_move().is_none() { margin + DECIDED * margin.signum() } else { margin }
}

fn score(position: &Position, seat: Seat) -> i32 {
    match position.rules().variant() {
        Variant::Kalah => i32::from(position.store(seat)),
        Variant::Basic => -position.pits(seat).iter().map(|&stones| i32::from(stones)).sum::<i32>(),
    }
}
