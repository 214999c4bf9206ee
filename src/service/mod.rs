//! Use cases: what a caller can do, each as one short transaction at most. HTTP and workers call these; only here do
//! transactions begin.

mod accounts;
mod analysis;
mod attempts;
pub mod audit;
mod blocks;
mod bots;
mod clock;
mod computer;
mod departures;
mod ended;
mod error;
pub mod events;
mod export;
mod games;
mod group_log;
mod groups;
mod hearing;
mod hints;
mod identity;
mod ledger;
mod moves;
mod news;
mod outlook;
mod pairing;
mod passwords;
mod personal_tokens;
mod presence;
mod rated;
mod rating_history;
mod rematch;
mod reviews;
mod season;
mod sessions;
mod standings;
mod starter;
mod streams;
mod thinking;
mod tickets;
mod turn;
mod write;

pub use accounts::{Registered, Registration};
pub use computer::ComputerTurn;
pub use error::{Conflict, Error};
pub use games::{MAX_SEED, NewSolo};
pub use group_log::GroupEventView;
pub use groups::GroupChange;
pub use hints::{Hint, Reason};
pub use identity::{Device, Tokens};
pub use moves::Played;
pub use news::{Found, Listening, Rung, SAID_EVERY, Told, Topic};
pub use outlook::{Outlook, SeatOutlook};
pub use personal_tokens::{Bearer, WantedToken};
pub use presence::{Attendance, Connected, SeatPresence};
pub use rating_history::Statistics;
pub use rematch::Rematch;
pub use reviews::{Outcome, Review, Reviewable, ReviewedMove, ReviewedSeat, TurningPoint};
pub use standings::{Listed, Mark, OwnStanding, Unlisted};
pub use streams::{Concern, GameNews, GameStream, GroupStream, MeStream};
pub use tickets::Ticket;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use computer::Queue;
use ended::Ended;
use hearing::Hearing;
use hints::KeptHints;
use news::News;
use passwords::Passwords;
use personal_tokens::KnownTokens;
use presence::Presence;
use thinking::Thinking;

use crate::account::{Cost, SigningKeys};
use crate::cpu::{Computers, Memory};
use crate::ids::PlayerId;
use crate::store::{self, Database};
use crate::telemetry::Metrics;

/// What the use cases need. Clones share everything but the database connections: see [`Service::on`].
#[derive(Clone)]
pub struct Service {
    database: Database,
    databases: Arc<std::sync::Mutex<Vec<Database>>>,
    keys: Arc<SigningKeys>,
    passwords: Arc<Passwords>,
    metrics: Arc<Metrics>,
    thinking: Arc<Thinking>,
    hints: Arc<KeptHints>,
    /// Held while a review is computed: the thread that thinks about them is one.
    reviewing: Arc<Mutex<()>>,
    counted: Arc<Mutex<Option<(Instant, Counts)>>>,
    news: Arc<News>,
    hearing: Arc<Hearing>,
    presence: Arc<Presence>,
    ended: Arc<Ended>,
    known_tokens: Arc<KnownTokens>,
    /// By what other processes know that this one sees to something.
    process: Uuid,
    /// Computer turns that this process has written and will play.
    pub(crate) computer_turns: Arc<Queue>,
    /// How many microseconds the database's clock is ahead of this process's.
    database_ahead: Arc<AtomicI64>,
    /// Cancelled when the process is about to stop: whoever waits answers now.
    pub(crate) stopping: CancellationToken,
}

/// How many games have which status.
pub type Counts = Vec<(String, i64)>;

/// The outcome of every use case.
pub type Result<T> = std::result::Result<T, Error>;

/// An `Idempotency-Key` with the body it came with.
pub struct IdempotencyKey {
    key: String,
    body_hash: [u8; 32],
}

impl IdempotencyKey {
    /// The key as sent, and the body to which it belongs.
    pub fn new(key: &str, body: &[u8]) -> Self {
        Self { key: key.to_owned(), body_hash: Sha256::digest(body).into() }
    }
}

impl Service {
    /// Use cases on a migrated database.
    pub fn new(
        database: Database,
        keys: SigningKeys,
        password_cost: Cost,
        metrics: Arc<Metrics>,
        stopping: CancellationToken,
        tables: Memory,
    ) -> Self {
        Self {
            databases: Arc::new(std::sync::Mutex::new(vec![database.clone()])),
            database,
            keys: Arc::new(keys),
            passwords: Arc::new(Passwords::new(password_cost)),
            thinking: Arc::new(Thinking::new(
                Arc::new(Computers::new(tables)),
                metrics.clone(),
                stopping.clone(),
            )),
            hints: Arc::default(),
            reviewing: Arc::default(),
            metrics,
            counted: Arc::default(),
            news: Arc::default(),
            hearing: Arc::default(),
            presence: Arc::default(),
            ended: Arc::default(),
            known_tokens: Arc::default(),
            process: Uuid::now_v7(),
            database_ahead: Arc::default(),
            computer_turns: Arc::default(),
            stopping,
        }
    }

    /// The same use cases over connections of their own. Each HTTP thread has its own: a connection's socket belongs
    /// to the event loop that opened it, and every answer would have to wake that thread first.
    pub fn on(&self, database: Database) -> Self {
        self.databases().push(database.clone());
        Self { database, ..self.clone() }
    }

    /// The same use cases over one connection of its own, for what must not wait until others have one to spare.
    pub fn apart(&self) -> Self {
        self.on(self.database.apart())
    }

    /// Ends the threads that think, and closes all connections, once they are done.
    pub async fn close(&self) {
        self.thinking.close();
        let databases = self.databases().clone();
        for database in databases {
            database.close().await;
        }
    }

    fn databases(&self) -> std::sync::MutexGuard<'_, Vec<Database>> {
        self.databases.lock().expect("nobody panics while holding it")
    }

    /// Whether the database answers with the schema that this program needs.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn is_ready(&self) -> Result<bool> {
        let mut db = self.database.connection().await?;
        let ready = store::is_ready(&mut db).await?;
        db.done();
        Ok(ready)
    }

    /// Connections open and idle.
    pub fn connections(&self) -> (u32, usize) {
        let each = self.databases().iter().map(Database::connections).collect::<Vec<_>>();
        each.into_iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    /// How many turns of the computer, and how many analyses, hints and steps of reviews, wait for a thread.
    pub fn waiting_to_think(&self) -> (usize, usize) {
        self.thinking.waiting()
    }

    /// Games by status, for the metrics: counting is work, so it is done every 15 seconds at most.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn games_by_status(&self) -> Result<Counts> {
        let mut counted = self.counted.lock().await;
        if counted.as_ref().is_none_or(|(at, _)| at.elapsed() > Duration::from_secs(15)) {
            let mut db = self.database.connection().await?;
            let games = store::games_by_status(&mut db).await?;
            db.done();
            *counted = Some((Instant::now(), games));
        }
        Ok(counted.as_ref().map(|(_, games)| games.clone()).unwrap_or_default())
    }

    /// Deletes tickets that are closed and old.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn forget_tickets(&self) -> Result<()> {
        let mut db = self.database.connection().await?;
        store::forget_tickets(&mut db).await?;
        db.done();
        Ok(())
    }

    /// Deletes answers of creating requests that nobody repeats any more.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn forget_answers(&self) -> Result<()> {
        let mut db = self.database.connection().await?;
        store::forget_answers(&mut db).await?;
        db.done();
        Ok(())
    }
}

/// Claims `key` for the thing `id` that this transaction creates. `Some` is what an earlier request with the key
/// created: the caller answers with that and lets the transaction go.
async fn claim(
    db: &mut sqlx::PgConnection,
    player: PlayerId,
    operation: &str,
    key: Option<&IdempotencyKey>,
    id: uuid::Uuid,
) -> Result<Option<uuid::Uuid>> {
    let Some(key) = key else { return Ok(None) };
    if store::remember(&mut *db, player, operation, &key.key, &key.body_hash, id).await? {
        return Ok(None);
    }
    match store::recall(db, player, operation, &key.key).await? {
        Some((hash, earlier)) if hash == key.body_hash => Ok(Some(earlier)),
        _ => Err(Error::IdempotencyKeyReused),
    }
}
