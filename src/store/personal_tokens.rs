//! The tokens that programs have.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{PlayerKind, Result, corrupt};
use crate::account::{Scope, Scopes, TokenHash};
use crate::ids::{PersonalTokenId, PlayerId};

/// A token as its owner sees it: without its text, which nobody has but the program.
#[derive(Clone, Debug)]
pub struct PersonalTokenRow {
    /// Which one.
    pub id: PersonalTokenId,
    /// What its owner calls it.
    pub name: String,
    /// What it is good for.
    pub scopes: Scopes,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// When it was last used, to the minute.
    pub last_used_at: Option<OffsetDateTime>,
    /// When it ends by itself.
    pub expires_at: Option<OffsetDateTime>,
}

/// A token that somebody presents.
#[derive(Clone, Copy, Debug)]
pub struct PresentedToken {
    /// Which one.
    pub id: PersonalTokenId,
    /// Whose.
    pub player: PlayerId,
    /// What it is good for.
    pub scopes: Scopes,
    /// When it ends by itself.
    pub expires_at: Option<OffsetDateTime>,
}

/// A token to be kept.
pub struct NewPersonalToken<'a> {
    /// Which one.
    pub id: PersonalTokenId,
    /// Whose.
    pub player: PlayerId,
    /// What its owner calls it.
    pub name: &'a str,
    /// By what it is known again.
    pub hash: TokenHash,
    /// What it is good for.
    pub scopes: Scopes,
    /// When it ends by itself.
    pub expires_at: Option<OffsetDateTime>,
}

fn stored_scopes(names: &[String]) -> Result<Scopes> {
    let scopes = names.iter().map(|name| name.parse::<Scope>());
    scopes.collect::<std::result::Result<_, _>>().map_err(|e| corrupt("personal_token.scopes", e))
}

/// What kind of player this is, locked against a second token that is made at the same time.
pub async fn lock_kind(db: &mut PgConnection, player: PlayerId) -> Result<Option<PlayerKind>> {
    sqlx::query_scalar!("select kind from player where id = $1 for no key update", player.uuid())
        .fetch_optional(db)
        .await?
        .map(|kind| PlayerKind::stored(&kind))
        .transpose()
}

/// Keeps a token, unless its player has `most` already; when it was made.
pub async fn insert_personal_token(
    db: &mut PgConnection,
    new: &NewPersonalToken<'_>,
    most: i64,
) -> Result<Option<OffsetDateTime>> {
    let scopes: Vec<String> = new.scopes.iter().map(|scope| scope.as_str().to_owned()).collect();
    sqlx::query_scalar!(
        "insert into personal_token (id, player_id, name, hash, scopes, expires_at)
         select $1, $2, $3, $4, $5, $6
         where (select count(*) from personal_token where player_id = $2) < $7
         returning created_at",
        new.id.uuid(),
        new.player.uuid(),
        new.name,
        new.hash.as_slice(),
        &scopes,
        new.expires_at,
        most
    )
    .fetch_optional(db)
    .await
}

/// The tokens of a player, in the order in which they were made.
pub async fn personal_tokens(db: &mut PgConnection, player: PlayerId) -> Result<Vec<PersonalTokenRow>> {
    sqlx::query!(
        "select id, name, scopes, created_at, last_used_at, expires_at from personal_token
         where player_id = $1 order by player_id, id",
        player.uuid()
    )
    .fetch_all(db)
    .await?
    .into_iter()
    .map(|row| {
        Ok(PersonalTokenRow {
            id: row.id.into(),
            name: row.name,
            scopes: stored_scopes(&row.scopes)?,
            created_at: row.created_at,
            last_used_at: row.last_used_at,
            expires_at: row.expires_at,
        })
    })
    .collect()
}

/// Removes a token of this player; false when there is none.
pub async fn remove_personal_token(
    db: &mut PgConnection,
    player: PlayerId,
    id: PersonalTokenId,
) -> Result<bool> {
    let done =
        sqlx::query!("delete from personal_token where id = $1 and player_id = $2", id.uuid(), player.uuid())
            .execute(db)
            .await?;
    Ok(done.rows_affected() == 1)
}

/// Removes all tokens of a player; those that there were.
pub async fn remove_personal_tokens(db: &mut PgConnection, player: PlayerId) -> Result<Vec<PersonalTokenId>> {
    let removed =
        sqlx::query_scalar!("delete from personal_token where player_id = $1 returning id", player.uuid())
            .fetch_all(db)
            .await?;
    Ok(removed.into_iter().map(PersonalTokenId::from).collect())
}

/// The token with this hash. That it was used is noted once a minute, unless it has expired.
pub async fn use_personal_token(db: &mut PgConnection, hash: &TokenHash) -> Result<Option<PresentedToken>> {
    let row = sqlx::query!(
        "with used as (
             update personal_token set last_used_at = date_trunc('minute', now())
             where hash = $1 and last_used_at is distinct from date_trunc('minute', now())
               and (expires_at is null or expires_at > now())
         )
         select id, player_id, scopes, expires_at from personal_token where hash = $1",
        hash.as_slice()
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(PresentedToken {
            id: row.id.into(),
            player: row.player_id.into(),
            scopes: stored_scopes(&row.scopes)?,
            expires_at: row.expires_at,
        })
    })
    .transpose()
}
