//! The log of a game as it grows: first what is in it after the cursor, then each event as it is written, once and in order.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::ids::{GameId, PlayerId};
use crate::service::events::history;
use crate::service::news::{Listening, Rung, Told, Topic};
use crate::service::{Error, Result, SeatPresence, Service};
use crate::store::StoredGame;

/// How many events are read ahead for a reader who is behind.
const READ_AHEAD: usize = 32;

/// The events of a game from a cursor on.
pub struct GameStream {
    service: Service,
    viewer: Option<PlayerId>,
    id: GameId,
    /// The last event that was told.
    cursor: i32,
    /// Read from the log and not told yet.
    ahead: VecDeque<Arc<Told>>,
    listening: Listening,
    over: bool,
    /// For those who are told who is there.
    watch: Option<Box<Watch>>,
}

/// Who is there, as far as the viewer has been told.
struct Watch {
    viewer: PlayerId,
    /// Those seated besides the viewer, who is there as long as this is read.
    others: Vec<PlayerId>,
    told: Vec<SeatPresence>,
    /// Whether that may have changed.
    stale: bool,
}

/// With what a stream begins.
pub enum GameNews {
    /// The events after the cursor, and those to come.
    Events(GameStream),
    /// The game has fewer events than the cursor says: the game as it is, and the events after that.
    Reset(Box<StoredGame>, GameStream),
    /// The game is over, and has no event after the cursor.
    Nothing,
}

impl Service {
    /// The events of a game after `cursor`.
    ///
    /// # Errors
    /// `GameNotFound`, also for a game that is not the viewer's to see.
    pub async fn game_events(&self, viewer: Option<PlayerId>, id: GameId, cursor: i32) -> Result<GameNews> {
        // Listening before looking: what comes in between is heard.
        let topic = Topic::Game(id);
        let listening = self.news.listen([topic]);
        let told = self.news.cursor(topic);
        let game = self.game(viewer, id).await?;
        if game.seq < told {
            self.news.fell_back(topic, told, game.seq);
        }
        let over = game.game.is_over();
        let mut stream = GameStream {
            service: self.clone(),
            viewer,
            id,
            cursor: cursor.min(game.seq),
            ahead: VecDeque::new(),
            listening,
            over: over && cursor >= game.seq,
            watch: None,
        };
        if !over {
            stream.watch(&game);
        }
        stream.listening.looked_up(topic, game.seq);
        Ok(if cursor > game.seq {
            GameNews::Reset(Box::new(game), stream)
        } else if over && cursor == game.seq {
            GameNews::Nothing
        } else {
            GameNews::Events(stream)
        })
    }
}

impl GameStream {
    /// Begins to look who is there, if that may be the viewer's to know: what is told of it says.
    fn watch(&mut self, game: &StoredGame) {
        let Some(viewer) = self.viewer else { return };
        let people = || game.seats.iter().filter_map(|seat| Some(seat.person()?.id));
        if game.group.is_some() || people().any(|person| person == viewer) {
            let others: Vec<PlayerId> = people().filter(|person| *person != viewer).collect();
            for person in &others {
                self.listening.add(Topic::Presence(*person));
            }
            self.watch = Some(Box::new(Watch { viewer, others, told: Vec::new(), stale: true }));
        }
    }

    /// Who is there, first and whenever it has changed; only for those seated and the members of the game's group.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn presence(&mut self) -> Result<Option<Vec<SeatPresence>>> {
        if self.over {
            return Ok(None);
        }
        let Some(watch) = self.watch.as_mut().filter(|watch| watch.stale) else { return Ok(None) };
        watch.stale = false;
        let seats = Box::pin(self.service.presence_now(watch.viewer, self.id)).await?;
        if seats.is_empty() {
            for person in self.watch.take().iter().flat_map(|watch| &watch.others) {
                self.listening.remove(Topic::Presence(*person));
            }
            return Ok(None);
        }
        let news =
            seats.len() != watch.told.len() || seats.iter().zip(&watch.told).any(|(a, b)| a.differs(b));
        watch.told.clone_from(&seats);
        Ok(news.then_some(seats))
    }

    /// The next event, if it is there already or can be read; `None` when there is none yet, see [`Self::listening`].
    ///
    /// # Errors
    /// `GameNotFound` when the game is the viewer's to see no more, or the database fails.
    pub async fn next(&mut self) -> Result<Option<Arc<Told>>> {
        if self.over {
            return Ok(None);
        }
        let next = self.ahead.pop_front().or_else(|| self.service.news.recent(self.id, self.cursor + 1));
        let next = match next {
            Some(next) => Some(next),
            None if self.service.news.cursor(Topic::Game(self.id)) > self.cursor => {
                // Its own allocation, so that a stream that waits is small.
                Box::pin(self.read()).await?
            }
            None => None,
        };
        if let Some(told) = &next {
            self.cursor = told.view.row.seq;
            self.over = told.view.ends.is_some();
        }
        Ok(next)
    }

    /// Whether the last event has been told.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// What it hears of.
    pub fn listening(&mut self) -> &mut Listening {
        &mut self.listening
    }

    /// Looks whether the viewer may still see the game, if that may have changed, and notes whether to look who is there.
    ///
    /// # Errors
    /// `GameNotFound` if not; `Busy` when the log ends before what has been told, as after a restore: who connects again
    /// is told so.
    pub async fn look(&mut self, rung: Rung) -> Result<()> {
        if let Some(watch) = &mut self.watch {
            watch.stale |= rung.like(Topic::Presence(watch.viewer));
        }
        let topic = Topic::Game(self.id);
        let behind = rung.like(topic) && self.service.news.cursor(topic) < self.cursor;
        if behind || rung.like(Topic::Sight(self.id)) {
            let game = Box::pin(self.service.game(self.viewer, self.id)).await?;
            if game.seq < self.cursor {
                return Err(Error::Busy);
            }
        }
        Ok(())
    }

    /// Reads on in the log: one stream of this process at a time, for all that follow closely.
    async fn read(&mut self) -> Result<Option<Arc<Told>>> {
        let reading = self.service.news.reading(self.id);
        let _one = reading.lock().await;
        if let Some(told) = self.service.news.recent(self.id, self.cursor + 1) {
            return Ok(Some(told));
        }
        let (game, log) = self.service.log(self.viewer, self.id).await?;
        self.listening.looked_up(Topic::Game(self.id), game.seq);
        let events = history(&game, &log)?.into_iter().filter(|view| view.row.seq > self.cursor);
        self.ahead = events.take(READ_AHEAD).map(Told::new).collect();
        if self.ahead.len() < READ_AHEAD {
            self.service.news.keep(&game, self.ahead.iter().cloned());
        }
        Ok(self.ahead.pop_front())
    }
}
