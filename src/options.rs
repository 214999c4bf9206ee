//! Local rules: what a group asked for ([`Asked`]), and what takes effect in a game ([`Options`]).
//!
//! `Asked` is both what travels and what is stored; an `Options` exists only when every value is allowed.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::cpu::Level;
use crate::engine::{CaptureFrom, Rules, RulesError, RulesRequest, Variant};

/// Local rules, every one optional. In requests: as asked. In answers: the effective values that apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Options, example = json!({"stones": 4, "pits": 6}))]
pub struct Asked {
    /// Number of seats. Needed only where no group and no computers decide it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 2, maximum = 4)]
    pub players: Option<u8>,
    /// Pits a side: 6 or 7 for two players, 6 or 4 for more. A value of {4, 6, 7} that does not fit the
    /// number of players is replaced by 6. Whole positions may have 1 to 7. Default 6.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 7)]
    pub pits: Option<u8>,
    /// Stones in every pit at the start: 3 to 6. Default 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 3, maximum = 6)]
    pub stones: Option<u8>,
    /// Kalah with 3 or 4 players: whose corresponding pit a capture takes. Default next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture_from: Option<CaptureFromName>,
    /// Kalah: the last stone is captured even when nothing lies in the corresponding pit. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture_empty: Option<bool>,
    /// Basic with 3 or 4 players: play on until every place is decided. Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_ranking: Option<bool>,
    /// The next game of the group begins with the next seat. Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotate_starter: Option<bool>,
    /// Seconds for each sowing: 30 or 60; null or absent means no limit. When they are over (`deadline` of the game, and
    /// one second more for the way) the computer makes the sowing and the further ones it earns. After two turns in a row
    /// that ran out the player counts as left.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 30, maximum = 60, multiple_of = 30, example = 60)]
    pub turn_seconds: Option<Option<u32>>,
    /// Games without a time limit in which another person waits: seconds of silence (no request, no waiting one) after
    /// which a player who has the turn counts as left, 60 to 86400; null means never. Default 300.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 60, maximum = 86400, example = 300)]
    pub away_seconds: Option<Option<u32>>,
    /// The level that plays for a seat that is left or has resigned. Default medium.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stand_in: Option<StandIn>,
}

/// Whose corresponding pit a capture takes, as it travels: the engine knows nothing of serde.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = CaptureFrom)]
pub enum CaptureFromName {
    /// The seat after the mover.
    Next,
    /// Two seats on (four players; with three it is the next one).
    Opposite,
    /// Every other seat.
    All,
}

impl From<CaptureFromName> for CaptureFrom {
    fn from(name: CaptureFromName) -> Self {
        match name {
            CaptureFromName::Next => Self::Next,
            CaptureFromName::Opposite => Self::Opposite,
            CaptureFromName::All => Self::All,
        }
    }
}

impl From<CaptureFrom> for CaptureFromName {
    fn from(value: CaptureFrom) -> Self {
        match value {
            CaptureFrom::Next => Self::Next,
            CaptureFrom::Opposite => Self::Opposite,
            CaptureFrom::All => Self::All,
        }
    }
}

/// The levels that can stand in for a player, as they travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StandIn {
    /// Looks one move ahead.
    Easy,
    /// Looks five moves ahead.
    Medium,
    /// Searches as deep as its time allows.
    Hard,
}

impl From<StandIn> for Level {
    fn from(name: StandIn) -> Self {
        match name {
            StandIn::Easy => Self::Easy,
            StandIn::Medium => Self::Medium,
            StandIn::Hard => Self::Hard,
        }
    }
}

/// An explicit null is a value of its own ("no limit"), different from an absent field ("the default").
fn present<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Option<u32>>, D::Error> {
    Option::<u32>::deserialize(d).map(Some)
}

/// Effective options of a game. Every value is allowed, every fallback has been applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    rules: Rules,
    rotate_starter: bool,
    turn_seconds: Option<u32>,
    away_seconds: Option<u32>,
    stand_in: StandIn,
}

/// Why asked options cannot be: the field and the reason, in words for the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct OptionsError {
    /// The name of the field in [`Asked`].
    pub field: &'static str,
    /// What is allowed.
    pub reason: String,
}

impl OptionsError {
    fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self { field, reason: reason.into() }
    }
}

impl From<RulesError> for OptionsError {
    fn from(e: RulesError) -> Self {
        Self::new(e.field(), e.to_string())
    }
}

impl Options {
    /// What takes effect for a game of `players` seats.
    ///
    /// # Errors
    /// A value that no number of players allows, or a `players` that contradicts the one given.
    pub fn effective(variant: Variant, players: u8, asked: &Asked) -> Result<Self, OptionsError> {
        if asked.players.is_some_and(|p| p != players) {
            return Err(OptionsError::new(
                "players",
                format!("the game has {players} seats; leave `players` out or make it agree"),
            ));
        }
        asked.with_rules(Rules::effective(variant, players, &asked.rules_request())?)
    }

    /// The options of a position that is given whole: any number of pits from 1 to 7 stands as it is.
    ///
    /// # Errors
    /// A value outside its range, or a `players` or `pits` that contradicts the position.
    pub fn of_position(variant: Variant, players: u8, pits: u8, asked: &Asked) -> Result<Self, OptionsError> {
        for (field, asked, real) in [("players", asked.players, players), ("pits", asked.pits, pits)] {
            if asked.is_some_and(|v| v != real) {
                return Err(OptionsError::new(field, format!("the position has {real}")));
            }
        }
        asked.with_rules(Rules::for_position(variant, players, pits, &asked.rules_request())?)
    }

    /// How stones move and who places where.
    pub fn rules(&self) -> Rules {
        self.rules
    }
    /// Whether the next game of the group begins with the next seat.
    pub fn rotate_starter(&self) -> bool {
        self.rotate_starter
    }
    /// Seconds for each sowing, if limited.
    pub fn turn_seconds(&self) -> Option<u32> {
        self.turn_seconds
    }
    /// Seconds of silence after which a player counts as left; none in games with a time limit.
    pub fn away_seconds(&self) -> Option<u32> {
        self.away_seconds.filter(|_| self.turn_seconds.is_none())
    }
    /// Who plays seats that are left or have resigned.
    pub fn stand_in(&self) -> Level {
        self.stand_in.into()
    }

    /// As answered: what applies to this variant and number of players, nothing else, never null.
    pub fn answered(&self) -> Asked {
        Asked {
            turn_seconds: self.turn_seconds.map(Some),
            away_seconds: self.away_seconds().map(Some),
            ..self.stored()
        }
    }

    /// As stored: complete, with "no limit" said as null, so that it reads back to the same value.
    pub fn stored(&self) -> Asked {
        Asked {
            rotate_starter: Some(self.rotate_starter),
            turn_seconds: Some(self.turn_seconds),
            away_seconds: Some(self.away_seconds),
            stand_in: Some(self.stand_in),
            ..Asked::from(self.rules)
        }
    }
}

/// The options that move the stones, which are all that a position knows of.
impl From<Rules> for Asked {
    fn from(rules: Rules) -> Self {
        Self {
            players: Some(rules.players()),
            pits: Some(rules.pits()),
            stones: Some(rules.stones()),
            capture_from: rules.capture_from().map(CaptureFromName::from),
            capture_empty: rules.capture_empty(),
            full_ranking: rules.full_ranking(),
            ..Self::default()
        }
    }
}

impl Asked {
    /// Checks every value that does not need the number of players; a group keeps options as they were asked.
    ///
    /// # Errors
    /// The first value that no game would allow.
    pub fn check(&self, variant: Variant) -> Result<(), OptionsError> {
        let players = self.players.unwrap_or(2);
        Options::effective(variant, players, self).map(|_| ())
    }

    fn rules_request(&self) -> RulesRequest {
        RulesRequest {
            pits: self.pits,
            stones: self.stones,
            capture_from: self.capture_from.map(CaptureFrom::from),
            capture_empty: self.capture_empty,
            full_ranking: self.full_ranking,
        }
    }

    /// Adds the options that do not touch the stones.
    fn with_rules(&self, rules: Rules) -> Result<Options, OptionsError> {
        let turn_seconds = self.turn_seconds.flatten();
        if turn_seconds.is_some_and(|s| s != 30 && s != 60) {
            return Err(OptionsError::new("turn_seconds", "turn_seconds must be 30, 60 or null"));
        }
        let away_seconds = self.away_seconds.unwrap_or(Some(300));
        if away_seconds.is_some_and(|s| !(60..=86_400).contains(&s)) {
            return Err(OptionsError::new("away_seconds", "away_seconds must be null or from 60 to 86400"));
        }
        Ok(Options {
            rules,
            rotate_starter: self.rotate_starter.unwrap_or(true),
            turn_seconds,
            away_seconds,
            stand_in: self.stand_in.unwrap_or(StandIn::Medium),
        })
    }
}
