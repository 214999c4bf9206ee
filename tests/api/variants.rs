//! The games and their local rules as they are told: every value works, every text is there.

use serde_json::{Value, json};

use crate::harness::{Player, test};

/// Finds every text in what is told, and asserts that it is there in three languages.
fn count_texts(value: &Value, found: &mut usize) {
    match value {
        Value::Object(fields) if fields.contains_key("en") => {
            assert_eq!(fields.len(), 3, "{value}");
            for language in ["en", "pt", "es"] {
                let text = fields[language].as_str().unwrap();
                assert!(!text.trim().is_empty() && text == text.trim(), "{language} of {value}");
            }
            *found += 1;
        }
        Value::Object(fields) => fields.values().for_each(|inner| count_texts(inner, found)),
        Value::Array(items) => items.iter().for_each(|inner| count_texts(inner, found)),
        _ => {}
    }
}

#[test]
fn every_text_is_there_in_three_languages() {
    test(async |server| {
        let told = server.nobody().get("/v1/variants").await.ok(200);
        let mut found = 0;
        count_texts(&told, &mut found);
        assert!(found > 60, "{found} texts");
        let names: Vec<&Value> =
            told["items"].as_array().unwrap().iter().map(|game| &game["variant"]).collect();
        assert_eq!(names, ["kalah", "basic"]);
        for game in told["items"].as_array().unwrap() {
            for part in ["name", "summary"] {
                assert!(game[part]["en"].is_string());
            }
            for part in ["how_to_play", "tips"] {
                assert!(!game[part].as_array().unwrap().is_empty());
            }
            for option in game["options"].as_array().unwrap() {
                assert!(
                    option["name"]["pt"].is_string() && option["description"]["es"].is_string(),
                    "{option}"
                );
            }
        }
    });
}

#[test]
fn each_game_tells_the_local_rules_that_apply_to_it() {
    test(async |server| {
        let told = server.nobody().get("/v1/variants").await.ok(200);
        let all = ["players", "pits", "stones", "rotate_starter", "turn_seconds", "away_seconds", "stand_in"];
        for (game, own) in told["items"]
            .as_array()
            .unwrap()
            .iter()
            .zip([&["capture_from", "capture_empty"][..], &["full_ranking"]])
        {
            let mut keys: Vec<&str> = game["options"]
                .as_array()
                .unwrap()
                .iter()
                .map(|option| option["key"].as_str().unwrap())
                .collect();
            keys.sort_unstable();
            let mut expected: Vec<&str> = all.iter().chain(own).copied().collect();
            expected.sort_unstable();
            assert_eq!(keys, expected);
        }
    });
}

/// A game of this many seats against computers.
async fn start(player: &Player, variant: &Value, players: u64, options: Value) -> Value {
    let computers = vec!["easy"; usize::try_from(players - 1).unwrap()];
    let new = json!({ "variant": variant, "options": options, "computers": computers, "starter": "me" });
    player.post("/v1/games", new).await.ok(201)["options"].clone()
}

#[test]
fn every_value_that_is_told_can_be_played_and_stays_as_it_is() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let told = server.nobody().get("/v1/variants").await.ok(200);
        for game in told["items"].as_array().unwrap() {
            for option in game["options"].as_array().unwrap() {
                let key = option["key"].as_str().unwrap();
                for choice in option["values"].as_array().unwrap() {
                    for players in choice["players"].as_array().unwrap().iter().filter_map(Value::as_u64) {
                        let defaults = start(&player, &game["variant"], players, json!({})).await;
                        if key != "players" {
                            let default = defaults.get(key).unwrap_or(&Value::Null);
                            assert_eq!(default, &choice["default"], "{key} for {players}");
                        }
                        for value in choice["values"].as_array().unwrap() {
                            let value = &value["value"];
                            let players = if key == "players" { value.as_u64().unwrap() } else { players };
                            let mut asked = json!({});
                            asked[key] = value.clone();
                            let effective = start(&player, &game["variant"], players, asked).await;
                            assert_eq!(
                                effective.get(key).unwrap_or(&Value::Null),
                                value,
                                "{key} for {players}"
                            );
                        }
                    }
                }
                if let Some(range) = option.get("range") {
                    for bound in ["minimum", "maximum"] {
                        let mut asked = json!({});
                        asked[key] = range[bound].clone();
                        let effective = start(&player, &game["variant"], 2, asked).await;
                        assert_eq!(effective[key], range[bound]);
                    }
                }
            }
        }
    });
}

#[test]
fn options_that_do_not_apply_are_left_out() {
    test(async |server| {
        let player = server.guest("Ana").await;
        for (variant, players, absent) in [
            ("kalah", 2, &["capture_from", "full_ranking"][..]),
            ("kalah", 3, &["full_ranking"]),
            ("basic", 2, &["capture_from", "capture_empty", "full_ranking"]),
            ("basic", 4, &["capture_from", "capture_empty"]),
        ] {
            let asked = json!({ "capture_from": "all", "capture_empty": true, "full_ranking": false });
            let effective = start(&player, &json!(variant), players, asked.clone()).await;
            for (key, value) in asked.as_object().unwrap() {
                let expected = (!absent.contains(&key.as_str())).then_some(value);
                assert_eq!(effective.get(key), expected, "{key} in {variant} for {players}");
            }
        }
        // Without a turn limit there is the time away; with one there is not.
        let limited =
            start(&player, &json!("kalah"), 2, json!({ "turn_seconds": 30, "away_seconds": 60 })).await;
        assert_eq!((limited.get("turn_seconds"), limited.get("away_seconds")), (Some(&json!(30)), None));
        let unlimited =
            start(&player, &json!("kalah"), 2, json!({ "turn_seconds": null, "away_seconds": 60 })).await;
        assert_eq!((unlimited.get("turn_seconds"), unlimited.get("away_seconds")), (None, Some(&json!(60))));
    });
}

#[test]
fn every_level_can_be_played_against() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let told = server.nobody().get("/v1/variants").await.ok(200);
        let levels: Vec<&Value> =
            told["levels"].as_array().unwrap().iter().map(|level| &level["level"]).collect();
        assert_eq!(levels, ["easy", "medium", "hard", "perfect"]);
        for level in levels {
            let new = json!({ "variant": "kalah", "computers": [level], "starter": "me" });
            assert_eq!(&player.post("/v1/games", new).await.ok(201)["seats"][1]["computer"], level);
        }
    });
}
