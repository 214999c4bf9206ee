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
    /// What somebody listens to of such topics: their ids, and how far each was told to go.
    fn followed(&self, like: impl Fn(&Topic) -> bool) -> (Vec<Uuid>, Vec<i32>) {
        let topics = lock(&self.topics);
        let followed = topics.iter().filter(|(topic, _)| like(topic));
        followed.map(|(topic, followed)| (topic.id(), followed.cursor)).unzip()
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
        let (games, cursors) = self.news.followed(|topic| matches!(topic, Topic::Game(_)));
        let (groups, group_cursors) = self.news.followed(|topic| matches!(topic, Topic::Group(_)));
        let (tickets, _) = self.news.followed(|topic| matches!(topic, Topic::Ticket(_)));
        let (listeners, _) = self.news.followed(|topic| matches!(topic, Topic::Player(_)));
        let mut db = self.database.connection().await?;
        if !games.is_empty() {
            for (id, seq) in store::games_to_look_at(&mut db, &games, &cursors).await? {
                self.news.ring(Hint { topic: Topic::Game(id), seq });
                self.news.ring(Hint { topic: Topic::Sight(id), seq: 0 });
            }
        }
        if !groups.is_empty() {
            for (id, seq) in store::groups_beyond(&mut db, &groups, &group_cursors).await? {
                self.news.ring(Hint { topic: Topic::Group(id), seq });
            }
        }
        if !tickets.is_empty() {
            for id in store::tickets_that_wait_no_more(&mut db, &tickets).await? {
                self.news.ring(Hint { topic: Topic::Ticket(id), seq: 0 });
            }
        }
        if !listeners.is_empty() {
            let marks = store::marks_of_players(&mut db, &listeners).await?;
            let earlier = std::mem::take(&mut found.players);
            for (id, mark) in marks {
                // Of whom nothing was known something may have been missed already.
                if earlier.get(&id.uuid()) != Some(&mark) {
                    self.news.ring(Hint { topic: Topic::Player(id), seq: 0 });
                }
                found.players.insert(id.uuid(), mark);
            }
        }
        let (watched, _) = self.news.followed(|topic| matches!(topic, Topic::Presence(_)));
        let earlier = std::mem::take(&mut found.connected);
        if !watched.is_empty() {
            let connected: HashSet<PlayerId> =
                store::connected(&mut db, &watched).await?.into_iter().collect();
            for id in watched.into_iter().map(PlayerId::from) {
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
