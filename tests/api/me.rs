//! The caller's own player: what only its owner sees and keeps there.

use serde_json::{Value, json};

use crate::harness::{PASSWORD, TestServer, test, text};

#[test]
fn a_player_sees_more_of_itself_than_others_do() {
    test(async |server| {
        let guest = server.guest("Ana").await;
        let me = guest.get("/v1/me").await.ok(200);
        assert_eq!((&me["id"], &me["name"], &me["kind"]), (&json!(guest.id), &json!("Ana"), &json!("guest")));
        assert_eq!(me["preferences"], json!({}));
        assert!(text(&me["created_at"]).ends_with('Z') && me.get("username").is_none());
        let others = guest.get(&format!("/v1/players/{}", guest.id)).await.ok(200);
        let mut fields: Vec<&String> = others.as_object().unwrap().keys().collect();
        fields.sort();
        assert_eq!(fields, ["id", "kind", "name"]);
    });
}

#[test]
fn preferences_are_replaced_as_a_whole_and_kept_as_they_were_written() {
    test(async |server| {
        let ana = server.guest("Ana").await;
        let first = json!({ "theme": "dark", "sound": { "volume": 0.5, "on": true }, "recent": [1, null, "é\u{0}🎲"] });
        let me = ana.patch("/v1/me", json!({ "preferences": first })).await.ok(200);
        assert_eq!((&me["preferences"], &me["name"]), (&first, &json!("Ana")));
        let me = ana.patch("/v1/me", json!({ "name": "Anna" })).await.ok(200);
        assert_eq!((&me["preferences"], &me["name"]), (&first, &json!("Anna")), "what is not named stays");
        let second = json!({ "big": 1e308, "small": -1e-300, "exact": 9_007_199_254_740_993_u64 });
        let me = ana.patch("/v1/me", json!({ "preferences": second, "name": "Ana" })).await.ok(200);
        assert_eq!((&me["preferences"], &me["name"]), (&second, &json!("Ana")));
        assert_eq!(ana.get("/v1/me").await.ok(200), me);
        let body = json!({ "username": "ana", "password": PASSWORD });
        ana.post("/v1/accounts", body).await.ok(201);
        assert_eq!(ana.get("/v1/me").await.ok(200)["preferences"], second);
        ana.patch("/v1/me", json!({ "preferences": {} })).await.ok(200);
        assert_eq!(ana.get("/v1/me").await.ok(200)["preferences"], json!({}));
    });
}

async fn refused(server: &TestServer, preferences: Value) {
    let ana = server.guest("Ana").await;
    let body = json!({ "preferences": preferences, "name": "Not this" });
    ana.patch("/v1/me", body).await.problem(422, "invalid_value");
    assert_eq!(ana.get("/v1/me").await.ok(200)["name"], "Ana", "all or nothing");
}

#[test]
fn preferences_are_a_small_object() {
    test(async |server| {
        for value in [json!([]), json!("dark"), json!(1), json!(true)] {
            refused(server, value).await;
        }
        let of = |size: usize| json!({ "x": "y".repeat(size - 8) });
        assert_eq!(of(4096).to_string().len(), 4096);
        refused(server, of(4097)).await;
        let ana = server.guest("Ana").await;
        ana.patch("/v1/me", json!({ "preferences": of(4096) })).await.ok(200);
        let deep =
            format!("{{\"preferences\":{}{}}}", "{\"a\":".repeat(200), "1".to_owned() + &"}".repeat(200));
        let request =
            ana.request(reqwest::Method::PATCH, "/v1/me").header("content-type", "application/json");
        let answer = crate::harness::Answer::of(request.body(deep)).await;
        assert!(answer.status.is_client_error(), "{}", answer.text);
    });
}
