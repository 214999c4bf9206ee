//! Lists of games, newest first, by keyset.

use sqlx::PgConnection;

use super::games::{StoredGame, games};
use super::{Result, corrupt};
use crate::engine::Variant;
use crate::ids::{GameId, PlayerId};

/// Which games a list shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct GameFilter {
    /// Of this variant.
    pub variant: Option<Variant>,
    /// `running`, `finished` or `aborted`.
    pub status: Option<&'static str>,
    /// In which this player has a seat.
    pub player: Option<PlayerId>,
    /// Older than this game.
    pub before: Option<GameId>,
}

/// Up to `limit` games that `viewer` may see, newest first.
pub async fn list_games(
    db: &mut PgConnection,
    filter: GameFilter,
    viewer: Option<PlayerId>,
    limit: i64,
) -> Result<Vec<StoredGame>> {
    let viewer_id = viewer.map(PlayerId::uuid);
    let ids = sqlx::query_scalar!(
        "select g.id from game g left join play_group pg on pg.id = g.group_id
         where ($1::text is null or g.variant = $1)
           and ($2::text is null or g.status = $2)
           and ($3::uuid is null or g.id in (select s.game_id from seat s where s.player_id = $3))
           and ($4::uuid is null or g.id < $4)
           and (pg.private is not true
                or exists (select from group_member m where m.group_id = g.group_id and m.player_id = $5)
                or exists (select from seat v where v.game_id = g.id and v.player_id = $5))
         order by g.id desc limit $6",
        filter.variant.map(Variant::as_str),
        filter.status,
        filter.player.map(PlayerId::uuid),
        filter.before.map(GameId::uuid),
        viewer_id,
        limit
    )
    .fetch_all(&mut *db)
    .await?;
    games(db, &ids, viewer).await
}

/// What the audit compares with a replay of the log.
pub struct Stored {
    /// The game as its row says, if the row can be read at all.
    pub game: std::result::Result<StoredGame, sqlx::Error>,
    /// The places by seat, when it has finished.
    pub places: Option<Vec<i16>>,
    /// Which game.
    pub id: GameId,
}

/// Up to `limit` games after `after` in the order of their making.
pub async fn all_games(db: &mut PgConnection, after: Option<GameId>, limit: i64) -> Result<Vec<Stored>> {
    let rows = sqlx::query!(
        "select id, places from game where $1::uuid is null or id > $1 order by id limit $2",
        after.map(GameId::uuid),
        limit
    )
    .fetch_all(&mut *db)
    .await?;
    let mut stored = Vec::with_capacity(rows.len());
    for row in rows {
        // One by one: a row that cannot be read is a finding about that game, not the end of the audit.
        let game = match games(db, &[row.id], None).await {
            Ok(mut found) => found.pop().ok_or(sqlx::Error::RowNotFound),
            Err(sqlx::Error::Decode(why)) => Err(corrupt("row", why)),
            Err(other) => return Err(other),
        };
        stored.push(Stored { game, places: row.places, id: row.id.into() });
    }
    Ok(stored)
}

/// Lets the transaction that has just begun see one state of the database from now on.
pub async fn read_one_snapshot(db: &mut PgConnection) -> Result<()> {
    sqlx::query!("set transaction isolation level repeatable read, read only").execute(db).await?;
    Ok(())
}
