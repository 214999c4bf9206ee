//! Seventy games of an independent implementation: every position and every result must agree.

use mancala_server::engine::{Action, EndReason, Position, Record, Rules, RulesRequest, Seat};
use serde_json::{Value, json};

const GAMES: &str = include_str!("../data/games.ndjson");

fn small(value: &Value) -> Option<u8> {
    value.as_u64().map(|number| u8::try_from(number).unwrap())
}

fn seat(value: &Value) -> Seat {
    Seat::new(small(value).unwrap()).unwrap()
}

fn record(record: &Value) -> Record {
    let options = &record["options"];
    let asked = RulesRequest {
        pits: small(&options["pits"]),
        stones: small(&options["stones"]),
        capture_from: options["capture_from"].as_str().map(|name| name.parse().unwrap()),
        capture_empty: options["capture_empty"].as_bool(),
        full_ranking: options["full_ranking"].as_bool(),
    };
    let variant = record["variant"].as_str().unwrap().parse().unwrap();
    let players = small(&options["players"]).unwrap();
    let event = |event: &Value| {
        let action = match small(&event["pit"]) {
            Some(pit) => Action::Move { pit },
            None if event["resign"] == true => Action::Resign,
            None if event["leave"] == true => Action::Leave,
            None => Action::Return,
        };
        (seat(&event["seat"]), action)
    };
    Record {
        rules: Rules::effective(variant, players, &asked).unwrap(),
        starter: seat(&record["starter"]),
        ranked: record["ranked"].as_bool().unwrap_or(false),
        events: record["events"].as_array().unwrap().iter().map(event).collect(),
    }
}

fn shown(position: &Position) -> Value {
    json!({
        "pits": position.seats().map(|seat| position.pits(seat).to_vec()).collect::<Vec<_>>(),
        "stores": position.seats().map(|seat| position.store(seat)).collect::<Vec<_>>(),
        "out": position.seats().map(|seat| position.is_out(seat)).collect::<Vec<_>>(),
        "to_move": position.to_move().map(Seat::get),
    })
}

#[test]
fn every_position_and_result_of_the_handed_games_agrees() {
    let mut games = 0;
    for (line, text) in (1..).zip(GAMES.lines()) {
        let given: Value = serde_json::from_str(text).unwrap();
        let record = record(&given["record"]);
        let states: Vec<_> = record.states().map(Result::unwrap).collect();
        let positions = given["positions"].as_array().unwrap();
        assert_eq!(states.len(), positions.len(), "line {line}");
        for (step, (state, expected)) in states.iter().zip(positions).enumerate() {
            assert_eq!(&shown(state.position()), expected, "line {line}, step {step}");
        }
        let last = states.last().unwrap();
        assert_eq!(&record.replay().unwrap(), last);
        assert_eq!(json!(last.places()), given["places"], "line {line}");
        assert_eq!(json!(last.places()), given["record"]["result"]["places"], "line {line}");
        assert_eq!(shown(last.position())["stores"], given["record"]["result"]["stores"]);
        let end = match last.end() {
            Some(EndReason::Played) => "finished",
            Some(EndReason::Resigned) => "resigned",
            _ => "aborted",
        };
        assert_eq!(given["record"]["result"]["end"], end, "line {line}");
        assert_eq!(record.to_string().parse(), Ok(record), "line {line}");
        games += 1;
    }
    assert_eq!(games, 70);
}
