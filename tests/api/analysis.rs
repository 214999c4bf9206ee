//! Analysis of positions: what it answers, what it costs, what it refuses.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Answer, Player, number, test, text};

/// Two stones against three: everything about it can be seen at a glance.
fn endgame() -> Value {
    json!({ "variant": "kalah", "pits": [[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 2]], "stores": [20, 23], "to_move": 0 })
}

fn start(variant: &str, players: usize) -> Value {
    json!({ "variant": variant, "pits": vec![vec![4; 6]; players], "stores": vec![0; players], "to_move": 0 })
}

async fn analyse(player: &Player, position: &Value, budget_ms: u64) -> Answer {
    player.post("/v1/analysis", json!({ "position": position, "budget_ms": budget_ms })).await
}

/// `r` of the RateLimit header.
fn left(answer: &Answer) -> u64 {
    let text = answer.headers["ratelimit"].to_str().unwrap();
    let part = text.split(';').find_map(|part| part.trim().strip_prefix("r=")).unwrap();
    part.parse().unwrap()
}

#[test]
fn every_legal_move_gets_a_value_and_the_best_one_begins_the_line() {
    test(async |server| {
        let player = server.guest("Ana").await;
        for (position, budget) in
            [(endgame(), 200), (start("kalah", 2), 100), (start("basic", 2), 100), (start("kalah", 4), 100)]
        {
            let found = analyse(&player, &position, budget).await.ok(200);
            let preview = player.post("/v1/positions/preview", json!({ "position": position })).await.ok(200);
            let pits = |moves: &Value| -> Vec<u64> {
                moves.as_array().unwrap().iter().map(|of| number(&of["pit"])).collect()
            };
            assert_eq!(pits(&found["moves"]), pits(&preview["moves"]));
            assert_eq!(found["line"][0], found["best"]);
            assert!(pits(&found["moves"]).contains(&number(&found["best"])));
            let values = || found["moves"].as_array().unwrap().iter().map(|of| of["value"].as_i64().unwrap());
            assert_eq!(found["value"].as_i64(), values().max());
            let all_exact = found["moves"].as_array().unwrap().iter().all(|of| of["exact"] == true);
            assert!(found["exact"] == false || all_exact, "{found}");
            assert!(found["depth"].is_u64() && found["nodes"].is_u64());
            // The line can be played.
            let mut position = position;
            for pit in found["line"].as_array().unwrap() {
                let preview =
                    player.post("/v1/positions/preview", json!({ "position": position })).await.ok(200);
                let sown = preview["moves"].as_array().unwrap().iter().find(|of| &of["pit"] == pit);
                position = sown.expect("a legal move")["position"].clone();
            }
        }
    });
}

#[test]
fn values_are_margins_for_the_seat_to_move() {
    test(async |server| {
        let player = server.guest("Ana").await;
        // Pit 5 ends the game: 20 + 1 against 23 + 3. Seen from the other side of the board it is the same.
        let last = json!({ "variant": "kalah", "pits": [[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 2]], "stores": [20, 23], "to_move": 0 });
        let turned = json!({ "variant": "kalah", "pits": [[0, 0, 0, 0, 1, 2], [0, 0, 0, 0, 0, 1]], "stores": [23, 20], "to_move": 1 });
        // Basic: the last stone goes, three stay on the other side.
        let basic = json!({ "variant": "basic", "pits": [[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 2]], "stores": [20, 23], "to_move": 0 });
        for (position, value) in [(last, -5), (turned, -5), (basic, 3)] {
            let found = analyse(&player, &position, 200).await.ok(200);
            assert_eq!(found["moves"], json!([{ "pit": 5, "value": value, "exact": true }]), "{position}");
        }
    });
}

#[test]
fn positions_that_cannot_be_are_refused_before_anything_is_thought_about() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let with = |pointer: &str, value: Value| {
            let mut position = start("kalah", 2);
            *position.pointer_mut(pointer).unwrap() = value;
            position
        };
        let mut over = endgame();
        over.as_object_mut().unwrap().remove("to_move");
        let mut out = start("basic", 3);
        out["pits"][1] = json!([0, 0, 0, 0, 0, 0]);
        out["out"] = json!([false, true, false]);
        out["to_move"] = json!(1);
        let mut gone = start("kalah", 2);
        gone["out"] = json!([true, false]);
        for (position, code, pointer) in [
            (with("/stores/0", json!(53)), "invalid_position", "/position/pits"),
            (with("/stores/0", json!(250)), "invalid_position", "/position/pits"),
            (with("/pits/0/0", json!(256)), "invalid_value", "/position/pits/0/0"),
            (with("/pits/0/0", json!(-1)), "invalid_value", "/position/pits/0/0"),
            (with("/stores/1", json!(-1)), "invalid_value", "/position/stores/1"),
            (with("/pits/0", json!([4, 4])), "invalid_position", "/position/pits"),
            (with("/pits", json!(vec![vec![1; 8]; 2])), "invalid_position", "/position/pits"),
            (with("/pits", json!([[], []])), "invalid_position", "/position/pits"),
            (with("/pits", json!([[1, 1]])), "invalid_position", "/position/pits"),
            (with("/pits", json!([[1], [1], [1], [1], [1]])), "invalid_position", "/position/pits"),
            (with("/pits/1", json!([0, 0, 0, 0, 0, 0])), "invalid_position", "/position/pits"),
            (with("/stores", json!([0])), "invalid_position", "/position/stores"),
            (with("/to_move", json!(2)), "invalid_position", "/position/to_move"),
            (with("/to_move", json!(9)), "invalid_position", "/position/to_move"),
            (with("/variant", json!("oware")), "invalid_value", "/position/variant"),
            (over, "invalid_position", "/position/to_move"),
            (out, "invalid_position", "/position/to_move"),
            (gone, "invalid_position", "/position/out"),
        ] {
            let answer = analyse(&player, &position, 5_000).await;
            assert!(!answer.headers.contains_key("ratelimit"), "it costs nothing: {position}");
            let problem = answer.problem(422, code);
            assert_eq!(problem["errors"][0]["pointer"], pointer, "{position}: {problem}");
        }
        let hundred = with("/stores/0", json!(52));
        assert_eq!(left(&analyse(&player, &hundred, 50).await), 19_950, "the first that cost anything");
        server
            .nobody()
            .post("/v1/analysis", json!({ "position": endgame() }))
            .await
            .problem(401, "token_missing");
    });
}

#[test]
fn the_budget_is_a_limit_of_the_time_for_thinking() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let began = Instant::now();
        // More stones than can be searched to the end.
        let many = json!({ "variant": "kalah", "pits": vec![vec![7; 7]; 2], "stores": [0, 0], "to_move": 0 });
        let found = analyse(&player, &many, 300).await.ok(200);
        assert_eq!(found["exact"], false);
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        for budget in [0, 5_001, 4_294_967_295] {
            let problem = analyse(&player, &many, budget).await.problem(422, "invalid_value");
            assert_eq!(problem["errors"][0]["pointer"], "/budget_ms");
        }
    });
}

#[test]
fn a_player_has_twenty_seconds_of_thinking_a_minute() {
    test(async |server| {
        let player = server.guest("Ana").await;
        // Found at once, but the budget is what was asked for.
        for spent in 1..=4 {
            let answer = analyse(&player, &endgame(), 5_000).await;
            assert_eq!(answer.headers["ratelimit-policy"], "\"thinking\";q=20000;w=60");
            // Some of it is back already.
            assert!((20_000 - 5_000 * spent..=20_000).contains(&left(&answer)), "{:?}", answer.headers);
            answer.ok(200);
        }
        let refused = analyse(&player, &endgame(), 5_000).await;
        let seconds: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=16).contains(&seconds), "{seconds}");
        let problem = refused.problem(429, "rate_limited");
        assert!(text(&problem["detail"]).contains("20000 ms of thinking a minute"), "{problem}");
        // Others have their own.
        analyse(&server.guest("Ben").await, &endgame(), 5_000).await.ok(200);
    });
}

#[test]
fn positions_of_the_own_running_ranked_games_are_refused_from_either_side() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let id = text(&game["id"]).to_owned();
        let mover = &people[usize::try_from(number(&game["to_move"])).unwrap()];
        let played = mover.sow(&id, 0, 0).await.ok(200);
        let position = played["accepted"]["position"].clone();
        analyse(mover, &position, 50).await.ok(200);
        let ranked = async |ranked: bool| {
            sqlx::query("update game set ranked = $1")
                .bind(ranked)
                .execute(&mut server.database().await)
                .await
                .unwrap();
        };
        ranked(true).await;
        let mut turned = position.clone();
        for field in ["pits", "stores", "out"] {
            turned[field].as_array_mut().unwrap().reverse();
        }
        turned["to_move"] = json!(1 - number(&position["to_move"]));
        let mut disguised = position.clone();
        disguised["options"]["stones"] = json!(6);
        for player in &people {
            for position in [&position, &turned, &disguised] {
                let answer = analyse(player, position, 50).await;
                assert!(!answer.headers.contains_key("ratelimit"), "it costs nothing");
                answer.problem(409, "ranked_game");
            }
        }
        // Another position, another player, other rules, a game that is over: all of these may be looked at.
        analyse(&people[0], &start("kalah", 2), 50).await.ok(200);
        analyse(&server.guest("Stranger").await, &position, 50).await.ok(200);
        let mut other_rules = position.clone();
        other_rules["options"]["capture_empty"] = json!(true);
        analyse(&people[0], &other_rules, 50).await.ok(200);
        people[0].act(&id, "resign").await.ok(200);
        analyse(&people[1], &position, 50).await.ok(200);
    });
}
