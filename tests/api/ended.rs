//! A session that has ended is over at once, although its access tokens would be good for a while.

use std::time::Instant;

use serde_json::json;

use crate::harness::{Player, TestServer, test, text};

/// Waits until the token is refused there.
async fn refused(player: &Player, server: &TestServer) {
    let (elsewhere, since) = (player.via(server), Instant::now());
    loop {
        let answer = elsewhere.get("/v1/me").await;
        if answer.status == 401 {
            answer.problem(401, "token_invalid");
            return;
        }
        assert!(since.elapsed().as_secs() < 20, "the other server goes on");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[test]
fn an_access_token_is_refused_at_once_when_its_session_ends_and_soon_by_other_servers() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        let other = server.another().await;
        ana.via(&other).get("/v1/me").await.ok(200);
        assert_eq!(ana.delete("/v1/sessions/current").await.status, 204);
        ana.get("/v1/me").await.problem(401, "token_invalid");
        ana.get("/v1/games").await.problem(401, "token_invalid");
        refused(&ana, &other).await;
        // A server that starts now knows it from its first request on.
        let late = server.another().await;
        ana.via(&late).get("/v1/me").await.problem(401, "token_invalid");
        for place in [server, &other, &late] {
            ben.via(place).get("/v1/me").await.ok(200);
        }
        other.stop().await;
        late.stop().await;
    });
}

#[test]
fn a_stolen_refresh_token_ends_the_access_tokens_too() {
    test(async |server| {
        let ana = server.guest("Ana").await;
        let second = ana.renew().await.ok(200);
        ana.renewed(&second).renew().await.ok(200);
        ana.get("/v1/me").await.ok(200);
        ana.renew().await.problem(401, "refresh_reused");
        ana.get("/v1/me").await.problem(401, "token_invalid");
        ana.with_token(text(&second["access_token"])).get("/v1/me").await.problem(401, "token_invalid");
    });
}

#[test]
fn a_token_that_has_run_out_does_not_keep_anybody_from_new_ones() {
    test(async |server| {
        let ana = server.guest("Ana").await;
        let stale = ana.with_token("a client sends what it has");
        stale.post("/v1/sessions/refresh", json!({ "refresh_token": ana.refresh })).await.ok(200);
        stale.post("/v1/guests", json!({})).await.ok(201);
    });
}
