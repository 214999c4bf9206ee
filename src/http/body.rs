//! JSON bodies: read within a limit and a time, refused with the place of what is wrong.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use actix_web::web::{Bytes, BytesMut};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use futures_util::StreamExt;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use tokio::time::{sleep, timeout};

use super::problem::{Failure, ProblemCode};
use super::strict::Strict;
use crate::service::IdempotencyKey;

/// The largest body that is accepted.
pub const MAX_BODY: usize = 64 * 1024;
/// A larger body is read on up to here before it is refused, so that its sender gets to read the answer.
const MAX_DISCARDED: usize = 8 * 1024 * 1024;
/// In which a body has to arrive.
const ARRIVAL: Duration = Duration::from_secs(15);
/// For how long a body that was refused is held: in which its answer has gone out.
const HELD: Duration = Duration::from_secs(5);

/// A JSON body of the form `T`. No body at all counts as `{}`.
pub struct Body<T> {
    /// What it says.
    pub value: T,
    /// As it was sent.
    pub raw: Bytes,
}

/// A body without fields.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({}))]
pub struct Empty {}

impl<T: DeserializeOwned> FromRequest for Body<T> {
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Failure>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let mut payload = payload.take();
        Box::pin(async move {
            let raw = match timeout(ARRIVAL, read(&request, &mut payload)).await {
                Ok(Ok(raw)) => raw,
                refused => {
                    close_unread(payload);
                    let late = "the body did not arrive in time";
                    return Err(refused.map_or_else(
                        |_| Failure::new(ProblemCode::RequestTimeout, late),
                        |read| read.expect_err("what was read is not refused"),
                    ));
                }
            };
            let json: &[u8] = if raw.is_empty() { b"{}" } else { &raw };
            if !raw.is_empty()
                && request.mime_type().ok().flatten().is_none_or(|m| m.essence_str() != "application/json")
            {
                let sent = request.headers().get(CONTENT_TYPE).is_some();
                let detail =
                    if sent { "the body must be application/json" } else { "Content-Type is missing" };
                return Err(Failure::new(ProblemCode::UnsupportedMediaType, detail));
            }
            Ok(Self { value: parse(json)?, raw })
        })
    }
}

/// Has the connection closed after the answer, though more of the body may come. actix reads on through a body in chunks
/// that nobody holds any more, for as long as its sender likes; one that is held when the answer goes out ends it.
fn close_unread(payload: Payload) {
    actix_web::rt::spawn(async move {
        sleep(HELD).await;
        drop(payload);
    });
}

async fn read(request: &HttpRequest, payload: &mut Payload) -> Result<Bytes, Failure> {
    let too_large = || Failure::new(ProblemCode::BodyTooLarge, "a body has at most 65536 bytes");
    let announced =
        request.headers().get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > MAX_DISCARDED) {
        return Err(too_large());
    }
    let mut body = BytesMut::new();
    let mut size = 0;
    while let Some(chunk) = payload.next().await {
        let chunk = chunk
            .map_err(|e| Failure::new(ProblemCode::InvalidRequest, format!("the body broke off: {e}")))?;
        size += chunk.len();
        if size <= MAX_BODY {
            body.extend_from_slice(&chunk);
        } else if size > MAX_DISCARDED {
            break;
        }
    }
    if size > MAX_BODY { Err(too_large()) } else { Ok(body.freeze()) }
}

/// Reads JSON; what does not fit is told with its place.
pub fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, Failure> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let value: T = serde_path_to_error::deserialize(Strict(&mut reader)).map_err(|error| {
        let pointer = pointer(error.path());
        let inner = error.into_inner();
        let detail = inner.to_string();
        match inner.classify() {
            // serde knows unknown fields only by their message.
            Category::Data if detail.starts_with("unknown field") => {
                Failure::field(ProblemCode::UnknownField, &pointer, detail)
            }
            Category::Data => Failure::field(ProblemCode::InvalidValue, &pointer, detail),
            Category::Io | Category::Syntax | Category::Eof => Failure::new(ProblemCode::InvalidJson, detail),
        }
    })?;
    reader.end().map_err(|error| Failure::new(ProblemCode::InvalidJson, error.to_string()))?;
    Ok(value)
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter().fold(String::new(), |pointer, segment| match segment {
        Segment::Seq { index } => format!("{pointer}/{index}"),
        Segment::Map { key } => format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")),
        Segment::Enum { .. } | Segment::Unknown => pointer,
    })
}

/// The `Idempotency-Key` of a creating request, if there is one.
pub struct Idempotency(Option<String>);

impl Idempotency {
    /// Bound to the body that it came with.
    pub fn with(self, body: &Bytes) -> Option<IdempotencyKey> {
        self.0.map(|key| IdempotencyKey::new(&key, body))
    }
}

impl FromRequest for Idempotency {
    type Error = Failure;
    type Future = std::future::Ready<Result<Self, Failure>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let mut keys = request.headers().get_all("idempotency-key");
        let key = match (keys.next(), keys.next()) {
            (None, _) => Ok(Self(None)),
            (Some(key), None) => match key.to_str() {
                Ok(key) if (1..=128).contains(&key.len()) && !key.contains('\t') => {
                    Ok(Self(Some(key.to_owned())))
                }
                _ => Err("Idempotency-Key has 1 to 128 ASCII characters"),
            },
            _ => Err("send one Idempotency-Key"),
        };
        std::future::ready(key.map_err(|detail| Failure::new(ProblemCode::InvalidParameter, detail)))
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::http::problem::ProblemCode;
    use crate::options::Asked;

    #[test]
    fn every_way_of_being_wrong_has_its_code_and_place() {
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        for (json, code, pointer) in [
            ("{", ProblemCode::InvalidJson, None),
            ("{} x", ProblemCode::InvalidJson, None),
            (r#"{"pits": 1e999}"#, ProblemCode::InvalidJson, None),
            (deep.as_str(), ProblemCode::InvalidValue, Some("")),
            (r#"{"pits": 1e99}"#, ProblemCode::InvalidValue, Some("/pits")),
            (r#"{"pits": -0}"#, ProblemCode::InvalidValue, Some("/pits")),
            (r#"{"pits": 6.0}"#, ProblemCode::InvalidValue, Some("/pits")),
            (r#"{"pits": "6"}"#, ProblemCode::InvalidValue, Some("/pits")),
            (r#"{"pits": 6, "pits": 6}"#, ProblemCode::InvalidValue, Some("")),
            (r#"{"capture_from": "left"}"#, ProblemCode::InvalidValue, Some("/capture_from")),
            (r#"{"holes": 6}"#, ProblemCode::UnknownField, Some("/holes")),
        ] {
            let failure = parse::<Asked>(json.as_bytes()).unwrap_err();
            assert_eq!(failure.code, code, "{json}");
            let problem = failure.problem(None);
            assert_eq!(problem.errors.first().map(|e| e.pointer.as_str()), pointer, "{json}");
        }
    }
}
