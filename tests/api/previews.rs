//! The worked examples of docs/rules.md, and what a preview says against what the moves then do.

use serde_json::{Value, json};

use crate::harness::{Player, test};

/// A position of six pits a side: pits and store by seat.
fn position(variant: &str, options: &Value, sides: &[([u8; 6], u8)]) -> Value {
    json!({
        "variant": variant, "options": options, "to_move": 0,
        "pits": sides.iter().map(|side| side.0).collect::<Vec<_>>(),
        "stores": sides.iter().map(|side| side.1).collect::<Vec<_>>(),
    })
}

/// What sowing a pit does, by the preview of a position.
async fn sown(player: &Player, position: &Value, pit: u64) -> Value {
    let preview = player.post("/v1/positions/preview", json!({ "position": position })).await.ok(200);
    assert!(preview.get("seq").is_none());
    let moves = preview["moves"].as_array().unwrap();
    moves
        .iter()
        .find(|sowing| sowing["pit"] == pit)
        .unwrap_or_else(|| panic!("pit {pit} in {preview}"))
        .clone()
}

fn pit(seat: u64, pit: u64) -> Value {
    json!({ "seat": seat, "pit": pit })
}

fn store(seat: u64) -> Value {
    json!({ "seat": seat, "store": true })
}

fn taken(seat: u64, pit: u64, stones: u64) -> Value {
    json!({ "seat": seat, "pit": pit, "stones": stones })
}

/// A worked example: a position, the pit sown, and all that comes of it.
struct Example {
    name: &'static str,
    before: Value,
    pit: u64,
    path: Vec<Value>,
    captured: Vec<Value>,
    extra: bool,
    ends: bool,
    after: Vec<([u8; 6], u8)>,
    to_move: Option<u64>,
}

fn kalah_for_two() -> Vec<Example> {
    let kalah = |options: &Value, sides: &[([u8; 6], u8)]| position("kalah", options, sides);
    vec![
        Example {
            name: "1, an extra sowing",
            before: kalah(&json!({}), &[([4; 6], 0), ([4; 6], 0)]),
            pit: 2,
            path: vec![pit(0, 3), pit(0, 4), pit(0, 5), store(0)],
            captured: vec![],
            extra: true,
            ends: false,
            after: vec![([4, 4, 0, 5, 5, 5], 1), ([4; 6], 0)],
            to_move: Some(0),
        },
        Example {
            name: "1, f follows",
            before: kalah(&json!({}), &[([4, 4, 0, 5, 5, 5], 1), ([4; 6], 0)]),
            pit: 5,
            path: vec![store(0), pit(1, 0), pit(1, 1), pit(1, 2), pit(1, 3)],
            captured: vec![],
            extra: false,
            ends: false,
            after: vec![([4, 4, 0, 5, 5, 0], 2), ([5, 5, 5, 5, 4, 4], 0)],
            to_move: Some(1),
        },
        Example {
            name: "2, a capture",
            before: kalah(&json!({}), &[([0, 0, 2, 0, 0, 5], 9), ([1, 4, 0, 3, 0, 2], 22)]),
            pit: 2,
            path: vec![pit(0, 3), pit(0, 4)],
            captured: vec![taken(1, 1, 4), taken(0, 4, 1)],
            extra: false,
            ends: false,
            after: vec![([0, 0, 0, 1, 0, 5], 14), ([1, 0, 0, 3, 0, 2], 22)],
            to_move: Some(1),
        },
        Example {
            name: "3, nothing to capture",
            before: kalah(&json!({}), &[([0, 0, 2, 0, 0, 5], 9), ([1, 0, 0, 3, 0, 2], 26)]),
            pit: 2,
            path: vec![pit(0, 3), pit(0, 4)],
            captured: vec![],
            extra: false,
            ends: false,
            after: vec![([0, 0, 0, 1, 1, 5], 9), ([1, 0, 0, 3, 0, 2], 26)],
            to_move: Some(1),
        },
        Example {
            name: "3, with capture_empty",
            before: kalah(
                &json!({ "capture_empty": true }),
                &[([0, 0, 2, 0, 0, 5], 9), ([1, 0, 0, 3, 0, 2], 26)],
            ),
            pit: 2,
            path: vec![pit(0, 3), pit(0, 4)],
            captured: vec![taken(0, 4, 1)],
            extra: false,
            ends: false,
            after: vec![([0, 0, 0, 1, 0, 5], 10), ([1, 0, 0, 3, 0, 2], 26)],
            to_move: Some(1),
        },
        Example {
            name: "4, once round",
            before: kalah(&json!({}), &[([13, 0, 1, 0, 2, 0], 8), ([0, 3, 0, 1, 4, 0], 16)]),
            pit: 0,
            path: (1..6)
                .map(|i| pit(0, i))
                .chain([store(0)])
                .chain((0..6).map(|i| pit(1, i)))
                .chain([pit(0, 0)])
                .collect(),
            captured: vec![taken(1, 5, 1), taken(0, 0, 1)],
            extra: false,
            ends: false,
            after: vec![([0, 1, 2, 1, 3, 1], 11), ([1, 4, 1, 2, 5, 0], 16)],
            to_move: Some(1),
        },
        Example {
            name: "5, the end comes before the extra sowing",
            before: kalah(&json!({}), &[([0, 0, 0, 0, 0, 1], 30), ([0, 2, 0, 1, 3, 0], 11)]),
            pit: 5,
            path: vec![store(0)],
            captured: vec![],
            extra: false,
            ends: true,
            after: vec![([0; 6], 31), ([0; 6], 17)],
            to_move: None,
        },
        Example {
            name: "6, capturing the last stones of the other side",
            before: kalah(&json!({}), &[([1, 0, 0, 0, 3, 0], 18), ([0, 0, 0, 0, 6, 0], 20)]),
            pit: 0,
            path: vec![pit(0, 1)],
            captured: vec![taken(1, 4, 6), taken(0, 1, 1)],
            extra: false,
            ends: true,
            after: vec![([0; 6], 28), ([0; 6], 20)],
            to_move: None,
        },
    ]
}

fn basic() -> Vec<Example> {
    let kept = |sides: &[([u8; 6], u8)]| position("basic", &json!({}), sides);
    let round: Vec<Value> =
        [store(0)].into_iter().chain((0..6).map(|i| pit(1, i))).chain([store(1)]).collect();
    let mut shorter = kept(&[([0, 2, 0, 0, 1, 5], 12), ([0; 6], 20), ([0, 1, 0, 2, 0, 0], 29)]);
    shorter["out"] = json!([false, true, false]);
    vec![
        Example {
            name: "9, somebody else's store",
            before: kept(&[([1, 0, 0, 0, 0, 8], 15), ([2, 0, 3, 1, 0, 2], 16)]),
            pit: 5,
            path: round.clone(),
            captured: vec![],
            extra: true,
            ends: false,
            after: vec![([1, 0, 0, 0, 0, 0], 16), ([3, 1, 4, 2, 1, 3], 17)],
            to_move: Some(0),
        },
        Example {
            name: "10, winning",
            before: kept(&[([0, 0, 0, 0, 0, 8], 20), ([1, 0, 2, 0, 3, 0], 14)]),
            pit: 5,
            path: round,
            captured: vec![],
            extra: false,
            ends: true,
            after: vec![([0; 6], 21), ([2, 1, 3, 1, 4, 1], 15)],
            to_move: None,
        },
        Example {
            name: "11, a shorter circle",
            before: shorter,
            pit: 5,
            path: vec![store(0), pit(2, 0), pit(2, 1), pit(2, 2), pit(2, 3)],
            captured: vec![],
            extra: false,
            ends: false,
            after: vec![([0, 2, 0, 0, 1, 0], 13), ([0; 6], 20), ([1, 2, 1, 3, 0, 0], 29)],
            to_move: Some(2),
        },
    ]
}

fn four_players() -> Vec<Example> {
    let board = [
        ([1, 0, 0, 2, 0, 3], 16),
        ([0, 3, 0, 1, 5, 0], 15),
        ([2, 0, 1, 0, 4, 1], 17),
        ([0, 2, 0, 0, 2, 6], 15),
    ];
    [("next", &[1][..], 22), ("opposite", &[2], 21), ("all", &[1, 2, 3], 28)]
        .into_iter()
        .map(|(from, seats, stones)| {
            let mut after = board.to_vec();
            after[0] = ([0, 0, 0, 2, 0, 3], stones);
            let mut captured = Vec::new();
            for &seat in seats {
                captured.push(taken(u64::try_from(seat).unwrap(), 4, u64::from(board[seat].0[4])));
                after[seat].0[4] = 0;
            }
            captured.push(taken(0, 1, 1));
            Example {
                name: from,
                before: position("kalah", &json!({ "capture_from": from }), &board),
                pit: 0,
                path: vec![pit(0, 1)],
                captured,
                extra: false,
                ends: false,
                after,
                to_move: Some(1),
            }
        })
        .collect()
}

#[test]
fn the_worked_examples_come_out_as_the_rules_say() {
    test(async |server| {
        for example in kalah_for_two().into_iter().chain(four_players()).chain(basic()) {
            let found = sown(&server.nobody(), &example.before, example.pit).await;
            assert_eq!(found["path"], json!(example.path), "{}", example.name);
            let sorted = |cups: &Value| {
                let mut cups = cups.as_array().unwrap().clone();
                cups.sort_by_key(Value::to_string);
                cups
            };
            assert_eq!(sorted(&found["captured"]), sorted(&json!(example.captured)), "{}", example.name);
            assert_eq!(
                (&found["extra"], &found["ends_game"]),
                (&json!(example.extra), &json!(example.ends)),
                "{}",
                example.name
            );
            let after = &found["position"];
            let pits: Vec<_> = example.after.iter().map(|side| side.0).collect();
            let stores: Vec<_> = example.after.iter().map(|side| side.1).collect();
            assert_eq!(
                (&after["pits"], &after["stores"]),
                (&json!(pits), &json!(stores)),
                "{}",
                example.name
            );
            assert_eq!(after.get("to_move").and_then(Value::as_u64), example.to_move, "{}", example.name);
        }
    });
}

/// Numbers that look random and are the same in every run (an LCG of Knuth's MMIX).
struct Dice(u64);

impl Dice {
    fn pick(&mut self, from: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % from
    }
}

#[test]
fn a_preview_says_what_the_moves_then_do() {
    test(async |server| {
        let mut dice = Dice(7);
        for (group, players) in [
            (json!({ "variant": "kalah" }), 2),
            (
                json!({ "variant": "kalah", "options": { "pits": 4, "capture_from": "opposite", "capture_empty": true } }),
                3,
            ),
            (json!({ "variant": "kalah", "options": { "pits": 4, "stones": 3, "capture_from": "all" } }), 4),
            (json!({ "variant": "basic", "options": { "pits": 7, "stones": 6 } }), 2),
            (json!({ "variant": "basic", "options": { "pits": 4, "stones": 3 } }), 3),
            (json!({ "variant": "basic", "options": { "full_ranking": false } }), 4),
        ] {
            let (people, _, mut game) = server.group_game(group, players).await;
            let id = game["id"].as_str().unwrap().to_owned();
            while let Some(seat) = game["to_move"].as_u64() {
                let preview = server.nobody().get(&format!("/v1/games/{id}/preview")).await.ok(200);
                assert_eq!(preview["seq"], game["seq"]);
                let moves = preview["moves"].as_array().unwrap();
                let pits: Vec<&Value> = moves.iter().map(|sowing| &sowing["pit"]).collect();
                assert_eq!(json!(pits), game["legal"]);
                let chosen = &moves[dice.pick(moves.len())];
                let mover = &people[usize::try_from(seat).unwrap()];
                let seq = game["seq"].as_u64().unwrap();
                let played = mover.sow(&id, chosen["pit"].as_u64().unwrap(), seq).await.ok(200);
                for field in ["pit", "path", "captured", "extra", "position"] {
                    assert_eq!(played["accepted"][field], chosen[field], "{field} of {chosen}");
                }
                assert_eq!(played["accepted"].get("ends").is_some(), chosen["ends_game"] == true);
                game = played["game"].clone();
                for (seat, pits) in game["seats"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .zip(chosen["position"]["pits"].as_array().unwrap())
                {
                    assert_eq!(&seat["pits"], pits);
                }
                // The position is told in full: handed back as it is, it leads to the same.
                let again = server
                    .nobody()
                    .post("/v1/positions/preview", json!({ "position": chosen["position"] }))
                    .await;
                let same = server.nobody().get(&format!("/v1/games/{id}/preview")).await.ok(200);
                let again = again.ok(200);
                assert_eq!(
                    (&again["moves"], &again["corresponding"]),
                    (&same["moves"], &same["corresponding"])
                );
            }
            let over = server.nobody().get(&format!("/v1/games/{id}/preview")).await.ok(200);
            assert_eq!(over["moves"], json!([]));
        }
    });
}
