//! Passwords are hashed on threads for what blocks, never more at once than there are cores, and only a few wait.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::Instant;

use sqlx::PgConnection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use super::attempts::Attempts;
use super::{Error, Result, Service};
use crate::account::{CanonicalName, Cost, Hasher, Password};
use crate::store::{self, AccountRow};

/// How many may wait for a thread. With two cores the last of them waits for a fraction of a second.
const QUEUE: usize = 16;
/// After how many seconds whoever found the queue full may try again.
const TRY_AGAIN: u64 = 1;

/// What passwords need.
pub(super) struct Passwords {
    hasher: Hasher,
    threads: Arc<Semaphore>,
    waiting: AtomicUsize,
    attempts: Attempts,
}

/// A place in the queue, free again when this goes.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A password that is the right one.
pub(super) struct Verified {
    /// The account.
    pub account: AccountRow,
    /// The same password as it is hashed today, if it was stored at a lower cost.
    pub rehashed: Option<String>,
}

impl Verified {
    /// Whether the password is still that of the account, which is locked now: what it allows is done before the password
    /// changes or not at all, so that a session begun with it ends with the others, or is not begun.
    pub async fn still_holds(&self, db: &mut PgConnection) -> Result<bool> {
        let Self { account, rehashed } = self;
        Ok(store::lock_account(db, account.player, account.password_changed_at, rehashed.as_deref()).await?)
    }
}

impl Passwords {
    /// Hashes at this cost.
    pub fn new(cost: Cost) -> Self {
        Self {
            hasher: Hasher::new(cost),
            threads: Arc::new(Semaphore::new(available_parallelism().map_or(1, NonZero::get))),
            waiting: AtomicUsize::new(0),
            attempts: Attempts::default(),
        }
    }

    async fn turn(&self) -> Result<OwnedSemaphorePermit> {
        if let Ok(permit) = self.threads.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _place = Place(&self.waiting);
        if before >= QUEUE {
            return Err(Error::SignInBusy { seconds: TRY_AGAIN });
        }
        Ok(self.threads.clone().acquire_owned().await.expect("nobody closes it"))
    }
}

impl Service {
    /// Does `work` on a thread for it.
    async fn hash<T: Send + 'static>(&self, work: impl FnOnce(&Hasher) -> T + Send + 'static) -> Result<T> {
        let passwords = self.passwords.clone();
        let permit = passwords.turn().await?;
        let work = move || {
            // Held until the work is done, even if nobody waits for it any more.
            let _permit = permit;
            work(&passwords.hasher)
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| Error::HashingFailed)
    }

    /// The hash of a new password, which must not be easy to guess for whoever knows this `about` the player.
    pub(super) async fn new_password(&self, password: Password, about: Vec<String>) -> Result<String> {
        let hashed = self.hash(move |hasher| {
            let about: Vec<&str> = about.iter().map(String::as_str).collect();
            password.check(&about).map(|()| hasher.hash(&password))
        });
        Ok(hashed.await??)
    }

    /// Whether the password is that of the account, which is looked for by `name`; `None` if not. Without an account it
    /// takes the same time and work.
    pub(super) async fn verify(
        &self,
        name: &CanonicalName,
        account: Option<AccountRow>,
        password: Password,
    ) -> Result<Option<Verified>> {
        sleep(self.passwords.attempts.delay(name, Instant::now())).await;
        let stored = account.as_ref().map(|account| account.password.clone());
        let metrics = self.metrics.clone();
        let (right, rehashed) = self
            .hash(move |hasher| {
                metrics.password_verified();
                let right = hasher.verify(&password, stored.as_deref());
                let outdated = right && stored.is_some_and(|stored| hasher.is_outdated(&stored));
                (right, outdated.then(|| hasher.hash(&password)))
            })
            .await?;
        if !right {
            return Ok(None);
        }
        self.passwords.attempts.forget(name);
        Ok(account.map(|account| Verified { account, rehashed }))
    }
}
