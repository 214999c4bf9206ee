//! Reviews of finished games: true as far as they go, computed once, kept.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use mancala_server::engine::{Position, Rules, RulesRequest, Seat, Setup, Variant};
use serde_json::{Value, json};

use crate::harness::{at_once, number, play_on, play_out, test, text};

/// The margin for the seat to move by trying everything.
fn solve(position: &Position, known: &mut HashMap<Position, i16>) -> i16 {
    if let Some(margin) = known.get(position) {
        return *margin;
    }
    let seat = position.to_move().unwrap();
    let mut best = i16::MIN;
    for pit in position.legal() {
        let mut next = *position;
        next.sow(pit).unwrap();
        let margin = match next.to_move() {
            None => {
                let other = Seat::new(1 - seat.get()).unwrap();
                i16::from(next.store(seat)) - i16::from(next.store(other))
            }
            Some(mover) if mover == seat => solve(&next, known),
            Some(_) => -solve(&next, known),
        };
        best = best.max(margin);
    }
    known.insert(*position, best);
    best
}

fn parse(position: &Value) -> Option<Position> {
    let numbers = |list: &Value| -> Vec<u8> {
        list.as_array().unwrap().iter().map(|n| u8::try_from(number(n)).unwrap()).collect()
    };
    let pits: Vec<Vec<u8>> = position["pits"].as_array().unwrap().iter().map(numbers).collect();
    let setup = Setup {
        rules: Rules::for_position(Variant::Kalah, 2, 6, &RulesRequest::default()).unwrap(),
        pits,
        stores: numbers(&position["stores"]),
        out: vec![false; 2],
        to_move: Some(Seat::new(u8::try_from(position["to_move"].as_u64()?).unwrap()).unwrap()),
    };
    Some(Position::from_setup(&setup).unwrap())
}

fn stones(position: &Position) -> u16 {
    position.seats().map(|seat| position.on_side(seat)).sum()
}

/// Asserts that everything in a review follows from its moves, and that these are true where that can be seen.
fn check(review: &Value, positions: &[Value], record: &Value) {
    let moves = review["moves"].as_array().unwrap();
    let played: Vec<&Value> =
        record["events"].as_array().unwrap().iter().filter(|event| event["pit"].is_u64()).collect();
    assert_eq!(moves.len(), played.len());
    let mut known = HashMap::new();
    let mut seats = [(0, 0, 0); 2];
    let mut turning = Vec::new();
    for (i, (of, event)) in moves.iter().zip(&played).enumerate() {
        assert_eq!((&of["seat"], &of["pit"]), (&event["seat"], &event["pit"]));
        let seq = usize::try_from(number(&of["seq"])).unwrap();
        assert_eq!(record["events"][seq - 1], **event);
        let (before, after) = (of["before"].as_i64(), of["after"].as_i64());
        assert_eq!(of["exact"], before.is_some() && after.is_some());
        // What comes after a move is what comes before the next.
        if let Some(next) = moves.get(i + 1) {
            let sign = if next["seat"] == of["seat"] { 1 } else { -1 };
            assert_eq!(next["before"].as_i64(), after.map(|margin| sign * margin));
        }
        let position = parse(&positions[seq - 1]).unwrap();
        if stones(&position) <= 12 {
            let margin = i64::from(solve(&position, &mut known));
            assert_eq!(before, Some(margin), "{of}");
        }
        let Some((before, after)) = before.zip(after) else {
            assert!(of["given_away"].is_null());
            continue;
        };
        let given = before - after;
        assert!(given >= 0, "{of}");
        assert_eq!(of["given_away"], given);
        if given == 0 {
            assert_eq!(of["best"], of["pit"]);
        } else if let Some(best) = of["best"].as_u64() {
            assert_ne!(of["best"], of["pit"]);
            if stones(&position) <= 12 {
                let mut next = position;
                next.sow(u8::try_from(best).unwrap()).unwrap();
                let same = next.to_move() == position.to_move();
                let margin = next.to_move().map(|_| i64::from(solve(&next, &mut known)));
                assert!(margin.is_none_or(|margin| before == if same { margin } else { -margin }), "{of}");
            }
        }
        if of["by"] == "player" {
            let seat = &mut seats[usize::try_from(number(&of["seat"])).unwrap()];
            *seat = (seat.0 + 1, seat.1 + i64::from(given == 0), seat.2 + given);
        }
        let name = |margin: i64| ["lost", "drawn", "won"][usize::try_from(margin.signum() + 1).unwrap()];
        if before.signum() != after.signum() {
            turning.push(
                json!({ "seq": seq, "seat": of["seat"], "before": name(before), "after": name(after) }),
            );
        }
    }
    assert_eq!(review["turning_points"], json!(turning));
    assert_eq!(review["exact"], moves.iter().all(|of| of["exact"] == true));
    for (seat, (judged, flawless, given_away)) in seats.into_iter().enumerate() {
        let mut expected =
            json!({ "seat": seat, "judged": judged, "flawless": flawless, "given_away": given_away });
        if judged > 0 {
            expected["accuracy"] = json!(flawless * 100 / judged);
        }
        assert_eq!(review["seats"][seat], expected);
    }
}

/// The start and the position after every event, as the record gives them.
async fn positions(player: &crate::harness::Player, record: &Value) -> Vec<Value> {
    let mut positions = Vec::new();
    for events in 0..=record["events"].as_array().unwrap().len() {
        let mut part = record.clone();
        part.as_object_mut().unwrap().remove("result");
        part["events"].as_array_mut().unwrap().truncate(events);
        positions.push(player.post("/v1/records/replay", part).await.ok(200)["position"].clone());
    }
    positions
}

#[test]
fn a_review_tells_what_each_move_was_worth_and_is_computed_once() {
    test(async |server| {
        let other = server.another().await;
        let new = json!({ "variant": "kalah", "options": { "stones": 3 } });
        let (people, _, game) = server.group_game(new, 2).await;
        let id = text(&game["id"]).to_owned();
        let path = format!("/v1/games/{id}/review");
        people[0].get(&path).await.problem(409, "game_not_over");
        let end = play_out(&people, &id, |legal| *legal.last().unwrap()).await;
        // Several ask at once, of two processes.
        let asked = [people[0].clone(), people[1].clone(), people[0].via(&other)];
        let answers = at_once(asked.map(|player| {
            let path = path.clone();
            async move { player.get(&path).await.ok(200) }
        }))
        .await;
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
        assert_eq!(answers[0]["exact"], true, "{}", answers[0]);
        let record = people[0].record(&id).await;
        check(&answers[0], &positions(&people[0], &record).await, &record);
        let last = answers[0]["moves"].as_array().unwrap().last().unwrap();
        let store =
            |seat: &Value| end["seats"][usize::try_from(number(seat)).unwrap()]["store"].as_i64().unwrap();
        assert_eq!(last["after"], store(&last["seat"]) - store(&json!(1 - number(&last["seat"]))));
        // Kept: later answers come from there.
        let mut database = server.database().await;
        let kept: i64 =
            sqlx::query_scalar("select count(*) from review").fetch_one(&mut database).await.unwrap();
        assert_eq!(kept, 1);
        let sql = "update review set margins = array_fill(7::smallint, array[array_length(margins, 1)])";
        sqlx::query(sql).execute(&mut database).await.unwrap();
        let began = Instant::now();
        let changed = people[0].get(&path).await.ok(200);
        assert!(began.elapsed() < Duration::from_secs(2));
        assert_eq!(changed["exact"], true);
        assert_eq!(changed["moves"][0]["before"].as_i64().map(i64::abs), Some(7));
        other.stop().await;
    });
}

#[test]
fn a_new_review_needs_a_token_and_costs_its_player_time_for_thinking() {
    test(async |server| {
        let new = json!({ "variant": "kalah", "options": { "pits": 4, "stones": 3 } });
        let (people, _, game) = server.group_game(new, 2).await;
        let path = format!("/v1/games/{}/review", text(&game["id"]));
        people[0].act(text(&game["id"]), "resign").await.ok(200);
        let problem = server.nobody().get(&path).await.problem(401, "token_missing");
        assert!(text(&problem["detail"]).contains("not been computed yet"), "{problem}");
        // Found at once, but the budget is what was asked for.
        let position =
            json!({ "variant": "kalah", "pits": [[0, 1], [1, 1]], "stores": [0, 0], "to_move": 0 });
        for _ in 0..4 {
            let body = json!({ "position": position, "budget_ms": 5_000 });
            people[0].post("/v1/analysis", body).await.ok(200);
        }
        let refused = people[0].get(&path).await;
        assert!(refused.headers.contains_key("retry-after"));
        refused.problem(429, "rate_limited");
        let answer = people[1].get(&path).await;
        assert!(answer.headers.contains_key("ratelimit"));
        let review = answer.ok(200);
        let body = json!({ "position": position, "budget_ms": 5_000 });
        for _ in 0..3 {
            people[1].post("/v1/analysis", body.clone()).await.ok(200);
        }
        people[1].post("/v1/analysis", body).await.problem(429, "rate_limited");
        // Once it is there it is everybody's, and costs nothing.
        for player in [&people[0], &people[1], &server.nobody()] {
            let answer = player.get(&path).await;
            assert!(!answer.headers.contains_key("ratelimit"));
            assert_eq!(answer.ok(200), review);
        }
    });
}

#[test]
fn moves_of_the_computer_are_told_but_not_judged() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let new = json!({ "variant": "kalah", "computers": ["easy"], "options": { "stones": 3 }, "seed": 3 });
        let game = player.post("/v1/games", new).await.ok(201);
        let id = text(&game["id"]);
        play_on(std::slice::from_ref(&player), id, |legal| legal[0]).await;
        let review = player.get(&format!("/v1/games/{id}/review")).await.ok(200);
        let record = player.record(id).await;
        check(&review, &positions(&player, &record).await, &record);
        assert!(review["moves"].as_array().unwrap().iter().any(|of| of["by"] == "computer"));
        assert_eq!(review["seats"][1], json!({ "seat": 1, "judged": 0, "flawless": 0, "given_away": 0 }));
    });
}

#[test]
fn a_game_that_ended_by_resignation_is_reviewed_up_to_there() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let id = text(&game["id"]);
        let mover = usize::try_from(number(&game["to_move"])).unwrap();
        people[mover].sow(id, 0, 0).await.ok(200);
        people[1 - mover].act(id, "leave").await.ok(200);
        people[mover].act(id, "resign").await.ok(200);
        let review = people[0].get(&format!("/v1/games/{id}/review")).await.ok(200);
        let record = people[0].record(id).await;
        check(&review, &positions(&people[0], &record).await, &record);
        assert_eq!(review["moves"][0]["by"], "player");
        // Without a single move there is nothing to say, and that is no error.
        let next =
            people[0].post(&format!("/v1/groups/{}/games", text(&game["group_id"])), json!({})).await.ok(201);
        people[0].act(text(&next["id"]), "resign").await.ok(200);
        let review = people[1].get(&format!("/v1/games/{}/review", text(&next["id"]))).await.ok(200);
        assert_eq!((&review["moves"], &review["exact"]), (&json!([]), &json!(true)));
    });
}

#[test]
fn other_games_have_no_review() {
    test(async |server| {
        for (variant, players) in [("basic", 2), ("kalah", 3)] {
            let (people, _, game) = server.group_game(json!({ "variant": variant }), players).await;
            let path = format!("/v1/games/{}/review", text(&game["id"]));
            people[0].get(&path).await.problem(409, "game_not_over");
            for player in &people[1..] {
                player.act(text(&game["id"]), "resign").await.ok(200);
            }
            people[0].get(&path).await.problem(409, "not_reviewable");
        }
        let (people, _, game) = server.group_game(json!({ "variant": "kalah", "private": true }), 2).await;
        let path = format!("/v1/games/{}/review", text(&game["id"]));
        server.nobody().get(&path).await.problem(404, "game_not_found");
        let sql =
            "update game set status = 'aborted', end_reason = 'abandoned', to_move = null, ended_at = now()
                   where id = $1::text::uuid";
        sqlx::query(sql).bind(text(&game["id"])).execute(&mut server.database().await).await.unwrap();
        people[0].get(&path).await.problem(409, "not_reviewable");
    });
}
