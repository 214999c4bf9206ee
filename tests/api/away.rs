//! Players who fall silent, games that nobody attends, and outages, which are nobody's fault.
//!
//! Time passes by moving what it is compared with, in the rows of the database.

use std::sync::Arc;
use std::time::Duration;

use mancala_server::account::SigningKeys;
use mancala_server::cpu::Memory;
use mancala_server::service::Service;
use mancala_server::store::Database;
use mancala_server::telemetry::Metrics;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::harness::{KEY, Player, TestServer, cheap, number, run, test, text};

fn patient(seconds: &Value) -> Value {
    json!({ "variant": "kalah", "options": { "away_seconds": seconds, "stand_in": "easy" } })
}

fn mover(game: &Value) -> usize {
    usize::try_from(number(&game["to_move"])).unwrap()
}

/// Lets so many seconds pass for a game: since its turn began, since its players were heard of, since the last outage,
/// until what is due.
async fn pass(server: &TestServer, game: &str, seconds: f64) {
    // What has been heard until now is written first, so that it is as old.
    server.service().write_heard().await.unwrap();
    let mut database = server.database().await;
    for sql in [
        "update heard set at = at - make_interval(secs => $2)
         where player_id in (select player_id from seat where game_id = $1::text::uuid)",
        "update heartbeat set resumed_at = resumed_at - make_interval(secs => $2) where $1::text <> ''",
        "update game set turn_began = turn_began - make_interval(secs => $2) where id = $1::text::uuid",
        "update due set at = at - make_interval(secs => $2) where game_id = $1::text::uuid",
    ] {
        sqlx::query(sql).bind(game).bind(seconds).execute(&mut database).await.unwrap();
    }
}

/// What is due in a game, and in how many seconds.
async fn due(database: &mut PgConnection, game: &str) -> Option<(String, f64)> {
    sqlx::query_as(
        "select kind::text, extract(epoch from at - now())::float8 from due where game_id = $1::text::uuid",
    )
    .bind(game)
    .fetch_optional(database)
    .await
    .unwrap()
}

/// Long enough that whatever is due has been looked at.
async fn a_while() {
    tokio::time::sleep(std::time::Duration::from_millis(2_500)).await;
}

async fn audited(server: &TestServer) {
    assert_eq!(server.service().audit().await.unwrap().differences, []);
}

#[test]
fn a_silent_player_whose_turn_it_is_counts_as_left_when_somebody_waits() {
    test(async |server| {
        let (people, _, game) = server.group_game(patient(&json!(60)), 2).await;
        let (id, seat) = (text(&game["id"]), mover(&game));
        pass(server, id, 50.0).await;
        a_while().await;
        assert_eq!(people[1 - seat].game(id).await["seq"], 0, "not yet");
        pass(server, id, 30.0).await;
        let now = people[1 - seat].until(id, |now| now["last_event"]["by"] == "computer").await;
        assert_eq!(now["seats"][seat]["left"], true);
        let record = people[seat].record(id).await;
        assert_eq!(record["events"][0], json!({ "seat": seat, "leave": true }));
        assert_eq!(record["events"][1]["seat"], seat, "the computer plays in their place");
        // Moving, or asking to, takes the seat back.
        let now = people[seat].act(id, "return").await.ok(200);
        assert_eq!(now["seats"][seat]["left"], false);
        audited(server).await;
    });
}

#[test]
fn whoever_is_heard_of_does_not_count_as_left() {
    test(async |server| {
        for _ in 0..8 {
            let (people, _, game) = server.group_game(patient(&json!(60)), 2).await;
            let (id, seat) = (text(&game["id"]), mover(&game));
            pass(server, id, 80.0).await;
            // Any request at all, and before anybody has noticed: what is due is put off.
            people[seat].get("/v1/games?status=running").await.ok(200);
            server.service().write_heard().await.unwrap();
            a_while().await;
            let now = people[1 - seat].game(id).await;
            if now["seq"] != 0 {
                // The turn was found before the request came: it is the request that was late.
                continue;
            }
            let (kind, seconds) = due(&mut server.database().await, id).await.unwrap();
            assert_eq!(kind, "away");
            assert!(seconds > 30.0, "a minute after it was heard of: {seconds}");
            return;
        }
        panic!("counted as left eight times");
    });
}

#[test]
fn a_request_that_waits_is_heard_all_the_time() {
    test(async |server| {
        let (people, _, game) = server.group_game(patient(&json!(60)), 2).await;
        let (id, seat) = (text(&game["id"]).to_owned(), mover(&game));
        let (waiting, path) = (people[seat].clone(), format!("/v1/games/{id}?after_seq=0&wait=8"));
        let poll = tokio::spawn(async move { waiting.get(&path).await.ok(200) });
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        pass(server, &id, 40.0).await;
        // Nothing but the poll is heard of this player now.
        let polled = poll.await.unwrap();
        server.service().write_heard().await.unwrap();
        assert_eq!(polled["seq"], 0);
        let silent: f64 = sqlx::query_scalar(
            "select extract(epoch from now() - at)::float8 from heard where player_id = $1::text::uuid",
        )
        .bind(&people[seat].id)
        .fetch_one(&mut server.database().await)
        .await
        .unwrap();
        assert!(silent < 5.0, "{silent} s");
    });
}

#[test]
fn nobody_counts_as_left_while_nobody_else_waits() {
    test(async |server| {
        let mut games = Vec::new();
        // Never, by the local rules.
        let (people, _, game) = server.group_game(patient(&Value::Null), 2).await;
        games.push((people[mover(&game)].clone(), text(&game["id"]).to_owned(), 0));
        // The other one has left.
        let (people, _, game) = server.group_game(patient(&json!(60)), 2).await;
        let (id, seat) = (text(&game["id"]).to_owned(), mover(&game));
        people[1 - seat].act(&id, "leave").await.ok(200);
        games.push((people[seat].clone(), id, 1));
        // All others have resigned or left.
        let (people, _, game) = server.group_game(patient(&json!(60)), 3).await;
        let (id, seat) = (text(&game["id"]).to_owned(), mover(&game));
        people[(seat + 1) % 3].act(&id, "resign").await.ok(200);
        people[(seat + 2) % 3].act(&id, "leave").await.ok(200);
        games.push((people[seat].clone(), id, 2));
        // Computers do not wait.
        let solo = json!({ "variant": "kalah", "computers": ["easy", "easy"], "starter": "me",
            "options": { "away_seconds": 60 } });
        let ana = server.guest("Ana").await;
        let game = ana.post("/v1/games", solo).await.ok(201);
        games.push((ana, text(&game["id"]).to_owned(), 0));
        let mut database = server.database().await;
        for (_, id, _) in &games {
            assert_eq!(due(&mut database, id).await, None);
            pass(server, id, 100_000.0).await;
        }
        a_while().await;
        for (player, id, seq) in games {
            let now = player.game(&id).await;
            assert_eq!((&now["seq"], &now["status"]), (&json!(seq), &json!("running")));
        }
        audited(server).await;
    });
}

#[test]
fn when_somebody_comes_back_to_wait_the_silence_counts_from_the_turn() {
    test(async |server| {
        let (people, _, game) = server.group_game(patient(&json!(60)), 2).await;
        let (id, seat) = (text(&game["id"]), mover(&game));
        people[1 - seat].act(id, "leave").await.ok(200);
        pass(server, id, 100.0).await;
        people[1 - seat].act(id, "return").await.ok(200);
        let now = people[1 - seat].until(id, |now| now["seats"][seat]["left"] == true).await;
        assert_eq!(now["seats"][1 - seat]["left"], false);
    });
}

/// A game that everybody has left, and the players by seat.
async fn deserted(server: &TestServer, turn_seconds: Value) -> (Vec<Player>, String) {
    let kind = json!({ "variant": "kalah", "options": { "turn_seconds": turn_seconds, "stand_in": "easy" } });
    let (people, _, game) = server.group_game(kind, 2).await;
    let (id, seat) = (text(&game["id"]).to_owned(), mover(&game));
    people[1 - seat].act(&id, "leave").await.ok(200);
    people[seat].act(&id, "leave").await.ok(200);
    (people, id)
}

const DAY: f64 = 86_400.0;

#[test]
fn a_game_without_anybody_ends_after_thirty_days_as_abandoned() {
    test(async |server| {
        for turn_seconds in [Value::Null, json!(30)] {
            let (people, id) = deserted(server, turn_seconds).await;
            pass(server, &id, 29.9 * DAY).await;
            a_while().await;
            let paused = people[0].game(&id).await;
            assert_eq!((&paused["status"], &paused["seq"]), (&json!("running"), &json!(2)));
            pass(server, &id, 0.2 * DAY).await;
            let over = people[0].until(&id, |now| now["status"] != "running").await;
            assert_eq!((&over["status"], &over["end_reason"]), (&json!("aborted"), &json!("abandoned")));
            let event = &over["last_event"];
            assert_eq!((&event["type"], event.get("seat")), (&json!("abort"), None));
            assert_eq!(event["ends"], json!({ "reason": "abandoned" }));
            assert!(over["ended_at"].is_string());
            people[0].act(&id, "return").await.problem(409, "game_over");
            people[0].sow(&id, 0, 2).await.problem(409, "game_over");
            let record = people[0].record(&id).await;
            assert_eq!(record["result"]["end"], "aborted");
            assert_eq!(due(&mut server.database().await, &id).await, None);
        }
        audited(server).await;
    });
}

#[test]
fn whoever_comes_back_in_time_starts_the_thirty_days_anew() {
    test(async |server| {
        let (people, id) = deserted(server, Value::Null).await;
        pass(server, &id, 29.9 * DAY).await;
        people[0].act(&id, "return").await.ok(200);
        let now = people[0].until(&id, |now| now["to_move"] == 0 || now["status"] != "running").await;
        assert_eq!(now["status"], "running");
        people[0].act(&id, "leave").await.ok(200);
        let (kind, seconds) = due(&mut server.database().await, &id).await.unwrap();
        assert_eq!(kind, "abandon");
        assert!(seconds > 29.9 * DAY, "{seconds}");
        audited(server).await;
    });
}

/// Stops the heart for so many seconds, as far as the next beat can tell, and moves the deadline of a game back.
async fn outage(server: &TestServer, game: &str, seconds: f64, deadline_ago: f64) {
    // In one transaction, so that no beat comes in between.
    let sql = "with b as (update heartbeat set at = now() - make_interval(secs => $2)),
                    g as (update game set deadline = now() - make_interval(secs => $3) where id = $1::text::uuid
                          returning id, deadline)
               update due set at = g.deadline + interval '1 second' from g where game_id = g.id";
    let done = sqlx::query(sql)
        .bind(game)
        .bind(seconds)
        .bind(deadline_ago)
        .execute(&mut server.database().await)
        .await
        .unwrap();
    assert_eq!(done.rows_affected(), 1);
}

/// How many seconds the present turn has left.
async fn left(server: &TestServer, game: &str) -> f64 {
    sqlx::query_scalar(
        "select extract(epoch from deadline - now())::float8 from game where id = $1::text::uuid",
    )
    .bind(game)
    .fetch_one(&mut server.database().await)
    .await
    .unwrap()
}

fn limited() -> Value {
    json!({ "variant": "kalah", "options": { "turn_seconds": 30, "stand_in": "easy" } })
}

#[test]
fn a_turn_that_runs_out_while_no_server_is_there_begins_anew() {
    test(async |server| {
        let (people, _, game) = server.group_game(limited(), 2).await;
        let (id, seat) = (text(&game["id"]), mover(&game));
        outage(server, id, 20.0, 10.0).await;
        // A move that comes at once, before anybody has noticed the outage, waits and then counts.
        let played = people[seat].sow(id, 5, 0).await.ok(200);
        assert_eq!(played["accepted"]["by"], "player");
        let (people, _, game) = server.group_game(limited(), 2).await;
        let (id, seat) = (text(&game["id"]), mover(&game));
        outage(server, id, 20.0, 10.0).await;
        a_while().await;
        let now = people[seat].game(id).await;
        assert_eq!((&now["seq"], &now["to_move"]), (&json!(0), &json!(seat)));
        let seconds = left(server, id).await;
        assert!((20.0..30.1).contains(&seconds), "the full time: {seconds}");
        audited(server).await;
    });
}

#[test]
fn a_clock_that_is_set_back_does_not_hide_an_outage() {
    test(async |server| {
        let mut database = server.database().await;
        sqlx::query("update heartbeat set at = now() + interval '1 hour'")
            .execute(&mut database)
            .await
            .unwrap();
        a_while().await;
        let ahead: f64 = sqlx::query_scalar("select extract(epoch from at - now())::float8 from heartbeat")
            .fetch_one(&mut database)
            .await
            .unwrap();
        assert!(ahead < 3.0, "the last beat is {ahead} s ahead");
    });
}

#[test]
fn the_heart_beats_while_every_connection_is_taken() {
    test(async |server| {
        let database = Database::new(server.database_options().clone());
        let service = Service::new(
            database.clone(),
            SigningKeys::parse(KEY).unwrap(),
            cheap(),
            Arc::new(Metrics::new()),
            CancellationToken::new(),
            Memory::server(2),
        );
        let heart = service.apart();
        let mut taken = Vec::new();
        while let Ok(connection) = timeout(Duration::from_secs(1), database.connection()).await {
            taken.push(connection.unwrap());
        }
        assert!(!taken.is_empty());
        heart.beat(false).await.unwrap();
        drop(taken);
        service.close().await;
    });
}

#[test]
fn a_turn_that_ran_out_before_the_outage_is_the_clocks() {
    test(async |server| {
        let (people, _, game) = server.group_game(limited(), 2).await;
        let id = text(&game["id"]);
        outage(server, id, 20.0, 25.0).await;
        let now = people[0].until(id, |now| now["seq"] != 0).await;
        assert_eq!(now["last_event"]["by"], "clock");
    });
}

#[test]
fn a_server_that_starts_after_the_deadline_gives_the_turn_anew() {
    run(async || {
        let down = TestServer::start(0).await;
        let (people, _, game) = down.group_game(limited(), 2).await;
        let (id, seat) = (text(&game["id"]).to_owned(), mover(&game));
        let database = down.database_options().clone();
        down.stop().await;
        let mut open = PgConnection::connect_with(&database).await.unwrap();
        // It ran out the moment after the last beat: however short the time without a server was, that is in it.
        let sql =
            "with g as (update game set deadline = (select at from heartbeat) + interval '0.001 seconds'
                              where id = $1::text::uuid returning id, deadline)
                   update due set at = g.deadline + interval '1 second' from g where game_id = g.id";
        sqlx::query(sql).bind(&id).execute(&mut open).await.unwrap();
        let up = TestServer::on(database).await;
        a_while().await;
        let now = people[seat].via(&up).game(&id).await;
        assert_eq!(now["seq"], 0);
        let seconds = left(&up, &id).await;
        assert!((20.0..30.1).contains(&seconds), "the full time: {seconds}");
        up.stop().await;
    });
}

#[test]
fn nobody_counts_as_left_because_the_server_could_not_hear_them() {
    test(async |server| {
        let (people, _, game) = server.group_game(patient(&json!(60)), 2).await;
        let (id, seat) = (text(&game["id"]), mover(&game));
        pass(server, id, 100.0).await;
        // The outage ends with the next beat.
        sqlx::query("update heartbeat set at = now() - interval '20 seconds'")
            .execute(&mut server.database().await)
            .await
            .unwrap();
        a_while().await;
        assert_eq!(people[1 - seat].game(id).await["seq"], 0);
        let (kind, seconds) = due(&mut server.database().await, id).await.unwrap();
        assert_eq!(kind, "away");
        assert!(seconds > 30.0, "silence counts from the end of the outage: {seconds}");
        audited(server).await;
    });
}
