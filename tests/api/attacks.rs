//! What somebody tries who wants in, or up: fields that nobody may set, passwords guessed, names found out, tokens that
//! reach for more. What else the table of `docs/security.md` has is beside the things that it attacks.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, PASSWORD, Player, TestServer, at_once, test, text};
use crate::operations::{Document, World};
use crate::strangers::rows;

/// Fields of the database and of answers that would be worth setting, each with a value that it might have.
fn coveted(world: &World<'_>) -> Vec<(&'static str, Value)> {
    let (player, game) = (json!(world.other.id), json!(world.game));
    vec![
        ("id", player.clone()),
        ("player_id", player.clone()),
        ("player", json!({ "id": player })),
        ("host", player.clone()),
        ("host_id", player.clone()),
        ("owner", player),
        ("game_id", game.clone()),
        ("rematch_of", game),
        ("kind", json!("bot")),
        ("bot", json!(true)),
        ("is_admin", json!(true)),
        ("role", json!("admin")),
        ("canonical", json!("admin")),
        ("rating", json!(3000)),
        ("deviation", json!(30)),
        ("ranked", json!(true)),
        ("status", json!("finished")),
        ("result", json!({ "places": [1, 2] })),
        ("stores", json!([48, 0])),
        ("seat", json!(1)),
        ("version", json!(0)),
        ("scopes", json!(["games:play"])),
        ("token", json!("mancala_pat_mine")),
        ("session_id", json!(world.game)),
        ("code", json!("AAAAAAAA")),
        ("password_hash", json!("$argon2id$")),
        ("recovery_codes", json!(["mine"])),
        ("created_at", json!("2020-01-01T00:00:00Z")),
        ("expires_at", json!("2999-01-01T00:00:00Z")),
        ("revoked_at", Value::Null),
        ("last_used_at", Value::Null),
        ("deadline", json!("2999-01-01T00:00:00Z")),
    ]
}

#[test]
fn fields_that_nobody_may_set_are_refused_by_every_operation() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let before = server.everything().await;
        for operation in document.with_body() {
            let schema = document.resolve(text(&operation.schema().unwrap()["$ref"]));
            let example = document.example(operation);
            let mut refused = 0;
            for (field, value) in coveted(&world) {
                if schema["properties"].get(field).is_some() {
                    continue;
                }
                let mut body = example.clone();
                body[field] = value;
                let answer = world.send(operation, body.to_string()).await;
                let problem = operation.refuses(answer, 422, "unknown_field", field);
                assert_eq!(problem["errors"][0]["pointer"], format!("/{field}"));
                refused += 1;
            }
            assert!(refused >= 20, "{} has many such fields of its own", operation.id);
        }
        assert_eq!(server.everything().await, before);
    });
}

/// A request that comes from this address, as the proxy in front tells it.
async fn from(server: &TestServer, address: &str, path: &str, body: &Value) -> Answer {
    let request = server.nobody().request(Method::POST, path).header("x-forwarded-for", address);
    Answer::of(request.json(body)).await
}

async fn behind_a_proxy(server: &TestServer, address_limit: u32) -> TestServer {
    server
        .another_as(|settings| {
            settings.address_limit = address_limit;
            settings.trusted_proxies = "127.0.0.0/8".parse().unwrap();
        })
        .await
}

fn credentials(username: &str, password: &str) -> Value {
    json!({ "username": username, "password": password })
}

#[test]
fn guesses_from_many_addresses_get_slower_and_lock_nobody_out() {
    test(async |server| {
        server.account("ana").await;
        let limited = behind_a_proxy(server, 2).await;
        let began = std::time::Instant::now();
        let guesses = (0..12).map(|i| {
            let request = limited.nobody().request(Method::POST, "/v1/sessions");
            let request = request.header("x-forwarded-for", format!("203.0.113.{i}"));
            let body = credentials(["ana", "A.N.A", "аna"][i % 3], &format!("guess number {i}"));
            async move { Answer::of(request.json(&body)).await }
        });
        for answer in at_once(guesses).await {
            answer.problem(401, "wrong_credentials");
        }
        assert!(began.elapsed().as_millis() >= 4000, "the last of them waited: {:?}", began.elapsed());
        let owner = from(&limited, "198.51.100.1", "/v1/sessions", &credentials("ana", PASSWORD)).await;
        owner.ok(201);
        limited.stop().await;
    });
}

#[test]
fn one_address_has_few_guesses_whatever_it_guesses() {
    test(async |server| {
        let ana = server.account("ana").await;
        let new = json!({ "name": "x", "scopes": ["profile"] });
        ana.post("/v1/me/tokens", new).await.ok(201);
        let limited = behind_a_proxy(server, 30).await;
        let code = json!({ "username": "ana", "recovery_code": "01234-56789-abcde-fghjk", "new_password": "six pits, five stones" });
        let guesses = [
            ("/v1/sessions", credentials("ana", "one guess"), "wrong_credentials", 3),
            ("/v1/sessions/recovery", code, "wrong_credentials", 3),
            ("/v1/sessions/refresh", json!({ "refresh_token": "mancala_rt_guessed" }), "refresh_invalid", 30),
            ("/v1/groups/join", json!({ "code": "AAAAAAAA" }), "token_missing", 30),
            ("/v1/accounts", credentials("ana", PASSWORD), "username_taken", 30),
        ];
        // Each kind alone, and all together: there is one budget for what needs a secret or gives one.
        for (i, (path, body, code, allowed)) in guesses.iter().enumerate() {
            let address = format!("203.0.113.{i}");
            for _ in 0..*allowed {
                let answer = from(&limited, &address, path, body).await;
                assert_eq!(answer.json()["code"], *code, "{path}: {}", answer.text);
            }
            for (path, body, ..) in &guesses {
                from(&limited, &address, path, body).await.problem(429, "rate_limited");
            }
            let right = from(&limited, &address, "/v1/sessions", &credentials("ana", PASSWORD)).await;
            right.problem(429, "rate_limited");
        }
        from(&limited, "198.51.100.1", "/v1/sessions", &credentials("ana", PASSWORD)).await.ok(201);
        limited.stop().await;
    });
}

#[test]
fn wrong_recovery_codes_use_up_nothing() {
    test(async |server| {
        let new = credentials("ana", PASSWORD);
        let made = server.nobody().post("/v1/accounts", new).await.ok(201);
        let before = rows(server).await;
        let recover = async |code: &str| {
            let body =
                json!({ "username": "ana", "recovery_code": code, "new_password": "six pits, five stones" });
            server.nobody().post("/v1/sessions/recovery", body).await
        };
        let good = text(&made["recovery_codes"][0]);
        for i in 0..40 {
            recover(&format!("{i:05}-00000-00000-00000")).await.problem(401, "wrong_credentials");
        }
        for odd in
            ["", "-", &good[..good.len() - 1], &format!("{good}0"), &good.repeat(100), "%", "' or true --"]
        {
            recover(odd).await.problem(401, "wrong_credentials");
        }
        assert_eq!(rows(server).await, before);
        recover(good).await.ok(201);
    });
}

/// How many passwords the server has compared with a hash.
async fn verifications(server: &TestServer) -> u64 {
    let text = server.nobody().get("/metrics").await.text;
    let line = text.lines().find(|line| line.starts_with("mancala_password_verifications_total "));
    line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn recovery_does_the_same_work_for_known_and_unknown_names() {
    test(async |server| {
        server.account("ana").await;
        let mut seen = Vec::new();
        for username in ["ana", "ben", "A-N-A", "", "admin", "a\0b"] {
            let before = verifications(server).await;
            let body = json!({ "username": username, "recovery_code": "01234-56789-abcde-fghjk", "new_password": "six pits, five stones" });
            let answer = server.nobody().post("/v1/sessions/recovery", body).await;
            let mut headers: Vec<String> = answer.headers.keys().map(ToString::to_string).collect();
            headers.sort();
            let problem = answer.problem(401, "wrong_credentials");
            seen.push((headers, problem, verifications(server).await - before));
        }
        seen.dedup();
        assert_eq!(seen.len(), 1, "{seen:#?}");
    });
}

#[test]
fn that_a_name_is_taken_says_nothing_of_who_has_it() {
    test(async |server| {
        let ana = server.account("ana").await;
        ana.patch("/v1/me", json!({ "name": "Somebody" })).await.ok(200);
        let mut seen = Vec::new();
        for username in ["ana", "ANA", "a_n_a", "a.na"] {
            let before = (rows(server).await, verifications(server).await);
            let answer = server.nobody().post("/v1/accounts", credentials(username, PASSWORD)).await;
            assert!(!answer.text.contains(&ana.id) && !answer.text.contains("Somebody"), "{}", answer.text);
            seen.push(answer.problem(409, "username_taken"));
            assert_eq!((rows(server).await, verifications(server).await), before);
        }
        seen.dedup();
        assert_eq!(seen.len(), 1, "{seen:#?}");
        // Nor is a name found by whom it belongs to, wherever players are looked for.
        for path in ["/v1/players/ana", "/v1/games?player=ana", "/v1/me/blocks/ana"] {
            assert!(ana.get(path).await.status.is_client_error(), "{path}");
        }
    });
}

async fn program(server: &TestServer, owner: &Player, scopes: Value) -> (Player, String) {
    let made = owner.post("/v1/me/tokens", json!({ "name": "a program", "scopes": scopes })).await.ok(201);
    (server.nobody().with_token(text(&made["token"])), text(&made["id"]).to_owned())
}

#[test]
fn a_program_can_neither_widen_itself_nor_take_its_owners_place() {
    test(async |server| {
        let ana = server.account("ana").await;
        let all = json!(["games:read", "games:play", "groups", "ranked", "profile"]);
        for scopes in [json!(["profile"]), all.clone()] {
            let (program, id) = program(server, &ana, scopes.clone()).await;
            let session = text(&ana.get("/v1/sessions").await.ok(200)["items"][0]["id"]).to_owned();
            let change = json!({ "password": PASSWORD, "new_password": "six pits, five stones" });
            let attempts = [
                (Method::POST, "/v1/me/tokens".to_owned(), json!({ "name": "wider", "scopes": all })),
                (Method::GET, "/v1/me/tokens".to_owned(), Value::Null),
                (Method::DELETE, format!("/v1/me/tokens/{id}"), Value::Null),
                (Method::GET, "/v1/sessions".to_owned(), Value::Null),
                (Method::DELETE, "/v1/sessions".to_owned(), Value::Null),
                (Method::DELETE, "/v1/sessions/current".to_owned(), Value::Null),
                (Method::DELETE, format!("/v1/sessions/{session}"), Value::Null),
                (Method::POST, "/v1/sessions".to_owned(), credentials("ana", PASSWORD)),
                (Method::POST, "/v1/accounts".to_owned(), credentials("second", PASSWORD)),
                (Method::PUT, "/v1/me/password".to_owned(), change),
                (Method::POST, "/v1/me/recovery".to_owned(), json!({ "password": PASSWORD })),
                (Method::GET, "/v1/me/export".to_owned(), Value::Null),
                (Method::PUT, "/v1/me/bot".to_owned(), json!({})),
                (Method::DELETE, "/v1/me".to_owned(), json!({ "password": PASSWORD })),
            ];
            // That it was used is written of the token.
            let seen = async || {
                let mut rows = rows(server).await;
                rows.retain(|row| !row.contains(&id));
                (rows, verifications(server).await)
            };
            let before = seen().await;
            for (method, path, body) in attempts {
                let request = program.request(method, &path);
                let request = if body.is_null() { request } else { request.json(&body) };
                Answer::of(request).await.problem(403, "session_needed");
            }
            for body in [json!({ "scopes": all }), json!({ "name": "Ana", "scopes": all })] {
                program.patch("/v1/me", body).await.problem(422, "unknown_field");
            }
            let token = program.token.as_ref().unwrap();
            let body = json!({ "refresh_token": token });
            server.nobody().post("/v1/sessions/refresh", body).await.problem(401, "refresh_invalid");
            assert_eq!(seen().await, before);
            let told = ana.get("/v1/me/tokens").await.ok(200);
            let own = told["items"].as_array().unwrap().iter().find(|token| token["id"] == id.as_str());
            let sorted = |list: &Value| {
                let mut list: Vec<String> =
                    list.as_array().unwrap().iter().map(|scope| text(scope).to_owned()).collect();
                list.sort();
                list
            };
            assert_eq!(sorted(&own.unwrap()["scopes"]), sorted(&scopes));
            // It may still do what it is for.
            assert_eq!(program.get("/v1/me").await.ok(200)["id"], ana.id.as_str());
        }
    });
}

#[test]
fn no_kind_of_token_passes_for_another() {
    test(async |server| {
        let ana = server.account("ana").await;
        let (program, _) = program(server, &ana, json!(["profile"])).await;
        let (access, personal) = (ana.token.clone().unwrap(), program.token.unwrap());
        let before = rows(server).await;
        for token in [&ana.refresh, &format!("{personal}x"), &personal.to_uppercase(), PASSWORD] {
            server.nobody().with_token(token).get("/v1/me").await.problem(401, "token_invalid");
        }
        for token in [&access, &personal] {
            let body = json!({ "refresh_token": token });
            server.nobody().post("/v1/sessions/refresh", body).await.problem(401, "refresh_invalid");
        }
        for word in [&access, &personal, &ana.refresh] {
            let body = credentials("ana", word);
            server.nobody().post("/v1/sessions", body).await.problem(401, "wrong_credentials");
            let body =
                json!({ "username": "ana", "recovery_code": word, "new_password": "six pits, five stones" });
            server.nobody().post("/v1/sessions/recovery", body).await.problem(401, "wrong_credentials");
        }
        assert_eq!(rows(server).await, before);
    });
}
