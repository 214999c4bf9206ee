//! The log of a game as it grows: first what is in it after the cursor, then each event as it is written, once and in order.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::ids::{GameId, PlayerId};
use crate::service::events::history;
use crate::service::news::{Listening, Rung, Told, Topic};
use crate::service::{Result, Service};
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
        let listening = self.news.listen([Topic::Game(id)]);
        let game = self.game(viewer, id).await?;
        let over = game.game.is_over();
        let stream = GameStream {
            service: self.clone(),
            viewer,
            id,
            cursor: cursor.min(game.seq),
            ahead: VecDeque::new(),
            listening,
            over: over && cursor >= game.seq,
        };
        stream.listening.looked_up(Topic::Game(id), game.seq);
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
    /// The next event, if it is there already or can be read; `None` when there is none yet, see [`Self::news`].
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

    /// Waits until something may have happened.
    pub async fn news(&self) -> Rung {
        self.listening.rung().await
    }

    /// Listens to something else too.
    pub fn listen_to(&mut self, topic: Topic) {
        self.listening.add(topic);
    }

    /// Looks whether the viewer may still see the game, if that may have changed.
    ///
    /// # Errors
    /// `GameNotFound` if not.
    pub async fn look(&self, rung: Rung) -> Result<()> {
        if rung.like(Topic::Sight(self.id)) {
            Box::pin(self.service.game(self.viewer, self.id)).await?;
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
        let events = history(&game, &log)?.into_iter().filter(|view| view.row.seq > self.cursor);
        self.ahead = events.take(READ_AHEAD).map(Told::new).collect();
        if self.ahead.len() < READ_AHEAD {
            self.service.news.keep(self.id, self.ahead.iter().cloned());
        }
        Ok(self.ahead.pop_front())
    }
}
