//! One PostgreSQL for the whole run (the server named by `DATABASE_URL`, else a private one), one database made from a
//! migrated template and one server for each test.

use std::net::TcpListener;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use mancala_server::account::SigningKeys;
use mancala_server::embedded::{Cluster, Durability};
use mancala_server::server::{Server, Settings, start};
use mancala_server::store;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, Executor};
use tokio::runtime::Runtime;

/// The key that signs the access tokens of every test server.
pub const KEY: &str = "dGVzdCBrZXkgb2YgdGhlIG1hbmNhbGEgdGVzdHMsIDMyIGJ5dGVz";

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static POSTGRES: LazyLock<Postgres> = LazyLock::new(Postgres::prepare);

/// Runs a test with a server and a database of its own.
pub fn test(body: impl AsyncFnOnce(&TestServer)) {
    RUNTIME.block_on(async {
        let server = TestServer::start(0).await;
        body(&server).await;
        server.stop().await;
    });
}

struct Postgres {
    admin: PgConnectOptions,
    service: PgConnectOptions,
    template: String,
}

static NEXT_DATABASE: AtomicU32 = AtomicU32::new(0);

impl Postgres {
    fn prepare() -> Self {
        let (admin, service) = match std::env::var("DATABASE_URL") {
            Ok(url) => {
                let options = PgConnectOptions::from_str(&url).unwrap();
                (options.clone(), options)
            }
            Err(_) => private_cluster(),
        };
        let template = format!("mancala_test_{}_template", std::process::id());
        let postgres = Self { admin, service, template };
        RUNTIME.handle().block_on(async {
            postgres.create(&postgres.template, "template0").await;
            let pool = store::connect(postgres.service.clone().database(&postgres.template)).await.unwrap();
            store::migrate(&pool).await.unwrap();
            pool.close().await;
        });
        postgres
    }

    async fn create(&self, name: &str, template: &str) {
        let mut admin = PgConnection::connect_with(&self.admin).await.unwrap();
        let owner = self.service.get_username();
        let sql = format!("create database {name} template {template} owner {owner}");
        admin.execute(sqlx::AssertSqlSafe(sql)).await.unwrap();
    }
}

/// A private cluster on a thread that never ends: the kernel stops the database when the thread that started it does.
fn private_cluster() -> (PgConnectOptions, PgConnectOptions) {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        forget_earlier_runs();
        let cluster = Cluster::start(&home(std::process::id()), Durability::None).unwrap();
        let parse = |url: &str| PgConnectOptions::from_str(url).unwrap();
        send.send((parse(cluster.admin_url()), parse(cluster.url()))).unwrap();
        loop {
            std::thread::park();
        }
    });
    receive.recv().expect("the private PostgreSQL must start")
}

fn home(process: u32) -> PathBuf {
    std::env::temp_dir().join(format!("mancala-tests-{process}"))
}

/// A test run ends without unwinding, so each one removes the folders of those that are no more.
fn forget_earlier_runs() {
    for entry in std::fs::read_dir(std::env::temp_dir()).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let process = name.strip_prefix("mancala-tests-").and_then(|id| id.parse::<i32>().ok());
        let ended = |id| nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), None).is_err();
        if process.is_some_and(ended) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// A server with a database of its own.
pub struct TestServer {
    server: Server,
    database: PgConnectOptions,
    client: Client,
}

impl TestServer {
    /// Starts one with this limit a minute for one address (0 is none).
    pub async fn start(address_limit: u32) -> Self {
        // Made on a thread of its own: it blocks, and waits for this runtime.
        tokio::task::spawn_blocking(|| LazyLock::force(&POSTGRES)).await.unwrap();
        let number = NEXT_DATABASE.fetch_add(1, Ordering::Relaxed);
        let name = format!("mancala_test_{}_{number}", std::process::id());
        POSTGRES.create(&name, &POSTGRES.template).await;
        Self::on(POSTGRES.service.clone().database(&name), address_limit).await
    }

    /// One more server process on the database of this one.
    pub async fn another(&self) -> Self {
        Self::on(self.database.clone(), 0).await
    }

    async fn on(database: PgConnectOptions, address_limit: u32) -> Self {
        let settings = Settings {
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
            database: database.clone(),
            keys: SigningKeys::parse(KEY).unwrap(),
            embedded: None,
            address_limit,
            cors_origins: Vec::new(),
        };
        let server = start(settings).await.unwrap();
        Self { server, database, client: Client::new() }
    }

    /// Stops the server; the database goes with the cluster, or stays for a look.
    pub async fn stop(self) {
        self.server.stop().await;
    }

    /// A connection to the server's database, for a look behind the service.
    pub async fn database(&self) -> PgConnection {
        PgConnection::connect_with(&self.database).await.unwrap()
    }

    /// The service itself, for what has no operation.
    pub fn service(&self) -> &mancala_server::service::Service {
        self.server.service()
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address())
    }

    /// A caller without a token.
    pub fn nobody(&self) -> Player {
        Player {
            id: String::new(),
            token: None,
            refresh: String::new(),
            base: self.url(""),
            client: self.client.clone(),
        }
    }

    /// A new guest.
    pub async fn guest(&self, name: &str) -> Player {
        let nobody = self.nobody();
        let made = nobody.post("/v1/guests", json!({ "name": name })).await.ok(201);
        let text = |field: &Value| field.as_str().unwrap().to_owned();
        Player {
            id: text(&made["player"]["id"]),
            token: Some(text(&made["access_token"])),
            refresh: text(&made["refresh_token"]),
            ..nobody
        }
    }

    /// Guests in a new group that have started its first game: the players in seat order, the group, the game.
    pub async fn group_game(&self, new_group: Value, players: usize) -> (Vec<Player>, Value, Value) {
        let host = self.guest("Player 0").await;
        let group = host.post("/v1/groups", new_group).await.ok(201);
        let mut people = vec![host];
        for i in 1..players {
            let player = self.guest(&format!("Player {i}")).await;
            player.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
            people.push(player);
        }
        let path = format!("/v1/groups/{}/games", group["id"].as_str().unwrap());
        let game = people[0].post(&path, json!({})).await.ok(201);
        (people, group, game)
    }
}

/// Somebody who calls the API.
#[derive(Clone)]
pub struct Player {
    pub id: String,
    pub token: Option<String>,
    pub refresh: String,
    base: String,
    client: Client,
}

impl Player {
    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, Some(body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PATCH, path, Some(body)).await
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

    /// Sows a pit.
    pub async fn sow(&self, game: &str, pit: u64, seq: u64) -> Answer {
        self.post(&format!("/v1/games/{game}/moves"), json!({ "pit": pit, "seq": seq })).await
    }

    /// The game as it is now.
    pub async fn game(&self, game: &str) -> Value {
        self.get(&format!("/v1/games/{game}")).await.ok(200)
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
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        Self { status, headers, text: response.text().await.unwrap() }
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
