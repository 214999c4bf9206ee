//! Who plays whom.

/// What a game does to the balance of first moves of one of its players, in twelfths.
#[must_use]
pub fn start_share(players: u8, first: bool) -> i32 {
    12 * i32::from(first) - 12 / i32::from(players)
}
