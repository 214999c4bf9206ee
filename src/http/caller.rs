//! Who calls, as the gate has found out.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest};

use super::problem::{Failure, ProblemCode};
use crate::account::{Credential, Identity, TokenError};
use crate::ids::{PlayerId, SessionId};
use crate::service::{Bearer, Error, Service};

/// A caller who may be anybody.
pub struct Viewer(Option<Bearer>);

impl Viewer {
    /// The player, if there is a token.
    pub fn player(&self) -> Option<PlayerId> {
        self.0.map(|bearer| bearer.who.player)
    }

    /// Nothing, unless the session or the token has ended while the request was waiting.
    ///
    /// # Errors
    /// `token_invalid`.
    pub fn is_still_in(&self, service: &Service) -> Result<(), Failure> {
        match self.0 {
            Some(bearer) if service.has_ended(bearer.who.credential) => {
                Err(Error::from(TokenError::Ended).into())
            }
            _ => Ok(()),
        }
    }

    /// The token itself, if there is one.
    pub fn bearer(&self) -> Option<Bearer> {
        self.0
    }
}

/// A caller with a token.
pub struct Caller(Identity);

impl Caller {
    /// The player.
    pub fn player(&self) -> PlayerId {
        self.0.player
    }

    /// The player and by what it is known.
    pub fn identity(&self) -> Identity {
        self.0
    }

    /// The caller's device, for operations that programs cannot do.
    pub fn session(&self) -> Result<SessionId, Failure> {
        match self.identity().credential {
            Credential::Session(session) => Ok(session),
            Credential::Token(_) => Err(session_needed()),
        }
    }
}

impl FromRequest for Viewer {
    type Error = Failure;
    type Future = Ready<Result<Self, Failure>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(request.extensions().get::<Bearer>().copied())))
    }
}

impl FromRequest for Caller {
    type Error = Failure;
    type Future = Ready<Result<Self, Failure>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let bearer = request.extensions().get::<Bearer>().copied();
        ready(bearer.map(|bearer| Self(bearer.who)).ok_or_else(token_missing))
    }
}

/// Nobody has said who calls.
pub fn token_missing() -> Failure {
    Failure::new(ProblemCode::TokenMissing, "send an access token: Authorization: Bearer …")
}

/// A program has come where only its owner may.
pub fn session_needed() -> Failure {
    Failure::new(ProblemCode::SessionNeeded, "sign in for this: a personal token is not accepted")
}
