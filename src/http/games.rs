//! Making, reading and listing games.

use std::time::Duration;

use actix_web::http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH, LOCATION};
use actix_web::web::{Data, Path, Query};
use actix_web::{HttpRequest, HttpResponse, get, post};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::body::{Body, Idempotency};
use super::caller::{Caller, Viewer};
use super::objects::{Game, GameStatus, Level, Variant};
use super::problem::{Failure, ProblemCode};
use crate::engine::Seat;
use crate::ids::{GameId, PlayerId};
use crate::options::Asked;
use crate::service::{MAX_SEED, NewSolo, Service};
use crate::store::{self, GameFilter, StoredGame};

/// Who begins.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Starter {
    /// The caller.
    Me,
    /// The first computer.
    Computer,
    /// Drawn by lot.
    #[default]
    Random,
}

/// A game against computers to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"variant": "kalah", "computers": ["easy"], "starter": "me", "options": {"stones": 4}}))]
pub struct NewGame {
    /// Which of the two games.
    pub variant: Variant,
    /// Local rules; absent ones take their default.
    #[serde(default)]
    #[schema(required = false)]
    pub options: Asked,
    /// The computer players, in seat order after the caller, who has seat 0.
    #[schema(min_items = 1, max_items = 3)]
    pub computers: Vec<Level>,
    /// Who begins. Default random.
    #[serde(default)]
    #[schema(required = false)]
    pub starter: Starter,
    /// Makes random choices repeatable: the starter, and what the computer draws. At most 2^53 - 1.
    #[schema(minimum = 0, maximum = 9007199254740991_u64)]
    pub seed: Option<u64>,
}

/// When to answer, and from where to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Waiting {
    /// Answer as soon as the game has more events than this.
    #[param(minimum = 0, maximum = 2147483647_u32, required = false)]
    pub after_seq: Option<u32>,
    /// For how many seconds to wait for that, at most 25. At the end of the wait the game is answered as it is. Without
    /// `after_seq` there is nothing to wait for.
    #[param(minimum = 0, maximum = 25, required = false)]
    pub wait: Option<u32>,
}

/// Which games to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GameQuery {
    /// Only this game.
    #[param(required = false)]
    pub variant: Option<Variant>,
    /// Only games that stand so.
    #[param(required = false)]
    pub status: Option<GameStatus>,
    /// Only games in which this player has a seat.
    #[param(required = false)]
    pub player: Option<PlayerId>,
    /// `next` of the page before.
    #[param(required = false, max_length = 64)]
    pub cursor: Option<String>,
}

/// Which games of a player to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PlayerGameQuery {
    /// Only this game.
    #[param(required = false)]
    pub variant: Option<Variant>,
    /// Only games that stand so.
    #[param(required = false)]
    pub status: Option<GameStatus>,
    /// `next` of the page before.
    #[param(required = false, max_length = 64)]
    pub cursor: Option<String>,
}

/// A page of a list of games.
#[derive(Serialize, ToSchema)]
pub struct GamePage {
    /// Newest first.
    pub items: Vec<Game>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Start a game against the computer
///
/// The caller has seat 0, the computers follow. When a computer begins it does so at once: wait for its moves with
/// `after_seq` and `wait` of reading the game.
#[utoipa::path(tag = "games", security(("bearer" = []), ("personal_token" = ["games:play"])), request_body = NewGame,
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$",
            description = "Repeating the request with the same key within a day creates nothing twice.")),
    responses((status = 201, description = "The new game.", body = Game,
        headers(("Location" = String, description = "Where to read it."), ("ETag" = String, description = "W/\"seq\"")))))]
#[post("/games")]
pub async fn create_game(
    service: Data<Service>,
    caller: Caller,
    key: Idempotency,
    body: Body<NewGame>,
) -> Result<HttpResponse, Failure> {
    let new = body.value.checked()?;
    let game = service.start_solo(caller.player(), new, key.with(&body.raw).as_ref()).await?;
    Ok(created(&game))
}

impl NewGame {
    fn checked(&self) -> Result<NewSolo, Failure> {
        let invalid =
            |pointer: &str, detail: &str| Err(Failure::field(ProblemCode::InvalidValue, pointer, detail));
        if !(1..=3).contains(&self.computers.len()) {
            return invalid("/computers", "a game against computers has 1 to 3 of them");
        }
        if self.seed.is_some_and(|seed| seed > MAX_SEED) {
            return invalid("/seed", "a seed is at most 9007199254740991");
        }
        Ok(NewSolo {
            variant: self.variant.into(),
            options: self.options.clone(),
            computers: self.computers.iter().map(|&level| level.into()).collect(),
            starter: match self.starter {
                Starter::Me => Seat::new(0),
                Starter::Computer => Seat::new(1),
                Starter::Random => None,
            },
            seed: self.seed,
        })
    }
}

/// The answer to a request that has made a game.
pub fn created(game: &StoredGame) -> HttpResponse {
    HttpResponse::Created()
        .insert_header((LOCATION, format!("/v1/games/{}", game.id)))
        .insert_header((ETAG, etag(game)))
        .json(Game::from(game))
}

/// The answer with a game as it is now.
pub fn answered(game: &StoredGame) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((ETAG, etag(game)))
        // To be kept, and to be asked for again with its ETag.
        .insert_header((CACHE_CONTROL, "private, no-cache"))
        .json(Game::from(game))
}

/// The ETag of a game as it is now.
pub fn etag(game: &StoredGame) -> String {
    format!("W/\"{}\"", game.seq)
}

/// Read a game
///
/// Everything about the game as it is now. With `after_seq` and `wait` it answers as soon as the game has more events
/// than `after_seq`, else at the end of the wait. `If-None-Match` with the last ETag gives 304 when nothing has changed.
#[utoipa::path(tag = "games", security((), ("bearer" = []), ("personal_token" = ["games:read"])),
    params(("id" = GameId, Path, description = "The game."), Waiting,
        ("If-None-Match" = Option<String>, Header, description = "The ETag of what the client has.")),
    responses((status = 200, description = "The game.", body = Game, headers(("ETag" = String, description = "W/\"seq\""))),
        (status = 304, description = "Nothing has changed since that ETag.")))]
#[get("/games/{id}")]
pub async fn get_game(
    service: Data<Service>,
    viewer: Viewer,
    id: Path<GameId>,
    query: Query<Waiting>,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let wait = wait_of(query.wait)?;
    let after_seq = query
        .after_seq
        .map(i32::try_from)
        .transpose()
        .map_err(|_| Failure::new(ProblemCode::InvalidParameter, "after_seq is at most 2147483647"))?;
    let game = match after_seq {
        Some(after) if !wait.is_zero() => {
            let game = service.game_after(viewer.player(), *id, after, wait).await?;
            viewer.is_still_in(&service)?;
            game
        }
        _ => service.game(viewer.player(), *id).await?,
    };
    if matches(&request, &etag(&game)) {
        return Ok(HttpResponse::NotModified().insert_header((ETAG, etag(&game))).finish());
    }
    Ok(answered(&game))
}

/// For how long a request is to wait: 25 seconds at most, none if it does not say.
pub fn wait_of(asked: Option<u32>) -> Result<Duration, Failure> {
    match asked.unwrap_or(0) {
        seconds @ ..=25 => Ok(Duration::from_secs(seconds.into())),
        _ => Err(Failure::new(ProblemCode::InvalidParameter, "wait is at most 25 seconds")),
    }
}

/// Whether `If-None-Match` names this state (weak comparison, RFC 9110).
pub fn matches(request: &HttpRequest, etag: &str) -> bool {
    let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    request
        .headers()
        .get_all(IF_NONE_MATCH)
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|tag| tag.trim() == "*" || bare(tag) == bare(etag))
}

/// List games
///
/// Games that the caller may see, newest first.
#[utoipa::path(tag = "games", security((), ("bearer" = []), ("personal_token" = ["games:read"])), params(GameQuery),
    responses((status = 200, description = "A page of games.", body = GamePage)))]
#[get("/games")]
pub async fn list_games(
    service: Data<Service>,
    viewer: Viewer,
    query: Query<GameQuery>,
) -> Result<HttpResponse, Failure> {
    let filter = GameFilter {
        variant: query.variant.map(Into::into),
        status: query.status.map(Into::into),
        player: query.player,
        before: query.cursor.as_deref().map(parse_cursor).transpose()?,
    };
    let page = service.list_games(viewer.player(), filter).await?;
    Ok(HttpResponse::Ok().json(GamePage::from(&page)))
}

/// List a player's games
///
/// The games in which the player has a seat, as far as the caller may see them, newest first: as `GET /v1/games?player=`.
#[utoipa::path(tag = "players", security((), ("bearer" = []), ("personal_token" = ["games:read"])),
    params(("id" = PlayerId, Path, description = "The player."), PlayerGameQuery),
    responses((status = 200, description = "A page of games.", body = GamePage)))]
#[get("/players/{id}/games")]
pub async fn list_player_games(
    service: Data<Service>,
    viewer: Viewer,
    id: Path<PlayerId>,
    query: Query<PlayerGameQuery>,
) -> Result<HttpResponse, Failure> {
    let filter = GameFilter {
        variant: query.variant.map(Into::into),
        status: query.status.map(Into::into),
        player: Some(*id),
        before: query.cursor.as_deref().map(parse_cursor).transpose()?,
    };
    let page = service.games_of(viewer.player(), *id, filter).await?;
    Ok(HttpResponse::Ok().json(GamePage::from(&page)))
}

impl From<&store::GamePage> for GamePage {
    fn from(page: &store::GamePage) -> Self {
        let next = page.next.map(|id| cursor(id.uuid()));
        Self { items: page.games.iter().map(Game::from).collect(), next }
    }
}

/// The cursor after what has this id, in a list that goes by ids.
pub fn cursor(after: Uuid) -> String {
    URL_SAFE_NO_PAD.encode(after.as_bytes())
}

/// The id that such a cursor stands for.
pub fn parse_cursor<Id: From<Uuid>>(text: &str) -> Result<Id, Failure> {
    URL_SAFE_NO_PAD
        .decode(text)
        .ok()
        .and_then(|bytes| Uuid::from_slice(&bytes).ok())
        .map(Id::from)
        .ok_or_else(|| Failure::new(ProblemCode::InvalidParameter, "cursor is not one of ours"))
}
