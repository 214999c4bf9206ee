//! Who calls: the access token of a request.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header::AUTHORIZATION;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest};
use time::OffsetDateTime;

use super::problem::{Failure, ProblemCode};
use crate::account::Identity;
use crate::ids::PlayerId;
use crate::service::Service;

/// A caller who may be anybody. A token that is there must be good: a client with a bad one wants to know.
pub struct Viewer(Option<Identity>);

impl Viewer {
    /// The player, if there is a token.
    pub fn player(&self) -> Option<PlayerId> {
        self.0.map(|who| who.player)
    }
}

/// A caller with an access token.
pub struct Caller(Identity);

impl Caller {
    /// The player.
    pub fn player(&self) -> PlayerId {
        self.0.player
    }

    /// The player on this device.
    pub fn identity(&self) -> Identity {
        self.0
    }
}

impl FromRequest for Viewer {
    type Error = Failure;
    type Future = Ready<Result<Self, Failure>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(identity(request).map(Self))
    }
}

impl FromRequest for Caller {
    type Error = Failure;
    type Future = Ready<Result<Self, Failure>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let missing =
            || Failure::new(ProblemCode::TokenMissing, "send an access token: Authorization: Bearer …");
        ready(identity(request).and_then(|who| who.ok_or_else(missing)).map(Self))
    }
}

fn identity(request: &HttpRequest) -> Result<Option<Identity>, Failure> {
    let mut values = request.headers().get_all(AUTHORIZATION);
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
    let service = request.app_data::<Data<Service>>().expect("every app has the service");
    Ok(Some(service.authenticate(token.trim(), OffsetDateTime::now_utc())?))
}
