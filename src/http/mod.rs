//! The HTTP side: routes and wire types. A handler extracts, parses, calls one use case and answers.

mod access;
mod accounts;
mod analysis;
mod blocks;
mod body;
mod bots;
mod caller;
pub mod document;
mod document30;
mod failure;
mod frame;
#[cfg(test)]
mod fuzz;
mod games;
mod gate;
mod groups;
mod guests;
mod headers;
mod health;
mod hints;
mod leaderboards;
mod limits;
mod me;
mod objects;
mod open_streams;
mod outlook;
mod personal_tokens;
mod play;
mod players;
mod presence;
mod preview;
mod privacy;
mod problem;
mod ratings;
mod records;
mod reviews;
mod routes;
mod sessions;
mod statistics;
mod streams;
mod strict;
mod tickets;
mod variants;

pub use analysis::{Search, analyse_line};
pub use frame::frame;
pub use gate::gate;
pub use headers::Hsts;
pub use limits::Limits;
pub use objects::GroupEvent;
pub use records::replay_line;

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::error::{PathError, QueryPayloadError};
use actix_web::http::header::CACHE_CONTROL;
use actix_web::web::{self, PathConfig, QueryConfig, Redirect};
use utoipa_actix_web::scope;
use utoipa_actix_web::service_config::ServiceConfig;
use utoipa_swagger_ui::{Config, SwaggerUi};

use document::{DOCUMENT, document_3_0};
use problem::{Failure, ProblemCode};
use routes::unknown;

/// Every documented operation.
pub fn operations(config: &mut ServiceConfig) {
    let v1 = scope::scope("/v1")
        .service(guests::create_guest)
        .service(personal_tokens::create_personal_token)
        .service(personal_tokens::list_personal_tokens)
        .service(personal_tokens::delete_personal_token)
        .service(privacy::export_me)
        .service(privacy::delete_me)
        .service(bots::declare_bot)
        .service(blocks::list_blocks)
        .service(blocks::get_block)
        .service(blocks::block_player)
        .service(blocks::unblock_player)
        .service(accounts::create_account)
        .service(sessions::create_session)
        .service(sessions::list_sessions)
        .service(sessions::delete_sessions)
        .service(sessions::refresh_session)
        .service(sessions::recover_account)
        .service(sessions::delete_current_session)
        // Whatever else is done to these is not done to a session with such an id.
        .route("/sessions/refresh", web::route().to(unknown))
        .route("/sessions/recovery", web::route().to(unknown))
        .route("/sessions/current", web::route().to(unknown))
        .service(sessions::delete_session)
        .service(me::get_me)
        .service(me::update_me)
        .service(me::change_password)
        .service(me::create_recovery_codes)
        .service(players::get_player)
        .service(games::list_player_games)
        .service(ratings::list_ratings)
        .service(ratings::list_rating_history)
        .service(statistics::get_statistics)
        .service(leaderboards::list_leaderboard)
        .service(leaderboards::get_own_rank)
        .service(games::create_game)
        .service(games::list_games)
        .service(games::get_game)
        .service(streams::stream_game)
        .service(streams::stream_group)
        .service(streams::stream_me)
        .service(streams::create_stream_token)
        .service(presence::get_presence)
        .service(play::create_move)
        .service(play::resign_game)
        .service(play::leave_game)
        .service(play::return_to_game)
        .service(play::request_rematch)
        .service(preview::preview_game)
        .service(records::get_record)
        .service(reviews::get_review)
        .service(hints::get_hint)
        .service(ratings::list_receipts)
        .service(outlook::get_outlook)
        .service(groups::create_group)
        .service(groups::join_group)
        // Whatever else is done to it is not done to a group with the id `join`.
        .route("/groups/join", web::route().to(unknown))
        .service(groups::get_group)
        .service(groups::update_group)
        .service(groups::leave_group)
        .service(groups::add_group_computer)
        .service(groups::remove_group_computer)
        .service(groups::create_group_game)
        .service(tickets::create_ticket)
        .service(tickets::get_ticket)
        .service(tickets::cancel_ticket)
        .service(variants::list_variants)
        .service(preview::preview_position)
        .service(records::replay_record)
        .service(analysis::create_analysis);
    config
        .service(v1)
        .service(health::get_health)
        .service(health::get_readiness)
        .service(health::get_metrics);
}

/// What is served besides the operations: the documents, the interactive page, and a problem for everything else.
pub fn surroundings(config: &mut web::ServiceConfig) {
    config
        .app_data(PathConfig::default().error_handler(|error, _| path_failure(&error).into()))
        .app_data(QueryConfig::default().error_handler(|error, _| query_failure(&error).into()))
        .route("/openapi.json", web::get().to(async || json(&SERVED)))
        .route("/openapi-3.0.json", web::get().to(async || json(&SERVED_3_0)))
        .service(Redirect::new("/", "/docs/"))
        .service(Redirect::new("/docs", "/docs/"))
        .service(SwaggerUi::new("/docs/{_:.*}").config(Config::from("/openapi.json")))
        .default_service(web::to(unknown));
}

static SERVED: LazyLock<String> = LazyLock::new(|| DOCUMENT.to_string());
static SERVED_3_0: LazyLock<String> = LazyLock::new(|| document_3_0().to_string());

fn json(text: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, "public, max-age=300"))
        .content_type("application/json")
        .body(text)
}

fn path_failure(error: &PathError) -> Failure {
    Failure::new(ProblemCode::InvalidParameter, format!("the path is malformed: {error}"))
}

fn query_failure(error: &QueryPayloadError) -> Failure {
    Failure::new(ProblemCode::InvalidParameter, format!("the query is malformed: {error}"))
}
