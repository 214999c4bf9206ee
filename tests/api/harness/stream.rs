//! A stream as a client reads it: server-sent events or lines, message by message.

use std::time::Duration;

use reqwest::header::ACCEPT;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;
use tokio::time::timeout;

use super::client::{Answer, Player};

/// In which something has to come: heartbeats come every 15 s.
const COMES_WITHIN: Duration = Duration::from_secs(40);

/// A message of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Its place in the log, if it has one.
    pub id: Option<u64>,
    /// The name of a server-sent event, if it has one.
    pub name: Option<String>,
    pub data: Value,
}

/// A stream that is open.
pub struct Stream {
    response: Response,
    lines: bool,
    unread: Vec<u8>,
}

impl Player {
    /// Opens a stream of server-sent events.
    pub async fn follow(&self, path: &str) -> Stream {
        Stream::open(self.request(Method::GET, path)).await.unwrap()
    }

    /// Opens a stream as a browser does that has been told this event before.
    pub async fn follow_again(&self, path: &str, last: u64) -> Stream {
        Stream::open(self.request(Method::GET, path).header("Last-Event-ID", last)).await.unwrap()
    }

    /// Opens a stream of lines of JSON.
    pub async fn follow_lines(&self, path: &str) -> Stream {
        Stream::open(self.request(Method::GET, path).header(ACCEPT, "application/x-ndjson")).await.unwrap()
    }

    /// The events of a game that are told until the stream ends, from this path on.
    pub async fn followed(&self, path: &str) -> Vec<Value> {
        self.follow(path).await.events().await
    }
}

impl Stream {
    /// Opens one, or gets the answer that is none.
    pub async fn open(request: RequestBuilder) -> Result<Self, Box<Answer>> {
        let (client, request) = request.build_split();
        let response = client.execute(request.unwrap()).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let kind = headers.get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
        match kind.as_deref() {
            Some("text/event-stream") => Ok(Self { response, lines: false, unread: Vec::new() }),
            Some("application/x-ndjson") => Ok(Self { response, lines: true, unread: Vec::new() }),
            _ => Err(Box::new(Answer { status, headers, text: response.text().await.unwrap() })),
        }
    }

    /// The stream that an answer is, if it is one.
    pub fn of(response: Response) -> Option<Self> {
        let kind = response.headers().get("content-type")?.to_str().unwrap().to_owned();
        let lines = kind == "application/x-ndjson";
        (lines || kind == "text/event-stream").then_some(Self { response, lines, unread: Vec::new() })
    }

    /// A header of the answer.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name).map(|value| value.to_str().unwrap())
    }

    /// The next message, heartbeats too; `None` when the stream has ended or was cut off.
    pub async fn any(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.parsed() {
                return Some(message);
            }
            let chunk = timeout(COMES_WITHIN, self.response.chunk()).await.expect("a stream is never silent");
            match chunk {
                Ok(Some(chunk)) => self.unread.extend_from_slice(&chunk),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// The next message that is neither a heartbeat nor about who is there, which come at any time.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            let message = self.any().await?;
            if message.data["type"] != "heartbeat" && message.data["type"] != "presence" {
                return Some(message);
            }
        }
    }

    /// The next message of this type; others are passed over.
    pub async fn next_like(&mut self, kind: &str) -> Message {
        loop {
            let message = self.any().await.expect("the stream goes on");
            if message.data["type"] == kind {
                return message;
            }
        }
    }

    /// The events of a log that are told until the stream ends.
    pub async fn events(mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(message) = self.next().await {
            if message.id.is_some() || message.data["seq"].is_u64() {
                events.push(message.data);
            }
        }
        events
    }

    /// A message that has arrived whole.
    fn parsed(&mut self) -> Option<Message> {
        let end: &[u8] = if self.lines { b"\n" } else { b"\n\n" };
        loop {
            let length = self.unread.windows(end.len()).position(|window| window == end)? + end.len();
            let told = String::from_utf8(self.unread.drain(..length).collect()).unwrap();
            if self.lines {
                return Some(Message { id: None, name: None, data: serde_json::from_str(&told).unwrap() });
            }
            let field =
                |name: &str| told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            // What only says when to try again is no message.
            if let Some(data) = field("data") {
                let data = serde_json::from_str(data).unwrap();
                let id = field("id").map(|id| id.parse().unwrap());
                return Some(Message { id, name: field("event").map(str::to_owned), data });
            }
        }
    }
}
