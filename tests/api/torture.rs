//! Whatever breaks: every reader ends with exactly the events of the log, in order, each once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::harness::{Player, Program, Stream, TestServer, number, run, test, text};
use crate::streams::events;

/// Reads a game from the start to its end, over connections that it drops at random moments, at either server.
async fn read(people: Vec<Player>, game: String, seed: u64) -> Vec<Value> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut told: Vec<Value> = Vec::new();
    loop {
        let reader = &people[rng.random_range(0..people.len())];
        let last = told.last().map_or(0, |event| number(&event["seq"]));
        let request = reader.request(Method::GET, &events(&game)).header("Last-Event-ID", last);
        // One of the servers may be gone at the moment.
        let Ok(Ok(response)) = timeout(Duration::from_secs(5), request.send()).await else {
            sleep(Duration::from_millis(20)).await;
            continue;
        };
        if response.status() == 204 {
            return told;
        }
        let Some(mut stream) = Stream::of(response) else { continue };
        let patience = rng.random_range(1..12_u32);
        for _ in 0..patience {
            match stream.next().await {
                Some(message) if message.id.is_some() => {
                    let ends = message.data["ends"].is_object();
                    told.push(message.data);
                    if ends {
                        return told;
                    }
                }
                Some(_) => {}
                None => break,
            }
        }
    }
}

/// Plays a game to its end at either server.
async fn play(people: Vec<Vec<Player>>, game: String, seed: u64) {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut state = Value::Null;
    loop {
        let at = rng.random_range(0..people.len());
        if state.is_null() {
            let path = format!("/v1/games/{game}");
            match people[at][0].request(Method::GET, &path).send().await {
                Ok(answer) if answer.status() == 200 => state = answer.json().await.unwrap_or_default(),
                _ => sleep(Duration::from_millis(20)).await,
            }
            continue;
        }
        let Some(seat) = state["to_move"].as_u64() else { return };
        let mover = &people[at][usize::try_from(seat).unwrap()];
        let legal = state["legal"].as_array().unwrap();
        let pit = &legal[rng.random_range(0..legal.len())];
        let body = json!({ "pit": pit, "seq": state["seq"] });
        let path = format!("/v1/games/{game}/moves");
        let sent = mover.request(Method::POST, &path).json(&body).send().await;
        state = match sent {
            Ok(answer) if answer.status() == 200 => {
                answer.json::<Value>().await.map(|mut played| played["game"].take()).unwrap_or_default()
            }
            _ => Value::Null,
        };
        sleep(Duration::from_millis(rng.random_range(0..20))).await;
    }
}

/// Games on two processes, of which one is killed and started again and again. How many events were told to readers.
async fn torture(games: u64, seed: u64) -> u64 {
    let server = TestServer::start(0).await;
    let mut other = Program::on(&server, "127.0.0.1:0", "error");
    let url = other.url.clone();
    let listen = url.trim_start_matches("http://").to_owned();
    let (mut players, mut readers) = (Vec::new(), Vec::new());
    for number in 0..games {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let id = text(&game["id"]).to_owned();
        let here: Vec<Player> = people.clone();
        let there: Vec<Player> = people.iter().map(|person| person.at(url.clone())).collect();
        let everywhere = [here.clone(), there.clone()].concat();
        for reader in 0..2 {
            let seed = seed + number * 10 + reader;
            readers.push((id.clone(), tokio::spawn(read(everywhere.clone(), id.clone(), seed))));
        }
        players.push(tokio::spawn(play(vec![here, there], id, seed + number * 10 + 5)));
    }
    let over = Arc::new(AtomicBool::new(false));
    let cut = tokio::spawn(cut_listeners(server.database().await, over.clone()));
    while !players.iter().all(tokio::task::JoinHandle::is_finished) {
        sleep(Duration::from_millis(700)).await;
        drop(other);
        other = Program::on(&server, &listen, "error");
    }
    for player in players {
        player.await.unwrap();
    }
    let anybody = server.nobody();
    let mut events = 0;
    for (game, reader) in readers {
        let told = timeout(Duration::from_secs(60), reader).await.expect("nobody waits for ever").unwrap();
        let log = anybody.followed(&crate::streams::events(&game)).await;
        let timeless = |events: &[Value]| {
            let mut events = events.to_vec();
            events.iter_mut().for_each(|event| event["server_time"] = Value::Null);
            events
        };
        assert_eq!(timeless(&told), timeless(&log), "game {game}");
        events += u64::try_from(told.len()).unwrap();
    }
    over.store(true, Ordering::Relaxed);
    assert!(cut.await.unwrap() > 0, "somebody was cut off");
    other.end();
    server.stop().await;
    events
}

/// Ends the connections by which servers hear of each other, from the database's side, again and again.
/// How many it were.
async fn cut_listeners(mut database: sqlx::PgConnection, over: Arc<AtomicBool>) -> i64 {
    let mut cut = 0;
    while !over.load(Ordering::Relaxed) {
        let sql = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                   where datname = current_database() and query ilike 'listen %'";
        cut += sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut database).await.unwrap();
        sleep(Duration::from_millis(900)).await;
    }
    cut
}

#[test]
fn readers_miss_nothing_and_repeat_nothing() {
    run(async || {
        let events = torture(6, 1).await;
        assert!(events > 200, "{events}");
    });
}

#[test]
#[ignore = "takes minutes: the numbers of the contract, run by hand"]
fn readers_miss_nothing_in_twenty_thousand_events() {
    run(async || {
        let mut events = 0;
        let mut seed = 1_000;
        while events < 20_000 {
            events += torture(50, seed).await;
            seed += 1_000;
        }
    });
}

#[test]
fn a_notification_is_a_statement_of_its_own() {
    test(async |server| {
        let proxy = crate::round_trips::Proxy::start(server.database_options()).await;
        let watched = TestServer::on(proxy.options.clone()).await;
        let (people, _, game) = watched.group_game(json!({ "variant": "kalah" }), 2).await;
        let id = text(&game["id"]);
        let other = server.another().await;
        let mut stream = people[0].via(&other).follow(&events(id)).await;
        crate::streams::play(&people, id, 5).await;
        while stream.next().await.unwrap().id != Some(5) {}
        let trips = proxy.all_taken_by_connection();
        let notifying: Vec<&Vec<String>> =
            trips.iter().filter(|trips| trips.iter().any(|trip| trip.contains("pg_notify"))).collect();
        assert!(!notifying.is_empty(), "the other process was told");
        // A connection that never does anything else has no transaction to notify in.
        for trip in notifying.into_iter().flatten() {
            let trip = trip.to_lowercase();
            let writes = ["begin", "insert", "update", "delete"].iter().any(|word| trip.contains(word));
            assert!(!writes, "{trip}");
        }
        other.stop().await;
        watched.stop().await;
    });
}
