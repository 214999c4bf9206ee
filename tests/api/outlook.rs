//! What a ranked game may still do to ratings, before it does.

use serde_json::{Value, json};

use crate::harness::{Player, Table, play_out, test, text};

async fn outlook(player: &Player, game: &str) -> Value {
    player.get(&format!("/v1/games/{game}/outlook")).await.ok(200)
}

/// By seat, the places that are told with the least and most that they change.
fn places(outlook: &Value) -> Vec<Vec<(u64, i64, i64)>> {
    let seats = outlook["seats"].as_array().unwrap().iter();
    let of_seat = |seat: &Value| -> Vec<(u64, i64, i64)> {
        let places = seat["places"].as_array().unwrap().iter();
        let number = |value: &Value| value.as_i64().unwrap();
        places
            .map(|p| (p["place"].as_u64().unwrap(), number(&p["smallest"]), number(&p["largest"])))
            .collect()
    };
    seats.map(of_seat).collect()
}

#[test]
fn a_game_changes_ratings_as_its_outlook_told_at_every_moment() {
    test(async |server| {
        for (variant, players) in [("kalah", 2), ("kalah", 3), ("kalah", 4), ("basic", 2), ("basic", 3)] {
            let table = Table::new(server, variant, players).await;
            for round in 0..3 {
                let game = table.game().await;
                // After the first round the ratings differ.
                let before = outlook(&server.nobody(), &game).await;
                assert_eq!(before["seq"], 0);
                let mut told = vec![places(&before)];
                if round == 1 && players > 2 {
                    table.people[1].act(&game, "resign").await.ok(200);
                    told.push(places(&outlook(&table.people[0], &game).await));
                    assert_eq!(told[1][1].len(), 1, "who has resigned knows the place");
                    assert!(told[1][0].iter().all(|(place, ..)| *place < players as u64));
                    table.people[0].act(&game, "resign").await.ok(200);
                    if players == 4 {
                        told.push(places(&outlook(&table.people[2], &game).await));
                    }
                    table.people[2].act(&game, "resign").await;
                }
                let over = play_out(&table.people, &game, |legal| legal[round % legal.len()]).await;
                for (seat, now) in over["seats"].as_array().unwrap().iter().enumerate() {
                    let place = now["place"].as_u64().unwrap();
                    let change = now["rating"]["change"].as_i64().unwrap();
                    for told in &told {
                        let (_, smallest, largest) =
                            told[seat].iter().find(|told| told.0 == place).expect("a place that was told");
                        assert!((*smallest..=*largest).contains(&change), "{change} in {told:?}");
                        // One opponent leaves one change, or two where places can be shared.
                        assert!(players > 2 || change == *smallest || change == *largest, "{told:?}");
                        assert!(players > 2 || variant == "kalah" || smallest == largest);
                    }
                }
            }
        }
    });
}

#[test]
fn an_outlook_tells_of_every_place_and_who_is_expected_to_take_it() {
    test(async |server| {
        let table = Table::new(server, "kalah", 2).await;
        let told = outlook(&server.nobody(), &table.game().await).await;
        assert_eq!(told["pool"], "kalah-2");
        // New players: a win, a tie, a loss.
        let places = json!([{ "place": 1, "smallest": 0, "largest": 162 },
                            { "place": 2, "smallest": -162, "largest": -162 }]);
        for (seat, player) in table.people.iter().enumerate() {
            let expected = json!({ "seat": seat, "player_id": player.id, "rating": 1500, "deviation": 350,
                                   "provisional": true, "expected": 0.5, "places": places });
            assert_eq!(told["seats"][seat], expected);
        }
        let basic = Table::new(server, "basic", 4).await;
        let told = outlook(&server.nobody(), &basic.game().await).await;
        let of_seats = self::places(&told);
        for of_seat in &of_seats {
            let places: Vec<u64> = of_seat.iter().map(|place| place.0).collect();
            assert_eq!(places, [1, 2, 3, 4]);
            assert!(of_seat.windows(2).all(|two| two[0].1 > two[1].2), "a better place is worth more");
        }
    });
}

#[test]
fn there_is_no_outlook_without_ratings_or_after_the_end() {
    test(async |server| {
        let (people, _, unranked) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let path = format!("/v1/games/{}/outlook", text(&unranked["id"]));
        people[0].get(&path).await.problem(409, "not_ranked");
        let table = Table::new(server, "kalah", 2).await;
        let game = table.resigned(&[0]).await;
        let problem = server.nobody().get(&format!("/v1/games/{game}/outlook")).await;
        assert_eq!(problem.problem(409, "game_over")["game"]["id"], game);
    });
}
