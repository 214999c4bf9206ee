//! Sessions and tokens that have just ended. An access token is good by itself for a quarter of an hour, so every
//! process knows which sessions have ended since: those that it ended itself at once, the others within two seconds.

use std::collections::HashMap;
use std::sync::RwLock;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::{Result, Service, Topic};
use crate::account::ACCESS_SECONDS;
use crate::ids::{PersonalTokenId, PlayerId, SessionId};
use crate::store;

/// For how long an ended session has to be remembered: a minute longer than an access token is good.
const REMEMBERED: Duration = Duration::from_secs(ACCESS_SECONDS as u64 + 60);
/// How far back each reading looks beyond the one before: a transaction may have begun that long before it committed.
const OVERLAP: Duration = Duration::from_secs(60);

/// What has ended lately, by id.
#[derive(Default)]
pub(super) struct Ended(RwLock<Lately>);

#[derive(Default)]
struct Lately {
    ids: HashMap<Uuid, Instant>,
    /// When the database was last read.
    read: Option<Instant>,
}

impl Ended {
    /// Whether this session or token has ended lately.
    pub fn contains(&self, id: Uuid) -> bool {
        self.0.read().expect("nobody panics while holding it").ids.contains_key(&id)
    }

    /// Remembers that they have ended.
    pub fn add(&self, ids: impl IntoIterator<Item = Uuid>) {
        let now = Instant::now();
        let mut lately = self.0.write().expect("nobody panics while holding it");
        for id in ids {
            lately.ids.entry(id).or_insert(now);
        }
    }

    /// How far back the next reading has to look.
    fn look_back(&self, now: Instant) -> Duration {
        let read = self.0.read().expect("nobody panics while holding it").read;
        read.map_or(REMEMBERED, |read| (now - read + OVERLAP).min(REMEMBERED))
    }

    /// Notes a reading that began then, and forgets what need not be remembered any longer.
    fn was_read(&self, began: Instant) {
        let mut lately = self.0.write().expect("nobody panics while holding it");
        lately.read = Some(began);
        lately.ids.retain(|_, since| since.elapsed() < REMEMBERED);
    }
}

impl Service {
    /// Says that these sessions of a player have ended: their access tokens are refused from now on, here at once and by
    /// other processes within two seconds. To be called after the commit.
    pub(super) fn have_ended(&self, player: PlayerId, sessions: &[SessionId]) {
        for session in sessions {
            tracing::info!(player.id = %player, session.id = %session, "a session ended");
        }
        self.credentials_have_ended(sessions.iter().copied().map(SessionId::uuid));
    }

    /// Says the same of tokens for programs. Other processes look each of them up every two seconds.
    pub(super) fn tokens_have_ended(&self, tokens: &[PersonalTokenId]) {
        self.credentials_have_ended(tokens.iter().copied().map(PersonalTokenId::uuid));
    }

    fn credentials_have_ended(&self, ids: impl Iterator<Item = Uuid>) {
        for id in ids {
            self.ended.add([id]);
            self.news.tell(Topic::Credential(id), 0);
        }
    }

    /// Reads which sessions others have ended.
    ///
    /// # Errors
    /// When the database fails; the next reading looks back as far as it has to.
    pub async fn read_ended(&self) -> Result<()> {
        let began = Instant::now();
        let mut db = self.database.connection().await?;
        let back = self.ended.look_back(began).as_secs_f64();
        let ids = store::sessions_ended_within(&mut db, back).await?;
        db.done();
        for id in ids.into_iter().map(SessionId::uuid) {
            self.ended.add([id]);
            self.news.heard(Topic::Credential(id));
        }
        self.ended.was_read(began);
        Ok(())
    }
}
