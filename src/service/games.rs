//! Making, reading and listing games.

use std::time::Duration;

use rand::RngExt;
use sqlx::PgConnection;
use tokio::time::{Instant, sleep_until};

use super::events::history;
use super::moves::visible;
use super::news::Topic;
use super::turn::Turn;
use super::{Error, IdempotencyKey, Result, Service, claim};
use crate::cpu::Level;
use crate::engine::{Game, Record, Seat, Variant};
use crate::ids::{GameId, GroupId, PlayerId};
use crate::options::{Asked, Options};
use crate::store::{self, EventRow, GameFilter, GamePage, NewGame, Occupant, SeatRating, StoredGame};

/// The greatest seed: clients count in doubles.
pub const MAX_SEED: u64 = (1 << 53) - 1;

/// How often it is said of a player who waits that the player is there.
const HEARD_EVERY: Duration = Duration::from_secs(2);

/// A game of one person against computers.
pub struct NewSolo {
    /// Which game.
    pub variant: Variant,
    /// Local rules.
    pub options: Asked,
    /// One to three computer players.
    pub computers: Vec<Level>,
    /// The seat that begins; at random when `None`. The person has seat 0.
    pub starter: Option<Seat>,
    /// Makes random choices repeatable.
    pub seed: Option<u64>,
}

/// A game with people and computers, however it came about.
pub(super) struct Setup<'a> {
    pub group: Option<GroupId>,
    pub rematch_of: Option<GameId>,
    pub options: &'a Options,
    pub seed: u64,
    pub starter: usize,
    pub seats: &'a [(Occupant, Option<i64>)],
    /// By seat, in a ranked game; else empty.
    pub ratings: &'a [SeatRating],
}

impl Service {
    /// Starts a game of `player` against computers.
    ///
    /// # Errors
    /// Local rules that cannot be, or a reused idempotency key.
    pub async fn start_solo(
        &self,
        player: PlayerId,
        new: NewSolo,
        key: Option<&IdempotencyKey>,
    ) -> Result<StoredGame> {
        let players = u8::try_from(1 + new.computers.len()).unwrap_or(u8::MAX);
        let options = Options::effective(new.variant, players, &new.options)?;
        let seed = new.seed.unwrap_or_else(random_seed);
        let starter =
            new.starter.map_or_else(|| rng_of(seed).random_range(0..usize::from(players)), Seat::index);
        let id = GameId::new();
        let mut tx = self.database.begin().await?;
        if let Some(earlier) = claim(&mut tx, player, "create_game", key, id.uuid()).await? {
            return visible(&mut tx, earlier.into(), Some(player)).await;
        }
        let person = store::player(&mut tx, player).await?.ok_or(Error::PlayerNotFound)?;
        let computers = new.computers.into_iter().map(|level| (Occupant::Computer(level), None));
        let seats: Vec<_> = std::iter::once((Occupant::Person(person), None)).chain(computers).collect();
        let setup = Setup {
            group: None,
            rematch_of: None,
            options: &options,
            seed,
            starter,
            seats: &seats,
            ratings: &[],
        };
        self.insert_game(&mut tx, id, &setup).await?;
        let game = visible(&mut tx, id, Some(player)).await?;
        tx.commit().await?;
        self.begun(&game);
        Ok(game)
    }

    /// A game as `viewer` sees it.
    ///
    /// # Errors
    /// `GameNotFound`, also for a game that is not the viewer's to see.
    pub async fn game(&self, viewer: Option<PlayerId>, id: GameId) -> Result<StoredGame> {
        let mut db = self.database.connection().await?;
        let game = visible(&mut db, id, viewer).await?;
        db.done();
        Ok(game)
    }

    /// A game as soon as it has more than `after` events, or as it is when `wait` is over. No connection is held
    /// while it waits.
    ///
    /// # Errors
    /// `GameNotFound`, also for a game that is not the viewer's to see.
    pub async fn game_after(
        &self,
        viewer: Option<PlayerId>,
        id: GameId,
        after: i32,
        wait: Duration,
    ) -> Result<StoredGame> {
        let end = Instant::now() + wait;
        let waits = || Instant::now() < end && !self.stopping.is_cancelled();
        let topic = Topic::Game(id);
        // Listening before looking: what comes in between is heard.
        let listening = self.news.listen([topic]);
        loop {
            // Read at the end of the wait too: who may see it, who is called what and what time it is may have changed.
            let game = self.game(viewer, id).await?;
            if game.seq > after || game.game.is_over() || !waits() {
                return Ok(game);
            }
            listening.looked_up(topic, game.seq);
            // Waiting first, whatever was told: that may be more than the database still has.
            loop {
                // Whoever waits is there for as long as that lasts.
                if let Some(player) = viewer {
                    self.hear(player);
                }
                tokio::select! {
                    _ = listening.rung() => {}
                    () = sleep_until(end.min(Instant::now() + HEARD_EVERY)) => {}
                    () = self.stopping.cancelled() => {}
                }
                if !waits() || self.news.cursor(topic) != game.seq {
                    break;
                }
            }
        }
    }

    /// Games that `viewer` may see, newest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn list_games(&self, viewer: Option<PlayerId>, filter: GameFilter) -> Result<GamePage> {
        Ok(store::list_games(&mut *self.database.connection().await?, filter, viewer).await?)
    }

    /// A game with its record.
    ///
    /// # Errors
    /// `GameNotFound`, also for a game that is not the viewer's to see.
    pub async fn record(&self, viewer: Option<PlayerId>, id: GameId) -> Result<(StoredGame, Record)> {
        let (game, log) = self.log(viewer, id).await?;
        // Played through once, so that a log changed from outside is never handed out as a record.
        history(&game, &log)?;
        let record = super::events::record(&game, &log);
        Ok((game, record))
    }

    pub(super) async fn log(
        &self,
        viewer: Option<PlayerId>,
        id: GameId,
    ) -> Result<(StoredGame, Vec<EventRow>)> {
        let mut db = self.database.connection().await?;
        loop {
            let game = visible(&mut db, id, viewer).await?;
            let log = store::events_after(&mut db, id, 0).await?;
            // A move between the two reads: read again, so that the record and its result belong together.
            if log.last().map_or(0, |row| row.seq) == game.seq {
                return Ok((game, log));
            }
        }
    }

    /// Makes a game with its seats, if all its players are still there. Say [`Service::begun`] of it once it is committed.
    pub(super) async fn insert_game(
        &self,
        db: &mut PgConnection,
        id: GameId,
        setup: &Setup<'_>,
    ) -> Result<()> {
        let starter =
            u8::try_from(setup.starter).ok().and_then(Seat::new).expect("the starter is one of the seats");
        let game = Game::new(setup.options.rules(), starter, !setup.ratings.is_empty())
            .expect("the starter is one of the seats");
        let people: Vec<PlayerId> =
            setup.seats.iter().filter_map(|(who, _)| Some(who.person()?.id)).collect();
        if !store::hold_players(db, &people).await? {
            return Err(Error::PlayerNotFound);
        }
        let occupants: Vec<Occupant> = setup.seats.iter().map(|(occupant, _)| occupant.clone()).collect();
        let turn = Turn::of(&game, &occupants, setup.options);
        let new = NewGame {
            id,
            group: setup.group,
            rematch_of: setup.rematch_of,
            options: setup.options,
            seed: setup.seed,
            game: &game,
            starter,
            seats: setup.seats,
            ratings: setup.ratings,
            turn_seconds: turn.limit(setup.options),
            due: turn.due(&game, &occupants, setup.options),
            lease: self.lease(),
        };
        Ok(store::insert_game(db, &new).await?)
    }

    /// A game has been made: if the computer begins, it may. Those who play it are told, and their group.
    pub(super) fn begun(&self, game: &StoredGame) {
        for player in game.seats.iter().filter_map(Occupant::person) {
            self.news.tell(Topic::Player(player.id), 0);
        }
        if let Some(group) = game.group {
            self.news.tell(Topic::Group(group), 0);
        }
        if matches!(Turn::of(&game.game, &game.seats, &game.options), Turn::Computer(..)) {
            self.computer_turns.add(game.id);
        }
    }
}

/// A seed for a game that was given none.
pub(super) fn random_seed() -> u64 {
    rand::rng().random_range(0..=MAX_SEED)
}

/// The generator for a game's own random choices before its first move.
pub(super) fn rng_of(seed: u64) -> rand_pcg::Pcg64Mcg {
    rand::SeedableRng::seed_from_u64(seed)
}
