//! Races at the end of ranked games, and callers who hang up in the middle: whatever comes of them is one end, with one
//! receipt for each seat.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use crate::clock::audited;
use crate::harness::{Player, TestServer, at_once, number, test, text};
use crate::rated_games::{line_to, play_line};

/// Ranked games, through the queue, in which the next sowing is the last: the people by seat, the game, the pit.
async fn before_the_end(server: &TestServer, count: usize) -> Vec<(Vec<Player>, String, u8)> {
    let mut waiting = Vec::new();
    for _ in 0..2 * count {
        let player = server.guest("Somebody").await;
        let ticket = player.ticket("kalah", 2).await;
        waiting.push((player, ticket));
    }
    let people: Vec<Player> = waiting.iter().map(|(player, _)| player.clone()).collect();
    let games: Vec<String> =
        at_once(waiting.into_iter().map(|(player, ticket)| async move {
            text(&player.matched(&ticket).await["game_id"]).to_owned()
        }))
        .await;
    let line = line_to("kalah", 2, &[1, 2]);
    let (last, line) = line.split_last().unwrap();
    let mut ids = games.clone();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let people = people.into_iter().zip(games).collect::<Vec<_>>();
    at_once(ids.into_iter().map(|id| {
        let seated: Vec<Player> =
            people.iter().filter(|(_, game)| *game == id).map(|(player, _)| player.clone()).collect();
        let (line, last) = (line.to_vec(), *last);
        async move {
            let state = seated[0].game(&id).await;
            let seated = if text(&state["seats"][0]["player"]["id"]) == seated[0].id {
                seated
            } else {
                seated.into_iter().rev().collect()
            };
            play_line(&seated, &id, &line).await;
            (seated, id, last)
        }
    }))
    .await
}

/// Every game that is over has one end and one receipt for each seat, has let its players go, and all adds up.
async fn assert_whole(server: &TestServer, ended: i64) {
    let sql = "select count(*),
                      count(*) filter (where (select count(*) from rating_change c where c.game_id = g.id) <> 2),
                      count(*) filter (where exists (select from ticket t where t.game_id = g.id and t.open))
               from game g where status = 'finished'";
    let counts: (i64, i64, i64) = sqlx::query_as(sql).fetch_one(&mut server.database().await).await.unwrap();
    assert_eq!(counts, (ended, 0, 0), "ended, without their receipts, with open tickets");
    let sql = "select (select count(*) from rating_change), (select count(*) from rating where games = 1 and changes = 1)";
    let receipts: (i64, i64) = sqlx::query_as(sql).fetch_one(&mut server.database().await).await.unwrap();
    assert_eq!(receipts, (2 * ended, 2 * ended));
    audited(server).await;
}

#[test]
fn a_last_move_and_a_resignation_at_the_same_moment_twice_over_two_servers_are_one_end() {
    test(async |server| {
        let other = server.another().await;
        let games = before_the_end(server, 100).await;
        let ends = at_once(games.into_iter().enumerate().map(|(i, (people, id, pit))| {
            let base = other.url("");
            async move {
                let state = people[0].game(&id).await;
                let (seq, seat) =
                    (number(&state["seq"]), usize::try_from(number(&state["to_move"])).unwrap());
                let (mover, opponent) = (people[seat].clone(), people[1 - seat].clone());
                let away = Duration::from_micros(500 * u64::try_from(i % 4).unwrap());
                // Now the one, now the other has a start of a moment.
                let wait = async move |first: bool| {
                    if first == i.is_multiple_of(2) {
                        tokio::time::sleep(away).await;
                    }
                };
                let movers = [mover.clone(), mover.at(base.clone())].map(|player| {
                    let id = id.clone();
                    tokio::spawn(async move {
                        wait(true).await;
                        player.sow(&id, pit.into(), seq).await
                    })
                });
                let opponents = [opponent.clone(), opponent.at(base)].map(|player| {
                    let id = id.clone();
                    tokio::spawn(async move {
                        wait(false).await;
                        player.act(&id, "resign").await
                    })
                });
                let (mut moves, mut resignations) = (Vec::new(), Vec::new());
                for answer in movers {
                    moves.push(answer.await.unwrap());
                }
                for answer in opponents {
                    resignations.push(answer.await.unwrap());
                }
                let over = mover.game(&id).await;
                let played = over["end_reason"] == "played";
                assert!(played || over["end_reason"] == "resigned", "{over}");
                assert_eq!(number(&over["seq"]), seq + 1);
                let (winners, losers) = if played { (moves, resignations) } else { (resignations, moves) };
                for answer in winners {
                    assert_eq!(answer.status, 200, "{}", answer.text);
                }
                for answer in losers {
                    answer.problem(409, "game_over");
                }
                played
            }
        }))
        .await;
        assert_eq!(ends.len(), 100);
        assert!(ends.contains(&true) && ends.contains(&false), "both happen");
        assert_whole(server, 100).await;
        other.stop().await;
    });
}

#[test]
fn a_caller_who_hangs_up_while_a_game_ends_leaves_nothing_half_done() {
    test(async |server| {
        let games = before_the_end(server, 60).await;
        let left = at_once(games.into_iter().enumerate().map(|(i, (people, id, pit))| async move {
            let state = people[0].game(&id).await;
            let (seq, seat) = (number(&state["seq"]), usize::try_from(number(&state["to_move"])).unwrap());
            let mover = people[seat].clone();
            let (path, body) = match i % 3 {
                0 => ("resign", json!({})),
                _ => ("moves", json!({ "pit": pit, "seq": seq })),
            };
            let request = mover.request(Method::POST, &format!("/v1/games/{id}/{path}")).json(&body);
            let patience = Duration::from_micros(400 * u64::try_from(i).unwrap());
            let _ = tokio::time::timeout(patience, request.send()).await;
            (people, id, seat, path, body)
        }))
        .await;
        // What has been begun is done with or given up by now.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let ended: i64 = sqlx::query_scalar("select count(*) from game where status = 'finished'")
            .fetch_one(&mut server.database().await)
            .await
            .unwrap();
        assert_whole(server, ended).await;
        // Whoever asks once more gets the answer that was lost.
        for (people, id, seat, path, body) in left {
            people[seat].post(&format!("/v1/games/{id}/{path}"), body).await.ok(200);
            let over = people[0].game(&id).await;
            assert_eq!(over["status"], "finished");
            assert_eq!(over["end_reason"], if path == "resign" { "resigned" } else { "played" });
        }
        assert_whole(server, 60).await;
    });
}
