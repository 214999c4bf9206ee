//! The HTTP side: routes and wire types. A handler extracts, parses, calls one use case and answers.

mod body;
mod caller;
pub mod document;
mod document30;
mod frame;
mod games;
mod groups;
mod guests;
mod health;
mod limits;
mod objects;
mod play;
mod preview;
mod problem;
mod records;
mod strict;
mod variants;

pub use frame::frame;
pub use limits::Limits;
pub use records::replay_line;

use std::sync::LazyLock;

use actix_web::error::{PathError, QueryPayloadError};
use actix_web::http::Method;
use actix_web::http::header::{ALLOW, CACHE_CONTROL};
use actix_web::web::{self, PathConfig, QueryConfig, Redirect};
use actix_web::{HttpRequest, HttpResponse};
use utoipa_actix_web::scope;
use utoipa_actix_web::service_config::ServiceConfig;
use utoipa_swagger_ui::{Config, SwaggerUi};

use document::{document, document_3_0};
use problem::{Failure, ProblemCode};

/// Every documented operation.
pub fn operations(config: &mut ServiceConfig) {
    let v1 = scope::scope("/v1")
        .service(guests::create_guest)
        .service(guests::refresh_session)
        .service(guests::delete_current_session)
        .service(guests::get_me)
        .service(guests::update_me)
        .service(guests::get_player)
        .service(games::create_game)
        .service(games::list_games)
        .service(games::get_game)
        .service(play::create_move)
        .service(play::resign_game)
        .service(play::leave_game)
        .service(play::return_to_game)
        .service(play::request_rematch)
        .service(preview::preview_game)
        .service(records::get_record)
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
        .service(variants::list_variants)
        .service(preview::preview_position)
        .service(records::replay_record);
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
        .route("/openapi.json", web::get().to(async || json(&DOCUMENT)))
        .route("/openapi-3.0.json", web::get().to(async || json(&DOCUMENT_3_0)))
        .service(Redirect::new("/", "/docs/"))
        .service(Redirect::new("/docs", "/docs/"))
        .service(SwaggerUi::new("/docs/{_:.*}").config(Config::from("/openapi.json")))
        .default_service(web::to(unknown));
}

static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());
static DOCUMENT_3_0: LazyLock<String> = LazyLock::new(|| document_3_0().to_string());

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

/// A path that nobody serves, or a method that its path does not know.
async fn unknown(request: HttpRequest) -> Result<HttpResponse, Failure> {
    let allowed = methods(request.path());
    if allowed.is_empty() {
        return Err(Failure::new(ProblemCode::RouteNotFound, "there is nothing at this path; see /docs/"));
    }
    let allow = allow(&allowed);
    if request.method() == Method::OPTIONS {
        return Ok(HttpResponse::NoContent().insert_header((ALLOW, allow)).finish());
    }
    Ok(not_allowed(&allow))
}

fn allow(methods: &[&str]) -> String {
    let head = if methods.contains(&"GET") { ", HEAD" } else { "" };
    format!("{}{head}, OPTIONS", methods.join(", "))
}

fn not_allowed(allow: &str) -> HttpResponse {
    let failure = Failure::new(ProblemCode::MethodNotAllowed, format!("this path knows {allow}"));
    let mut response = actix_web::ResponseError::error_response(&failure);
    response.headers_mut().insert(ALLOW, allow.parse().expect("methods are ASCII"));
    response
}

/// The methods of every documented path, by its segments.
static ROUTES: LazyLock<Vec<(Vec<String>, Vec<String>)>> = LazyLock::new(|| {
    let document = document();
    let paths = document["paths"].as_object().into_iter().flatten();
    paths
        .map(|(path, item)| {
            let methods = item.as_object().into_iter().flat_map(|item| item.keys());
            let segments = path.split('/').map(str::to_owned).collect();
            (segments, methods.map(|method| method.to_uppercase()).collect())
        })
        .chain(
            ["/openapi.json", "/openapi-3.0.json", "/docs/", "/"]
                .map(|path| (path.split('/').map(str::to_owned).collect(), vec!["GET".to_owned()])),
        )
        .collect()
});

fn methods(path: &str) -> Vec<&'static str> {
    let asked: Vec<&str> = path.split('/').collect();
    let fits = |segments: &[String]| {
        segments.len() == asked.len()
            && segments.iter().zip(&asked).all(|(s, a)| s == a || (s.starts_with('{') && !a.is_empty()))
    };
    let fitting = ROUTES.iter().filter(|(segments, _)| fits(segments));
    // A path that is written out is meant before one with a parameter in the same place.
    let closest = fitting.min_by_key(|(segments, _)| segments.iter().filter(|s| s.starts_with('{')).count());
    closest.into_iter().flat_map(|(_, methods)| methods.iter().map(String::as_str)).collect()
}
