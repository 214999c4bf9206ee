//! Groups: who comes and goes, what is played, who begins.

use serde_json::{Value, json};

use crate::harness::{Player, TestServer, number, test, text};

fn path(group: &Value) -> String {
    format!("/v1/groups/{}", text(&group["id"]))
}

async fn start(host: &Player, group: &Value) -> Value {
    host.post(&format!("{}/games", path(group)), json!({})).await.ok(201)
}

async fn join(player: &Player, group: &Value) -> Value {
    player.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200)
}

/// A group with this many guests, the first of them its host.
async fn group_of(server: &TestServer, new: Value, people: usize) -> (Vec<Player>, Value) {
    let host = server.guest("Host").await;
    let mut group = host.post("/v1/groups", new).await.ok(201);
    let mut players = vec![host];
    for i in 1..people {
        let player = server.guest(&format!("Player {i}")).await;
        group = join(&player, &group).await;
        players.push(player);
    }
    (players, group)
}

/// Ids of the members that are people, and who of them is the host.
fn people(group: &Value) -> Vec<(String, bool)> {
    let members = group["members"].as_array().unwrap().iter();
    let id = |m: &Value| m["player"]["id"].as_str().map(str::to_owned);
    members.filter_map(|m| Some((id(m)?, m["host"] == true))).collect()
}

#[test]
fn a_new_group_has_its_maker_as_host_and_a_code_that_can_be_read_aloud() {
    test(async |server| {
        let (players, group) = group_of(server, json!({ "variant": "basic" }), 1).await;
        assert_eq!(people(&group), [(players[0].id.clone(), true)]);
        assert_eq!(
            (&group["variant"], &group["private"], group.get("game_id")),
            (&json!("basic"), &json!(false), None)
        );
        assert_eq!(group["options"], json!({}));
        let code = text(&group["code"]);
        assert!(code.len() >= 8 && code.bytes().all(|b| b.is_ascii_uppercase()), "{code}");
        assert!(!code.contains(['I', 'L', 'O']), "{code}");
        assert_eq!(players[0].get(&path(&group)).await.ok(200), group);
    });
}

#[test]
fn anybody_joins_by_the_code_in_any_case_and_as_often_as_they_like() {
    test(async |server| {
        let (players, group) = group_of(server, json!({ "variant": "kalah", "private": true }), 1).await;
        let guest = server.guest("Ben").await;
        let lower = text(&group["code"]).to_lowercase();
        let expected = [(players[0].id.clone(), true), (guest.id.clone(), false)];
        for code in [lower.clone(), text(&group["code"]).to_owned(), format!(" {lower} ")] {
            let joined = guest.post("/v1/groups/join", json!({ "code": code })).await.ok(200);
            assert_eq!(people(&joined), expected);
        }
        let answers = crate::harness::at_once((0..10).map(|_| {
            let (guest, group) = (guest.clone(), group.clone());
            async move { join(&guest, &group).await }
        }));
        assert!(answers.await.iter().all(|joined| people(joined) == expected));
        for code in ["AAAAAAAA", "", "no such code"] {
            guest.post("/v1/groups/join", json!({ "code": code })).await.problem(404, "code_not_found");
        }
        server.nobody().post("/v1/groups/join", json!({ "code": lower })).await.problem(401, "token_missing");
    });
}

#[test]
fn a_group_has_four_members_at_most_however_many_come_at_once() {
    test(async |server| {
        let (_, group) = group_of(server, json!({ "variant": "kalah" }), 2).await;
        let mut guests = Vec::new();
        for i in 0..8 {
            guests.push(server.guest(&format!("Guest {i}")).await);
        }
        let answers = crate::harness::at_once(guests.into_iter().map(|guest| {
            let code = group["code"].clone();
            async move { guest.post("/v1/groups/join", json!({ "code": code })).await }
        }));
        let (joined, refused): (Vec<_>, Vec<_>) = answers.await.into_iter().partition(|a| a.status == 200);
        assert_eq!(joined.len(), 2);
        for answer in refused {
            answer.problem(409, "group_full");
        }
    });
}

#[test]
fn nobody_joins_while_a_game_is_running() {
    test(async |server| {
        let (players, group) = group_of(server, json!({ "variant": "kalah" }), 2).await;
        let game = start(&players[0], &group).await;
        let late = server.guest("Late").await;
        let code = json!({ "code": group["code"] });
        late.post("/v1/groups/join", code.clone()).await.problem(409, "group_playing");
        // A member is one already.
        players[1].post("/v1/groups/join", code.clone()).await.ok(200);
        players[1].act(text(&game["id"]), "resign").await.ok(200);
        assert_eq!(people(&late.post("/v1/groups/join", code).await.ok(200)).len(), 3);
    });
}

#[test]
fn the_host_hands_over_by_leaving_and_the_last_one_turns_off_the_light() {
    test(async |server| {
        let (players, group) = group_of(server, json!({ "variant": "kalah" }), 3).await;
        let (group_path, me) = (path(&group), format!("{}/members/me", path(&group)));
        players[0].post(&format!("{group_path}/computers"), json!({ "level": "easy" })).await.ok(200);
        assert_eq!(players[0].delete(&me).await.status, 204);
        let now = players[1].get(&group_path).await.ok(200);
        assert_eq!(people(&now), [(players[1].id.clone(), true), (players[2].id.clone(), false)]);
        players[0].delete(&me).await.problem(403, "not_member");
        // Somebody else's leaving changes no host.
        assert_eq!(players[2].delete(&me).await.status, 204);
        assert_eq!(people(&players[1].get(&group_path).await.ok(200)), [(players[1].id.clone(), true)]);
        assert_eq!(players[1].delete(&me).await.status, 204);
        assert_eq!(people(&players[1].get(&group_path).await.ok(200)), []);
        // Whoever comes next leads.
        assert_eq!(people(&join(&players[2], &group).await), [(players[2].id.clone(), true)]);
    });
}

#[test]
fn computers_come_and_go_by_the_host() {
    test(async |server| {
        let (players, group) = group_of(server, json!({ "variant": "kalah" }), 2).await;
        let computers = format!("{}/computers", path(&group));
        let easy = json!({ "level": "easy" });
        players[1].post(&computers, easy.clone()).await.problem(403, "not_host");
        server.guest("Stranger").await.post(&computers, easy.clone()).await.problem(403, "not_member");
        players[0].post(&computers, json!({ "level": "godlike" })).await.problem(422, "invalid_value");
        players[0].post(&computers, easy.clone()).await.ok(200);
        let now = players[0].post(&computers, json!({ "level": "medium" })).await.ok(200);
        let members = now["members"].as_array().unwrap();
        assert_eq!((&members[2]["computer"], &members[3]["computer"]), (&json!("easy"), &json!("medium")));
        players[0].post(&computers, easy.clone()).await.problem(409, "group_full");
        let one = format!("{computers}/{}", text(&members[2]["id"]));
        players[1].delete(&one).await.problem(403, "not_host");
        let person = format!("{computers}/{}", text(&members[1]["id"]));
        players[0].delete(&person).await.problem(404, "member_not_found");
        assert_eq!(players[0].delete(&one).await.ok(200)["members"].as_array().unwrap().len(), 3);
        players[0].delete(&one).await.problem(404, "member_not_found");
        let game = start(&players[0], &group).await;
        assert_eq!(game["seats"][2]["computer"], "medium");
        players[0].post(&computers, easy).await.problem(409, "group_playing");
        let other = format!("{computers}/{}", text(&members[3]["id"]));
        players[0].delete(&other).await.problem(409, "group_playing");
    });
}

#[test]
fn the_host_changes_the_settings_and_options_are_replaced_whole() {
    test(async |server| {
        let options = json!({ "pits": 6, "stones": 5, "capture_empty": true });
        let (players, group) = group_of(server, json!({ "variant": "kalah", "options": options }), 2).await;
        let path = path(&group);
        assert_eq!(group["options"], options);
        players[1].patch(&path, json!({ "private": true })).await.problem(403, "not_host");
        server.guest("Stranger").await.patch(&path, json!({})).await.problem(403, "not_member");
        let now = players[0].patch(&path, json!({ "options": { "stones": 3 } })).await.ok(200);
        assert_eq!((&now["options"], &now["variant"]), (&json!({ "stones": 3 }), &json!("kalah")));
        let now = players[0].patch(&path, json!({ "variant": "basic", "private": true })).await.ok(200);
        assert_eq!(
            (&now["options"], &now["variant"], &now["private"]),
            (&json!({ "stones": 3 }), &json!("basic"), &json!(true))
        );
        for (options, pointer) in [
            (json!({ "pits": 5 }), "/options/pits"),
            (json!({ "stones": 2 }), "/options/stones"),
            (json!({ "stones": 7 }), "/options/stones"),
            (json!({ "players": 5 }), "/options/players"),
            (json!({ "turn_seconds": 45 }), "/options/turn_seconds"),
            (json!({ "away_seconds": 59 }), "/options/away_seconds"),
            (json!({ "away_seconds": 86_401 }), "/options/away_seconds"),
            (json!({ "stand_in": "perfect" }), "/options/stand_in"),
        ] {
            let problem =
                players[0].patch(&path, json!({ "options": options })).await.problem(422, "invalid_value");
            assert_eq!(problem["errors"][0]["pointer"], pointer);
            let new = json!({ "variant": "kalah", "options": options });
            players[0].post("/v1/groups", new).await.problem(422, "invalid_value");
        }
        assert_eq!(players[0].get(&path).await.ok(200), now);
        let game = start(&players[0], &now).await;
        assert_eq!((&game["variant"], &game["options"]["stones"]), (&json!("basic"), &json!(3)));
    });
}

#[test]
fn a_game_takes_what_applies_and_the_group_keeps_what_was_asked() {
    let asked = json!({ "pits": 7, "capture_from": "opposite", "full_ranking": false, "turn_seconds": 30 });
    let game = |variant: &str, players: u64, pits: u64, more: Value| {
        let mut effective = json!({ "players": players, "pits": pits, "stones": 4, "rotate_starter": true,
            "turn_seconds": 30, "stand_in": "medium" });
        effective.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        (variant.to_owned(), players, effective)
    };
    test(async |server| {
        for (variant, players, effective) in [
            game("kalah", 2, 7, json!({ "capture_empty": false })),
            game("kalah", 3, 6, json!({ "capture_empty": false, "capture_from": "opposite" })),
            game("kalah", 4, 6, json!({ "capture_empty": false, "capture_from": "opposite" })),
            game("basic", 2, 7, json!({})),
            game("basic", 3, 6, json!({ "full_ranking": false })),
        ] {
            let people = usize::try_from(players).unwrap();
            let (host, group) =
                group_of(server, json!({ "variant": variant, "options": asked }), people).await;
            let game = start(&host[0], &group).await;
            assert_eq!(game["options"], effective, "{variant} for {players}");
            assert_eq!(game["seats"][0]["pits"].as_array().unwrap().len() as u64, number(&effective["pits"]));
            assert!(game["deadline"].is_string());
            assert_eq!(host[0].get(&path(&group)).await.ok(200)["options"], asked);
        }
        // Four pits are for three and four players.
        let four = json!({ "variant": "kalah", "options": { "pits": 4 } });
        for (people, pits) in [(2, 6), (3, 4), (4, 4)] {
            let (host, group) = group_of(server, four.clone(), people).await;
            assert_eq!(start(&host[0], &group).await["options"]["pits"], pits);
        }
    });
}

#[test]
fn a_game_needs_the_members_that_its_options_ask_for() {
    test(async |server| {
        let new = json!({ "variant": "kalah", "options": { "players": 3 } });
        let (mut players, group) = group_of(server, new, 1).await;
        let games = format!("{}/games", path(&group));
        players[0].post(&games, json!({})).await.problem(409, "too_few_members");
        players.push(server.guest("Two").await);
        join(&players[1], &group).await;
        let problem = players[0].post(&games, json!({})).await.problem(422, "invalid_value");
        assert_eq!(problem["errors"][0]["pointer"], "/options/players");
        players.push(server.guest("Three").await);
        join(&players[2], &group).await;
        players[1].post(&games, json!({})).await.problem(403, "not_host");
        server.guest("Stranger").await.post(&games, json!({})).await.problem(403, "not_member");
        let game = start(&players[0], &group).await;
        assert_eq!(game["options"]["players"], 3);
        assert_eq!(game["group_id"], group["id"]);
        players[0].post(&games, json!({})).await.problem(409, "group_playing");
        assert_eq!(players[0].get(&path(&group)).await.ok(200)["game_id"], game["id"]);
    });
}

/// Ends the group's game: all but the first of its players resign.
async fn end(people: &[&Player], game: &Value) {
    for player in &people[1..] {
        player.act(text(&game["id"]), "resign").await.ok(200);
    }
}

fn starter(game: &Value) -> u64 {
    assert_eq!(game["starter"], game["to_move"]);
    number(&game["starter"])
}

#[test]
fn the_start_goes_round_from_game_to_game() {
    test(async |server| {
        let (players, group) = group_of(server, json!({ "variant": "kalah" }), 3).await;
        let everybody: Vec<&Player> = players.iter().collect();
        let mut game = start(&players[0], &group).await;
        for _ in 0..4 {
            end(&everybody, &game).await;
            let next = start(&players[0], &group).await;
            assert_eq!(starter(&next), (starter(&game) + 1) % 3);
            assert_eq!(
                crate::harness::of_seats(&next, "player"),
                crate::harness::of_seats(&game, "player"),
                "the same people on the same seats"
            );
            game = next;
        }
    });
}

#[test]
fn without_rotation_the_same_seat_begins_again() {
    test(async |server| {
        let new = json!({ "variant": "kalah", "options": { "rotate_starter": false } });
        let (players, group) = group_of(server, new, 3).await;
        let everybody: Vec<&Player> = players.iter().collect();
        let game = start(&players[0], &group).await;
        for _ in 0..3 {
            let last = players[0].get(&path(&group)).await.ok(200);
            end(&everybody, &players[0].game(text(&last["game_id"])).await).await;
            assert_eq!(starter(&start(&players[0], &group).await), starter(&game));
        }
    });
}

#[test]
fn after_somebody_has_left_the_start_goes_to_the_next_in_the_present_order() {
    test(async |server| {
        // Who leaves before the next game, counted from whoever began, in the order of joining.
        for leaving in [vec![0], vec![1], vec![3], vec![0, 2], vec![0, 3], vec![1, 2]] {
            for first in 0..4 {
                let (players, group) = group_of(server, json!({ "variant": "kalah" }), 4).await;
                let everybody: Vec<&Player> = players.iter().collect();
                loop {
                    let game = start(&players[0], &group).await;
                    end(&everybody, &game).await;
                    if number(&game["starter"]) == first as u64 {
                        break;
                    }
                }
                let leaves: Vec<usize> = leaving.iter().map(|n| (first + n) % 4).collect();
                for &seat in &leaves {
                    let me = format!("{}/members/me", path(&group));
                    assert_eq!(players[seat].delete(&me).await.status, 204);
                }
                let stay: Vec<usize> = (0..4).filter(|seat| !leaves.contains(seat)).collect();
                let expected = (1..=4).map(|n| (first + n) % 4).find(|seat| stay.contains(seat)).unwrap();
                let next = start(&players[stay[0]], &group).await;
                let begins = stay[usize::try_from(starter(&next)).unwrap()];
                assert_eq!(begins, expected, "{first} began, then {leaves:?} left");
            }
        }
    });
}
