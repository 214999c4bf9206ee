//! The same people once more: every person of a finished game agrees, then the next game starts by itself.

use super::games::{Setup, random_seed};
use super::moves::{seat_of, visible};
use super::starter::{LastStarter, next_starter};
use super::{Error, Result, Service};
use crate::ids::{GameId, PlayerId};
use crate::store::{self, Occupant};

/// Where a rematch stands.
#[derive(Clone, Debug)]
pub struct Rematch {
    /// Seats of people who agree; computers always do.
    pub agreed: Vec<u8>,
    /// The new game, once all agree.
    pub game: Option<GameId>,
}

impl Service {
    /// Says that `player` wants a rematch, and starts it when everybody does. Repeating it changes nothing more.
    ///
    /// # Errors
    /// `GameNotFound`, `NotSeated`, `NotOver`, `RankedRematch`; `GroupPlaying` or `GroupChanged` when the game's
    /// group has gone on without it.
    pub async fn rematch(&self, player: PlayerId, id: GameId) -> Result<Rematch> {
        let mut tx = self.database.begin().await?;
        let game = visible(&mut tx, id, Some(player)).await?;
        let seat = seat_of(&game, player)?;
        if game.game.ranked() {
            return Err(Error::RankedRematch);
        }
        if !game.game.is_over() {
            return Err(Error::NotOver);
        }
        // Group first, game second: the order in which every use case locks the two.
        if let Some(group) = game.group {
            store::lock_group(&mut tx, group).await?;
        }
        let offer = store::offer_rematch(&mut tx, id, seat).await?;
        let people = game.seats.iter().filter(|occupant| occupant.person().is_some()).count();
        let agreed = offer.agreed.iter().filter_map(|&s| u8::try_from(s).ok()).collect();
        if offer.next.is_some() || offer.agreed.len() < people {
            tx.commit().await?;
            return Ok(Rematch { agreed, game: offer.next });
        }
        let seats: Vec<(Occupant, Option<i64>)> =
            game.seats.iter().cloned().zip(offer.members.iter().copied()).collect();
        if let Some(group) = game.group {
            let now = store::group(&mut tx, group).await?.ok_or(Error::GroupNotFound)?;
            if now.playing {
                return Err(Error::GroupPlaying);
            }
            if now.members.iter().map(|m| Some(m.position)).ne(offer.members.iter().copied()) {
                return Err(Error::GroupChanged);
            }
        }
        let next = GameId::new();
        let last = LastStarter { seat: game.starter.index(), member: offer.members[game.starter.index()] };
        let setup = Setup {
            group: game.group,
            rematch_of: Some(id),
            options: &game.options,
            seed: random_seed(),
            starter: next_starter(game.options.rotate_starter(), last, &offer.members),
            seats: &seats,
            ratings: &[],
        };
        self.insert_game(&mut tx, next, &setup).await?;
        let begun = visible(&mut tx, next, Some(player)).await?;
        if let Some(group) = game.group {
            store::set_game(&mut tx, group, next).await?;
        }
        tx.commit().await?;
        self.begun(&begun);
        Ok(Rematch { agreed, game: Some(next) })
    }
}
