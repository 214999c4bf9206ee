//! What concerns a player, as it happens: `GET /v1/me/events`.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::harness::{Answer, PASSWORD, Player, Stream, TestServer, number, test, text};

const PATH: &str = "/v1/me/events";
/// How long anything may take that is not lost.
const PATIENCE: Duration = Duration::from_secs(25);

/// A stream that is being read.
struct Followed(Stream);

impl Followed {
    /// Opens one, and reads the snapshot.
    async fn with_snapshot(player: &Player) -> (Self, Value) {
        let mut followed = Self(player.follow_lines(PATH).await);
        assert_eq!(followed.0.any().await.unwrap().data["type"], "heartbeat");
        let snapshot = followed.next("snapshot").await;
        (followed, snapshot)
    }

    /// The next message that is no heartbeat.
    async fn message(&mut self) -> Value {
        timeout(PATIENCE, self.0.next()).await.expect("there is news").expect("the stream goes on").data
    }

    /// The next message, which must be of this type.
    async fn next(&mut self, kind: &str) -> Value {
        let message = self.message().await;
        assert_eq!(message["type"], kind, "{message}");
        message
    }

    /// The next ones, which must be of these types.
    async fn expect<const N: usize>(&mut self, kinds: [&str; N]) -> [Value; N] {
        let mut told = [const { Value::Null }; N];
        for (message, kind) in told.iter_mut().zip(kinds) {
            *message = self.next(kind).await;
        }
        told
    }
}

/// What all of them tell next.
async fn all(streams: &mut [Followed], kind: &str) -> Value {
    let mut told = Vec::new();
    for stream in streams {
        let mut message = stream.next(kind).await;
        for of_each in ["/server_time", "/ticket/waited", "/ticket/window"] {
            message.pointer_mut(of_each).map(Value::take);
        }
        told.push(message);
    }
    assert!(told.iter().all(|message| *message == told[0]), "{told:?}");
    told.swap_remove(0)
}

/// A game against the easy computer in which the person begins.
async fn solo(player: &Player) -> Value {
    let new = json!({ "variant": "kalah", "computers": ["easy"], "starter": "me" });
    player.post("/v1/games", new).await.ok(201)
}

async fn new_group(player: &Player) -> Value {
    player.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201)
}

/// Two people in a group that plays, the one whose turn it is first.
async fn duel(server: &TestServer) -> (Player, Player, Value) {
    let (mut people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
    let second = people.pop().unwrap();
    let first = people.pop().unwrap();
    if game["to_move"] == 0 { (first, second, game) } else { (second, first, game) }
}

#[test]
fn a_stream_begins_with_everything_as_it_is() {
    test(async |server| {
        let (ana, ben, game) = duel(server).await;
        let (_, empty) = Followed::with_snapshot(&server.guest("New").await).await;
        assert_eq!((&empty["games"], &empty["groups"]), (&json!([]), &json!([])));
        assert!(empty.get("ticket").is_none() && empty["server_time"].is_string());

        let solo = solo(&ana).await;
        let over = text(&self::solo(&ana).await["id"]).to_owned();
        ana.act(&over, "resign").await.ok(200);
        let ticket = ana.ticket("kalah", 2).await;
        let (_, snapshot) = Followed::with_snapshot(&ana).await;
        let seat = &game["to_move"];
        let expected = json!([
            { "game_id": solo["id"], "variant": "kalah", "ranked": false, "seq": 0, "seat": 0, "to_move": 0,
                "your_turn": true },
            { "game_id": game["id"], "variant": "kalah", "ranked": false, "seq": 0, "seat": seat, "to_move": seat,
                "your_turn": true, "group_id": game["group_id"] },
        ]);
        assert_eq!(snapshot["games"], expected);
        let group = ana.get(&format!("/v1/groups/{}", text(&game["group_id"]))).await.ok(200);
        assert_eq!(snapshot["groups"], json!([group]));
        assert_eq!(
            (&snapshot["ticket"]["id"], &snapshot["ticket"]["status"]),
            (&ticket["id"], &json!("waiting"))
        );
        let (_, snapshot) = Followed::with_snapshot(&ben).await;
        assert_eq!(
            (&snapshot["games"][0]["to_move"], &snapshot["games"][0]["your_turn"]),
            (seat, &json!(false))
        );
    });
}

#[test]
fn each_turn_of_a_player_is_told_once_with_the_seq_that_the_move_names() {
    test(async |server| {
        let (ana, ben, game) = duel(server).await;
        let id = text(&game["id"]);
        let (mut hers, _) = Followed::with_snapshot(&ana).await;
        let (mut his, _) = Followed::with_snapshot(&ben).await;
        // The first move ends in the own store, and she sows again.
        ana.sow(id, 2, 0).await.ok(200);
        let turn = hers.next("your_turn").await;
        assert_eq!((&turn["game_id"], number(&turn["seq"])), (&game["id"], 1));
        assert!(turn["server_time"].is_string() && turn.get("deadline").is_none());
        ana.sow(id, 1, 1).await.ok(200);
        assert_eq!(number(&his.next("your_turn").await["seq"]), 2);
        ben.sow(id, 0, 2).await.ok(200);
        assert_eq!(number(&hers.next("your_turn").await["seq"]), 3, "nothing was told of his turn");
        // It is still hers, but the move has to name another number.
        ben.act(id, "leave").await.ok(200);
        assert_eq!(number(&hers.next("your_turn").await["seq"]), 4);
        ben.act(id, "return").await.ok(200);
        assert_eq!(number(&hers.next("your_turn").await["seq"]), 5);
        ana.act(id, "resign").await.ok(200);
        let ended = hers.next("game_ended").await;
        let seat = usize::from(game["to_move"] == 1);
        let places = if seat == 0 { json!([2, 1]) } else { json!([1, 2]) };
        let expected = json!({ "type": "game_ended", "game_id": id, "end_reason": "resigned", "places": places, "place": 2 });
        assert_eq!(ended, expected);
        // Nobody is told that it is the turn of who has left; who is back is told anew.
        let game = solo(&ana).await;
        hers.expect(["game_started", "your_turn"]).await;
        ana.act(text(&game["id"]), "leave").await.ok(200);
        ana.act(text(&game["id"]), "return").await.ok(200);
        assert_eq!(number(&hers.next("your_turn").await["seq"]), 2);
    });
}

#[test]
fn a_game_is_told_of_however_it_came_about() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        let (mut hers, _) = Followed::with_snapshot(&ana).await;
        let (mut his, _) = Followed::with_snapshot(&ben).await;
        let game = solo(&ana).await;
        let [started, turn] = hers.expect(["game_started", "your_turn"]).await;
        let expected = json!({ "type": "game_started", "game_id": game["id"], "variant": "kalah", "ranked": false, "seat": 0 });
        assert_eq!(started, expected);
        assert_eq!((&turn["game_id"], number(&turn["seq"])), (&game["id"], 0));

        // In a group.
        let group = new_group(&ana).await;
        assert_eq!(hers.next("group_changed").await["group"], group);
        ben.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
        let both = his.next("group_changed").await;
        assert_eq!(hers.next("group_changed").await, both);
        let path = format!("/v1/groups/{}/games", text(&group["id"]));
        let game = ana.post(&path, json!({})).await.ok(201);
        let first = usize::from(game["to_move"] == 1);
        let mut streams = [&mut hers, &mut his];
        for (seat, stream) in streams.iter_mut().enumerate() {
            let started = stream.next("game_started").await;
            assert_eq!((&started["game_id"], number(&started["seat"])), (&game["id"], seat as u64));
            assert_eq!(started["group_id"], group["id"]);
            if seat == first {
                assert_eq!(stream.next("your_turn").await["game_id"], game["id"]);
            }
            assert_eq!(stream.next("group_changed").await["group"]["game_id"], game["id"]);
        }
        // And once more with the same people.
        let id = text(&game["id"]);
        ana.act(id, "resign").await.ok(200);
        for stream in &mut streams {
            assert_eq!(stream.next("game_ended").await["game_id"], game["id"]);
        }
        ana.act(id, "rematch").await.ok(200);
        let next = ben.act(id, "rematch").await.ok(200)["game_id"].clone();
        for stream in &mut streams {
            assert_eq!(stream.next("game_started").await["game_id"], next);
        }
    });
}

#[test]
fn a_ticket_is_told_of_from_its_making_to_its_end() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        let (mut hers, _) = Followed::with_snapshot(&ana).await;
        let ticket = ana.ticket("kalah", 2).await;
        assert_eq!(hers.next("ticket_created").await["ticket"]["id"], ticket["id"]);
        ana.delete(&format!("/v1/tickets/{}", text(&ticket["id"]))).await.ok(200);
        let closed = hers.next("ticket_closed").await;
        assert_eq!(
            closed,
            json!({ "type": "ticket_closed", "ticket_id": ticket["id"], "status": "cancelled" })
        );

        let ticket = ana.ticket("kalah", 2).await;
        hers.next("ticket_created").await;
        // As if nobody had been heard of for long.
        let sql = "update ticket set created_at = now() - interval '40 seconds'";
        let mut database = server.database().await;
        sqlx::query(sql).execute(&mut database).await.unwrap();
        sqlx::query("update heard set at = now() - interval '40 seconds'")
            .execute(&mut database)
            .await
            .unwrap();
        sqlx::query("update heartbeat set resumed_at = now() - interval '1 hour'")
            .execute(&mut database)
            .await
            .unwrap();
        server.rounds().await;
        let closed = hers.next("ticket_closed").await;
        assert_eq!(
            closed,
            json!({ "type": "ticket_closed", "ticket_id": ticket["id"], "status": "expired" })
        );

        let ticket = ana.ticket("kalah", 2).await;
        hers.next("ticket_created").await;
        let other = ben.ticket("kalah", 2).await;
        let game = ben.matched(&other).await["game_id"].clone();
        let [found, started] = hers.expect(["match_found", "game_started"]).await;
        assert_eq!(found, json!({ "type": "match_found", "ticket_id": ticket["id"], "game_id": game }));
        assert_eq!((&started["game_id"], &started["ranked"]), (&game, &json!(true)));
        let (_, snapshot) = Followed::with_snapshot(&ana).await;
        let ticket = &snapshot["ticket"];
        assert_eq!((&ticket["status"], &ticket["game_id"]), (&json!("matched"), &game));
        let running = &snapshot["games"][0];
        assert!(running["ranked"] == true && running["deadline"].is_string(), "{running}");
        ben.act(text(&game), "resign").await.ok(200);
        let ended = loop {
            let message = hers.message().await;
            if message["type"] != "your_turn" {
                break message;
            }
        };
        assert_eq!((&ended["type"], &ended["place"]), (&json!("game_ended"), &json!(1)));
        let (_, snapshot) = Followed::with_snapshot(&ana).await;
        assert!(snapshot.get("ticket").is_none() && snapshot["games"] == json!([]), "{snapshot}");
    });
}

#[test]
fn groups_are_told_of_as_they_change_until_they_are_left() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        let group = new_group(&ana).await;
        let path = format!("/v1/groups/{}", text(&group["id"]));
        let (mut his, _) = Followed::with_snapshot(&ben).await;
        let joined = ben.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
        assert_eq!(his.next("group_changed").await, json!({ "type": "group_changed", "group": joined }));
        let changed = ana.patch(&path, json!({ "options": { "stones": 3 }, "private": true })).await.ok(200);
        assert_eq!(his.next("group_changed").await["group"], changed);
        let changed = ana.post(&format!("{path}/computers"), json!({ "level": "easy" })).await.ok(200);
        assert_eq!(his.next("group_changed").await["group"], changed);
        ana.delete(&format!("{path}/members/me")).await.ok(204);
        let alone = his.next("group_changed").await;
        assert_eq!(alone["group"]["members"][0]["host"], true, "{alone}");
        ben.delete(&format!("{path}/members/me")).await.ok(204);
        assert_eq!(his.next("group_left").await, json!({ "type": "group_left", "group_id": group["id"] }));
        // What happens there now is nothing to the player.
        ana.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
        solo(&ben).await;
        his.expect(["game_started", "your_turn"]).await;
    });
}

#[test]
fn several_streams_of_a_player_and_other_processes_tell_the_same() {
    test(async |server| {
        let another = server.another().await;
        let (ana, ben, game) = duel(server).await;
        let id = text(&game["id"]);
        let mut streams = Vec::new();
        for player in [&ana, &ana, &ana.via(&another)] {
            streams.push(Followed::with_snapshot(player).await.0);
        }
        let ben = ben.via(&another);
        ana.sow(id, 2, 0).await.ok(200);
        assert_eq!(all(&mut streams, "your_turn").await["seq"], 1);
        ana.sow(id, 1, 1).await.ok(200);
        ben.sow(id, 0, 2).await.ok(200);
        assert_eq!(all(&mut streams, "your_turn").await["seq"], 3);
        let ticket = ana.via(&another).ticket("basic", 3).await;
        assert_eq!(all(&mut streams, "ticket_created").await["ticket"]["id"], ticket["id"]);
        ana.delete(&format!("/v1/tickets/{}", text(&ticket["id"]))).await.ok(200);
        assert_eq!(all(&mut streams, "ticket_closed").await["ticket_id"], ticket["id"]);
        let group = ana.post("/v1/groups", json!({ "variant": "basic" })).await.ok(201);
        assert_eq!(all(&mut streams, "group_changed").await["group"], group);
        let joined = ben.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
        assert_eq!(all(&mut streams, "group_changed").await["group"], joined);
        ben.act(id, "resign").await.ok(200);
        assert_eq!(all(&mut streams, "game_ended").await["game_id"], game["id"]);
        drop(streams);
        another.stop().await;
    });
}

#[test]
fn who_comes_back_finds_in_the_snapshot_what_was_missed() {
    test(async |server| {
        let (ana, ben, game) = duel(server).await;
        let id = text(&game["id"]);
        let (stream, _) = Followed::with_snapshot(&ana).await;
        drop(stream);
        ana.sow(id, 2, 0).await.ok(200);
        ana.sow(id, 1, 1).await.ok(200);
        ben.sow(id, 0, 2).await.ok(200);
        let new = solo(&ana).await;
        let (mut stream, snapshot) = Followed::with_snapshot(&ana).await;
        let games = snapshot["games"].as_array().unwrap();
        let seqs: Vec<_> = games.iter().map(|game| (&game["game_id"], number(&game["seq"]))).collect();
        assert_eq!(seqs, [(&new["id"], 0), (&game["id"], 3)]);
        assert_eq!(games[1]["your_turn"], true, "and so not told again");
        ben.act(id, "resign").await.ok(200);
        stream.next("game_ended").await;
    });
}

#[test]
fn what_no_process_tells_is_found_all_the_same() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        let (mut hers, _) = Followed::with_snapshot(&ana).await;
        let ticket = ana.ticket("kalah", 2).await;
        hers.next("ticket_created").await;
        let mut database = server.database().await;
        let sql = "update ticket set status = 'cancelled', open = false, ended_at = now()";
        sqlx::query(sql).execute(&mut database).await.unwrap();
        assert_eq!(hers.next("ticket_closed").await["ticket_id"], ticket["id"]);

        let group = new_group(&ben).await;
        let sql = "insert into group_member (id, group_id, player_id) select gen_random_uuid(), id, $1::text::uuid from play_group";
        sqlx::query(sql).bind(&ana.id).execute(&mut database).await.unwrap();
        assert_eq!(hers.next("group_changed").await["group"]["id"], group["id"]);
        sqlx::query("update play_group set private = true, seq = seq + 1")
            .execute(&mut database)
            .await
            .unwrap();
        assert_eq!(hers.next("group_changed").await["group"]["private"], true);

        // A game that has begun and ended before anybody looked.
        let game = solo(&ben).await;
        ben.act(text(&game["id"]), "resign").await.ok(200);
        let sql = "update seat set player_id = $1::text::uuid where player_id is not null";
        sqlx::query(sql).bind(&ana.id).execute(&mut database).await.unwrap();
        let [started, ended] = hers.expect(["game_started", "game_ended"]).await;
        assert_eq!((&started["game_id"], &ended["game_id"]), (&game["id"], &game["id"]));
        assert_eq!((&ended["end_reason"], number(&ended["place"])), (&json!("resigned"), 2));
    });
}

#[test]
fn only_who_may_read_games_follows_and_only_with_a_good_token() {
    test(async |server| {
        let ana = server.account_named("Ana").await;
        let nobody = ana.without_token();
        nobody.get(PATH).await.problem(401, "token_missing");
        let wanted = json!({ "name": "a bot", "scopes": ["games:play", "groups"] });
        let token = ana.post("/v1/me/tokens", wanted).await.ok(201);
        ana.with_token(text(&token["token"])).get(PATH).await.problem(403, "scope_missing");
        let wanted = json!({ "name": "a watcher", "scopes": ["games:read"] });
        let token = ana.post("/v1/me/tokens", wanted).await.ok(201);
        let (mut watched, _) = Followed::with_snapshot(&ana.with_token(text(&token["token"]))).await;
        ana.delete(&format!("/v1/me/tokens/{}", text(&token["id"]))).await.ok(204);
        assert_eq!(watched.next("closing").await["reason"], "session_ended");
        assert!(watched.0.any().await.is_none());
        let plain = ana.request(Method::GET, PATH).header("accept", "text/html");
        Answer::of(plain).await.problem(406, "not_acceptable");
        ana.get("/v1/me/events?after_seq=1").await.problem(400, "invalid_parameter");

        // Browsers have a token for this stream, which is good for nothing else.
        let token = ana.post("/v1/me/stream-tokens", json!({ "stream": PATH })).await.ok(201);
        let token = text(&token["token"]);
        nobody.get(&format!("/v1/me?stream_token={token}")).await.problem(401, "token_missing");
        let mut stream = nobody.follow(&format!("{PATH}?stream_token={token}")).await;
        let (beat, snapshot) = (stream.any().await.unwrap(), stream.any().await.unwrap());
        assert_eq!((beat.name.as_deref(), &beat.data["type"]), (Some("heartbeat"), &json!("heartbeat")));
        assert_eq!((snapshot.id, snapshot.name, &snapshot.data["type"]), (None, None, &json!("snapshot")));
        // Who goes is told so.
        let (mut stream, _) = Followed::with_snapshot(&ana).await;
        ana.go(json!({ "password": PASSWORD })).await.ok(204);
        assert_eq!(stream.next("closing").await["reason"], "session_ended");
    });
}

#[test]
fn streams_that_wait_hold_no_connection() {
    test(async |server| {
        let (ana, ben, game) = duel(server).await;
        let mut streams = Vec::new();
        for _ in 0..60 {
            streams.push(Followed::with_snapshot(&ana).await.0);
        }
        timeout(PATIENCE, async {
            loop {
                let (open, idle) = server.service().connections();
                if usize::try_from(open).unwrap() == idle {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
        .expect("all connections are idle");
        ben.act(text(&game["id"]), "resign").await.ok(200);
        for stream in &mut streams {
            assert_eq!(stream.next("game_ended").await["place"], 1);
        }
    });
}
