//! The OpenAPI document: what the handlers say, plus what is true of all of them, said once here.

use std::sync::LazyLock;

use serde_json::{Value, json};
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_actix_web::AppExt;

use super::access::{class_of, cost_of, tell_scope};
use super::document30::to_3_0;
use super::objects::Event;
use super::operations;
use super::problem::{Problem, ProblemCode};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Mancala Server",
        description = "Kalah and Basic Mancala for two to four players: as a guest at once, against the computer, or in \
            groups with local rules.\n\nGet a token (`POST /v1/guests`), start a game (`POST /v1/games`), sow \
            (`POST /v1/games/{id}/moves`), wait for the others (`GET /v1/games/{id}?after_seq=…&wait=25`). Every game \
            has one cursor, `seq`: moves name the `seq` that the player looked at, and repeating a request is always \
            safe. Every error is a problem document (RFC 9457) with a stable `code`. Optional fields that do not apply \
            are absent, never null; in a request null counts as absent, and fields that an operation does not know are \
            refused.\n\nPrograms have tokens of their own (`POST /v1/me/tokens`), with scopes: each operation names the one \
            it needs. Requests are counted by address, player and token, in the class that `x-budget` names; \
            `RateLimit-Policy` and `RateLimit` tell what is left, and 429 when to try again.",
        contact(name = "Mancala Server contributors"),
        license(name = "MIT", identifier = "MIT")
    ),
    servers((url = "/", description = "The server that serves this document.")),
    tags(
        (name = "identity", description = "Guests, accounts, and the devices that are signed in."),
        (name = "players", description = "Players as others see them."),
        (name = "games", description = "Making, reading and listing games."),
        (name = "ratings", description = "What ranked games make of players: ratings, receipts, leaderboards."),
        (name = "streams", description = "What happens, as it happens."),
        (name = "play", description = "Acting in a game."),
        (name = "ranked", description = "Games that count: looking for opponents, ratings, leaderboards."),
        (name = "groups", description = "People who play one game after another with the same local rules."),
        (name = "analysis", description = "What moves are worth: of any position, of the caller's turn, of a finished game."),
        (name = "positions", description = "Rules without a game: any position, any record."),
        (name = "service", description = "Whether the service runs, and how it does.")
    ),
    components(schemas(Problem, Event))
)]
struct Base;

/// The document in OpenAPI 3.1, made once for all who look something up in it.
pub static DOCUMENT: LazyLock<Value> = LazyLock::new(document);

/// The document in OpenAPI 3.1.
pub fn document() -> Value {
    let mut base = Base::openapi();
    base.components.get_or_insert_default().add_security_scheme(
        "bearer",
        SecurityScheme::Http(
            HttpBuilder::new()
                .scheme(HttpAuthScheme::Bearer)
                .bearer_format("JWT")
                .description(Some(
                    "The access token of a device, as POST /v1/guests, /v1/accounts, /v1/sessions and /v1/sessions/refresh give it.",
                ))
                .build(),
        ),
    );
    base.components.get_or_insert_default().add_security_scheme(
        "personal_token",
        SecurityScheme::Http(
            HttpBuilder::new()
                .scheme(HttpAuthScheme::Bearer)
                .bearer_format("mancala_pat_…")
                .description(Some(
                    "A token for a program, as POST /v1/me/tokens gives it, with the scope that the operation names.",
                ))
                .build(),
        ),
    );
    let app = actix_web::App::new().into_utoipa_app().openapi(base).configure(operations);
    let (_, api) = app.split_for_parts();
    let mut document = serde_json::to_value(api).expect("a document always serialises");
    drop_null(&mut document, None);
    let schemas = document["components"]["schemas"].clone();
    let paths = document["paths"].as_object_mut().expect("a document has paths");
    for (path, item) in paths.iter_mut() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            if let Some(class) = class_of(path, method, operation) {
                operation["x-budget"] = class.as_str().into();
                operation["x-budget-cost"] = cost_of(operation).into();
            }
            add_problems(operation);
            correct_form(operation, &schemas);
            tell_scope(operation);
        }
    }
    // What a message may be is said where it is described: only what is nothing but a reference can be told apart.
    for schema in
        document["components"]["schemas"].as_object_mut().into_iter().flat_map(|all| all.values_mut())
    {
        if schema.get("discriminator").is_some() {
            for kind in schema["oneOf"].as_array_mut().into_iter().flatten() {
                kind.as_object_mut().map(|kind| kind.remove("description"));
            }
        }
    }
    // The derive has no words for the bounds of an inner list.
    let sides = &mut document["components"]["schemas"]["Position"]["properties"]["pits"]["items"];
    sides["minItems"] = 1.into();
    sides["maxItems"] = 7.into();
    // Nor for fields that depend on another.
    document["components"]["schemas"]["ExportLine"]["additionalProperties"] = true.into();
    document
}

/// Says what the attributes of a handler leave open: that nobody has to sign in, that there need be no body.
fn correct_form(operation: &mut Value, schemas: &Value) {
    if operation.get("security").is_none() {
        operation["security"] = json!([]);
    }
    let Some(body) = operation.get_mut("requestBody") else { return };
    let reference = body.pointer("/content/application~1json/schema/$ref").and_then(Value::as_str);
    let name = reference.and_then(|r| r.rsplit('/').next()).unwrap_or_default();
    // No body counts as {}, which is enough where no field is required.
    if schemas[name].get("required").is_none() {
        body["required"] = false.into();
    }
}

/// The same in OpenAPI 3.0.3, which some generators still need.
pub fn document_3_0() -> Value {
    to_3_0(DOCUMENT.clone())
}

/// Fields that may really be null: there it means "no limit", absent means the default.
const NULLABLE: [&str; 2] = ["turn_seconds", "away_seconds"];

/// Optional fields are absent, never null, but the derive of `Option` says that they may be either.
fn drop_null(value: &mut Value, name: Option<&str>) {
    match value {
        Value::Object(object) => {
            if !name.is_some_and(|name| NULLABLE.contains(&name)) {
                if let Some(Value::Array(types)) = object.get_mut("type") {
                    types.retain(|t| t != "null");
                    if let [only] = types.as_slice() {
                        let only = only.clone();
                        object.insert("type".to_owned(), only);
                    }
                }
                if let Some(Value::Array(options)) = object.get_mut("oneOf") {
                    options.retain(|o| o["type"] != "null");
                    if let [Value::Object(only)] = options.as_slice() {
                        let only = only.clone();
                        object.remove("oneOf");
                        let description = object.remove("description");
                        object.extend(only);
                        object.extend(description.map(|d| ("description".to_owned(), d)));
                    }
                }
            }
            for (key, inner) in object.iter_mut() {
                drop_null(inner, Some(key));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| drop_null(item, None)),
        _ => {}
    }
}

/// The problems of each operation, apart from those that follow from its form.
fn own_problems(operation: &str) -> &'static [ProblemCode] {
    use ProblemCode as C;
    match operation {
        "create_guest" => &[C::RateLimited],
        "refresh_session" => &[C::RefreshInvalid, C::RefreshReused, C::RateLimited],
        "create_personal_token" => &[C::AccountNeeded, C::TooManyTokens, C::PlayerNotFound],
        "delete_personal_token" => &[C::TokenNotFound],
        "create_account" => &[
            C::AlreadyRegistered,
            C::UsernameTaken,
            C::UsernameReserved,
            C::WeakPassword,
            C::PlayerNotFound,
            C::SignInBusy,
            C::RateLimited,
        ],
        "create_session" => &[C::WrongCredentials, C::GuestWouldBeLost, C::SignInBusy, C::RateLimited],
        "recover_account" => &[C::WrongCredentials, C::WeakPassword, C::SignInBusy, C::RateLimited],
        "change_password" => &[C::AccountNeeded, C::WrongPassword, C::WeakPassword, C::SignInBusy],
        "create_recovery_codes" => &[C::AccountNeeded, C::WrongPassword, C::SignInBusy],
        "delete_session" => &[C::SessionNotFound],
        "get_me" | "update_me" | "get_player" => &[C::PlayerNotFound],
        "export_me" => &[C::PlayerNotFound],
        "delete_me" => &[C::PlayerNotFound, C::WrongPassword, C::SignInBusy, C::Busy],
        "declare_bot" => &[C::PlayerNotFound, C::AccountNeeded, C::BotTooLate],
        "get_block" => &[C::BlockNotFound],
        "block_player" => &[C::PlayerNotFound, C::TooManyBlocks],
        "list_player_games" | "list_ratings" | "list_rating_history" | "get_statistics" => {
            &[C::PlayerNotFound]
        }
        "list_receipts" => &[C::GameNotFound],
        "get_outlook" => &[C::GameNotFound, C::NotRanked, C::GameOver],
        "list_leaderboard" | "get_own_rank" => &[C::PoolNotFound],
        "create_game" => &[C::IdempotencyKeyReused, C::PlayerNotFound],
        "stream_group" => &[C::GroupNotFound, C::CursorAhead, C::TooManyStreams, C::NotAcceptable],
        "stream_game" => &[C::GameNotFound, C::CursorAhead, C::TooManyStreams, C::NotAcceptable],
        "stream_me" => &[C::TooManyStreams, C::NotAcceptable],
        "get_presence" => &[C::GameNotFound, C::NotSeated],
        "get_game" | "preview_game" | "get_record" => &[C::GameNotFound],
        "create_move" => &[
            C::GameNotFound,
            C::NotSeated,
            C::Stale,
            C::NotYourTurn,
            C::GameOver,
            C::TurnPlayedForYou,
            C::Busy,
            C::PitOutOfRange,
            C::PitEmpty,
        ],
        "resign_game" => &[C::GameNotFound, C::NotSeated, C::GameOver, C::AlreadyPlaced, C::Busy],
        "leave_game" | "return_to_game" => {
            &[C::GameNotFound, C::NotSeated, C::GameOver, C::AlreadyPlaced, C::Busy, C::RateLimited]
        }
        "request_rematch" => &[
            C::GameNotFound,
            C::NotSeated,
            C::GameNotOver,
            C::RankedRematch,
            C::GroupPlaying,
            C::GroupChanged,
            // Who asks for it, or agreed before, is gone.
            C::PlayerNotFound,
        ],
        "create_group" => &[C::IdempotencyKeyReused, C::PlayerNotFound],
        "join_group" => &[C::CodeNotFound, C::PlayerNotFound, C::GroupFull, C::GroupPlaying, C::RateLimited],
        "get_group" => &[C::GroupNotFound],
        "update_group" => &[C::GroupNotFound, C::NotMember, C::NotHost],
        "leave_group" => &[C::GroupNotFound, C::NotMember],
        "add_group_computer" => &[C::GroupNotFound, C::NotMember, C::NotHost, C::GroupPlaying, C::GroupFull],
        "remove_group_computer" => {
            &[C::GroupNotFound, C::NotMember, C::NotHost, C::GroupPlaying, C::MemberNotFound]
        }
        "create_group_game" => &[
            C::GroupNotFound,
            C::NotMember,
            C::NotHost,
            C::GroupPlaying,
            C::TooFewMembers,
            C::PlayerNotFound,
            C::IdempotencyKeyReused,
        ],
        "create_ticket" => &[
            C::TicketOpen,
            C::InRankedGame,
            C::Busy,
            C::Cooldown,
            C::PlayerNotFound,
            C::IdempotencyKeyReused,
            C::TicketNotFound,
        ],
        "get_ticket" => &[C::TicketNotFound],
        "cancel_ticket" => &[C::TicketNotFound, C::TicketMatched],
        "preview_position" => &[C::InvalidPosition],
        "create_analysis" => &[C::InvalidPosition, C::RankedGame, C::RateLimited, C::ThinkingBusy],
        "get_hint" => &[
            C::GameNotFound,
            C::NotSeated,
            C::NotYourTurn,
            C::GameOver,
            C::RankedGame,
            C::RateLimited,
            C::ThinkingBusy,
        ],
        "get_review" => &[
            C::GameNotFound,
            C::GameNotOver,
            C::NotReviewable,
            // Of a review that has yet to be computed.
            C::TokenMissing,
            C::RateLimited,
            C::ThinkingBusy,
        ],
        "get_readiness" => &[C::Unavailable],
        _ => &[],
    }
}

/// A record's bad event has the code that the same event would have in a game, but is always 422.
const IN_RECORDS: [ProblemCode; 10] = [
    ProblemCode::GameOver,
    ProblemCode::NotYourTurn,
    ProblemCode::PitOutOfRange,
    ProblemCode::PitEmpty,
    ProblemCode::NoSuchSeat,
    ProblemCode::AlreadyResigned,
    ProblemCode::AlreadyLeft,
    ProblemCode::NotLeft,
    ProblemCode::AlreadyPlaced,
    ProblemCode::ResultMismatch,
];

fn add_problems(operation: &mut Value) {
    let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
    let security = operation["security"].as_array().cloned().unwrap_or_default();
    let mut problems: Vec<(u16, ProblemCode)> =
        own_problems(&id).iter().map(|code| (code.status().as_u16(), *code)).collect();
    let mut add =
        |codes: &[ProblemCode]| problems.extend(codes.iter().map(|code| (code.status().as_u16(), *code)));
    if !security.is_empty() {
        add(&[ProblemCode::TokenInvalid, ProblemCode::TokenExpired]);
        if !security.contains(&json!({})) {
            add(&[ProblemCode::TokenMissing]);
        }
        let by_programs = security.iter().any(|way| way.get("personal_token").is_some());
        add(&[if by_programs { ProblemCode::ScopeMissing } else { ProblemCode::SessionNeeded }]);
    }
    if operation.get("x-budget").is_some() {
        add(&[ProblemCode::RateLimited]);
    }
    // Of the path, the query or a header; any operation can be sent a query that it does not know.
    add(&[ProblemCode::InvalidParameter]);
    if operation.get("requestBody").is_some() {
        add(&[
            ProblemCode::InvalidJson,
            ProblemCode::InvalidRequest,
            ProblemCode::RequestTimeout,
            ProblemCode::BodyTooLarge,
            ProblemCode::UnsupportedMediaType,
            ProblemCode::UnknownField,
            ProblemCode::InvalidValue,
        ]);
    }
    let stateless = ["get_health", "get_metrics", "list_variants", "preview_position", "replay_record"];
    if !stateless.contains(&id.as_str()) {
        add(&[ProblemCode::Internal, ProblemCode::Unavailable]);
    }
    if id == "replay_record" {
        problems.extend(IN_RECORDS.map(|code| (422, code)));
    }
    problems.sort_by_key(|(status, code)| (*status, code.as_str()));
    problems.dedup();
    for group in problems.chunk_by(|a, b| a.0 == b.0) {
        let lines: Vec<String> =
            group.iter().map(|(_, code)| format!("- `{}`: {}", code.as_str(), code.title())).collect();
        let mut response = json!({
            "description": lines.join("\n"),
            "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
        });
        if [429, 503].contains(&group[0].0) {
            response["headers"] = json!({ "Retry-After": {
                "description": "Seconds after which to try again.", "schema": { "type": "integer" } } });
        }
        operation["responses"][group[0].0.to_string()] = response;
    }
}

#[cfg(test)]
mod tests {
    use super::{ProblemCode, document, own_problems};

    fn operations() -> Vec<serde_json::Value> {
        let document = document();
        let items = document["paths"].as_object().unwrap().values();
        items.flat_map(|item| item.as_object().unwrap().values().cloned()).collect()
    }

    #[test]
    fn every_operation_is_told_in_full() {
        for operation in operations() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(operation["summary"].as_str().is_some_and(|s| !s.is_empty()), "{id} has no summary");
            assert!(
                operation["description"].as_str().is_some_and(|s| !s.is_empty()),
                "{id} has no description"
            );
            assert!(operation["tags"].as_array().is_some_and(|t| t.len() == 1), "{id} has not one tag");
            for (status, response) in operation["responses"].as_object().unwrap() {
                assert!(response["description"].as_str().is_some_and(|d| !d.is_empty()), "{id} {status}");
            }
        }
    }

    #[test]
    fn every_code_is_documented_somewhere() {
        let text = document()["paths"].to_string();
        // These belong to no operation: they are about paths, methods and media types as such.
        let of_no_operation =
            [ProblemCode::RouteNotFound, ProblemCode::MethodNotAllowed, ProblemCode::NotAcceptable];
        for code in ProblemCode::ALL.iter().filter(|code| !of_no_operation.contains(code)) {
            assert!(text.contains(&format!("`{}`", code.as_str())), "{} is never documented", code.as_str());
        }
    }

    #[test]
    fn no_problems_are_listed_for_operations_that_do_not_exist() {
        let ids: Vec<String> =
            operations().iter().map(|o| o["operationId"].as_str().unwrap().to_owned()).collect();
        for id in
            ["create_guest", "refresh_session", "create_move", "request_rematch", "remove_group_computer"]
        {
            assert!(ids.iter().any(|known| known == id) && !own_problems(id).is_empty(), "{id}");
        }
    }
}
