//! All SQL of the project, a file for each subject. Functions take an open connection: only `service`
//! begins transactions, and nothing here decides anything.

mod accounts;
mod append;
mod blocks;
mod bots;
mod database;
mod departures;
mod due;
mod events;
mod export;
mod games;
mod group_log;
mod groups;
mod idempotency;
mod identity;
mod ledger;
mod lists;
mod me;
mod new_games;
mod news;
mod personal_tokens;
mod presence;
mod rating_history;
mod ratings;
mod reviews;
mod season;
mod sessions;
mod standings;
mod statistics;
mod tickets;

pub use accounts::{
    AccountRow, account, account_by_name, account_by_recovery_code, guest_has_something, insert_account,
    lock_account, promote_guest, replace_recovery_codes, set_password, use_recovery_code,
};
pub use append::{Appended, Condition, DueChange, Progress, Seconds, append};
pub use blocks::{BlockRow, block, blocks, delete_block, insert_block, is_blocked_by};
pub use bots::make_bot;
pub use database::{Connection, Database, SESSION};
pub use departures::{
    IdleGuest, Ties, delete_player, erase_guest, hold_players, idle_guests, is_idle, lock_going, lock_idle,
    lock_open_tickets, ties,
};
pub use due::{
    Due, Lease, lease_computer_turns, lease_due, next_due, next_lease_to_end, put_off, renew_leases,
};
pub use events::{By, EventKind, EventRow, NewEvent, events_after};
pub use export::{EXPORT_PAGE, Line, Mark as ExportMark, Part, export_may_go_on, export_page};
pub use games::{Occupant, SeatRating, StoredGame, game, games_by_status};
pub use group_log::{GroupEvent, GroupEventRow, group_events, groups_after};
pub use groups::{
    GroupRow, GroupSettings, Holder, MemberRow, add_member, group, group_of_code, insert_group, lock_group,
    remove_member, set_game, update_group,
};
pub use idempotency::{forget_answers, recall, remember};
pub use identity::{OwnPlayer, PlayerKind, PlayerRow, insert_player, own_player, player, update_player};
pub use ledger::{LedgerCause, LedgerEntry, LedgerRow, changes_without_rating, ledger_entries, ledgers};
pub use lists::{
    GameFilter, GamePage, Status, Stored, all_games, games_that_are_gone, list_games, read_one_snapshot,
    running_ranked_games,
};
pub use me::{Concerns, Known, SeatedGame, concerns};
pub use new_games::{NewGame, RematchRow, insert_game, offer_rematch, starter};
pub use news::{
    FollowedGame, Listener, credentials_that_ended, games_to_look_at, groups_elsewhere, marks_of_players,
    notify, tickets_that_wait_no_more,
};
pub use personal_tokens::{
    NewPersonalToken, PersonalTokenRow, PresentedToken, insert_personal_token, lock_kind, personal_tokens,
    remove_personal_token, remove_personal_tokens, use_personal_token,
};
pub use presence::{SeatedRow, beat, beat_process, connect, connected, disconnect, note_heard, presence};
pub use rating_history::{Cause, HISTORY_PAGE, HistoryRow, Receipt, rating_history, receipts};
pub use ratings::{
    LockedRating, SeatChange, insert_changes, insert_no_show, listed_seconds, lock_ratings, recent_no_shows,
    release_tickets,
};
pub use reviews::{StoredReview, insert_review, review};
pub use season::{Season, begin_season, finish_season, lock_pool};
pub use sessions::{
    RefreshRow, SessionRow, Successors, end_old_sessions, end_session, end_sessions, end_sessions_beyond,
    forget_sessions, forget_used_tokens, has_session, insert_refresh, insert_session, let_session_end,
    lock_refresh, mark_used, session_goes_on, sessions, sessions_ended_within, successors, touch_session,
};
pub use standings::{
    LEADERBOARD_PAGE, ListedRow, PoolStanding, Rated, leaderboard, live_standings, standings,
};
pub use statistics::{OpponentRow, Tally, opponents, places_by_pool, unranked_tallies};
pub use tickets::{
    Queue, TicketRow, TicketStatus, Waiter, Wish, cancel_ticket, cooldown, expire_tickets, forget_tickets,
    insert_ticket, lock_waiting, match_tickets, may_meet, open_ticket, queues, ticket, try_lock_queue,
    usual_wait, waiters,
};

use sqlx::migrate::Migrator;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};

/// What any query can fail with. Broken constraints are told apart by their names.
pub type Result<T> = std::result::Result<T, sqlx::Error>;

static MIGRATIONS: Migrator = sqlx::migrate!();

/// Brings the schema up to date, on a connection of its own that may take its time. Safe when several processes start
/// at once: they take turns by a database lock.
///
/// # Errors
/// When a migration fails, or the database has been migrated by a newer server.
pub async fn migrate(options: &PgConnectOptions) -> std::result::Result<(), sqlx::migrate::MigrateError> {
    let mut db = PgConnection::connect_with(options).await?;
    MIGRATIONS.run(&mut db).await?;
    Ok(db.close().await?)
}

/// Whether the database answers and has every migration that this program knows.
///
/// # Errors
/// When it does not answer.
pub async fn is_ready(db: &mut PgConnection) -> Result<bool> {
    let newest = MIGRATIONS.iter().map(|m| m.version).max().unwrap_or_default();
    sqlx::query_scalar!(
        r#"select exists (select from _sqlx_migrations where version = $1 and success) as "ready!""#,
        newest
    )
    .fetch_one(db)
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
