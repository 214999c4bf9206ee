//! Accounts: credentials and recovery codes.

use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::Result;
use crate::account::{CanonicalName, Name, TokenHash, Username};
use crate::ids::PlayerId;

/// The credentials of an account. No `Debug`: they are never logged.
pub struct AccountRow {
    /// Whose.
    pub player: PlayerId,
    /// As it is shown to its owner.
    pub username: String,
    /// What usernames that look alike have in common.
    pub canonical: CanonicalName,
    /// The hash of the password.
    pub password: String,
    /// When the password was last set: the credentials are the same as long as this is.
    pub password_changed_at: OffsetDateTime,
}

/// An account as it is stored.
struct Stored {
    player_id: Uuid,
    username: String,
    canonical: String,
    password: String,
    password_changed_at: OffsetDateTime,
}

impl From<Stored> for AccountRow {
    fn from(row: Stored) -> Self {
        Self {
            player: row.player_id.into(),
            username: row.username,
            canonical: CanonicalName::stored(row.canonical),
            password: row.password,
            password_changed_at: row.password_changed_at,
        }
    }
}

/// The account with this username, or one that looks like it.
pub async fn account_by_name(db: &mut PgConnection, name: &CanonicalName) -> Result<Option<AccountRow>> {
    let row = sqlx::query_as!(
        Stored,
        "select player_id, username, canonical, password, password_changed_at from account where canonical = $1",
        name.as_str()
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(AccountRow::from))
}

/// The account of a player.
pub async fn account(db: &mut PgConnection, player: PlayerId) -> Result<Option<AccountRow>> {
    let row = sqlx::query_as!(
        Stored,
        "select player_id, username, canonical, password, password_changed_at from account where player_id = $1",
        player.uuid()
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(AccountRow::from))
}

/// Makes a guest an account, with another name if one is given; false when the player is none (any more).
pub async fn promote_guest(db: &mut PgConnection, player: PlayerId, name: Option<&Name>) -> Result<bool> {
    let done = sqlx::query!(
        "update player set kind = 'account', name = coalesce($2, name) where id = $1 and kind = 'guest'",
        player.uuid(),
        name.map(Name::as_str)
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Gives a player credentials. A username that is taken breaks the constraint `account_username_unique`.
pub async fn insert_account(
    db: &mut PgConnection,
    player: PlayerId,
    name: &Username,
    password: &str,
) -> Result<()> {
    sqlx::query!(
        "insert into account (player_id, username, canonical, password) values ($1, $2, $3, $4)",
        player.uuid(),
        name.as_str(),
        name.canonical().as_str(),
        password
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Locks an account, so that whatever its password allows is done before the password changes or not at all. False when
/// the password has changed since `as_of`, or the account is gone. Another hash of the same password takes the place of
/// the stored one, if it is given.
pub async fn lock_account(
    db: &mut PgConnection,
    player: PlayerId,
    as_of: OffsetDateTime,
    rehashed: Option<&str>,
) -> Result<bool> {
    let done = sqlx::query!(
        "update account set password = coalesce($3, password) where player_id = $1 and password_changed_at = $2",
        player.uuid(),
        as_of,
        rehashed
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Sets a new password, unless it has been changed since `as_of`, or the account is gone: false then.
pub async fn set_password(
    db: &mut PgConnection,
    player: PlayerId,
    as_of: OffsetDateTime,
    password: &str,
) -> Result<bool> {
    let done = sqlx::query!(
        "update account set password = $3, password_changed_at = clock_timestamp()
         where player_id = $1 and password_changed_at = $2",
        player.uuid(),
        as_of,
        password
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Replaces all recovery codes of a player.
pub async fn replace_recovery_codes(
    db: &mut PgConnection,
    player: PlayerId,
    codes: &[TokenHash],
) -> Result<()> {
    let codes: Vec<Vec<u8>> = codes.iter().map(|code| code.to_vec()).collect();
    sqlx::query!("delete from recovery_code where player_id = $1", player.uuid()).execute(&mut *db).await?;
    sqlx::query!(
        "insert into recovery_code (hash, player_id) select unnest($1::bytea[]), $2",
        &codes,
        player.uuid()
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The account with this username, if this is one of its recovery codes, not used yet.
pub async fn account_by_recovery_code(
    db: &mut PgConnection,
    name: &CanonicalName,
    code: &TokenHash,
) -> Result<Option<AccountRow>> {
    let row = sqlx::query_as!(
        Stored,
        "select player_id, username, canonical, password, password_changed_at from account a
         where a.canonical = $1
           and exists (select from recovery_code c where c.hash = $2 and c.player_id = a.player_id)",
        name.as_str(),
        code.as_slice()
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(AccountRow::from))
}

/// Uses a recovery code up; false when somebody else has.
pub async fn use_recovery_code(db: &mut PgConnection, player: PlayerId, code: &TokenHash) -> Result<bool> {
    let done = sqlx::query!(
        "delete from recovery_code where hash = $1 and player_id = $2",
        code.as_slice(),
        player.uuid()
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Whether a player is a guest who would lose something with the tokens of the device: a seat in a running game, a place
/// in a group, an open ticket, a rating.
pub async fn guest_has_something(db: &mut PgConnection, player: PlayerId) -> Result<bool> {
    let player: Uuid = player.uuid();
    sqlx::query_scalar!(
        r#"select (exists (select from seat s join game g on g.id = s.game_id
                           where s.player_id = p.id and g.status = 'running')
                   or exists (select from group_member where player_id = p.id)
                   or exists (select from ticket where player_id = p.id and open)
                   or exists (select from rating where player_id = p.id)) as "has!"
           from player p where p.id = $1 and p.kind = 'guest'"#,
        player
    )
    .fetch_optional(db)
    .await
    .map(Option::unwrap_or_default)
}
