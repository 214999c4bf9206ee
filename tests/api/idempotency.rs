//! Creating requests with an `Idempotency-Key`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Player, at_once, test, text};

async fn keyed(player: &Player, path: &str, key: &str, body: &Value) -> Answer {
    Answer::of(player.request(Method::POST, path).header("idempotency-key", key).json(body)).await
}

#[test]
fn a_creating_request_with_the_same_key_creates_one_thing() {
    test(async |server| {
        let (people, group, _) = {
            let (people, group, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
            people[1].act(text(&game["id"]), "resign").await.ok(200);
            (people, group, game)
        };
        let player = &people[0];
        let games = format!("/v1/groups/{}/games", text(&group["id"]));
        for (path, body, another) in [
            (
                "/v1/games",
                json!({ "variant": "kalah", "computers": ["easy"] }),
                json!({ "variant": "basic", "computers": ["easy"] }),
            ),
            ("/v1/groups", json!({ "variant": "kalah" }), json!({ "variant": "kalah", "private": true })),
            (games.as_str(), json!({}), json!({})),
        ] {
            let first = keyed(player, path, "a key", &body).await.ok(201);
            let again = keyed(player, path, "a key", &body).await.ok(201);
            assert_eq!(first["id"], again["id"], "{path}");
            if body != another {
                keyed(player, path, "a key", &another).await.problem(422, "idempotency_key_reused");
                assert_ne!(keyed(player, path, "another", &body).await.ok(201)["id"], first["id"]);
            }
        }
        // White space makes another body of the same object.
        let request = player.request(Method::POST, &games).header("idempotency-key", "a key");
        let other = request.header("content-type", "application/json").body("{ }");
        Answer::of(other).await.problem(422, "idempotency_key_reused");
        // A key belongs to its player, and to the operation.
        let body = json!({ "variant": "kalah", "computers": ["easy"] });
        let mine = keyed(player, "/v1/games", "a key", &body).await.ok(201);
        assert_ne!(keyed(&people[1], "/v1/games", "a key", &body).await.ok(201)["id"], mine["id"]);
        // A repeat of the group's game is answered though the game is running now.
        let running = keyed(player, &games, "a key", &json!({})).await.ok(201);
        assert_eq!(running["status"], "running");
        keyed(player, &games, "a new key", &json!({})).await.problem(409, "group_playing");
        for key in ["", &"k".repeat(129)] {
            keyed(player, "/v1/games", key, &body).await.problem(400, "invalid_parameter");
        }
    });
}

#[test]
fn twenty_requests_with_one_key_at_once_create_one_game() {
    test(async |server| {
        let other = server.another().await;
        let (people, group, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        people[1].act(text(&game["id"]), "resign").await.ok(200);
        let games = format!("/v1/groups/{}/games", text(&group["id"]));
        for (path, body) in
            [("/v1/games", json!({ "variant": "kalah", "computers": ["easy"] })), (games.as_str(), json!({}))]
        {
            let requests = (0..20).map(|i| {
                let player = if i % 2 == 0 { people[0].clone() } else { people[0].via(&other) };
                let (path, body) = (path.to_owned(), body.clone());
                async move { keyed(&player, &path, "at once", &body).await.ok(201)["id"].clone() }
            });
            let ids = at_once(requests).await;
            assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        }
        let count: i64 = sqlx::query_scalar("select count(*) from game")
            .fetch_one(&mut server.database().await)
            .await
            .unwrap();
        assert_eq!(count, 3, "the first game of the group, one more, one against the computer");
        other.stop().await;
    });
}
