//! Which players are there: whatever they send is heard, remembered, and written every few seconds in one statement.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

use super::{Result, Service};
use crate::ids::PlayerId;
use crate::store;

/// Players heard of since the last writing, and when last; in the order of their ids.
#[derive(Default)]
pub(super) struct Hearing(Mutex<BTreeMap<PlayerId, Instant>>);

impl Hearing {
    fn note(&self, heard: impl IntoIterator<Item = (PlayerId, Instant)>) {
        let mut all = self.0.lock().expect("nobody panics while holding it");
        for (player, at) in heard {
            let last = all.entry(player).or_insert(at);
            *last = at.max(*last);
        }
    }
}

impl Service {
    /// Says that `player` is there now: by a request, or by one that still waits.
    pub fn hear(&self, player: PlayerId) {
        self.hearing.note([(player, Instant::now())]);
    }

    /// Writes down who has been heard of since the last time.
    ///
    /// # Errors
    /// When the database fails; nothing is forgotten then.
    pub async fn write_heard(&self) -> Result<()> {
        let heard = std::mem::take(&mut *self.hearing.0.lock().expect("nobody panics while holding it"));
        if heard.is_empty() {
            return Ok(());
        }
        let written = self.write(&heard).await;
        if written.is_err() {
            self.hearing.note(heard);
        }
        written
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
