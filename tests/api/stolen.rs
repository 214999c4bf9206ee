//! Tokens that somebody else has too: what ends them, and that nothing made with them lasts longer.

use serde_json::{Value, json};

use crate::harness::{PASSWORD, Player, TestServer, at_once, number, test, text};

const OTHER: &str = "six pits, five stones";

fn wanted() -> Value {
    json!({ "name": "a script", "scopes": ["games:read"] })
}

/// A program of this player.
async fn program(player: &Player) -> Player {
    let made = player.post("/v1/me/tokens", wanted()).await.ok(201);
    player.with_token(text(&made["token"]))
}

async fn programs(server: &TestServer) -> i64 {
    let count = "select count(*) from personal_token";
    sqlx::query_scalar(count).fetch_one(&mut server.database().await).await.unwrap()
}

/// A guest in a game of its own, and the same guest registered.
async fn registered_while_playing(server: &TestServer) -> (Player, Player, Value) {
    let guest = server.guest("Ana").await;
    let new = json!({ "variant": "kalah", "computers": ["easy"], "starter": "me" });
    let game = guest.post("/v1/games", new).await.ok(201);
    let account = guest.signed_in(&guest.register("ana").await.ok(201));
    (guest, account, game)
}

#[test]
fn a_guests_old_tokens_play_on_for_a_while_after_registering() {
    test(async |server| {
        let (old, new, game) = registered_while_playing(server).await;
        let other = server.another().await;
        server.service().read_ended().await.unwrap();
        old.via(&other).sow(text(&game["id"]), number(&game["legal"][0]), 0).await.ok(200);
        old.get("/v1/me").await.ok(200);
        let sql =
            "select extract(epoch from revoked_at - now())::float8 from session where revoked_at is not null";
        let left: f64 = sqlx::query_scalar(sql).fetch_one(&mut server.database().await).await.unwrap();
        assert!((1.0..=900.0).contains(&left), "{left} s: as long as an access token is good at most");
        new.get("/v1/me").await.ok(200);
        other.stop().await;
    });
}

#[test]
fn who_knew_a_guests_tokens_does_not_get_the_account() {
    test(async |server| {
        let (old, new, _) = registered_while_playing(server).await;
        for _ in 0..2 {
            old.renew().await.problem(401, "refresh_invalid");
        }
        old.post("/v1/me/tokens", wanted()).await.problem(401, "token_invalid");
        let change = json!({ "password": PASSWORD, "new_password": OTHER });
        old.put("/v1/me/password", change).await.problem(401, "token_invalid");
        let sessions = new.get("/v1/sessions").await.ok(200);
        assert_eq!(sessions["items"].as_array().unwrap().len(), 1);
        assert_eq!(sessions["items"][0]["current"], true);
        let renewed = new.renewed(&new.renew().await.ok(200));
        program(&renewed).await.get("/v1/games").await.ok(200);
    });
}

#[test]
fn signing_out_everywhere_ends_a_guests_old_tokens_too() {
    test(async |server| {
        let (old, new, _) = registered_while_playing(server).await;
        new.delete("/v1/sessions").await.ok(204);
        old.get("/v1/me").await.problem(401, "token_invalid");
        let ben = server.guest("Ben").await;
        let registered = ben.signed_in(&ben.register("ben").await.ok(201));
        ben.delete("/v1/sessions/current").await.ok(204);
        ben.get("/v1/me").await.problem(401, "token_invalid");
        registered.get("/v1/me").await.ok(200);
        let late = server.another().await;
        for gone in [&old, &new, &ben] {
            gone.via(&late).get("/v1/me").await.problem(401, "token_invalid");
        }
        late.stop().await;
    });
}

#[test]
fn a_session_that_was_ended_by_another_server_makes_nothing_that_lasts() {
    test(async |server| {
        let (ana, guest) = (server.account("ana").await, server.guest("Guest").await);
        // As another server does it, of which this one has not learned yet.
        let end = "update session set revoked_at = now()";
        sqlx::query(end).execute(&mut server.database().await).await.unwrap();
        let before = server.everything().await;
        ana.post("/v1/me/tokens", wanted()).await.problem(401, "token_invalid");
        guest.register("guesswork").await.problem(401, "token_invalid");
        assert_eq!(server.everything().await, before);
    });
}

#[test]
fn no_token_for_programs_survives_a_recovery_at_the_same_moment() {
    test(async |server| {
        let other = server.another().await;
        for round in 0..8 {
            let name = format!("ana-{round}x");
            let made = server.nobody().register(&name).await.ok(201);
            let thief = server.nobody().signed_in(&made);
            let recovery = json!({ "username": name, "recovery_code": made["recovery_codes"][0],
                "new_password": OTHER });
            let (owner, thieves) = (server.nobody(), (0..4).map(|_| thief.via(&other)));
            let recovering = tokio::spawn(async move { owner.post("/v1/sessions/recovery", recovery).await });
            let tries = thieves.map(|thief| async move { thief.post("/v1/me/tokens", wanted()).await });
            for answer in at_once(tries).await {
                assert!([201, 401].contains(&answer.status.as_u16()), "{}", answer.text);
            }
            recovering.await.unwrap().ok(201);
            assert_eq!(programs(server).await, 0);
        }
        other.stop().await;
    });
}

#[test]
fn tokens_for_programs_end_at_once_when_their_player_recovers_or_goes() {
    test(async |server| {
        let made = server.nobody().register("ana").await.ok(201);
        let ana = server.nobody().signed_in(&made);
        let first = program(&ana).await;
        first.get("/v1/games").await.ok(200);
        let recovery = json!({ "username": "ana", "recovery_code": made["recovery_codes"][0],
            "new_password": OTHER });
        let ana = ana.signed_in(&server.nobody().post("/v1/sessions/recovery", recovery).await.ok(201));
        first.get("/v1/games").await.problem(401, "token_invalid");
        let second = program(&ana).await;
        second.get("/v1/games").await.ok(200);
        ana.go(json!({ "password": OTHER })).await.ok(204);
        second.get("/v1/games").await.problem(401, "token_invalid");
    });
}

#[test]
fn a_new_password_takes_the_recovery_codes_that_somebody_else_may_have_made() {
    test(async |server| {
        let ana = server.account("ana").await;
        let thief = ana.signed_in(&ana.sign_in("ana", PASSWORD).await.ok(201));
        let stolen = thief.post("/v1/me/recovery", json!({ "password": PASSWORD })).await.ok(201);
        let running = program(&ana).await;
        let change = json!({ "password": PASSWORD, "new_password": OTHER });
        let changed = ana.put("/v1/me/password", change).await.ok(200);
        let recover = async |code: &Value| {
            let body =
                json!({ "username": "ana", "recovery_code": code, "new_password": "a third one of them" });
            server.nobody().post("/v1/sessions/recovery", body).await
        };
        for code in stolen["recovery_codes"].as_array().unwrap() {
            recover(code).await.problem(401, "wrong_credentials");
        }
        running.get("/v1/games").await.ok(200);
        assert_eq!(changed["recovery_codes"].as_array().unwrap().len(), 10);
        recover(&changed["recovery_codes"][9]).await.ok(201);
    });
}
