//! Players whom a player does not want to meet.

use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::Result;
use super::identity::{PlayerKind, PlayerRow};
use crate::ids::PlayerId;

/// A player who is blocked.
#[derive(Clone, Debug)]
pub struct BlockRow {
    /// Who.
    pub player: PlayerRow,
    /// Since when.
    pub created_at: OffsetDateTime,
}

/// Blocks `blocked` for `player`, unless so many are blocked already. Repeating it changes nothing.
pub async fn insert_block(
    db: &mut PgConnection,
    player: PlayerId,
    blocked: PlayerId,
    most: i64,
) -> Result<()> {
    sqlx::query!(
        "insert into block (player_id, blocked_id)
         select $1, $2 where (select count(*) from block where player_id = $1) < $3
         on conflict do nothing",
        player.uuid(),
        blocked.uuid(),
        most
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Ends a block, if there is one.
pub async fn delete_block(db: &mut PgConnection, player: PlayerId, blocked: PlayerId) -> Result<()> {
    sqlx::query!("delete from block where player_id = $1 and blocked_id = $2", player.uuid(), blocked.uuid())
        .execute(db)
        .await?;
    Ok(())
}

/// A row of the two queries below.
struct Stored {
    id: Uuid,
    name: String,
    kind: String,
    created_at: OffsetDateTime,
}

impl TryFrom<Stored> for BlockRow {
    type Error = sqlx::Error;

    fn try_from(row: Stored) -> Result<Self> {
        let player = PlayerRow { id: row.id.into(), name: row.name, kind: PlayerKind::stored(&row.kind)? };
        Ok(Self { player, created_at: row.created_at })
    }
}

/// The block of `blocked` by `player`.
pub async fn block(db: &mut PgConnection, player: PlayerId, blocked: PlayerId) -> Result<Option<BlockRow>> {
    sqlx::query_as!(
        Stored,
        "select p.id, p.name, p.kind, b.created_at from block b join player p on p.id = b.blocked_id
         where b.player_id = $1 and b.blocked_id = $2",
        player.uuid(),
        blocked.uuid()
    )
    .fetch_optional(db)
    .await?
    .map(BlockRow::try_from)
    .transpose()
}

/// Whom `player` has blocked, after this one in the order of their ids: so many at most.
pub async fn blocks(
    db: &mut PgConnection,
    player: PlayerId,
    after: Option<PlayerId>,
    most: i64,
) -> Result<Vec<BlockRow>> {
    sqlx::query_as!(
        Stored,
        "select p.id, p.name, p.kind, b.created_at from block b join player p on p.id = b.blocked_id
         where b.player_id = $1 and b.blocked_id > coalesce($2, '00000000-0000-0000-0000-000000000000'::uuid)
         order by b.blocked_id limit $3",
        player.uuid(),
        after.map(PlayerId::uuid),
        most
    )
    .fetch_all(db)
    .await?
    .into_iter()
    .map(BlockRow::try_from)
    .collect()
}

/// Whether any of these players has blocked `player`.
pub async fn is_blocked_by(db: &mut PgConnection, player: PlayerId, others: &[PlayerId]) -> Result<bool> {
    let others: Vec<Uuid> = others.iter().map(|id| id.uuid()).collect();
    sqlx::query_scalar!(
        r#"select exists (select from block where player_id = any($2) and blocked_id = $1) as "blocked!""#,
        player.uuid(),
        &others
    )
    .fetch_one(db)
    .await
}
