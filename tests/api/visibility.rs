//! Who may see what: one check for everything of a game or a group.

use serde_json::{Value, json};

use crate::harness::{Player, TestServer, number, test, text};

fn private(private: bool) -> Value {
    json!({ "variant": "kalah", "private": private })
}

/// Every way of reading a game or its group, with the code of its absence.
fn readings(group: &Value, game: &Value) -> Vec<(String, &'static str)> {
    let (group, game) = (text(&group["id"]), text(&game["id"]));
    let of_game = ["", "/preview", "/record", "?after_seq=0&wait=1"];
    let games = of_game.iter().map(|what| (format!("/v1/games/{game}{what}"), "game_not_found"));
    games.chain([(format!("/v1/groups/{group}"), "group_not_found")]).collect()
}

/// Every way of finding a game in a list.
fn lists(player: &Player) -> Vec<String> {
    let filters = ["", "?variant=kalah", "?status=running"].map(str::to_owned);
    let mut lists: Vec<String> = filters.iter().map(|filter| format!("/v1/games{filter}")).collect();
    lists.push(format!("/v1/games?player={}", player.id));
    lists.push(format!("/v1/games?variant=kalah&status=running&player={}", player.id));
    lists
}

async fn sees(viewer: &Player, people: &[Player], group: &Value, game: &Value, expected: bool) {
    for (path, absent) in readings(group, game) {
        let answer = viewer.get(&path).await;
        if expected {
            answer.ok(200);
        } else {
            answer.problem(404, absent);
        }
    }
    for list in lists(&people[0]) {
        let page = viewer.get(&list).await.ok(200);
        let listed = page["items"].as_array().unwrap().iter().any(|item| item["id"] == game["id"]);
        assert_eq!(listed, expected, "{list}");
    }
}

#[test]
fn a_public_group_and_its_games_are_there_for_everybody() {
    test(async |server| {
        let (people, group, game) = server.group_game(private(false), 2).await;
        people[0].sow(text(&game["id"]), 0, 0).await;
        for viewer in [server.nobody(), server.guest("Stranger").await, people[1].clone()] {
            sees(&viewer, &people, &group, &game, true).await;
        }
    });
}

#[test]
fn a_private_group_and_its_games_are_there_for_members_only() {
    test(async |server| {
        let (people, group, game) = server.group_game(private(true), 2).await;
        for member in &people {
            sees(member, &people, &group, &game, true).await;
        }
        for stranger in [server.nobody(), server.guest("Stranger").await] {
            sees(&stranger, &people, &group, &game, false).await;
        }
    });
}

#[test]
fn a_group_that_becomes_private_or_public_takes_its_games_along() {
    test(async |server| {
        let (people, group, game) = server.group_game(private(false), 2).await;
        let stranger = server.guest("Stranger").await;
        let path = format!("/v1/groups/{}", text(&group["id"]));
        for hidden in [true, false, true] {
            people[0].patch(&path, json!({ "private": hidden })).await.ok(200);
            sees(&stranger, &people, &group, &game, !hidden).await;
            sees(&people[1], &people, &group, &game, true).await;
        }
    });
}

#[test]
fn whoever_was_seated_still_sees_the_game_after_leaving_the_group() {
    test(async |server| {
        let (people, group, game) = server.group_game(private(true), 2).await;
        let path = format!("/v1/groups/{}", text(&group["id"]));
        assert_eq!(people[1].delete(&format!("{path}/members/me")).await.status, 204);
        people[1].get(&path).await.problem(404, "group_not_found");
        let id = text(&game["id"]);
        for what in ["", "/preview", "/record"] {
            people[1].get(&format!("/v1/games/{id}{what}")).await.ok(200);
        }
        for list in lists(&people[0]) {
            let page = people[1].get(&list).await.ok(200);
            assert_eq!(page["items"][0]["id"], game["id"], "{list}");
        }
        // The seat is still theirs.
        let mover = usize::try_from(number(&game["to_move"])).unwrap();
        people[mover].sow(id, 0, 0).await.ok(200);
        people[1].act(id, "resign").await.ok(200);
    });
}

#[test]
fn a_new_member_sees_the_earlier_games_of_a_private_group() {
    test(async |server| {
        let (people, group, game) = server.group_game(private(true), 2).await;
        people[1].act(text(&game["id"]), "resign").await.ok(200);
        let late = server.guest("Late").await;
        late.get(&format!("/v1/games/{}", text(&game["id"]))).await.problem(404, "game_not_found");
        late.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
        assert_eq!(late.game(text(&game["id"])).await["status"], "finished");
    });
}

/// What every documented operation below these paths answers to a stranger: methods, paths and the answers' status.
async fn tried_by(stranger: &Player, server: &TestServer, group: &Value, game: &Value) -> Vec<(String, u16)> {
    let document = server.nobody().get("/openapi.json").await.ok(200);
    let mut tried = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let id = match path {
            path if path.starts_with("/v1/games/{id}") => &game["id"],
            path if path.starts_with("/v1/groups/{id}") => &group["id"],
            _ => continue,
        };
        let real = path.replace("{id}", text(id)).replace("{member_id}", text(&group["members"][0]["id"]));
        assert!(!real.contains('{'), "a parameter that this test does not know: {path}");
        for method in item.as_object().unwrap().keys() {
            let body = match (method.as_str(), path.rsplit('/').next()) {
                ("post", Some("moves")) => Some(json!({ "pit": 0, "seq": 0 })),
                ("post", Some("computers")) => Some(json!({ "level": "easy" })),
                ("post" | "put" | "patch", _) => Some(json!({})),
                _ => None,
            };
            let verb = reqwest::Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let request = stranger.request(verb, &real);
            let request = match body {
                Some(body) => request.json(&body),
                None => request,
            };
            tried.push((
                format!("{method} {path}"),
                crate::harness::Answer::of(request).await.status.as_u16(),
            ));
        }
    }
    tried
}

#[test]
fn no_documented_operation_tells_a_stranger_of_a_private_game_or_group() {
    test(async |server| {
        let (people, group, game) = server.group_game(private(true), 2).await;
        let (stranger, nobody) = (server.guest("Stranger").await, server.nobody());
        for (operation, status) in tried_by(&stranger, server, &group, &game).await {
            assert_eq!(status, 404, "{operation}");
        }
        let tried = tried_by(&nobody, server, &group, &game).await;
        assert!(
            tried.iter().filter(|(operation, _)| operation.starts_with("get ")).count() >= 4,
            "{tried:?}"
        );
        for (operation, status) in tried {
            // Acting asks for a token first, and says nothing of the game by that; so does what only players are told.
            let for_players = ["/hint", "/presence"].iter().any(|end| operation.ends_with(end));
            let reads = operation.starts_with("get ") && !for_players;
            assert!(status == 404 || (!reads && status == 401), "{operation}: {status}");
        }
        assert_eq!(people[0].game(text(&game["id"])).await["seq"], 0);
    });
}
