//! How long signing in takes with a username that exists and with one that does not, with the wrong password both times:
//! who guesses must not learn from the time which usernames there are. Every name is tried once, since repeated attempts
//! with one are slowed down. The exit status is 1 unless the medians are within a tenth of each other.
//!
//! `cargo bench --bench sign_in`, or with `-- 50` for as many tries of each kind instead of 200.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

mod client;
#[path = "client/server.rs"]
mod server;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rand::seq::SliceRandom;
use serde_json::json;

use client::Client;
use server::Own;

const TRIES: usize = 200;

fn main() -> ExitCode {
    let tries = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(TRIES);
    let own = Own::start();
    let ratio = own.runtime.block_on(measure(own.server.address(), tries));
    own.stop();
    if (0.9..=1.1).contains(&ratio) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn measure(address: SocketAddr, tries: usize) -> f64 {
    let mut client = Client::new(address).await;
    for i in 0..tries {
        let new = json!({ "username": format!("known-{i}x"), "password": "seven pits, four stones" });
        client.ask("POST", "/v1/accounts", "", &new).await;
    }
    let mut names: Vec<(bool, usize)> = (0..tries).flat_map(|i| [(true, i), (false, i)]).collect();
    // Not in turn: two threads hash, and one that had all the known names might have the warmer memory.
    names.shuffle(&mut rand::rng());
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for (is_known, i) in names {
        let (name, took) = if is_known { ("known", &mut known) } else { ("guess", &mut unknown) };
        took.push(refused(&mut client, &format!("{name}-{i}x")).await);
    }
    let [known, unknown] = [known, unknown].map(|took| median(took).as_secs_f64() * 1e3);
    println!("{tries} wrong passwords each, median: known username {known:.3} ms, unknown {unknown:.3} ms");
    println!("known : unknown = {:.3}, wanted within 0.9 and 1.1", known / unknown);
    known / unknown
}

async fn refused(client: &mut Client, username: &str) -> Duration {
    let body = json!({ "username": username, "password": "six pits, five stones" }).to_string();
    let asked = Instant::now();
    let (status, _) = client.exchange("POST", "/v1/sessions", "", &body).await;
    assert_eq!(status, 401);
    asked.elapsed()
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took[took.len() / 2]
}
