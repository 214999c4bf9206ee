//! Which players are there: whatever they send is heard, remembered, and written every few seconds in one statement.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use time::OffsetDateTime;

use super::{Result, Service};
use crate::ids::PlayerId;
use crate::store;

/// Players heard of since the last writing, and when last; in the order of their ids.
#[derive(Default)]
pub(super) struct Hearing(Mutex<BTreeMap<PlayerId, Instant>>);

impl Hearing {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PlayerId, Instant>> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

impl Service {
    /// Says that `player` is there now: by a request, or by one that still waits.
    pub fn hear(&self, player: PlayerId) {
        self.hearing.lock().insert(player, Instant::now());
    }

    /// When `player` was last heard of, if that has not been written yet.
    pub(super) fn heard_at(&self, player: PlayerId) -> Option<OffsetDateTime> {
        let at = self.hearing.lock().get(&player).copied()?;
        Some(self.database_time() - at.elapsed())
    }

    /// Writes down who has been heard of since the last time.
    ///
    /// # Errors
    /// When the database fails. Nothing is forgotten then, nor when this is dropped half way.
    pub async fn write_heard(&self) -> Result<()> {
        let heard = self.hearing.lock().clone();
        if heard.is_empty() {
            return Ok(());
        }
        self.write(&heard).await?;
        self.hearing.lock().retain(|player, at| heard.get(player) != Some(at));
        Ok(())
    }

    async fn write(&self, heard: &BTreeMap<PlayerId, Instant>) -> Result<()> {
        let mut db = self.database.connection().await?;
        let players: Vec<PlayerId> = heard.keys().copied().collect();
        let ago: Vec<f64> = heard.values().map(|at| at.elapsed().as_secs_f64()).collect();
        store::note_heard(&mut db, &players, &ago).await?;
        db.done();
        Ok(())
    }
}
