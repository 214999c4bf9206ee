//! News on its way between processes: sent in batches, heard, and made good where it was lost.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::time::Duration;

use tokio::time::sleep;
use uuid::Uuid;

use super::{Hint, KEPT_FOR, News, Topic, lock};
use crate::ids::PlayerId;
use crate::service::{Result, Service};
use crate::store;

/// How long news is gathered before it is sent: a notification costs the database more than what it says.
const GATHERED_FOR: Duration = Duration::from_millis(4);
/// How many hints fit into one notification (8,000 bytes).
const HINTS: usize = 180;

/// What healing found the last time of what has no cursor.
#[derive(Default)]
pub struct Found {
    players: HashMap<Uuid, String>,
    /// Whether those were connected whose presence somebody follows.
    connected: HashMap<PlayerId, bool>,
}

impl News {
    /// What listens to something that can be looked up: how far it was told to go, by id.
    fn followed(&self, of: impl Fn(&Topic) -> Option<Uuid>) -> Vec<(Uuid, i32)> {
        let topics = lock(&self.topics);
        topics.iter().filter_map(|(topic, followed)| Some((of(topic)?, followed.cursor))).collect()
    }

    /// Rings everybody who listens to such a topic, for news may have been lost.
    fn ring_all(&self, like: impl Fn(&Topic) -> bool) {
        for (topic, followed) in lock(&self.topics).iter().filter(|(topic, _)| like(topic)) {
            for ear in &followed.ears {
                ear.ring(*topic);
            }
        }
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
    /// Waits until there is something that other processes have to be told, and a little longer, for more; then tells it
    /// over a connection that must be nobody else's.
    ///
    /// # Errors
    /// When the database fails: what was to be told is lost, and found by the others' healing.
    pub async fn send_news(&self) -> Result<()> {
        self.news.posted.notified().await;
        sleep(GATHERED_FOR).await;
        let hints = std::mem::take(&mut *lock(&self.news.outbox));
        let hints: Vec<Hint> = hints.into_iter().map(|(topic, seq)| Hint { topic, seq }).collect();
        let mut db = self.database.connection().await?;
        for hints in hints.chunks(HINTS) {
            let mut text = self.process.simple().to_string();
            for hint in hints {
                write!(text, " {hint}").expect("a String takes everything");
            }
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

    /// Makes up for a time in which nothing could be heard.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn make_up_for_news(&self) -> Result<()> {
        self.heal_news(&mut Found::default()).await?;
        self.news.ring_all(|topic| {
            matches!(topic, Topic::Player(_) | Topic::Group(_) | Topic::Presence(_) | Topic::Credential(_))
        });
        Ok(())
    }

    /// Looks up what somebody here listens to, as a notification may be lost, or never be sent by a process that dies.
    /// `found` is what was found the last time.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn heal_news(&self, found: &mut Found) -> Result<()> {
        self.news.forget_told();
        let games = self.news.followed(|topic| match topic {
            Topic::Game(id) => Some(id.uuid()),
            _ => None,
        });
        let groups = self.news.followed(|topic| match topic {
            Topic::Group(id) => Some(id.uuid()),
            _ => None,
        });
        let tickets = self.news.followed(|topic| match topic {
            Topic::Ticket(id) => Some(id.uuid()),
            _ => None,
        });
        let listeners = self.news.followed(|topic| match topic {
            Topic::Player(id) => Some(id.uuid()),
            _ => None,
        });
        let mut db = self.database.connection().await?;
        if !games.is_empty() {
            let (ids, cursors): (Vec<Uuid>, Vec<i32>) = games.into_iter().unzip();
            for (id, seq) in store::games_to_look_at(&mut db, &ids, &cursors).await? {
                self.news.ring(Hint { topic: Topic::Game(id), seq });
                self.news.ring(Hint { topic: Topic::Sight(id), seq: 0 });
            }
        }
        if !groups.is_empty() {
            let (ids, cursors): (Vec<Uuid>, Vec<i32>) = groups.into_iter().unzip();
            for (id, seq) in store::groups_beyond(&mut db, &ids, &cursors).await? {
                self.news.ring(Hint { topic: Topic::Group(id), seq });
            }
        }
        if !tickets.is_empty() {
            let ids: Vec<Uuid> = tickets.into_iter().map(|(id, _)| id).collect();
            for id in store::tickets_that_wait_no_more(&mut db, &ids).await? {
                self.news.ring(Hint { topic: Topic::Ticket(id), seq: 0 });
            }
        }
        if !listeners.is_empty() {
            let ids: Vec<Uuid> = listeners.into_iter().map(|(id, _)| id).collect();
            let marks = store::marks_of_players(&mut db, &ids).await?;
            let earlier = std::mem::take(&mut found.players);
            for (id, mark) in marks {
                // Of whom nothing was known something may have been missed already.
                if earlier.get(&id.uuid()) != Some(&mark) {
                    self.news.ring(Hint { topic: Topic::Player(id), seq: 0 });
                }
                found.players.insert(id.uuid(), mark);
            }
        }
        let watched = self.news.followed(|topic| match topic {
            Topic::Presence(id) => Some(id.uuid()),
            _ => None,
        });
        let earlier = std::mem::take(&mut found.connected);
        if !watched.is_empty() {
            let ids: Vec<Uuid> = watched.into_iter().map(|(id, _)| id).collect();
            let connected: HashSet<PlayerId> = store::connected(&mut db, &ids).await?.into_iter().collect();
            for id in ids.into_iter().map(PlayerId::from) {
                let now = connected.contains(&id);
                // Whoever has been watched for less than a round may have come or gone meanwhile.
                if found.connected.insert(id, now).is_none() && earlier.get(&id) != Some(&now) {
                    self.news.ring(Hint { topic: Topic::Presence(id), seq: 0 });
                }
            }
        }
        db.done();
        Ok(())
    }
}
