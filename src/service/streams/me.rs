//! What concerns a player: first everything as it is, then what has changed each time somebody looks. A stream remembers
//! what it has told and tells the differences, so it depends on no news arriving, and nothing waits to be told.

use std::collections::HashMap;
use std::time::Duration;

use time::OffsetDateTime;
use tokio::time::Instant;
use uuid::Uuid;

use crate::engine::EndReason;
use crate::ids::{GameId, GroupId, PlayerId, TicketId};
use crate::service::news::{Listening, Rung, Topic};
use crate::service::tickets::{Ticket, with_prospects};
use crate::service::{Error, Result, Service};
use crate::store::{self, Concerns, GroupRow, Known, SeatedGame, TicketRow, TicketStatus};

/// How much earlier than its commit, by another's clock, a game may have got its id.
const UNCERTAIN: time::Duration = time::Duration::minutes(10);
/// How often it is looked even if there is no news: news that is lost is found sooner by what was noted of the player,
/// but not if that has changed there and back in between.
const LOOK_AGAIN: Duration = Duration::from_secs(120);
/// With more games or groups a stream ends. The next one begins with the newest of them.
const MOST: usize = 1_000;

/// What concerns a player, and how it changes.
pub struct MeStream {
    service: Service,
    player: PlayerId,
    listening: Listening,
    games: HashMap<GameId, SeenGame>,
    ticket: Option<(TicketId, TicketStatus)>,
    /// How far the log of each goes.
    groups: HashMap<GroupId, i32>,
    /// Found when the stream began.
    snapshot: Option<(Vec<Concern>, OffsetDateTime)>,
    looked_at: Instant,
    /// By the database's clock.
    looked_up_to: OffsetDateTime,
    rung: bool,
}

/// A game of which somebody has been told.
#[derive(Clone, Copy)]
struct SeenGame {
    over: bool,
    /// When the last turn of the player's that was told began.
    turn: Option<i32>,
}

/// What there is to tell.
pub enum Concern {
    /// Everything as it is.
    Snapshot {
        /// Running games, newest first.
        games: Vec<SeatedGame>,
        /// Groups of which the player is a member.
        groups: Vec<GroupRow>,
        /// The ticket that waits, or has led to a game that is running.
        ticket: Option<Ticket>,
    },
    /// The player has a ticket.
    TicketCreated(Ticket),
    /// There is a game for a ticket.
    MatchFound(TicketId, GameId),
    /// A ticket waits no more, and there is no game for it.
    TicketClosed(TicketId, TicketStatus),
    /// A game in which the player has a seat.
    GameStarted(SeatedGame),
    /// It is the player's turn.
    YourTurn(SeatedGame),
    /// A game is over.
    GameEnded {
        /// Which.
        game: SeatedGame,
        /// Why.
        reason: EndReason,
        /// By seat; `None` when it was aborted.
        places: Option<Vec<u8>>,
    },
    /// The player has become a member of a group, or it has changed.
    GroupChanged(GroupRow),
    /// The player is no member any more.
    GroupLeft(GroupId),
}

impl Service {
    /// What concerns `player`, from now on.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn me_events(&self, player: PlayerId) -> Result<MeStream> {
        let mut stream = MeStream {
            service: self.clone(),
            player,
            // Listening before looking: what comes in between is heard.
            listening: self.news.listen([Topic::Player(player)]),
            games: HashMap::new(),
            ticket: None,
            groups: HashMap::new(),
            snapshot: None,
            looked_at: Instant::now(),
            looked_up_to: self.database_time(),
            rung: false,
        };
        stream.snapshot = Some(Box::pin(stream.begin()).await?);
        Ok(stream)
    }
}

impl MeStream {
    /// What has changed, with the time at which that was so; `None` when nothing has, see [`Self::listening`].
    ///
    /// # Errors
    /// When the database fails, or there is too much to follow.
    pub async fn next(&mut self) -> Result<Option<(Vec<Concern>, OffsetDateTime)>> {
        if let Some(snapshot) = self.snapshot.take() {
            return Ok(Some(snapshot));
        }
        if !self.rung && self.looked_at.elapsed() < LOOK_AGAIN {
            return Ok(None);
        }
        // Its own allocation, so that a stream that waits is small.
        let (concerns, now) = Box::pin(self.go_on()).await?;
        Ok(Some((concerns, now)).filter(|(concerns, _)| !concerns.is_empty()))
    }

    /// What it hears of.
    pub fn listening(&mut self) -> &mut Listening {
        &mut self.listening
    }

    /// Notes what there may be news of.
    pub fn look(&mut self, rung: Rung) {
        let any = Uuid::nil();
        let topics = [Topic::Player(self.player), Topic::Game(any.into()), Topic::Group(any.into())];
        self.rung |= topics.into_iter().any(|topic| rung.like(topic));
    }

    async fn begin(&mut self) -> Result<(Vec<Concern>, OffsetDateTime)> {
        let Concerns { mut games, mut tickets, groups, now } = self.read(true).await?;
        for game in &games {
            self.games.insert(game.id, SeenGame::of(game));
        }
        games.retain(|game| game.end.is_none());
        let ticket = match tickets.pop() {
            Some(row) => Some(self.prospects(row).await?),
            None => None,
        };
        self.ticket = ticket.as_ref().map(|ticket| (ticket.row.id, ticket.row.status));
        self.groups = groups.iter().map(|group| (group.id, group.seq)).collect();
        Ok((vec![Concern::Snapshot { games, groups, ticket }], now))
    }

    async fn go_on(&mut self) -> Result<(Vec<Concern>, OffsetDateTime)> {
        let Concerns { games, tickets, groups, now } = self.read(false).await?;
        let mut concerns = Vec::new();
        self.compare_tickets(tickets, &mut concerns).await?;
        self.compare_games(games, &mut concerns);
        self.compare_groups(groups, &mut concerns);
        Ok((concerns, now))
    }

    /// Reads what concerns the player, once all of it is listened to.
    async fn read(&mut self, first: bool) -> Result<Concerns> {
        let before = self.looked_up_to - UNCERTAIN;
        let before = u64::try_from(before.unix_timestamp_nanos() / 1_000_000).unwrap_or_default();
        let known = Known {
            nothing: first,
            games: self.games.iter().filter(|(_, seen)| !seen.over).map(|(id, _)| id.uuid()).collect(),
            // As ids begin with the milliseconds.
            before: Uuid::from_u128(u128::from(before) << 80),
            ticket: self.ticket.map(|(id, _)| id),
            groups: self.groups.keys().map(|id| id.uuid()).collect(),
        };
        let concerns = loop {
            self.rung = false;
            let mut db = self.service.database.connection().await?;
            let concerns = store::concerns(&mut db, self.player, &known).await?;
            db.done();
            if concerns.games.len().max(concerns.groups.len()) >= MOST {
                return Err(Error::Busy);
            }
            // What happens to something after it was read and before it is listened to would not be heard: so it is read
            // again.
            let games = concerns.games.iter().filter(|game| game.end.is_none()).map(|g| Topic::Game(g.id));
            let topics = games.chain(concerns.groups.iter().map(|group| Topic::Group(group.id)));
            if topics.filter(|topic| self.listening.add(*topic)).count() == 0 {
                break concerns;
            }
        };
        for game in concerns.games.iter().filter(|game| game.end.is_none()) {
            self.listening.looked_up(Topic::Game(game.id), game.seq);
        }
        for group in &concerns.groups {
            self.listening.looked_up(Topic::Group(group.id), group.seq);
        }
        self.looked_at = Instant::now();
        self.looked_up_to = concerns.now;
        Ok(concerns)
    }

    async fn compare_tickets(&mut self, tickets: Vec<TicketRow>, concerns: &mut Vec<Concern>) -> Result<()> {
        let mut last = None;
        for row in tickets {
            let (id, status) = (row.id, row.status);
            if self.ticket != Some((id, status)) {
                concerns.push(match (status, row.game) {
                    (TicketStatus::Waiting, _) => Concern::TicketCreated(self.prospects(row).await?),
                    (_, Some(game)) => Concern::MatchFound(id, game),
                    (_, None) => Concern::TicketClosed(id, status),
                });
            }
            last = Some((id, status));
        }
        self.ticket =
            last.filter(|(_, status)| matches!(status, TicketStatus::Waiting | TicketStatus::Matched));
        Ok(())
    }

    fn compare_games(&mut self, games: Vec<SeatedGame>, concerns: &mut Vec<Concern>) {
        let mut seen_before = std::mem::take(&mut self.games);
        for game in games {
            let before = seen_before.remove(&game.id);
            let mut seen = SeenGame::of(&game);
            // A turn is told once, even if the player had left in between.
            seen.turn = seen.turn.or(before.and_then(|before| before.turn));
            self.games.insert(game.id, seen);
            if before.is_none() {
                concerns.push(Concern::GameStarted(game.clone()));
            }
            if seen.turn != before.and_then(|before| before.turn) {
                concerns.push(Concern::YourTurn(game.clone()));
            }
            let Some((reason, places)) = game.end.clone() else { continue };
            self.listening.remove(Topic::Game(game.id));
            if !before.is_some_and(|before| before.over) {
                concerns.push(Concern::GameEnded { game, reason, places });
            }
        }
    }

    fn compare_groups(&mut self, groups: Vec<GroupRow>, concerns: &mut Vec<Concern>) {
        let mut before = std::mem::take(&mut self.groups);
        for group in groups {
            self.groups.insert(group.id, group.seq);
            if before.remove(&group.id) != Some(group.seq) {
                concerns.push(Concern::GroupChanged(group));
            }
        }
        for id in before.into_keys() {
            self.listening.remove(Topic::Group(id));
            concerns.push(Concern::GroupLeft(id));
        }
    }

    async fn prospects(&self, row: TicketRow) -> Result<Ticket> {
        let mut db = self.service.database.connection().await?;
        let ticket = with_prospects(&mut db, row).await?;
        db.done();
        Ok(ticket)
    }
}

impl SeenGame {
    fn of(game: &SeatedGame) -> Self {
        Self { over: game.end.is_some(), turn: game.own_turn.then_some(game.seq) }
    }
}
