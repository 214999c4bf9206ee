//! Players whom a player does not want to meet.

use super::{Error, Result, Service, Topic};
use crate::ids::PlayerId;
use crate::store::{self, BlockRow};

/// How many players one can block: matchmaking looks at all blocks of those who wait.
const MOST: i64 = 1_000;
/// How many a page of the list shows.
const PAGE: usize = 50;

impl Service {
    /// Blocks a player. Once this is done no game that matchmaking makes has both. Repeating it changes nothing.
    ///
    /// # Errors
    /// `PlayerNotFound`, `OwnPlayer`, `TooManyBlocks`.
    pub async fn block(&self, player: PlayerId, blocked: PlayerId) -> Result<()> {
        if player == blocked {
            return Err(Error::OwnPlayer);
        }
        let both = [player, blocked];
        let mut tx = self.database.begin().await?;
        if !store::hold_players(&mut tx, &both).await? {
            return Err(Error::PlayerNotFound);
        }
        // A match that is being made of the two is made before this, or sees it.
        store::lock_open_tickets(&mut tx, &both).await?;
        store::insert_block(&mut tx, player, blocked, MOST).await?;
        store::block(&mut tx, player, blocked).await?.ok_or(Error::TooManyBlocks { most: MOST })?;
        tx.commit().await?;
        // Who is blocked is told of the player's presence no more.
        self.news.tell(Topic::Presence(player), 0);
        Ok(())
    }

    /// Ends a block. Repeating it changes nothing.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn unblock(&self, player: PlayerId, blocked: PlayerId) -> Result<()> {
        let mut db = self.database.connection().await?;
        store::delete_block(&mut db, player, blocked).await?;
        db.done();
        self.news.tell(Topic::Presence(player), 0);
        Ok(())
    }

    /// A block of `player`.
    ///
    /// # Errors
    /// `BlockNotFound`.
    pub async fn block_of(&self, player: PlayerId, blocked: PlayerId) -> Result<BlockRow> {
        let mut db = self.database.connection().await?;
        let block = store::block(&mut db, player, blocked).await?;
        db.done();
        block.ok_or(Error::BlockNotFound)
    }

    /// A page of those whom `player` has blocked, after this one, and whether there are more.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn blocks(&self, player: PlayerId, after: Option<PlayerId>) -> Result<(Vec<BlockRow>, bool)> {
        let mut db = self.database.connection().await?;
        // One more tells whether there are more.
        let mut blocks = store::blocks(&mut db, player, after, PAGE as i64 + 1).await?;
        db.done();
        let more = blocks.len() > PAGE;
        blocks.truncate(PAGE);
        Ok((blocks, more))
    }
}
