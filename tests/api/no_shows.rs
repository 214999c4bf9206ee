//! Players who let their very first turn of a ranked game run out.

use serde_json::{Value, json};

use crate::clock::{audited, log, mover, run_out, sow_through};
use crate::harness::{Player, TestServer, number, of_seats, play_on, test, text};

/// For how many seconds a player gets no ticket; `None`: there is one at once.
async fn cooldown(player: &Player) -> Option<u64> {
    let wish = json!({ "variant": "kalah", "players": 4, "turn_seconds": 60 });
    let answer = player.post("/v1/tickets", wish).await;
    if answer.status == 201 {
        let path = format!("/v1/tickets/{}", text(&answer.json()["id"]));
        player.delete(&path).await.ok(200);
        return None;
    }
    let seconds = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
    answer.problem(429, "cooldown");
    Some(seconds)
}

/// The cooldown is one of so many seconds that has just begun.
#[track_caller]
fn assert_begun(cooldown: Option<u64>, seconds: u64) {
    let left = cooldown.expect("there is a cooldown");
    assert!((seconds.saturating_sub(20)..=seconds + 1).contains(&left), "{left} of {seconds} s");
}

/// Lets so many seconds pass for everybody's earlier no-shows.
async fn pass(server: &TestServer, seconds: f64) {
    let sql =
        "update no_show set at = at - make_interval(secs => $1), until = until - make_interval(secs => $1)";
    sqlx::query(sql).bind(seconds).execute(&mut server.database().await).await.unwrap();
}

/// A ranked game of these people in which `absent` lets the very first turn run out after the others have had theirs:
/// the people by seat, the seat, and the game then.
async fn missed(server: &TestServer, people: &[Player], absent: &Player) -> (Vec<Player>, usize, Value) {
    let (people, game) = server.ranked_again("kalah", people).await;
    let id = text(&game["id"]);
    let seat = people.iter().position(|player| player.id == absent.id).unwrap();
    let mut now = game.clone();
    while mover(&now) != seat {
        now = sow_through(&people, id, now).await;
    }
    let after = run_out(server, &people[0], id).await;
    (people, seat, after)
}

async fn pair(server: &TestServer) -> Vec<Player> {
    vec![server.guest("Ana").await, server.guest("Ben").await]
}

#[test]
fn the_cooldown_doubles_with_each_time_within_a_day_and_the_third_costs_the_game() {
    test(async |server| {
        let people = pair(server).await;
        let (ana, ben) = (&people[0], &people[1]);
        for (time, seconds) in [60, 120, 240, 480, 960, 1920, 3600, 3600].into_iter().enumerate() {
            let (seated, seat, over) = missed(server, &people, ana).await;
            let id = text(&over["id"]);
            let receipts = ben.receipts(id).await;
            if time < 2 {
                assert_eq!((&over["status"], &over["end_reason"]), (&json!("aborted"), &json!("no_show")));
                assert_eq!((receipts, over["seats"][seat].get("place")), (vec![], None));
            } else {
                assert_eq!((&over["status"], &over["end_reason"]), (&json!("finished"), &json!("resigned")));
                assert_eq!(log(server, id).await.last(), Some(&format!("resign {seat} clock")));
                assert_eq!(over["last_event"]["by"], "clock");
                assert_eq!((receipts.len(), &receipts[seat]["place"]), (2, &json!(2)));
                assert_eq!(receipts[seat]["player_id"], seated[seat].id);
            }
            assert_begun(cooldown(ana).await, seconds);
            assert_eq!(cooldown(ben).await, None, "it is not the other's fault");
            // Not quite to its end, and then beyond.
            pass(server, seconds as f64 - 30.0).await;
            assert!(cooldown(ana).await.is_some_and(|left| left <= 31));
            pass(server, 30.0).await;
            assert_eq!(cooldown(ana).await, None);
        }
        // A day later all is forgiven.
        pass(server, 86_400.0).await;
        let (_, _, over) = missed(server, &people, ana).await;
        assert_eq!(over["end_reason"], "no_show");
        assert_begun(cooldown(ana).await, 60);
        audited(server).await;
    });
}

#[test]
fn no_shows_of_others_do_not_count() {
    test(async |server| {
        let people = pair(server).await;
        for absent in [&people[0], &people[1], &people[0], &people[1]] {
            let (_, _, over) = missed(server, &people, absent).await;
            assert_eq!(over["end_reason"], "no_show");
            pass(server, 3600.0).await;
        }
        audited(server).await;
    });
}

#[test]
fn among_three_the_third_time_leaves_the_seat_to_the_computer() {
    test(async |server| {
        let mut people = Vec::new();
        for name in ["Ana", "Ben", "Cem"] {
            people.push(server.guest(name).await);
        }
        let ana = people[0].clone();
        for seconds in [60, 120] {
            let (seated, _, over) = missed(server, &people, &ana).await;
            assert_eq!((&over["status"], &over["end_reason"]), (&json!("aborted"), &json!("no_show")));
            // The end has let everybody go.
            for player in &seated {
                match cooldown(player).await {
                    None => assert_ne!(player.id, ana.id),
                    left => {
                        assert_eq!(player.id, ana.id);
                        assert_begun(left, seconds);
                    }
                }
            }
            pass(server, 200.0).await;
        }
        let (seated, seat, now) = missed(server, &people, &ana).await;
        let id = text(&now["id"]);
        assert_eq!((&now["status"], &now["seats"][seat]["resigned"]), (&json!("running"), &json!(true)));
        assert!(log(server, id).await.contains(&format!("resign {seat} clock")));
        assert_eq!(now["seats"][seat]["place"], 3);
        assert_begun(cooldown(&ana).await, 240);
        let other = seated.iter().find(|player| player.id != ana.id).unwrap();
        let wish = json!({ "variant": "kalah", "players": 2, "turn_seconds": 30 });
        other.post("/v1/tickets", wish).await.problem(409, "in_ranked_game");
        assert_eq!(other.receipts(id).await, Vec::<Value>::new(), "nothing is rated before the end");
        let over = play_on(&seated, id, |legal| legal[0]).await;
        let moves =
            log(server, id).await.into_iter().filter(|event| event.starts_with(&format!("move {seat} ")));
        let moves: Vec<String> = moves.collect();
        assert!(!moves.is_empty() && moves.iter().all(|event| event.ends_with("computer")), "{moves:?}");
        assert_eq!((&over["status"], &over["seats"][seat]["place"]), (&json!("finished"), &json!(3)));
        assert_eq!(other.receipts(id).await.len(), 3);
        // It counts once: the game's end is no other no-show.
        assert_begun(cooldown(&ana).await, 240);
        audited(server).await;
    });
}

#[test]
fn whoever_lets_a_game_begin_without_them_keeps_the_same_claim_to_the_first_move() {
    test(async |server| {
        let people = pair(server).await;
        let (seated, game) = server.ranked_again("kalah", &people).await;
        seated[0].act(text(&game["id"]), "resign").await.ok(200);
        // From now on it is the second one's turn to begin.
        let (had, due) = (&seated[0], &seated[1]);
        for absent in [due, had, due, had] {
            let (now, seat, over) = missed(server, &people, absent).await;
            assert_eq!((&now[0].id, &over["end_reason"]), (&due.id, &json!("no_show")));
            assert_eq!(seat, usize::from(absent.id == had.id));
            pass(server, 3600.0).await;
        }
        let (now, game) = server.ranked_again("kalah", &people).await;
        assert_eq!(now[0].id, due.id);
        now[1].act(text(&game["id"]), "resign").await.ok(200);
        let sql = "select start_balance from rating order by start_balance";
        let balances: Vec<i32> =
            sqlx::query_scalar(sql).fetch_all(&mut server.database().await).await.unwrap();
        assert_eq!(balances, [0, 0], "each has had one first move of two games");
        audited(server).await;
    });
}

#[test]
fn only_a_seat_that_nobody_has_moved_for_is_a_no_show() {
    test(async |server| {
        // The further sowing of a first turn is a turn of its own.
        let people = pair(server).await;
        let (seated, game) = server.ranked_again("kalah", &people).await;
        let id = text(&game["id"]);
        let chain = seated[0].sow(id, 2, 0).await.ok(200);
        assert_eq!(chain["game"]["to_move"], 0, "three stones in d, e, f and one in the store");
        let now = run_out(server, &seated[0], id).await;
        assert_eq!((&now["status"], &now["last_event"]["by"]), (&json!("running"), &json!("clock")));
        // Two turns in a row make a leaver, not a no-show.
        let now = sow_through(&seated, id, now).await;
        assert_eq!(mover(&now), 0);
        let now = run_out(server, &seated[0], id).await;
        assert_eq!(of_seats(&now, "left"), [json!(true), json!(false)]);
        seated[1].act(id, "resign").await.ok(200);
        assert_eq!(seated[0].receipts(id).await[0]["place"], 2, "who left first is last");

        // Nor is one for whom the computer has moved while they were away.
        let (seated, game) = server.ranked_again("kalah", &people).await;
        let id = text(&game["id"]);
        seated[1].act(id, "leave").await.ok(200);
        let now = sow_through(&seated, id, game.clone()).await;
        let seen = now["seq"].clone();
        let now = seated[0].until(id, |now| now["seq"] != seen && now["to_move"] == 0).await;
        seated[1].act(id, "return").await.ok(200);
        let back = seated[0].game(id).await;
        assert!(number(&back["seq"]) > number(&now["seq"]));
        let now = sow_through(&seated, id, back).await;
        assert_eq!(mover(&now), 1);
        let now = run_out(server, &seated[0], id).await;
        assert_eq!((&now["status"], &now["last_event"]["by"]), (&json!("running"), &json!("clock")));
        // But who only left and came back has still not been there.
        seated[0].act(id, "resign").await.ok(200);
        let (seated, game) = server.ranked_again("kalah", &people).await;
        let id = text(&game["id"]);
        seated[0].act(id, "leave").await.ok(200);
        let back = seated[0].act(id, "return").await.ok(200);
        if of_seats(&back, "left")[0] == false
            && log(server, id).await.iter().all(|event| !event.starts_with("move"))
        {
            assert_eq!(run_out(server, &seated[1], id).await["end_reason"], "no_show");
        }
        let count: i64 = sqlx::query_scalar("select count(*) from no_show")
            .fetch_one(&mut server.database().await)
            .await
            .unwrap();
        assert!(count <= 1, "{count}");
        audited(server).await;
    });
}

#[test]
fn the_other_seat_may_be_the_first_to_miss_its_turn_after_many_moves_of_others() {
    test(async |server| {
        for absent in 1..4 {
            let (people, game) = server.ranked_game("kalah", 4).await;
            let id = text(&game["id"]);
            let mut now = game.clone();
            while mover(&now) != absent {
                now = sow_through(&people, id, now).await;
            }
            let seq = number(&now["seq"]);
            let over = run_out(server, &people[0], id).await;
            assert_eq!((&over["status"], &over["end_reason"]), (&json!("aborted"), &json!("no_show")));
            assert_eq!(number(&over["seq"]), seq + 1);
            assert_begun(cooldown(&people[absent]).await, 60);
            for seat in (0..4).filter(|seat| *seat != absent) {
                assert_eq!(cooldown(&people[seat]).await, None);
            }
        }
        audited(server).await;
    });
}
