//! Players and what they choose: which game, which level of the computer.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::PlayerId;
use crate::{cpu, engine, store};

/// Which of the two games.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Most stones in the store win; captures.
    Kalah,
    /// Whoever empties the own side first wins; no captures.
    Basic,
}

impl From<Variant> for engine::Variant {
    fn from(variant: Variant) -> Self {
        match variant {
            Variant::Kalah => Self::Kalah,
            Variant::Basic => Self::Basic,
        }
    }
}

impl From<engine::Variant> for Variant {
    fn from(variant: engine::Variant) -> Self {
        match variant {
            engine::Variant::Kalah => Self::Kalah,
            engine::Variant::Basic => Self::Basic,
        }
    }
}

/// How well a computer player plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Looks one move ahead, and often plays at random.
    Easy,
    /// Looks five moves ahead.
    Medium,
    /// Searches as deep as its time allows.
    Hard,
    /// Never gives away a result of two-player Kalah.
    Perfect,
}

impl From<Level> for cpu::Level {
    fn from(level: Level) -> Self {
        match level {
            Level::Easy => Self::Easy,
            Level::Medium => Self::Medium,
            Level::Hard => Self::Hard,
            Level::Perfect => Self::Perfect,
        }
    }
}

impl From<cpu::Level> for Level {
    fn from(level: cpu::Level) -> Self {
        match level {
            cpu::Level::Easy => Self::Easy,
            cpu::Level::Medium => Self::Medium,
            cpu::Level::Hard => Self::Hard,
            cpu::Level::Perfect => Self::Perfect,
        }
    }
}

/// What kind of player somebody is.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlayerKind {
    /// Plays without having registered.
    Guest,
    /// Has a username and a password.
    Account,
    /// A program.
    Bot,
    /// Is gone; the games remain.
    Deleted,
}

/// A player as others see them.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Player {
    /// The player's id, for ever.
    pub id: PlayerId,
    /// The display name: 1 to 40 characters.
    #[schema(example = "Ana")]
    pub name: String,
    /// Guest, account, bot or deleted.
    pub kind: PlayerKind,
}

impl From<&store::PlayerRow> for Player {
    fn from(row: &store::PlayerRow) -> Self {
        let kind = match row.kind {
            store::PlayerKind::Guest => PlayerKind::Guest,
            store::PlayerKind::Account => PlayerKind::Account,
            store::PlayerKind::Bot => PlayerKind::Bot,
            store::PlayerKind::Deleted => PlayerKind::Deleted,
        };
        Self { id: row.id, name: row.name.clone(), kind }
    }
}
