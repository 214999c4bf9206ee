//! The pools of ratings: one for each game and kind of table. A player has a rating in each.

use crate::engine::Variant;

/// Ranked games whose ratings can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pool {
    /// Kalah between two.
    Kalah2,
    /// Kalah among three or four.
    KalahMulti,
    /// Basic Mancala between two.
    Basic2,
    /// Basic Mancala among three or four.
    BasicMulti,
}

impl Pool {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Kalah2, Self::KalahMulti, Self::Basic2, Self::BasicMulti];

    /// The pool in which a game of so many players counts.
    #[must_use]
    pub const fn of(variant: Variant, players: u8) -> Self {
        match (variant, players) {
            (Variant::Kalah, ..=2) => Self::Kalah2,
            (Variant::Kalah, _) => Self::KalahMulti,
            (Variant::Basic, ..=2) => Self::Basic2,
            (Variant::Basic, _) => Self::BasicMulti,
        }
    }

    /// Its name, on the wire and as stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kalah2 => "kalah-2",
            Self::KalahMulti => "kalah-multi",
            Self::Basic2 => "basic-2",
            Self::BasicMulti => "basic-multi",
        }
    }
}

impl std::fmt::Display for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Not the name of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a pool: kalah-2, kalah-multi, basic-2 or basic-multi")]
pub struct NoSuchPool;

impl std::str::FromStr for Pool {
    type Err = NoSuchPool;

    fn from_str(text: &str) -> Result<Self, NoSuchPool> {
        Self::ALL.into_iter().find(|pool| pool.as_str() == text).ok_or(NoSuchPool)
    }
}
