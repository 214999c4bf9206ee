//! Reviews of finished games.

use sqlx::PgConnection;

use super::{Result, corrupt};
use crate::ids::GameId;

/// What the moves of a game were worth, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReview {
    /// Before the first move and after each: the margin of seat 0 over seat 1 under best play.
    pub margins: Vec<Option<i16>>,
    /// By move: a pit that keeps the margin before it.
    pub best: Vec<Option<u8>>,
}

/// The review of a game, if it has been computed.
pub async fn review(db: &mut PgConnection, game: GameId) -> Result<Option<StoredReview>> {
    let row = sqlx::query!(
        r#"select margins as "margins: Vec<Option<i16>>", best as "best: Vec<Option<i16>>" from review where game_id = $1"#,
        game.uuid()
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        let pit = |pit: Option<i16>| pit.map(u8::try_from).transpose();
        let best = row.best.into_iter().map(pit).collect::<std::result::Result<_, _>>();
        Ok(StoredReview { margins: row.margins, best: best.map_err(|e| corrupt("review.best", e))? })
    })
    .transpose()
}

/// Keeps a review unless another process has been faster; says whether it is this one that is kept.
pub async fn insert_review(db: &mut PgConnection, game: GameId, review: &StoredReview) -> Result<bool> {
    let best: Vec<Option<i16>> = review.best.iter().map(|pit| pit.map(i16::from)).collect();
    let inserted = sqlx::query!(
        "insert into review (game_id, margins, best) values ($1, $2, $3) on conflict (game_id) do nothing",
        game.uuid(),
        &review.margins as &[Option<i16>],
        &best as &[Option<i16>]
    )
    .execute(db)
    .await?;
    Ok(inserted.rows_affected() == 1)
}
