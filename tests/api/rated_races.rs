//! Races at the end of ranked games, and callers who hang up in the middle: whatever comes of them is one end, with one
//! receipt for each seat.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use crate::clock::{audited, late};
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

/// How the end of a game is cut short.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// The caller hangs up.
    Caller,
    /// The connection to the database is lost.
    Connection,
}

/// The backends of this database that wait for a lock of somebody else.
async fn blocked(database: &mut PgConnection) -> Vec<i32> {
    let sql =
        "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    sqlx::query_scalar(sql).fetch_all(database).await.unwrap()
}

#[test]
fn an_end_that_is_cut_short_before_its_last_statement_has_not_happened() {
    test(async |server| {
        let mut database = server.database().await;
        let mut games = before_the_end(server, 8).await;
        let mut ended = 0;
        for cut in [Cut::Caller, Cut::Connection] {
            // Each is written later than the end of the game.
            for table in ["rating_change", "opponent", "seat", "ticket"] {
                let (people, id, pit) = games.pop().unwrap();
                let state = people[0].game(&id).await;
                let seq = number(&state["seq"]);
                let mover = people[usize::try_from(number(&state["to_move"])).unwrap()].clone();
                let mut holder = server.database().await;
                let mut held = holder.begin().await.unwrap();
                let sql = sqlx::AssertSqlSafe(format!("lock table {table} in share mode"));
                sqlx::query(sql).execute(&mut *held).await.unwrap();
                let (player, path) = (mover.clone(), id.clone());
                let request = tokio::spawn(async move { player.sow(&path, pit.into(), seq).await });
                let mut pids = blocked(&mut database).await;
                while pids.is_empty() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    pids = blocked(&mut database).await;
                }
                let running = people[1].game(&id).await;
                assert_eq!(
                    (&running["status"], &running["seq"]),
                    (&json!("running"), &json!(seq)),
                    "{table}"
                );
                match cut {
                    Cut::Caller => request.abort(),
                    Cut::Connection => {
                        for pid in pids {
                            let sql = "select pg_terminate_backend($1)";
                            sqlx::query(sql).bind(pid).execute(&mut database).await.unwrap();
                        }
                        assert!(request.await.unwrap().status.is_server_error(), "{table}");
                        let now = people[1].game(&id).await;
                        assert_eq!(
                            (&now["status"], &now["seq"]),
                            (&json!("running"), &json!(seq)),
                            "{table}"
                        );
                        assert_whole(server, ended).await;
                    }
                }
                held.rollback().await.unwrap();
                while !blocked(&mut database).await.is_empty() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                // Asked once more it is what it would have been.
                mover.sow(&id, pit.into(), seq).await.ok(200);
                ended += 1;
                assert_whole(server, ended).await;
            }
        }
    });
}

#[test]
fn a_no_show_that_is_cut_short_is_noted_with_the_end_of_its_game_or_not_at_all() {
    test(async |server| {
        let mut database = server.database().await;
        for table in ["no_show", "ticket"] {
            let (people, game) = server.ranked_game("kalah", 2).await;
            let id = text(&game["id"]);
            let mut holder = server.database().await;
            let mut held = holder.begin().await.unwrap();
            let sql = sqlx::AssertSqlSafe(format!("lock table {table} in share mode"));
            sqlx::query(sql).execute(&mut *held).await.unwrap();
            late(server, id, 1.01).await;
            let mut pids = blocked(&mut database).await;
            while pids.is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
                pids = blocked(&mut database).await;
            }
            for pid in pids {
                sqlx::query("select pg_terminate_backend($1)")
                    .bind(pid)
                    .execute(&mut database)
                    .await
                    .unwrap();
            }
            assert_eq!(people[1].game(id).await["status"], "running");
            held.rollback().await.unwrap();
            // It is found again.
            let over = people[1].until(id, |now| now["status"] != "running").await;
            assert_eq!((&over["status"], &over["seq"]), (&json!("aborted"), &json!(1)));
            let sql = "select count(*) from no_show where game_id = $1::uuid";
            let noted: i64 = sqlx::query_scalar(sql).bind(id).fetch_one(&mut database).await.unwrap();
            assert_eq!(noted, 1);
            for player in &people[1..] {
                player.ticket("kalah", 4).await;
            }
        }
        audited(server).await;
    });
}
