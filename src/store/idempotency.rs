//! What creating requests with an `Idempotency-Key` made, kept for a day.

use sqlx::PgConnection;
use uuid::Uuid;

use super::Result;
use crate::ids::PlayerId;

/// Claims a key for what this transaction is about to create; false when the key has been used (or another
/// request that uses it has just committed: the insert waits for that).
pub async fn remember(
    db: &mut PgConnection,
    player: PlayerId,
    operation: &str,
    key: &str,
    body_hash: &[u8],
    result: Uuid,
) -> Result<bool> {
    let done = sqlx::query!(
        "insert into idempotency (player_id, operation, key, body_hash, result_id) values ($1, $2, $3, $4, $5)
         on conflict (player_id, operation, key) do update
         set body_hash = excluded.body_hash, result_id = excluded.result_id, created_at = now()
         where idempotency.created_at < now() - interval '24 hours'",
        player.uuid(),
        operation,
        key,
        body_hash,
        result
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// What a key made: the hash of its body and the id.
pub async fn recall(
    db: &mut PgConnection,
    player: PlayerId,
    operation: &str,
    key: &str,
) -> Result<Option<(Vec<u8>, Uuid)>> {
    let row = sqlx::query!(
        "select body_hash, result_id from idempotency where player_id = $1 and operation = $2 and key = $3",
        player.uuid(),
        operation,
        key
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|r| (r.body_hash, r.result_id)))
}

/// Forgets keys older than a day.
pub async fn forget_answers(db: &mut PgConnection) -> Result<()> {
    sqlx::query!("delete from idempotency where created_at < now() - interval '24 hours'")
        .execute(db)
        .await?;
    Ok(())
}
