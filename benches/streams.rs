//! What live streams cost: how long an event takes from its acknowledgement at one process to a reader at another, how much
//! memory and processor thousands of open streams take, and how many fewer moves a second there are when a thousand listen.
//!
//! `cargo bench --bench streams`, or of that only `-- latency`, `-- memory` or `-- listeners`. Servers are programs of their
//! own, so that what is measured is theirs; clients share the cores with them.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

mod client;

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mancala_server::embedded::{Cluster, Durability};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader as AsyncReader};
use tokio::net::TcpStream;
use tokio::time::sleep;

use client::Client;

/// Moves a second that are offered, and for how long.
const OFFERED: u64 = 500;
const OFFERED_FOR: Duration = Duration::from_secs(20);
/// Games that are played for that: each waits for the answer before its next move.
const GAMES: usize = 250;
/// Streams whose memory is measured, and for how long it is looked what they do when nothing happens.
const STREAMS: usize = 5_000;
const IDLE_FOR: Duration = Duration::from_secs(30);
/// Who listens while moves are counted, and who makes them.
const LISTENERS: usize = 1_000;
const MOVERS: usize = 32;
const ROUNDS: usize = 3;
/// Short enough that few games end meanwhile, and their listeners with them.
const ROUND: Duration = Duration::from_secs(3);

/// A server as a program.
struct Program {
    child: Child,
    address: SocketAddr,
}

/// A game of two guests.
#[derive(Clone)]
struct Table {
    group: String,
    tokens: [String; 2],
    game: Value,
}

/// When an event of a game was acknowledged, and when it was heard.
type Times = HashMap<(String, u64), [Option<Instant>; 2]>;

fn main() {
    let only = std::env::args().nth(1).filter(|argument| !argument.starts_with('-'));
    let home = std::env::temp_dir().join(format!("mancala-bench-{}", std::process::id()));
    let cluster = Cluster::start(&home, Durability::Full).expect("the private database starts");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    // Each stream is an open file on both sides.
    mancala_server::server::raise_open_files();
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if wanted("latency") {
        runtime.block_on(latency(&cluster));
    }
    if wanted("memory") {
        runtime.block_on(memory(&cluster));
    }
    if wanted("listeners") {
        runtime.block_on(listeners(&cluster));
    }
    drop(cluster);
    fs::remove_dir_all(&home).expect("its own folder");
}

impl Program {
    fn start(cluster: &Cluster) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mancala-server"))
            .args(["--listen", "127.0.0.1:0", "--address-limit", "0"])
            .env("MANCALA_LIMITS", "off")
            .env("MANCALA_LOG", "warn")
            .env("DATABASE_URL", cluster.url())
            .env("MANCALA_JWT_KEYS", "dGVzdCBrZXkgb2YgdGhlIG1hbmNhbGEgdGVzdHMsIDMyIGJ5dGVz")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut said = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let address = loop {
            let line = said.next().expect("it says where it listens").expect("text");
            if let Some(rest) = line.split("listens on http://").nth(1) {
                let address = rest.split([' ', '"']).next().expect("the address");
                break address.parse().expect("an address");
            }
        };
        // Whatever else it says is read, or it would wait for a reader.
        std::thread::spawn(move || said.for_each(drop));
        Self { child, address }
    }

    /// Kilobytes in memory.
    fn resident(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("Linux");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is there");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// Seconds of processor time so far.
    fn worked(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("Linux");
        let fields = stat.rsplit(") ").next().expect("fields").split(' ').skip(11).take(2);
        // A tick is a hundredth of a second on every Linux there is.
        fields.map(|ticks| ticks.parse::<f64>().expect("a number")).sum::<f64>() / 100.0
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A stream of lines of JSON that is being read.
struct Lines {
    stream: AsyncReader<TcpStream>,
    line: Vec<u8>,
}

impl Lines {
    /// Opens one as a spectator, or with a token.
    async fn open(address: SocketAddr, path: &str, token: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(address).await.expect("the server listens");
        let bearer = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: bench\r\nAccept: application/x-ndjson\r\n{bearer}\r\n");
        stream.write_all(request.as_bytes()).await.expect("an open connection");
        // Little room, for there may be thousands.
        let mut stream = AsyncReader::with_capacity(2_048, stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).await.expect("an answer");
        }
        Self { stream, line: Vec::new() }
    }

    /// The next message; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        while self.skip().await {
            // What frames a chunk of the transfer is no object.
            if let Ok(message @ Value::Object(_)) = serde_json::from_slice(&self.line) {
                return Some(message);
            }
        }
        None
    }

    /// Reads on by a line without looking at it; false at the end.
    async fn skip(&mut self) -> bool {
        self.line.clear();
        matches!(self.stream.read_until(b'\n', &mut self.line).await, Ok(1..))
    }
}

async fn tables(address: SocketAddr, count: usize) -> Vec<Table> {
    let mut client = Client::new(address).await;
    let mut tables = Vec::with_capacity(count);
    for _ in 0..count {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let mut tokens = [String::new(), String::new()];
        for token in &mut tokens {
            *token = text(&client.ask("POST", "/v1/guests", "", &json!({})).await["access_token"]);
        }
        let group = client.ask("POST", "/v1/groups", &tokens[0], &json!({ "variant": "kalah" })).await;
        client.ask("POST", "/v1/groups/join", &tokens[1], &json!({ "code": group["code"] })).await;
        let mut table = Table { group: text(&group["id"]), tokens, game: Value::Null };
        table.begin(&mut client).await;
        tables.push(table);
    }
    tables
}

impl Table {
    /// Begins the next game.
    async fn begin(&mut self, client: &mut Client) {
        let path = format!("/v1/groups/{}/games", self.group);
        self.game = client.ask("POST", &path, &self.tokens[0], &json!({})).await;
    }

    fn id(&self) -> String {
        self.game["id"].as_str().expect("an id").to_owned()
    }

    /// Makes the next move; false if the game is over.
    async fn sow(&mut self, client: &mut Client) -> bool {
        let Some(seat) = self.game["to_move"].as_u64() else { return false };
        let legal = self.game["legal"].as_array().expect("legal pits");
        let body = json!({ "pit": legal[legal.len() / 2], "seq": self.game["seq"] });
        let path = format!("/v1/games/{}/moves", self.id());
        let token = self.tokens[usize::try_from(seat).expect("a seat")].clone();
        self.game = client.ask("POST", &path, &token, &body).await["game"].take();
        true
    }

    fn events(&self) -> String {
        format!("/v1/games/{}/events", self.id())
    }

    async fn follow(&self, address: SocketAddr) -> Lines {
        Lines::open(address, &self.events(), None).await
    }
}

fn note(told: &Mutex<Times>, key: (String, u64), which: usize) {
    told.lock().expect("nobody panics").entry(key).or_insert([None; 2])[which] = Some(Instant::now());
}

/// Notes when each event of a game is heard.
async fn hear(table: &Table, address: SocketAddr, told: &Arc<Mutex<Times>>) {
    let (mut lines, game, told) = (table.follow(address).await, table.id(), told.clone());
    tokio::spawn(async move {
        while let Some(message) = lines.next().await {
            if let Some(seq) = message["seq"].as_u64() {
                note(&told, (game.clone(), seq), 1);
            }
        }
    });
}

async fn latency(cluster: &Cluster) {
    let (writer, reader) = (Program::start(cluster), Program::start(cluster));
    let tables = tables(writer.address, GAMES).await;
    let told: Arc<Mutex<Times>> = Arc::default();
    for table in &tables {
        hear(table, reader.address, &told).await;
    }
    let end = Instant::now() + OFFERED_FOR;
    let every =
        Duration::from_secs(1) * u32::try_from(GAMES).expect("few") / u32::try_from(OFFERED).expect("few");
    let mut playing = Vec::new();
    for (number, mut table) in tables.into_iter().enumerate() {
        let (told, address, reader) = (told.clone(), writer.address, reader.address);
        playing.push(tokio::spawn(async move {
            let mut client = Client::new(address).await;
            sleep(every * u32::try_from(number).expect("few") / u32::try_from(GAMES).expect("few")).await;
            let mut ticks = tokio::time::interval(every);
            while Instant::now() < end {
                ticks.tick().await;
                // A game that is over is followed by the next, or fewer moves would be offered.
                if !table.sow(&mut client).await {
                    table.begin(&mut client).await;
                    hear(&table, reader, &told).await;
                    table.sow(&mut client).await;
                }
                note(&told, (table.id(), table.game["seq"].as_u64().expect("a number")), 0);
            }
        }));
    }
    for game in playing {
        game.await.expect("a game that does not fail");
    }
    sleep(Duration::from_secs(1)).await;
    let told = told.lock().expect("nobody panics");
    let mut waits = Vec::new();
    let mut missing = 0;
    for times in told.values() {
        match times {
            [Some(acknowledged), Some(heard)] => {
                waits.push(heard.saturating_duration_since(*acknowledged).as_secs_f64() * 1e3);
            }
            _ => missing += 1,
        }
    }
    waits.sort_by(f64::total_cmp);
    println!(
        "latency: {OFFERED} moves/s offered on one process and {:.0} made, heard on another after: median {:.1} ms, p99 {:.1} ms, maximum {:.1} ms; {missing} not heard",
        told.len() as f64 / OFFERED_FOR.as_secs_f64(),
        waits[waits.len() / 2],
        waits[waits.len() * 99 / 100],
        waits[waits.len() - 1]
    );
}

async fn memory(cluster: &Cluster) {
    let kinds = ["games, by spectators", "games, by their players", "what concerns a player"];
    for (kind, what) in kinds.into_iter().enumerate() {
        let server = Program::start(cluster);
        let tables = tables(server.address, 100).await;
        let before = server.resident();
        let mut open = Vec::with_capacity(STREAMS);
        for number in 0..STREAMS {
            let table = &tables[number / 2 % tables.len()];
            let path = if kind == 2 { "/v1/me/events".to_owned() } else { table.events() };
            let token = (kind > 0).then_some(table.tokens[number % 2].as_str());
            let mut lines = Lines::open(server.address, &path, token).await;
            lines.next().await.expect("a heartbeat");
            open.push(lines);
        }
        let each = (server.resident() - before) / f64::from(u32::try_from(STREAMS).expect("few"));
        let worked = server.worked();
        sleep(IDLE_FOR).await;
        let idle = (server.worked() - worked) / IDLE_FOR.as_secs_f64() * 100.0;
        println!(
            "memory: {STREAMS} streams of {what}, {each:.1} kB each; idle they take {idle:.1} % of a core"
        );
    }
}

async fn listeners(cluster: &Cluster) {
    let server = Program::start(cluster);
    let mut tables = tables(server.address, LISTENERS / 2).await;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        begin_anew(server.address, &mut tables).await;
        without.push(moves_a_second(server.address, &mut tables).await);
        begin_anew(server.address, &mut tables).await;
        let heard = Arc::new(AtomicU64::new(0));
        let mut listening = Vec::new();
        for number in 0..LISTENERS {
            let mut lines = tables[number % tables.len()].follow(server.address).await;
            let heard = heard.clone();
            listening.push(tokio::spawn(async move {
                while lines.skip().await {
                    heard.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        sleep(Duration::from_millis(500)).await;
        let before = heard.load(Ordering::Relaxed);
        with.push(moves_a_second(server.address, &mut tables).await);
        println!(
            "round {}: {:.0} moves/s without, {:.0} with {LISTENERS} listeners, who heard {} messages",
            round + 1,
            without[round],
            with[round],
            heard.load(Ordering::Relaxed) - before
        );
        listening.iter().for_each(tokio::task::JoinHandle::abort);
        sleep(Duration::from_millis(500)).await;
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let (without, with) = (median(&mut without), median(&mut with));
    println!("listeners: {without:.0} moves/s without, {with:.0} with; ratio {:.2}", with / without);
}

/// Ends the games that run, and begins new ones: those who listen are to hear them for as long as they are played.
async fn begin_anew(address: SocketAddr, tables: &mut [Table]) {
    let mut client = Client::new(address).await;
    for table in tables {
        if table.game["to_move"].is_u64() {
            let path = format!("/v1/games/{}/resign", table.id());
            client.ask("POST", &path, &table.tokens[0], &json!({})).await;
        }
        table.begin(&mut client).await;
    }
}

/// Plays all games in turn, each of the movers its share of them.
async fn moves_a_second(address: SocketAddr, tables: &mut Vec<Table>) -> f64 {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut movers = Vec::new();
    let share = tables.len().div_ceil(MOVERS);
    for part in tables.chunks(share) {
        let (mut part, stop, count) = (part.to_vec(), stop.clone(), count.clone());
        movers.push(tokio::spawn(async move {
            let mut client = Client::new(address).await;
            while !stop.load(Ordering::Relaxed) {
                for table in &mut part {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    if table.sow(&mut client).await {
                        count.fetch_add(1, Ordering::Relaxed);
                    } else {
                        table.begin(&mut client).await;
                    }
                }
            }
            part
        }));
    }
    sleep(Duration::from_millis(500)).await;
    let (began, before) = (Instant::now(), count.load(Ordering::Relaxed));
    sleep(ROUND).await;
    let done = count.load(Ordering::Relaxed) - before;
    let took = began.elapsed();
    stop.store(true, Ordering::Relaxed);
    tables.clear();
    for mover in movers {
        tables.extend(mover.await.expect("a mover that does not fail"));
    }
    f64::from(u32::try_from(done).expect("few enough")) / took.as_secs_f64()
}
