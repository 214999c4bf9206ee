//! The stream of a game.

use std::sync::Arc;

use actix_web::web::{Bytes, Data, Path, Query};
use actix_web::{HttpRequest, HttpResponse, get};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::{IntoParams, ToSchema};

use super::{Closing, Cursor, Form, Heartbeat, Source, answer, cursor_of, place};
use crate::http::caller::Viewer;
use crate::http::objects::{Event, Game};
use crate::http::presence::PresenceMessage;
use crate::http::problem::{Failure, ProblemCode};
use crate::ids::GameId;
use crate::service::{Error, GameNews, GameStream, Listening, Rung, Service, Told};
use crate::store::StoredGame;

/// From where on to read a stream.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct From {
    /// Only events after this one; all of them if absent. `Last-Event-ID`, which browsers send when they connect again,
    /// comes first.
    #[param(minimum = 0, maximum = 2147483647_u32, required = false)]
    pub after_seq: Option<u32>,
    /// For browsers: a token of `POST /v1/me/stream-tokens`, in place of the header.
    #[param(required = false, max_length = 1024)]
    #[expect(dead_code, reason = "the gate has read it")]
    pub stream_token: Option<String>,
}

/// The cursor lay beyond the last event, as after a restore of the database: go on from this state.
#[derive(Serialize, ToSchema)]
pub struct GameReset {
    /// Always `reset`.
    #[serde(rename = "type")]
    pub kind: ResetType,
    /// The game as it is now.
    pub game: Game,
}

/// See [`GameReset`].
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResetType {
    /// The only value.
    Reset,
}

/// A message of the stream of a game.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(discriminator(property_name = "type", mapping(
    ("move" = "#/components/schemas/Event"), ("resign" = "#/components/schemas/Event"),
    ("leave" = "#/components/schemas/Event"), ("return" = "#/components/schemas/Event"),
    ("abort" = "#/components/schemas/Event"), ("reset" = "#/components/schemas/GameReset"),
    ("presence" = "#/components/schemas/PresenceMessage"),
    ("heartbeat" = "#/components/schemas/Heartbeat"), ("closing" = "#/components/schemas/Closing"))))]
#[expect(dead_code, reason = "for the document: each is written where it arises")]
pub enum GameMessage {
    /// The log of the game, each event once and in order.
    Event(Event),
    /// Only first, and only when the cursor lay beyond the end.
    Reset(GameReset),
    /// Who is there, for those seated and the members of the game's group: first, and whenever it has changed.
    Presence(PresenceMessage),
    /// Every 15 seconds, and first.
    Heartbeat(Heartbeat),
    /// The server ends the stream.
    Closing(Closing),
}

/// Follow a game
///
/// First the events after the cursor, then each event as it happens, once and in order; after the one with `ends` the
/// stream ends. As server-sent events (the message's `id` is the event's `seq`, so a browser that connects again goes on
/// where it was), or as lines of JSON with `Accept: application/x-ndjson`. Every message has a `type`; heartbeats are
/// events named `heartbeat`, everything else arrives as `message`. A cursor beyond the last event is refused if the URL
/// says so, and answered with `reset` if a browser sends it. 204: the game is over and has no event after the cursor,
/// which also tells browsers not to come back. While the game is running, those seated and the members of its group are
/// also told who is there, in messages of the type `presence`, which have no `id`.
#[utoipa::path(tag = "streams", security((), ("bearer" = []), ("personal_token" = ["games:read"])),
    params(("id" = GameId, Path, description = "The game."), From,
        ("Last-Event-ID" = Option<String>, Header, pattern = "^[0-9]*$",
            description = "The last event that the client has.")),
    responses((status = 200, description = "The messages.", content(
            (GameMessage = "text/event-stream"), (GameMessage = "application/x-ndjson"))),
        (status = 204, description = "There is nothing after the cursor, and never will be.")))]
#[get("/games/{id}/events")]
pub async fn stream_game(
    service: Data<Service>,
    viewer: Viewer,
    id: Path<GameId>,
    query: Query<From>,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let form = Form::of(&request)?;
    let (cursor, from) = cursor_of(&request, query.after_seq)?;
    let slot = place(&service, viewer.bearer(), &request).await?;
    let (reset, events) = match service.game_events(viewer.player(), *id, cursor).await? {
        GameNews::Nothing => return Ok(HttpResponse::NoContent().finish()),
        GameNews::Events(events) => (None, events),
        GameNews::Reset(game, events) if from == Cursor::OfBrowser => (Some(game), events),
        GameNews::Reset(game, _) => {
            let detail = format!("the game has {} events, and none after {cursor}", game.seq);
            let mut failure = Failure::new(ProblemCode::CursorAhead, detail);
            failure.game = Some(game);
            return Err(failure);
        }
    };
    let source = Log { events, reset };
    Ok(answer(source, form, &service, viewer.bearer(), slot, &request))
}

struct Log {
    events: GameStream,
    reset: Option<Box<StoredGame>>,
}

impl Source for Log {
    async fn next(&mut self, form: Form, now: OffsetDateTime) -> Result<Option<Bytes>, Error> {
        if let Some(game) = self.reset.take() {
            let reset = GameReset { kind: ResetType::Reset, game: Game::from(&*game) };
            return Ok(Some(form.numbered(game.seq, &reset).into()));
        }
        if let Some(seats) = self.events.presence().await? {
            return Ok(Some(form.message(None, &PresenceMessage::from(&*seats)).into()));
        }
        let told = self.events.next().await?;
        Ok(told.map(|told| form.event(told.view.row.seq, wire(&told), now)))
    }

    fn is_over(&self) -> bool {
        self.reset.is_none() && self.events.is_over()
    }

    fn listening(&mut self) -> &mut Listening {
        self.events.listening()
    }

    async fn look(&mut self, rung: Rung) -> Result<(), Error> {
        self.events.look(rung).await
    }
}

/// An event without the time of its being sent, and so without its end.
fn wire(told: &Arc<Told>) -> &[u8] {
    told.wire.get_or_init(|| {
        let mut json = serde_json::to_vec(&Event::from(&told.view)).expect("an event always serialises");
        json.pop();
        json
    })
}
