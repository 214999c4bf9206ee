//! Analysis of any position.

use std::time::Duration;

use super::thinking::Kind;
use super::{Error, Result, Service};
use crate::cpu::Analysis;
use crate::engine::{Position, Rules};
use crate::ids::PlayerId;
use crate::store;

impl Service {
    /// Whether `player` may have the position analysed now.
    ///
    /// # Errors
    /// `Ranked` when it stands in a ranked game that the player is playing, turned round or not; `ThinkingBusy` when too
    /// much waits already, in all or of this player.
    pub async fn may_analyse(&self, player: PlayerId, position: &Position) -> Result<()> {
        self.thinking.has_room(Kind::Analysis(player))?;
        let mut db = self.database.connection().await?;
        let games = store::running_ranked_games(&mut db, player).await?;
        db.done();
        let same =
            |game: &store::StoredGame| as_the_mover_sees(game.game.position()) == as_the_mover_sees(position);
        if games.iter().any(same) { Err(Error::Ranked) } else { Ok(()) }
    }

    /// What the moves of a position are worth, as far as can be found in `budget` of thinking, for `player`. The position
    /// must not be over.
    ///
    /// # Errors
    /// `ThinkingBusy` when it would not be answered in time.
    pub async fn analyse(&self, player: PlayerId, position: Position, budget: Duration) -> Result<Analysis> {
        let studied = self
            .thinking
            .study(Kind::Analysis(player), budget, move |computers, go_on| {
                let analysis = computers.analyse(&position, go_on);
                let effort = analysis.as_ref().map(|found| (found.depth, found.nodes));
                (analysis, effort)
            })
            .await?;
        studied.answer.ok_or(Error::ThinkingFailed)
    }
}

/// Everything that decides what is best: the rules that still matter, and the sides from the mover's on. Who has which
/// number does not matter.
fn as_the_mover_sees(position: &Position) -> impl PartialEq {
    let of_rules = |r: &Rules| {
        (r.variant(), r.players(), r.pits(), r.capture_from(), r.capture_empty(), r.full_ranking())
    };
    let mut seats: Vec<_> = position.seats().collect();
    seats.rotate_left(position.to_move().map_or(0, crate::engine::Seat::index));
    // What everybody has in store changes nothing.
    let least = position.seats().map(|seat| position.store(seat)).min().unwrap_or_default();
    let side = |seat| (position.pits(seat).to_vec(), position.store(seat) - least, position.is_out(seat));
    let sides: Vec<_> = seats.into_iter().map(side).collect();
    (of_rules(position.rules()), position.to_move().is_some(), sides)
}
