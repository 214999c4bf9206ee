//! Records: of games that were played, and of games that never were.

use std::str::FromStr;

use mancala_server::engine::{Action, Record, Seat};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Player, at_once, of_seats, play_on, test, text};

/// Plays a game of kind `i` to its end.
async fn play(i: usize, people: Vec<Player>, game: String) -> (Player, Value) {
    if i % 3 == 1 {
        people[1].act(&game, "leave").await.ok(200);
        people[1].act(&game, "return").await.ok(200);
        people[1].act(&game, "leave").await.ok(200);
    }
    if i % 3 == 2 {
        people[0].act(&game, "resign").await.ok(200);
    }
    let end = play_on(&people, &game, |legal| legal[i % legal.len()]).await;
    (people[0].clone(), end)
}

/// An event of a JSON record as the engine has it.
fn event(json: &Value) -> (Seat, Action) {
    let seat = u8::try_from(json["seat"].as_u64().unwrap()).unwrap();
    let action = match json["pit"].as_u64() {
        Some(pit) => Action::Move { pit: u8::try_from(pit).unwrap() },
        None if json["resign"] == true => Action::Resign,
        None if json["leave"] == true => Action::Leave,
        None => {
            assert_eq!(json["return"], true);
            Action::Return
        }
    };
    (Seat::new(seat).unwrap(), action)
}

#[test]
fn the_record_of_every_finished_game_replays_to_its_end_as_json_and_as_text() {
    test(async |server| {
        let mut games = Vec::new();
        for i in 0..24 {
            let variant = if i % 2 == 0 { "kalah" } else { "basic" };
            let options = json!({ "pits": ([6, 4, 7][i % 3]), "stones": 3 + i % 4, "stand_in": "easy",
                "capture_from": "all", "capture_empty": i % 4 == 0, "full_ranking": i % 3 == 0 });
            let new = json!({ "variant": variant, "options": options });
            let (people, _, game) = server.group_game(new, 2 + i / 2 % 3).await;
            games.push((i, people, text(&game["id"]).to_owned()));
        }
        let ended = at_once(games.into_iter().map(|(i, people, game)| play(i, people, game))).await;
        for (player, end) in ended {
            let record = player.record(text(&end["id"])).await;
            assert_eq!(record["format"], "mancala-record/1");
            for field in ["variant", "options", "starter", "ranked"] {
                assert_eq!(record[field], end[field]);
            }
            let names: Vec<Value> = of_seats(&end, "player").iter().map(|p| p["name"].clone()).collect();
            assert_eq!(record["players"], json!(names));
            let resigned = end["end_reason"] == "resigned";
            let (places, stores) = (json!(of_seats(&end, "place")), json!(of_seats(&end, "store")));
            let result = json!({ "places": places, "stores": stores, "end": if resigned { "resigned" } else { "finished" } });
            assert_eq!(record["result"], result);

            let replayed = player.post("/v1/records/replay", record.clone()).await.ok(200);
            assert_eq!(replayed["position"], end["last_event"]["position"]);
            assert_eq!(
                (&replayed["places"], &replayed["stores"], &replayed["over"]),
                (&places, &stores, &json!(true))
            );
            assert_eq!(replayed["position"]["pits"], json!(of_seats(&end, "pits")));
            assert_eq!(replayed["position"]["out"], json!(of_seats(&end, "out")));

            let path = format!("/v1/games/{}/record", text(&end["id"]));
            let answer = Answer::of(player.request(Method::GET, &path).header("accept", "text/plain")).await;
            assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/plain"));
            let parsed = Record::from_str(&answer.text).unwrap_or_else(|e| panic!("{e}: {}", answer.text));
            let events: Vec<(Seat, Action)> =
                record["events"].as_array().unwrap().iter().map(event).collect();
            assert_eq!(parsed.events, events);
            assert_eq!(json!(parsed.starter.get()), record["starter"]);
            assert_eq!(parsed.to_string().trim_end(), answer.text.trim_end());
            assert!(parsed.replay().unwrap().is_over());
        }
    });
}

#[test]
fn the_record_of_a_running_game_has_no_result() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let record = people[0].record(text(&game["id"])).await;
        assert_eq!((record.get("result"), &record["events"]), (None, &json!([])));
        let replayed = people[0].post("/v1/records/replay", record).await.ok(200);
        assert_eq!((replayed.get("places"), &replayed["over"]), (None, &json!(false)));
        assert_eq!(replayed["position"]["to_move"], game["to_move"]);
    });
}

fn record(players: u8, events: &Value) -> Value {
    json!({ "format": "mancala-record/1", "variant": "kalah", "options": { "players": players }, "starter": 0, "events": events })
}

#[test]
fn the_first_event_that_cannot_be_is_told_by_its_index() {
    let m = |seat: u8, pit: u8| json!({ "seat": seat, "pit": pit });
    let d = |seat: u8, what: &str| json!({ "seat": seat, what: true });
    let table = [
        (record(2, &json!([m(1, 0)])), 0, "not_your_turn"),
        // Pit c with four stones ends in the store: seat 0 sows again.
        (record(2, &json!([m(0, 2), m(1, 0)])), 1, "not_your_turn"),
        (record(2, &json!([m(0, 2), m(0, 2)])), 1, "pit_empty"),
        (record(2, &json!([m(0, 0), m(0, 1)])), 1, "not_your_turn"),
        (record(2, &json!([m(0, 0), m(1, 6)])), 1, "pit_out_of_range"),
        (record(2, &json!([m(0, 0), d(1, "resign"), m(0, 1)])), 2, "game_over"),
        (record(2, &json!([m(0, 0), d(1, "resign"), d(0, "resign")])), 2, "game_over"),
        (record(2, &json!([d(3, "resign")])), 0, "no_such_seat"),
        (record(3, &json!([d(1, "resign"), d(1, "resign")])), 1, "already_resigned"),
        (record(3, &json!([d(1, "resign"), d(1, "leave")])), 1, "already_resigned"),
        (record(3, &json!([d(1, "leave"), d(1, "leave")])), 1, "already_left"),
        (record(3, &json!([d(1, "leave"), d(1, "return"), d(1, "return")])), 2, "not_left"),
        (record(2, &json!([m(0, 0), { "seat": 1 }])), 1, "invalid_value"),
        (record(2, &json!([m(0, 0), { "seat": 1, "pit": 1, "resign": true }])), 1, "invalid_value"),
    ];
    test(async |server| {
        let nobody = server.nobody();
        for (record, at, code) in table {
            let problem = nobody.post("/v1/records/replay", record.clone()).await.problem(422, code);
            assert_eq!(problem["at"], at, "{record}");
        }
    });
}

#[test]
fn a_result_that_the_events_do_not_give_is_a_mismatch() {
    test(async |server| {
        let nobody = server.nobody();
        let events = json!([{ "seat": 0, "pit": 2 }, { "seat": 1, "resign": true }]);
        let with = |result: Value| {
            let mut record = record(2, &events);
            record["result"] = result;
            record
        };
        let right = json!({ "places": [1, 2], "stores": [1, 0], "end": "resigned" });
        let replayed = nobody.post("/v1/records/replay", with(right.clone())).await.ok(200);
        assert_eq!(replayed["places"], json!([1, 2]));
        for (field, value) in [
            ("places", json!([2, 1])),
            ("places", json!([])),
            ("stores", json!([0, 0])),
            ("stores", json!([1, 0, 0])),
            ("end", json!("finished")),
            ("end", json!("aborted")),
        ] {
            let mut wrong = right.clone();
            wrong[field] = value;
            let problem =
                nobody.post("/v1/records/replay", with(wrong)).await.problem(422, "result_mismatch");
            assert!(text(&problem["errors"][0]["pointer"]).starts_with("/result"));
        }
        let mut running = record(2, &json!([{ "seat": 0, "pit": 2 }]));
        running["result"] = right;
        nobody.post("/v1/records/replay", running).await.problem(422, "result_mismatch");
    });
}

#[test]
fn a_record_that_is_none_is_refused_with_the_place_of_the_fault() {
    test(async |server| {
        for (field, value, pointer) in [
            ("format", json!("mancala-record/2"), "/format"),
            ("variant", json!("oware"), "/variant"),
            ("options", json!({}), "/options/players"),
            ("options", json!({ "players": 5 }), "/options/players"),
            ("options", json!({ "players": 2, "stones": 9 }), "/options/stones"),
            ("starter", json!(2), "/starter"),
            ("players", json!(["Ana"]), "/players"),
            ("events", json!([{ "seat": 0, "pit": -1 }]), "/events/0/pit"),
        ] {
            let mut record = record(2, &json!([]));
            record[field] = value;
            let problem =
                server.nobody().post("/v1/records/replay", record).await.problem(422, "invalid_value");
            assert_eq!(problem["errors"][0]["pointer"], pointer);
        }
    });
}
