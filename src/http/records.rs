//! Records: a game's own, and the replay of any. The same replay serves the command line.

use actix_web::http::header::{Accept, Header, VARY};
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse, get, post};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{Body, parse};
use super::caller::Viewer;
use super::objects::{Position, Variant};
use super::problem::{Failure, ProblemCode};
use crate::engine::{self, AbortReason, Action, EndReason, Game, Seat};
use crate::ids::GameId;
use crate::options::{Asked, Options};
use crate::service::Service;
use crate::store::StoredGame;

/// Most events in a record: far more than any game that is played takes.
const MAX_EVENTS: usize = 10_000;

/// Which form of a record this is.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
pub enum RecordFormat {
    /// The first.
    #[serde(rename = "mancala-record/1")]
    V1,
}

/// One event of a record: a sowing (`pit`), or that a seat resigned, left or came back.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"seat": 0, "pit": 2}))]
pub struct RecordEvent {
    /// Whose.
    #[schema(minimum = 0, maximum = 3)]
    pub seat: u32,
    /// The pit sown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 6)]
    pub pit: Option<u32>,
    /// True: the seat resigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resign: Option<bool>,
    /// True: the seat was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leave: Option<bool>,
    /// True: its player came back.
    #[serde(rename = "return", skip_serializing_if = "Option::is_none")]
    pub back: Option<bool>,
}

/// How a recorded game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RecordEnd {
    /// By the rules of the game.
    Finished,
    /// Its last event is a resignation.
    Resigned,
    /// Without a result.
    Aborted,
}

/// The result of a recorded game.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"places": [1, 2], "stores": [26, 22], "end": "finished"}))]
pub struct RecordResult {
    /// Places by seat; empty when aborted.
    #[serde(default)]
    #[schema(required = false)]
    pub places: Vec<u8>,
    /// Stones in the stores, by seat.
    pub stores: Vec<u8>,
    /// How it ended.
    pub end: RecordEnd,
}

/// A whole game, to be kept or replayed anywhere.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"format": "mancala-record/1", "variant": "kalah",
    "options": {"players": 2, "pits": 6, "stones": 4}, "starter": 0, "events": [{"seat": 0, "pit": 2}, {"seat": 0, "pit": 5}]}))]
pub struct Record {
    /// Always mancala-record/1.
    pub format: RecordFormat,
    /// Which of the two games.
    pub variant: Variant,
    /// The effective local rules; `players` must be there.
    pub options: Asked,
    /// The seat that began.
    #[schema(minimum = 0, maximum = 3)]
    pub starter: u8,
    /// Whether the game counted for the ratings; then a seat that was left when it ended ranks with the resigners.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranked: Option<bool>,
    /// Names by seat.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 4)]
    pub players: Option<Vec<String>>,
    /// What happened, in order.
    #[schema(max_items = 10000)]
    pub events: Vec<RecordEvent>,
    /// How it ended, when it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<RecordResult>,
}

/// What a record comes to.
#[derive(Serialize, ToSchema)]
pub struct Replayed {
    /// The position after the last event.
    pub position: Position,
    /// Places by seat; absent while the game is not over, or when it was aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<Vec<u8>>,
    /// Stones in the stores, by seat.
    pub stores: Vec<u8>,
    /// Whether the game is over.
    pub over: bool,
}

impl Record {
    /// The record of a stored game.
    pub fn of(stored: &StoredGame, record: &engine::Record) -> Self {
        let names = stored.seats.iter().map(|o| o.person().map_or("Computer", |p| &p.name).to_owned());
        Self {
            format: RecordFormat::V1,
            variant: record.rules.variant().into(),
            options: stored.options.answered(),
            starter: record.starter.get(),
            ranked: Some(record.ranked),
            players: Some(names.collect()),
            events: record.events.iter().map(|&(seat, action)| RecordEvent::of(seat, action)).collect(),
            result: stored.game.end().map(|end| RecordResult {
                places: stored.game.places().into_iter().flatten().collect(),
                stores: stores(&stored.game),
                end: match end {
                    EndReason::Played => RecordEnd::Finished,
                    EndReason::Resigned => RecordEnd::Resigned,
                    EndReason::NoShow | EndReason::Abandoned => RecordEnd::Aborted,
                },
            }),
        }
    }

    /// The engine's record.
    pub fn checked(&self) -> Result<engine::Record, Failure> {
        let invalid =
            |pointer: &str, detail: String| Failure::field(ProblemCode::InvalidValue, pointer, detail);
        let players = self
            .options
            .players
            .ok_or_else(|| invalid("/options/players", "a record says for how many players".to_owned()))?;
        let options = Options::effective(self.variant.into(), players, &self.options)
            .map_err(|e| Failure::options("/options", &e))?;
        let starter = Seat::new(self.starter)
            .filter(|seat| seat.get() < players)
            .ok_or_else(|| invalid("/starter", format!("there is no seat {}", self.starter)))?;
        if self.players.as_ref().is_some_and(|names| names.len() != usize::from(players)) {
            return Err(invalid("/players", format!("there are {players} seats")));
        }
        if self.events.len() > MAX_EVENTS {
            return Err(invalid("/events", format!("a record has at most {MAX_EVENTS} events")));
        }
        let mut record = engine::Record {
            rules: options.rules(),
            starter,
            ranked: self.ranked.unwrap_or(false),
            events: Vec::with_capacity(self.events.len()),
        };
        for (index, event) in self.events.iter().enumerate() {
            match event.checked(index) {
                Ok(event) => record.events.push(event),
                // The first bad event counts, and an earlier one may be against the rules.
                Err(failure) => return Err(record.replay().map_or_else(bad_event, |_| failure)),
            }
        }
        Ok(record)
    }

    /// Replays the record; with `trace` it collects the start and the position after every event there.
    pub fn replay(&self, mut trace: Option<&mut Vec<Position>>) -> Result<Replayed, Failure> {
        let record = self.checked()?;
        let mut game = None;
        for state in record.states() {
            let state = state.map_err(bad_event)?;
            if let Some(trace) = trace.as_deref_mut() {
                trace.push(Position::from(state.position()));
            }
            game = Some(state);
        }
        let mut game = game.expect("a replay yields its start");
        if let Some(result) = &self.result {
            check_result(result, &mut game)?;
        }
        let places: Option<Vec<u8>> = game.places().into_iter().collect();
        Ok(Replayed {
            position: Position::from(game.position()),
            places: places.filter(|_| game.is_over()),
            stores: stores(&game),
            over: game.is_over(),
        })
    }
}

fn bad_event(bad: engine::BadEvent) -> Failure {
    Failure::in_record(bad.index, bad.error)
}

/// Compares a claimed result with what the events gave. An abort is no event of a record: it is in the result alone.
fn check_result(claimed: &RecordResult, game: &mut Game) -> Result<(), Failure> {
    let mismatch = |field: &str, detail: String| {
        Failure::field(ProblemCode::ResultMismatch, &format!("/result/{field}"), detail)
    };
    if claimed.end == RecordEnd::Aborted && !game.is_over() {
        let seat = game.position().to_move().expect("a running game has a seat to move");
        game.apply(seat, Action::Abort(AbortReason::Abandoned)).expect("a running game can be aborted");
    }
    let end = match game.end() {
        None => return Err(mismatch("end", "the game is not over".to_owned())),
        Some(EndReason::Played) => RecordEnd::Finished,
        Some(EndReason::Resigned) => RecordEnd::Resigned,
        Some(EndReason::NoShow | EndReason::Abandoned) => RecordEnd::Aborted,
    };
    let places: Vec<u8> = game.places().into_iter().flatten().collect();
    if claimed.end != end {
        Err(mismatch("end", format!("the game ended as {end:?}").to_lowercase()))
    } else if claimed.stores != stores(game) {
        Err(mismatch("stores", format!("the stores hold {:?}", stores(game))))
    } else if claimed.places != places {
        Err(mismatch("places", format!("the places are {places:?}")))
    } else {
        Ok(())
    }
}

fn stores(game: &Game) -> Vec<u8> {
    game.position().seats().map(|seat| game.position().store(seat)).collect()
}

impl RecordEvent {
    fn of(seat: Seat, action: Action) -> Self {
        let event = Self { seat: seat.get().into(), ..Self::default() };
        match action {
            Action::Move { pit } => Self { pit: Some(pit.into()), ..event },
            Action::Resign => Self { resign: Some(true), ..event },
            Action::Leave => Self { leave: Some(true), ..event },
            Action::Return => Self { back: Some(true), ..event },
            Action::Abort(_) => event,
        }
    }

    fn checked(&self, index: usize) -> Result<(Seat, Action), Failure> {
        let bad = |code, detail: &str| Failure::field(code, &format!("/events/{index}"), detail);
        let seat = u8::try_from(self.seat)
            .ok()
            .and_then(Seat::new)
            .ok_or_else(|| bad(ProblemCode::NoSuchSeat, "there is no such seat"))?;
        let flag = |given: Option<bool>| given == Some(true);
        match (self.pit, flag(self.resign), flag(self.leave), flag(self.back)) {
            (Some(pit), false, false, false) => {
                Ok((seat, Action::Move { pit: u8::try_from(pit).unwrap_or(u8::MAX) }))
            }
            (None, true, false, false) => Ok((seat, Action::Resign)),
            (None, false, true, false) => Ok((seat, Action::Leave)),
            (None, false, false, true) => Ok((seat, Action::Return)),
            _ => Err(bad(ProblemCode::InvalidValue, "an event is one of pit, resign, leave and return")),
        }
    }
}

/// Read a game's record
///
/// Everything that happened, as JSON or, with `Accept: text/plain`, in the notation of the rules.
#[utoipa::path(tag = "games", security((), ("bearer" = []), ("personal_token" = ["games:read"])),
    params(("id" = GameId, Path, description = "The game.")),
    responses((status = 200, description = "The record.", content(
        (Record = "application/json"),
        (String = "text/plain", example = "[kalah players=2 pits=6 stones=4 capture_empty=false starter=0 ranked=false]\nc-f b a")))))]
#[get("/games/{id}/record")]
pub async fn get_record(
    service: Data<Service>,
    viewer: Viewer,
    id: Path<GameId>,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let (game, record) = service.record(viewer.player(), *id).await?;
    let mut response = HttpResponse::Ok();
    response.insert_header((VARY, "Accept"));
    Ok(if wants_text(&request) {
        response.content_type("text/plain; charset=utf-8").body(format!("{record}\n"))
    } else {
        response.json(Record::of(&game, &record))
    })
}

/// Whether `Accept` prefers text to JSON.
pub fn wants_text(request: &HttpRequest) -> bool {
    let accepted = Accept::parse(request).map(|accept| accept.ranked()).unwrap_or_default();
    let known = accepted
        .iter()
        .map(|kind| kind.essence_str())
        .find(|kind| ["text/plain", "text/*", "application/json", "application/*", "*/*"].contains(kind));
    known.is_some_and(|kind| kind.starts_with("text/"))
}

/// Replay a record
///
/// Checks every event by the rules and answers with what the record comes to. A record that cannot be is refused with
/// the 0-based index of its first bad event in `at`; a result that the events do not give is `result_mismatch`.
#[utoipa::path(tag = "positions", request_body = Record,
    responses((status = 200, description = "What the record comes to.", body = Replayed)))]
#[post("/records/replay")]
pub async fn replay_record(body: Body<Record>) -> Result<HttpResponse, Failure> {
    Ok(HttpResponse::Ok().json(body.value.replay(None)?))
}

/// A line of `mancala-server replay`: a record, or an object that holds one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Holding { record: serde_json::Value },
    Bare(serde_json::Value),
}

/// Replays one line of `mancala-server replay` and answers with one line; false when the record cannot be.
pub fn replay_line(line: &str, trace: bool) -> (bool, String) {
    #[derive(Serialize)]
    struct Good {
        ok: bool,
        #[serde(flatten)]
        replayed: Replayed,
        #[serde(skip_serializing_if = "Option::is_none")]
        positions: Option<Vec<Position>>,
    }
    let mut positions = trace.then(Vec::new);
    let replayed = parse::<Line>(line.as_bytes())
        .and_then(|line| {
            let (Line::Holding { record } | Line::Bare(record)) = line;
            // Read again from text, so that what is wrong is told with its place in the record.
            parse::<Record>(record.to_string().as_bytes())
        })
        .and_then(|record| record.replay(positions.as_mut()));
    match replayed {
        Ok(replayed) => {
            let good = Good { ok: true, replayed, positions };
            (true, serde_json::to_string(&good).expect("numbers and names always serialise"))
        }
        Err(failure) => {
            let problem = failure.problem(None);
            let mut line = serde_json::json!({ "ok": false, "code": problem.code, "detail": problem.detail });
            if let Some(at) = problem.at {
                line["at"] = at.into();
            }
            if let Some(field) = problem.errors.first() {
                line["pointer"] = field.pointer.clone().into();
            }
            (false, line.to_string())
        }
    }
}
