//! Connections to the database.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgConnection, PgPool, Postgres, Transaction};

use tokio::time::timeout;

use super::Result;

/// Connections of one thread: on two cores 8 to 16 in all were best.
const CONNECTIONS: u32 = 6;
/// How many of these are kept at hand.
const AT_HAND: usize = 3;
/// In which a connection that was given up has to answer, or is closed: its host may have vanished without a word.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// After how long a rest a connection is pinged before it is used: the database may have been restarted.
const RESTED: Duration = Duration::from_secs(30);

/// How PostgreSQL serves each connection of the service.
pub const SESSION: [(&str, &str); 10] = [
    ("default_transaction_isolation", "read committed"),
    // Plans are made once for each statement: making them anew costs more than carrying them out. They may
    // be made while a table is still small and with every value unknown, and would read and sort it whole
    // for as long as they live; every statement here is meant to go along an index, in its order.
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_sort", "off"),
    // Nor is an index left for another whose rows happen to lie in order: no page is far away any more.
    ("random_page_cost", "1.1"),
    // What has to be sorted all the same looks so dear then that it would be compiled each time.
    ("jit", "off"),
    ("timezone", "UTC"),
    ("statement_timeout", "15s"),
    ("idle_in_transaction_session_timeout", "15s"),
];

/// Connections of one thread. Clones share them.
///
/// They pin `read committed`: there the loser of a race for a game updates no row, where a stricter level would give
/// an error. sqlx's pool pings every connection that comes back to it, one more round trip for each request; so those
/// that have just served one without a fault are kept at hand, and only the others go back to the pool.
#[derive(Clone)]
pub struct Database {
    pub(super) pool: PgPool,
    at_hand: AtHand,
}

type AtHand = Arc<Mutex<Vec<(Instant, PoolConnection<Postgres>)>>>;

/// A connection for statements that stand alone. Say [`Connection::done`] when they have succeeded; one that is simply
/// dropped is pinged before anybody else gets it, and closed if it does not answer.
pub struct Connection {
    /// `None` only while it is given back.
    connection: Option<PoolConnection<Postgres>>,
    at_hand: AtHand,
}

impl Database {
    /// Connects when first used.
    pub fn new(options: PgConnectOptions) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(Duration::from_secs(10))
            .test_before_acquire(false)
            .before_acquire(|connection, meta| {
                Box::pin(async move {
                    let rested = meta.idle_for > RESTED;
                    Ok(!rested || sqlx::Connection::ping(connection).await.is_ok())
                })
            })
            .connect_lazy_with(options.options(SESSION));
        Self { pool, at_hand: Arc::default() }
    }

    /// The same database over one connection more, which is for nobody else.
    pub fn apart(&self) -> Self {
        let options = self.pool.options().clone().max_connections(1);
        let pool = options.connect_lazy_with((*self.pool.connect_options()).clone());
        Self { pool, at_hand: Arc::default() }
    }

    /// A connection.
    ///
    /// # Errors
    /// When there is none within ten seconds.
    pub async fn connection(&self) -> Result<Connection> {
        let fresh = lock(&self.at_hand).pop().filter(|(since, _)| since.elapsed() < RESTED);
        let connection = match fresh {
            Some((_, connection)) => connection,
            None => self.pool.acquire().await?,
        };
        Ok(Connection { connection: Some(connection), at_hand: self.at_hand.clone() })
    }

    /// A transaction, rolled back unless it is committed.
    ///
    /// # Errors
    /// When there is no connection within ten seconds.
    pub async fn begin(&self) -> Result<Transaction<'static, Postgres>> {
        // On a task of its own, which nobody can abandon half way: sqlx 0.9 forgets a transaction whose BEGIN was sent
        // but not awaited, and would lend the connection to the next request with the transaction open.
        let pool = self.pool.clone();
        tokio::spawn(async move { pool.begin().await }).await.map_err(|_| sqlx::Error::WorkerCrashed)?
    }

    /// How many connections are open, and how many of them idle.
    pub fn connections(&self) -> (u32, usize) {
        (self.pool.size(), self.pool.num_idle() + lock(&self.at_hand).len())
    }

    /// Closes all connections, once they are done.
    pub async fn close(&self) {
        lock(&self.at_hand).clear();
        self.pool.close().await;
    }
}

impl Connection {
    /// Everything went well: the connection is kept at hand for the next request.
    pub fn done(mut self) {
        let connection = self.connection.take();
        let mut at_hand = lock(&self.at_hand);
        if at_hand.len() < AT_HAND {
            at_hand.extend(connection.map(|connection| (Instant::now(), connection)));
        }
    }
}

impl Drop for Connection {
    /// The pool itself would wait for as long as the system takes to notice that nobody is there any more.
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        tokio::spawn(async move {
            let ping = timeout(ANSWERS_WITHIN, sqlx::Connection::ping(&mut *connection)).await;
            if !matches!(ping, Ok(Ok(()))) {
                connection.close_on_drop();
            }
        });
    }
}

fn lock(at_hand: &AtHand) -> MutexGuard<'_, Vec<(Instant, PoolConnection<Postgres>)>> {
    at_hand.lock().expect("nobody panics while holding it")
}

impl Deref for Connection {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.connection.as_ref().expect("it has not been given back")
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.connection.as_mut().expect("it has not been given back")
    }
}
