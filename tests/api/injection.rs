//! Texts that mean something to a database, a log, a terminal or a program that reads logs, in every place where a
//! request can hold a text. They stay texts: the database keeps its shape and what others have, and no line of the log
//! of a real server process is made by them.

use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use crate::harness::{Answer, PASSWORD, Player, Program, TestServer, raw_at, test, text};
use crate::operations::{Document, Operation, World};
use crate::strangers::rows;

/// Stands in each text, so that it can be found.
const MARK: &str = "Mallory7";

/// The texts that are tried.
fn attacks() -> Vec<String> {
    let texts = [
        "'; drop table player; --",
        "' or '1'='1",
        "\"; delete from game; --",
        "') union select password from account --",
        "$1::text); select pg_sleep(20); --",
        "\\'; drop table account; --",
        "%' or name like '%",
        "{\"kind\":\"bot\"}",
        "\",\"level\":\"ERROR\",\"x\":\"",
        "\r\n{\"timestamp\":\"2026-01-01T00:00:00Z\",\"level\":\"ERROR\",\"message\":\"forged\"}",
        "\n2026-01-01T00:00:00Z ERROR mancala_server: forged",
        "\r\nset-cookie: forged=1",
        "\u{1b}[2J\u{1b}[31mforged\u{7}\u{8}",
        "\u{9b}31m\u{85}\u{2028}forged",
        "\0forged",
        "%00%0d%0aforged",
        "${jndi:ldap://127.0.0.1/forged}",
        "{{7*7}} <script>forged</script>",
        "\u{202e}degrof",
    ];
    texts.iter().map(|text| format!("{MARK}{text}")).collect()
}

/// Ends a program, and looks at every line that it has logged.
fn end_and_judge(program: Program, least: usize) {
    let log = program.end();
    assert!(log.len() >= least, "{} lines only", log.len());
    for line in &log {
        let mut told: Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("no line of ours: {line:?}"));
        // The id of a request is its caller's to choose.
        told["span"]["request.id"] = Value::Null;
        assert!(told["level"].is_string() && told["timestamp"].is_string(), "{line}");
        assert!(!line.chars().any(|c| c.is_control() || c == '\u{2028}'), "{line:?}");
        // What libraries trace is escaped; what the service says has nothing of it at all.
        let ours = text(&told["target"]).starts_with("mancala_server") || told["level"] != "TRACE";
        assert!(!ours || !told.to_string().contains(MARK), "{line}");
        assert_ne!(told["message"], "forged", "{line}");
    }
}

/// What makes the shape of the database.
async fn shape(server: &TestServer) -> Vec<String> {
    let sql =
        "select concat_ws(' ', 'column', table_name, column_name, data_type, column_default, is_nullable)
               from information_schema.columns where table_schema = 'public'
               union all select concat_ws(' ', 'constraint', conname, pg_get_constraintdef(oid))
               from pg_constraint where connamespace = 'public'::regnamespace
               union all select concat_ws(' ', 'index', indexdef) from pg_indexes where schemaname = 'public'
               union all select concat_ws(' ', 'function', proname) from pg_proc
               where pronamespace = 'public'::regnamespace
               union all select concat_ws(' ', 'trigger', tgname) from pg_trigger where not tgisinternal
               union all select concat_ws(' ', 'role', rolname, rolsuper) from pg_roles
               order by 1";
    sqlx::query_scalar(sql).fetch_all(&mut server.database().await).await.unwrap()
}

/// Every place of a body where a text stands, or where the document allows one, as a JSON pointer.
fn places(document: &Document, schema: &Value, value: &Value, pointer: &str, found: &mut Vec<String>) {
    let schema = schema["$ref"].as_str().map_or(schema, |reference| document.resolve(reference));
    if value.is_string() || schema["type"] == "string" || schema["enum"].is_array() {
        found.push(pointer.to_owned());
    }
    for (field, inner) in schema["properties"].as_object().into_iter().flatten() {
        places(document, inner, &value[field], &format!("{pointer}/{field}"), found);
    }
    if schema["items"].is_object() {
        places(document, &schema["items"], &value[0], &format!("{pointer}/0"), found);
    }
    if schema["type"] == "object" && schema["properties"].is_null() && !pointer.is_empty() {
        found.push(format!("{pointer}/anything"));
    }
}

/// A body with a text at a place, which is made where there is none.
fn with(body: &Value, pointer: &str, attack: &str) -> Value {
    fn put(value: &mut Value, path: &[&str], attack: &str) {
        match path {
            [] => *value = json!(attack),
            ["0", rest @ ..] => {
                if !value.is_array() {
                    *value = json!([]);
                }
                let items = value.as_array_mut().unwrap();
                if items.is_empty() {
                    items.push(Value::Null);
                }
                put(&mut items[0], rest, attack);
            }
            [field, rest @ ..] => {
                if !value.is_object() {
                    *value = Value::Object(Map::new());
                }
                put(&mut value[*field], rest, attack);
            }
        }
    }
    let mut body = body.clone();
    put(&mut body, &pointer.split('/').skip(1).collect::<Vec<_>>(), attack);
    body
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

#[track_caller]
fn unharmed(answer: &Answer, operation: &Operation, what: &str) {
    assert!(answer.status.as_u16() < 500, "{} with {what:?}: {}", operation.id, answer.text);
    // A problem may say what was wrong with a text, and is JSON; nothing gets beside it.
    assert!(answer.headers.get("set-cookie").is_none(), "{} with {what:?}", operation.id);
}

async fn in_bodies(document: &Document, world: &World<'_>, base: &str) -> usize {
    let mut tried = 0;
    for operation in document.with_body() {
        let example = document.example(operation);
        let mut found = Vec::new();
        places(document, operation.schema().unwrap(), &example, "", &mut found);
        for pointer in found {
            for (i, attack) in attacks().into_iter().enumerate() {
                let mut body = with(&example, &pointer, &attack);
                if pointer != "/username" && body.get("username").is_some() {
                    // Another one each time: with one and the same, answers would get slower.
                    body["username"] = json!(format!("nobody{i}{}", pointer.replace('/', "")));
                }
                let caller = world.caller(operation).at(base.to_owned());
                let caller = if operation.is_open() { caller.without_token() } else { caller };
                let request = caller.request(operation.method.clone(), &world.path(operation));
                let answer = Answer::of(request.json(&body)).await;
                unharmed(&answer, operation, &body.to_string());
                tried += 1;
            }
            // A text that JSON can write and Unicode does not have.
            let body = with(&example, &pointer, "@@").to_string().replace("\"@@\"", "\"\\ud800\"");
            let request = world.caller(operation).at(base.to_owned());
            let request = request.request(operation.method.clone(), &world.path(operation));
            let answer = Answer::of(request.header("content-type", "application/json").body(body)).await;
            unharmed(&answer, operation, &pointer);
        }
    }
    tried
}

async fn in_addresses(document: &Document, world: &World<'_>, base: &str) -> usize {
    let mut tried = 0;
    for operation in &document.operations {
        let body = operation.schema().map(|_| document.example(operation));
        let good = world.path(operation);
        let good = good.split('?').next().unwrap();
        let parts = operation.path.split('/').filter(|part| part.starts_with('{'));
        let names = operation.told["parameters"].as_array().into_iter().flatten();
        let names = names.filter(|one| one["in"] == "query").map(|one| text(&one["name"])).chain([MARK]);
        let mut paths = Vec::new();
        for attack in attacks().iter().map(|attack| encoded(attack)) {
            for part in parts.clone() {
                let path = operation.path.replace(part, &attack);
                let rest = ["{id}", "{member_id}", "{player_id}", "{pool}"];
                paths.push(rest.iter().fold(path, |path, part| path.replace(part, &world.player.id)));
            }
            paths.extend(names.clone().map(|name| format!("{good}?{name}={attack}")));
            paths.push(format!("{good}?{attack}={attack}"));
        }
        for path in paths {
            let caller = world.caller(operation).at(base.to_owned());
            let request = caller.request(operation.method.clone(), &path);
            let request = match &body {
                Some(body) => request.json(body),
                None => request,
            };
            let answer = Answer::of(request).await;
            unharmed(&answer, operation, &path);
            assert!(!answer.status.is_success(), "{} with {path}: {}", operation.id, answer.text);
            tried += 1;
        }
    }
    tried
}

async fn in_headers(caller: &Player, address: &str) -> usize {
    let names = [
        "authorization",
        "x-request-id",
        "traceparent",
        "tracestate",
        "idempotency-key",
        "if-none-match",
        "user-agent",
        "accept",
        "accept-language",
        "accept-encoding",
        "content-type",
        "content-encoding",
        "origin",
        "referer",
        "cookie",
        "x-forwarded-for",
        "forwarded",
        "x-forwarded-host",
        "x-real-ip",
        "host",
        "range",
        "expect",
        "access-control-request-method",
    ];
    let mut tried = 0;
    for name in names {
        for attack in attacks() {
            if let Ok(value) = HeaderValue::from_bytes(attack.as_bytes()) {
                let caller = if name == "authorization" { caller.without_token() } else { caller.clone() };
                for (method, path) in [(Method::GET, "/v1/me"), (Method::POST, "/v1/groups")] {
                    let mut request = caller.request(method, path);
                    if path == "/v1/groups" {
                        request =
                            request.header("content-type", "application/json").body(r#"{"variant":"kalah"}"#);
                    }
                    let (client, request) = request.build_split();
                    let mut request = request.unwrap();
                    request.headers_mut().insert(HeaderName::from_static(name), value.clone());
                    let answer = client.execute(request).await.unwrap();
                    assert!(answer.status().as_u16() < 500, "{name}: {attack:?}");
                    assert!(answer.headers().get("set-cookie").is_none(), "{name}: {attack:?}");
                }
            }
            // As it is, with line ends and all, which no client would send.
            let mut bytes =
                format!("GET /v1/variants HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{name}: ").into_bytes();
            bytes.extend_from_slice(attack.as_bytes());
            bytes.extend_from_slice(b"\r\n\r\n");
            let answer = raw_at(address, &bytes).await;
            assert!(!answer.starts_with("HTTP/1.1 5"), "{name}: {attack:?}: {answer}");
            // An id of visible letters comes back in its own header; nothing else does.
            let head = answer.split("\r\n\r\n").next().unwrap().to_lowercase();
            let mut lines = head.lines().filter(|line| !line.starts_with("x-request-id: "));
            let made = lines.find(|line| line.contains("forged") || line.contains('\u{1b}'));
            assert_eq!(made, None, "{name}: {attack:?}");
            // And in place of the method and of the path.
            for line in [format!("{attack} /v1/variants HTTP/1.1"), format!("GET /{attack} HTTP/1.1")] {
                let answer =
                    raw_at(address, format!("{line}\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes())
                        .await;
                assert!(!answer.starts_with("HTTP/1.1 5"), "{line:?}: {answer}");
            }
            tried += 1;
        }
    }
    tried
}

#[test]
fn a_text_in_any_place_of_a_request_stays_a_text() {
    test(async |server| {
        let bystander = server.account("bystander").await;
        bystander.post("/v1/groups", json!({ "variant": "kalah", "private": true })).await.ok(201);
        let (before, shape_before) = (rows(server).await, shape(server).await);
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let program = Program::on(server, "127.0.0.1:0", "trace");
        let address = program.url.strip_prefix("http://").unwrap().to_owned();
        let tried = in_bodies(&document, &world, &program.url).await
            + in_addresses(&document, &world, &program.url).await
            + in_headers(&world.other.at(program.url.clone()), &address).await;
        assert!(tried >= 2_000, "{tried} requests only");
        assert_eq!(shape(server).await, shape_before);
        let after = rows(server).await;
        let lost: Vec<_> = before.difference(&after).collect();
        assert!(lost.is_empty(), "{lost:#?}");
        assert_eq!(bystander.get("/v1/me").await.ok(200)["username"], "bystander");
        end_and_judge(program, tried);
    });
}

#[test]
fn what_is_kept_of_a_text_is_the_text() {
    test(async |server| {
        let ana = server.account("ana").await;
        for attack in attacks() {
            let kept = ana.patch("/v1/me", json!({ "preferences": { &attack: [&attack] } })).await.ok(200);
            assert_eq!(kept["preferences"], json!({ &attack: [&attack] }));
            let body = json!({ "name": &attack });
            let answer = ana.patch("/v1/me", body.clone()).await;
            if answer.status == 200 {
                assert_eq!(ana.get("/v1/me").await.ok(200)["name"], attack.as_str());
                let seen = server.nobody().get(&format!("/v1/players/{}", ana.id)).await.ok(200);
                assert_eq!(seen["name"], attack.as_str());
            } else {
                answer.problem(422, "invalid_value");
            }
        }
        let tricky = "'); drop table account; --\u{1b}\0\r\n${x}";
        let change = json!({ "password": PASSWORD, "new_password": tricky });
        assert_eq!(ana.put("/v1/me/password", change).await.status, 200);
        let sign_in = async |password: &str| {
            server.nobody().post("/v1/sessions", json!({ "username": "ana", "password": password })).await
        };
        sign_in(tricky).await.ok(201);
        sign_in("'); drop table account; --").await.problem(401, "wrong_credentials");
    });
}
