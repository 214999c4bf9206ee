//! Live streams: whoever reads one gets each message once and in order, and goes on where it ended after any interruption.
//!
//! A stream pulls: it writes the next message when the reader has room for it, so a slow reader costs no memory; one that
//! takes nothing for half a minute is cut off by the system (see `server.rs`). What ends it is looked at whenever it wakes.

mod form;
mod games;
mod groups;
mod me;
mod tokens;

pub use games::stream_game;
pub use groups::stream_group;
pub use me::stream_me;
pub use tokens::{STREAM_TOKEN, Streamed, create_stream_token};

use std::convert::Infallible;
use std::sync::LazyLock;
use std::time::Duration;

use actix_web::http::header::{CACHE_CONTROL, ContentEncoding, HeaderName};
use actix_web::web::Bytes;
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use futures_util::stream::unfold;
use rand::RngExt;
use serde::Serialize;
use time::OffsetDateTime;
use tokio::time::{Instant, sleep_until};
use utoipa::ToSchema;
use uuid::Uuid;

use super::frame::HeadOnly;
use super::limits::open_stream;
use super::open_streams::Slot;
use super::problem::{Failure, ProblemCode};
use crate::service::{Bearer, Connected, Error, Listening, Rung, Service, Topic};
use form::Form;

/// How often there is something to read, whatever happens.
const BEAT_EVERY: Duration = Duration::from_secs(15);
/// Streams beat at the same moments, this far apart: to wake for each of thousands costs more than what it is told.
const BEATS_APART: Duration = Duration::from_millis(250);
/// For how long a browser waits before it connects again, in milliseconds.
const RETRY: u32 = 1_000;
/// And at most after a stop of the server, so that not all come back at once.
const SPREAD: u32 = 4_000;

/// In which a stream that is replaced makes room, and how often it is looked whether it has.
const MADE_ROOM_WITHIN: Duration = Duration::from_secs(1);
const LOOK_FOR_ROOM_EVERY: Duration = Duration::from_millis(10);

/// A heartbeat: nothing has happened. The first message of each stream is one.
#[derive(Serialize, ToSchema)]
pub struct Heartbeat {
    /// Always `heartbeat`.
    #[serde(rename = "type")]
    pub kind: HeartbeatType,
    /// The database's clock.
    #[serde(with = "time::serde::rfc3339")]
    pub server_time: OffsetDateTime,
}

/// See [`Heartbeat`].
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeartbeatType {
    /// The only value.
    Heartbeat,
}

/// The last message of a stream that the server ends before its time: connect again, or see why not.
#[derive(Serialize, ToSchema)]
pub struct Closing {
    /// Always `closing`.
    #[serde(rename = "type")]
    pub kind: ClosingType,
    /// Why it ends.
    pub reason: ClosingReason,
}

/// See [`Closing`].
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClosingType {
    /// The only value.
    Closing,
}

/// Why a stream ends before its time.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClosingReason {
    /// The server stops, or cannot go on: connect again, another one may answer.
    Restart,
    /// The token has expired: get a new one and connect again.
    TokenExpired,
    /// The session or the personal token has ended.
    SessionEnded,
    /// The stream token is used for a newer stream.
    Replaced,
    /// There is nothing to see here any more.
    Hidden,
}

/// What a stream tells of, beside what all streams do.
trait Source: 'static {
    /// The next messages, if there are any by now; they say `now`.
    async fn next(&mut self, form: Form, now: OffsetDateTime) -> Result<Option<Bytes>, Error>;
    /// Whether there will be no more.
    fn is_over(&self) -> bool;
    /// What it hears of.
    fn listening(&mut self) -> &mut Listening;
    /// Looks at what may have happened.
    async fn look(&mut self, rung: Rung) -> Result<(), Error>;
}

/// A stream that is being read.
struct Live<S> {
    source: S,
    form: Form,
    service: Service,
    bearer: Option<Bearer>,
    /// Of its stream token: which, and which of its uses.
    used: Option<(Uuid, i32)>,
    until: Option<Instant>,
    beat_at: Instant,
    /// Said once, before anything else.
    opening: bool,
    ended: bool,
    _slot: Slot,
    _connected: Option<Connected>,
}

/// The cursor of a request: what a browser sends by itself when it comes back, else what the URL says, else the beginning.
fn cursor_of(request: &HttpRequest, after_seq: Option<u32>) -> Result<(i32, Cursor), Failure> {
    let invalid = |detail: &str| Failure::new(ProblemCode::InvalidParameter, detail);
    if let Some(value) = request.headers().get("last-event-id").filter(|value| !value.is_empty()) {
        let digits = value.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let digits = digits.ok_or_else(|| invalid("Last-Event-ID is a number of events"))?;
        // One that is too long is beyond the end of every log.
        return Ok((digits.parse().unwrap_or(i32::MAX), Cursor::OfBrowser));
    }
    let seq = i32::try_from(after_seq.unwrap_or(0));
    let seq = seq.map_err(|_| invalid("after_seq is a number of events, from 0 to 2147483647"))?;
    Ok((seq, Cursor::OfUrl))
}

/// Where a cursor came from. A browser's comes by itself, and an error would be the end of its stream for good.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cursor {
    OfUrl,
    OfBrowser,
}

/// A place for a stream. Who has as many as there may be, and comes back with a stream token, gets that of the older stream
/// with that token, once it has ended.
async fn place(service: &Service, bearer: Option<Bearer>, request: &HttpRequest) -> Result<Slot, Failure> {
    let open = || open_stream(bearer.map(|bearer| bearer.who.player), request);
    let first = open();
    let token = bearer.and_then(|bearer| bearer.stream_token.zip(bearer.until));
    let Some((token, until)) = token.filter(|_| first.is_err() && !is_head(request)) else { return first };
    service.replace_streams(token, until);
    let end = Instant::now() + MADE_ROOM_WITHIN;
    loop {
        sleep_until(Instant::now() + LOOK_FOR_ROOM_EVERY).await;
        match open() {
            Err(_) if Instant::now() < end => {}
            done => return done,
        }
    }
}

/// Whether only the head of the answer is asked for.
fn is_head(request: &HttpRequest) -> bool {
    request.extensions().contains::<HeadOnly>()
}

/// Answers with a stream.
fn answer<S: Source>(
    mut source: S,
    form: Form,
    service: &Service,
    bearer: Option<Bearer>,
    slot: Slot,
    request: &HttpRequest,
) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response
        .content_type(form.content_type())
        // What is to be read at once is neither compressed, which would gather it first, nor kept by a proxy.
        .insert_header(ContentEncoding::Identity)
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((HeaderName::from_static("x-accel-buffering"), "no"));
    // Nobody reads what HEAD asks for.
    if is_head(request) {
        return response.finish();
    }
    let mut used = None;
    if let Some(bearer) = bearer {
        source.listening().add(Topic::Credential(bearer.who.credential.id()));
        if let Some((token, until)) = bearer.stream_token.zip(bearer.until) {
            source.listening().add(Topic::StreamToken(token));
            used = Some((token, service.replace_streams(token, until)));
        }
    }
    let now = Instant::now();
    let left = |until: OffsetDateTime| (until - OffsetDateTime::now_utc()).try_into().unwrap_or_default();
    let live = Live {
        source,
        form,
        service: service.clone(),
        bearer,
        used,
        until: bearer.and_then(|bearer| bearer.until).map(|until| now + left(until)),
        beat_at: next_beat(now),
        opening: true,
        ended: false,
        _slot: slot,
        _connected: bearer.map(|bearer| service.connect(bearer.who.player)),
    };
    response.streaming(unfold(live, Live::next))
}

/// When a stream beats after this moment: at the last of the shared moments within the time.
fn next_beat(now: Instant) -> Instant {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    let by = now + BEAT_EVERY;
    let over = (by - *FIRST).as_nanos() % BEATS_APART.as_nanos();
    by - Duration::from_nanos(over.try_into().expect("less than what lies between two"))
}

impl<S: Source> Live<S> {
    /// The next bytes, with what comes after them.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if self.ended {
            return None;
        }
        let told = if std::mem::take(&mut self.opening) { self.open() } else { self.wait().await? };
        Some((Ok(told), self))
    }

    /// What is said first.
    fn open(&self) -> Bytes {
        let mut told = match self.form {
            Form::Events => format!("retry: {RETRY}\n\n").into_bytes(),
            Form::Lines => Vec::new(),
        };
        told.extend(self.beat());
        told.into()
    }

    /// What there is to be told next, as soon as there is something; `None` at the end.
    async fn wait(&mut self) -> Option<Bytes> {
        loop {
            // Before what there is to be told: who is slow would be told it for long after the end.
            if self.service.stopping.is_cancelled() {
                return Some(self.close(ClosingReason::Restart));
            }
            if let Some(reason) = self.is_to_end() {
                return Some(self.close(reason));
            }
            match self.source.next(self.form, self.service.database_time()).await {
                Ok(Some(told)) => return Some(told),
                Ok(None) if self.source.is_over() => return None,
                Ok(None) => {}
                Err(error) => return Some(self.failed(&error)),
            }
            let wake_at = self.until.map_or(self.beat_at, |until| until.min(self.beat_at));
            let rung = tokio::select! {
                rung = self.source.listening().rung() => Some(rung),
                () = sleep_until(wake_at) => None,
                () = self.service.stopping.cancelled() => return Some(self.close(ClosingReason::Restart)),
            };
            match rung {
                Some(rung) => {
                    if let Err(error) = self.source.look(rung).await {
                        return Some(self.failed(&error));
                    }
                }
                None => {
                    self.beat_at = next_beat(Instant::now());
                    // Whoever reads a stream is there.
                    if let Some(bearer) = self.bearer {
                        self.service.hear(bearer.who.player);
                    }
                    return Some(self.beat().into());
                }
            }
        }
    }

    fn beat(&self) -> Vec<u8> {
        let beat = Heartbeat { kind: HeartbeatType::Heartbeat, server_time: self.service.database_time() };
        self.form.message(Some("heartbeat"), &beat)
    }

    /// Whether the stream has to end, and why.
    fn is_to_end(&self) -> Option<ClosingReason> {
        let bearer = self.bearer?;
        let replaced = self.used.is_some_and(|(token, used)| self.service.is_replaced(token, used));
        if self.service.has_ended(bearer.who.credential) {
            Some(ClosingReason::SessionEnded)
        } else if replaced {
            Some(ClosingReason::Replaced)
        } else if self.until.is_some_and(|until| until <= Instant::now()) {
            Some(ClosingReason::TokenExpired)
        } else {
            None
        }
    }

    fn failed(&mut self, error: &Error) -> Bytes {
        self.close(match error {
            Error::GameNotFound | Error::GroupNotFound => ClosingReason::Hidden,
            _ => {
                tracing::warn!(error.message = %error, "a stream cannot go on; its reader connects again");
                ClosingReason::Restart
            }
        })
    }

    fn close(&mut self, reason: ClosingReason) -> Bytes {
        self.ended = true;
        let mut told = match (self.form, reason) {
            (Form::Events, ClosingReason::Restart) => {
                format!("retry: {}\n\n", rand::rng().random_range(RETRY / 2..SPREAD)).into_bytes()
            }
            _ => Vec::new(),
        };
        told.extend(self.form.message(None, &Closing { kind: ClosingType::Closing, reason }));
        told.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_began_at_any_moment_beat_together_and_never_late() {
        let (first, begun) = (next_beat(Instant::now()), Instant::now());
        for number in 0..1_000 {
            let now = begun + Duration::from_micros(7_919 * number);
            let beat = next_beat(now);
            assert!(beat <= now + BEAT_EVERY && beat > now + BEAT_EVERY - BEATS_APART);
            assert_eq!((beat - first).as_nanos() % BEATS_APART.as_nanos(), 0);
        }
    }
}
