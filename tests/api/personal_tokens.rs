//! Tokens for programs: how they are made, kept and taken back, and what a program does with one.

use std::time::Instant;

use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::harness::{at_once, number, test, text};

fn wanted() -> Value {
    json!({ "name": "my bot", "scopes": ["games:play", "games:read", "games:read"] })
}

fn path(token: &Value) -> String {
    format!("/v1/me/tokens/{}", text(&token["id"]))
}

#[test]
fn a_token_is_told_once_and_kept_as_a_hash() {
    test(async |server| {
        let ana = server.account_named("Ana").await;
        let made = ana.post("/v1/me/tokens", wanted()).await.ok(201);
        let secret = text(&made["token"]);
        assert!(secret.starts_with("mancala_pat_") && secret.len() == 55);
        assert_eq!(made["scopes"], json!(["games:read", "games:play"]), "each once");
        assert!(made.get("expires_at").is_none());
        let listed = ana.get("/v1/me/tokens").await;
        assert!(!listed.text.contains(secret));
        let items = listed.ok(200)["items"].clone();
        let expected = json!([{ "id": made["id"], "name": "my bot", "scopes": made["scopes"],
            "created_at": made["created_at"] }]);
        assert_eq!(items, expected);
        assert!(!server.everything().await.contains(&secret["mancala_pat_".len()..]));
        let another = ana.post("/v1/me/tokens", wanted()).await.ok(201);
        assert_ne!(another["token"], made["token"]);
        let ben = server.account_named("Ben").await;
        assert_eq!(ben.get("/v1/me/tokens").await.ok(200)["items"], json!([]));
    });
}

#[test]
fn a_program_plays_in_the_name_of_its_player() {
    test(async |server| {
        let ana = server.account_named("Ana").await;
        let made = ana.post("/v1/me/tokens", wanted()).await.ok(201);
        let program = server.nobody().with_token(text(&made["token"]));
        let new = json!({ "variant": "kalah", "computers": ["easy"], "starter": "me" });
        let game = program.post("/v1/games", new).await.ok(201);
        assert_eq!(game["seats"][0]["player"]["id"], ana.id);
        let id = text(&game["id"]);
        program.sow(id, number(&game["legal"][0]), 0).await.ok(200);
        let mine = program.get(&format!("/v1/games?player={}", ana.id)).await.ok(200);
        assert_eq!(mine["items"][0]["id"], game["id"]);
        let listed = ana.get("/v1/me/tokens").await.ok(200)["items"][0].clone();
        let used = OffsetDateTime::parse(text(&listed["last_used_at"]), &Rfc3339).unwrap();
        assert_eq!((used.second(), used.nanosecond()), (0, 0), "to the minute");
        assert!((OffsetDateTime::now_utc() - used).abs() < Duration::minutes(5));
    });
}

#[test]
fn a_token_that_is_deleted_is_refused_at_once_and_soon_by_other_servers() {
    test(async |server| {
        let ana = server.account_named("Ana").await;
        let made = ana.post("/v1/me/tokens", wanted()).await.ok(201);
        let kept = ana.post("/v1/me/tokens", wanted()).await.ok(201);
        let other = server.another().await;
        let program = server.nobody().with_token(text(&made["token"]));
        let elsewhere = program.via(&other);
        program.get("/v1/games").await.ok(200);
        elsewhere.get("/v1/games").await.ok(200);
        let ben = server.account_named("Ben").await;
        ben.delete(&path(&made)).await.problem(404, "token_not_found");
        program.get("/v1/games").await.ok(200);
        assert_eq!(ana.delete(&path(&made)).await.status, 204);
        program.get("/v1/games").await.problem(401, "token_invalid");
        let since = Instant::now();
        while elsewhere.get("/v1/games").await.status != 401 {
            assert!(since.elapsed().as_secs() < 20, "the other server goes on");
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        ana.delete(&path(&made)).await.problem(404, "token_not_found");
        server.nobody().with_token(text(&kept["token"])).get("/v1/games").await.ok(200);
        assert_eq!(ana.get("/v1/me/tokens").await.ok(200)["items"].as_array().unwrap().len(), 1);
        other.stop().await;
    });
}

#[test]
fn a_token_ends_when_it_says() {
    test(async |server| {
        let ana = server.account_named("Ana").await;
        let end = OffsetDateTime::now_utc() + Duration::hours(1);
        let mut new = wanted();
        new["expires_at"] = json!(end.format(&Rfc3339).unwrap());
        let made = ana.post("/v1/me/tokens", new).await.ok(201);
        assert_eq!(
            OffsetDateTime::parse(text(&made["expires_at"]), &Rfc3339).unwrap().unix_timestamp(),
            end.unix_timestamp()
        );
        let program = server.nobody().with_token(text(&made["token"]));
        let sql = "update personal_token set expires_at = now() - interval '1 second', last_used_at = null";
        sqlx::query(sql).execute(&mut server.database().await).await.unwrap();
        program.get("/v1/games").await.problem(401, "token_expired");
        let listed = ana.get("/v1/me/tokens").await.ok(200)["items"][0].clone();
        assert!(listed.get("last_used_at").is_none(), "that was no use: {listed}");
    });
}

#[test]
fn the_end_of_a_token_is_within_ten_years_and_told_in_utc() {
    test(async |server| {
        let ana = server.account_named("Ana").await;
        let with_end = |end: &str| {
            let mut new = wanted();
            new["expires_at"] = json!(end);
            new
        };
        for end in [
            "9999-12-31T23:59:59-23:59",
            "9999-12-31T23:59:60Z",
            "2100-01-01T00:00:00Z",
            "2001-01-01T00:00:00Z",
        ] {
            let problem = ana.post("/v1/me/tokens", with_end(end)).await.problem(422, "invalid_value");
            assert_eq!(problem["errors"][0]["pointer"], "/expires_at", "{end}");
        }
        let end = OffsetDateTime::now_utc() + Duration::hours(1);
        let there = end.to_offset(time::UtcOffset::from_hms(5, 30, 0).unwrap());
        let made = ana.post("/v1/me/tokens", with_end(&there.format(&Rfc3339).unwrap())).await.ok(201);
        assert!(text(&made["expires_at"]).ends_with('Z'), "{made}");
        assert_eq!(ana.get("/v1/me/tokens").await.ok(200)["items"][0]["expires_at"], made["expires_at"]);
    });
}

#[test]
fn guests_have_no_tokens_and_bots_do() {
    test(async |server| {
        let ana = server.guest("Ana").await;
        ana.post("/v1/me/tokens", wanted()).await.problem(403, "account_needed");
        let kind = async |kind: &str| {
            let sql = "update player set kind = $1";
            sqlx::query(sql).bind(kind).execute(&mut server.database().await).await.unwrap();
        };
        kind("bot").await;
        ana.post("/v1/me/tokens", wanted()).await.ok(201);
        kind("deleted").await;
        ana.post("/v1/me/tokens", wanted()).await.problem(403, "account_needed");
    });
}

#[test]
fn a_player_has_twenty_tokens_at_most_however_they_are_asked_for() {
    test(async |server| {
        let ana = server.account_named("Ana").await;
        let answers = at_once((0..26).map(|_| {
            let ana = ana.clone();
            async move { ana.post("/v1/me/tokens", wanted()).await }
        }))
        .await;
        let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 201);
        assert_eq!((made.len(), refused.len()), (20, 6));
        for answer in refused {
            answer.problem(409, "too_many_tokens");
        }
        let listed = ana.get("/v1/me/tokens").await.ok(200)["items"].as_array().unwrap().clone();
        assert!(listed.is_sorted_by_key(|token| text(&token["id"]).to_owned()) && listed.len() == 20);
        assert_eq!(ana.delete(&path(&listed[7])).await.status, 204);
        ana.post("/v1/me/tokens", wanted()).await.ok(201);
        server.account_named("Ben").await.post("/v1/me/tokens", wanted()).await.ok(201);
    });
}

#[test]
fn a_token_that_makes_no_sense_is_refused_with_the_field_at_fault() {
    test(async |server| {
        let ana = server.account_named("Ana").await;
        let before = server.everything().await;
        for (field, value) in [
            ("name", json!("")),
            ("name", json!("   ")),
            ("name", json!("a".repeat(61))),
            ("name", json!("line\nbreak")),
            ("name", json!("nul\0")),
            ("scopes", json!([])),
            ("scopes", json!(["everything"])),
            ("scopes", json!("groups")),
            ("expires_at", json!("2020-01-01T00:00:00Z")),
            ("expires_at", json!("tomorrow")),
            ("expires_at", json!(4_000_000_000_u64)),
        ] {
            let mut new = wanted();
            new[field] = value.clone();
            let problem = ana.post("/v1/me/tokens", new).await.problem(422, "invalid_value");
            let pointer = text(&problem["errors"][0]["pointer"]);
            assert!(pointer.starts_with(&format!("/{field}")), "{pointer} for {field} {value}");
        }
        for more in ["id", "token", "player_id", "hash", "last_used_at"] {
            let mut new = wanted();
            new[more] = json!("x");
            ana.post("/v1/me/tokens", new).await.problem(422, "unknown_field");
        }
        assert_eq!(server.everything().await, before);
    });
}
