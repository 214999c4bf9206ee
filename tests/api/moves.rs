//! Moving, and repeating oneself safely.

use serde_json::{Value, json};

use crate::harness::{Answer, Player, TestServer, at_once, number, of_seats, play_out, test, text};

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
            let mut places: Vec<u64> = of_seats(&end, "place").iter().map(number).collect();
            places.sort_unstable();
            assert_eq!((places[0], places.len()), (1, players));
            assert_eq!(end["last_event"]["ends"]["reason"], "played");
            assert_eq!(end["last_event"]["ends"]["places"], json!(of_seats(&end, "place")));
        }
    });
}

/// A new game of two: who is to move, the other, the game's id.
async fn pair(server: &TestServer) -> (Player, Player, String) {
    let (mut people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
    let mover = people.remove(usize::try_from(number(&game["to_move"])).unwrap());
    (mover, people.remove(0), text(&game["id"]).to_owned())
}

/// Sends these moves of one player at the same time, all made from the same state.
async fn race(players: &[&Player], game: &str, pits: &[u64], seq: u64) -> Vec<Answer> {
    let requests = pits.iter().zip(players.iter().cycle()).map(|(&pit, &player)| {
        let (player, game) = (player.clone(), game.to_owned());
        async move { player.sow(&game, pit, seq).await }
    });
    at_once(requests).await
}

#[test]
fn fifty_times_the_same_move_at_once_is_one_event_and_one_answer() {
    test(async |server| {
        for pit in [0, 2] {
            let (mover, _, game) = pair(server).await;
            let answers = race(&[&mover], &game, &[pit; 50], 0).await;
            let accepted: Vec<Value> = answers.into_iter().map(|a| a.ok(200)["accepted"].clone()).collect();
            assert_eq!(accepted[0]["pit"], pit);
            assert!(accepted.iter().all(|a| *a == accepted[0]), "{accepted:?}");
            assert_eq!(mover.game(&game).await["seq"], 1);
        }
    });
}

/// Fifty moves from every pit: one counts, and only those that say the same get the same answer.
async fn one_of_many_counts(players: &[&Player], game: &str) {
    let pits: Vec<u64> = (0..50).map(|i| i % 6).collect();
    let answers = race(players, game, &pits, 0).await;
    let now = players[0].game(game).await;
    assert_eq!(now["seq"], 1);
    let counted = &now["last_event"];
    for (pit, answer) in pits.iter().zip(answers) {
        if counted["pit"] == *pit {
            assert_eq!(answer.ok(200)["accepted"], *counted);
        } else {
            let problem = answer.problem(409, "stale");
            assert_eq!(problem["game"]["seq"], 1);
            assert_eq!(problem["game"]["last_event"], *counted);
        }
    }
}

#[test]
fn of_fifty_different_moves_at_once_exactly_one_counts() {
    test(async |server| {
        for _ in 0..4 {
            let (mover, _, game) = pair(server).await;
            one_of_many_counts(&[&mover], &game).await;
        }
    });
}

#[test]
fn two_servers_on_one_database_let_one_of_many_moves_count() {
    test(async |server| {
        let other = server.another().await;
        for _ in 0..4 {
            let (mover, _, game) = pair(server).await;
            one_of_many_counts(&[&mover, &mover.via(&other)], &game).await;
        }
        other.stop().await;
    });
}

#[test]
fn a_game_sent_move_by_move_to_two_servers_at_once_is_one_game() {
    test(async |server| {
        let other = server.another().await;
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let id = text(&game["id"]);
        let mut state = game.clone();
        while let Some(seat) = state["to_move"].as_u64() {
            let mover = &people[usize::try_from(seat).unwrap()];
            let (pit, seq) = (number(&state["legal"][0]), number(&state["seq"]));
            let answers = race(&[mover, &mover.via(&other)], id, &[pit; 4], seq).await;
            let answers: Vec<Value> = answers.into_iter().map(|a| a.ok(200)).collect();
            assert!(answers.iter().all(|a| a["accepted"] == answers[0]["accepted"]), "{answers:?}");
            state = people[0].game(id).await;
            assert_eq!(number(&state["seq"]), seq + 1);
        }
        let record = people[0].record(id).await;
        assert_eq!(record["events"].as_array().unwrap().len() as u64, number(&state["seq"]));
        people[0].post("/v1/records/replay", record).await.ok(200);
        other.stop().await;
    });
}

#[test]
fn a_move_repeated_at_any_later_time_is_answered_as_at_first() {
    let kinds = [
        (json!({ "variant": "kalah", "options": { "stones": 3 } }), 2),
        (json!({ "variant": "kalah", "options": { "pits": 4, "stones": 3, "turn_seconds": 60 } }), 2),
        (json!({ "variant": "kalah", "options": { "pits": 4, "stones": 3, "capture_from": "all" } }), 4),
        (json!({ "variant": "basic", "options": { "pits": 4, "stones": 3 } }), 3),
        (json!({ "variant": "basic", "options": { "pits": 4, "stones": 3, "full_ranking": false } }), 3),
        (json!({ "variant": "basic", "options": { "stones": 3 } }), 2),
    ];
    test(async |server| {
        for (kind, players) in kinds {
            let (people, _, game) = server.group_game(kind.clone(), players).await;
            let id = text(&game["id"]);
            let mut sent: Vec<(usize, u64, u64, Value)> = Vec::new();
            let mut state = game.clone();
            while let Some(seat) = state["to_move"].as_u64() {
                let seat = usize::try_from(seat).unwrap();
                let legal = state["legal"].as_array().unwrap();
                let (pit, seq) = (number(&legal[sent.len() % legal.len()]), number(&state["seq"]));
                let played = people[seat].sow(id, pit, seq).await.ok(200);
                let accepted = played["accepted"].clone();
                assert_eq!(accepted["seq"], seq + 1);
                assert_eq!(played["game"]["last_event"], accepted, "{kind} for {players}");
                assert_eq!(people[0].game(id).await["last_event"], accepted, "{kind} for {players}");
                if let Some((seat, pit, seq, first)) = sent.last() {
                    let again = people[*seat].sow(id, *pit, *seq).await.ok(200);
                    assert_eq!(again["accepted"], *first, "{kind} for {players}, after the next move");
                    assert_eq!(again["game"]["seq"], accepted["seq"]);
                }
                sent.push((seat, pit, seq, accepted));
                state = played["game"].clone();
            }
            assert_eq!(state["status"], "finished");
            for (seat, pit, seq, first) in &sent {
                let again = people[*seat].sow(id, *pit, *seq).await.ok(200);
                assert_eq!(again["accepted"], *first, "{kind} for {players}, after the end");
                assert_eq!(again["game"]["status"], "finished");
            }
            assert_eq!(people[0].game(id).await["seq"], state["seq"]);
        }
    });
}

/// The conflict that this answer must be: with the game as it is now.
fn conflict(answer: Answer, code: &str, now: &Value) {
    let mut problem = answer.problem(409, code);
    let game = problem["game"].as_object_mut().expect("a conflict carries the game");
    let mut now = now.as_object().unwrap().clone();
    // The clock goes on.
    game.remove("server_time");
    now.remove("server_time");
    assert_eq!(*game, now);
}

#[test]
fn a_move_that_does_not_fit_the_state_is_refused_with_the_state() {
    test(async |server| {
        let (mover, other, game) = pair(server).await;
        // Four stones from the third pit end in the store: the mover sows again.
        let now = mover.sow(&game, 2, 0).await.ok(200)["game"].clone();
        conflict(mover.sow(&game, 0, 0).await, "stale", &now);
        conflict(mover.sow(&game, 0, 2).await, "stale", &now);
        conflict(mover.sow(&game, 0, 4_000_000_000).await, "stale", &now);
        for seq in [0, 1, 2] {
            conflict(other.sow(&game, 0, seq).await, "not_your_turn", &now);
        }
        let now = mover.sow(&game, 0, 1).await.ok(200)["game"].clone();
        assert_eq!(
            now["to_move"],
            now["seats"]
                .as_array()
                .unwrap()
                .iter()
                .position(|seat| seat["player"]["id"] == json!(other.id))
                .unwrap()
        );
        conflict(mover.sow(&game, 1, 2).await, "not_your_turn", &now);
        conflict(other.sow(&game, 1, 0).await, "stale", &now);
        conflict(other.sow(&game, 1, 1).await, "stale", &now);
        let now = other.act(&game, "resign").await.ok(200);
        for (player, pit, seq) in [(&mover, 1, 3), (&other, 1, 3), (&other, 1, 2), (&mover, 5, 99)] {
            conflict(player.sow(&game, pit, seq).await, "game_over", &now);
        }
        // What has counted still counts.
        assert_eq!(mover.sow(&game, 0, 1).await.ok(200)["accepted"]["seq"], 2);
        assert_eq!(mover.game(&game).await["seq"], 3);
    });
}

#[test]
fn a_pit_that_cannot_be_sown_is_refused_and_changes_nothing() {
    test(async |server| {
        let (mover, _, game) = pair(server).await;
        mover.sow(&game, 2, 0).await.ok(200);
        for (pit, code) in [
            (2, "pit_empty"),
            (6, "pit_out_of_range"),
            (7, "pit_out_of_range"),
            (256, "pit_out_of_range"),
            (u64::from(u32::MAX), "pit_out_of_range"),
            (u64::from(u32::MAX) + 1, "invalid_value"),
        ] {
            let problem = mover.sow(&game, pit, 1).await.problem(422, code);
            assert_eq!(problem["errors"][0]["pointer"], "/pit");
        }
        let path = format!("/v1/games/{game}/moves");
        mover.post(&path, json!({ "pit": -1, "seq": 1 })).await.problem(422, "invalid_value");
        mover.post(&path, json!({ "pit": 1 })).await.problem(422, "invalid_value");
        mover.post(&path, json!({ "pit": 1, "seq": -1 })).await.problem(422, "invalid_value");
        mover.post(&path, json!({ "pit": 1, "seq": 1, "seat": 0 })).await.problem(422, "unknown_field");
        assert_eq!(mover.game(&game).await["seq"], 1);
    });
}

#[test]
fn only_who_has_a_seat_moves() {
    test(async |server| {
        let (mover, _, game) = pair(server).await;
        let stranger = server.guest("Stranger").await;
        stranger.sow(&game, 0, 0).await.problem(403, "not_seated");
        server.nobody().sow(&game, 0, 0).await.problem(401, "token_missing");
        mover.sow("01900000-0000-7000-8000-000000000000", 0, 0).await.problem(404, "game_not_found");
        assert_eq!(mover.game(&game).await["seq"], 0);
    });
}

#[test]
fn a_turn_that_the_computer_has_played_is_not_the_players_move() {
    test(async |server| {
        let (mover, other, game) = pair(server).await;
        mover.act(&game, "leave").await.ok(200);
        let played = other.until(&game, |now| now["last_event"]["type"] == "move").await;
        let record = other.record(&game).await;
        let first = record["events"].as_array().unwrap().iter().find(|event| event["pit"].is_u64()).unwrap();
        let problem = mover.sow(&game, number(&first["pit"]), 0).await.problem(409, "turn_played_for_you");
        assert!(number(&problem["game"]["seq"]) >= number(&played["seq"]));
    });
}
