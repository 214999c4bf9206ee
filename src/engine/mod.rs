//! The rules of Kalah and Basic Mancala for two to four players, as `docs/rules.md` states them.
//!
//! Pure and self-contained, so that the service, the computer players, the command line and the
//! tests all ask the same code: a [`Position`] that exists is valid, and whatever would break a
//! rule is an error that changes nothing.

mod game;
mod notation;
mod outlook;
mod places;
mod position;
mod record;
mod rules;
mod seat;
mod snapshot;
mod sowing;

pub use game::{AbortReason, Action, ActionError, Applied, EndReason, Game};
pub use notation::{NotationError, NotationProblem};
pub use position::{Position, PositionError, Setup};
pub use record::{BadEvent, Record, Replay};
pub use rules::{CaptureFrom, Rules, RulesError, RulesRequest, UnknownName, Variant};
pub use seat::{Cup, Seat};
pub use snapshot::{Snapshot, SnapshotError};
pub use sowing::{SowError, Sowing, Sown};
