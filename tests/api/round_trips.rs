//! How often a move speaks to the database: counted on the wire between the two.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::harness::{Player, TestServer, at_once, number, test, text};

/// What every round trip asked, in order: the statements up to one Sync, or one simple query. By the number of its
/// connection.
type Trips = Arc<Mutex<Vec<(usize, String)>>>;

/// Listens where the service believes the database to be, passes everything on, and notes the round trips.
pub struct Proxy {
    pub options: PgConnectOptions,
    trips: Trips,
}

impl Proxy {
    pub async fn start(database: &PgConnectOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let trips = Trips::default();
        let (target, noted) = (database.clone(), trips.clone());
        tokio::spawn(async move {
            for number in 0.. {
                let Ok((client, _)) = listener.accept().await else { break };
                let (target, noted) = (target.clone(), noted.clone());
                tokio::spawn(async move {
                    match target.get_socket() {
                        Some(folder) => {
                            let socket = folder.join(format!(".s.PGSQL.{}", target.get_port()));
                            pass(client, UnixStream::connect(socket).await.unwrap(), number, &noted).await;
                        }
                        None => {
                            let address = (target.get_host(), target.get_port());
                            pass(client, TcpStream::connect(address).await.unwrap(), number, &noted).await;
                        }
                    }
                });
            }
        });
        // Everything but the way stays: the user, the password, the database.
        let mut url = reqwest::Url::parse(sqlx::ConnectOptions::to_url_lossy(database).as_str()).unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(port)).unwrap();
        url.set_query(None);
        let options: PgConnectOptions = url.as_str().parse().unwrap();
        Self { options: options.ssl_mode(PgSslMode::Disable), trips }
    }

    /// All round trips since the last call.
    pub fn all_taken(&self) -> Vec<String> {
        self.noted().into_iter().map(|(_, trip)| trip).collect()
    }

    /// The same of each connection.
    pub fn all_taken_by_connection(&self) -> Vec<Vec<String>> {
        let mut connections: HashMap<usize, Vec<String>> = HashMap::new();
        for (connection, trip) in self.noted() {
            connections.entry(connection).or_default().push(trip);
        }
        connections.into_values().collect()
    }

    fn noted(&self) -> Vec<(usize, String)> {
        std::mem::take(&mut *self.trips.lock().unwrap())
    }

    /// The round trips since the last call, without those of the loops in the background.
    pub fn taken(&self) -> Vec<String> {
        let trips = self.all_taken();
        let background = [
            "heartbeat",
            "from process",
            "connected",
            "pg_notify",
            "into heard",
            "from due",
            "update due",
            "from ticket",
            "from session",
        ];
        trips.into_iter().filter(|trip| !background.iter().any(|word| trip.contains(word))).collect()
    }
}

async fn pass<S: AsyncRead + AsyncWrite>(client: TcpStream, server: S, number: usize, trips: &Trips) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let upwards = async {
        let mut reader = Frontend { number, ..Frontend::default() };
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(size @ 1..) = from_client.read(&mut buffer).await {
            reader.read(&buffer[..size], trips);
            if to_server.write_all(&buffer[..size]).await.is_err() {
                break;
            }
        }
        let _ = to_server.shutdown().await;
    };
    let downwards = async {
        let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
        let _ = to_client.shutdown().await;
    };
    tokio::join!(upwards, downwards);
}

/// The client's side of one connection, as far as round trips need it (PostgreSQL, "Message Formats").
#[derive(Default)]
struct Frontend {
    number: usize,
    unread: Vec<u8>,
    started: bool,
    prepared: HashMap<String, String>,
    bound: String,
    asked: Vec<String>,
    last: String,
}

impl Frontend {
    fn read(&mut self, bytes: &[u8], trips: &Trips) {
        self.unread.extend_from_slice(bytes);
        loop {
            // The first message has no type.
            let head = usize::from(self.started);
            let Some(length) = self.unread.get(head..head + 4) else { return };
            let end = head + u32::from_be_bytes(length.try_into().unwrap()) as usize;
            if self.unread.len() < end {
                return;
            }
            let message: Vec<u8> = self.unread.drain(..end).collect();
            if std::mem::replace(&mut self.started, true) {
                self.message(message[0], &message[5..], trips);
            }
        }
    }

    fn message(&mut self, kind: u8, body: &[u8], trips: &Trips) {
        let mut texts = body.split(|&byte| byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
        let mut text = || texts.next().unwrap_or_default();
        match kind {
            b'P' => {
                let (name, sql) = (text(), text());
                self.asked.push(format!("prepare {sql}"));
                self.prepared.insert(name, sql);
            }
            b'B' => {
                let (_portal, name) = (text(), text());
                self.bound = self.prepared.get(&name).cloned().unwrap_or_default();
            }
            b'E' => self.asked.push(self.bound.clone()),
            b'Q' => trips.lock().unwrap().push((self.number, text())),
            b'S' => {
                let asked = std::mem::take(&mut self.asked).join("; ");
                let trip =
                    if asked.is_empty() { format!("nothing, after {}", self.last) } else { asked.clone() };
                self.last = asked;
                trips.lock().unwrap().push((self.number, trip));
            }
            _ => {}
        }
    }
}

fn middle(state: &Value) -> u64 {
    let legal = state["legal"].as_array().unwrap();
    number(&legal[legal.len() / 2])
}

/// Plays a game of two to its end, at most `moves` of them; how many there were.
async fn play(people: Vec<Player>, game: String, moves: usize) -> usize {
    let mut state = people[0].game(&game).await;
    for played in 0..moves {
        let Some(seat) = state["to_move"].as_u64() else { return played };
        let mover = &people[usize::try_from(seat).unwrap()];
        let answer = mover.sow(&game, middle(&state), number(&state["seq"])).await.ok(200);
        state = answer["game"].clone();
    }
    moves
}

/// The round trips of twenty moves, when every connection is open and knows the statements.
async fn of_twenty_moves(server: &TestServer) -> Vec<String> {
    let proxy = Proxy::start(server.database_options()).await;
    let through = TestServer::on(proxy.options.clone()).await;
    // Long games, played from the middle of the side.
    let kind = json!({ "variant": "kalah", "options": { "stones": 6 } });
    for round in 0.. {
        let mut games = Vec::new();
        for _ in 0..24 {
            let (people, _, game) = through.group_game(kind.clone(), 2).await;
            games.push((people, text(&game["id"]).to_owned()));
        }
        let before = proxy.taken().len();
        at_once(games.into_iter().map(|(people, game)| play(people, game, 12))).await;
        let new = proxy.taken();
        assert!(before > 0 && !new.is_empty(), "the proxy sees what is asked");
        if !new.iter().any(|trip| trip.starts_with("prepare")) {
            break;
        }
        assert!(round < 20, "statements are prepared anew all the time");
    }
    let (people, _, game) = through.group_game(kind, 2).await;
    let id = text(&game["id"]).to_owned();
    let mut state = game;
    // What the group's requests left behind must have come through before the count begins.
    people[0].game(&id).await;
    through.service().is_ready().await.unwrap();
    proxy.taken();
    for _ in 0..20 {
        let mover = &people[usize::try_from(number(&state["to_move"])).unwrap()];
        let answer = mover.sow(&id, middle(&state), number(&state["seq"])).await.ok(200);
        state = answer["game"].clone();
    }
    let trips = proxy.taken();
    through.stop().await;
    trips
}

#[test]
fn a_move_is_two_statements_load_and_write() {
    test(async |server| {
        let trips = of_twenty_moves(server).await;
        let asked: Vec<&str> =
            trips.iter().map(String::as_str).filter(|trip| !trip.starts_with("nothing")).collect();
        assert_eq!(asked.len(), 2 * 20, "{asked:#?}");
        for pair in asked.chunks(2) {
            assert!(pair[0].starts_with("select g.id"), "{}", pair[0]);
            assert!(
                pair[1].contains("update game") && pair[1].contains("insert into game_event"),
                "{}",
                pair[1]
            );
        }
    });
}

#[test]
fn a_move_has_no_round_trip_besides_its_statements() {
    test(async |server| {
        let trips = of_twenty_moves(server).await;
        let bare: Vec<&String> = trips.iter().filter(|trip| trip.starts_with("nothing")).collect();
        assert!(
            bare.len() <= 1,
            "{} round trips without a statement in 20 moves: {:#?}",
            bare.len(),
            bare[0]
        );
    });
}
