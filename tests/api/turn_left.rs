//! Who leaves a turn with a time limit and comes back to it has what was left of it, so that nobody can put it off.

use serde_json::{Value, json};
use sqlx::Executor;

use crate::clock::mover;
use crate::harness::{number, test, text};
use crate::streams::events;

#[test]
fn leaving_and_returning_gives_a_turn_no_more_time() {
    test(async |server| {
        for _ in 0..10 {
            // The stand-in thinks long enough for the player to be back before it has moved.
            let options = json!({ "variant": "basic",
                "options": { "turn_seconds": 30, "stand_in": "hard", "players": 2, "stones": 6 } });
            let (people, _, game) = server.group_game(options, 2).await;
            let (id, player) = (text(&game["id"]), &people[mover(&game)]);
            let sql =
                format!("update game set created_at = created_at - interval '20 seconds' where id = '{id}'");
            server.database().await.execute(sqlx::AssertSqlSafe(sql)).await.unwrap();
            player.act(id, "leave").await.ok(200);
            let back = player.act(id, "return").await.ok(200);
            if number(&back["seq"]) != 2 {
                continue;
            }
            let time = |field: &str| {
                time::OffsetDateTime::parse(
                    text(&back[field]),
                    &time::format_description::well_known::Rfc3339,
                )
                .unwrap()
            };
            let left = (time("deadline") - time("server_time")).as_seconds_f64();
            assert!((5.0..=10.0).contains(&left), "{left} s left of ten");
            // Whoever reads it later is told the same.
            let told = |event: &Value| (event["seq"].clone(), event["deadline"].clone());
            let mut live = server.nobody().follow(&events(id)).await;
            let mut first = Vec::new();
            for _ in 0..2 {
                first.push(told(&live.next().await.unwrap().data));
            }
            player.sow(id, number(&back["legal"][0]), 2).await.ok(200);
            let mut later = server.nobody().follow(&events(id)).await;
            for event in first {
                assert_eq!(told(&later.next().await.unwrap().data), event);
            }
            crate::clock::audited(server).await;
            return;
        }
        panic!("the computer was always faster");
    });
}

#[test]
fn whoever_moves_on_returning_is_told_the_same_deadline_as_everybody_later() {
    test(async |server| {
        let new = json!({ "variant": "kalah", "computers": ["easy"], "starter": "me", "options": { "turn_seconds": 30 } });
        let player = server.guest("Ana").await;
        let game = player.post("/v1/games", new).await.ok(201);
        let id = text(&game["id"]);
        let mut live = server.nobody().follow(&events(id)).await;
        let earlier =
            format!("update game set created_at = created_at - interval '20 seconds' where id = '{id}'");
        server.database().await.execute(sqlx::AssertSqlSafe(earlier)).await.unwrap();
        player.act(id, "leave").await.ok(200);
        assert_eq!(live.next().await.unwrap().id, Some(1));
        player.sow(id, 1, 1).await.ok(200);
        let live = live.next().await.unwrap();
        // Read by a process that has not heard it.
        let other = server.another().await;
        let mut later = other.nobody().follow(&format!("{}?after_seq=1", events(id))).await;
        let later = later.next().await.unwrap();
        assert_eq!((live.id, &live.data["type"]), (Some(2), &json!("return")));
        assert_eq!(live.data["deadline"], later.data["deadline"]);
        other.stop().await;
    });
}
