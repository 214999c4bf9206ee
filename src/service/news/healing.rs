//! News on its way between processes: sent in batches, heard, and made good where it was lost.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::time::Duration;

use sqlx::PgConnection;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::{Hint, KEPT_FOR, News, Topic, lock};
use crate::ids::{GameId, PlayerId};
use crate::service::{Result, Service};
use crate::store;

/// How long news is gathered before it is sent: a notification costs the database more than what it says.
const GATHERED_FOR: Duration = Duration::from_millis(4);
/// How often a process says something, so that all who listen know that they can hear: themselves, if nobody else.
pub const SAID_EVERY: Duration = Duration::from_secs(10);
/// How many hints fit into one notification (8,000 bytes).
const HINTS: usize = 180;

/// What healing found the last time of what has no cursor.
#[derive(Default)]
pub struct Found {
    players: HashMap<PlayerId, String>,
    /// How far the log of its group went for each private game: who may see it changes with that.
    private: HashMap<GameId, i32>,
    /// Whether those were connected whose presence somebody follows.
    connected: HashMap<PlayerId, bool>,
}

impl News {
    /// What somebody listens to of such topics: their ids, and how far each was told to go.
    fn followed(&self, like: impl Fn(&Topic) -> bool) -> (Vec<Uuid>, Vec<i32>) {
        let topics = lock(&self.topics);
        let followed = topics.iter().filter(|(topic, _)| like(topic));
        followed.map(|(topic, followed)| (topic.id(), followed.cursor)).unzip()
    }

    /// Forgets events that everybody who listens has been told long since.
    fn forget_told(&self) {
        for followed in lock(&self.topics).values_mut() {
            while followed.recent.front().is_some_and(|told| told.since.elapsed() > KEPT_FOR) {
                followed.recent.pop_front();
            }
        }
    }
}

impl Service {
    /// Waits until there is something that other processes have to be told, and a little longer, for more; but no longer
    /// than [`SAID_EVERY`].
    pub async fn news_to_send(&self) {
        if timeout(SAID_EVERY, self.news.posted.notified()).await.is_ok() {
            sleep(GATHERED_FOR).await;
        }
    }

    /// Tells other processes what there is to be told, or at least that this one can still be heard.
    ///
    /// # Errors
    /// When the database fails: what was to be told is lost, and found by the others' healing.
    pub async fn send_news(&self) -> Result<()> {
        let hints = std::mem::take(&mut *lock(&self.news.outbox));
        let hints: Vec<Hint> = hints.into_iter().map(|(topic, seq)| Hint { topic, seq }).collect();
        let mut texts = vec![self.process.simple().to_string(); hints.len().div_ceil(HINTS).max(1)];
        for (text, hints) in texts.iter_mut().zip(hints.chunks(HINTS)) {
            for hint in hints {
                write!(text, " {hint}").expect("a String takes everything");
            }
        }
        let mut db = self.database.connection().await?;
        for text in texts {
            store::notify(&mut db, &text).await?;
        }
        db.done();
        Ok(())
    }

    /// Hears what another process has told.
    pub fn hear_news(&self, text: &str) {
        let mut words = text.split(' ');
        if words.next().and_then(|id| Uuid::try_parse(id).ok()) != Some(self.process) {
            for hint in words.filter_map(|word| word.parse::<Hint>().ok()) {
                if let Topic::Credential(id) = hint.topic {
                    self.ended.add([id]);
                }
                self.news.ring(hint);
            }
        }
    }

    /// Where other processes tell their news.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn listener(&self) -> Result<store::Listener> {
        Ok(self.database.listener().await?)
    }

    /// Looks up what somebody here listens to, as a notification may be lost, or never be sent by a process that dies.
    /// `found` is what was found the last time; after a time in which nothing could be heard it is nothing.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn heal_news(&self, found: &mut Found) -> Result<()> {
        self.news.forget_told();
        let mut db = self.database.connection().await?;
        self.heal_logs(&mut db, found).await?;
        let (tickets, _) = self.news.followed(|topic| matches!(topic, Topic::Ticket(_)));
        if !tickets.is_empty() {
            for id in store::tickets_that_wait_no_more(&mut db, &tickets).await? {
                self.news.heard(Topic::Ticket(id));
            }
        }
        let (credentials, _) = self.news.followed(|topic| matches!(topic, Topic::Credential(_)));
        if !credentials.is_empty() {
            for id in store::credentials_that_ended(&mut db, &credentials).await? {
                self.ended.add([id]);
                self.news.heard(Topic::Credential(id));
            }
        }
        self.heal_players(&mut db, found).await?;
        db.done();
        Ok(())
    }

    async fn heal_logs(&self, db: &mut PgConnection, found: &mut Found) -> Result<()> {
        let check = |topic: Topic, told: i32, seq: i32| match seq.cmp(&told) {
            Ordering::Greater => self.news.ring(Hint { topic, seq }),
            Ordering::Less => self.news.fell_back(topic, told, seq),
            Ordering::Equal => {}
        };
        let (games, cursors) = self.news.followed(|topic| matches!(topic, Topic::Game(_)));
        let earlier = std::mem::take(&mut found.private);
        if !games.is_empty() {
            for game in store::games_to_look_at(db, &games, &cursors).await? {
                check(Topic::Game(game.id), game.told, game.seq);
                if let Some(group_seq) = game.private {
                    if earlier.get(&game.id) != Some(&group_seq) {
                        self.news.heard(Topic::Sight(game.id));
                    }
                    found.private.insert(game.id, group_seq);
                }
            }
        }
        let (groups, cursors) = self.news.followed(|topic| matches!(topic, Topic::Group(_)));
        if !groups.is_empty() {
            for (id, told, seq) in store::groups_elsewhere(db, &groups, &cursors).await? {
                check(Topic::Group(id), told, seq);
            }
        }
        Ok(())
    }

    async fn heal_players(&self, db: &mut PgConnection, found: &mut Found) -> Result<()> {
        // Of whom nothing was known something may have been missed already.
        let (listeners, _) = self.news.followed(|topic| matches!(topic, Topic::Player(_)));
        let earlier = std::mem::take(&mut found.players);
        if !listeners.is_empty() {
            for (id, mark) in store::marks_of_players(db, &listeners).await? {
                if earlier.get(&id) != Some(&mark) {
                    self.news.heard(Topic::Player(id));
                }
                found.players.insert(id, mark);
            }
        }
        let (watched, _) = self.news.followed(|topic| matches!(topic, Topic::Presence(_)));
        let earlier = std::mem::take(&mut found.connected);
        if !watched.is_empty() {
            let connected: HashSet<PlayerId> = store::connected(db, &watched).await?.into_iter().collect();
            for id in watched.into_iter().map(PlayerId::from) {
                let now = connected.contains(&id);
                if earlier.get(&id) != Some(&now) {
                    self.news.heard(Topic::Presence(id));
                }
                found.connected.insert(id, now);
            }
        }
        Ok(())
    }
}
