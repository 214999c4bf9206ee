//! What frames every request: its id, its log line, its metrics, HEAD, and the headers that every response has.
//!
//! The log has nothing that tells who somebody is: no address, no query, no header but the id of the request, and of a
//! path only words that the document knows and ids.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header;
use actix_web::http::{ConnectionType, Method, StatusCode, Version};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpMessage, HttpResponse, ResponseError};
use futures_util::FutureExt;
use tokio::time::timeout;
use tracing::Instrument;
use uuid::Uuid;

use super::document::DOCUMENT;
use super::headers::{Hsts, dress};
use super::limits::BudgetHeaders;
use super::problem::{Failure, ProblemCode};
use crate::pool::Pool;
use crate::telemetry::Metrics;

/// In which every request is answered: longer than the longest poll and the slowest statement together.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// The request was HEAD.
pub struct HeadOnly;

/// The outermost layer.
pub async fn frame(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let start = Instant::now();
    let id = request_id(&request);
    let method = request.method().clone();
    let path = told_path(request.path());
    // A name for the methods that are known: any text can be one.
    let span =
        tracing::info_span!("request", request.id = %id, http.method = known(&method), http.path = %path);
    // HEAD is GET without the body, which the encoder leaves out by itself.
    if method == Method::HEAD {
        request.head_mut().method = Method::GET;
        request.extensions_mut().insert(HeadOnly);
    }
    let signed_in = request.headers().contains_key(header::AUTHORIZATION);
    let metrics = request.app_data::<Data<Metrics>>().cloned();
    let hsts = request.app_data::<Data<Hsts>>().map(|hsts| Hsts::clone(hsts));
    let tell = |route: &str, status: StatusCode| {
        let (status, took) = (status.as_u16(), start.elapsed());
        if let Some(metrics) = metrics {
            metrics.answered(known(&method), route, status, took);
        }
        span.in_scope(|| {
            let took = took.as_secs_f64() * 1e3;
            tracing::info!(http.status = status, http.route = %route, took.ms = took, "answered");
        });
    };
    // A handler that panics is a fault of ours; its message is in the log by then.
    let answering = AssertUnwindSafe(next.call(request).instrument(span.clone())).catch_unwind();
    let failed = match timeout(ANSWER_WITHIN, answering).await {
        Ok(Ok(Ok(response))) => {
            let mut response = in_one_shape(response.map_into_boxed_body(), &id);
            let route = response.request().match_pattern().unwrap_or_else(|| "unknown".to_owned());
            tell(&route, response.status());
            let budget = response.request().extensions_mut().remove::<BudgetHeaders>();
            let headers = response.headers_mut();
            for (name, value) in budget.into_iter().flat_map(BudgetHeaders::into_iter) {
                headers.insert(name, value);
            }
            dress(headers, &id, hsts.as_ref(), signed_in);
            // There are no chunks before HTTP/1.1: what has no length ends with the connection.
            if response.request().version() < Version::HTTP_11
                && response.response().body().size() == BodySize::Stream
            {
                let head = response.response_mut().head_mut();
                head.no_chunking(true);
                head.set_connection_type(ConnectionType::Close);
            }
            return Ok(response);
        }
        Ok(Ok(Err(error))) => error.error_response(),
        Ok(Err(_)) => told(ProblemCode::Internal, &id),
        Err(_) => Failure::new(ProblemCode::Unavailable, "the answer took too long; try again soon")
            .retry_after(2)
            .error_response(),
    };
    // Without an answer the request is lost as well, to which a response would belong.
    let mut response = failed;
    tell("unknown", response.status());
    dress(response.headers_mut(), &id, hsts.as_ref(), signed_in);
    Err(InternalError::from_response("no answer", response).into())
}

/// A path for the log: any text can be in one, also a secret that somebody took for an id.
pub fn told_path(path: &str) -> String {
    static WORDS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let paths = DOCUMENT["paths"].as_object().into_iter().flatten();
        let words = paths.flat_map(|(path, _)| path.split('/')).map(str::to_owned);
        let pools = Pool::ALL.iter().map(|pool| pool.as_str().to_owned());
        let pages = ["openapi.json", "openapi-3.0.json", "docs"].map(str::to_owned);
        words.chain(pools).chain(pages).collect()
    });
    let segments = path.split('/').take(8).map(|segment| {
        let told = WORDS.contains(segment) || Uuid::try_parse(segment).is_ok();
        if told { segment } else { "…" }
    });
    segments.collect::<Vec<_>>().join("/")
}

/// Errors that did not come from a handler (a page that is not there, an encoding that nobody knows) get the shape of
/// all others. A failure of ours says nothing of the inside, but under which id the log does.
fn in_one_shape(response: ServiceResponse<BoxBody>, id: &str) -> ServiceResponse<BoxBody> {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_problem = kind.is_some_and(|kind| kind == "application/problem+json");
    if !(status.is_client_error() || status.is_server_error())
        || (is_problem && status != StatusCode::INTERNAL_SERVER_ERROR)
    {
        return response;
    }
    let code = match status {
        StatusCode::NOT_FOUND => ProblemCode::RouteNotFound,
        StatusCode::METHOD_NOT_ALLOWED => ProblemCode::MethodNotAllowed,
        StatusCode::NOT_ACCEPTABLE => ProblemCode::NotAcceptable,
        status if status.is_client_error() => ProblemCode::InvalidRequest,
        _ => ProblemCode::Internal,
    };
    let (request, old) = response.into_parts();
    let mut response = told(code, id);
    // What other layers have said about the answer still holds, except about its old body.
    let of_the_body = [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_ENCODING];
    for (name, value) in old.headers().iter().filter(|(name, _)| !of_the_body.contains(name)) {
        response.headers_mut().append(name.clone(), value.clone());
    }
    ServiceResponse::new(request, response)
}

/// The problem that has no more to say than its title; one of ours says where the log tells more.
fn told(code: ProblemCode, id: &str) -> HttpResponse {
    let failure = Failure::new(code, code.title());
    let problem = failure.problem((code == ProblemCode::Internal).then(|| id.to_owned()));
    let body = serde_json::to_string(&problem).expect("a problem always serialises");
    HttpResponse::build(code.status()).content_type("application/problem+json").body(body)
}

/// The method as a metric's label: any text can be a method, and each label costs memory for ever.
fn known(method: &Method) -> &'static str {
    let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    methods.into_iter().find(|m| *m == method.as_str()).unwrap_or("other")
}

/// The id of a request: its own if it is fit for a header and a log, its trace, or a new one.
pub fn request_id(request: &ServiceRequest) -> String {
    let text = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let given = text("x-request-id")
        .filter(|id| (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()));
    let trace = || {
        let trace = text("traceparent")?.split('-').nth(1)?;
        (trace.len() == 32 && trace.bytes().all(|b| b.is_ascii_hexdigit())).then_some(trace)
    };
    given.or_else(trace).map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use actix_web::middleware::from_fn;
    use actix_web::test::{TestRequest, init_service, try_call_service};
    use actix_web::{App, HttpResponse, web};
    use serde_json::Value;

    use super::frame;

    #[actix_web::test]
    async fn a_handler_that_panics_is_answered_for() {
        let fault = async || -> HttpResponse { panic!("for the test") };
        let app = App::new().wrap(from_fn(frame)).route("/", web::get().to(fault));
        let app = init_service(app).await;
        let request = TestRequest::get().uri("/").insert_header(("x-request-id", "of-the-test"));
        let Err(error) = try_call_service(&app, request.to_request()).await else { panic!("an answer") };
        let response = error.error_response();
        assert_eq!(response.status(), 500);
        let body = actix_web::body::to_bytes(response.into_body()).await.unwrap();
        let problem: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&problem["code"], &problem["request_id"]), (&"internal".into(), &"of-the-test".into()));
    }
}
