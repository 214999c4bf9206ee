//! Access tokens that are missing, expired, forged, or meant for something else.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, decode_header, encode};
use mancala_server::account::SigningKeys;
use reqwest::Method;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use crate::harness::{Answer, KEY, Player, TestServer, test};

const ANOTHER_KEY: &str = "YW5vdGhlciBrZXkgdGhhdCB0aGUgc2VydmVyIGRvZXMgbm90IGtub3c=";

/// The claims of a token, as its issuer wrote them.
fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

fn signed(header: &Header, claims: &Value, key: &str) -> String {
    let secret = STANDARD.decode(key).unwrap();
    encode(header, claims, &EncodingKey::from_secret(&secret).unwrap()).unwrap()
}

fn unsigned(header: &Value, claims: &Value, signature: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{signature}", part(header), part(claims))
}

fn with(claims: &Value, field: &str, value: Value) -> Value {
    let mut changed = claims.clone();
    changed[field] = value;
    changed
}

fn without(claims: &Value, field: &str) -> Value {
    let mut changed = claims.clone();
    changed.as_object_mut().unwrap().remove(field).unwrap();
    changed
}

/// What is wrong with them, and `Authorization` headers that must be refused as `token_invalid`.
fn bad_headers(good: &str) -> Vec<(&'static str, Vec<String>)> {
    let (header, claims) = (decode_header(good).unwrap(), claims(good));
    let typed = |typ: Option<&str>| Header { typ: typ.map(str::to_owned), ..header.clone() };
    let kid = header.kid.clone().unwrap();
    let bare = |alg: &str| json!({ "alg": alg, "typ": "at+jwt", "kid": kid });
    let parts: Vec<&str> = good.split('.').collect();
    let changed = with(&claims, "sub", json!(Uuid::now_v7()));
    let other_algorithm = Header { alg: Algorithm::HS512, ..header.clone() };
    let tokens = [
        ("no algorithm", unsigned(&bare("none"), &claims, "")),
        ("no algorithm, in capitals", unsigned(&bare("NONE"), &claims, "")),
        ("no algorithm, but a signature", unsigned(&bare("none"), &claims, parts[2])),
        ("an unknown algorithm", unsigned(&bare("XX1"), &claims, parts[2])),
        ("no signature", format!("{}.{}.", parts[0], parts[1])),
        ("two parts", format!("{}.{}", parts[0], parts[1])),
        ("four parts", format!("{good}.{}", parts[2])),
        (
            "other claims",
            format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(changed.to_string()), parts[2]),
        ),
        ("another key", signed(&header, &claims, ANOTHER_KEY)),
        ("another key and its id", signed(&typed(Some("at+jwt")), &claims, ANOTHER_KEY)),
        (
            "an unknown key id",
            signed(&Header { kid: Some("../keys".to_owned()), ..header.clone() }, &claims, KEY),
        ),
        ("no key id", signed(&Header { kid: None, ..header.clone() }, &claims, KEY)),
        ("another algorithm", signed(&other_algorithm, &claims, KEY)),
        ("another type", signed(&typed(Some("JWT")), &claims, KEY)),
        ("no type", signed(&typed(None), &claims, KEY)),
        ("another issuer", signed(&header, &with(&claims, "iss", json!("somebody")), KEY)),
        ("no issuer", signed(&header, &without(&claims, "iss"), KEY)),
        ("another audience", signed(&header, &with(&claims, "aud", json!("somebody")), KEY)),
        ("no audience", signed(&header, &without(&claims, "aud"), KEY)),
        ("no expiry", signed(&header, &without(&claims, "exp"), KEY)),
        ("a text for expiry", signed(&header, &with(&claims, "exp", json!("never")), KEY)),
        ("no player", signed(&header, &without(&claims, "sub"), KEY)),
        ("a player without an id", signed(&header, &with(&claims, "sub", json!("root")), KEY)),
        ("no session", signed(&header, &without(&claims, "sid"), KEY)),
        ("cut off", good[..good.len() - 1].to_owned()),
        ("cut in half", good[..good.len() / 2].to_owned()),
        ("one letter more", format!("{good}A")),
        ("dots", "..".to_owned()),
        ("words", "let me in".to_owned()),
        ("very long", "a".repeat(6000)),
    ];
    let mut cases: Vec<(&'static str, Vec<String>)> =
        tokens.into_iter().map(|(what, token)| (what, vec![format!("Bearer {token}")])).collect();
    cases.extend([
        ("empty", vec![String::new()]),
        ("no token", vec!["Bearer".to_owned()]),
        ("an empty token", vec!["Bearer ".to_owned()]),
        ("no scheme", vec![good.to_owned()]),
        ("another scheme", vec![format!("Basic {}", STANDARD.encode("ana:secret"))]),
        ("a good token in another scheme", vec![format!("Token {good}")]),
        ("two headers", vec![format!("Bearer {good}"), format!("Bearer {good}")]),
        ("two headers, one of them good", vec![format!("Bearer {good}"), "Basic eDp5".to_owned()]),
        ("two tokens", vec![format!("Bearer {good}, Bearer {good}")]),
    ]);
    cases
}

/// Operations that need a token, or look at one, each with a body that would change something.
fn operations(game: &str) -> Vec<(Method, String, Value)> {
    vec![
        (Method::POST, "/v1/games".to_owned(), json!({ "variant": "kalah", "computers": ["easy"] })),
        (Method::POST, format!("/v1/games/{game}/resign"), json!({})),
        (Method::PATCH, "/v1/me".to_owned(), json!({ "name": "Mallory" })),
        (Method::DELETE, "/v1/sessions/current".to_owned(), json!({})),
        (Method::GET, format!("/v1/games/{game}"), Value::Null),
        (Method::GET, "/v1/games".to_owned(), Value::Null),
    ]
}

async fn send(nobody: &Player, method: &Method, path: &str, body: &Value, headers: &[String]) -> Answer {
    let mut request = nobody.request(method.clone(), path);
    for header in headers {
        request = request.header("authorization", header);
    }
    Answer::of(if body.is_null() { request } else { request.json(body) }).await
}

async fn game_of(server: &TestServer) -> (Player, String) {
    let player = server.guest("Ana").await;
    let new = json!({ "variant": "kalah", "computers": ["easy"], "starter": "me" });
    let game = player.post("/v1/games", new).await.ok(201);
    (player, game["id"].as_str().unwrap().to_owned())
}

#[test]
fn tokens_that_are_not_ours_are_refused_everywhere_and_change_nothing() {
    test(async |server| {
        let (player, game) = game_of(server).await;
        let good = player.token.clone().unwrap();
        let nobody = server.nobody();
        let before = server.everything().await;
        for (what, headers) in bad_headers(&good) {
            for (method, path, body) in operations(&game) {
                let answer = send(&nobody, &method, &path, &body, &headers).await;
                let code = answer.json()["code"].clone();
                assert_eq!(
                    (answer.status.as_u16(), code),
                    (401, json!("token_invalid")),
                    "{what}: {method} {path}"
                );
                let challenge = answer.headers["www-authenticate"].to_str().unwrap();
                assert!(challenge.starts_with("Bearer"), "{challenge}");
            }
        }
        assert_eq!(server.everything().await, before);
        let scheme = [format!("bEARER {good}")];
        send(&nobody, &Method::GET, "/v1/me", &Value::Null, &scheme).await.ok(200);
    });
}

#[test]
fn a_token_that_has_expired_says_so() {
    test(async |server| {
        let (player, game) = game_of(server).await;
        let claims = claims(player.token.as_ref().unwrap());
        let id = |field: &str| claims[field].as_str().unwrap().parse::<Uuid>().unwrap();
        let (player, session) = (id("sub").into(), id("sid").into());
        let keys = SigningKeys::parse(KEY).unwrap();
        let now = OffsetDateTime::now_utc();
        let before = server.everything().await;
        for age in [Duration::seconds(900), Duration::days(400)] {
            let header = [format!("Bearer {}", keys.issue(player, session, now - age))];
            for (method, path, body) in operations(&game) {
                let answer = send(&server.nobody(), &method, &path, &body, &header).await;
                assert!(answer.headers["www-authenticate"].to_str().unwrap().starts_with("Bearer"));
                answer.problem(401, "token_expired");
            }
        }
        assert_eq!(server.everything().await, before);
        let header = [format!("Bearer {}", keys.issue(player, session, now - Duration::seconds(800)))];
        send(&server.nobody(), &Method::GET, "/v1/me", &Value::Null, &header).await.ok(200);
    });
}

#[test]
fn without_a_token_one_may_look_but_not_act() {
    test(async |server| {
        let (_, game) = game_of(server).await;
        let before = server.everything().await;
        for (method, path, body) in operations(&game) {
            let answer = send(&server.nobody(), &method, &path, &body, &[]).await;
            if method == Method::GET {
                answer.ok(200);
            } else {
                assert!(answer.headers.contains_key("www-authenticate"));
                answer.problem(401, "token_missing");
            }
        }
        assert_eq!(server.everything().await, before);
    });
}

#[test]
fn a_good_token_of_a_player_who_is_no_more_is_no_fault_of_the_server() {
    test(async |server| {
        let (player, game) = game_of(server).await;
        let group = player.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        let keys = SigningKeys::parse(KEY).unwrap();
        let (nobody, session) = (Uuid::now_v7().into(), Uuid::now_v7().into());
        let ghost = server.nobody().with_token(&keys.issue(nobody, session, OffsetDateTime::now_utc()));
        let before = server.everything().await;
        let group_id = group["id"].as_str().unwrap();
        let mut all = operations(&game);
        all.extend([
            (Method::GET, "/v1/me".to_owned(), Value::Null),
            (Method::POST, "/v1/groups".to_owned(), json!({ "variant": "kalah" })),
            (Method::POST, "/v1/groups/join".to_owned(), json!({ "code": group["code"] })),
            (Method::POST, format!("/v1/groups/{group_id}/games"), json!({})),
            (Method::POST, format!("/v1/games/{game}/moves"), json!({ "pit": 0, "seq": 0 })),
        ]);
        let mut failed = Vec::new();
        for (method, path, body) in all {
            for key in [None, Some("once")] {
                let mut request = ghost.request(method.clone(), &path);
                if let Some(key) = key {
                    request = request.header("idempotency-key", key);
                }
                let answer = Answer::of(if body.is_null() { request } else { request.json(&body) }).await;
                if answer.status.is_server_error() {
                    failed.push(format!("{method} {path} (key {key:?}): {}", answer.text));
                }
            }
        }
        assert_eq!(server.everything().await, before);
        assert_eq!(failed, Vec::<String>::new());
    });
}
