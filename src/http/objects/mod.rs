//! The objects that several operations answer with.

mod event;
mod game;
mod group;
mod player;
mod pool;
mod position;

pub use event::{By, EndReason, Event};
pub use game::{Game, GameStatus};
pub use group::{Group, GroupEvent};
pub use player::{Level, Player, PlayerKind, Variant};
pub use pool::Pool;
pub use position::{CapturedCup, Cup, Position, captured, path};
