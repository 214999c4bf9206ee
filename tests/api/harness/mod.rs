//! One PostgreSQL for the whole run (the server named by `DATABASE_URL`, else a private one), one database made from a
//! migrated template and one server for each test.

mod client;
mod program;
mod ranked;
mod secrets;
mod stream;

pub use client::{Answer, PASSWORD, Player, at_once, number, of_seats, play_on, play_out, raw, raw_at, text};
pub use program::Program;
pub use ranked::Table;
pub use stream::Stream;

use std::net::TcpListener;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use mancala_server::account::{Cost, SigningKeys};
use mancala_server::embedded::{Cluster, Durability};
use mancala_server::server::{Server, Settings, Transport, start};
use mancala_server::store;
use reqwest::Client;
use serde_json::{Value, json};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, Executor};
use tokio::runtime::Runtime;

/// The key that signs the access tokens of every test server.
pub const KEY: &str = "dGVzdCBrZXkgb2YgdGhlIG1hbmNhbGEgdGVzdHMsIDMyIGJ5dGVz";

/// What a password costs in tests: next to nothing, which the command line would refuse.
pub fn cheap() -> Cost {
    Cost::new(64, 1, 1).unwrap()
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static POSTGRES: LazyLock<Postgres> = LazyLock::new(Postgres::prepare);

/// Runs a test with a server and a database of its own.
pub fn test(body: impl AsyncFnOnce(&TestServer)) {
    RUNTIME.block_on(async {
        let server = TestServer::start(0).await;
        body(&server).await;
        let name = server.database.get_database().unwrap().to_owned();
        server.stop().await;
        // What a failed test leaves behind stays for a look.
        POSTGRES.remove(&name).await;
    });
}

/// Runs a test that starts and stops its own servers.
pub fn run(body: impl AsyncFnOnce()) {
    RUNTIME.block_on(body());
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
            let service = postgres.service.clone().database(&postgres.template);
            store::migrate(&service).await.unwrap();
        });
        postgres
    }

    async fn create(&self, name: &str, template: &str) {
        let mut admin = PgConnection::connect_with(&self.admin).await.unwrap();
        let owner = self.service.get_username();
        let sql = format!("create database {name} template {template} owner {owner}");
        admin.execute(sqlx::AssertSqlSafe(sql)).await.unwrap();
    }

    /// Hundreds of databases are more than the next run removes in passing.
    async fn remove(&self, name: &str) {
        let mut admin = PgConnection::connect_with(&self.admin).await.unwrap();
        let sql = format!("drop database {name} with (force)");
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
        Self::on_with(Self::new_database().await, address_limit, KEY).await
    }

    async fn new_database() -> PgConnectOptions {
        Self::database_like(|postgres| &postgres.template).await
    }

    /// A database without any tables.
    pub async fn empty_database() -> PgConnectOptions {
        Self::database_like(|_| "template0").await
    }

    async fn database_like(template: fn(&Postgres) -> &str) -> PgConnectOptions {
        // Made on a thread of its own: it blocks, and waits for this runtime.
        tokio::task::spawn_blocking(|| LazyLock::force(&POSTGRES)).await.unwrap();
        let number = NEXT_DATABASE.fetch_add(1, Ordering::Relaxed);
        let name = format!("mancala_test_{}_{number}", std::process::id());
        POSTGRES.create(&name, template(&POSTGRES)).await;
        POSTGRES.service.clone().database(&name)
    }

    /// One more server process on the database of this one.
    pub async fn another(&self) -> Self {
        self.another_with(0, KEY).await
    }

    /// One more, with this limit a minute for one address and these signing keys.
    pub async fn another_with(&self, address_limit: u32, keys: &str) -> Self {
        Self::on_with(self.database.clone(), address_limit, keys).await
    }

    /// One more, with other settings.
    pub async fn another_as(&self, change: impl FnOnce(&mut Settings)) -> Self {
        Self::on_as(self.database.clone(), KEY, change).await
    }

    /// One more, where passwords cost this much.
    pub async fn another_at_cost(&self, password_cost: Cost) -> Self {
        self.another_as(|settings| settings.password_cost = password_cost).await
    }

    /// A server on a database that has been made already.
    pub async fn on(database: PgConnectOptions) -> Self {
        Self::on_with(database, 0, KEY).await
    }

    /// A server that is spoken with in another way.
    pub async fn spoken_with(transport: Transport) -> Self {
        Self::on_as(Self::new_database().await, KEY, |settings| settings.transport = transport).await
    }

    async fn on_with(database: PgConnectOptions, address_limit: u32, keys: &str) -> Self {
        Self::on_as(database, keys, |settings| settings.address_limit = address_limit).await
    }

    async fn on_as(database: PgConnectOptions, keys: &str, change: impl FnOnce(&mut Settings)) -> Self {
        secrets::listen();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let keys = SigningKeys::parse(keys).unwrap();
        let mut settings = Settings::unlimited(listener, database.clone(), keys);
        settings.password_cost = cheap();
        change(&mut settings);
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

    /// How the database of this server is reached.
    pub fn database_options(&self) -> &PgConnectOptions {
        &self.database
    }

    /// Everything in the database that only requests change, so that two looks can be compared.
    pub async fn everything(&self) -> String {
        let mut database = self.database().await;
        let tables = "select tablename::text from pg_tables where schemaname = 'public' and tablename not in ('heartbeat', 'heard', 'process', 'connected') order by 1";
        let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut database).await.unwrap();
        let mut everything = String::new();
        for table in tables {
            let sql =
                format!("select coalesce(string_agg(t::text, chr(10) order by t::text), '') from {table} t");
            let rows: String =
                sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&mut database).await.unwrap();
            everything += &format!("{table}: {rows}\n");
        }
        everything
    }

    /// Where it listens, for requests that no client library would send.
    pub fn address(&self) -> std::net::SocketAddr {
        self.server.address()
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
        Player::nobody(self.url(""), self.client.clone())
    }

    /// A new guest.
    pub async fn guest(&self, name: &str) -> Player {
        let nobody = self.nobody();
        let made = nobody.post("/v1/guests", json!({ "name": name })).await.ok(201);
        nobody.signed_in(&made)
    }

    /// A new account with the password [`PASSWORD`].
    pub async fn account(&self, username: &str) -> Player {
        let nobody = self.nobody();
        let new = json!({ "username": username, "password": PASSWORD, "device": "first" });
        let made = nobody.post("/v1/accounts", new).await.ok(201);
        nobody.signed_in(&made)
    }

    /// The guest as the account that it becomes.
    pub async fn becomes_account(&self, guest: &Player) -> Player {
        let username = format!("user-{}", &guest.id[24..]);
        guest.signed_in(&guest.via(self).register(&username).await.ok(201))
    }

    /// A new account with this display name.
    pub async fn account_named(&self, name: &str) -> Player {
        self.becomes_account(&self.guest(name).await).await
    }

    /// A new bot.
    pub async fn bot(&self, name: &str) -> Player {
        let bot = self.account_named(name).await;
        bot.put("/v1/me/bot", json!({})).await.ok(200);
        bot
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
