//! How often one address may make guests, join groups and refresh tokens.

use serde_json::{Value, json};

use crate::harness::{Answer, KEY, Player, test};

/// Guests, refreshes and joins, which share one budget.
const OPERATIONS: [&str; 3] = ["/v1/guests", "/v1/sessions/refresh", "/v1/groups/join"];

async fn ask(player: &Player, path: &str, refresh: &str, code: &Value) -> Answer {
    let body = match path {
        "/v1/guests" => json!({}),
        "/v1/sessions/refresh" => json!({ "refresh_token": refresh }),
        _ => json!({ "code": code }),
    };
    player.post(path, body).await
}

/// Name, number by `key`, and number by `second`, of a structured header like `"name";r=1;t=2`.
fn parts(answer: &Answer, header: &str, keys: [&str; 2]) -> (String, [u64; 2]) {
    let text = answer.headers[header].to_str().unwrap();
    let mut parts = text.split(';');
    let name = parts.next().unwrap().trim_matches('"').to_owned();
    let numbers = keys.map(|key| {
        parts.next().and_then(|part| part.strip_prefix(&format!("{key}="))).unwrap().parse().unwrap()
    });
    (name, numbers)
}

#[test]
fn guests_joins_and_refreshes_share_one_budget_of_their_address() {
    test(async |open| {
        let host = open.guest("Ana").await;
        let group = host.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        let limited = open.another_with(3, KEY).await;
        let guest = open.guest("Ben").await;
        let player = limited.nobody().with_token(guest.token.as_ref().unwrap());
        for (path, left) in OPERATIONS.iter().zip([2, 1, 0]) {
            let answer = ask(&player, path, &guest.refresh, &group["code"]).await;
            assert!(answer.status.is_success(), "{path}: {}", answer.text);
            let (policy, quota) = parts(&answer, "ratelimit-policy", ["q", "w"]);
            assert_eq!(quota, [3, 60]);
            let (name, [remaining, _]) = parts(&answer, "ratelimit", ["r", "t"]);
            assert_eq!((name, remaining), (policy, left), "{path}");
            assert!(!answer.headers.contains_key("retry-after"));
        }
        let before = open.everything().await;
        for path in OPERATIONS {
            let answer = ask(&player, path, &guest.refresh, &group["code"]).await;
            let (_, [remaining, until]) = parts(&answer, "ratelimit", ["r", "t"]);
            assert_eq!(parts(&answer, "ratelimit-policy", ["q", "w"]).1, [3, 60]);
            let retry: u64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
            assert!(remaining == 0 && until == retry && (1..=20).contains(&retry), "{retry} of {until}");
            answer.problem(429, "rate_limited");
        }
        assert_eq!(open.everything().await, before);
        // Everything else goes on, without speaking of a budget.
        let me = player.get("/v1/me").await;
        assert!(!me.headers.contains_key("ratelimit"));
        me.ok(200);
        player.post("/v1/groups", json!({ "variant": "basic" })).await.ok(201);
        limited.stop().await;
    });
}

#[test]
fn refused_requests_count_too() {
    test(async |open| {
        let limited = open.another_with(2, KEY).await;
        let nobody = limited.nobody();
        nobody
            .post("/v1/sessions/refresh", json!({ "refresh_token": "guessed" }))
            .await
            .problem(401, "refresh_invalid");
        nobody.post("/v1/guests", json!({ "name": "" })).await.problem(422, "invalid_value");
        nobody.post("/v1/guests", json!({})).await.problem(429, "rate_limited");
        limited.stop().await;
    });
}

#[test]
fn a_limit_of_zero_is_none() {
    test(async |server| {
        let answer = server.nobody().post("/v1/guests", json!({})).await;
        assert!(!answer.headers.contains_key("ratelimit"));
        answer.ok(201);
    });
}

#[test]
fn leaving_and_returning_have_a_budget_of_four_a_minute() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let path = |verb: &str| format!("/v1/games/{}/{verb}", game["id"].as_str().unwrap());
        for (i, verb) in ["leave", "return", "leave", "return"].iter().enumerate() {
            let answer = people[0].post(&path(verb), json!({})).await;
            let (_, [remaining, _]) = parts(&answer, "ratelimit", ["r", "t"]);
            assert_eq!(remaining, 3 - u64::try_from(i).unwrap());
            answer.ok(200);
        }
        let before = people[1].game(game["id"].as_str().unwrap()).await;
        let refused = people[0].post(&path("leave"), json!({})).await;
        assert!(refused.headers.contains_key("retry-after"));
        refused.problem(429, "rate_limited");
        assert_eq!(people[1].game(game["id"].as_str().unwrap()).await["seq"], before["seq"]);
        people[1].post(&path("leave"), json!({})).await.ok(200);
    });
}
