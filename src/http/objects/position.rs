//! Positions and the cups of a board.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Variant;
use crate::engine::{self, Setup};
use crate::http::problem::{Failure, ProblemCode};
use crate::options::{Asked, Options};

/// A position: all that decides what can be played.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"variant": "kalah", "options": {"players": 2, "pits": 6, "stones": 4},
    "pits": [[4, 4, 0, 5, 5, 5], [4, 4, 4, 4, 4, 4]], "stores": [1, 0], "out": [false, false], "to_move": 0}))]
pub struct Position {
    /// Which game.
    pub variant: Variant,
    /// Local rules.
    #[serde(default)]
    pub options: Asked,
    /// Stones in the pits, by seat, from left to right as their owner sees them.
    #[schema(min_items = 2, max_items = 4)]
    pub pits: Vec<Vec<u8>>,
    /// Stones in the stores, by seat.
    #[schema(min_items = 2, max_items = 4)]
    pub stores: Vec<u8>,
    /// Which seats have left the board (Basic with 3 or 4 players). In requests absent means none.
    #[serde(default)]
    #[schema(required = false)]
    pub out: Vec<bool>,
    /// The seat to move; absent when the game is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 3)]
    pub to_move: Option<u8>,
}

impl From<&engine::Position> for Position {
    fn from(position: &engine::Position) -> Self {
        Self {
            variant: position.rules().variant().into(),
            options: Asked::from(*position.rules()),
            pits: position.seats().map(|s| position.pits(s).to_vec()).collect(),
            stores: position.seats().map(|s| position.store(s)).collect(),
            out: position.seats().map(|s| position.is_out(s)).collect(),
            to_move: position.to_move().map(engine::Seat::get),
        }
    }
}

impl Position {
    /// The engine's position.
    pub fn parse(&self, pointer: &str) -> Result<engine::Position, Failure> {
        let invalid = |field: &str, detail: String| {
            Failure::field(ProblemCode::InvalidPosition, &format!("{pointer}/{field}"), detail)
        };
        let players = u8::try_from(self.pits.len()).unwrap_or(u8::MAX);
        let pits = self.pits.first().map_or(0, Vec::len);
        let pits = u8::try_from(pits).unwrap_or(u8::MAX);
        if !(2..=4).contains(&players) {
            return Err(invalid("pits", "a position has the pits of 2 to 4 seats".to_owned()));
        }
        if !(1..=7).contains(&pits) {
            return Err(invalid("pits", "a side has 1 to 7 pits".to_owned()));
        }
        let options = Options::of_position(self.variant.into(), players, pits, &self.options)
            .map_err(|e| Failure::options(&format!("{pointer}/options"), &e))?;
        let to_move = self
            .to_move
            .map(|s| engine::Seat::new(s).ok_or_else(|| invalid("to_move", format!("there is no seat {s}"))))
            .transpose()?;
        let out = if self.out.is_empty() { vec![false; self.pits.len()] } else { self.out.clone() };
        let setup = Setup {
            rules: options.rules(),
            pits: self.pits.clone(),
            stores: self.stores.clone(),
            out,
            to_move,
        };
        engine::Position::from_setup(&setup).map_err(|e| invalid(e.field(), e.to_string()))
    }
}

/// A pit (`pit` is there) or a store (`store` is true) of a seat.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({"seat": 0, "pit": 3}))]
pub struct Cup {
    /// Whose.
    pub seat: u8,
    /// Which pit, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pit: Option<u8>,
    /// True for the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
}

impl From<engine::Cup> for Cup {
    fn from(cup: engine::Cup) -> Self {
        match cup {
            engine::Cup::Pit { seat, pit } => Self { seat: seat.get(), pit: Some(pit), store: None },
            engine::Cup::Store { seat } => Self { seat: seat.get(), pit: None, store: Some(true) },
        }
    }
}

/// A cup that a capture emptied, with the stones that were in it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({"seat": 1, "pit": 4, "stones": 5}))]
pub struct CapturedCup {
    /// Whose.
    pub seat: u8,
    /// Which pit, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pit: Option<u8>,
    /// True for the store (captures take from pits only, so it never is).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
    /// How many stones went to the mover's store.
    pub stones: u8,
}

/// The cups of a sowing, in order.
pub fn path(sowing: &engine::Sowing) -> Vec<Cup> {
    sowing.path.iter().map(|&cup| cup.into()).collect()
}

/// The cups that a sowing captured.
pub fn captured(sowing: &engine::Sowing) -> Vec<CapturedCup> {
    sowing
        .captured
        .iter()
        .map(|&(cup, stones)| {
            let Cup { seat, pit, store } = cup.into();
            CapturedCup { seat, pit, store, stones }
        })
        .collect()
}
