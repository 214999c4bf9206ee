//! What a player's finished games come to.

use sqlx::PgConnection;

use super::identity::{PlayerKind, PlayerRow};
use super::standings::pool as stored_pool;
use super::{Result, corrupt};
use crate::cpu::Level;
use crate::engine::Variant;
use crate::ids::PlayerId;
use crate::pool::Pool;

/// How often a player has met others, and how that went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How often they met in a finished game.
    pub played: i64,
    /// How often the player had the better place.
    pub won: i64,
    /// How often they shared a place.
    pub tied: i64,
}

/// How often a player has had which place in the rated games of which pool.
pub async fn places_by_pool(db: &mut PgConnection, player: PlayerId) -> Result<Vec<(Pool, i16, i64)>> {
    let rows = sqlx::query!(
        r#"select pool::text as "pool!", place, count(*) as "games!" from rating_change where player_id = $1
           group by pool, place order by pool, place"#,
        player.uuid()
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(|row| Ok((stored_pool(&row.pool)?, row.place, row.games))).collect()
}

/// How a player has done in unranked games against each level of the computer, and against people (without a level).
/// Each other seat of a game counts.
pub async fn unranked_tallies(
    db: &mut PgConnection,
    player: PlayerId,
) -> Result<Vec<(Variant, Option<Level>, Tally)>> {
    let rows = sqlx::query!(
        r#"select g.variant::text as "variant!", o.level, count(*) as "played!",
                  count(*) filter (where g.places[s.seat + 1] < g.places[o.seat + 1]) as "won!",
                  count(*) filter (where g.places[s.seat + 1] = g.places[o.seat + 1]) as "tied!"
           from seat s
           join game g on g.id = s.game_id
           join seat o on o.game_id = s.game_id and o.seat <> s.seat
           where s.player_id = $1 and g.status = 'finished' and not g.ranked
           group by g.variant, o.level"#,
        player.uuid()
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let variant = row.variant.parse().map_err(|e| corrupt("game.variant", e))?;
            let level = row.level.as_deref().map(str::parse).transpose().map_err(|e| corrupt("seat", e))?;
            Ok((variant, level, Tally { played: row.played, won: row.won, tied: row.tied }))
        })
        .collect()
}

/// Whom a player has met in the rated games of a pool, and how that went.
#[derive(Clone, Debug)]
pub struct OpponentRow {
    /// The other player.
    pub player: PlayerRow,
    /// In which pool.
    pub pool: Pool,
    /// How the player whose statistics these are has done.
    pub tally: Tally,
}

/// The twenty whom a player has met most often in rated games, by pool.
pub async fn opponents(db: &mut PgConnection, player: PlayerId) -> Result<Vec<OpponentRow>> {
    let rows = sqlx::query!(
        r#"select p.id, p.name, p.kind, o.pool::text as "pool!", o.games, o.won, o.tied
           from opponent o join player p on p.id = o.opponent_id
           where o.player_id = $1 order by o.games desc, o.pool, o.opponent_id limit 20"#,
        player.uuid()
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let kind = PlayerKind::stored(&row.kind)?;
            Ok(OpponentRow {
                player: PlayerRow { id: row.id.into(), name: row.name, kind },
                pool: stored_pool(&row.pool)?,
                tally: Tally { played: row.games.into(), won: row.won.into(), tied: row.tied.into() },
            })
        })
        .collect()
}
