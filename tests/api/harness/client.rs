//! Players who call the API, what they get, and how they play a game to its end.

use std::time::{Duration, Instant};

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{TestServer, secrets};

/// The password of accounts in tests.
pub const PASSWORD: &str = "seven pits, four stones";

/// Somebody who calls the API.
#[derive(Clone)]
pub struct Player {
    pub id: String,
    pub token: Option<String>,
    pub refresh: String,
    pub(super) base: String,
    pub(super) client: Client,
}

impl Player {
    /// A caller of this server without a token.
    pub fn nobody(base: String, client: Client) -> Self {
        Self { id: String::new(), token: None, refresh: String::new(), base, client }
    }

    /// The same caller with another access token.
    pub fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    /// Somebody without a token, calling the same server.
    pub fn without_token(&self) -> Self {
        Self { token: None, ..self.clone() }
    }

    /// The same caller with the tokens of an answer that renewed them.
    pub fn renewed(&self, pair: &Value) -> Self {
        let refresh = text(&pair["refresh_token"]).to_owned();
        Self { refresh, ..self.with_token(text(&pair["access_token"])) }
    }

    /// The same caller as the player of an answer that signed somebody in.
    pub fn signed_in(&self, answer: &Value) -> Self {
        Self {
            id: text(&answer["player"]["id"]).to_owned(),
            token: Some(text(&answer["access_token"]).to_owned()),
            refresh: text(&answer["refresh_token"]).to_owned(),
            ..self.clone()
        }
    }

    /// Exchanges the refresh token for a new pair.
    pub async fn renew(&self) -> Answer {
        self.renew_with(&self.refresh).await
    }

    /// Exchanges any refresh token for a new pair.
    pub async fn renew_with(&self, token: &str) -> Answer {
        self.without_token().post("/v1/sessions/refresh", json!({ "refresh_token": token })).await
    }

    /// Registers with the password [`PASSWORD`]: the caller, or somebody new.
    pub async fn register(&self, username: &str) -> Answer {
        self.post("/v1/accounts", json!({ "username": username, "password": PASSWORD })).await
    }

    /// Signs in, with the caller's token if there is one.
    pub async fn sign_in(&self, username: &str, password: &str) -> Answer {
        self.post("/v1/sessions", json!({ "username": username, "password": password })).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, Some(body)).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PUT, path, Some(body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PATCH, path, Some(body)).await
    }

    /// Deletes the player, with this body.
    pub async fn go(&self, body: Value) -> Answer {
        self.send(Method::DELETE, "/v1/me", Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None).await
    }

    /// A request with the caller's token, to be completed and passed to [`Answer::of`].
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let request = self.request(method, path);
        Answer::of(match body {
            Some(body) => request.json(&body),
            None => request,
        })
        .await
    }

    /// The same player, calling another server.
    pub fn via(&self, server: &TestServer) -> Self {
        self.at(server.url(""))
    }

    /// The same player, calling the server there.
    pub fn at(&self, base: String) -> Self {
        Self { base, ..self.clone() }
    }

    /// Sows a pit.
    pub async fn sow(&self, game: &str, pit: u64, seq: u64) -> Answer {
        self.post(&format!("/v1/games/{game}/moves"), json!({ "pit": pit, "seq": seq })).await
    }

    /// The game as it is now.
    pub async fn game(&self, game: &str) -> Value {
        self.get(&format!("/v1/games/{game}")).await.ok(200)
    }

    /// The record of a game.
    pub async fn record(&self, game: &str) -> Value {
        self.get(&format!("/v1/games/{game}/record")).await.ok(200)
    }

    /// Does something in a game that needs no words: `resign`, `leave`, `return` or `rematch`.
    pub async fn act(&self, game: &str, what: &str) -> Answer {
        self.post(&format!("/v1/games/{game}/{what}"), json!({})).await
    }

    /// The game as soon as `done` likes it, by long polls.
    pub async fn until(&self, game: &str, done: impl Fn(&Value) -> bool) -> Value {
        self.until_within(game, 25, done).await
    }

    /// The same, if something happens every so many seconds.
    pub async fn until_within(&self, game: &str, seconds: u64, done: impl Fn(&Value) -> bool) -> Value {
        let mut state = self.game(game).await;
        let mut last = Instant::now();
        while !done(&state) {
            let seen = &state["seq"];
            let next = self
                .get(&format!("/v1/games/{game}?after_seq={seen}&wait={}", seconds.min(25)))
                .await
                .ok(200);
            if next["seq"] != *seen {
                last = Instant::now();
            }
            assert!(last.elapsed().as_secs() < seconds, "nothing happens any more: {next}");
            state = next;
        }
        state
    }
}

/// An answer that has arrived.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Answer {
    pub async fn of(request: reqwest::RequestBuilder) -> Self {
        let (client, request) = request.build_split();
        let request = request.unwrap();
        let sent = secrets::sent(&request);
        let mut response = client.execute(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let text = if headers.get("content-type").is_some_and(|kind| kind == "text/event-stream") {
            // It has no end; what matters here is that it begins.
            String::from_utf8(response.chunk().await.unwrap().unwrap_or_default().to_vec()).unwrap()
        } else {
            response.text().await.unwrap()
        };
        secrets::answered(sent, status.is_success(), &text);
        Self { status, headers, text }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    /// The body of an answer that must have this status.
    #[track_caller]
    pub fn ok(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self.json()
    }

    /// The problem that this answer must be.
    #[track_caller]
    pub fn problem(self, status: u16, code: &str) -> Value {
        let problem = self.json();
        assert_eq!((self.status.as_u16(), problem["code"].as_str()), (status, Some(code)), "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("urn:mancala:problem:{code}"));
        assert!(problem["title"].is_string() && problem["detail"].is_string());
        problem
    }
}

/// The text that a field holds.
#[track_caller]
pub fn text(value: &Value) -> &str {
    value.as_str().expect("the field holds a text")
}

/// The number that a field holds.
#[track_caller]
pub fn number(value: &Value) -> u64 {
    value.as_u64().expect("the field holds a number")
}

/// One field of every seat of a game.
pub fn of_seats(game: &Value, field: &str) -> Vec<Value> {
    game["seats"].as_array().unwrap().iter().map(|seat| seat[field].clone()).collect()
}

/// Runs all of them at the same time; the answers in the order of the requests.
pub async fn at_once<T, F>(requests: impl IntoIterator<Item = F>) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let running: Vec<_> = requests.into_iter().map(tokio::spawn).collect();
    let mut answers = Vec::with_capacity(running.len());
    for answer in running {
        answers.push(answer.await.unwrap());
    }
    answers
}

/// Plays a game to its end in which the computer has some turns: its own seats', and those of people who resigned or
/// are left. `people` holds the players by seat.
pub async fn play_on(people: &[Player], game: &str, mut choose: impl FnMut(&[u64]) -> u64) -> Value {
    let mut state = people[0].game(game).await;
    while let Some(seat) = state["to_move"].as_u64() {
        let seat = usize::try_from(seat).unwrap();
        let holder = &state["seats"][seat];
        let gone = holder["computer"].is_string() || holder["left"] == true || holder["resigned"] == true;
        if gone {
            let seen = state["seq"].clone();
            state = people[0].until(game, |now| now["seq"] != seen).await;
        } else {
            let legal: Vec<u64> = state["legal"].as_array().unwrap().iter().map(number).collect();
            let played = people[seat].sow(game, choose(&legal), number(&state["seq"])).await.ok(200);
            state = played["game"].clone();
        }
    }
    state
}

/// Sends bytes as they are and returns all that the server answers until it closes. When nothing comes for long the server
/// is told that nothing more will be sent either.
pub async fn raw(server: &TestServer, request: &[u8]) -> String {
    raw_at(&server.address().to_string(), request).await
}

/// The same to a server that listens there.
pub async fn raw_at(address: &str, request: &[u8]) -> String {
    let mut connection = TcpStream::connect(address).await.unwrap();
    // The server may have refused before it has read everything.
    let _ = connection.write_all(request).await;
    let mut answer = Vec::new();
    let whole = connection.read_to_end(&mut answer);
    if tokio::time::timeout(Duration::from_secs(2), whole).await.is_err() {
        let _ = connection.shutdown().await;
        let _ = connection.read_to_end(&mut answer).await;
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Plays a game of people to its end, always the pit that `choose` picks of the legal ones.
pub async fn play_out(people: &[Player], game: &str, mut choose: impl FnMut(&[u64]) -> u64) -> Value {
    let mut state = people[0].game(game).await;
    while let Some(seat) = state["to_move"].as_u64() {
        let legal: Vec<u64> = state["legal"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        let mover = &people[usize::try_from(seat).unwrap()];
        let played = mover.sow(game, choose(&legal), state["seq"].as_u64().unwrap()).await.ok(200);
        state = played["game"].clone();
    }
    state
}
