//! Tokens for one stream, for browsers: their `EventSource` can send no headers, and an access token must never be in a
//! URL, which ends up in logs and histories.

use std::fmt;

use actix_web::web::Data;
use actix_web::{HttpResponse, post};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::account::ACCESS_SECONDS;
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::problem::{Failure, ProblemCode};
use crate::ids::{GameId, GroupId};
use crate::service::Service;

/// The query parameter in which a stream token travels.
pub const STREAM_TOKEN: &str = "stream_token";

/// What can be streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streamed {
    /// A game.
    Game(GameId),
    /// A group.
    Group(GroupId),
    /// What concerns the caller.
    Me,
}

impl Streamed {
    /// By the path of the stream.
    pub fn of(path: &str) -> Option<Self> {
        let what = path.strip_prefix("/v1/")?.strip_suffix("/events")?;
        let id = |id: &str| Uuid::try_parse(id).ok();
        match what.split_once('/') {
            None if what == "me" => Some(Self::Me),
            Some(("games", game)) => id(game).map(|id| Self::Game(id.into())),
            Some(("groups", group)) => id(group).map(|id| Self::Group(id.into())),
            _ => None,
        }
    }
}

/// The one way to write its path.
impl fmt::Display for Streamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Game(id) => write!(f, "/v1/games/{id}/events"),
            Self::Group(id) => write!(f, "/v1/groups/{id}/events"),
            Self::Me => f.write_str("/v1/me/events"),
        }
    }
}

/// Which stream is to be read.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"stream": "/v1/games/01936f0c-6f1e-7c3a-8a53-3d1f6b7f2f10/events"}))]
pub struct NewStreamToken {
    /// Its path, without a query.
    #[schema(max_length = 128, pattern = "^/v1/(games/[^/]+|groups/[^/]+|me)/events$")]
    pub stream: String,
}

/// A token for one stream.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"token": "eyJ0eXAi…", "expires_in": 900}))]
pub struct StreamToken {
    /// For `?stream_token=` of that stream, by the same player, and nothing else.
    pub token: String,
    /// Seconds for which it is good. The stream ends then.
    pub expires_in: u32,
}

/// Make a token for a stream
///
/// For browsers, whose `EventSource` sends no headers: open the stream with `?stream_token=…`. When the browser connects
/// again by itself it uses the token once more, which ends the older stream. After 15 minutes, or when the session ends,
/// it is good for nothing: make a new one, and go on with `after_seq`.
#[utoipa::path(tag = "streams", security(("bearer" = [])), request_body = NewStreamToken,
    responses((status = 201, description = "The token.", body = StreamToken)))]
#[post("/me/stream-tokens")]
pub async fn create_stream_token(
    service: Data<Service>,
    caller: Caller,
    body: Body<NewStreamToken>,
) -> Result<HttpResponse, Failure> {
    let stream = Streamed::of(&body.value.stream).ok_or_else(|| {
        let detail = "there are streams at /v1/games/{id}/events, /v1/groups/{id}/events and /v1/me/events";
        Failure::field(ProblemCode::InvalidValue, "/stream", detail)
    })?;
    let (player, session) = (caller.player(), caller.session()?);
    let token = service.issue_for_stream(player, session, &stream.to_string(), OffsetDateTime::now_utc());
    Ok(HttpResponse::Created().json(StreamToken { token, expires_in: ACCESS_SECONDS }))
}
