//! Following a game: each event once and in order, from the log and then live, whatever comes in between.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::ACCEPT;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::harness::{Player, Stream, TestServer, number, play_out, raw, test, text};

/// A game of two people, its id, and whose turn it is.
pub async fn game(server: &TestServer) -> (Vec<Player>, String, usize) {
    let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
    let mover = usize::try_from(number(&game["to_move"])).unwrap();
    (people, text(&game["id"]).to_owned(), mover)
}

/// Where a game is followed.
pub fn events(game: &str) -> String {
    format!("/v1/games/{game}/events")
}

/// Plays so many moves with the first legal pit.
pub async fn play(people: &[Player], game: &str, moves: usize) -> Value {
    let mut state = people[0].game(game).await;
    for _ in 0..moves {
        let mover = usize::try_from(number(&state["to_move"])).unwrap();
        let (pit, seq) = (number(&state["legal"][0]), number(&state["seq"]));
        state = people[mover].sow(game, pit, seq).await.ok(200)["game"].clone();
    }
    state
}

/// An event without when it was sent.
fn timeless(mut event: Value) -> Value {
    assert!(event.as_object_mut().unwrap().remove("server_time").is_some(), "{event}");
    event
}

#[test]
fn a_game_is_followed_from_its_first_event_to_its_last() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        play(&people, &id, 3).await;
        let mut stream = people[0].follow(&events(&id)).await;
        assert_eq!(stream.header("content-encoding"), Some("identity"));
        assert_eq!(stream.header("cache-control"), Some("no-store"));
        let first = stream.any().await.unwrap();
        assert_eq!((first.name.as_deref(), first.id), (Some("heartbeat"), None));
        assert_eq!(first.data["type"], "heartbeat");
        assert!(first.data["server_time"].is_string());
        let mut told = Vec::new();
        for seq in 1..=3 {
            let message = stream.next().await.unwrap();
            assert_eq!((message.id, &message.data["seq"]), (Some(seq), &json!(seq)));
            assert_eq!(message.name, None, "a browser's onmessage gets it");
            told.push(timeless(message.data));
        }
        let third = people[1].game(&id).await["last_event"].clone();
        assert_eq!(told[2], third);
        // From here on it is live.
        let played = play(&people, &id, 1).await;
        let message = stream.next().await.unwrap();
        assert_eq!((message.id, timeless(message.data)), (Some(4), played["last_event"].clone()));
        let over = play_out(&people, &id, |legal| legal[legal.len() / 2]).await;
        let rest = stream.events().await;
        let seqs: Vec<u64> = rest.iter().map(|event| number(&event["seq"])).collect();
        assert_eq!(seqs, (5..=number(&over["seq"])).collect::<Vec<_>>());
        assert_eq!(timeless(rest.last().unwrap().clone()), over["last_event"]);
        assert_eq!(over["last_event"]["ends"]["reason"], "played");
    });
}

#[test]
fn every_event_carries_what_is_needed_to_draw_it() {
    test(async |server| {
        let (people, group, game) =
            server.group_game(json!({ "variant": "kalah", "options": { "turn_seconds": 60 } }), 2).await;
        let id = text(&game["id"]);
        let mover = usize::try_from(number(&game["to_move"])).unwrap();
        people[mover].sow(id, 0, 0).await.ok(200);
        people[0].act(id, "resign").await.ok(200);
        let told = server.nobody().followed(&events(id)).await;
        assert_eq!(told.len(), 2, "{group}");
        let (sown, resigned) = (&told[0], &told[1]);
        for field in
            ["at", "seat", "pit", "by", "path", "captured", "extra", "position", "deadline", "server_time"]
        {
            assert!(!sown[field].is_null(), "{field} in {sown}");
        }
        assert_eq!((&resigned["type"], &resigned["ends"]["reason"]), (&json!("resign"), &json!("resigned")));
    });
}

#[test]
fn a_reader_goes_on_after_the_last_event_it_has() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        play(&people, &id, 5).await;
        let path = events(&id);
        let mut again = people[0].follow_again(&path, 3).await;
        assert_eq!(again.next().await.unwrap().id, Some(4));
        let mut from = people[0].follow(&format!("{path}?after_seq=4")).await;
        assert_eq!(from.next().await.unwrap().id, Some(5));
        // A browser that comes back asks for the same URL: what it has been told since counts.
        let mut both = people[0].follow_again(&format!("{path}?after_seq=1"), 4).await;
        assert_eq!(both.next().await.unwrap().id, Some(5));
        let mut at_the_end = people[0].follow_again(&path, 5).await;
        play(&people, &id, 1).await;
        for stream in [&mut again, &mut from, &mut both, &mut at_the_end] {
            while stream.next().await.unwrap().id != Some(6) {}
        }
    });
}

#[test]
fn lines_of_json_say_the_same() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        play(&people, &id, 2).await;
        people[0].act(&id, "resign").await.ok(200);
        let lines = people[0].follow_lines(&events(&id)).await.events().await;
        let messages = people[0].followed(&events(&id)).await;
        let timeless = |events: Vec<Value>| events.into_iter().map(timeless).collect::<Vec<_>>();
        assert_eq!(timeless(lines), timeless(messages));
        for other in ["application/json", "text/event-stream;q=0"] {
            let request = people[0].request(Method::GET, &events(&id)).header(ACCEPT, other);
            Stream::open(request).await.err().unwrap().problem(406, "not_acceptable");
        }
    });
}

#[test]
fn before_http_1_1_there_are_no_chunks() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        people[0].act(&id, "resign").await.ok(200);
        let request = format!("GET {} HTTP/1.0\r\nAccept: application/x-ndjson\r\n\r\n", events(&id));
        let answer = raw(server, request.as_bytes()).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.0 200") && !head.contains("chunked"), "{head}");
        let messages: Vec<Value> = body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((messages.len(), &messages[1]["type"]), (2, &json!("resign")));
    });
}

#[test]
fn after_the_end_there_is_nothing_and_browsers_are_told_so() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let over = people[0].act(&id, "resign").await.ok(200);
        let last = number(&over["seq"]);
        let request = people[0].request(Method::GET, &events(&id)).header("Last-Event-ID", last);
        let answer = Stream::open(request).await.err().unwrap();
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (204, ""));
    });
}

#[test]
fn events_of_another_process_come_too() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let other = server.another().await;
        let mut stream = people[0].via(&other).follow(&events(&id)).await;
        let mut spectator = other.nobody().follow(&events(&id)).await;
        let over = play_out(&people, &id, |legal| legal[0]).await;
        for stream in [&mut stream, &mut spectator] {
            for seq in 1..=number(&over["seq"]) {
                assert_eq!(stream.next().await.unwrap().id, Some(seq));
            }
            assert_eq!(stream.next().await, None);
        }
        other.stop().await;
    });
}

#[test]
fn what_nobody_told_is_found() {
    test(async |server| {
        let (people, id, mover) = game(server).await;
        let mut stream = people[0].follow(&events(&id)).await;
        stream.any().await.unwrap();
        // As by a process that died between its commit and its notification.
        let (_, game) = (people[mover].game(&id).await, &id);
        let mut database = server.database().await;
        sqlx::query(
            "with e as (insert into game_event (game_id, seq, kind, seat) values ($1::uuid, 1, 'leave', $2))
             update game set seq = 1, departed = array[$2]::smallint[] where id = $1::uuid",
        )
        .bind(uuid::Uuid::parse_str(game).unwrap())
        .bind(i16::try_from(1 - mover).unwrap())
        .execute(&mut database)
        .await
        .unwrap();
        let message = stream.next().await.unwrap();
        assert_eq!((message.id, &message.data["type"]), (Some(1), &json!("leave")));
    });
}

#[test]
fn a_listener_that_is_cut_off_listens_again() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let other = server.another().await;
        let mut stream = people[0].via(&other).follow(&events(&id)).await;
        stream.any().await.unwrap();
        let mut database = server.database().await;
        for seq in 1..=4 {
            let cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                       where datname = current_database() and query ilike 'listen %'";
            // Whoever was cut off is there again.
            loop {
                match sqlx::query_scalar(cut).fetch_one(&mut database).await.unwrap() {
                    0_i64 => sleep(Duration::from_millis(20)).await,
                    cut => break assert!(cut <= 2, "one for each process at most"),
                }
            }
            play(&people, &id, 1).await;
            assert_eq!(stream.next().await.unwrap().id, Some(seq));
        }
        other.stop().await;
    });
}

#[test]
fn a_cursor_beyond_the_end_is_refused_or_starts_anew() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        play(&people, &id, 2).await;
        let path = events(&id);
        let refused = people[0].get(&format!("{path}?after_seq=3")).await.problem(409, "cursor_ahead");
        assert_eq!(refused["game"]["seq"], 2);
        // A browser would give up for good.
        for last in [90, 2_147_483_648, u64::MAX] {
            let mut stream = people[0].follow_again(&path, last).await;
            let reset = stream.next().await.unwrap();
            assert_eq!((reset.id, &reset.data["type"]), (Some(2), &json!("reset")));
            assert_eq!(reset.data["game"]["seq"], 2);
        }
        let mut stream = people[0].follow_again(&path, 90).await;
        assert_eq!(stream.next().await.unwrap().id, Some(2));
        play(&people, &id, 1).await;
        assert_eq!(stream.next().await.unwrap().id, Some(3));
        people[0].act(&id, "resign").await.ok(200);
        let over = people[0].follow_again(&path, 90).await.events().await;
        assert_eq!(over.len(), 1);
        assert_eq!(over[0]["game"]["status"], "finished");
    });
}

#[test]
fn bad_cursors_are_refused() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let path = events(&id);
        for query in ["after_seq=-1", "after_seq=x", "after_seq=2147483648", "after_seq=", "seq=1", "wait=3"]
        {
            people[0].get(&format!("{path}?{query}")).await.problem(400, "invalid_parameter");
        }
        for last in ["-1", "+1", "x", "1.5", "1 2"] {
            let request = people[0].request(Method::GET, &path).header("Last-Event-ID", last);
            Stream::open(request).await.err().unwrap().problem(400, "invalid_parameter");
        }
        let nothing = format!("/v1/games/{}/events", uuid::Uuid::now_v7());
        people[0].get(&nothing).await.problem(404, "game_not_found");
        people[0].get("/v1/games/x/events").await.problem(400, "invalid_parameter");
    });
}

#[test]
fn head_asks_for_the_head_only() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let answer = people[0].request(Method::HEAD, &events(&id)).send().await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["content-type"]),
            (200, &"text/event-stream".parse().unwrap())
        );
        assert_eq!(answer.text().await.unwrap(), "");
    });
}
