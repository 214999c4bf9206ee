//! Values that have the right type and still cannot be.

use serde_json::{Value, json};

use crate::harness::test;
use crate::operations::{Document, World};

#[test]
fn names_that_cannot_be_shown_are_refused() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let before = server.everything().await;
        let long = "a".repeat(10_000);
        let wide = "é".repeat(41);
        let marks = format!("a{}", "\u{301}".repeat(40));
        for name in [
            "",
            " ",
            "\u{a0}",
            "a\0b",
            "\0",
            "a\nb",
            "a\tb",
            "\r\n",
            "\u{1b}[31m",
            "\u{7f}",
            "\u{85}",
            "a\u{202e}b",
            "\u{2066}a\u{2069}",
            "\u{200b}",
            "a\u{200d}b",
            "\u{feff}a",
            "\u{2028}",
            "\u{e0041}",
            &long,
            &wide,
            &marks,
        ] {
            for id in ["create_guest", "update_me"] {
                let operation = document.operation(id);
                let answer = world.send(operation, json!({ "name": name }).to_string()).await;
                let problem = operation.refuses(answer, 422, "invalid_value", &format!("{name:?}"));
                assert_eq!(problem["errors"][0]["pointer"], "/name");
            }
        }
        assert_eq!(server.everything().await, before);
        for name in
            ["José", "李小龍", "أحمد", "🎲🎲", "O'Brien; drop table player", "<b>x</b>", &"é".repeat(40)]
        {
            let answer =
                world.send(document.operation("update_me"), json!({ "name": name }).to_string()).await;
            assert_eq!(answer.ok(200)["name"], name);
        }
    });
}

/// An option with values that no game allows.
fn bad_options() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("players", vec![json!(0), json!(1), json!(5), json!(255), json!(256)]),
        ("pits", vec![json!(0), json!(1), json!(3), json!(5), json!(8), json!(256)]),
        ("stones", vec![json!(0), json!(2), json!(7), json!(255), json!(256)]),
        ("capture_from", vec![json!("left"), json!("Next"), json!("")]),
        ("capture_empty", vec![json!("yes"), json!(0)]),
        ("full_ranking", vec![json!("no"), json!(1)]),
        ("rotate_starter", vec![json!("yes"), json!([])]),
        (
            "turn_seconds",
            vec![json!(0), json!(29), json!(31), json!(59), json!(61), json!(4_294_967_296_u64)],
        ),
        ("away_seconds", vec![json!(0), json!(59), json!(86_401), json!(-1)]),
        ("stand_in", vec![json!("perfect"), json!("Easy"), json!("")]),
    ]
}

#[test]
fn every_option_out_of_its_range_is_refused_wherever_options_are_taken() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let before = server.everything().await;
        for (option, values) in bad_options() {
            for value in values {
                for variant in ["kalah", "basic"] {
                    let mut options = json!({});
                    options[option] = value.clone();
                    let group = json!({ "variant": variant, "options": options });
                    let mut game = group.clone();
                    game["computers"] = json!(["easy", "easy"]);
                    let mut record = document.example(document.operation("replay_record"));
                    record["variant"] = json!(variant);
                    record["options"]["players"] = json!(2);
                    record["options"][option] = value.clone();
                    for (id, body) in [
                        ("create_group", &group),
                        ("update_group", &group),
                        ("create_game", &game),
                        ("replay_record", &record),
                    ] {
                        let operation = document.operation(id);
                        let answer = world.send(operation, body.to_string()).await;
                        let problem = operation.refuses(answer, 422, "invalid_value", &body.to_string());
                        assert_eq!(problem["errors"][0]["pointer"], format!("/options/{option}"), "{body}");
                    }
                }
            }
        }
        assert_eq!(server.everything().await, before);
    });
}

#[test]
fn a_number_of_pits_that_does_not_fit_the_players_becomes_six() {
    test(async |server| {
        let player = server.guest("Ana").await;
        for variant in ["kalah", "basic"] {
            for (pits, computers, effective) in [
                (4, 1, 6),
                (6, 1, 6),
                (7, 1, 7),
                (4, 2, 4),
                (6, 2, 6),
                (7, 2, 6),
                (4, 3, 4),
                (6, 3, 6),
                (7, 3, 6),
            ] {
                let computers = vec!["easy"; computers];
                let new = json!({ "variant": variant, "options": { "pits": pits }, "computers": computers });
                let game = player.post("/v1/games", new).await.ok(201);
                assert_eq!(game["options"]["pits"], effective, "{pits} pits against {}", computers.len());
                for seat in game["seats"].as_array().unwrap() {
                    assert_eq!(seat["pits"].as_array().unwrap().len(), effective);
                }
            }
            for pits in [4, 6, 7] {
                let new = json!({ "variant": variant, "options": { "pits": pits } });
                assert_eq!(
                    player.post("/v1/groups", new).await.ok(201)["options"]["pits"],
                    pits,
                    "kept as asked"
                );
            }
        }
    });
}

fn position() -> Value {
    json!({ "variant": "kalah", "pits": [[1, 2], [3, 0]], "stores": [0, 0], "to_move": 0 })
}

#[test]
fn values_that_nothing_has_are_refused_with_their_place() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let before = server.everything().await;
        let game = |field: &str, value: Value| {
            let mut game = json!({ "variant": "kalah", "computers": ["easy"] });
            game[field] = value;
            game
        };
        for (id, body, code, pointer) in [
            ("create_game", game("variant", json!("oware")), "invalid_value", "/variant"),
            ("create_game", game("variant", json!("Kalah")), "invalid_value", "/variant"),
            ("create_game", game("variant", json!("kalah\u{0}")), "invalid_value", "/variant"),
            ("create_game", game("computers", json!([])), "invalid_value", "/computers"),
            ("create_game", game("computers", json!(vec!["easy"; 4])), "invalid_value", "/computers"),
            ("create_game", game("computers", json!(vec!["easy"; 4000])), "invalid_value", "/computers"),
            ("create_game", game("computers", json!(["easy", "godlike"])), "invalid_value", "/computers/1"),
            ("create_game", game("starter", json!("you")), "invalid_value", "/starter"),
            ("create_game", game("seed", json!(9_007_199_254_740_992_u64)), "invalid_value", "/seed"),
            ("create_game", game("seed", json!(u64::MAX)), "invalid_value", "/seed"),
            ("create_game", game("seed", json!(-1)), "invalid_value", "/seed"),
            ("create_game", game("options", json!({ "players": 3 })), "invalid_value", "/options/players"),
            ("create_group", json!({ "variant": "" }), "invalid_value", "/variant"),
            ("create_group", json!({ "variant": "kalah", "private": "yes" }), "invalid_value", "/private"),
            (
                "create_group",
                json!({ "variant": "kalah", "options": { "holes": 6 } }),
                "unknown_field",
                "/options/holes",
            ),
            ("add_group_computer", json!({ "level": "godlike" }), "invalid_value", "/level"),
            ("add_group_computer", json!({ "level": "Perfect" }), "invalid_value", "/level"),
            (
                "create_analysis",
                json!({ "position": position(), "budget_ms": 0 }),
                "invalid_value",
                "/budget_ms",
            ),
            (
                "create_analysis",
                json!({ "position": position(), "budget_ms": 5001 }),
                "invalid_value",
                "/budget_ms",
            ),
            (
                "create_analysis",
                json!({ "position": position(), "budget_ms": -1 }),
                "invalid_value",
                "/budget_ms",
            ),
            (
                "create_analysis",
                json!({ "position": position(), "budget_ms": 1.5 }),
                "invalid_value",
                "/budget_ms",
            ),
            (
                "create_analysis",
                json!({ "position": position(), "budget_ms": "1" }),
                "invalid_value",
                "/budget_ms",
            ),
            ("create_analysis", json!({ "position": [] }), "invalid_value", "/position"),
            ("create_analysis", json!({}), "invalid_value", ""),
            ("create_move", json!({ "pit": 6, "seq": 0 }), "pit_out_of_range", "/pit"),
            ("create_move", json!({ "pit": 255, "seq": 0 }), "pit_out_of_range", "/pit"),
            ("create_move", json!({ "pit": 256, "seq": 0 }), "pit_out_of_range", "/pit"),
            ("create_move", json!({ "pit": 4_294_967_295_u32, "seq": 0 }), "pit_out_of_range", "/pit"),
            ("create_move", json!({ "pit": 4_294_967_296_u64, "seq": 0 }), "invalid_value", "/pit"),
            ("create_move", json!({ "pit": -1, "seq": 0 }), "invalid_value", "/pit"),
            ("create_move", json!({ "pit": 0, "seq": -1 }), "invalid_value", "/seq"),
        ] {
            let operation = document.operation(id);
            let answer = world.send(operation, body.to_string()).await;
            let problem = operation.refuses(answer, 422, code, &body.to_string());
            assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}");
        }
        assert_eq!(server.everything().await, before);
    });
}

#[test]
fn an_empty_pit_cannot_be_sown() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        // Pit 2 of 6 × 4 ends in the own store: the same seat goes on, and pit 2 is empty.
        world.player.sow(&world.game, 2, 0).await.ok(200);
        let before = server.everything().await;
        let operation = document.operation("create_move");
        let answer = world.send(operation, json!({ "pit": 2, "seq": 1 }).to_string()).await;
        let problem = operation.refuses(answer, 422, "pit_empty", "an empty pit");
        assert_eq!(problem["errors"][0]["pointer"], "/pit");
        assert_eq!(server.everything().await, before);
    });
}

#[test]
fn a_code_that_no_group_has_is_not_found() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let operation = document.operation("join_group");
        let before = server.everything().await;
        let long = "A".repeat(10_000);
        for code in
            ["AAAAAAAA", "", "x", "%", "' or ''='", "\u{202e}", "ÄÄÄÄÄÄÄÄ", "\n", &long, "\0", "KTRW\0MHN"]
        {
            let answer = world.send(operation, json!({ "code": code }).to_string()).await;
            operation.refuses(answer, 404, "code_not_found", &format!("{code:?}"));
        }
        assert_eq!(server.everything().await, before);
    });
}

#[test]
fn parameters_that_cannot_be_are_refused() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let one = format!("/v1/games/{}?", world.game);
        let cases = [
            (
                "get_game",
                one.as_str(),
                vec![
                    "wait=26",
                    "wait=-1",
                    "wait=1.5",
                    "wait=x",
                    "wait=",
                    "wait=99999999999",
                    "after_seq=-1",
                    "after_seq=2147483648",
                    "after_seq=4294967296",
                    "after_seq=1e3",
                    "after_seq=%00",
                    "after_seq=0&after_seq=1",
                    "wait=0&wait=0",
                    "surprise=1",
                    "after_seq",
                    "After_seq=1",
                ],
            ),
            (
                "list_games",
                "/v1/games?",
                vec![
                    "variant=oware",
                    "variant=",
                    "variant=KALAH",
                    "status=over",
                    "status=",
                    "player=x",
                    "player=",
                    "player=%00",
                    "cursor=x",
                    "cursor=",
                    "cursor=%00",
                    "cursor=AAAA",
                    "cursor=%ff",
                    "surprise=1",
                    "limit=5",
                    "variant=kalah&variant=basic",
                ],
            ),
        ];
        for (id, path, queries) in cases {
            for query in queries {
                let answer = world.player.get(&format!("{path}{query}")).await;
                document.operation(id).refuses(answer, 400, "invalid_parameter", query);
            }
        }
        for query in ["wait=25", "wait=0&after_seq=2147483647", "after_seq=0"] {
            world.player.get(&format!("{one}{query}")).await.ok(200);
        }
    });
}
