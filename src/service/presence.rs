//! Who is connected: whoever reads a stream, of any kind, at any process. What a process knows of that it writes in batches,
//! never while somebody waits for it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use time::OffsetDateTime;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use super::news::Topic;
use super::{Error, Result, Service};
use crate::engine::Seat;
use crate::ids::{GameId, PlayerId};
use crate::store;

/// How long a player still counts as connected after the last stream has closed: whoever connects again does not flicker.
const GRACE: Duration = Duration::from_secs(3);
/// How long changes are gathered before they are written.
const GATHERED_FOR: Duration = Duration::from_millis(50);
/// How many are written at once.
const MOST: usize = 1_000;

/// Who has streams open at this process.
#[derive(Default)]
pub(super) struct Presence {
    here: Mutex<Here>,
    changed: Notify,
}

#[derive(Default)]
struct Here {
    players: HashMap<PlayerId, Streams>,
    /// Those who have come and may not be written yet.
    came: VecDeque<PlayerId>,
    /// When somebody's last stream has closed, in that order.
    went: VecDeque<(Instant, PlayerId)>,
}

/// The streams of a player.
struct Streams {
    open: u32,
    /// When the last one closed, unless one is open.
    closed: Option<Instant>,
    /// Whether the database knows.
    written: bool,
}

/// Whom there is to write of.
#[derive(Default)]
struct Due {
    came: Vec<PlayerId>,
    /// With the time at which the last stream closed; in the order of their ids, in which rows are locked.
    went: BTreeMap<PlayerId, Instant>,
    /// How many entries of the queues have been looked at.
    looked_at: (usize, usize),
}

/// A stream of a player, until it is dropped.
pub struct Connected {
    presence: Arc<Presence>,
    player: PlayerId,
}

impl Presence {
    fn lock(&self) -> MutexGuard<'_, Here> {
        self.here.lock().expect("nobody panics while holding it")
    }

    fn open(&self, player: PlayerId) {
        let mut here = self.lock();
        let streams = here.players.entry(player).or_insert(Streams { open: 0, closed: None, written: false });
        streams.open += 1;
        if std::mem::take(&mut streams.closed).is_some() || streams.open == 1 {
            here.came.push_back(player);
            self.changed.notify_one();
        }
    }

    fn close(&self, player: PlayerId) {
        let mut here = self.lock();
        let Some(streams) = here.players.get_mut(&player) else { return };
        streams.open -= 1;
        if streams.open == 0 {
            let now = Instant::now();
            streams.closed = Some(now);
            here.went.push_back((now, player));
            self.changed.notify_one();
        }
    }

    /// Whether a player has a stream open here, or had one a moment ago.
    fn has(&self, player: PlayerId) -> bool {
        self.lock().players.contains_key(&player)
    }

    /// The database has forgotten all of it.
    pub fn write_anew(&self) {
        let mut here = self.lock();
        let Here { players, came, .. } = &mut *here;
        for (player, streams) in players {
            streams.written = false;
            came.push_back(*player);
        }
        self.changed.notify_one();
    }

    /// Waits until there may be something to write.
    async fn rung(&self) {
        let next = self.lock().went.front().map(|(at, _)| *at + GRACE);
        let next = async {
            match next {
                Some(next) => sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.changed.notified() => {}
            () = next => {}
        }
    }
}

impl Here {
    fn due(&self) -> Due {
        let mut due = Due::default();
        for player in self.came.iter().take(MOST) {
            due.looked_at.0 += 1;
            if self.players.get(player).is_some_and(|streams| !streams.written) {
                due.came.push(*player);
            }
        }
        let gone = self.went.iter().take_while(|(at, _)| at.elapsed() >= GRACE);
        for (at, player) in gone.take(MOST) {
            due.looked_at.1 += 1;
            // Unless there was another stream since.
            if self.players.get(player).is_some_and(|streams| streams.closed == Some(*at)) {
                due.went.insert(*player, *at);
            }
        }
        due
    }

    /// Those of `due` are written. Some may have come or gone again meanwhile.
    fn written(&mut self, due: &Due) {
        self.came.drain(..due.looked_at.0);
        self.went.drain(..due.looked_at.1);
        for player in &due.came {
            if let Some(streams) = self.players.get_mut(player) {
                streams.written = true;
            }
        }
        for player in due.went.keys() {
            match self.players.get_mut(player) {
                Some(streams) if streams.open > 0 => {
                    streams.written = false;
                    self.came.push_back(*player);
                }
                _ => {
                    self.players.remove(player);
                }
            }
        }
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.presence.close(self.player);
    }
}

/// Whether a person is there, as somebody else is told.
#[derive(Clone, Copy, Debug)]
pub enum Attendance {
    /// At least one stream is open.
    Connected,
    /// None is: when the person was last heard of.
    Away(Option<OffsetDateTime>),
    /// The person has blocked whoever asks.
    Hidden,
}

/// Whether the person on a seat is there.
#[derive(Clone, Copy, Debug)]
pub struct SeatPresence {
    /// Which seat.
    pub seat: Seat,
    /// Whether the person is there.
    pub attendance: Attendance,
}

impl SeatPresence {
    /// Whether the two differ in more than the time at which somebody was last heard of, which is no news.
    pub(super) fn differs(&self, other: &Self) -> bool {
        let kind = |presence: &Self| std::mem::discriminant(&presence.attendance);
        self.seat != other.seat || kind(self) != kind(other)
    }
}

impl Service {
    /// Says that a player has a stream open, until that is dropped.
    pub fn connect(&self, player: PlayerId) -> Connected {
        self.presence.open(player);
        Connected { presence: self.presence.clone(), player }
    }

    /// Waits until [`Self::write_presence`] may have something to do.
    pub async fn presence_changed(&self) {
        self.presence.rung().await;
        sleep(GATHERED_FOR).await;
    }

    /// Writes down who has come and who has gone, and tells it.
    ///
    /// # Errors
    /// When the database fails. Nothing is forgotten then, nor when this is dropped half way.
    pub async fn write_presence(&self) -> Result<()> {
        loop {
            let due = self.presence.lock().due();
            if due.looked_at == (0, 0) {
                return Ok(());
            }
            self.write_due(&due).await?;
            self.presence.lock().written(&due);
            for player in due.came.iter().chain(due.went.keys()) {
                self.news.tell(Topic::Presence(*player), 0);
            }
        }
    }

    async fn write_due(&self, due: &Due) -> Result<()> {
        if due.came.is_empty() && due.went.is_empty() {
            return Ok(());
        }
        let mut db = self.database.connection().await?;
        if !due.came.is_empty() {
            store::connect(&mut db, self.process, &due.came).await?;
        }
        if !due.went.is_empty() {
            let went: Vec<PlayerId> = due.went.keys().copied().collect();
            let ago: Vec<f64> = due.went.values().map(|at| at.elapsed().as_secs_f64()).collect();
            store::note_heard(&mut db, &went, &ago).await?;
            store::disconnect(&mut db, self.process, &went).await?;
        }
        db.done();
        Ok(())
    }

    /// Whether those who are seated in a game are there.
    ///
    /// # Errors
    /// `GameNotFound`, or `Outsider` for whoever is neither seated nor a member of the game's group.
    pub async fn presence(&self, viewer: PlayerId, game: GameId) -> Result<Vec<SeatPresence>> {
        self.game(Some(viewer), game).await?;
        let seats = self.presence_now(viewer, game).await?;
        if seats.is_empty() { Err(Error::Outsider) } else { Ok(seats) }
    }

    /// The same for a stream of that game; nothing for whoever may not be told.
    pub(super) async fn presence_now(&self, viewer: PlayerId, game: GameId) -> Result<Vec<SeatPresence>> {
        let mut db = self.database.connection().await?;
        let rows = store::presence(&mut db, game, viewer).await?;
        db.done();
        Ok(self.attendance(&rows))
    }

    /// What is written, with what this process knows besides.
    fn attendance(&self, rows: &[store::SeatedRow]) -> Vec<SeatPresence> {
        let attendance = |row: &store::SeatedRow| {
            if row.blocks_viewer {
                Attendance::Hidden
            } else if row.connected || self.presence.has(row.player) {
                Attendance::Connected
            } else {
                Attendance::Away(row.heard_at.max(self.heard_at(row.player)))
            }
        };
        rows.iter().map(|row| SeatPresence { seat: row.seat, attendance: attendance(row) }).collect()
    }
}
