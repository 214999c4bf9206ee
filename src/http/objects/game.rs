//! A game as it is now.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::ToSchema;

use super::{EndReason, Event, Level, Player, Variant};
use crate::engine;
use crate::ids::{GameId, GroupId};
use crate::options::Asked;
use crate::service::events::last_event;
use crate::store::{self, Occupant, Status, StoredGame};

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
    /// Its player's rating, in ranked games.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<SeatRating>,
}

/// What a ranked game does to the rating of a seat, in whole points as players see them.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SeatRating {
    /// Before the game.
    pub before: i16,
    /// After it; absent until the game has ended, and when it was aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<i16>,
    /// After less before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<i16>,
    /// Whether the newer of the two is still uncertain: shown with a question mark.
    pub provisional: bool,
}

impl From<store::SeatRating> for SeatRating {
    fn from(rating: store::SeatRating) -> Self {
        let store::SeatRating { before, after, provisional } = rating;
        Self { before, after, change: after.map(|after| after - before), provisional }
    }
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

impl From<GameStatus> for Status {
    fn from(status: GameStatus) -> Self {
        match status {
            GameStatus::Running => Self::Running,
            GameStatus::Finished => Self::Finished,
            GameStatus::Aborted => Self::Aborted,
        }
    }
}

impl From<Status> for GameStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Running => Self::Running,
            Status::Finished => Self::Finished,
            Status::Aborted => Self::Aborted,
        }
    }
}

/// A game.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({"id": "01936f0c-6f1e-7c3a-8a53-3d1f6b7f2f10", "variant": "kalah",
    "options": {"players": 2, "pits": 6, "stones": 4, "capture_empty": false, "rotate_starter": true,
        "away_seconds": 300, "stand_in": "medium"},
    "ranked": false, "status": "running", "seq": 0, "starter": 0, "to_move": 0, "legal": [0, 1, 2, 3, 4, 5],
    "seats": [
        {"seat": 0, "player": {"id": "01936f0c-5b1a-7d02-9c77-6a0e4b9d8c21", "name": "Ana", "kind": "guest"},
            "pits": [4, 4, 4, 4, 4, 4], "store": 0, "out": false, "left": false, "resigned": false},
        {"seat": 1, "computer": "easy", "pits": [4, 4, 4, 4, 4, 4], "store": 0, "out": false, "left": false, "resigned": false}],
    "server_time": "2026-11-30T12:00:00Z", "created_at": "2026-11-30T12:00:00Z"}))]
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
    /// When the present turn runs out, in games with `turn_seconds`; absent while the computer has the turn or the game
    /// pauses. A move counts that reaches the database at most one second later. An outage of the server moves it without
    /// an event, and so without another `seq` or ETag.
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
        let seats =
            stored.options.rules().seats().zip(&stored.seats).zip(stored.game.places()).zip(&stored.ratings);
        Self {
            id: stored.id,
            variant: position.rules().variant().into(),
            options: stored.options.answered(),
            ranked: stored.game.ranked(),
            status: Status::of(stored.game.end()).into(),
            end_reason: stored.game.end().map(EndReason::from),
            seq: stored.seq,
            starter: stored.starter.get(),
            to_move: position.to_move().map(engine::Seat::get),
            legal: position.legal().collect(),
            seats: seats
                .map(|(((seat, occupant), place), rating)| Seat {
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
                    rating: rating.map(SeatRating::from),
                })
                .collect(),
            deadline: stored.deadline,
            server_time: stored.now,
            group_id: stored.group,
            last_event: last_event(stored).as_ref().map(Event::from),
            created_at: stored.created_at,
            ended_at: stored.ended_at,
        }
    }
}
