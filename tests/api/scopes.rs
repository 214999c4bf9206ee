//! What the document says of tokens holds for every operation: which scope it needs, and which are for sessions only.

use mancala_server::account::SigningKeys;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use crate::harness::{Answer, KEY, Player, TestServer, test, text};
use crate::operations::{Document, Operation, World};

const SCOPES: [&str; 5] = ["games:read", "games:play", "groups", "ranked", "profile"];

/// The scope that a personal token needs; `None` is for sessions only.
fn scope(operation: &Operation) -> Option<&str> {
    let ways = operation.told["security"].as_array().unwrap();
    let scopes: Vec<&str> = ways
        .iter()
        .flat_map(|way| way["personal_token"].as_array().into_iter().flatten())
        .map(text)
        .collect();
    assert!(scopes.len() <= 1 && scopes.iter().all(|scope| SCOPES.contains(scope)), "{}", operation.id);
    scopes.first().copied()
}

/// Those that look at a token.
fn looking(document: &Document) -> impl Iterator<Item = &Operation> {
    document.operations.iter().filter(|operation| !operation.told["security"].as_array().unwrap().is_empty())
}

/// Sends an operation as the document shows it.
async fn send(document: &Document, world: &World<'_>, operation: &Operation, who: &Player) -> Answer {
    let request = who.request(operation.method.clone(), &world.path(operation));
    let body = operation.schema().map(|_| document.example(operation));
    Answer::of(match body {
        Some(body) => request.json(&body),
        None => request,
    })
    .await
}

async fn token(server: &TestServer, owner: &Player, scopes: Vec<&str>) -> Player {
    let new = json!({ "name": scopes.join(" "), "scopes": scopes });
    let made = owner.post("/v1/me/tokens", new).await.ok(201);
    server.nobody().with_token(text(&made["token"]))
}

async fn account_with_a_world(server: &TestServer) -> (Document, World<'_>) {
    let (document, mut world) = (Document::of(server).await, World::new(server).await);
    world.player = server.becomes_account(&world.player).await;
    (document, world)
}

#[test]
fn every_operation_takes_the_scope_that_it_names_and_none_of_the_others() {
    test(async |server| {
        let (document, world) = account_with_a_world(server).await;
        let mut programs = Vec::new();
        for scope in SCOPES {
            let others = SCOPES.into_iter().filter(|other| *other != scope).collect();
            let only = token(server, &world.player, vec![scope]).await;
            programs.push((scope, only, token(server, &world.player, others).await));
        }
        let mut tried = [0; SCOPES.len()];
        for operation in looking(&document) {
            let Some(needed) = scope(operation) else { continue };
            for (i, (scope, only, others)) in programs.iter().enumerate() {
                if *scope != needed {
                    let refused = send(&document, &world, operation, only).await;
                    operation.refuses(refused, 403, "scope_missing", scope);
                    continue;
                }
                let refused = send(&document, &world, operation, others).await;
                operation.refuses(refused, 403, "scope_missing", "all other scopes");
                let answer = send(&document, &world, operation, only).await;
                let code = answer.json()["code"].clone();
                assert!(
                    answer.status != 401 && code != "scope_missing" && code != "session_needed",
                    "{} with {scope}: {}",
                    operation.id,
                    answer.text
                );
                tried[i] += 1;
            }
        }
        assert!(tried.iter().all(|count| *count > 0), "each scope is good for something: {tried:?}");
    });
}

#[test]
fn what_names_no_scope_is_for_sessions_only() {
    test(async |server| {
        let (document, world) = account_with_a_world(server).await;
        let program = token(server, &world.player, SCOPES.to_vec()).await;
        let mut refused = Vec::new();
        for operation in looking(&document).filter(|operation| scope(operation).is_none()) {
            let answer = send(&document, &world, operation, &program).await;
            operation.refuses(answer, 403, "session_needed", "a personal token");
            refused.push(operation.id.as_str());
        }
        for must in ["create_personal_token", "list_personal_tokens", "delete_personal_token"] {
            assert!(refused.contains(&must), "{must}");
        }
        assert!(refused.contains(&"delete_current_session"));
        world.player.get("/v1/me").await.ok(200);
        program.get("/v1/me").await.ok(200);
    });
}

#[test]
fn the_words_of_each_operation_tell_its_scope_in_both_documents() {
    test(async |server| {
        let document = Document::of(server).await;
        let older = server.nobody().get("/openapi-3.0.json").await.ok(200);
        for operation in &document.operations {
            let method = operation.method.as_str().to_lowercase();
            let in_older = &older["paths"][&operation.path][method];
            for way in in_older["security"].as_array().unwrap() {
                assert!(way.as_object().unwrap().values().all(|scopes| *scopes == json!([])), "{in_older}");
            }
            for told in [&operation.told, in_older] {
                let words = text(&told["description"]);
                let looks = !told["security"].as_array().unwrap().is_empty();
                assert_eq!(words.contains("Personal tokens"), looks, "{}", operation.id);
                if let Some(scope) = scope(operation) {
                    assert!(words.contains(&format!("need the scope `{scope}`")), "{}", operation.id);
                }
            }
        }
    });
}

#[test]
fn a_bad_token_is_refused_by_every_operation_that_looks_at_one() {
    test(async |server| {
        let (document, world) = account_with_a_world(server).await;
        let (keys, other) = (
            SigningKeys::parse(KEY).unwrap(),
            SigningKeys::parse("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").unwrap(),
        );
        let (player, session) = (world.player.id.parse::<Uuid>().unwrap(), Uuid::now_v7());
        let now = OffsetDateTime::now_utc();
        let good = world.player.token.clone().unwrap();
        let (signed, _) = good.rsplit_once('.').unwrap();
        let ended = server.guest("Ben").await;
        assert_eq!(ended.delete("/v1/sessions/current").await.status, 204);
        let mut bad = vec![
            ("of another key", other.issue(player.into(), session.into(), now), "token_invalid"),
            ("unsigned", format!("{signed}."), "token_invalid"),
            ("of a session that has ended", ended.token.unwrap(), "token_invalid"),
            (
                "out of date",
                keys.issue(player.into(), session.into(), now - Duration::hours(1)),
                "token_expired",
            ),
            ("a refresh token", world.player.refresh.clone(), "token_invalid"),
            ("nobody's", format!("mancala_pat_{}", "A".repeat(43)), "token_invalid"),
            ("not of the form", "mancala_pat_".to_owned(), "token_invalid"),
        ];
        let text = |made: &Value| made["token"].as_str().unwrap().to_owned();
        let new = json!({ "name": "x", "scopes": SCOPES });
        let expired = world.player.post("/v1/me/tokens", new.clone()).await.ok(201);
        let sql = "update personal_token set expires_at = now() - interval '1 second'";
        sqlx::query(sql).execute(&mut server.database().await).await.unwrap();
        bad.push(("a program's, out of date", text(&expired), "token_expired"));
        let gone = world.player.post("/v1/me/tokens", new).await.ok(201);
        let path = format!("/v1/me/tokens/{}", gone["id"].as_str().unwrap());
        assert_eq!(world.player.delete(&path).await.status, 204);
        bad.push(("a program's, taken back", text(&gone), "token_invalid"));
        let before = server.everything().await;
        for (what, token, code) in bad {
            let caller = server.nobody().with_token(&token);
            for operation in looking(&document) {
                operation.refuses(send(&document, &world, operation, &caller).await, 401, code, what);
            }
        }
        for operation in looking(&document) {
            let request = world.player.request(operation.method.clone(), &world.path(operation));
            let twice = Answer::of(request.header("authorization", format!("Bearer {good}"))).await;
            operation.refuses(twice, 401, "token_invalid", "two headers");
        }
        assert_eq!(server.everything().await, before);
    });
}

#[test]
fn no_way_of_writing_a_path_leads_past_the_gate() {
    test(async |server| {
        let (_, world) = account_with_a_world(server).await;
        let reader = token(server, &world.player, vec!["games:read"]).await;
        let id = &world.player.id;
        for path in ["/v1/me", "/v1/%6de", "/%76%31/me", "/v1/m%65"] {
            let answer = reader.get(path).await;
            assert_ne!(answer.status, 200, "{path}");
            if answer.status != 404 {
                answer.problem(403, "scope_missing");
            }
        }
        for path in [format!("/v1/players/{id}"), format!("/v1/pl%61yers/{id}")] {
            let forged = server.nobody().with_token("forged").get(&path).await;
            forged.problem(401, "token_invalid");
            reader.get(&path).await.ok(200);
        }
        let head = reader.request(reqwest::Method::HEAD, "/v1/me");
        assert_eq!(Answer::of(head).await.status, 403);
    });
}
