//! What has changed the ratings of players, and what their games come to.

use super::moves::visible;
use super::{Error, Result, Service};
use crate::cpu::Level;
use crate::engine::Variant;
use crate::ids::{GameId, PlayerId};
use crate::pool::Pool;
use crate::store::{self, GameFilter, GamePage, HISTORY_PAGE, HistoryRow, OpponentRow, Receipt, Tally};

/// What a player's finished games come to.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Rated games: how often the player had which place in which pool.
    pub places: Vec<(Pool, i16, i64)>,
    /// Unranked games: how the player did against each level of the computer, and against people (without a level).
    pub unranked: Vec<(Variant, Option<Level>, Tally)>,
    /// Rated games: whom the player has met most often.
    pub opponents: Vec<OpponentRow>,
}

impl Service {
    /// The receipts of a game by seat; none if it has not been rated.
    ///
    /// # Errors
    /// `GameNotFound`, also for a game that is not the viewer's to see.
    pub async fn receipts(&self, viewer: Option<PlayerId>, id: GameId) -> Result<Vec<Receipt>> {
        let mut db = self.database.connection().await?;
        visible(&mut db, id, viewer).await?;
        let receipts = store::receipts(&mut db, id).await?;
        db.done();
        Ok(receipts)
    }

    /// A page of the changes of a player's rating in a pool, newest first, before the one with this number; and whether
    /// there are older ones.
    ///
    /// # Errors
    /// `PlayerNotFound`.
    pub async fn rating_history(
        &self,
        player: PlayerId,
        pool: Pool,
        before: Option<i32>,
    ) -> Result<(Vec<HistoryRow>, bool)> {
        let mut db = self.database.connection().await?;
        store::player(&mut db, player).await?.ok_or(Error::PlayerNotFound)?;
        let mut rows = store::rating_history(&mut db, player, pool, before).await?;
        db.done();
        let more = rows.len() > HISTORY_PAGE;
        rows.truncate(HISTORY_PAGE);
        Ok((rows, more))
    }

    /// A page of the games of a player that `viewer` may see, newest first.
    ///
    /// # Errors
    /// `PlayerNotFound`.
    pub async fn games_of(
        &self,
        viewer: Option<PlayerId>,
        player: PlayerId,
        filter: GameFilter,
    ) -> Result<GamePage> {
        let mut db = self.database.connection().await?;
        store::player(&mut db, player).await?.ok_or(Error::PlayerNotFound)?;
        let page = store::list_games(&mut db, GameFilter { player: Some(player), ..filter }, viewer).await?;
        db.done();
        Ok(page)
    }

    /// What a player's finished games come to. Those of private groups are counted too: a number tells nobody of them.
    ///
    /// # Errors
    /// `PlayerNotFound`.
    pub async fn statistics(&self, player: PlayerId) -> Result<Statistics> {
        let mut db = self.database.connection().await?;
        store::player(&mut db, player).await?.ok_or(Error::PlayerNotFound)?;
        let statistics = Statistics {
            places: store::places_by_pool(&mut db, player).await?,
            unranked: store::unranked_tallies(&mut db, player).await?,
            opponents: store::opponents(&mut db, player).await?,
        };
        db.done();
        Ok(statistics)
    }
}
