//! Positions that are given whole: what may be, what may not, and which pits correspond.

use serde_json::{Value, json};

use crate::harness::{Answer, TestServer, test};
use crate::operations::Document;

async fn preview(server: &TestServer, position: &Value) -> Answer {
    server.nobody().post("/v1/positions/preview", json!({ "position": position })).await
}

#[test]
fn a_side_may_have_one_to_seven_pits() {
    test(async |server| {
        for variant in ["kalah", "basic"] {
            for players in 2..=4 {
                for pits in 1..=7 {
                    let position = json!({
                        "variant": variant, "pits": vec![vec![2; pits]; players], "stores": vec![1; players],
                        "to_move": players - 1,
                    });
                    let found = preview(server, &position).await.ok(200);
                    let moves = found["moves"].as_array().unwrap();
                    assert_eq!(moves.len(), pits, "{position}");
                    for sowing in moves {
                        let after = &sowing["position"];
                        assert_eq!(after["options"]["pits"], pits);
                        assert_eq!(after["options"]["players"], players);
                        let stones: u64 = after["pits"]
                            .as_array()
                            .unwrap()
                            .iter()
                            .chain([&after["stores"]])
                            .flat_map(|cups| cups.as_array().unwrap())
                            .filter_map(Value::as_u64)
                            .sum();
                        assert_eq!(
                            stones,
                            u64::try_from(players * (2 * pits + 1)).unwrap(),
                            "no stone is lost"
                        );
                    }
                }
            }
        }
    });
}

#[test]
fn a_position_that_is_over_has_no_moves() {
    test(async |server| {
        for position in [
            json!({ "variant": "kalah", "pits": [[0, 0], [0, 0]], "stores": [5, 3] }),
            json!({ "variant": "basic", "pits": [[0, 0], [1, 2]], "stores": [5, 3] }),
        ] {
            let found = preview(server, &position).await.ok(200);
            assert_eq!((&found["moves"], &found["corresponding"]), (&json!([]), &json!([])), "{position}");
        }
    });
}

#[test]
fn a_position_that_cannot_be_is_refused_with_its_reason() {
    test(async |server| {
        let document = Document::of(server).await;
        let operation = document.operation("preview_position");
        let good = json!({ "variant": "kalah", "pits": [[1, 2], [3, 0]], "stores": [4, 5], "to_move": 0 });
        preview(server, &good).await.ok(200);
        let three = json!({
            "variant": "basic", "pits": [[1, 2], [0, 0], [3, 4]], "stores": [4, 5, 6], "to_move": 0,
            "out": [false, true, false],
        });
        preview(server, &three).await.ok(200);
        let seven = |side: u8| json!(vec![vec![side; 7]; 4]);
        for (of, field, value, pointer) in [
            (&good, "pits", json!([[1, 2], [3]]), "pits"),
            (&good, "pits", json!([[1, 2], [3, 0, 0]]), "pits"),
            (&good, "pits", json!(vec![vec![1; 8]; 2]), "pits"),
            (&good, "pits", json!([[], []]), "pits"),
            (&good, "pits", json!([]), "pits"),
            (&good, "pits", json!([[1, 2]]), "pits"),
            (&good, "pits", json!(vec![[1, 2]; 5]), "pits"),
            (&good, "pits", json!(vec![[1, 2]; 300]), "pits"),
            (&good, "pits", json!(vec![vec![1; 300]; 2]), "pits"),
            (&good, "pits", json!([[1, 2], [0, 0]]), "pits"),
            (&good, "pits", json!([[0, 0], [1, 2]]), "pits"),
            (&good, "pits", json!([[255, 1], [1, 1]]), "pits"),
            (&good, "stores", json!([250, 0]), "pits"),
            (&good, "stores", json!([255, 255]), "pits"),
            (&good, "stores", json!([4]), "stores"),
            (&good, "stores", json!([4, 5, 6]), "stores"),
            (&good, "stores", json!([]), "stores"),
            (&good, "to_move", json!(2), "to_move"),
            (&good, "to_move", json!(4), "to_move"),
            (&good, "to_move", json!(255), "to_move"),
            (&good, "out", json!([false]), "out"),
            (&good, "out", json!([false, false, false]), "out"),
            (&good, "out", json!([true, false]), "out"),
            (&good, "out", json!([false, true]), "out"),
            (&three, "variant", json!("kalah"), "out"),
            (&three, "out", json!([false, true, true]), "out"),
            (&three, "out", json!([true, true, false]), "out"),
            (&three, "out", json!([false, false, false]), "pits"),
            (&three, "to_move", json!(1), "to_move"),
            (&three, "pits", json!([[1, 2], [0, 0], [0, 0]]), "pits"),
            (&three, "pits", seven(1), "stores"),
        ] {
            let mut position = of.clone();
            position[field] = value;
            let answer = preview(server, &position).await;
            let problem = operation.refuses(answer, 422, "invalid_position", &position.to_string());
            assert_eq!(problem["errors"][0]["pointer"], format!("/position/{pointer}"), "{position}");
        }
        // Of three seats two must be on the board.
        let mut alone = three.clone();
        alone["out"] = json!([false, true, true]);
        alone["pits"] = json!([[1, 2], [0, 0], [0, 0]]);
        let problem = preview(server, &alone).await.problem(422, "invalid_position");
        assert_eq!(problem["errors"][0]["pointer"], "/position/out");
    });
}

#[test]
fn options_that_contradict_a_position_are_refused() {
    test(async |server| {
        for (options, field) in [
            (json!({ "players": 3 }), "players"),
            (json!({ "pits": 6 }), "pits"),
            (json!({ "stones": 7 }), "stones"),
            (json!({ "turn_seconds": 29 }), "turn_seconds"),
            (json!({ "away_seconds": 59 }), "away_seconds"),
        ] {
            let position = json!({ "variant": "kalah", "options": options, "pits": [[1, 2], [3, 0]], "stores": [4, 5], "to_move": 0 });
            let problem = preview(server, &position).await.problem(422, "invalid_value");
            assert_eq!(problem["errors"][0]["pointer"], format!("/position/options/{field}"));
        }
    });
}

#[test]
fn each_pit_has_its_corresponding_ones() {
    test(async |server| {
        for (players, from, seats) in [
            (2, "next", vec![1]),
            (2, "opposite", vec![1]),
            (2, "all", vec![1]),
            (3, "next", vec![1]),
            (3, "opposite", vec![1]),
            (3, "all", vec![1, 2]),
            (4, "next", vec![1]),
            (4, "opposite", vec![2]),
            (4, "all", vec![1, 2, 3]),
        ] {
            for mover in 0..players {
                let pits = 5;
                let position = json!({
                    "variant": "kalah", "options": { "capture_from": from }, "pits": vec![vec![1; pits]; players],
                    "stores": vec![0; players], "to_move": mover,
                });
                let found = preview(server, &position).await.ok(200)["corresponding"].clone();
                assert_eq!(found.as_array().unwrap().len(), pits);
                for own in 0..pits {
                    let mut cups = found[own].as_array().unwrap().clone();
                    cups.sort_by_key(Value::to_string);
                    let mut expected: Vec<Value> = seats
                        .iter()
                        .map(|seat| json!({ "seat": (mover + seat) % players, "pit": pits - 1 - own }))
                        .collect();
                    expected.sort_by_key(Value::to_string);
                    assert_eq!(cups, expected, "pit {own} of seat {mover} of {players}, {from}");
                }
            }
        }
        let basic = json!({ "variant": "basic", "pits": [[1, 2], [3, 0]], "stores": [4, 5], "to_move": 0 });
        let found = preview(server, &basic).await.ok(200);
        assert_eq!(found["corresponding"], json!([[], []]), "nothing is captured in Basic Mancala");
    });
}
