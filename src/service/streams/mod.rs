//! What is told as it happens: each stream reads on from its own cursor, so that nothing is queued for anybody, and news
//! only says when to look.

mod games;
mod groups;
mod me;

pub use games::{GameNews, GameStream};
pub use groups::GroupStream;
pub use me::{Concern, MeStream};
