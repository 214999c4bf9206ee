//! The objects that several operations answer with: players, positions, events, games.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::ToSchema;

use super::problem::{Failure, ProblemCode};
use crate::cpu;
use crate::engine::{self, Setup};
use crate::ids::{GameId, GroupId, PlayerId};
use crate::options::{Asked, Options};
use crate::service::events::{EventView, last_event};
use crate::store::{self, Occupant, StoredGame};

/// Which of the two games.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Most stones in the store win; captures.
    Kalah,
    /// Whoever empties the own side first wins; no captures.
    Basic,
}

impl From<Variant> for engine::Variant {
    fn from(variant: Variant) -> Self {
        match variant {
            Variant::Kalah => Self::Kalah,
            Variant::Basic => Self::Basic,
        }
    }
}

impl From<engine::Variant> for Variant {
    fn from(variant: engine::Variant) -> Self {
        match variant {
            engine::Variant::Kalah => Self::Kalah,
            engine::Variant::Basic => Self::Basic,
        }
    }
}

/// How well a computer player plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Looks one move ahead, and often plays at random.
    Easy,
    /// Looks five moves ahead.
    Medium,
    /// Searches as deep as its time allows.
    Hard,
    /// Never gives away a result of two-player Kalah.
    Perfect,
}

impl Level {
    /// The level, if it can be played against.
    pub fn available(self, pointer: &str) -> Result<cpu::Level, Failure> {
        match self {
            Self::Easy => Ok(cpu::Level::Easy),
            Self::Medium => Ok(cpu::Level::Medium),
            Self::Hard => Ok(cpu::Level::Hard),
            Self::Perfect => Err(Failure::field(
                ProblemCode::LevelUnavailable,
                pointer,
                "the level perfect cannot be played against yet; take hard",
            )),
        }
    }
}

impl From<cpu::Level> for Level {
    fn from(level: cpu::Level) -> Self {
        match level {
            cpu::Level::Easy => Self::Easy,
            cpu::Level::Medium => Self::Medium,
            cpu::Level::Hard => Self::Hard,
            cpu::Level::Perfect => Self::Perfect,
        }
    }
}

/// What kind of player somebody is.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlayerKind {
    /// Plays without having registered.
    Guest,
    /// Has a username and a password.
    Account,
    /// A program.
    Bot,
    /// Is gone; the games remain.
    Deleted,
}

/// A player as others see them.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Player {
    /// The player's id, for ever.
    pub id: PlayerId,
    /// The display name: 1 to 40 characters.
    #[schema(example = "Ana")]
    pub name: String,
    /// Guest, account, bot or deleted.
    pub kind: PlayerKind,
}

impl From<&store::PlayerRow> for Player {
    fn from(row: &store::PlayerRow) -> Self {
        let kind = match row.kind {
            store::PlayerKind::Guest => PlayerKind::Guest,
            store::PlayerKind::Account => PlayerKind::Account,
            store::PlayerKind::Bot => PlayerKind::Bot,
            store::PlayerKind::Deleted => PlayerKind::Deleted,
        };
        Self { id: row.id, name: row.name.clone(), kind }
    }
}

/// A position: all that decides what can be played.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"variant": "kalah", "options": {"players": 2, "pits": 6, "stones": 4},
    "pits": [[4, 4, 0, 5, 5, 5], [4, 4, 4, 4, 4, 4]], "stores": [1, 0], "out": [false, false], "to_move": 0}))]
pub struct Position {
    /// Which game.
    pub variant: Variant,
    /// Local rules.
    #[serde(default)]
    pub options: Asked,
    /// Stones in the pits, by seat, from left to right as their owner sees them.
    #[schema(min_items = 2, max_items = 4)]
    pub pits: Vec<Vec<u8>>,
    /// Stones in the stores, by seat.
    #[schema(min_items = 2, max_items = 4)]
    pub stores: Vec<u8>,
    /// Which seats have left the board (Basic with 3 or 4 players). In requests absent means none.
    #[serde(default)]
    #[schema(required = false)]
    pub out: Vec<bool>,
    /// The seat to move; absent when the game is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 3)]
    pub to_move: Option<u8>,
}

impl Position {
    /// A position of a game with these options.
    pub fn of(position: &engine::Position, options: &Options) -> Self {
        Self {
            variant: position.rules().variant().into(),
            options: options.answered(),
            pits: position.seats().map(|s| position.pits(s).to_vec()).collect(),
            stores: position.seats().map(|s| position.store(s)).collect(),
            out: position.seats().map(|s| position.is_out(s)).collect(),
            to_move: position.to_move().map(engine::Seat::get),
        }
    }

    /// The engine's position, with the options that take effect in it.
    pub fn parse(&self, pointer: &str) -> Result<(engine::Position, Options), Failure> {
        let invalid = |field: &str, detail: String| {
            Failure::field(ProblemCode::InvalidPosition, &format!("{pointer}/{field}"), detail)
        };
        let players = u8::try_from(self.pits.len()).unwrap_or(u8::MAX);
        let pits = self.pits.first().map_or(0, Vec::len);
        let pits = u8::try_from(pits).unwrap_or(u8::MAX);
        if !(2..=4).contains(&players) {
            return Err(invalid("pits", "a position has the pits of 2 to 4 seats".to_owned()));
        }
        if !(1..=7).contains(&pits) {
            return Err(invalid("pits", "a side has 1 to 7 pits".to_owned()));
        }
        let options = Options::of_position(self.variant.into(), players, pits, &self.options)
            .map_err(|e| Failure::options(&format!("{pointer}/options"), &e))?;
        let to_move = self
            .to_move
            .map(|s| engine::Seat::new(s).ok_or_else(|| invalid("to_move", format!("there is no seat {s}"))))
            .transpose()?;
        let out = if self.out.is_empty() { vec![false; self.pits.len()] } else { self.out.clone() };
        let setup = Setup {
            rules: options.rules(),
            pits: self.pits.clone(),
            stores: self.stores.clone(),
            out,
            to_move,
        };
        let position = engine::Position::from_setup(&setup).map_err(|e| invalid(e.field(), e.to_string()))?;
        Ok((position, options))
    }
}

/// A pit (`pit` is there) or a store (`store` is true) of a seat.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({"seat": 0, "pit": 3}))]
pub struct Cup {
    /// Whose.
    pub seat: u8,
    /// Which pit, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pit: Option<u8>,
    /// True for the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
}

impl From<engine::Cup> for Cup {
    fn from(cup: engine::Cup) -> Self {
        match cup {
            engine::Cup::Pit { seat, pit } => Self { seat: seat.get(), pit: Some(pit), store: None },
            engine::Cup::Store { seat } => Self { seat: seat.get(), pit: None, store: Some(true) },
        }
    }
}

/// A cup that a capture emptied, with the stones that were in it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({"seat": 1, "pit": 4, "stones": 5}))]
pub struct CapturedCup {
    /// Whose.
    pub seat: u8,
    /// Which pit, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pit: Option<u8>,
    /// True for the store (captures take from pits only, so it never is).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
    /// How many stones went to the mover's store.
    pub stones: u8,
}

/// The cups of a sowing, in order.
pub fn path(sowing: &engine::Sowing) -> Vec<Cup> {
    sowing.path.iter().map(|&cup| cup.into()).collect()
}

/// The cups that a sowing captured.
pub fn captured(sowing: &engine::Sowing) -> Vec<CapturedCup> {
    sowing
        .captured
        .iter()
        .map(|&(cup, stones)| {
            let Cup { seat, pit, store } = cup.into();
            CapturedCup { seat, pit, store, stones }
        })
        .collect()
}

/// What happened.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EventType {
    /// A sowing.
    Move,
    /// A seat resigned.
    Resign,
    /// A player left; the computer plays until the player returns.
    Leave,
    /// A player who had left came back.
    Return,
    /// The game ended without a result.
    Abort,
}

/// Who played a move.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The player of the seat.
    Player,
    /// The computer, on its own seat or in a player's place.
    Computer,
    /// The clock, because the turn had run out.
    Clock,
}

/// Why a game ended.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// By the rules of the game.
    Played,
    /// The last event was a resignation.
    Resigned,
    /// A ranked game in which somebody's first turn ran out.
    NoShow,
    /// Nobody came back.
    Abandoned,
}

impl From<engine::EndReason> for EndReason {
    fn from(reason: engine::EndReason) -> Self {
        match reason {
            engine::EndReason::Played => Self::Played,
            engine::EndReason::Resigned => Self::Resigned,
            engine::EndReason::NoShow => Self::NoShow,
            engine::EndReason::Abandoned => Self::Abandoned,
        }
    }
}

/// How a game ended.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Ending {
    /// Why.
    pub reason: EndReason,
    /// Places by seat, from 1; equal ones are shared. Absent when the game was aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<Vec<u8>>,
}

/// An event of a game, with everything needed to draw it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({"seq": 1, "at": "2026-11-30T12:00:00Z", "type": "move", "seat": 0, "pit": 2, "by": "player",
    "path": [{"seat": 0, "pit": 3}, {"seat": 0, "pit": 4}, {"seat": 0, "pit": 5}, {"seat": 0, "store": true}],
    "captured": [], "extra": true, "finished": [],
    "position": {"variant": "kalah", "options": {"players": 2, "pits": 6, "stones": 4},
        "pits": [[4, 4, 0, 5, 5, 5], [4, 4, 4, 4, 4, 4]], "stores": [1, 0], "out": [false, false], "to_move": 0}}))]
pub struct Event {
    /// Its number in the game, from 1.
    pub seq: i32,
    /// When it happened, by the database's clock.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// Whose event; absent for an abort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// Moves: the pit sown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pit: Option<u8>,
    /// Moves: who played it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// Moves: every cup that a stone fell into, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<Cup>>,
    /// Moves: the pits that the capture emptied, the last stone's own pit among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captured: Option<Vec<CapturedCup>>,
    /// Moves: whether the same seat sows again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<bool>,
    /// Moves: seats that left the board by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<Vec<u8>>,
    /// The event that ended the game: how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<Ending>,
    /// The position after the event.
    pub position: Position,
    /// When the turn after the event runs out, where turns are limited.
    #[serde(with = "time::serde::rfc3339::option", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<OffsetDateTime>,
}

impl Event {
    /// An event of a game with these options.
    pub fn of(view: &EventView, options: &Options) -> Self {
        let row = view.row;
        let sowing = view.sowing.as_ref();
        Self {
            seq: row.seq,
            at: row.at,
            kind: match row.kind {
                store::EventKind::Move => EventType::Move,
                store::EventKind::Resign => EventType::Resign,
                store::EventKind::Leave => EventType::Leave,
                store::EventKind::Return => EventType::Return,
                store::EventKind::Abort => EventType::Abort,
            },
            seat: row.seat.map(engine::Seat::get),
            pit: row.pit,
            by: row.by.map(|by| match by {
                store::By::Player => By::Player,
                store::By::Computer => By::Computer,
                store::By::Clock => By::Clock,
            }),
            path: sowing.map(path),
            captured: sowing.map(captured),
            extra: sowing.map(|s| s.extra),
            finished: sowing.map(|s| s.finished.iter().map(|seat| seat.get()).collect()),
            ends: view.ends.as_ref().map(|(reason, places)| Ending {
                reason: (*reason).into(),
                places: places.iter().copied().collect(),
            }),
            position: Position::of(&view.position, options),
            deadline: view.deadline,
        }
    }
}

/// A seat of a game with its side of the board.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Seat {
    /// Its number, in turn order.
    pub seat: u8,
    /// The person who sits here; absent for a computer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub player: Option<Player>,
    /// The level of the computer that sits here; absent for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computer: Option<Level>,
    /// Stones in the pits.
    pub pits: Vec<u8>,
    /// Stones in the store.
    pub store: u8,
    /// Whether the seat has left the board.
    pub out: bool,
    /// Whether its player is away and the computer plays.
    pub left: bool,
    /// Whether its player has resigned.
    pub resigned: bool,
    /// The place, as soon as it is certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 4)]
    pub place: Option<u8>,
}

/// Where a game stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum GameStatus {
    /// Somebody is to move.
    Running,
    /// Over, with places.
    Finished,
    /// Over without a result.
    Aborted,
}

impl GameStatus {
    /// As stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Aborted => "aborted",
        }
    }
}

/// A game.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Game {
    /// The game's id.
    pub id: GameId,
    /// Which of the two games.
    pub variant: Variant,
    /// The local rules in effect.
    pub options: Asked,
    /// Whether the result counts for the ratings.
    pub ranked: bool,
    /// Running, finished or aborted.
    pub status: GameStatus,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<EndReason>,
    /// How many events it has. The only cursor there is: moves name it, long polls wait for more than it.
    pub seq: i32,
    /// The seat that began.
    pub starter: u8,
    /// The seat to move; absent when the game is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_move: Option<u8>,
    /// The pits that the seat to move may sow.
    pub legal: Vec<u8>,
    /// The seats, in turn order.
    pub seats: Vec<Seat>,
    /// When the present turn runs out, where turns are limited.
    #[serde(with = "time::serde::rfc3339::option", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<OffsetDateTime>,
    /// The database's clock, against which the deadline is measured.
    #[serde(with = "time::serde::rfc3339")]
    pub server_time: OffsetDateTime,
    /// The group that plays it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<GroupId>,
    /// The event that led here; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_event: Option<Event>,
    /// When it was made.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    /// When it ended.
    #[serde(with = "time::serde::rfc3339::option", skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<OffsetDateTime>,
}

impl From<&StoredGame> for Game {
    fn from(stored: &StoredGame) -> Self {
        let position = stored.game.position();
        let seats = stored.options.rules().seats().zip(&stored.seats).zip(stored.game.places());
        Self {
            id: stored.id,
            variant: position.rules().variant().into(),
            options: stored.options.answered(),
            ranked: stored.game.ranked(),
            status: match stored.game.end() {
                None => GameStatus::Running,
                Some(engine::EndReason::Played | engine::EndReason::Resigned) => GameStatus::Finished,
                Some(engine::EndReason::NoShow | engine::EndReason::Abandoned) => GameStatus::Aborted,
            },
            end_reason: stored.game.end().map(EndReason::from),
            seq: stored.seq,
            starter: stored.starter.get(),
            to_move: position.to_move().map(engine::Seat::get),
            legal: position.legal().collect(),
            seats: seats
                .map(|((seat, occupant), place)| Seat {
                    seat: seat.get(),
                    player: occupant.person().map(Player::from),
                    computer: match occupant {
                        Occupant::Computer(level) => Some((*level).into()),
                        Occupant::Person(_) => None,
                    },
                    pits: position.pits(seat).to_vec(),
                    store: position.store(seat),
                    out: position.is_out(seat),
                    left: stored.game.is_left(seat),
                    resigned: stored.game.is_resigned(seat),
                    place,
                })
                .collect(),
            deadline: stored.deadline,
            server_time: stored.now,
            group_id: stored.group,
            last_event: last_event(stored).map(|view| Event::of(&view, &stored.options)),
            created_at: stored.created_at,
            ended_at: stored.ended_at,
        }
    }
}
