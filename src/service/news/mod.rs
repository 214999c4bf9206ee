//! Who waits for news of what. News is a hint and no more: whoever is rung looks, by its own cursor, into the database
//! or at the events that this process has written lately. So a hint may come twice, late, or for nothing; one that is
//! lost is made good by [`healing`].

mod healing;
mod hint;

pub use healing::{Found, SAID_EVERY};
pub use hint::Topic;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::events::EventView;
use crate::ids::GameId;
use crate::store::StoredGame;
use hint::Hint;

/// How many events of a game are kept for those who listen to it: who is further behind reads the log.
const KEPT: usize = 8;
/// For how long.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// What this process knows of who listens to what.
#[derive(Default)]
pub struct News {
    topics: Mutex<HashMap<Topic, Followed>>,
    /// What other processes have not been told yet; of a topic only the newest.
    outbox: Mutex<HashMap<Topic, i32>>,
    posted: Notify,
}

/// A topic that somebody listens to.
#[derive(Default)]
struct Followed {
    ears: Vec<Arc<Ear>>,
    /// The greatest `seq` that anybody has told of.
    cursor: i32,
    /// The last events of a game, without a gap.
    recent: VecDeque<Arc<Told>>,
    /// Held by the one who reads the log for all.
    reading: Arc<tokio::sync::Mutex<()>>,
}

/// Somebody who waits.
#[derive(Default)]
struct Ear {
    bell: Notify,
    /// Kinds of topics, a bit each.
    rung: AtomicU8,
}

/// An event that is told to many.
pub struct Told {
    /// What happened.
    pub view: EventView,
    /// How it is written on the wire: by whoever tells it first, for all others.
    pub wire: OnceLock<Vec<u8>>,
    since: Instant,
}

impl Told {
    /// To be told from now on.
    pub(super) fn new(view: EventView) -> Arc<Self> {
        Arc::new(Self { view, wire: OnceLock::new(), since: Instant::now() })
    }
}

/// Somebody's listening, until it is dropped.
pub struct Listening {
    news: Arc<News>,
    ear: Arc<Ear>,
    topics: Vec<Topic>,
}

/// Of which kinds of topics there may be news.
#[derive(Clone, Copy, Debug)]
pub struct Rung(u8);

impl Rung {
    /// Whether one like this was among them.
    pub fn like(self, topic: Topic) -> bool {
        self.0 & topic.bit() != 0
    }
}

impl News {
    /// Listens to these from now on: what is told after this call is heard.
    pub fn listen(self: &Arc<Self>, topics: impl IntoIterator<Item = Topic>) -> Listening {
        let mut listening = Listening { news: self.clone(), ear: Arc::default(), topics: Vec::new() };
        for topic in topics {
            listening.add(topic);
        }
        listening
    }

    /// Tells everybody, here and in other processes, that there is news of this. To be called after the commit. What has
    /// a log says how far it goes; of what has none only 0 is known.
    pub fn tell(&self, topic: Topic, seq: i32) {
        self.ring(Hint { topic, seq });
        self.post(topic, seq);
    }

    /// The same of events that this process has just written to `game`.
    pub fn tell_events(&self, game: &StoredGame, views: &[EventView]) {
        let Some(last) = views.last() else { return };
        self.keep(game, views.iter().cloned().map(Told::new));
        self.tell(Topic::Game(game.id), last.row.seq);
    }

    /// How far the log of this goes, as far as this process has heard; 0 if nobody here listens to it.
    pub fn cursor(&self, topic: Topic) -> i32 {
        lock(&self.topics).get(&topic).map_or(0, |followed| followed.cursor)
    }

    /// The event `seq` of a game, if it was written lately.
    pub(super) fn recent(&self, game: GameId, seq: i32) -> Option<Arc<Told>> {
        let topics = lock(&self.topics);
        let recent = &topics.get(&Topic::Game(game))?.recent;
        let first = recent.front()?.view.row.seq;
        recent.get(usize::try_from(seq.checked_sub(first)?).ok()?).cloned()
    }

    /// Keeps events of a game that were written or read; not those of a private one, for each of which it is looked who may
    /// see it.
    pub(super) fn keep(&self, game: &StoredGame, events: impl IntoIterator<Item = Arc<Told>>) {
        if let Some(followed) = lock(&self.topics).get_mut(&Topic::Game(game.id)).filter(|_| !game.private) {
            followed.keep(events);
        }
    }

    /// What is held by the one who reads the log of a game for all others.
    pub(super) fn reading(&self, game: GameId) -> Arc<tokio::sync::Mutex<()>> {
        lock(&self.topics)
            .get(&Topic::Game(game))
            .map(|followed| followed.reading.clone())
            .unwrap_or_default()
    }

    /// Rings whoever listens, unless that has been told already.
    fn ring(&self, Hint { topic, seq }: Hint) {
        // Who follows a game also wants to know who may see it.
        let followed = if let Topic::Sight(game) = topic { Topic::Game(game) } else { topic };
        let mut topics = lock(&self.topics);
        let Some(followed) = topics.get_mut(&followed) else { return };
        if seq == 0 || seq > followed.cursor {
            followed.cursor = followed.cursor.max(seq);
            for ear in &followed.ears {
                ear.ring(topic);
            }
        }
    }

    /// Notes that the log of this ends before what was told, as it does when the database has lost its newest writes, and
    /// rings whoever listens. Unless `told` has changed since it was looked at.
    pub(super) fn fell_back(&self, topic: Topic, told: i32, seq: i32) {
        let mut topics = lock(&self.topics);
        let Some(followed) = topics.get_mut(&topic).filter(|followed| followed.cursor == told) else {
            return;
        };
        followed.cursor = seq;
        followed.recent.clear();
        for ear in &followed.ears {
            ear.ring(topic);
        }
    }

    /// Tells this process only: the others find it as this one has.
    pub fn heard(&self, topic: Topic) {
        self.ring(Hint { topic, seq: 0 });
    }

    fn post(&self, topic: Topic, seq: i32) {
        let mut outbox = lock(&self.outbox);
        let told = outbox.entry(topic).or_insert(seq);
        *told = seq.max(*told);
        self.posted.notify_one();
    }
}

impl Followed {
    /// Keeps what goes on where the last one ends. Two writers may come here in either order: then what is missing is
    /// read from the log.
    fn keep(&mut self, events: impl IntoIterator<Item = Arc<Told>>) {
        for event in events {
            let next = self.recent.back().map(|last| last.view.row.seq + 1);
            if next.is_none_or(|next| next < event.view.row.seq) {
                self.recent.clear();
            } else if next != Some(event.view.row.seq) {
                continue;
            }
            if self.recent.len() == KEPT {
                self.recent.pop_front();
            }
            self.recent.push_back(event);
        }
    }
}

impl Ear {
    fn ring(&self, topic: Topic) {
        self.rung.fetch_or(topic.bit(), Ordering::AcqRel);
        self.bell.notify_one();
    }
}

impl Listening {
    /// Listens to this too; whether it did not yet.
    pub fn add(&mut self, topic: Topic) -> bool {
        let new = !self.topics.contains(&topic);
        if new {
            self.topics.push(topic);
            lock(&self.news.topics).entry(topic).or_default().ears.push(self.ear.clone());
        }
        new
    }

    /// Notes how far a log goes that has just been looked at: others who listen may not know it yet.
    pub(super) fn looked_up(&self, topic: Topic, seq: i32) {
        let mut topics = lock(&self.news.topics);
        let Some(followed) = topics.get_mut(&topic).filter(|followed| seq > followed.cursor) else { return };
        followed.cursor = seq;
        for ear in followed.ears.iter().filter(|ear| !Arc::ptr_eq(ear, &self.ear)) {
            ear.ring(topic);
        }
    }

    /// Listens to this no more.
    pub fn remove(&mut self, topic: Topic) {
        if let Some(at) = self.topics.iter().position(|t| *t == topic) {
            self.topics.swap_remove(at);
            self.forget(topic);
        }
    }

    /// Waits for news since the last call, or since it began to listen.
    pub async fn rung(&self) -> Rung {
        loop {
            let rung = self.ear.rung.swap(0, Ordering::AcqRel);
            if rung != 0 {
                return Rung(rung);
            }
            self.ear.bell.notified().await;
        }
    }

    fn forget(&self, topic: Topic) {
        let mut topics = lock(&self.news.topics);
        if let Some(followed) = topics.get_mut(&topic) {
            followed.ears.retain(|ear| !Arc::ptr_eq(ear, &self.ear));
            if followed.ears.is_empty() {
                topics.remove(&topic);
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        for topic in &self.topics {
            self.forget(*topic);
        }
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().expect("nobody panics while holding it")
}
