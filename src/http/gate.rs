//! Decides before any handler whether a request may come in: from which address, with which token, within which
//! budgets. What is asked of it the document says, of which [`super::routes`] is the short form.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::AUTHORIZATION;
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpMessage};
use time::OffsetDateTime;

use super::access::Access;
use super::caller::{session_needed, token_missing};
use super::limits::Limits;
use super::problem::{Failure, ProblemCode};
use super::routes::{Operation, operation};
use super::streams::{STREAM_TOKEN, Streamed};
use crate::account::{Credential, Scope, Scopes};
use crate::service::{Bearer, Service};

/// The layer right around the handlers. What is no operation passes: it is answered without anybody's data.
pub async fn gate(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    // The path as the router sees it, decoded: as it was written it would name another operation, or none.
    let refusal = match operation(request.match_info().as_str(), request.method()) {
        Some(operation) => admit(operation, &request).await.err(),
        None => None,
    };
    match refusal {
        Some(failure) => Ok(request.error_response(failure).map_into_boxed_body()),
        None => Ok(next.call(request).await?.map_into_boxed_body()),
    }
}

async fn admit(operation: &Operation, request: &ServiceRequest) -> Result<(), Failure> {
    let limits = request.app_data::<Data<Limits>>().expect("every app has limits");
    if let Some(class) = operation.class {
        limits.ask_of_address(class, operation.cost, request.request())?;
    }
    if let Access::Bearers { optional, scope } = operation.access {
        match bearer(operation, request).await? {
            Some(bearer) => {
                may(bearer.only, scope)?;
                if let Some(class) = operation.class {
                    if let Credential::Token(token) = bearer.who.credential {
                        limits.ask_of_token(class, token, request.request())?;
                    }
                    limits.ask_of_player(class, bearer.who.player, request.request())?;
                }
                request.extensions_mut().insert(bearer);
            }
            None if optional => {}
            None => return Err(token_missing()),
        }
    }
    known_parameters(operation, request.query_string())
}

/// Who sends the request, if it says so. A token that is there must be good: a client with a bad one wants to know.
async fn bearer(operation: &Operation, request: &ServiceRequest) -> Result<Option<Bearer>, Failure> {
    let service = request.app_data::<Data<Service>>().expect("every app has the service");
    let mut values = request.headers().get_all(AUTHORIZATION);
    let mut pairs = request.query_string().split('&');
    let in_url = pairs.find_map(|pair| pair.strip_prefix(STREAM_TOKEN)?.strip_prefix('='));
    if let Some(token) = in_url.filter(|_| operation.knows(STREAM_TOKEN)) {
        if values.next().is_some() {
            let detail = "send one token: in the header, or one for the stream in the query";
            return Err(Failure::new(ProblemCode::TokenInvalid, detail));
        }
        let stream = Streamed::of(request.match_info().as_str()).map(|stream| stream.to_string());
        let stream = stream.unwrap_or_default();
        return Ok(Some(service.authenticate_for_stream(token, &stream, OffsetDateTime::now_utc())?));
    }
    let Some(value) = values.next() else { return Ok(None) };
    let invalid = || {
        Failure::new(ProblemCode::TokenInvalid, "send one header Authorization: Bearer, with an access token")
    };
    if values.next().is_some() {
        return Err(invalid());
    }
    let (scheme, token) = value.to_str().ok().and_then(|v| v.split_once(' ')).ok_or_else(invalid)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(invalid());
    }
    Ok(Some(service.authenticate(token.trim(), OffsetDateTime::now_utc()).await?))
}

/// Whether a token that is restricted to some scopes may do what needs this one. A session may do everything.
fn may(only: Option<Scopes>, scope: Option<Scope>) -> Result<(), Failure> {
    match (only, scope) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(session_needed()),
        (Some(scopes), Some(scope)) if scopes.contains(scope) => Ok(()),
        (Some(_), Some(scope)) => {
            let detail = format!("this needs a token with the scope `{}`", scope.as_str());
            Err(Failure::new(ProblemCode::ScopeMissing, detail))
        }
    }
}

/// Refuses query parameters that the operation does not know: whoever asks for `?seq=3` where nothing looks at it would
/// take the answer for something else.
fn known_parameters(operation: &Operation, query: &str) -> Result<(), Failure> {
    let given = query.split('&').filter(|pair| !pair.is_empty());
    let mut names = given.map(|pair| pair.split('=').next().unwrap_or_default());
    match names.find(|name| !operation.knows(name)) {
        None => Ok(()),
        Some(name) => {
            let detail = format!("this operation knows no query parameter `{name}`");
            Err(Failure::new(ProblemCode::InvalidParameter, detail))
        }
    }
}
