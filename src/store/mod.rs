//! All SQL of the project, one file per table or pair of tables. Functions take an open connection: only `service`
//! begins transactions, and nothing here decides anything.

mod events;
mod games;
mod groups;
mod idempotency;
mod identity;
mod lists;
mod new_games;

pub use events::{By, EventKind, EventRow, NewEvent, events_after};
pub use games::{
    Appended, Occupant, Progress, StoredGame, append, game, games_by_status, games_with_a_computer_turn, seq,
};
pub use groups::{
    GroupRow, Holder, MemberRow, add_member, group, group_of_code, insert_group, lock_group, make_host,
    remove_member, set_game, update_group,
};
pub use idempotency::{forget_old, recall, remember};
pub use identity::{
    Family, PlayerKind, PlayerRow, RefreshRow, end_session, family, insert_player, insert_refresh,
    insert_session, lock_refresh, mark_used, player, rename_player,
};
pub use lists::{GameFilter, Status, Stored, all_games, list_games, read_one_snapshot};
pub use new_games::{NewGame, RematchRow, insert_game, offer_rematch, starter};

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, migrate::Migrator};

/// What any query can fail with. Broken constraints are told apart by their names.
pub type Result<T> = std::result::Result<T, sqlx::Error>;

static MIGRATIONS: Migrator = sqlx::migrate!();

/// Connections of one thread: on two cores 8 to 16 in all were best.
const CONNECTIONS: u32 = 6;

/// After how long a rest a connection is pinged before it is used.
const RESTED: std::time::Duration = std::time::Duration::from_secs(30);

/// A pool on the database, with a first connection.
///
/// # Errors
/// When no connection can be made within ten seconds.
pub async fn connect(options: PgConnectOptions) -> Result<PgPool> {
    let pool = pool(options);
    pool.acquire().await?;
    Ok(pool)
}

/// A pool on the database that connects when it is first used. Connections pin `read committed`: there the loser of a race for a game updates no
/// row, where a stricter level would give an error. They are pinged only after a long rest, in which the database may
/// have been restarted: before each use it would be a hidden round trip.
pub fn pool(options: PgConnectOptions) -> PgPool {
    PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(std::time::Duration::from_secs(10))
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                let rested = meta.idle_for > RESTED;
                Ok(!rested || sqlx::Connection::ping(connection).await.is_ok())
            })
        })
        .connect_lazy_with(options.options([
            ("default_transaction_isolation", "read committed"),
            ("timezone", "UTC"),
            ("statement_timeout", "15s"),
            ("idle_in_transaction_session_timeout", "15s"),
        ]))
}

/// Brings the schema up to date. Safe when several processes start at once: they take turns by a database lock.
///
/// # Errors
/// When a migration fails, or the database has been migrated by a newer server.
pub async fn migrate(pool: &PgPool) -> std::result::Result<(), sqlx::migrate::MigrateError> {
    MIGRATIONS.run(pool).await
}

/// Whether the database answers and has every migration that this program knows.
///
/// # Errors
/// When it does not answer.
pub async fn is_ready(pool: &PgPool) -> Result<bool> {
    let newest = MIGRATIONS.iter().map(|m| m.version).max().unwrap_or_default();
    sqlx::query_scalar!(
        r#"select exists (select from _sqlx_migrations where version = $1 and success) as "ready!""#,
        newest
    )
    .fetch_one(pool)
    .await
}

/// The name of the constraint that a query broke, if that is why it failed.
pub fn broken_constraint(error: &sqlx::Error) -> Option<&str> {
    error.as_database_error().and_then(sqlx::error::DatabaseError::constraint)
}

/// A stored value that the domain refuses: somebody else has written to the database.
fn corrupt(what: &str, why: impl std::fmt::Display) -> sqlx::Error {
    sqlx::Error::Decode(format!("{what}: {why}").into())
}
