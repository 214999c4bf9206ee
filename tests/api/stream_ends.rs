//! What ends a stream before its time, and how many may be open.

use std::time::Duration;

use mancala_server::account::SigningKeys;
use mancala_server::budget::PlayerBudgets;
use reqwest::Method;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::harness::{KEY, Stream, TestServer, number, run, test, text};
use crate::streams::{events, game, play};

/// The last thing that a stream says.
pub async fn closing(mut stream: Stream) -> Value {
    let mut last = Value::Null;
    while let Some(message) = stream.next().await {
        last = message.data;
    }
    assert_eq!(last["type"], "closing", "{last}");
    last["reason"].clone()
}

#[test]
fn a_private_game_is_followed_by_its_members_only() {
    test(async |server| {
        let new = json!({ "variant": "kalah", "private": true });
        let (people, group, game) = server.group_game(new, 2).await;
        let (id, stranger) = (text(&game["id"]), server.guest("Stranger").await);
        for other in [&stranger, &server.nobody()] {
            other.get(&events(id)).await.problem(404, "game_not_found");
        }
        people[1].follow(&events(id)).await;
        let group = format!("/v1/groups/{}", text(&group["id"]));
        people[0].patch(&group, json!({ "private": false })).await.ok(200);
        let other = server.another().await;
        let spectators = [stranger.follow(&events(id)).await, other.nobody().follow(&events(id)).await];
        people[0].patch(&group, json!({ "private": true })).await.ok(200);
        for spectator in spectators {
            assert_eq!(closing(spectator).await, "hidden");
        }
        other.stop().await;
    });
}

#[test]
fn what_happens_in_private_is_told_to_no_spectator_even_if_nobody_said_that_it_is() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let mut spectators =
            [server.nobody().follow(&events(&id)).await, people[0].follow(&events(&id)).await];
        play(&people, &id, 1).await;
        for spectator in &mut spectators {
            assert_eq!(spectator.next().await.unwrap().id, Some(1));
        }
        // As by a process that has not told it yet.
        sqlx::query("update play_group set private = true, seq = seq + 1")
            .execute(&mut server.database().await)
            .await
            .unwrap();
        play(&people, &id, 1).await;
        let [spectator, mut member] = spectators;
        assert_eq!(member.next().await.unwrap().id, Some(2));
        assert_eq!(spectator.events().await, Vec::<Value>::new());
    });
}

#[test]
fn the_end_of_a_session_ends_its_streams_everywhere() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let other = server.another().await;
        let here = people[0].follow(&events(&id)).await;
        let there = people[0].via(&other).follow(&events(&id)).await;
        let mut of_another = people[1].follow(&events(&id)).await;
        people[0].delete("/v1/sessions/current").await.ok(204);
        assert_eq!(closing(here).await, "session_ended");
        assert_eq!(closing(there).await, "session_ended");
        people[1].act(&id, "leave").await.ok(200);
        assert_eq!(of_another.next().await.unwrap().id, Some(1));
        people[0].get(&events(&id)).await.problem(401, "token_invalid");
        other.stop().await;
    });
}

#[test]
fn a_personal_token_that_is_taken_back_ends_its_streams() {
    test(async |server| {
        let (_, id, _) = game(server).await;
        let owner = server.account("streamer").await;
        let new = json!({ "name": "program", "scopes": ["games:read"] });
        let made = owner.post("/v1/me/tokens", new).await.ok(201);
        let program = owner.with_token(text(&made["token"]));
        let stream = program.follow(&events(&id)).await;
        let other = server.another().await;
        let there = program.via(&other).follow(&events(&id)).await;
        owner.delete(&format!("/v1/me/tokens/{}", text(&made["id"]))).await.ok(204);
        assert_eq!(closing(stream).await, "session_ended");
        assert_eq!(closing(there).await, "session_ended");
        let new = json!({ "name": "other", "scopes": ["groups"] });
        let made = owner.post("/v1/me/tokens", new).await.ok(201);
        let without = owner.with_token(text(&made["token"]));
        without.get(&events(&id)).await.problem(403, "scope_missing");
        other.stop().await;
    });
}

#[test]
fn a_token_that_expires_ends_its_streams() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let player = people[0].id.parse::<uuid::Uuid>().unwrap();
        let session: uuid::Uuid = sqlx::query_scalar("select id from session where player_id = $1")
            .bind(player)
            .fetch_one(&mut server.database().await)
            .await
            .unwrap();
        let keys = SigningKeys::parse(KEY).unwrap();
        let long_ago = OffsetDateTime::now_utc() - time::Duration::seconds(897);
        let token = keys.issue(player.into(), session.into(), long_ago);
        let stream = people[0].with_token(&token).follow(&events(&id)).await;
        assert_eq!(closing(stream).await, "token_expired");
    });
}

#[test]
fn a_server_that_stops_says_so_to_all_readers() {
    run(async || {
        let server = TestServer::start(0).await;
        let (people, id, _) = game(&server).await;
        play(&people, &id, 1).await;
        let stream = people[0].follow(&events(&id)).await;
        let lines = people[1].follow_lines(&events(&id)).await;
        let stopping = tokio::spawn(server.stop());
        assert_eq!(closing(stream).await, "restart");
        assert_eq!(closing(lines).await, "restart");
        tokio::time::timeout(Duration::from_secs(20), stopping).await.expect("it waits for nobody").unwrap();
    });
}

#[test]
fn a_player_has_only_so_many_streams() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let limited = server.another_as(|settings| settings.player_budgets = PlayerBudgets::default()).await;
        let person = people[0].via(&limited);
        let mut open = Vec::new();
        let refused = loop {
            match Stream::open(person.request(Method::GET, &events(&id))).await {
                Ok(stream) => open.push(stream),
                Err(answer) => break answer,
            }
        };
        assert_eq!(open.len(), 20);
        assert!(refused.headers.contains_key("retry-after"));
        refused.problem(429, "too_many_streams");
        // Others have theirs, and one that is closed makes room.
        people[1].via(&limited).follow(&events(&id)).await;
        open.pop();
        play(&people, &id, 1).await;
        let mut tries = 0;
        while Stream::open(person.request(Method::GET, &events(&id))).await.is_err() {
            tries += 1;
            assert!(tries < 100, "there is never room again");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(number(&people[0].game(&id).await["seq"]), 1);
        limited.stop().await;
    });
}
