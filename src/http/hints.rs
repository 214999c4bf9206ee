//! Hints for whoever is to move.

use actix_web::web::{Data, Path, Query};
use actix_web::{HttpRequest, HttpResponse, get};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::limits::have_thought;
use super::objects::Level;
use super::problem::Failure;
use crate::ids::GameId;
use crate::service::{self, Service};
use crate::{cpu, engine};

/// What a hint costs of its player's budget for thinking, in milliseconds.
const COST: u32 = 1_000;

/// How good the hint should be.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HintQuery {
    /// Whose move to show. Default hard.
    #[param(required = false)]
    pub level: Option<Level>,
}

/// Why a move is good. `GET /v1/variants` has a text for each code, with places for the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HintCode {
    /// There is no other move.
    OnlyMove,
    /// The game is over then.
    EndsGame,
    /// The seat has emptied its side and leaves the board (Basic).
    LeavesBoard,
    /// The same seat sows again.
    ExtraSowing,
    /// It takes `stones` stones from the `pit` of `seat`.
    Capture,
    /// The `stones` stones of the own `pit` could be captured if it were the others' turn now; after the move neither
    /// they nor as many elsewhere.
    Protects,
    /// The own `pit` earns an extra sowing afterwards, and did not before.
    PreparesExtra,
    /// It keeps the final margin that best play leads to, which is `margin` stones.
    KeepsExactResult,
    /// It is the best move of a search over `depth` turns.
    BestBySearch,
    /// It is what the level plays, for no better reason.
    PlaysAtLevel,
}

/// A reason, with the numbers that belong to its code.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"code": "capture", "stones": 5, "seat": 1, "pit": 4}))]
pub struct HintReason {
    /// Which reason.
    pub code: HintCode,
    /// How many stones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stones: Option<u8>,
    /// Whose pit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// Which pit, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pit: Option<u8>,
    /// Own store minus the other's at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<i16>,
    /// How many turns were looked ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u8>,
}

/// A hint.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"seq": 0, "level": "hard", "pit": 2, "reasons": [{"code": "extra_sowing"}, {"code": "best_by_search", "depth": 12}]}))]
pub struct HintAnswer {
    /// The state of the game that it is for.
    pub seq: i32,
    /// The level that would play so.
    pub level: Level,
    /// The pit that it would sow.
    pub pit: u8,
    /// Why that is good, most telling first; at least one.
    pub reasons: Vec<HintReason>,
}

impl HintCode {
    /// Every code.
    pub const ALL: [Self; 10] = [
        Self::OnlyMove,
        Self::EndsGame,
        Self::LeavesBoard,
        Self::ExtraSowing,
        Self::Capture,
        Self::Protects,
        Self::PreparesExtra,
        Self::KeepsExactResult,
        Self::BestBySearch,
        Self::PlaysAtLevel,
    ];

    /// The key of its text.
    pub fn key(self) -> &'static str {
        match self {
            Self::OnlyMove => "only_move",
            Self::EndsGame => "ends_game",
            Self::LeavesBoard => "leaves_board",
            Self::ExtraSowing => "extra_sowing",
            Self::Capture => "capture",
            Self::Protects => "protects",
            Self::PreparesExtra => "prepares_extra",
            Self::KeepsExactResult => "keeps_exact_result",
            Self::BestBySearch => "best_by_search",
            Self::PlaysAtLevel => "plays_at_level",
        }
    }
}

impl From<service::Reason> for HintReason {
    fn from(reason: service::Reason) -> Self {
        use service::Reason as R;
        let bare = |code| Self { code, stones: None, seat: None, pit: None, margin: None, depth: None };
        match reason {
            R::OnlyMove => bare(HintCode::OnlyMove),
            R::EndsGame => bare(HintCode::EndsGame),
            R::LeavesBoard => bare(HintCode::LeavesBoard),
            R::ExtraSowing => bare(HintCode::ExtraSowing),
            R::Capture { stones, seat, pit } => {
                let seat = Some(engine::Seat::get(seat));
                Self { stones: Some(stones), seat, pit: Some(pit), ..bare(HintCode::Capture) }
            }
            R::Protects { pit, stones } => {
                Self { stones: Some(stones), pit: Some(pit), ..bare(HintCode::Protects) }
            }
            R::PreparesExtra { pit } => Self { pit: Some(pit), ..bare(HintCode::PreparesExtra) },
            R::KeepsExactResult { margin } => {
                Self { margin: Some(margin), ..bare(HintCode::KeepsExactResult) }
            }
            R::BestBySearch { depth } => Self { depth: Some(depth), ..bare(HintCode::BestBySearch) },
            R::PlaysAtLevel => bare(HintCode::PlaysAtLevel),
        }
    }
}

/// Ask for a hint
///
/// For the player whose turn it is, in games without ratings: what the computer would play at a level, and why that is
/// good, in codes and numbers that a client can put into words. Asked again, a server gives the same hint for the same
/// state and level; another one, or the same after a restart, may have thought to another depth and give another. Each
/// costs one second of the player's 20 of thinking a minute, and at most two of a player wait at a time.
#[utoipa::path(tag = "analysis", security(("bearer" = []), ("personal_token" = ["games:play"])),
    params(("id" = GameId, Path, description = "The game."), HintQuery),
    responses((status = 200, description = "A hint.", body = HintAnswer, headers(
        ("RateLimit-Policy" = String, description = "The budget: so many ms of thinking (q) in so many seconds (w)."),
        ("RateLimit" = String, description = "What is left of it (r), and in how many seconds it is full (t).")))))]
#[get("/games/{id}/hint")]
pub async fn get_hint(
    service: Data<Service>,
    caller: Caller,
    id: Path<GameId>,
    query: Query<HintQuery>,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let level = query.level.map_or(cpu::Level::Hard, Into::into);
    let turn = service.may_have_hint(caller.player(), *id).await?;
    have_thought(caller.player(), COST, &request)?;
    let hint = service.hint(caller.player(), &turn, level).await?;
    Ok(HttpResponse::Ok().json(HintAnswer {
        seq: hint.seq,
        level: hint.level.into(),
        pit: hint.pit,
        reasons: hint.reasons.into_iter().map(HintReason::from).collect(),
    }))
}

#[cfg(test)]
mod tests {
    use super::HintCode;
    use crate::texts::HINTS;

    #[test]
    fn every_code_has_its_text() {
        for code in HintCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.key());
            assert!(HINTS.iter().any(|(key, _)| *key == code.key()), "{}", code.key());
        }
        assert_eq!(HINTS.len(), HintCode::ALL.len());
    }
}
