//! What the moves of a position are worth. The same serves the command line.

use std::time::{Duration, Instant};

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, post};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::body::{Body, parse};
use super::caller::Caller;
use super::limits::have_thought;
use super::objects::{Level, Position};
use super::problem::{Failure, ProblemCode};
use crate::cpu::{self, Computers};
use crate::engine::{self, Variant};
use crate::service::Service;

/// How long is thought about a position when nothing else is asked, in milliseconds.
const USUAL_BUDGET: u32 = 1_000;
/// And at most.
const MOST_BUDGET: u32 = 5_000;
/// The most stones on a board that is analysed.
const MOST_STONES: u16 = 100;

/// A position to analyse.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"position": {"variant": "kalah", "pits": [[0, 0, 0, 0, 2, 1], [0, 0, 0, 0, 1, 0]], "stores": [20, 24],
    "to_move": 0}, "budget_ms": 50}))]
pub struct AnalysisRequest {
    /// Any position in which somebody is to move, with 1 to 7 pits a side and at most 100 stones.
    pub position: Position,
    /// For how many milliseconds to think, waiting and pauses not counted. Default 1000.
    #[schema(minimum = 1, maximum = 5000)]
    pub budget_ms: Option<u32>,
}

/// What a move is worth.
#[derive(Serialize, ToSchema)]
pub struct AnalysedMove {
    /// The pit that is sown.
    pub pit: u8,
    /// In stones, to the seat to move, more is better. Kalah: the final margin, own store minus the best other's. Basic:
    /// stones left on the best other's side minus own.
    pub value: i16,
    /// Whether it is what best play leads to, and not an estimate.
    pub exact: bool,
}

/// What the moves of a position are worth.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"value": -2, "moves": [{"pit": 4, "value": -4, "exact": true}, {"pit": 5, "value": -2, "exact": true}],
    "best": 5, "line": [5, 4, 5], "depth": 1, "nodes": 6, "exact": true}))]
pub struct AnalysisAnswer {
    /// The value of the best move.
    pub value: i16,
    /// Every legal move, by pit.
    pub moves: Vec<AnalysedMove>,
    /// The pit of the best move.
    pub best: u8,
    /// The pits of best play by all sides, sowing by sowing, from `best` on.
    pub line: Vec<u8>,
    /// How many turns ahead the search looked through completely.
    pub depth: u8,
    /// How many positions were searched.
    pub nodes: u64,
    /// Whether the value of every move is exact.
    pub exact: bool,
}

impl From<&cpu::Analysis> for AnalysisAnswer {
    fn from(found: &cpu::Analysis) -> Self {
        let moves = found.moves.iter().map(|m| AnalysedMove { pit: m.pit, value: m.value, exact: m.exact });
        Self {
            value: found.moves.iter().find(|m| m.pit == found.best).map_or(0, |m| m.value),
            moves: moves.collect(),
            best: found.best,
            line: found.line.clone(),
            depth: found.depth,
            nodes: found.nodes,
            exact: found.exact,
        }
    }
}

/// The engine's position, if it is one that can be analysed.
fn checked(position: &Position, pointer: &str) -> Result<engine::Position, Failure> {
    let invalid = |field: &str, detail: &str| {
        Err(Failure::field(ProblemCode::InvalidPosition, &format!("{pointer}/{field}"), detail))
    };
    let position = position.parse(pointer)?;
    if position.total() > MOST_STONES {
        return invalid("pits", "a position that is analysed has at most 100 stones");
    }
    if position.to_move().is_none() {
        return invalid("to_move", "the game is over: no seat is to move");
    }
    Ok(position)
}

/// Analyse a position
///
/// What every legal move is worth, as far as can be found in the time; in Kalah between two players often exactly. At
/// most 20 seconds of thinking a minute for each player, hints and new reviews included, and at most four analyses of a
/// player wait at a time. Analyses come after the turns of games, so the
/// answer may take longer than `budget_ms`. As a courtesy to opponents the position of a ranked game that the caller is
/// playing is refused, from whichever side it is shown.
#[utoipa::path(tag = "analysis", security(("bearer" = []), ("personal_token" = ["games:read"])), request_body = AnalysisRequest,
    responses((status = 200, description = "What the moves are worth.", body = AnalysisAnswer, headers(
        ("RateLimit-Policy" = String, description = "The budget: so many ms of thinking (q) in so many seconds (w)."),
        ("RateLimit" = String, description = "What is left of it (r), and in how many seconds it is full (t).")))))]
#[post("/analysis")]
pub async fn create_analysis(
    service: Data<Service>,
    caller: Caller,
    body: Body<AnalysisRequest>,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let position = checked(&body.value.position, "/position")?;
    let budget = body.value.budget_ms.unwrap_or(USUAL_BUDGET);
    if !(1..=MOST_BUDGET).contains(&budget) {
        let detail = format!("budget_ms is from 1 to {MOST_BUDGET}");
        return Err(Failure::field(ProblemCode::InvalidValue, "/budget_ms", detail));
    }
    service.may_analyse(caller.player(), &position).await?;
    have_thought(caller.player(), budget, &request)?;
    let found = service.analyse(caller.player(), position, Duration::from_millis(budget.into())).await?;
    Ok(HttpResponse::Ok().json(AnalysisAnswer::from(&found)))
}

/// What `mancala-server analyse` looks for.
#[derive(Clone, Copy, Debug)]
pub enum Search {
    /// What the moves are worth, as far as can be found in this time.
    Within(Duration),
    /// What the moves are worth exactly, however long it takes.
    Exact,
    /// What a level plays in its usual time, with this seed.
    Level(cpu::Level, u64),
}

/// What a level plays.
#[derive(Serialize)]
struct Played {
    level: Level,
    pit: u8,
    depth: u8,
    nodes: u64,
}

/// A line of `mancala-server analyse`: a position, or an object that holds one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Holding { position: serde_json::Value },
    Bare(serde_json::Value),
}

/// Analyses one line of `mancala-server analyse` and answers with one line; false when that cannot be done.
pub fn analyse_line(line: &str, number: usize, computers: &mut Computers, search: Search) -> (bool, String) {
    let position = parse::<Line>(line.as_bytes())
        .and_then(|line| {
            let (Line::Holding { position } | Line::Bare(position)) = line;
            // Read again from text, so that what is wrong is told with its place in the position.
            parse::<Position>(position.to_string().as_bytes())
        })
        .and_then(|position| checked(&position, ""));
    let error = match position {
        Ok(position) => match searched(&position, computers, search) {
            Ok(answer) => return (true, answer),
            Err(detail) => json!({ "code": "not_exact", "detail": detail, "line": number }),
        },
        Err(failure) => {
            let problem = failure.problem(None);
            let mut error = json!({ "code": problem.code, "detail": problem.detail, "line": number });
            if let Some(field) = problem.errors.first() {
                error["pointer"] = field.pointer.clone().into();
            }
            error
        }
    };
    (false, json!({ "error": error }).to_string())
}

/// The answer as a line of JSON, or why it is not exact as it should be.
fn searched(
    position: &engine::Position,
    computers: &mut Computers,
    search: Search,
) -> Result<String, &'static str> {
    computers.keep_only(position);
    let until = |time: Duration| {
        let start = Instant::now();
        move || start.elapsed() < time
    };
    let rules = position.rules();
    let analysis = match search {
        Search::Level(level, seed) => {
            let go_on = until(Service::time_of(level));
            let choice = computers.choose(level, position, seed, &go_on).expect("somebody is to move");
            let (level, pit) = (level.into(), choice.pit);
            return Ok(line_of(&Played { level, pit, depth: choice.depth, nodes: choice.nodes }));
        }
        Search::Within(time) => computers.analyse(position, &until(time)),
        Search::Exact if rules.variant() != Variant::Kalah || rules.players() != 2 => {
            return Err("only Kalah between two players has exact values");
        }
        Search::Exact => computers.analyse(position, &|| true),
    };
    let analysis = analysis.expect("somebody is to move");
    if matches!(search, Search::Exact) && !analysis.exact {
        return Err("the search ended before every value was exact");
    }
    Ok(line_of(&AnalysisAnswer::from(&analysis)))
}

fn line_of(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).expect("numbers and names always serialise")
}
