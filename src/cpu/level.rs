//! The names of the levels.

/// How well a computer player plays (`docs/rules.md`, "Computer players").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Looks one move ahead, and four times in ten plays at random.
    Easy,
    /// Looks five moves ahead.
    Medium,
    /// Looks up to fourteen moves ahead, as far as its time allows.
    Hard,
    /// Never gives away a result of two-player Kalah.
    Perfect,
}

impl Level {
    /// Every level, weakest first.
    pub const ALL: [Self; 4] = [Self::Easy, Self::Medium, Self::Hard, Self::Perfect];

    /// The name by which the level travels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Easy => "easy",
            Self::Medium => "medium",
            Self::Hard => "hard",
            Self::Perfect => "perfect",
        }
    }

    /// How many turns the level looks ahead at most; `Perfect` where it plays as `Hard`.
    pub(super) fn turns(self) -> u8 {
        match self {
            Self::Easy => 1,
            Self::Medium => 5,
            Self::Hard | Self::Perfect => 14,
        }
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A level that does not exist.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown level; expected easy, medium, hard or perfect")]
pub struct UnknownLevel;

impl std::str::FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(s: &str) -> Result<Self, UnknownLevel> {
        Self::ALL.into_iter().find(|level| level.as_str() == s).ok_or(UnknownLevel)
    }
}
