//! The same people once more.

use serde_json::{Value, json};

use crate::harness::{Player, TestServer, at_once, number, of_seats, play_on, test, text};

/// A group's game that has ended, as it was at its start.
async fn ended(server: &TestServer, players: usize, options: Value) -> (Vec<Player>, Value, Value) {
    let (people, group, game) =
        server.group_game(json!({ "variant": "basic", "options": options }), players).await;
    for player in &people[1..] {
        player.act(text(&game["id"]), "resign").await.ok(200);
    }
    (people, group, game)
}

#[test]
fn a_rematch_starts_when_everybody_has_agreed() {
    test(async |server| {
        let (people, group, game) = ended(server, 3, json!({ "stones": 3 })).await;
        let id = text(&game["id"]);
        assert_eq!(people[2].act(id, "rematch").await.ok(200), json!({ "status": "offered", "agreed": [2] }));
        assert_eq!(people[2].act(id, "rematch").await.ok(200), json!({ "status": "offered", "agreed": [2] }));
        assert_eq!(
            people[0].act(id, "rematch").await.ok(200),
            json!({ "status": "offered", "agreed": [0, 2] })
        );
        let started = people[1].act(id, "rematch").await.ok(200);
        assert_eq!((&started["status"], &started["agreed"]), (&json!("started"), &json!([0, 1, 2])));
        for player in &people {
            assert_eq!(
                player.act(id, "rematch").await.ok(200),
                started,
                "asked again, the answer is the same"
            );
        }
        let next = people[0].game(text(&started["game_id"])).await;
        assert_ne!(next["id"], game["id"]);
        assert_eq!(
            (&next["status"], &next["seq"], &next["group_id"]),
            (&json!("running"), &json!(0), &group["id"])
        );
        assert_eq!((&next["variant"], &next["options"]), (&game["variant"], &game["options"]));
        assert_eq!(of_seats(&next, "player"), of_seats(&game, "player"));
        assert_eq!(number(&next["starter"]), (number(&game["starter"]) + 1) % 3);
        let group = people[0].get(&format!("/v1/groups/{}", text(&group["id"]))).await.ok(200);
        assert_eq!(group["game_id"], next["id"]);
    });
}

#[test]
fn without_rotation_a_rematch_starts_with_the_same_seat() {
    test(async |server| {
        let (people, _, game) = ended(server, 2, json!({ "rotate_starter": false })).await;
        people[0].act(text(&game["id"]), "rematch").await.ok(200);
        let started = people[1].act(text(&game["id"]), "rematch").await.ok(200);
        assert_eq!(people[0].game(text(&started["game_id"])).await["starter"], game["starter"]);
    });
}

#[test]
fn all_agreeing_at_once_start_one_rematch() {
    test(async |server| {
        for _ in 0..5 {
            let (people, _, game) = ended(server, 4, json!({})).await;
            let requests = (0..20).map(|i| {
                let (player, id) = (people[i % 4].clone(), text(&game["id"]).to_owned());
                async move { player.act(&id, "rematch").await.ok(200) }
            });
            let answers = at_once(requests).await;
            let started: Vec<&Value> = answers.iter().filter_map(|answer| answer.get("game_id")).collect();
            assert!(!started.is_empty());
            assert!(started.iter().all(|id| *id == started[0]), "{started:?}");
        }
    });
}

#[test]
fn against_computers_alone_a_rematch_starts_at_once() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let new = json!({ "variant": "kalah", "computers": ["easy"], "starter": "computer", "options": { "stones": 3 } });
        let game = player.post("/v1/games", new).await.ok(201);
        let id = text(&game["id"]);
        player.act(id, "rematch").await.problem(409, "game_not_over");
        play_on(std::slice::from_ref(&player), id, |legal| legal[0]).await;
        let started = player.act(id, "rematch").await.ok(200);
        assert_eq!((&started["status"], &started["agreed"]), (&json!("started"), &json!([0])));
        assert_eq!(player.act(id, "rematch").await.ok(200), started);
        let next = player.game(text(&started["game_id"])).await;
        assert_eq!((&next["starter"], &next["options"]), (&json!(0), &game["options"]));
        assert_eq!(next["seats"][1]["computer"], "easy");
    });
}

#[test]
fn a_rematch_is_for_the_seated_and_for_games_that_are_over() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let id = text(&game["id"]);
        people[0].act(id, "rematch").await.problem(409, "game_not_over");
        server.guest("Stranger").await.act(id, "rematch").await.problem(403, "not_seated");
        server.nobody().act(id, "rematch").await.problem(401, "token_missing");
    });
}

#[test]
fn a_group_that_has_gone_on_has_no_rematch_of_what_was() {
    test(async |server| {
        // Somebody has left it.
        let (people, group, game) = ended(server, 3, json!({})).await;
        let (id, path) = (text(&game["id"]), format!("/v1/groups/{}", text(&group["id"])));
        assert_eq!(people[2].delete(&format!("{path}/members/me")).await.status, 204);
        people[0].act(id, "rematch").await.ok(200);
        people[1].act(id, "rematch").await.ok(200);
        people[2].act(id, "rematch").await.problem(409, "group_changed");
        assert_eq!(people[0].get(&path).await.ok(200)["game_id"], game["id"]);
        // Somebody has joined it.
        let (people, group, game) = ended(server, 2, json!({})).await;
        server.guest("New").await.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
        people[0].act(text(&game["id"]), "rematch").await.ok(200);
        people[1].act(text(&game["id"]), "rematch").await.problem(409, "group_changed");
        // It is playing its next game.
        let (people, group, game) = ended(server, 2, json!({})).await;
        people[0].post(&format!("/v1/groups/{}/games", text(&group["id"])), json!({})).await.ok(201);
        people[0].act(text(&game["id"]), "rematch").await.ok(200);
        people[1].act(text(&game["id"]), "rematch").await.problem(409, "group_playing");
    });
}
