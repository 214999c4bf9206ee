//! Twenty games against `hard` at once: how long each computer turn takes, from the acknowledged move of the player to the
//! state in which it is the player's turn again, and what that does to somebody who only reads a game.
//!
//! `cargo bench --bench thinking`. Reading is measured in turn with and without the twenty, so what counts is the ratio;
//! clients, server and database share the cores.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

mod client;
#[path = "client/server.rs"]
mod server;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

use client::Client;
use server::Own;

const GAMES: u64 = 20;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(30);
/// Between two reads of a game.
const PACE: Duration = Duration::from_millis(5);

fn main() {
    let own = Own::start();
    own.runtime.block_on(measure(own.server.address()));
    own.stop();
}

async fn measure(address: SocketAddr) {
    let (mut turns, mut ratios) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let idle = percentile(&mut reads(address).await, 99);
        let stop = Arc::new(AtomicBool::new(false));
        let players: Vec<_> =
            (0..GAMES).map(|seed| tokio::spawn(play(address, seed, stop.clone()))).collect();
        tokio::time::sleep(Duration::from_secs(2)).await;
        let busy = percentile(&mut reads(address).await, 99);
        stop.store(true, Ordering::Relaxed);
        for player in players {
            turns.extend(player.await.expect("a player that does not fail"));
        }
        ratios.push(busy / idle);
        println!(
            "round {round}: p99 of reading a game idle {idle:.2} ms, busy {busy:.2} ms, ratio {:.2}",
            busy / idle
        );
    }
    ratios.sort_unstable_by(f64::total_cmp);
    println!("median of the ratios: {:.2}", ratios[ROUNDS / 2]);
    let late = turns.iter().filter(|&&took| took > Duration::from_secs(3)).count();
    let [p50, p99, slowest] = [50, 99, 100].map(|percent| percentile(&mut turns, percent));
    println!(
        "{} computer turns: p50 {p50:.0} ms, p99 {p99:.0} ms, slowest {slowest:.0} ms, {late} over 3 s",
        turns.len()
    );
}

/// In milliseconds.
fn percentile(took: &mut [Duration], percent: usize) -> f64 {
    took.sort_unstable();
    took[(took.len() * percent / 100).min(took.len() - 1)].as_secs_f64() * 1e3
}

/// A new guest and their game against `hard`, in which they begin.
async fn begin(client: &mut Client) -> (String, Value) {
    let guest = client.ask("POST", "/v1/guests", "", &json!({})).await;
    let token = guest["access_token"].as_str().expect("a token").to_owned();
    let game = another(client, &token).await;
    (token, game)
}

async fn another(client: &mut Client, token: &str) -> Value {
    let new = json!({ "variant": "kalah", "computers": ["hard"], "starter": "me" });
    client.ask("POST", "/v1/games", token, &new).await
}

fn path(game: &Value) -> String {
    format!("/v1/games/{}", game["id"].as_str().expect("an id"))
}

/// How long it takes to read a game in which nothing happens, for the time of a round.
async fn reads(address: SocketAddr) -> Vec<Duration> {
    let mut client = Client::new(address).await;
    let (token, game) = begin(&mut client).await;
    let (path, began, mut took) = (path(&game), Instant::now(), Vec::new());
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while began.elapsed() < ROUND {
        pace.tick().await;
        let asked = Instant::now();
        client.send("GET", &path, &token, "").await;
        took.push(asked.elapsed());
    }
    took
}

/// Plays at random, one game after the other: how long each turn of the computer took.
async fn play(address: SocketAddr, seed: u64, stop: Arc<AtomicBool>) -> Vec<Duration> {
    let mut client = Client::new(address).await;
    let (token, mut game) = begin(&mut client).await;
    let (mut me, mut chance, mut turns) =
        (game["to_move"].clone(), Pcg64Mcg::seed_from_u64(seed), Vec::new());
    while !stop.load(Ordering::Relaxed) {
        if game["status"] != "running" {
            game = another(&mut client, &token).await;
            me = game["to_move"].clone();
        }
        let legal = game["legal"].as_array().expect("legal pits");
        let body = json!({ "pit": legal[chance.random_range(0..legal.len())], "seq": game["seq"] });
        let moves = format!("{}/moves", path(&game));
        game = client.ask("POST", &moves, &token, &body).await["game"].take();
        let asked = Instant::now();
        let waited = game["to_move"] != me && game["status"] == "running";
        while game["to_move"] != me && game["status"] == "running" {
            let next = format!("{}?after_seq={}&wait=25", path(&game), game["seq"]);
            game = client.ask("GET", &next, &token, &Value::Null).await;
        }
        if waited {
            turns.push(asked.elapsed());
        }
    }
    turns
}
