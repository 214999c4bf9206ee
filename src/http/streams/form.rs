//! How a message of a stream is written: as server-sent events (WHATWG HTML, section 9.2) or as lines of JSON.

use actix_web::HttpRequest;
use actix_web::http::header::{ACCEPT, Accept, Header, Quality};
use actix_web::web::Bytes;
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::http::problem::{Failure, ProblemCode};

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `text/event-stream`.
    Events,
    /// `application/x-ndjson`.
    Lines,
}

impl Form {
    /// What a request accepts; events if it does not say.
    ///
    /// # Errors
    /// `not_acceptable` when it is neither.
    pub fn of(request: &HttpRequest) -> Result<Self, Failure> {
        let header = request.headers().contains_key(ACCEPT);
        let mut accept = Accept::parse(request).unwrap_or(Accept(Vec::new()));
        accept.0.retain(|item| item.quality > Quality::ZERO);
        let accepted = accept.ranked();
        let known = accepted.iter().find_map(|kind| match kind.essence_str() {
            "text/event-stream" | "text/*" | "*/*" => Some(Self::Events),
            "application/x-ndjson" | "application/*" => Some(Self::Lines),
            _ => None,
        });
        match known {
            Some(form) => Ok(form),
            None if !header => Ok(Self::Events),
            None => {
                let detail = "a stream is text/event-stream or application/x-ndjson";
                Err(Failure::new(ProblemCode::NotAcceptable, detail))
            }
        }
    }

    /// Its media type.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream",
            Self::Lines => "application/x-ndjson",
        }
    }

    /// A message without a place in a log; `name` is for events that nobody has to listen to.
    pub fn message(self, name: Option<&str>, message: &impl Serialize) -> Vec<u8> {
        let json = serde_json::to_string(message).expect("a message always serialises");
        match (self, name) {
            (Self::Lines, _) => format!("{json}\n"),
            (Self::Events, None) => format!("data: {json}\n\n"),
            (Self::Events, Some(name)) => format!("event: {name}\ndata: {json}\n\n"),
        }
        .into_bytes()
    }

    /// A message with its place in a log: after it a browser goes on from there.
    pub fn numbered(self, seq: i32, message: &impl Serialize) -> Vec<u8> {
        let mut told = match self {
            Self::Events => format!("id: {seq}\n").into_bytes(),
            Self::Lines => Vec::new(),
        };
        told.extend(self.message(None, message));
        told
    }

    /// An event of a log, of which all but the time of its being sent has been written for others already: a JSON object
    /// without its closing brace.
    pub fn event(self, seq: i32, unfinished: &[u8], now: OffsetDateTime) -> Bytes {
        let mut told = Vec::with_capacity(unfinished.len() + 80);
        if self == Self::Events {
            told.extend_from_slice(format!("id: {seq}\ndata: ").as_bytes());
        }
        told.extend_from_slice(unfinished);
        let now = now.format(&Rfc3339).expect("the year has four digits");
        told.extend_from_slice(format!(",\"server_time\":\"{now}\"}}\n").as_bytes());
        if self == Self::Events {
            told.push(b'\n');
        }
        told.into()
    }
}
