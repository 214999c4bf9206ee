//! Where the computer thinks: on threads of its own, a few at once, in the order of asking, and for less time each the
//! more are asking.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::cpu::{Computers, Level};
use crate::engine::Position;

/// How long a level may think about one sowing when nobody else asks.
const FULL: Duration = Duration::from_millis(700);
/// How long it may think however many ask.
const LEAST: Duration = Duration::from_millis(20);

/// The places for thinking of one process.
pub(super) struct Thinking {
    places: Semaphore,
    asking: AtomicU32,
    computers: Arc<Computers>,
}

impl Default for Thinking {
    fn default() -> Self {
        // One core stays free for requests.
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            places: Semaphore::new((cores - 1).max(1)),
            asking: AtomicU32::new(0),
            computers: Arc::default(),
        }
    }
}

impl Thinking {
    /// The pit that `level` plays; `None` when the game is over.
    pub(super) async fn choose(&self, level: Level, position: Position, seed: u64) -> Option<u8> {
        if level == Level::Easy {
            // A move ahead is looked through before another thread would have begun.
            return self.computers.choose(level, &position, seed, &|| true).map(|choice| choice.pit);
        }
        let asking = Asking::begin(&self.asking);
        let _place = self.places.acquire().await.expect("nobody closes the places");
        let places = u32::try_from(self.places.available_permits()).unwrap_or(0) + 1;
        let time = (FULL * places / asking.others().max(places)).max(LEAST);
        let computers = self.computers.clone();
        let thinking = tokio::task::spawn_blocking(move || {
            let deadline = Instant::now() + time;
            computers.choose(level, &position, seed, &|| Instant::now() < deadline)
        });
        thinking.await.expect("the search does not panic").map(|choice| choice.pit)
    }
}

/// Counts as asking until it is dropped, which a task that is abandoned does too.
struct Asking<'a>(&'a AtomicU32);

impl<'a> Asking<'a> {
    fn begin(count: &'a AtomicU32) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }

    fn others(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
