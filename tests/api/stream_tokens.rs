//! Tokens in URLs, for browsers: good for one stream and nothing else.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD;
use mancala_server::budget::PlayerBudgets;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{Player, Stream, test, text};
use crate::streams::{events, game, play};

/// A token for this stream.
async fn token(player: &Player, stream: &str) -> String {
    let made = player.post("/v1/me/stream-tokens", json!({ "stream": stream })).await.ok(201);
    assert_eq!(made["expires_in"], 900);
    text(&made["token"]).to_owned()
}

#[test]
fn a_stream_token_opens_its_stream_and_nothing_else() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let (_, other, _) = game(server).await;
        let path = events(&id);
        let token = token(&people[0], &path).await;
        let browser = people[0].without_token();
        play(&people, &id, 2).await;
        let mut stream = browser.follow(&format!("{path}?stream_token={token}&after_seq=1")).await;
        assert_eq!(stream.next().await.unwrap().id, Some(2));
        let wrong = format!("{}?stream_token={token}", events(&other));
        browser.get(&wrong).await.problem(401, "token_invalid");
        browser.get(&format!("/v1/games/{id}?stream_token={token}")).await.problem(400, "invalid_parameter");
        browser.with_token(&token).get("/v1/me").await.problem(401, "token_invalid");
        browser.with_token(&token).get(&path).await.problem(401, "token_invalid");
        for bad in ["", "x", &token[1..], people[0].token.as_ref().unwrap()] {
            browser.get(&format!("{path}?stream_token={bad}")).await.problem(401, "token_invalid");
        }
        let twice = format!("{path}?stream_token={token}");
        people[0].get(&twice).await.problem(401, "token_invalid");
    });
}

#[test]
fn a_stream_token_that_is_used_again_ends_the_older_stream() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let other = server.another().await;
        let path = events(&id);
        let url = format!("{path}?stream_token={}", token(&people[0], &path).await);
        let browser = people[0].without_token();
        let mut first = browser.follow(&url).await;
        let mut second = browser.follow(&url).await;
        assert_eq!(first.next_like("closing").await.data["reason"], "replaced");
        play(&people, &id, 1).await;
        assert_eq!(second.next().await.unwrap().id, Some(1));
        let mut third = browser.via(&other).follow(&url).await;
        assert_eq!(second.next_like("closing").await.data["reason"], "replaced");
        assert_eq!(third.next().await.unwrap().id, Some(1));
        // Nobody reads what HEAD asks for, so it takes nothing from anybody.
        let head = browser.request(Method::HEAD, &url).send().await.unwrap();
        assert_eq!(head.status(), 200);
        play(&people, &id, 1).await;
        assert_eq!(third.next().await.unwrap().id, Some(2));
        other.stop().await;
    });
}

#[test]
fn whoever_comes_back_with_a_stream_token_has_room() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let limited = server.another_as(|settings| settings.player_budgets = PlayerBudgets::default()).await;
        let (path, person) = (events(&id), people[0].via(&limited));
        let url = format!("{path}?stream_token={}", token(&person, &path).await);
        let browser = person.without_token();
        let mut first = browser.follow(&url).await;
        let mut others = Vec::new();
        for _ in 0..19 {
            others.push(person.follow(&path).await);
        }
        person.get(&path).await.problem(429, "too_many_streams");
        let again = browser.follow(&url).await;
        assert_eq!(first.next_like("closing").await.data["reason"], "replaced");
        drop((again, others));
        limited.stop().await;
    });
}

#[test]
fn news_of_an_earlier_use_that_comes_late_ends_nothing() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let path = events(&id);
        let token = token(&people[0], &path).await;
        let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        let mut stream = people[0].without_token().follow(&format!("{path}?stream_token={token}")).await;
        let mut database = server.database().await;
        // As another process tells it: by which one, of what, and when in the token's life, in microseconds.
        for (used, seq) in [(1, 1), (i32::MAX, 2)] {
            let (process, token) = (Uuid::now_v7().simple(), text(&claims["jti"]).replace('-', ""));
            sqlx::query("select pg_notify('mancala_news', $1)")
                .bind(format!("{process} k{token}{used}"))
                .execute(&mut database)
                .await
                .unwrap();
            // Heard after that.
            let other = server.another().await;
            play(&[people[0].via(&other), people[1].via(&other)], &id, 1).await;
            other.stop().await;
            let next = stream.next().await.unwrap();
            assert_eq!(next.id, (used == 1).then_some(seq), "{next:?}");
        }
    });
}

#[test]
fn a_stream_token_ends_with_its_session() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let path = events(&id);
        let url = format!("{path}?stream_token={}", token(&people[0], &path).await);
        let browser = people[0].without_token();
        let mut stream = browser.follow(&url).await;
        people[0].delete("/v1/sessions/current").await.ok(204);
        assert_eq!(stream.next_like("closing").await.data["reason"], "session_ended");
        browser.get(&url).await.problem(401, "token_invalid");
    });
}

#[test]
fn only_streams_have_stream_tokens_and_only_sessions_make_them() {
    test(async |server| {
        let account = server.account("browser").await;
        let made = account
            .post("/v1/me/tokens", json!({ "name": "program", "scopes": ["games:read"] }))
            .await
            .ok(201);
        let program = account.with_token(text(&made["token"]));
        let id = uuid::Uuid::now_v7();
        let good = format!("/v1/games/{id}/events");
        program.post("/v1/me/stream-tokens", json!({ "stream": good })).await.problem(403, "session_needed");
        server
            .nobody()
            .post("/v1/me/stream-tokens", json!({ "stream": good }))
            .await
            .problem(401, "token_missing");
        for bad in
            ["", "/", "/v1/games", "/v1/games/x/events", "/v1/me", "/v1/me/events?x=1", "/v2/me/events"]
        {
            let refused = account.post("/v1/me/stream-tokens", json!({ "stream": bad })).await;
            let problem = refused.problem(422, "invalid_value");
            assert_eq!(problem["errors"][0]["pointer"], "/stream", "{bad}");
        }
        for good in [
            "/v1/me/events",
            &format!("/v1/groups/{id}/events"),
            &good.to_uppercase().replace("/V1/GAMES/", "/v1/games/").replace("/EVENTS", "/events"),
        ] {
            token(&account, good).await;
        }
        let request = account.without_token().request(Method::GET, &format!("{good}?stream_token=a.b.c"));
        Stream::open(request).await.err().unwrap().problem(401, "token_invalid");
    });
}
