//! The one shape of every error: RFC 9457 problem documents with a stable code.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use utoipa::ToSchema;

use super::objects::Game;
use crate::account::PasswordError;
use crate::engine::{ActionError, SowError};
use crate::ids::{GameId, TicketId};
use crate::options::OptionsError;
use crate::store::StoredGame;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:ident, $title:literal;)*) => {
        /// Every code that a problem can carry.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum ProblemCode { $(#[doc = $title] $(#[$doc])* $name,)* }

        impl ProblemCode {
            /// All of them.
            #[cfg(test)]
            pub const ALL: &[Self] = &[$(Self::$name),*];
            /// The code as it travels.
            pub fn as_str(self) -> &'static str { match self { $(Self::$name => $text,)* } }
            /// The status that it comes with, where an operation does not say otherwise.
            pub fn status(self) -> StatusCode { match self { $(Self::$name => StatusCode::$status,)* } }
            /// What it means, in English.
            pub fn title(self) -> &'static str { match self { $(Self::$name => $title,)* } }
        }
    };
}

codes! {
    InvalidJson = "invalid_json", BAD_REQUEST, "The body is not JSON.";
    InvalidParameter = "invalid_parameter", BAD_REQUEST, "A parameter of the path, the query or a header is malformed.";
    InvalidRequest = "invalid_request", BAD_REQUEST, "The request is malformed.";
    TokenMissing = "token_missing", UNAUTHORIZED, "The operation needs an access token.";
    TokenInvalid = "token_invalid", UNAUTHORIZED, "The access token is not valid.";
    TokenExpired = "token_expired", UNAUTHORIZED, "The access token has expired.";
    RefreshInvalid = "refresh_invalid", UNAUTHORIZED, "The refresh token is not valid.";
    RefreshReused = "refresh_reused", UNAUTHORIZED, "The refresh token had been used before; its session has been ended.";
    ScopeMissing = "scope_missing", FORBIDDEN, "The personal token lacks the scope that the operation needs.";
    SessionNeeded = "session_needed", FORBIDDEN, "Personal tokens cannot do that; sign in.";
    AccountNeeded = "account_needed", FORBIDDEN, "Guests cannot do that; register first.";
    WrongCredentials = "wrong_credentials", UNAUTHORIZED, "The username is unknown, or the password or recovery code is wrong.";
    WrongPassword = "wrong_password", FORBIDDEN, "The password is wrong.";
    NotSeated = "not_seated", FORBIDDEN, "You have no seat in this game.";
    NotMember = "not_member", FORBIDDEN, "You are not a member of this group.";
    NotHost = "not_host", FORBIDDEN, "Only the host of the group can do that.";
    RouteNotFound = "route_not_found", NOT_FOUND, "There is nothing at this path.";
    GameNotFound = "game_not_found", NOT_FOUND, "There is no such game, or not for you.";
    GroupNotFound = "group_not_found", NOT_FOUND, "There is no such group, or not for you.";
    CodeNotFound = "code_not_found", NOT_FOUND, "No group has this code.";
    MemberNotFound = "member_not_found", NOT_FOUND, "The group has no such computer member.";
    PlayerNotFound = "player_not_found", NOT_FOUND, "There is no such player.";
    BlockNotFound = "block_not_found", NOT_FOUND, "You have not blocked this player.";
    TicketNotFound = "ticket_not_found", NOT_FOUND, "There is no such ticket, or not for you.";
    TokenNotFound = "token_not_found", NOT_FOUND, "You have no such personal token.";
    SessionNotFound = "session_not_found", NOT_FOUND, "You have no such session.";
    PoolNotFound = "pool_not_found", NOT_FOUND, "There is no such pool.";
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "The path does not know this method.";
    NotAcceptable = "not_acceptable", NOT_ACCEPTABLE, "No accepted encoding can be served.";
    RequestTimeout = "request_timeout", REQUEST_TIMEOUT, "The request did not arrive in time.";
    Stale = "stale", CONFLICT, "A move has been made since the state that you looked at, by you, for you or by another seat.";
    NotYourTurn = "not_your_turn", CONFLICT, "It is not your turn.";
    GameOver = "game_over", CONFLICT, "The game is over.";
    TurnPlayedForYou = "turn_played_for_you", CONFLICT, "The clock or the computer has made this very move for you.";
    AlreadyPlaced = "already_placed", CONFLICT, "Your seat already has its place.";
    CursorAhead = "cursor_ahead", CONFLICT, "The cursor lies beyond the last event.";
    GroupFull = "group_full", CONFLICT, "The group is full.";
    GroupPlaying = "group_playing", CONFLICT, "A game of the group is running.";
    TooFewMembers = "too_few_members", CONFLICT, "A game needs two to four members.";
    GroupChanged = "group_changed", CONFLICT, "The members of the group have changed since this game.";
    GameNotOver = "game_not_over", CONFLICT, "The game has not ended yet.";
    RankedRematch = "ranked_rematch", CONFLICT, "Ranked games have no rematch.";
    BotTooLate = "bot_too_late", CONFLICT, "You have been in a ranked game: a bot says that it is one before the first.";
    TooManyBlocks = "too_many_blocks", CONFLICT, "You have blocked as many players as one can.";
    TicketOpen = "ticket_open", CONFLICT, "You are waiting for a ranked game already.";
    InRankedGame = "in_ranked_game", CONFLICT, "Your ranked game is still running.";
    TicketMatched = "ticket_matched", CONFLICT, "The ticket has been matched: its game has begun.";
    RankedGame = "ranked_game", CONFLICT, "There is no help in a ranked game that is being played.";
    NotRanked = "not_ranked", CONFLICT, "The game is not ranked.";
    NotReviewable = "not_reviewable", CONFLICT, "Only finished games of Kalah between two players have a review.";
    TooManyTokens = "too_many_tokens", CONFLICT, "You have as many personal tokens as one may have.";
    UsernameTaken = "username_taken", CONFLICT, "The username is taken, or looks like one that is.";
    AlreadyRegistered = "already_registered", CONFLICT, "You have an account already.";
    GuestWouldBeLost = "guest_would_be_lost", CONFLICT, "As a guest you have something that no account gets.";
    Busy = "busy", CONFLICT, "Too many changes at once.";
    BodyTooLarge = "body_too_large", PAYLOAD_TOO_LARGE, "The body is larger than 64 KiB.";
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "The body is not application/json.";
    UnknownField = "unknown_field", UNPROCESSABLE_ENTITY, "The body has a field that the operation does not know.";
    InvalidValue = "invalid_value", UNPROCESSABLE_ENTITY, "A value of the body is missing, of the wrong type or out of range.";
    UsernameReserved = "username_reserved", UNPROCESSABLE_ENTITY, "The username is reserved.";
    WeakPassword = "weak_password", UNPROCESSABLE_ENTITY, "The password is among the first that an attacker would try.";
    PitOutOfRange = "pit_out_of_range", UNPROCESSABLE_ENTITY, "There is no such pit.";
    PitEmpty = "pit_empty", UNPROCESSABLE_ENTITY, "The pit is empty.";
    InvalidPosition = "invalid_position", UNPROCESSABLE_ENTITY, "The position cannot be.";
    NoSuchSeat = "no_such_seat", UNPROCESSABLE_ENTITY, "There is no such seat.";
    AlreadyResigned = "already_resigned", UNPROCESSABLE_ENTITY, "The seat has resigned before.";
    AlreadyLeft = "already_left", UNPROCESSABLE_ENTITY, "The seat was left before.";
    NotLeft = "not_left", UNPROCESSABLE_ENTITY, "The seat is not left.";
    ResultMismatch = "result_mismatch", UNPROCESSABLE_ENTITY, "The result is not the one that the events give.";
    IdempotencyKeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY, "The Idempotency-Key was used with another body.";
    RateLimited = "rate_limited", TOO_MANY_REQUESTS, "Too many requests.";
    TooManyStreams = "too_many_streams", TOO_MANY_REQUESTS, "You have as many streams open as one may have.";
    Cooldown = "cooldown", TOO_MANY_REQUESTS, "There is a pause after ranked games that began without you.";
    ThinkingBusy = "thinking_busy", TOO_MANY_REQUESTS, "The computer has too much to think about.";
    SignInBusy = "sign_in_busy", TOO_MANY_REQUESTS, "Too many are signing in.";
    Internal = "internal", INTERNAL_SERVER_ERROR, "Something went wrong on our side.";
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "The service is not ready.";
}

/// A problem document (RFC 9457). Its media type is `application/problem+json`.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"type": "urn:mancala:problem:not_your_turn", "title": "It is not your turn.", "status": 409,
    "detail": "it is not your turn", "code": "not_your_turn"}))]
pub struct Problem {
    /// A URN made of the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the code means.
    pub title: &'static str,
    /// The status of the response.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What is wrong with this request in particular, for a person.
    pub detail: String,
    /// Stable, for programs.
    pub code: ProblemCode,
    /// The fields at fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub errors: Vec<FieldError>,
    /// Replay of a record: the 0-based index of the first event that cannot be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
    /// Conflicts in a game: the game as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub game: Option<Box<Game>>,
    /// Ranked play: the ticket that is open already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket_id: Option<TicketId>,
    /// Ranked play: the game that has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub game_id: Option<GameId>,
    /// Failures of the server: the id under which its log tells more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// A field at fault.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FieldError {
    /// Where in the body (JSON pointer, RFC 6901).
    #[schema(example = "/options/pits")]
    pub pointer: String,
    /// What is wrong with it.
    pub detail: String,
}

/// What stands in the way of a ticket.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instead {
    Ticket(TicketId),
    Game(GameId),
}

/// A request that failed, on its way to becoming a [`Problem`].
#[derive(Debug)]
pub struct Failure {
    /// Which problem.
    pub code: ProblemCode,
    status: StatusCode,
    detail: String,
    errors: Vec<FieldError>,
    at: Option<usize>,
    /// Conflicts in a game: the game as it is now.
    pub(super) game: Option<Box<StoredGame>>,
    /// Ranked play: what stands in the way.
    pub(super) instead: Option<Instead>,
    retry_after: Option<u64>,
}

impl Failure {
    /// A problem with its particulars.
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            status: code.status(),
            detail: detail.into(),
            errors: Vec::new(),
            at: None,
            game: None,
            instead: None,
            retry_after: None,
        }
    }

    /// A value of the body that cannot be: the detail is the field's.
    pub fn field(code: ProblemCode, pointer: &str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let mut failure = Self::new(code, detail.clone());
        // Only records have events.
        failure.at = pointer.strip_prefix("/events/").and_then(|rest| rest.split('/').next()?.parse().ok());
        failure.errors.push(FieldError { pointer: pointer.to_owned(), detail });
        failure
    }

    /// An event of a record that cannot be. What would be a conflict in a running game is plainly wrong here.
    pub fn in_record(index: usize, error: ActionError) -> Self {
        let failure = Self::field(code_of(error), &format!("/events/{index}"), error.to_string());
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, ..failure }
    }

    /// With the seconds after which to try again.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// A local rule that cannot be, at `pointer` + "/" + its name.
    pub fn options(pointer: &str, error: &OptionsError) -> Self {
        Self::field(ProblemCode::InvalidValue, &format!("{pointer}/{}", error.field), error.to_string())
    }

    /// A password, at `pointer`, that cannot be set.
    pub fn password(pointer: &str, error: PasswordError) -> Self {
        let code = match error {
            PasswordError::Length => ProblemCode::InvalidValue,
            PasswordError::Weak => ProblemCode::WeakPassword,
        };
        Self::field(code, pointer, error.to_string())
    }

    /// The document, for `request_id` where the log tells more.
    pub fn problem(&self, request_id: Option<String>) -> Problem {
        Problem {
            kind: format!("urn:mancala:problem:{}", self.code.as_str()),
            title: self.code.title(),
            status: self.status.as_u16(),
            detail: self.detail.clone(),
            code: self.code,
            errors: self.errors.clone(),
            at: self.at,
            game: self.game.as_deref().map(|game| Box::new(Game::from(game))),
            ticket_id: self.instead.and_then(|instead| match instead {
                Instead::Ticket(ticket) => Some(ticket),
                Instead::Game(_) => None,
            }),
            game_id: self.instead.and_then(|instead| match instead {
                Instead::Ticket(_) => None,
                Instead::Game(game) => Some(game),
            }),
            request_id,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.detail)
    }
}

impl ResponseError for Failure {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        response.insert_header((CONTENT_TYPE, "application/problem+json"));
        if self.status == StatusCode::UNAUTHORIZED {
            response.insert_header((WWW_AUTHENTICATE, "Bearer"));
        }
        if self.code == ProblemCode::ScopeMissing {
            // RFC 6750, section 3.1.
            response.insert_header((WWW_AUTHENTICATE, "Bearer error=\"insufficient_scope\""));
        }
        if let Some(seconds) = self.retry_after {
            response.insert_header((RETRY_AFTER, seconds));
        }
        let body = serde_json::to_string(&self.problem(None)).expect("a problem always serialises");
        response.body(body)
    }
}

/// The code of a pit that cannot be sown.
pub fn code_of_sow(error: SowError) -> ProblemCode {
    match error {
        SowError::GameOver => ProblemCode::GameOver,
        SowError::PitOutOfRange { .. } => ProblemCode::PitOutOfRange,
        SowError::PitEmpty { .. } => ProblemCode::PitEmpty,
    }
}

/// The code of an event that cannot be.
pub fn code_of(error: ActionError) -> ProblemCode {
    match error {
        ActionError::NoSuchSeat(_) => ProblemCode::NoSuchSeat,
        ActionError::GameOver => ProblemCode::GameOver,
        ActionError::NotYourTurn { .. } => ProblemCode::NotYourTurn,
        ActionError::Sow(error) => code_of_sow(error),
        ActionError::AlreadyResigned(_) => ProblemCode::AlreadyResigned,
        ActionError::AlreadyLeft(_) => ProblemCode::AlreadyLeft,
        ActionError::NotLeft(_) => ProblemCode::NotLeft,
        ActionError::AlreadyPlaced(_) => ProblemCode::AlreadyPlaced,
    }
}

#[cfg(test)]
mod tests {
    use super::ProblemCode;

    #[test]
    fn a_code_is_written_in_one_way_only() {
        for code in ProblemCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }
}
