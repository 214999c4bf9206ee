//! How often one address, one player and one token may ask for what.

use serde_json::{Value, json};

use crate::harness::{Answer, KEY, Player, TestServer, test, text};

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

/// A budget as a response tells it.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    name: String,
    quota: u64,
    left: u64,
    until: u64,
}

/// The budgets of `RateLimit-Policy` and `RateLimit`, which name the same ones in the same order:
/// `"name";q=1;w=60, …` and `"name";r=1;t=2, …`.
fn told(answer: &Answer) -> Vec<Told> {
    let items = |header: &str, keys: [&str; 2]| -> Vec<(String, [u64; 2])> {
        let Some(value) = answer.headers.get(header) else { return Vec::new() };
        let item = |text: &str| {
            let mut parts = text.split(';');
            let name = parts.next().unwrap().trim_matches('"').to_owned();
            let number = |key| parts.next()?.strip_prefix(&format!("{key}="))?.parse().ok();
            (name, keys.map(number).map(Option::unwrap))
        };
        value.to_str().unwrap().split(", ").map(item).collect()
    };
    let (policies, left) = (items("ratelimit-policy", ["q", "w"]), items("ratelimit", ["r", "t"]));
    assert_eq!(policies.len(), left.len());
    let pairs = policies.into_iter().zip(left);
    pairs
        .map(|((name, [quota, window]), (same, [left, until]))| {
            assert_eq!((&name, window), (&same, 60));
            Told { name, quota, left, until }
        })
        .collect()
}

/// Asserts that an answer refuses for want of this budget.
#[track_caller]
fn refused(answer: Answer, name: &str) {
    let told = told(&answer);
    let last = told.last().unwrap();
    let retry: u64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!(last.left == 0 && last.until == retry && (1..=60).contains(&retry), "{told:?}, {retry}");
    assert_eq!(last.name, name);
    answer.problem(429, "rate_limited");
}

async fn with_budgets(server: &TestServer, budgets: &str) -> TestServer {
    server.another_as(|settings| settings.player_budgets = budgets.parse().unwrap()).await
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
            let told = told(&answer);
            assert_eq!((told.len(), told[0].name.as_str()), (1, "address-sign-in"));
            assert_eq!((told[0].quota, told[0].left), (3, left), "{path}");
            assert!(!answer.headers.contains_key("retry-after"));
        }
        let before = open.everything().await;
        for path in OPERATIONS {
            refused(ask(&player, path, &guest.refresh, &group["code"]).await, "address-sign-in");
        }
        assert_eq!(open.everything().await, before);
        // Everything else goes on, within budgets of its own.
        let me = player.get("/v1/me").await;
        assert_eq!((told(&me)[0].name.as_str(), told(&me)[0].quota), ("address-reading", 120));
        me.ok(200);
        player.post("/v1/groups", json!({ "variant": "basic" })).await.ok(201);
        for path in ["/healthz", "/readyz", "/metrics", "/openapi.json"] {
            assert_eq!(told(&player.get(path).await), [], "{path} is not counted");
        }
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
        let forged = nobody.with_token("forged");
        for _ in 0..80 {
            forged.get("/v1/me").await.problem(401, "token_invalid");
        }
        refused(forged.get("/v1/me").await, "address-reading");
        limited.stop().await;
    });
}

#[test]
fn a_limit_of_zero_is_none() {
    test(async |server| {
        let answer = server.nobody().post("/v1/guests", json!({})).await;
        assert_eq!(told(&answer), []);
        answer.ok(201);
        assert_eq!(told(&server.guest("Ana").await.get("/v1/me").await), []);
    });
}

#[test]
fn a_player_has_a_budget_for_each_class_of_requests() {
    test(async |open| {
        let limited = with_budgets(open, "sign-in=2,creating=2,playing=2,reading=2,analysis=2").await;
        let (ana, ben) = (open.guest("Ana").await.via(&limited), open.guest("Ben").await.via(&limited));
        let position =
            json!({ "variant": "kalah", "pits": [[1, 2], [3, 0]], "stores": [0, 0], "to_move": 0 });
        let classes = [
            ("creating", "/v1/groups", json!({ "variant": "kalah" })),
            ("playing", "/v1/games/01936f0c-5b1a-7d02-9c77-6a0e4b9d8c30/resign", json!({})),
            ("reading", "/v1/me", Value::Null),
            ("analysis", "/v1/analysis", json!({ "position": position, "budget_ms": 1 })),
            ("sign-in", "/v1/groups/join", json!({ "code": "AAAAAA" })),
        ];
        let send = async |who: &Player, path: &str, body: &Value| match body {
            Value::Null => who.get(path).await,
            body => who.post(path, body.clone()).await,
        };
        for (class, path, body) in &classes {
            let name = format!("player-{class}");
            for left in [1, 0] {
                let answer = send(&ana, path, body).await;
                assert!(answer.status != 429, "{class}: {}", answer.text);
                let told = told(&answer);
                assert_eq!((told[0].name.as_str(), told[0].quota, told[0].left), (name.as_str(), 2, left));
            }
            refused(send(&ana, path, body).await, &name);
            // Neither another player nor anybody without a token is kept from anything.
            assert!(send(&ben, path, body).await.status != 429, "{class}");
            assert!(send(&limited.nobody(), path, body).await.status != 429, "{class}");
        }
        limited.stop().await;
    });
}

#[test]
fn a_class_with_a_budget_of_zero_is_not_counted() {
    test(async |open| {
        let limited = with_budgets(open, "creating=1,reading=0").await;
        let ana = open.guest("Ana").await.via(&limited);
        for _ in 0..3 {
            assert_eq!(told(&ana.get("/v1/me").await), []);
        }
        ana.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        refused(ana.post("/v1/groups", json!({ "variant": "kalah" })).await, "player-creating");
        limited.stop().await;
    });
}

#[test]
fn a_token_may_use_half_of_what_its_player_may() {
    test(async |open| {
        let owner = open.account_named("Ana").await;
        let mut programs = Vec::new();
        for name in ["one", "two", "three"] {
            let new = json!({ "name": name, "scopes": ["groups"] });
            let made = owner.post("/v1/me/tokens", new).await.ok(201);
            programs.push(open.nobody().with_token(text(&made["token"])));
        }
        let limited = open
            .another_as(|settings| {
                settings.address_limit = 100;
                settings.player_budgets = "creating=5".parse().unwrap();
            })
            .await;
        let create =
            async |who: &Player| who.via(&limited).post("/v1/groups", json!({ "variant": "kalah" })).await;
        let answer = create(&programs[0]).await;
        let names: Vec<(String, u64)> =
            told(&answer).into_iter().map(|told| (told.name, told.quota)).collect();
        let expected = [("address-creating", 200), ("token-creating", 3), ("player-creating", 5)];
        assert_eq!(names, expected.map(|(name, quota)| (name.to_owned(), quota)));
        answer.ok(201);
        for _ in 0..2 {
            create(&programs[0]).await.ok(201);
        }
        refused(create(&programs[0]).await, "token-creating");
        // What a token may not is not taken from its player either.
        create(&owner).await.ok(201);
        create(&programs[1]).await.ok(201);
        refused(create(&programs[2]).await, "player-creating");
        refused(create(&owner).await, "player-creating");
        limited.stop().await;
    });
}

#[test]
fn leaving_and_returning_have_a_budget_of_four_a_minute() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let path = |verb: &str| format!("/v1/games/{}/{verb}", game["id"].as_str().unwrap());
        for (verb, left) in ["leave", "return", "leave", "return"].iter().zip([3, 2, 1, 0]) {
            let answer = people[0].post(&path(verb), json!({})).await;
            assert_eq!(told(&answer)[0].left, left);
            answer.ok(200);
        }
        let before = people[1].game(game["id"].as_str().unwrap()).await;
        refused(people[0].post(&path("leave"), json!({})).await, "comings-and-goings");
        assert_eq!(people[1].game(game["id"].as_str().unwrap()).await["seq"], before["seq"]);
        people[1].post(&path("leave"), json!({})).await.ok(200);
    });
}

#[test]
fn what_is_counted_twice_tells_both_budgets() {
    test(async |open| {
        let limited = with_budgets(open, "").await;
        let (people, _, game) = open.group_game(json!({ "variant": "kalah" }), 2).await;
        let path = format!("/v1/games/{}/leave", text(&game["id"]));
        let answer = people[0].via(&limited).post(&path, json!({})).await;
        let names: Vec<String> = told(&answer).into_iter().map(|told| told.name).collect();
        assert_eq!(names, ["player-playing", "comings-and-goings"]);
        limited.stop().await;
    });
}

/// A new guest of somebody at this address, as the proxies in front of the server tell it.
async fn guest_from(server: &TestServer, forwarded: &[&str]) -> Answer {
    let mut request = server.nobody().request(reqwest::Method::POST, "/v1/guests");
    for line in forwarded {
        request = request.header("x-forwarded-for", *line);
    }
    Answer::of(request.json(&json!({}))).await
}

#[test]
fn people_behind_a_trusted_proxy_are_counted_apart() {
    test(async |open| {
        let limited = open
            .another_as(|settings| {
                settings.address_limit = 2;
                settings.trusted_proxies = "127.0.0.0/8,10.0.0.0/8".parse().unwrap();
            })
            .await;
        for forwarded in [
            ["203.0.113.1"].as_slice(),
            // What callers claim themselves stands to the left of what the proxy saw.
            &["198.51.100.1, 203.0.113.2"],
            &["198.51.100.1", "203.0.113.3, 10.1.2.3"],
            &["2001:db8:1:2::3"],
            // Nobody else: the proxy itself.
            &["garbage"],
        ] {
            for _ in 0..2 {
                guest_from(&limited, forwarded).await.ok(201);
            }
            refused(guest_from(&limited, forwarded).await, "address-sign-in");
        }
        // One and the same in other clothes.
        for forwarded in [["192.0.2.9, 203.0.113.1"], ["2001:db8:1:2::4"], ["203.0.113.1:80"], [""]] {
            refused(guest_from(&limited, &forwarded).await, "address-sign-in");
        }
        limited.stop().await;
    });
}

#[test]
fn what_a_stranger_claims_about_its_address_is_not_believed() {
    test(async |open| {
        for trusted in ["", "10.0.0.0/8"] {
            let limited = open
                .another_as(|settings| {
                    settings.address_limit = 2;
                    settings.trusted_proxies = trusted.parse().unwrap();
                })
                .await;
            for forged in ["203.0.113.1", "203.0.113.2"] {
                guest_from(&limited, &[forged]).await.ok(201);
            }
            refused(guest_from(&limited, &["203.0.113.3"]).await, "address-sign-in");
            limited.stop().await;
        }
    });
}

#[test]
fn who_guesses_passwords_is_out_of_budget_ten_times_sooner() {
    test(async |open| {
        let limited = open.another_with(25, KEY).await;
        let nobody = limited.nobody();
        let guess = |name: &str| json!({ "username": name, "password": "seven pits, four stones" });
        for name in ["ana", "ben"] {
            nobody.post("/v1/sessions", guess(name)).await.problem(401, "wrong_credentials");
        }
        nobody.post("/v1/sessions", guess("cem")).await.problem(429, "rate_limited");
        let code = json!({ "username": "ana", "recovery_code": "01234-56789-abcde-fghjk", "new_password": "six pits, five stones" });
        nobody.post("/v1/sessions/recovery", code).await.problem(429, "rate_limited");
        // What proves nothing still has the rest.
        for _ in 0..5 {
            nobody.post("/v1/guests", json!({})).await.ok(201);
        }
        nobody.post("/v1/guests", json!({})).await.problem(429, "rate_limited");
    });
}
