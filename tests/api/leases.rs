//! Work that is kept from other processes for a while: played once, and not lost with the process that held it.

use std::sync::Arc;
use std::time::Duration;

use mancala_server::account::SigningKeys;
use mancala_server::cpu::Memory;
use mancala_server::service::Service;
use mancala_server::store::Database;
use mancala_server::telemetry::Metrics;
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio_util::sync::CancellationToken;

use crate::harness::{KEY, Player, TestServer, at_once, cheap, number, play_on, run, test, text};

async fn solo(player: &Player, level: &str, starter: &str) -> Value {
    let new =
        json!({ "variant": "kalah", "computers": [level], "starter": starter, "options": { "stones": 6 } });
    player.post("/v1/games", new).await.ok(201)
}

/// A game whose first turn, a computer's, a server has left behind that was stopped while it thought: that server's
/// player, the game, a connection to the database and how it is reached. Nobody holds the turn.
async fn owed() -> (Player, String, PgConnection, PgConnectOptions) {
    loop {
        let stopped = TestServer::start(0).await;
        let player = stopped.guest("Ana").await;
        let game = solo(&player, "hard", "computer").await;
        let options = stopped.database_options().clone();
        stopped.stop().await;
        let mut database = PgConnection::connect_with(&options).await.unwrap();
        let free = sqlx::query("update due set holder = null, until = null where kind = 'computer'");
        let played: i64 =
            sqlx::query_scalar("select count(*) from game_event").fetch_one(&mut database).await.unwrap();
        // On a busy machine the stop may come too late.
        if free.execute(&mut database).await.unwrap().rows_affected() == 1 && played == 0 {
            return (player, text(&game["id"]).to_owned(), database, options);
        }
    }
}

/// Lets a process that is no more hold the computer's turn for so many seconds.
async fn hold(database: &mut PgConnection, seconds: f64) {
    let sql = "update due set holder = gen_random_uuid(), until = now() + make_interval(secs => $1)";
    let held = sqlx::query(sql).bind(seconds).execute(database).await.unwrap();
    assert_eq!(held.rows_affected(), 1);
}

#[test]
fn the_turn_of_a_process_that_died_is_played_by_the_next_one_once() {
    run(async || {
        let (player, id, mut database, options) = owed().await;
        // As kill -9 leaves it: leased a moment ago.
        hold(&mut database, 0.8).await;
        let (first, second) = (TestServer::on(options.clone()).await, TestServer::on(options).await);
        let now = player.via(&first).until(&id, |now| now["to_move"] == 0).await;
        let by_computer: i64 =
            sqlx::query_scalar("select count(*) from game_event where by = 'computer' and seat = 1")
                .fetch_one(&mut database)
                .await
                .unwrap();
        assert_eq!(by_computer.unsigned_abs(), number(&now["seq"]));
        first.stop().await;
        second.stop().await;
    });
}

#[test]
fn a_lease_of_another_process_is_left_alone_until_it_ends() {
    run(async || {
        let (player, id, mut database, options) = owed().await;
        hold(&mut database, 4.0).await;
        let next = TestServer::on(options).await;
        player.via(&next).until(&id, |now| now["seq"] != 0).await;
        let early: bool =
            sqlx::query_scalar("select exists (select from game_event where at < (select created_at + interval '4 seconds' from game))")
                .fetch_one(&mut database)
                .await
                .unwrap();
        assert!(!early, "played while another held it");
        next.stop().await;
    });
}

#[test]
fn a_turn_that_is_thought_about_stays_leased() {
    test(async |server| {
        let player = server.guest("Ana").await;
        // More long thoughts than there are places for: the last one waits for longer than one lease.
        let games = at_once((0..6).map(|_| {
            let player = player.clone();
            async move { text(&solo(&player, "hard", "computer").await["id"]).to_owned() }
        }))
        .await;
        let mut database = server.database().await;
        for _ in 0..10 {
            let free: Vec<String> = sqlx::query_scalar(
                "select game_id::text from due where kind = 'computer' and until < now() - interval '1 second'",
            )
            .fetch_all(&mut database)
            .await
            .unwrap();
            assert_eq!(free, Vec::<String>::new(), "nobody keeps these");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        for id in games {
            player.until(&id, |now| now["to_move"] == 0).await;
        }
    });
}

#[test]
fn what_is_due_comes_and_goes_with_the_event_that_makes_it_so() {
    test(async |server| {
        let other = server.another().await;
        let people: Vec<Player> = vec![server.guest("Ana").await];
        let games = at_once((0..10).map(|i| {
            let people: Vec<Player> =
                people.iter().map(|p| if i % 2 == 0 { p.clone() } else { p.via(&other) }).collect();
            let limit = if i % 2 == 0 { Value::Null } else { json!(30) };
            async move {
                let new = json!({ "variant": "kalah", "computers": ["easy", "easy"],
                    "options": { "pits": 4, "stones": 3, "turn_seconds": limit } });
                let game = people[0].post("/v1/games", new).await.ok(201);
                play_on(&people, text(&game["id"]), |legal| legal[0]).await;
            }
        }))
        .await;
        assert_eq!(games.len(), 10);
        let due: i64 = sqlx::query_scalar("select count(*) from due")
            .fetch_one(&mut server.database().await)
            .await
            .unwrap();
        assert_eq!(due, 0, "nothing is due in games that are over");
        assert_eq!(server.service().audit().await.unwrap().differences, []);
        other.stop().await;
    });
}

#[test]
fn whoever_waits_longest_is_served_first() {
    run(async || {
        let (_, _, mut database, options) = owed().await;
        // A hundred turns that nobody holds, the newest game waiting longest.
        let game = |n: i32| format!("00000000-0000-7000-8000-{n:012}");
        sqlx::query(
            "insert into due (game_id, kind, at)
             select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'computer',
                    now() - make_interval(mins => n)
             from generate_series(1, 100) n",
        )
        .execute(&mut database)
        .await
        .unwrap();
        // A process that only looks.
        let keys = SigningKeys::parse(KEY).unwrap();
        let service = Service::new(
            Database::new(options),
            keys,
            cheap(),
            Arc::new(Metrics::new()),
            CancellationToken::new(),
            Memory::server(2),
        );
        let (taken, next) = service.take_computer_turns().await.unwrap();
        let longest: Vec<String> = (37..=100).rev().map(game).collect();
        assert_eq!(taken.iter().map(ToString::to_string).collect::<Vec<_>>(), longest);
        assert!(next < Duration::from_millis(100), "there are more");
        let (taken, _) = service.take_computer_turns().await.unwrap();
        assert_eq!(taken.len(), 37, "the rest, and nothing twice");
        assert_eq!(service.take_computer_turns().await.unwrap().0, []);
        service.close().await;
    });
}
