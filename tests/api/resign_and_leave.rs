//! Resigning, leaving and coming back.

use serde_json::{Value, json};

use crate::harness::{Player, TestServer, at_once, number, of_seats, play_on, test, text};

fn quick(variant: &str) -> Value {
    json!({ "variant": variant, "options": { "pits": 4, "stones": 3, "stand_in": "easy" } })
}

fn seat_of(game: &Value, field: &str) -> usize {
    usize::try_from(number(&game[field])).unwrap()
}

/// What happened in a game, in a word each.
async fn events(player: &Player, game: &str) -> Vec<String> {
    let record = player.record(game).await;
    let word = |event: &Value| {
        let what = ["resign", "leave", "return"].into_iter().find(|what| event[what] == true);
        format!("{}{}", what.unwrap_or("move"), event["seat"])
    };
    record["events"].as_array().unwrap().iter().map(word).collect()
}

#[test]
fn whoever_resigns_a_game_of_two_has_lost_it() {
    test(async |server| {
        for (variant, resigns_in_turn) in
            [("kalah", true), ("kalah", false), ("basic", true), ("basic", false)]
        {
            let (people, _, game) = server.group_game(json!({ "variant": variant }), 2).await;
            let id = text(&game["id"]);
            let resigner =
                if resigns_in_turn { seat_of(&game, "to_move") } else { 1 - seat_of(&game, "to_move") };
            let over = people[resigner].act(id, "resign").await.ok(200);
            assert_eq!((&over["status"], &over["end_reason"]), (&json!("finished"), &json!("resigned")));
            assert_eq!((&over["seq"], &over["legal"], over.get("to_move")), (&json!(1), &json!([]), None));
            let places: Vec<u64> = (0..2).map(|seat| if seat == resigner { 2 } else { 1 }).collect();
            assert_eq!(json!(of_seats(&over, "place")), json!(places));
            assert_eq!(of_seats(&over, "pits"), of_seats(&game, "pits"), "stones stay where they are");
            let event = &over["last_event"];
            assert_eq!((&event["type"], &event["seat"]), (&json!("resign"), &json!(resigner)));
            assert_eq!(event["ends"], json!({ "reason": "resigned", "places": places }));
            // Once more is no more.
            assert_eq!(people[resigner].act(id, "resign").await.ok(200)["seq"], 1);
            let problem = people[1 - resigner].act(id, "resign").await.problem(409, "game_over");
            assert_eq!(problem["game"]["seq"], 1);
            server.guest("Stranger").await.act(id, "resign").await.problem(403, "not_seated");
        }
    });
}

#[test]
fn resigners_take_the_last_places_in_the_order_of_resigning() {
    test(async |server| {
        for (variant, order) in
            [("kalah", vec![1, 0]), ("basic", vec![2, 1]), ("kalah", vec![3, 0, 2]), ("basic", vec![1, 2, 3])]
        {
            let players = order.len() + 1;
            let (people, _, game) = server.group_game(quick(variant), players).await;
            let id = text(&game["id"]);
            let mut places = vec![1; players];
            for (already, &seat) in order.iter().enumerate() {
                let now = people[seat].act(id, "resign").await.ok(200);
                places[seat] = players - already;
                assert_eq!(now["seats"][seat]["resigned"], true);
                assert_eq!(now["seats"][seat]["place"], places[seat], "certain at once");
                let last = already + 1 == order.len();
                assert_eq!(now["status"], if last { "finished" } else { "running" });
            }
            let over = people[0].game(id).await;
            assert_eq!(json!(of_seats(&over, "place")), json!(places), "{variant}: {order:?}");
            assert_eq!(over["end_reason"], "resigned");
        }
    });
}

#[test]
fn the_computer_plays_on_for_whoever_resigned() {
    test(async |server| {
        for (variant, players) in [("kalah", 3), ("kalah", 4), ("basic", 3), ("basic", 4)] {
            let (people, _, game) = server.group_game(quick(variant), players).await;
            let id = text(&game["id"]);
            let resigner = seat_of(&game, "to_move");
            people[resigner].act(id, "resign").await.ok(200);
            let watcher = &people[(resigner + 1) % players];
            let played = watcher.until(id, |now| now["last_event"]["type"] == "move").await;
            assert_eq!(played["last_event"]["by"], "computer");
            assert_eq!(played["last_event"]["seat"], resigner);
            assert_eq!(people[resigner].act(id, "resign").await.ok(200)["status"], "running");
            let end = play_on(&people, id, |legal| legal[legal.len() / 2]).await;
            assert_eq!((&end["status"], &end["end_reason"]), (&json!("finished"), &json!("played")));
            assert_eq!(end["seats"][resigner]["place"], players, "{variant} for {players}");
            let moves: i64 = sqlx::query_scalar(
                "select count(*) from game_event where game_id = $1::text::uuid and kind = 'move'
                 and (by = 'computer') <> (seat = $2)",
            )
            .bind(id)
            .bind(i16::try_from(resigner).unwrap())
            .fetch_one(&mut server.database().await)
            .await
            .unwrap();
            assert_eq!(moves, 0, "every move of that seat is the computer's, and no other");
        }
    });
}

#[test]
fn whoever_resigned_moves_no_more() {
    test(async |server| {
        // A level that thinks for a while, so that the seat still has its turn when its player comes back to it.
        let kind = json!({ "variant": "kalah", "options": { "stand_in": "hard" } });
        let (people, _, game) = server.group_game(kind, 3).await;
        let id = text(&game["id"]);
        let resigner = seat_of(&game, "to_move");
        people[resigner].act(id, "resign").await.ok(200);
        let answer = people[resigner].sow(id, number(&game["legal"][0]), 1).await;
        assert_eq!(answer.status, 409, "{}", answer.text);
        let watcher = &people[(resigner + 1) % 3];
        let played = watcher.until(id, |now| now["last_event"]["type"] == "move").await;
        assert_eq!(played["last_event"]["by"], "computer");
    });
}

#[test]
fn a_resignation_racing_the_other_players_move_lets_both_stand_or_ends_the_game() {
    test(async |server| {
        for _ in 0..30 {
            let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
            let (move_answer, over) = race(&people, &game, 1 - seat_of(&game, "to_move")).await;
            assert_eq!((&over["status"], &over["end_reason"]), (&json!("finished"), &json!("resigned")));
            match move_answer.status.as_u16() {
                200 => assert_eq!(over["seq"], 2, "the move came first"),
                _ => {
                    assert_eq!(over["seq"], 1);
                    let problem = move_answer.problem(409, "game_over");
                    assert_eq!(problem["game"]["end_reason"], "resigned");
                }
            }
        }
    });
}

#[test]
fn a_resignation_racing_a_move_among_three_lets_both_stand() {
    test(async |server| {
        for round in 0..30 {
            let (people, _, game) = server.group_game(quick("kalah"), 3).await;
            let resigner = (seat_of(&game, "to_move") + 1 + round % 2) % 3;
            let (move_answer, _) = race(&people, &game, resigner).await;
            let accepted = &move_answer.ok(200)["accepted"];
            let happened = events(&people[0], text(&game["id"])).await;
            let mut both = vec![format!("move{}", accepted["seat"]), format!("resign{resigner}")];
            if accepted["seq"] == 2 {
                both.reverse();
            }
            assert_eq!(happened[..2], both);
        }
    });
}

/// The first move of a game and the resignation of `resigner` at once: the answer to the move, the game afterwards.
async fn race(people: &[Player], game: &Value, resigner: usize) -> (crate::harness::Answer, Value) {
    let id = text(&game["id"]).to_owned();
    let (mover, other) = (people[seat_of(game, "to_move")].clone(), people[resigner].clone());
    let same = id.clone();
    let moving = tokio::spawn(async move { mover.sow(&same, 0, 0).await });
    let same = id.clone();
    let resigning = tokio::spawn(async move { other.act(&same, "resign").await.ok(200) });
    resigning.await.unwrap();
    (moving.await.unwrap(), people[0].game(&id).await)
}

#[test]
fn leaving_and_coming_back_in_a_loop_never_spoils_the_opponents_move() {
    test(async |server| {
        // In order: what happened in between is no move.
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let (id, mover) = (text(&game["id"]), seat_of(&game, "to_move"));
        for what in ["leave", "return", "leave", "return"] {
            people[1 - mover].act(id, what).await.ok(200);
        }
        assert_eq!(people[mover].sow(id, 2, 0).await.ok(200)["accepted"]["seq"], 5);
        // The fifth time in a minute is refused, and changes nothing.
        let refused = people[1 - mover].act(id, "leave").await;
        assert!(refused.headers.contains_key("retry-after"));
        refused.problem(429, "rate_limited");
        assert_eq!(people[mover].game(id).await["seq"], 5);
        // At the same time: from the same state, however often it changes.
        let mut games = Vec::new();
        for _ in 0..20 {
            games.push(server.group_game(json!({ "variant": "kalah" }), 2).await);
        }
        let loops = games.iter().cloned().map(|(people, _, game)| async move {
            let other = &people[1 - seat_of(&game, "to_move")];
            for what in ["leave", "return", "leave", "return"] {
                other.act(text(&game["id"]), what).await.ok(200);
            }
        });
        let moves = games.iter().cloned().map(|(people, _, game)| async move {
            let (id, mover) = (text(&game["id"]), &people[seat_of(&game, "to_move")]);
            mover.sow(id, 2, 0).await.ok(200);
            mover.sow(id, 2, 0).await.ok(200)["accepted"].clone()
        });
        let (_, accepted) = tokio::join!(at_once(loops), at_once(moves));
        for ((people, _, game), accepted) in games.iter().zip(accepted) {
            assert_eq!(accepted["pit"], 2);
            let happened = events(&people[0], text(&game["id"])).await;
            assert_eq!(happened.iter().filter(|what| what.starts_with("move")).count(), 1, "{happened:?}");
            assert_eq!(happened.len(), 5, "{happened:?}");
        }
    });
}

#[test]
fn the_computer_plays_for_whoever_has_left_until_they_return() {
    test(async |server| {
        let (people, _, game) = server.group_game(quick("kalah"), 2).await;
        let (id, leaver) = (text(&game["id"]), seat_of(&game, "to_move"));
        let left = people[leaver].act(id, "leave").await.ok(200);
        assert_eq!(left["seats"][leaver]["left"], true);
        people[leaver].act(id, "leave").await.ok(200);
        let theirs = |now: &Value| now["to_move"] == json!(1 - leaver) || now["status"] == "finished";
        let now = people[1 - leaver].until(id, theirs).await;
        assert_eq!(
            (&now["last_event"]["by"], &now["last_event"]["seat"]),
            (&json!("computer"), &json!(leaver))
        );
        let back = people[leaver].act(id, "return").await.ok(200);
        assert_eq!(back["seats"][leaver]["left"], false);
        assert_eq!(people[leaver].act(id, "return").await.ok(200)["seq"], back["seq"]);
        let happened = events(&people[0], id).await;
        let count = |what: &str| happened.iter().filter(|event| event.starts_with(what)).count();
        assert_eq!((count("leave"), count("return")), (1, 1), "{happened:?}");
    });
}

#[test]
fn a_seat_that_is_left_keeps_its_place_in_the_ranking() {
    test(async |server| {
        for variant in ["kalah", "basic"] {
            let (people, _, game) = server.group_game(quick(variant), 3).await;
            let id = text(&game["id"]);
            people[1].act(id, "leave").await.ok(200);
            let end = play_on(&people, id, |legal| legal[0]).await;
            let replayed = people[0].post("/v1/records/replay", people[0].record(id).await).await.ok(200);
            assert_eq!(replayed["places"], json!(of_seats(&end, "place")));
            assert_eq!(end["seats"][1]["left"], true);
            if variant == "kalah" {
                let richer = of_seats(&end, "store")
                    .iter()
                    .filter(|s| number(s) > number(&end["seats"][1]["store"]))
                    .count();
                assert_eq!(end["seats"][1]["place"], richer + 1);
            }
        }
    });
}

/// A game of two that nobody attends any more, at `seq` 2, with the seat to move.
async fn deserted(server: &TestServer) -> (Vec<Player>, String, usize) {
    let (people, _, game) = server.group_game(quick("kalah"), 2).await;
    let (id, mover) = (text(&game["id"]).to_owned(), seat_of(&game, "to_move"));
    people[1 - mover].act(&id, "leave").await.ok(200);
    people[mover].act(&id, "leave").await.ok(200);
    (people, id, mover)
}

#[test]
fn whoever_has_left_and_simply_moves_is_back() {
    test(async |server| {
        let (people, id, mover) = deserted(server).await;
        let played = people[mover].sow(&id, 0, 2).await.ok(200);
        assert_eq!((&played["accepted"]["seq"], &played["accepted"]["type"]), (&json!(4), &json!("move")));
        assert_eq!(
            (&played["game"]["seq"], &played["game"]["seats"][mover]["left"]),
            (&json!(4), &json!(false))
        );
        let happened = events(&people[0], &id).await;
        let other = 1 - mover;
        let expected = [
            format!("leave{other}"),
            format!("leave{mover}"),
            format!("return{mover}"),
            format!("move{mover}"),
        ];
        assert_eq!(happened[..4], expected);
        // The answer may be lost: the same again is the same.
        assert_eq!(people[mover].sow(&id, 0, 2).await.ok(200)["accepted"], played["accepted"]);
    });
}

#[test]
fn a_game_that_everybody_has_left_pauses_until_somebody_returns() {
    test(async |server| {
        let (people, id, mover) = deserted(server).await;
        let other = server.another().await;
        for service in [server.service(), other.service()] {
            assert_eq!(service.take_computer_turns().await.unwrap().0, []);
        }
        assert_eq!(people[0].game(&id).await["seq"], 2);
        people[1 - mover].act(&id, "return").await.ok(200);
        let now = people[1 - mover].until(&id, |now| now["last_event"]["type"] == "move").await;
        assert_eq!(now["last_event"]["by"], "computer");
        other.stop().await;
    });
}

#[test]
fn a_seat_that_has_its_place_can_neither_resign_nor_leave() {
    test(async |server| {
        let (people, _, game) = server.group_game(quick("basic"), 3).await;
        let id = text(&game["id"]);
        let mut state = game.clone();
        let placed = loop {
            if let Some(seat) = of_seats(&state, "out").iter().position(|out| *out == true) {
                break seat;
            }
            let played =
                people[seat_of(&state, "to_move")].sow(id, number(&state["legal"][0]), number(&state["seq"]));
            state = played.await.ok(200)["game"].clone();
        };
        assert_eq!(state["status"], "running", "two are still playing");
        assert_eq!(state["seats"][placed]["place"], 1);
        for what in ["resign", "leave"] {
            let problem = people[placed].act(id, what).await.problem(409, "already_placed");
            assert_eq!(problem["game"]["seq"], state["seq"]);
        }
        assert_eq!(people[0].game(id).await["seq"], state["seq"]);
        // The others can: of the two who are left, the one who stays is ahead.
        let resigner = (placed + 1) % 3;
        let over = people[resigner].act(id, "resign").await.ok(200);
        assert_eq!((&over["status"], &over["seats"][resigner]["place"]), (&json!("finished"), &json!(3)));
        assert_eq!(over["seats"][(placed + 2) % 3]["place"], 2);
        people[placed].act(id, "resign").await.problem(409, "game_over");
    });
}

#[test]
fn a_game_that_nobody_can_come_back_to_is_played_to_its_end() {
    test(async |server| {
        // One player leaves and the stand-in plays the seat off the board; then the other resigns. Several tries, since
        // the other may finish first.
        for _ in 0..20 {
            let (host, guest) = (server.guest("Ana").await, server.guest("Ben").await);
            let options = json!({ "pits": 4, "stones": 3, "stand_in": "easy" });
            let group =
                host.post("/v1/groups", json!({ "variant": "basic", "options": options })).await.ok(201);
            guest.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
            let path = format!("/v1/groups/{}", text(&group["id"]));
            for _ in 0..2 {
                host.post(&format!("{path}/computers"), json!({ "level": "easy" })).await.ok(200);
            }
            let game = host.post(&format!("{path}/games"), json!({})).await.ok(201);
            let id = text(&game["id"]);
            host.act(id, "leave").await.ok(200);
            let due = |now: &Value| {
                now["to_move"] == 1 || now["seats"][0]["out"] == true || now["status"] != "running"
            };
            let mut now = guest.until(id, due).await;
            while now["status"] == "running"
                && now["seats"][0]["out"] == false
                && now["seats"][1]["out"] == false
            {
                guest.sow(id, number(&now["legal"][0]), number(&now["seq"])).await.ok(200);
                now = guest.until(id, due).await;
            }
            if now["status"] == "running" && now["seats"][1]["out"] == false {
                guest.act(id, "resign").await.ok(200);
                let end = guest.until(id, |now| now["status"] != "running").await;
                assert_eq!(end["status"], "finished");
                return;
            }
        }
        panic!("the other always finished first");
    });
}
