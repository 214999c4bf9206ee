//! How long a page of the leaderboard and one's own rank take among 100,000 rated players, beside reading a game. All are
//! asked in turn over HTTP by the same clients in the same run: what counts are the ratios.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

mod client;
#[path = "client/server.rs"]
mod server;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mancala_server::ids::SessionId;
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use time::OffsetDateTime;
use uuid::Uuid;

use client::Client;
use server::Own;

const PLAYERS: i32 = 100_000;
const MEASURE: Duration = Duration::from_secs(12);

/// Ratings from 900 to 2100, all on the leaderboard; the first of the returned players has rank 100, the second
/// rank 90,000.
const RATED: &str = "with new as (
        insert into player (id, kind, name) select gen_random_uuid(), 'guest', n from generate_series(1, $1) n
        returning id, name)
    insert into rating (player_id, pool, rating, deviation, games, changes, opponents, listed_until)
    select id, 'kalah-2', 2100 - 1200.0 * name::integer / $1, 70, 20, 20, 10, now() + interval '20 days' from new";

fn main() {
    let own = Own::start();
    own.runtime.block_on(measure(own.server.address(), &server::database(&own.cluster)));
    own.stop();
}

async fn measure(address: SocketAddr, database: &PgConnectOptions) {
    let began = Instant::now();
    let (good, low) = rate(database).await;
    let mut client = Client::new(address).await;
    let guest = client.ask("POST", "/v1/guests", "", &json!({})).await;
    let token = guest["access_token"].as_str().expect("a token").to_owned();
    let new = json!({ "variant": "kalah", "computers": ["easy"], "starter": "me" });
    let game = client.ask("POST", "/v1/games", &token, &new).await;
    let deep = cursor_after(&mut client, 90_000).await;
    println!("{PLAYERS} rated players after {:.1} s", began.elapsed().as_secs_f64());
    let board = "/v1/leaderboards/kalah-2";
    let asked = [
        ("a game", format!("/v1/games/{}", game["id"].as_str().expect("an id")), token),
        ("the first page", board.to_owned(), String::new()),
        ("a page after rank 90,000", format!("{board}?cursor={deep}"), String::new()),
        ("me, at rank 100", format!("{board}/me"), good),
        ("me, at rank 90,000", format!("{board}/me"), low),
    ];
    let mut took: Vec<Vec<Duration>> = vec![Vec::new(); asked.len()];
    let began = Instant::now();
    while began.elapsed() < MEASURE {
        for ((_, path, token), took) in asked.iter().zip(&mut took) {
            let asked = Instant::now();
            client.send("GET", path, token, "").await;
            took.push(asked.elapsed());
        }
    }
    let (mut p50, mut p99) = (Vec::new(), Vec::new());
    for took in &mut took {
        took.sort_unstable();
        p50.push(took[took.len() / 2].as_secs_f64() * 1e3);
        p99.push(took[took.len() * 99 / 100].as_secs_f64() * 1e3);
    }
    println!("{} requests of each kind, in ms, and beside reading a game:", took[0].len());
    for (i, (what, ..)) in asked.iter().enumerate() {
        println!(
            "{what:26} p50 {:7.3} ({:5.2}×)   p99 {:7.3} ({:5.2}×)",
            p50[i],
            p50[i] / p50[0],
            p99[i],
            p99[i] / p99[0]
        );
    }
}

/// Makes the players; access tokens of the one with rank 100 and the one with rank 90,000.
async fn rate(database: &PgConnectOptions) -> (String, String) {
    let mut database = PgConnection::connect_with(database).await.expect("the database answers");
    sqlx::query(RATED).bind(PLAYERS).execute(&mut database).await.expect("a migrated database");
    sqlx::query("vacuum analyze rating").execute(&mut database).await.expect("its own table");
    let keys = server::keys();
    let mut tokens = Vec::new();
    for rank in ["100", "90000"] {
        let player: Uuid = sqlx::query_scalar("select id from player where name = $1")
            .bind(rank)
            .fetch_one(&mut database)
            .await
            .expect("it has just been made");
        tokens.push(keys.issue(player.into(), SessionId::new(), OffsetDateTime::now_utc()));
    }
    let low = tokens.pop().expect("two");
    (tokens.pop().expect("two"), low)
}

/// The cursor of the page that begins after so many players.
async fn cursor_after(client: &mut Client, players: usize) -> String {
    let (mut seen, mut path) = (0, "/v1/leaderboards/kalah-2".to_owned());
    loop {
        let page = client.ask("GET", &path, "", &Value::Null).await;
        seen += page["items"].as_array().map_or(0, Vec::len);
        let next = page["next"].as_str().expect("there are more");
        if seen >= players {
            return next.to_owned();
        }
        path = format!("/v1/leaderboards/kalah-2?cursor={next}");
    }
}
