//! Hints: for whom, when, and that their reasons are true.

use serde_json::{Value, json};

use crate::harness::{Player, TestServer, number, test, text};

async fn hint(player: &Player, game: &str, level: &str) -> Value {
    player.get(&format!("/v1/games/{game}/hint?level={level}")).await.ok(200)
}

async fn solo(player: &Player, variant: &str, computers: &[&str]) -> String {
    let new = json!({ "variant": variant, "computers": computers, "starter": "me", "seed": 1 });
    text(&player.post("/v1/games", new).await.ok(201)["id"]).to_owned()
}

/// Puts other stones on the board of a game of two.
async fn put(server: &TestServer, game: &str, mine: [i16; 7], theirs: [i16; 7]) {
    let board: Vec<i16> = mine.into_iter().chain(theirs).collect();
    assert_eq!(board.iter().sum::<i16>(), 48);
    let sql = "update game set board = $1 where id = $2::text::uuid";
    sqlx::query(sql).bind(board).bind(game).execute(&mut server.database().await).await.unwrap();
}

#[test]
fn a_hint_is_a_legal_move_with_reasons_that_the_preview_confirms() {
    test(async |server| {
        for (variant, computers) in
            [("kalah", &["easy"][..]), ("kalah", &["easy", "easy", "easy"]), ("basic", &["easy", "easy"])]
        {
            let player = server.guest("Ana").await;
            let game = solo(&player, variant, computers).await;
            for level in ["easy", "medium", "hard", "perfect"] {
                let given = hint(&player, &game, level).await;
                assert_eq!((&given["seq"], &given["level"]), (&json!(0), &json!(level)));
                let preview = player.get(&format!("/v1/games/{game}/preview")).await.ok(200);
                let moves = preview["moves"].as_array().unwrap();
                let sown = moves.iter().find(|of| of["pit"] == given["pit"]).expect("a legal pit");
                let reasons = given["reasons"].as_array().unwrap();
                assert!(!reasons.is_empty());
                let says = |code: &str| reasons.iter().any(|reason| reason["code"] == code);
                assert_eq!(says("extra_sowing"), sown["extra"] == true, "{given}");
                assert_eq!(says("ends_game"), sown["ends_game"] == true, "{given}");
                assert!(!says("capture"), "nothing can be captured at the start: {given}");
                assert!(level == "easy" || says("best_by_search"), "{given}");
                // The same state, the same hint.
                assert_eq!(hint(&player, &game, level).await, given);
            }
        }
    });
}

#[test]
fn reasons_tell_what_the_move_does() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let game = solo(&player, "kalah", &["easy"]).await;
        let seven = |pits: [i16; 6], store: i16| {
            let [a, b, c, d, e, f] = pits;
            [a, b, c, d, e, f, store]
        };
        let cases = [
            (
                seven([0, 0, 4, 0, 0, 0], 20),
                seven([4; 6], 0),
                2,
                json!([{ "code": "only_move" }, { "code": "extra_sowing" }, { "code": "prepares_extra", "pit": 5 }]),
            ),
            (
                seven([1, 0, 0, 0, 0, 0], 20),
                seven([3, 3, 3, 3, 5, 3], 7),
                0,
                json!([{ "code": "only_move" }, { "code": "ends_game" },
                    { "code": "capture", "stones": 5, "seat": 1, "pit": 4 }]),
            ),
            (
                seven([0, 0, 0, 0, 6, 0], 15),
                seven([1, 0, 3, 3, 3, 3], 14),
                4,
                json!([{ "code": "only_move" }, { "code": "protects", "pit": 4, "stones": 6 }]),
            ),
        ];
        for (i, (mine, theirs, pit, expected)) in cases.into_iter().enumerate() {
            put(server, &game, mine, theirs).await;
            // A hint is kept for a state of the game, of which there should be only one: each level is asked once.
            let given = hint(&player, &game, ["easy", "medium", "hard"][i]).await;
            assert_eq!(given["pit"], pit);
            let told = given["reasons"].as_array().unwrap();
            let certain: Vec<&Value> = told
                .iter()
                .filter(|r| !["keeps_exact_result", "best_by_search"].contains(&text(&r["code"])))
                .collect();
            assert_eq!(json!(certain), expected, "{given}");
        }
    });
}

#[test]
fn every_reason_has_its_words() {
    test(async |server| {
        let told = server.nobody().get("/v1/variants").await.ok(200);
        let texts = told["hints"].as_array().unwrap();
        let document = server.nobody().get("/openapi.json").await.ok(200);
        let codes: Vec<&Value> = document["components"]["schemas"]["HintCode"]["enum"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|code| texts.iter().all(|text| &text["code"] != *code))
            .collect();
        assert_eq!(codes, Vec::<&Value>::new());
        // Each language has the same places for numbers.
        for hint in texts {
            let places = |language: &str| {
                let mut places: Vec<&str> = text(&hint["text"][language])
                    .split('{')
                    .skip(1)
                    .map(|rest| rest.split('}').next().unwrap())
                    .collect();
                places.sort_unstable();
                places
            };
            assert_eq!(places("en"), places("pt"), "{hint}");
            assert_eq!(places("en"), places("es"), "{hint}");
        }
    });
}

#[test]
fn hints_are_for_the_player_whose_turn_it_is() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let id = text(&game["id"]);
        let path = format!("/v1/games/{id}/hint");
        let mover = usize::try_from(number(&game["to_move"])).unwrap();
        assert_eq!(people[mover].get(&path).await.ok(200)["level"], "hard");
        let problem = people[1 - mover].get(&path).await.problem(409, "not_your_turn");
        assert_eq!(problem["game"]["id"], game["id"]);
        server.nobody().get(&path).await.problem(401, "token_missing");
        let stranger = server.guest("Stranger").await;
        stranger.get(&path).await.problem(403, "not_seated");
        stranger.get(&format!("/v1/games/{}/hint", stranger.id)).await.problem(404, "game_not_found");
        for level in ["godlike", "", "Hard"] {
            let problem =
                people[mover].get(&format!("{path}?level={level}")).await.problem(400, "invalid_parameter");
            for known in ["easy", "medium", "hard", "perfect"] {
                assert!(text(&problem["detail"]).contains(known), "{problem}");
            }
        }
        let sql = "update game set ranked = $1";
        sqlx::query(sql).bind(true).execute(&mut server.database().await).await.unwrap();
        people[mover].get(&path).await.problem(409, "ranked_game");
        sqlx::query(sql).bind(false).execute(&mut server.database().await).await.unwrap();
        people[mover].act(id, "resign").await.ok(200);
        people[mover].get(&path).await.problem(409, "game_over");
    });
}

#[test]
fn hints_have_the_budget_of_analyses() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let game = solo(&player, "kalah", &["easy"]).await;
        let path = format!("/v1/games/{game}/hint?level=easy");
        let mut given = 0;
        let refused = loop {
            let answer = player.get(&path).await;
            assert!(answer.headers.contains_key("ratelimit-policy"));
            if answer.status != 200 {
                break answer;
            }
            given += 1;
        };
        // One a second, and one every three seconds comes back.
        assert!((20..40).contains(&given), "{given}");
        assert!(refused.headers.contains_key("retry-after"));
        refused.problem(429, "rate_limited");
    });
}
