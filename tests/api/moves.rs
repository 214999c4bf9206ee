//! Moving, and repeating oneself safely.

use serde_json::{Value, json};

use crate::harness::{play_out, test};

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn two_to_four_guests_play_each_game_to_its_end() {
    test(async |server| {
        for (variant, players) in
            [("kalah", 2), ("kalah", 3), ("kalah", 4), ("basic", 2), ("basic", 3), ("basic", 4)]
        {
            let (people, _, game) = server.group_game(json!({ "variant": variant }), players).await;
            let end = play_out(&people, text(&game["id"]), |legal| legal[legal.len() / 2]).await;
            assert_eq!(end["status"], "finished", "{variant} for {players}");
            assert_eq!(end["end_reason"], "played");
            let mut places: Vec<u64> =
                end["seats"].as_array().unwrap().iter().map(|seat| seat["place"].as_u64().unwrap()).collect();
            places.sort_unstable();
            assert_eq!((places[0], places.len()), (1, players));
            assert_eq!(end["last_event"]["ends"]["reason"], "played");
        }
    });
}
