//! Accounts that programs play for.

use sqlx::PgConnection;

use super::Result;
use crate::ids::PlayerId;

/// Makes an account a bot, before its first ranked game; whether it did. Lock the player's tickets first: a game may be
/// about to begin.
pub async fn make_bot(db: &mut PgConnection, player: PlayerId) -> Result<bool> {
    let done = sqlx::query!(
        "update player set kind = 'bot' where id = $1 and kind = 'account'
             and not exists (select from seat s join game g on g.id = s.game_id where s.player_id = $1 and g.ranked)",
        player.uuid()
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}
