//! What frames every request: its id, its log line, its metrics, HEAD, and the headers that every response has.

use std::time::{Duration, Instant};

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpMessage, HttpResponse};
use tokio::time::timeout;
use tracing::Instrument;
use uuid::Uuid;

use super::limits::BudgetHeaders;
use super::problem::{Failure, ProblemCode};
use crate::telemetry::Metrics;

/// In which every request is answered: longer than the longest poll and the slowest statement together.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The outermost layer.
pub async fn frame(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let start = Instant::now();
    let id = request_id(&request);
    let method = request.method().clone();
    let span =
        tracing::info_span!("request", request.id = %id, http.method = %method, http.path = request.path());
    // HEAD is GET without the body, which the encoder leaves out by itself.
    if method == Method::HEAD {
        request.head_mut().method = Method::GET;
    }
    let metrics = request.app_data::<Data<Metrics>>().cloned();
    let answering = next.call(request).instrument(span.clone());
    let mut response = match timeout(ANSWER_WITHIN, answering).await {
        Ok(response) => response?.map_into_boxed_body(),
        Err(_) => {
            let failure = Failure::new(ProblemCode::Unavailable, "the answer took too long; try again soon");
            return Err(failure.retry_after(2).into());
        }
    };
    response = in_one_shape(response, &id);
    let route = response.request().match_pattern().unwrap_or_else(|| "unknown".to_owned());
    if let Some(metrics) = metrics {
        metrics.answered(known(&method), &route, response.status().as_u16(), start.elapsed());
    }
    span.in_scope(|| {
        let (status, took) = (response.status().as_u16(), start.elapsed().as_secs_f64() * 1e3);
        tracing::info!(http.status = status, http.route = %route, took.ms = took, "answered");
    });
    let budget = response.request().extensions_mut().remove::<BudgetHeaders>();
    let headers = response.headers_mut();
    for (name, value) in budget.into_iter().flat_map(BudgetHeaders::into_iter) {
        headers.insert(name, value);
    }
    headers.insert(X_REQUEST_ID, HeaderValue::from_str(&id).expect("ids are printable ASCII"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    Ok(response)
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
    let failure = Failure::new(code, code.title());
    let problem = failure.problem((code == ProblemCode::Internal).then(|| id.to_owned()));
    let body = serde_json::to_string(&problem).expect("a problem always serialises");
    let (request, old) = response.into_parts();
    let mut response = HttpResponse::build(code.status()).content_type("application/problem+json").body(body);
    // What other layers have said about the answer still holds, except about its old body.
    let of_the_body = [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_ENCODING];
    for (name, value) in old.headers().iter().filter(|(name, _)| !of_the_body.contains(name)) {
        response.headers_mut().append(name.clone(), value.clone());
    }
    ServiceResponse::new(request, response)
}

/// The method as a metric's label: any text can be a method, and each label costs memory for ever.
fn known(method: &Method) -> &'static str {
    let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    methods.into_iter().find(|m| *m == method.as_str()).unwrap_or("other")
}

fn request_id(request: &ServiceRequest) -> String {
    let text = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let given = text("x-request-id")
        .filter(|id| (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()));
    let trace = || {
        let trace = text("traceparent")?.split('-').nth(1)?;
        (trace.len() == 32 && trace.bytes().all(|b| b.is_ascii_hexdigit())).then_some(trace)
    };
    given.or_else(trace).map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}
