//! Moves a second through the whole service (HTTP, load, check, one durable write), against what the same database does
//! for pgbench's BEGIN, SELECT, UPDATE, INSERT, COMMIT in the same run. What counts is the ratio: on one machine the
//! clients, the service and the database share the cores, as pgbench and the database do.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

mod client;
#[path = "client/server.rs"]
mod server;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mancala_server::embedded::Cluster;
use serde_json::{Value, json};

use client::Client;
use server::Own;

const CLIENTS: usize = 32;
const ROUNDS: usize = 3;
const ROUND: Duration = Duration::from_secs(4);

fn main() {
    let own = Own::start();
    let script = prepare_pgbench(&own.cluster, &own.home);
    let (mut moves, mut transactions) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        moves.push(own.runtime.block_on(moves_a_second(own.server.address())));
        transactions.push(pgbench(&own.cluster, &script));
        println!(
            "round {round}: {:.0} moves/s, pgbench {:.0} transactions/s",
            moves[round - 1],
            transactions[round - 1]
        );
    }
    let (moves, transactions) = (median(moves), median(transactions));
    println!(
        "median: {moves:.0} moves/s, pgbench {transactions:.0} transactions/s, ratio {:.2}",
        moves / transactions
    );
    own.stop();
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

async fn moves_a_second(address: SocketAddr) -> f64 {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = Client::new(address).await;
        let (mut tokens, group) = pair(&mut client).await;
        let (stop, count) = (stop.clone(), count.clone());
        clients.push(tokio::spawn(async move {
            let mut game = Value::Null;
            while !stop.load(Ordering::Relaxed) {
                let Some(seat) = game["to_move"].as_u64() else {
                    let path = format!("/v1/groups/{group}/games");
                    game = client.ask("POST", &path, &tokens[0], &json!({})).await;
                    continue;
                };
                let legal = game["legal"].as_array().expect("legal pits");
                let pit = &legal[legal.len() / 2];
                let path = format!("/v1/games/{}/moves", game["id"].as_str().expect("an id"));
                let body = json!({ "pit": pit, "seq": game["seq"] });
                let token = &mut tokens[usize::try_from(seat).expect("a seat")];
                game = client.ask("POST", &path, token, &body).await["game"].take();
                count.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (began, before) = (Instant::now(), count.load(Ordering::Relaxed));
    tokio::time::sleep(ROUND).await;
    let done = count.load(Ordering::Relaxed) - before;
    let took = began.elapsed();
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.expect("a client that does not fail");
    }
    f64::from(u32::try_from(done).expect("few enough")) / took.as_secs_f64()
}

/// Two guests in a group, the host first: their tokens and the group's id.
async fn pair(client: &mut Client) -> ([String; 2], String) {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut tokens = [String::new(), String::new()];
    for token in &mut tokens {
        *token = text(&client.ask("POST", "/v1/guests", "", &json!({})).await["access_token"]);
    }
    let group = client.ask("POST", "/v1/groups", &tokens[0], &json!({ "variant": "kalah" })).await;
    client.ask("POST", "/v1/groups/join", &tokens[1], &json!({ "code": group["code"] })).await;
    (tokens, text(&group["id"]))
}

fn prepare_pgbench(cluster: &Cluster, home: &Path) -> std::path::PathBuf {
    let tables = "create table g (id int primary key, seq int not null, board smallint[] not null);
        create table e (g int, seq int, pit smallint, at timestamptz default now(), primary key (g, seq));
        insert into g select n, 0, array_fill(4::smallint, array[14]) from generate_series(1, 1000) n;";
    let psql = Command::new(cluster.bin_dir().join("psql"))
        .arg(cluster.admin_url())
        .args(["-q", "-c", tables])
        .status();
    assert!(psql.expect("psql runs").success());
    let script = home.join("move.sql");
    let sql = "\\set id random(1, 1000)
begin;
select seq, board from g where id = :id for update \\gset
update g set seq = seq + 1, board = board where id = :id;
insert into e select :id, :seq + 1, 3;
commit;
";
    std::fs::write(&script, sql).expect("its own folder");
    script
}

fn pgbench(cluster: &Cluster, script: &Path) -> f64 {
    let output = Command::new(cluster.bin_dir().join("pgbench"))
        .args(["-n", "-M", "prepared", "-c", "12", "-j", "2", "-T", &ROUND.as_secs().to_string(), "-f"])
        .arg(script)
        .arg(cluster.admin_url())
        .output()
        .expect("pgbench runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let tps = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    tps.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}
