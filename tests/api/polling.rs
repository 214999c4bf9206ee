//! Waiting for a move, and stopping a server while somebody waits.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::harness::{Answer, Player, Program, TestServer, run, test};

/// A game of two people, its path, and whose turn it is.
async fn game(server: &TestServer) -> (Vec<Player>, String, usize) {
    let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
    let mover = usize::try_from(game["to_move"].as_u64().unwrap()).unwrap();
    (people, game["id"].as_str().unwrap().to_owned(), mover)
}

fn poll(player: &Player, game: &str, query: &str) -> JoinHandle<Answer> {
    tokio::spawn(Answer::of(player.request(Method::GET, &format!("/v1/games/{game}?{query}"))))
}

/// Until the server has taken up as many requests as have been sent, as far as can be seen from outside: the
/// waiting ones have read the game, then this later one is answered.
async fn let_it_begin(player: &Player, game: &str, waiting: &JoinHandle<Answer>) {
    for _ in 0..20 {
        player.game(game).await;
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished(), "nothing has happened yet");
}

#[test]
fn a_long_poll_is_answered_as_soon_as_a_move_is_made() {
    test(async |server| {
        let (people, id, mover) = game(server).await;
        let waiting = poll(&people[1 - mover], &id, "after_seq=0&wait=25");
        let anybody = poll(&server.nobody(), &id, "after_seq=0&wait=25");
        let_it_begin(&people[0], &id, &waiting).await;
        people[mover].sow(&id, 0, 0).await.ok(200);
        for answer in [waiting.await.unwrap(), anybody.await.unwrap()] {
            assert_eq!(answer.headers["etag"], "W/\"1\"");
            assert_eq!(answer.ok(200)["last_event"]["pit"], 0);
        }
    });
}

#[test]
fn a_long_poll_hears_of_what_another_server_did() {
    test(async |server| {
        let (people, id, mover) = game(server).await;
        let other = server.another().await;
        let waiting = poll(&people[1 - mover], &id, "after_seq=0&wait=25");
        let_it_begin(&people[0], &id, &waiting).await;
        let elsewhere = other.nobody().with_token(people[mover].token.as_ref().unwrap());
        elsewhere.sow(&id, 3, 0).await.ok(200);
        assert_eq!(waiting.await.unwrap().ok(200)["last_event"]["pit"], 3);
        other.stop().await;
    });
}

#[test]
fn resigning_leaving_and_returning_are_news_too() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        for (seq, verb) in ["leave", "return", "resign"].iter().enumerate() {
            let waiting = poll(&people[1], &id, &format!("after_seq={seq}&wait=25"));
            people[0].post(&format!("/v1/games/{id}/{verb}"), json!({})).await.ok(200);
            let told = waiting.await.unwrap().ok(200);
            assert!(told["seq"].as_u64().unwrap() > u64::try_from(seq).unwrap(), "{told}");
        }
    });
}

#[test]
fn at_the_end_of_the_wait_the_game_is_answered_as_it_is() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let answer = poll(&people[0], &id, "after_seq=0&wait=1").await.unwrap();
        assert_eq!(answer.ok(200)["seq"], 0);
        let path = format!("/v1/games/{id}?after_seq=0&wait=1");
        let known =
            Answer::of(people[0].request(Method::GET, &path).header("if-none-match", "W/\"0\"")).await;
        assert_eq!(known.status, 304);
    });
}

#[test]
fn nobody_waits_for_what_is_there_or_cannot_come() {
    test(async |server| {
        let (people, id, mover) = game(server).await;
        people[mover].sow(&id, 0, 0).await.ok(200);
        for query in ["after_seq=0&wait=25", "wait=25", "after_seq=1", "after_seq=1&wait=0"] {
            assert_eq!(people[0].get(&format!("/v1/games/{id}?{query}")).await.ok(200)["seq"], 1);
        }
        people[0].post(&format!("/v1/games/{id}/resign"), json!({})).await.ok(200);
        let over = people[0].get(&format!("/v1/games/{id}?after_seq=99&wait=25")).await.ok(200);
        assert_eq!(over["status"], "finished");
        let unknown = format!("/v1/games/{}?after_seq=0&wait=25", people[0].id);
        people[0].get(&unknown).await.problem(404, "game_not_found");
    });
}

#[test]
fn waiting_holds_no_connection_to_the_database() {
    test(async |server| {
        let (people, id, mover) = game(server).await;
        // Both ends of all of them would be more open files than many systems let one process have.
        let program = Program::on(server, "127.0.0.1:0", "info");
        let elsewhere = people[1 - mover].at(program.url.clone());
        let waiting: Vec<_> = (0..500).map(|_| poll(&elsewhere, &id, "after_seq=0&wait=25")).collect();
        let_it_begin(&elsewhere, &id, &waiting[0]).await;
        let mut database = server.database().await;
        let used = "select count(*) filter (where state <> 'idle'), count(*) from pg_stat_activity
                    where datname = current_database() and pid <> pg_backend_pid()";
        loop {
            let (used, open): (i64, i64) = sqlx::query_as(used).fetch_one(&mut database).await.unwrap();
            assert!(open < 100, "{open} connections");
            // Others than those who wait may use some for a moment.
            if used == 0 {
                break;
            }
        }
        people[mover].sow(&id, 5, 0).await.ok(200);
        for answer in waiting {
            assert_eq!(answer.await.unwrap().ok(200)["seq"], 1);
        }
        program.end();
    });
}

#[test]
fn whoever_signs_out_is_told_nothing_by_what_still_waits() {
    test(async |server| {
        let (people, id, mover) = game(server).await;
        let waiting = poll(&people[1 - mover], &id, "after_seq=0&wait=25");
        let_it_begin(&people[mover], &id, &waiting).await;
        people[1 - mover].delete("/v1/sessions/current").await.ok(204);
        people[mover].sow(&id, 5, 0).await.ok(200);
        waiting.await.unwrap().problem(401, "token_invalid");
    });
}

#[test]
fn a_stop_answers_those_who_wait() {
    run(async || {
        let server = TestServer::start(0).await;
        let (_, id, _) = game(&server).await;
        let mut waiting = TcpStream::connect(server.address()).await.unwrap();
        let poll = format!(
            "GET /v1/games/{id}?after_seq=0&wait=25 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n"
        );
        waiting.write_all(poll.as_bytes()).await.unwrap();
        continued(&mut waiting).await;
        server.stop().await;
        let mut answer = String::new();
        waiting.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"seq\":0"), "{answer}");
    });
}

/// The server has taken up a request once it asks for the rest of it.
async fn continued(connection: &mut TcpStream) {
    let mut asked = [0; 25];
    connection.read_exact(&mut asked).await.unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
}

/// Sends the head and half of the body of a new guest.
async fn half_a_guest(server: &TestServer) -> TcpStream {
    let mut connection = TcpStream::connect(server.address()).await.unwrap();
    let half = "POST /v1/guests HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\
                Expect: 100-continue\r\n\r\n{\"name\":";
    connection.write_all(half.as_bytes()).await.unwrap();
    continued(&mut connection).await;
    connection
}

#[test]
fn a_stop_does_not_cut_off_a_request_that_has_begun() {
    run(async || {
        let server = TestServer::start(0).await;
        let mut look = server.database().await;
        let mut connection = half_a_guest(&server).await;
        let address = server.address();
        let stopping = tokio::spawn(server.stop());
        // New connections are refused as soon as the stop has begun.
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        connection.write_all(b"\"Zoe\"}").await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 201 ") && answer.contains("\"Zoe\""), "{answer}");
        stopping.await.unwrap();
        let sql = "select name from player";
        let names: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut look).await.unwrap();
        assert_eq!(names, ["Zoe"]);
    });
}

#[test]
fn clients_that_send_half_a_request_hold_nobody_up() {
    test(async |server| {
        let mut slow = Vec::new();
        for _ in 0..50 {
            slow.push(half_a_guest(server).await);
            let mut silent = TcpStream::connect(server.address()).await.unwrap();
            silent.write_all(b"GET /healthz HTT").await.unwrap();
            slow.push(silent);
        }
        let guest = server.guest("Ana").await;
        assert_eq!(guest.get("/v1/me").await.ok(200)["name"], "Ana");
        let sql = "select count(*) from player";
        let players: i64 = sqlx::query_scalar(sql).fetch_one(&mut server.database().await).await.unwrap();
        assert_eq!(players, 1);
        let mut late = slow.remove(0);
        late.write_all(b"\"Zoe\"}").await.unwrap();
        let mut answer = [0; 12];
        late.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 201");
    });
}

#[test]
fn a_stopped_server_leaves_the_game_to_the_others() {
    test(async |server| {
        let first = server.another().await;
        let (people, id, mover) = game(&first).await;
        first.stop().await;
        let goes_on = server.nobody().with_token(people[mover].token.as_ref().unwrap());
        let played: Value = goes_on.sow(&id, 0, 0).await.ok(200);
        assert_eq!(played["game"]["seq"], 1);
    });
}
