//! Who is connected, who was last heard of when, and who is told of it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::harness::{Player, Stream, TestServer, test, text};

/// In which everything must have come about that takes a few seconds.
const SOON: Duration = Duration::from_secs(30);

/// Ana and Ben in a game of a group.
async fn two(server: &TestServer) -> (Player, Player, String) {
    let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
    (people[0].clone(), people[1].clone(), text(&game["id"]).to_owned())
}

fn of(game: &str, what: &str) -> String {
    format!("/v1/games/{game}/{what}")
}

/// A stream of a game that the server has begun.
async fn follow(player: &Player, game: &str) -> Stream {
    let mut stream = player.follow(&of(game, "events")).await;
    assert_eq!(stream.any().await.unwrap().data["type"], "heartbeat");
    stream
}

async fn presence(player: &Player, game: &str) -> Value {
    player.get(&of(game, "presence")).await.ok(200)["seats"].clone()
}

/// Asks until a seat's person is connected, or not; what is told of the seat then.
async fn until(player: &Player, game: &str, seat: usize, connected: bool) -> Value {
    let began = Instant::now();
    loop {
        let seats = presence(player, game).await;
        if seats[seat]["connected"] == connected {
            return seats[seat].clone();
        }
        assert!(began.elapsed() < SOON, "seat {seat} is not shown so: {seats}");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Reads on until a stream tells that a seat's person is connected, or not; what it tells of the seat then.
async fn told(stream: &mut Stream, seat: usize, connected: bool) -> Value {
    let told = async {
        loop {
            let message = stream.next_like("presence").await;
            assert_eq!((message.id, message.name), (None, None), "it is no event of the log");
            if message.data["seats"][seat]["connected"] == connected {
                return message.data["seats"][seat].clone();
            }
        }
    };
    timeout(SOON, told).await.expect("the stream tells it soon")
}

#[test]
fn whoever_reads_a_stream_is_connected_for_all_processes_until_some_seconds_after_it_closes() {
    test(async |server| {
        let other = server.another().await;
        let (ana, ben, game) = two(server).await;
        let before = until(&ana, &game, 1, false).await;
        assert!(before["seat"] == 1 && before["last_seen"].is_string(), "{before}");
        let stream = follow(&ben, &game).await;
        let connected = json!({ "seat": 1, "connected": true });
        assert_eq!(presence(&ana, &game).await[1], connected, "at once where the stream is");
        until(&ana.via(&other), &game, 1, true).await;
        assert_eq!(presence(&ana.via(&other), &game).await[1], connected);
        drop(stream);
        for server in [server, &other] {
            let gone = until(&ana.via(server), &game, 1, false).await;
            assert!(text(&gone["last_seen"]) >= text(&before["last_seen"]), "{gone}");
        }
        other.stop().await;
    });
}

#[test]
fn one_of_two_streams_is_enough() {
    test(async |server| {
        let other = server.another().await;
        let (ana, ben, game) = two(server).await;
        let kept = follow(&ben.via(&other), &game).await;
        for on in [server, &other] {
            drop(follow(&ben.via(on), &game).await);
        }
        sleep(Duration::from_secs(5)).await;
        for on in [server, &other] {
            assert_eq!(presence(&ana.via(on), &game).await[1]["connected"], true);
        }
        drop(kept);
        until(&ana, &game, 1, false).await;
        other.stop().await;
    });
}

#[test]
fn changes_arrive_on_the_stream_without_a_number_and_outside_of_the_log() {
    test(async |server| {
        let other = server.another().await;
        let (ana, ben, game) = two(server).await;
        let before = ana.get(&format!("/v1/games/{game}")).await;
        let mut of_ana = ana.follow(&of(&game, "events")).await;
        assert_eq!(of_ana.any().await.unwrap().name.as_deref(), Some("heartbeat"));
        let first = of_ana.any().await.unwrap();
        assert_eq!((first.id, first.name), (None, None));
        assert_eq!(first.data["type"], "presence");
        assert_eq!(first.data["seats"][0], json!({ "seat": 0, "connected": true }));
        assert_eq!(first.data["seats"][1]["connected"], false);
        let of_ben = follow(&ben.via(&other), &game).await;
        assert_eq!(told(&mut of_ana, 1, true).await, json!({ "seat": 1, "connected": true }));
        drop(of_ben);
        assert!(told(&mut of_ana, 1, false).await["last_seen"].is_string());
        let after = ana.get(&format!("/v1/games/{game}")).await;
        assert_eq!(after.headers["etag"], before.headers["etag"]);
        assert_eq!(after.ok(200)["seq"], 0);
        other.stop().await;
    });
}

#[test]
fn whoever_connects_again_at_once_was_never_gone() {
    test(async |server| {
        let (ana, ben, game) = two(server).await;
        let mut of_ana = follow(&ana, &game).await;
        let mut of_ben = follow(&ben, &game).await;
        told(&mut of_ana, 1, true).await;
        for _ in 0..3 {
            drop(of_ben);
            sleep(Duration::from_millis(300)).await;
            of_ben = follow(&ben, &game).await;
        }
        let news = timeout(Duration::from_secs(5), of_ana.next_like("presence")).await;
        assert!(news.is_err(), "{news:?}");
        assert_eq!(presence(&ana, &game).await[1]["connected"], true);
    });
}

#[test]
fn a_process_that_stops_takes_its_players_with_it() {
    test(async |server| {
        let other = server.another().await;
        let (ana, ben, game) = two(server).await;
        let mut of_ana = follow(&ana, &game).await;
        let of_ben = follow(&ben.via(&other), &game).await;
        told(&mut of_ana, 1, true).await;
        other.stop().await;
        told(&mut of_ana, 1, false).await;
        drop(of_ben);
    });
}

#[test]
fn a_process_that_dies_without_a_word_counts_for_nothing() {
    test(async |server| {
        let (ana, ben, game) = two(server).await;
        let mut of_ana = follow(&ana, &game).await;
        let mut database = server.database().await;
        // Nobody tells of this: it is found.
        for sql in [
            "insert into process (id, at) values ('00000000-0000-0000-0000-00000000dead', now() + interval '3 seconds')",
            "insert into connected (player_id, process_id)
             select id, '00000000-0000-0000-0000-00000000dead' from player where name = 'Player 1'",
        ] {
            sqlx::query(sql).execute(&mut database).await.unwrap();
        }
        until(&ana, &game, 1, true).await;
        told(&mut of_ana, 1, true).await;
        told(&mut of_ana, 1, false).await;
        until(&ana, &game, 1, false).await;
        // And goes in the end, with all that hangs on it.
        let sql = "update process set at = at - interval '1 minute' where id::text like '%dead'";
        sqlx::query(sql).execute(&mut database).await.unwrap();
        let began = Instant::now();
        loop {
            let sql = "select count(*) from connected where player_id = $1::text::uuid";
            let rows: i64 = sqlx::query_scalar(sql).bind(&ben.id).fetch_one(&mut database).await.unwrap();
            if rows == 0 {
                break;
            }
            assert!(began.elapsed() < SOON, "what the process left behind stays");
            sleep(Duration::from_millis(100)).await;
        }
    });
}

#[test]
fn what_the_database_loses_is_written_anew() {
    test(async |server| {
        let other = server.another().await;
        let (ana, ben, game) = two(server).await;
        let stream = follow(&ben, &game).await;
        let ana = ana.via(&other);
        until(&ana, &game, 1, true).await;
        // As after a crash of the database; a process that beats in between would hide it.
        let mut database = server.database().await;
        sqlx::query("truncate process, connected").execute(&mut database).await.unwrap();
        until(&ana, &game, 1, true).await;
        sleep(Duration::from_secs(2)).await;
        assert_eq!(presence(&ana, &game).await[1]["connected"], true);
        drop(stream);
        until(&ana, &game, 1, false).await;
        other.stop().await;
    });
}

#[test]
fn who_is_there_is_told_to_those_seated_and_to_the_group_only() {
    test(async |server| {
        let (people, group, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let game = text(&game["id"]);
        let (stranger, member) = (server.guest("Stranger").await, server.guest("Member").await);
        // A game for three more begins when this one is over, so the new member watches it from the group.
        people[1].act(game, "resign").await.ok(200);
        member.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
        let leaves = format!("/v1/groups/{}/members/me", text(&group["id"]));
        for player in [&people[0], &people[1], &member] {
            let seats = presence(player, game).await;
            assert_eq!(seats.as_array().unwrap().len(), 2, "{seats}");
        }
        people[1].delete(&leaves).await.ok(204);
        assert_eq!(presence(&people[1], game).await.as_array().unwrap().len(), 2, "the seat is enough");
        member.delete(&leaves).await.ok(204);
        for player in [&stranger, &member] {
            player.get(&of(game, "presence")).await.problem(403, "not_seated");
        }
        server.nobody().get(&of(game, "presence")).await.problem(401, "token_missing");
        stranger.get(&of(&stranger.id, "presence")).await.problem(404, "game_not_found");
        let private = json!({ "private": true });
        people[0].patch(&format!("/v1/groups/{}", text(&group["id"])), private).await.ok(200);
        stranger.get(&of(game, "presence")).await.problem(404, "game_not_found");
    });
}

#[test]
fn computers_are_not_among_those_who_are_there() {
    test(async |server| {
        let ana = server.guest("Ana").await;
        let new = json!({ "variant": "kalah", "computers": ["easy"], "starter": "me" });
        let game = ana.post("/v1/games", new).await.ok(201);
        let game = text(&game["id"]);
        let stream = follow(&ana, game).await;
        assert_eq!(presence(&ana, game).await, json!([{ "seat": 0, "connected": true }]));
        drop(stream);
    });
}

#[test]
fn spectators_are_told_nothing_of_it() {
    test(async |server| {
        let (ana, ben, game) = two(server).await;
        for spectator in [server.nobody(), server.guest("Stranger").await] {
            let mut stream = spectator.follow_lines(&of(&game, "events")).await;
            let mut of_ana = follow(&ana, &game).await;
            let of_ben = follow(&ben, &game).await;
            told(&mut of_ana, 1, true).await;
            drop(of_ben);
            told(&mut of_ana, 1, false).await;
            assert_eq!(stream.any().await.unwrap().data["type"], "heartbeat");
            let news = timeout(Duration::from_millis(500), stream.next_like("presence")).await;
            assert!(news.is_err(), "{news:?}");
        }
    });
}

#[test]
fn whoever_is_blocked_is_told_nothing_of_who_has_blocked_them() {
    test(async |server| {
        let (ana, ben, game) = two(server).await;
        let (mut of_ana, of_ben) = (follow(&ana, &game).await, follow(&ben, &game).await);
        told(&mut of_ana, 1, true).await;
        let block = format!("/v1/me/blocks/{}", ana.id);
        let hidden = json!({ "seat": 1, "hidden": true });
        ben.put(&block, json!({})).await.ok(204);
        let news = of_ana.next_like("presence").await;
        assert_eq!(news.data["seats"][1], hidden);
        assert_eq!(presence(&ana, &game).await[1], hidden);
        assert_eq!(presence(&ben, &game).await[0]["connected"], true, "it is not mutual");
        drop(of_ben);
        sleep(Duration::from_secs(4)).await;
        assert_eq!(presence(&ana, &game).await[1], hidden);
        let news = timeout(Duration::from_millis(500), of_ana.next_like("presence")).await;
        assert!(news.is_err(), "{news:?}");
        ben.delete(&block).await.ok(204);
        assert!(told(&mut of_ana, 1, false).await["last_seen"].is_string());
    });
}

#[test]
fn whoever_reads_a_stream_is_heard_of_all_the_time() {
    test(async |server| {
        let (_, ben, game) = two(server).await;
        let stream = follow(&ben, &game).await;
        server.service().write_heard().await.unwrap();
        let mut database = server.database().await;
        sqlx::query("update heard set at = at - interval '1 hour'").execute(&mut database).await.unwrap();
        let began = Instant::now();
        loop {
            // Nothing but the heartbeats of the stream is heard of this player now.
            let sql =
                "select extract(epoch from now() - at)::float8 from heard where player_id = $1::text::uuid";
            let ago: f64 = sqlx::query_scalar(sql).bind(&ben.id).fetch_one(&mut database).await.unwrap();
            if ago < 60.0 {
                break;
            }
            assert!(began.elapsed() < SOON, "not heard of for {ago} seconds");
            sleep(Duration::from_millis(500)).await;
        }
        drop(stream);
    });
}
