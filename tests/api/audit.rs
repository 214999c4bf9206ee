//! The audit: every stored game replays to what is stored, and whatever has been tampered with is named.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::harness::{Player, TestServer, at_once, number, play_on, test, text};

/// A game of kind `i`: people at the table, and how it is to be played.
async fn seated(server: &TestServer, i: usize) -> (Vec<Player>, String) {
    let variant = if i.is_multiple_of(2) { "kalah" } else { "basic" };
    let options = json!({ "pits": 4, "stones": 3, "stand_in": "easy", "full_ranking": !i.is_multiple_of(3),
        "capture_from": (["next", "opposite", "all"][i / 2 % 3]), "capture_empty": i % 5 == 1 });
    let (people, _, game) =
        server.group_game(json!({ "variant": variant, "options": options }), 2 + i / 2 % 3).await;
    (people, text(&game["id"]).to_owned())
}

/// Plays it: some resign, some leave and come back, some games are never finished.
async fn play(i: usize, people: Vec<Player>, game: String) -> String {
    if i % 8 == 7 {
        let state = people[0].game(&game).await;
        let mover = &people[usize::try_from(number(&state["to_move"])).unwrap()];
        mover.sow(&game, 0, 0).await.ok(200);
        return game;
    }
    if i % 4 == 1 {
        people[1].act(&game, "leave").await.ok(200);
    }
    if i % 8 == 1 {
        people[1].act(&game, "return").await.ok(200);
    }
    if i % 4 == 2 {
        people[0].act(&game, "resign").await.ok(200);
    }
    play_on(&people, &game, |legal| legal[i % legal.len()]).await;
    game
}

async fn played(server: &TestServer, count: usize) -> Vec<String> {
    let mut games = Vec::new();
    for i in 0..count {
        games.push((i, seated(server, i).await));
    }
    at_once(games.into_iter().map(|(i, (people, game))| play(i, people, game))).await
}

/// The games in which an audit finds differences, with what it says of each.
async fn found(server: &TestServer) -> Vec<(String, String)> {
    let report = server.service().audit().await.unwrap();
    report.differences.into_iter().map(|d| (d.of.to_string().replacen("game ", "", 1), d.what)).collect()
}

async fn tamper(database: &mut PgConnection, sql: &'static str, game: &str) {
    let done = sqlx::query(sql).bind(game).execute(database).await.unwrap();
    assert_eq!(done.rows_affected(), 1, "{sql}");
}

/// The first of these games that fits, taken away from them.
async fn take(database: &mut PgConnection, games: &mut Vec<String>, fits: &str) -> String {
    let sql = format!("select exists (select from game where id = $1::uuid and {fits})");
    for i in 0..games.len() {
        let sql = sqlx::AssertSqlSafe(sql.clone());
        if sqlx::query_scalar(sql).bind(&games[i]).fetch_one(&mut *database).await.unwrap() {
            return games.remove(i);
        }
    }
    panic!("no game is left of which {fits}")
}

#[test]
fn every_game_that_was_played_replays_to_what_is_stored() {
    test(async |server| {
        let games = played(server, 60).await;
        let player = server.guest("Ana").await;
        let new = json!({ "variant": "kalah", "computers": ["easy", "easy"], "options": { "pits": 4 } });
        let solo = player.post("/v1/games", new).await.ok(201);
        play_on(&[player], text(&solo["id"]), |legal| legal[0]).await;
        let report = server.service().audit().await.unwrap();
        assert_eq!(report.differences, []);
        assert_eq!(report.games, games.len() as u64 + 1);
        let events: i64 = sqlx::query_scalar("select count(*) from game_event")
            .fetch_one(&mut server.database().await)
            .await
            .unwrap();
        assert_eq!(report.events, events.unsigned_abs());
        let mut kinds: Vec<(String, i64)> =
            sqlx::query_as("select kind::text, count(*) from game_event group by 1 order by 1")
                .fetch_all(&mut server.database().await)
                .await
                .unwrap();
        kinds.retain(|(_, count)| *count > 0);
        let kinds: Vec<&str> = kinds.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["leave", "move", "resign", "return"], "the games were of all kinds");
    });
}

/// A game that was played to its end and began with a move.
const BEGUN_BY_A_MOVE: &str = "end_reason = 'played'
    and exists (select from game_event e where e.game_id = game.id and e.seq = 1 and e.kind = 'move')";

/// What is done to a game's rows, in which games it can be done, and a word of what the audit says.
const TAMPERED: &[(&str, &str, &str)] = &[
    (
        "update game set board = board[2:] || board[1:1] where id = $1::uuid",
        "end_reason = 'played' and variant = 'kalah'",
        "board",
    ),
    ("update game set board[1] = board[1] + 1 where id = $1::uuid", "true", "stones"),
    ("update game set board[2] = -1 where id = $1::uuid", "true", "game"),
    ("update game set board = board[2:] where id = $1::uuid", "true", "cups"),
    (
        "update game set board_before = board where id = $1::uuid",
        "end_reason = 'played' and variant = 'kalah'",
        "board_before",
    ),
    ("update game set places = array[9] || places[2:] where id = $1::uuid", "status = 'finished'", "places"),
    ("update game set places = null where id = $1::uuid", "status = 'finished'", "places"),
    (
        "update game set to_move = (to_move + 1) % players where id = $1::uuid",
        "status = 'running'",
        "to_move",
    ),
    ("update game_event set pit = (pit + 1) % 4 where seq = 1 and game_id = $1::uuid", BEGUN_BY_A_MOVE, ""),
    (
        "update game_event set seat = 3 - seat where seq = 1 and game_id = $1::uuid",
        BEGUN_BY_A_MOVE,
        "event 1",
    ),
    (
        "update game_event set kind = 'leave', pit = null where seq = 2 and game_id = $1::uuid",
        BEGUN_BY_A_MOVE,
        "",
    ),
    ("delete from game_event where seq = 1 and game_id = $1::uuid", "seq > 2", "event 2"),
    (
        "delete from game_event e using game g where g.id = e.game_id and e.seq = g.seq and g.id = $1::uuid",
        "status = 'finished'",
        "",
    ),
    (
        "insert into game_event (game_id, seq, kind, seat) select id, seq + 1, 'leave', 0 from game where id = $1::uuid",
        "status = 'finished'",
        "event",
    ),
    (
        "update game set resigned = '{}' where id = $1::uuid",
        "end_reason = 'played' and resigned <> '{}'",
        "resigned",
    ),
    (
        "update game set resigned = '{0}', departed = '{0}' where id = $1::uuid",
        "end_reason = 'played' and departed = '{}'",
        "resigned",
    ),
    ("update game set left_board = '{}' where id = $1::uuid", "variant = 'basic' and left_board <> '{}'", ""),
    ("update game set end_reason = 'resigned' where id = $1::uuid", "end_reason = 'played'", "end"),
    ("update game set seq = seq + 1 where id = $1::uuid", "true", "seq"),
    ("update game set starter = (starter + 1) % players where id = $1::uuid", BEGUN_BY_A_MOVE, "event 1"),
    ("update game set options = options || '{\"stones\": 4}' where id = $1::uuid", "true", ""),
    ("update game set options = options || '{\"pits\": 9}' where id = $1::uuid", "true", "options"),
    ("delete from seat where seat = 0 and game_id = $1::uuid", "true", "seat"),
];

#[test]
fn whatever_was_tampered_with_is_found_and_named() {
    test(async |server| {
        let mut games = played(server, 60).await;
        let mut database = server.database().await;
        let mut tampered = BTreeSet::new();
        for (sql, fits, word) in TAMPERED {
            let game = take(&mut database, &mut games, fits).await;
            tamper(&mut database, sql, &game).await;
            tampered.insert(game.clone());
            let found = found(server).await;
            let named: BTreeSet<String> = found.iter().map(|(game, _)| game.clone()).collect();
            assert_eq!(named, tampered, "after {sql}: {found:#?}");
            let said: Vec<&String> =
                found.iter().filter(|(of, _)| *of == game).map(|(_, what)| what).collect();
            assert!(said.iter().any(|what| what.contains(word)), "{sql}: {said:?}");
        }
    });
}

#[test]
fn what_lists_and_workers_go_by_is_audited_as_well() {
    test(async |server| {
        let mut games = played(server, 40).await;
        let mut database = server.database().await;
        let (mut missed, mut before): (Vec<Value>, _) = (Vec::new(), 0);
        for (sql, fits) in [
            ("update game set status = 'aborted' where id = $1::uuid", "status = 'finished'"),
            ("delete from due where game_id = $1::uuid", "status = 'running'"),
            ("update due set kind = 'abandon' where game_id = $1::uuid", "status = 'running'"),
            ("update game set deadline = now() where id = $1::uuid", "status = 'running'"),
            ("update game set run_out = '{1}' where id = $1::uuid", "status = 'running'"),
            (
                "insert into due (game_id, kind, at) select id, 'away', now() from game where id = $1::uuid",
                "status = 'finished'",
            ),
            (
                "insert into due (game_id, kind, at) select gen_random_uuid(), 'away', now() from game where id = $1::uuid",
                "status = 'finished'",
            ),
        ] {
            let game = take(&mut database, &mut games, fits).await;
            tamper(&mut database, sql, &game).await;
            let now = found(server).await.len();
            if now <= before {
                missed.push(json!(sql));
            }
            before = now;
        }
        assert_eq!(missed, [Value::Null; 0]);
    });
}
