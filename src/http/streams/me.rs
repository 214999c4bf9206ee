//! The stream of what concerns the caller.

use actix_web::web::{Bytes, Data, Query};
use actix_web::{HttpRequest, HttpResponse, get};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::{IntoParams, ToSchema};

use super::{Closing, Form, Heartbeat, Source, answer, place};
use crate::http::caller::{Caller, Viewer};
use crate::http::objects::{EndReason, Group, Variant};
use crate::http::problem::Failure;
use crate::http::tickets::Ticket;
use crate::ids::{GameId, GroupId, TicketId};
use crate::service::{Concern, Error, Listening, MeStream, Rung, Service};
use crate::store::{SeatedGame, TicketStatus};

/// How a browser says who it is.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct By {
    /// For browsers: a token of `POST /v1/me/stream-tokens`, in place of the header.
    #[param(required = false, max_length = 1024)]
    #[expect(dead_code, reason = "the gate has read it")]
    pub stream_token: Option<String>,
}

/// Types with one value each, by which messages are told apart.
macro_rules! types {
    ($($name:ident: $value:ident of $message:literal,)*) => {$(
        #[doc = concat!("See [`", $message, "`].")]
        #[derive(Serialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            /// The only value.
            $value,
        }
    )*};
}

types! {
    SnapshotType: Snapshot of "MeSnapshot",
    TicketCreatedType: TicketCreated of "TicketCreated",
    MatchFoundType: MatchFound of "MatchFound",
    TicketClosedType: TicketClosed of "TicketClosed",
    GameStartedType: GameStarted of "GameStarted",
    YourTurnType: YourTurn of "YourTurn",
    GameEndedType: GameEnded of "GameEnded",
    GroupChangedType: GroupChanged of "GroupChanged",
    GroupLeftType: GroupLeft of "GroupLeft",
}

/// A running game in which the caller has a seat.
#[derive(Serialize, ToSchema)]
pub struct SeatedIn {
    /// Which game.
    pub game_id: GameId,
    /// Which of the two games.
    pub variant: Variant,
    /// Whether the result counts for the ratings.
    pub ranked: bool,
    /// How many events it has.
    pub seq: i32,
    /// The caller's seat.
    pub seat: u8,
    /// The seat to move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_move: Option<u8>,
    /// Whether the caller is to move: not after resigning or leaving, when the computer plays.
    pub your_turn: bool,
    /// When the present turn runs out, in games with `turn_seconds`; absent while the computer has the turn or the game
    /// pauses.
    #[serde(with = "time::serde::rfc3339::option", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<OffsetDateTime>,
    /// The group that plays it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<GroupId>,
}

/// What concerns the caller, all as it is at one moment. Everything that follows is a change of it.
#[derive(Serialize, ToSchema)]
pub struct MeSnapshot {
    /// Always `snapshot`.
    #[serde(rename = "type")]
    pub kind: SnapshotType,
    /// Running games, newest first; of more than 100 the newest.
    pub games: Vec<SeatedIn>,
    /// Groups of which the caller is a member; of more than 100 those joined last.
    pub groups: Vec<Group>,
    /// The ticket that waits, or has led to a game that is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<Ticket>,
    /// The database's clock.
    #[serde(with = "time::serde::rfc3339")]
    pub server_time: OffsetDateTime,
}

/// The caller has a ticket.
#[derive(Serialize, ToSchema)]
pub struct TicketCreated {
    /// Always `ticket_created`.
    #[serde(rename = "type")]
    pub kind: TicketCreatedType,
    /// The ticket.
    pub ticket: Ticket,
}

/// There is a game for a ticket of the caller's.
#[derive(Serialize, ToSchema)]
pub struct MatchFound {
    /// Always `match_found`.
    #[serde(rename = "type")]
    pub kind: MatchFoundType,
    /// The ticket.
    pub ticket_id: TicketId,
    /// The game; `game_started` tells of it too.
    pub game_id: GameId,
}

/// A ticket of the caller's waits no more, and there is no game for it.
#[derive(Serialize, ToSchema)]
pub struct TicketClosed {
    /// Always `ticket_closed`.
    #[serde(rename = "type")]
    pub kind: TicketClosedType,
    /// The ticket.
    pub ticket_id: TicketId,
    /// Why.
    pub status: ClosedStatus,
}

/// Why a ticket waits no more.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClosedStatus {
    /// By its player.
    Cancelled,
    /// Its player had not been heard of for 30 seconds.
    Expired,
}

/// A game has begun in which the caller has a seat, however it came about.
#[derive(Serialize, ToSchema)]
pub struct GameStarted {
    /// Always `game_started`.
    #[serde(rename = "type")]
    pub kind: GameStartedType,
    /// Which game.
    pub game_id: GameId,
    /// Which of the two games.
    pub variant: Variant,
    /// Whether the result counts for the ratings.
    pub ranked: bool,
    /// The caller's seat.
    pub seat: u8,
    /// The group that plays it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<GroupId>,
}

/// It is the caller's turn: told once for each `seq` at which it is, so also when the caller sows again, and when somebody
/// has resigned, left or returned meanwhile.
#[derive(Serialize, ToSchema)]
pub struct YourTurn {
    /// Always `your_turn`.
    #[serde(rename = "type")]
    pub kind: YourTurnType,
    /// In which game.
    pub game_id: GameId,
    /// How many events it has: what the move has to name.
    pub seq: i32,
    /// When the turn runs out, in games with `turn_seconds`.
    #[serde(with = "time::serde::rfc3339::option", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<OffsetDateTime>,
    /// The database's clock, against which the deadline is measured.
    #[serde(with = "time::serde::rfc3339")]
    pub server_time: OffsetDateTime,
}

/// A game of the caller's is over.
#[derive(Serialize, ToSchema)]
pub struct GameEnded {
    /// Always `game_ended`.
    #[serde(rename = "type")]
    pub kind: GameEndedType,
    /// Which game.
    pub game_id: GameId,
    /// Why.
    pub end_reason: EndReason,
    /// Places by seat, from 1; equal ones are shared. Absent when the game was aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<Vec<u8>>,
    /// The caller's place.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 4)]
    pub place: Option<u8>,
}

/// The caller has become a member of a group, or something about one has changed: members, settings, the game.
#[derive(Serialize, ToSchema)]
pub struct GroupChanged {
    /// Always `group_changed`.
    #[serde(rename = "type")]
    pub kind: GroupChangedType,
    /// The group as it is now.
    pub group: Group,
}

/// The caller is a member of a group no more.
#[derive(Serialize, ToSchema)]
pub struct GroupLeft {
    /// Always `group_left`.
    #[serde(rename = "type")]
    pub kind: GroupLeftType,
    /// Which group.
    pub group_id: GroupId,
}

/// A message of the stream of what concerns the caller.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(discriminator(property_name = "type", mapping(
    ("snapshot" = "#/components/schemas/MeSnapshot"),
    ("ticket_created" = "#/components/schemas/TicketCreated"),
    ("match_found" = "#/components/schemas/MatchFound"),
    ("ticket_closed" = "#/components/schemas/TicketClosed"),
    ("game_started" = "#/components/schemas/GameStarted"),
    ("your_turn" = "#/components/schemas/YourTurn"),
    ("game_ended" = "#/components/schemas/GameEnded"),
    ("group_changed" = "#/components/schemas/GroupChanged"),
    ("group_left" = "#/components/schemas/GroupLeft"),
    ("heartbeat" = "#/components/schemas/Heartbeat"), ("closing" = "#/components/schemas/Closing"))))]
pub enum MeMessage {
    /// After the first heartbeat.
    Snapshot(MeSnapshot),
    /// From whichever device.
    TicketCreated(TicketCreated),
    /// A ranked game.
    MatchFound(MatchFound),
    /// Without a game.
    TicketClosed(TicketClosed),
    /// Of any kind.
    GameStarted(GameStarted),
    /// Time to move.
    YourTurn(YourTurn),
    /// With or without places.
    GameEnded(GameEnded),
    /// Also when it is new to the caller.
    GroupChanged(GroupChanged),
    /// From whichever device.
    GroupLeft(GroupLeft),
    /// Every 15 seconds, and first.
    #[expect(dead_code, reason = "for the document: it is written where it arises")]
    Heartbeat(Heartbeat),
    /// The server ends the stream.
    #[expect(dead_code, reason = "for the document: it is written where it arises")]
    Closing(Closing),
}

/// Follow what concerns the caller
///
/// First a `snapshot` of the running games, the groups and the ticket; then what changes, each thing once. There is no
/// cursor and no message has an id: who connects again gets the snapshot again, and finds in it what came of everything
/// meanwhile. As server-sent events, or as lines of JSON with `Accept: application/x-ndjson`. Every message has a `type`;
/// heartbeats are events named `heartbeat`, everything else arrives as `message`. Several streams may be open at once, and
/// each is told the same. While one is open its player counts as being there, which keeps a ticket alive.
#[utoipa::path(tag = "streams", security(("bearer" = []), ("personal_token" = ["games:read"])), params(By),
    responses((status = 200, description = "The messages.", content(
        (MeMessage = "text/event-stream"), (MeMessage = "application/x-ndjson")))))]
#[get("/me/events")]
pub async fn stream_me(
    service: Data<Service>,
    caller: Caller,
    viewer: Viewer,
    _query: Query<By>,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let form = Form::of(&request)?;
    let slot = place(&service, viewer.bearer(), &request).await?;
    let source = Concerns(service.me_events(caller.player()).await?);
    Ok(answer(source, form, &service, viewer.bearer(), slot, &request))
}

struct Concerns(MeStream);

impl Source for Concerns {
    async fn next(&mut self, form: Form, _now: OffsetDateTime) -> Result<Option<Bytes>, Error> {
        let told = self.0.next().await?.map(|(concerns, now)| {
            let messages = concerns.into_iter().map(|concern| MeMessage::of(concern, now));
            messages.flat_map(|message| form.message(None, &message)).collect()
        });
        Ok(told)
    }

    fn is_over(&self) -> bool {
        false
    }

    fn listening(&mut self) -> &mut Listening {
        self.0.listening()
    }

    async fn look(&mut self, rung: Rung) -> Result<(), Error> {
        self.0.look(rung);
        Ok(())
    }
}

impl MeMessage {
    fn of(concern: Concern, now: OffsetDateTime) -> Self {
        match concern {
            Concern::Snapshot { games, groups, ticket } => Self::Snapshot(MeSnapshot {
                kind: SnapshotType::Snapshot,
                games: games.into_iter().map(SeatedIn::from).collect(),
                groups: groups.iter().map(Group::from).collect(),
                ticket: ticket.map(Ticket::from),
                server_time: now,
            }),
            Concern::TicketCreated(ticket) => Self::TicketCreated(TicketCreated {
                kind: TicketCreatedType::TicketCreated,
                ticket: ticket.into(),
            }),
            Concern::MatchFound(ticket_id, game_id) => {
                Self::MatchFound(MatchFound { kind: MatchFoundType::MatchFound, ticket_id, game_id })
            }
            Concern::TicketClosed(ticket_id, status) => Self::TicketClosed(TicketClosed {
                kind: TicketClosedType::TicketClosed,
                ticket_id,
                status: match status {
                    TicketStatus::Expired => ClosedStatus::Expired,
                    _ => ClosedStatus::Cancelled,
                },
            }),
            Concern::GameStarted(game) => Self::GameStarted(GameStarted {
                kind: GameStartedType::GameStarted,
                game_id: game.id,
                variant: game.variant.into(),
                ranked: game.ranked,
                seat: game.seat,
                group_id: game.group,
            }),
            Concern::YourTurn(game) => Self::YourTurn(YourTurn {
                kind: YourTurnType::YourTurn,
                game_id: game.id,
                seq: game.seq,
                deadline: game.deadline,
                server_time: now,
            }),
            Concern::GameEnded { game, reason, places } => Self::GameEnded(GameEnded {
                kind: GameEndedType::GameEnded,
                game_id: game.id,
                end_reason: reason.into(),
                place: places.as_ref().and_then(|places| places.get(usize::from(game.seat)).copied()),
                places,
            }),
            Concern::GroupChanged(group) => Self::GroupChanged(GroupChanged {
                kind: GroupChangedType::GroupChanged,
                group: Group::from(&group),
            }),
            Concern::GroupLeft(group_id) => {
                Self::GroupLeft(GroupLeft { kind: GroupLeftType::GroupLeft, group_id })
            }
        }
    }
}

impl From<SeatedGame> for SeatedIn {
    fn from(game: SeatedGame) -> Self {
        Self {
            game_id: game.id,
            variant: game.variant.into(),
            ranked: game.ranked,
            seq: game.seq,
            seat: game.seat,
            to_move: game.to_move,
            your_turn: game.own_turn,
            deadline: game.deadline,
            group_id: game.group,
        }
    }
}
