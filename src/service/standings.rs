//! Where players stand: in their pools, on the leaderboards.

use super::{Error, Result, Service};
use crate::ids::PlayerId;
use crate::pool::Pool;
use crate::rating::{Rating, Standing};
use crate::store::{self, LEADERBOARD_PAGE, ListedRow, PoolStanding};

/// How a player stands in a pool.
#[derive(Clone, Copy, Debug)]
pub struct OwnStanding {
    /// Which pool.
    pub pool: Pool,
    /// The live standing: that of a new player before the first rated game.
    pub standing: Standing,
    /// How many rated games.
    pub games: i32,
    /// How many different opponents.
    pub opponents: i32,
    /// How many the leaderboard asks for.
    pub opponents_needed: i32,
    /// The rank on the leaderboard, or why there is none.
    pub rank: std::result::Result<i64, Unlisted>,
}

/// Why a player is not on a leaderboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlisted {
    /// No rated game yet.
    NoGames,
    /// None for too long.
    Idle,
    /// The rating is too uncertain.
    Provisional,
    /// Always the same opponents.
    TooFewOpponents,
}

impl From<PoolStanding> for OwnStanding {
    fn from(stored: PoolStanding) -> Self {
        let PoolStanding { pool, opponents_needed, rated } = stored;
        let Some(rated) = rated else {
            let (standing, rank) = (Standing::NEW, Err(Unlisted::NoGames));
            return Self { pool, standing, games: 0, opponents: 0, opponents_needed, rank };
        };
        let why_not = || match rated {
            _ if rated.idle => Unlisted::Idle,
            _ if !rated.current => Unlisted::Provisional,
            _ => Unlisted::TooFewOpponents,
        };
        Self {
            pool,
            standing: rated.standing,
            games: rated.games,
            opponents: rated.opponents,
            opponents_needed,
            rank: rated.above.map(|above| above + 1).ok_or_else(why_not),
        }
    }
}

/// A player on a leaderboard.
#[derive(Clone, Debug)]
pub struct Listed {
    /// One more than there are players with a higher rating.
    pub rank: u32,
    /// Who, and how good.
    pub row: ListedRow,
}

/// The player with whom a page of a leaderboard ended. The next page counts on from there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// The player's rating.
    pub rating: Rating,
    /// Who.
    pub player: PlayerId,
    /// The rank that the player was given.
    pub rank: u32,
    /// How many players the list had up to here.
    pub count: u32,
}

impl Service {
    /// How a player stands in every pool with a rated game.
    ///
    /// # Errors
    /// `PlayerNotFound`.
    pub async fn ratings(&self, player: PlayerId) -> Result<Vec<OwnStanding>> {
        let mut db = self.database.connection().await?;
        store::player(&mut db, player).await?.ok_or(Error::PlayerNotFound)?;
        let standings = store::standings(&mut db, player, &Pool::ALL).await?;
        db.done();
        Ok(standings.into_iter().filter(|one| one.rated.is_some()).map(OwnStanding::from).collect())
    }

    /// How a player stands in a pool. One query.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn own_standing(&self, player: PlayerId, pool: Pool) -> Result<OwnStanding> {
        let mut db = self.database.connection().await?;
        let standings = store::standings(&mut db, player, &[pool]).await?;
        db.done();
        Ok(standings.into_iter().map(OwnStanding::from).next().expect("there is one for each pool"))
    }

    /// A page of a leaderboard, best first, and where the next one begins if there is one. One query.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn leaderboard(&self, pool: Pool, after: Option<Mark>) -> Result<(Vec<Listed>, Option<Mark>)> {
        let mut db = self.database.connection().await?;
        let mut rows = store::leaderboard(&mut db, pool, after.map(|m| (m.rating, m.player))).await?;
        db.done();
        let more = rows.len() > LEADERBOARD_PAGE;
        rows.truncate(LEADERBOARD_PAGE);
        let mut last = after;
        let mut listed = Vec::with_capacity(rows.len());
        for row in rows {
            let (rating, player) = (row.standing.rating, row.player.id);
            let count = last.map_or(0, |mark| mark.count).saturating_add(1);
            // Equal ratings share a rank.
            let rank = last.filter(|mark| mark.rating == rating).map_or(count, |mark| mark.rank);
            last = Some(Mark { rating, player, rank, count });
            listed.push(Listed { rank, row });
        }
        Ok((listed, last.filter(|_| more)))
    }
}
