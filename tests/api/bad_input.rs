//! Paths, methods and headers that cannot be.

use reqwest::Method;
use serde_json::json;

use crate::harness::{Answer, raw, test};
use crate::operations::{Document, World};

#[test]
fn malformed_ids_are_refused_by_every_operation() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let before = server.everything().await;
        let long = "1".repeat(5_000);
        for operation in document.operations.iter().filter(|operation| operation.path.contains("{id}")) {
            for id in [
                "x",
                "1",
                "-1",
                "null",
                "%00",
                "%zz",
                "%",
                "%ff%fe",
                "%E0%A4",
                "a%2fb",
                "%2e%2e%2f",
                "'%20or%201=1",
                "🎲",
                "00000000-0000-0000-0000-00000000000",
                "g0000000-0000-0000-0000-000000000000",
                &long,
            ] {
                let path = operation.path.replacen("{id}", id, 1).replace("{member_id}", &world.member);
                let path = path + operation.query();
                let request = world.caller(operation).request(operation.method.clone(), &path);
                let request = match operation.schema() {
                    Some(_) => request.json(&document.example(operation)),
                    None => request,
                };
                operation.refuses(Answer::of(request).await, 400, "invalid_parameter", id);
            }
        }
        let operation = document.operation("remove_group_computer");
        let path = world.path(operation).replace(&world.member, "x");
        operation.refuses(world.player.delete(&path).await, 400, "invalid_parameter", "a malformed member");
        assert_eq!(server.everything().await, before);
    });
}

#[test]
fn unknown_ids_are_not_found_by_every_operation() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let before = server.everything().await;
        for operation in document.operations.iter().filter(|operation| operation.path.contains("{id}")) {
            let code = match operation.path.split('/').nth(2).unwrap() {
                "games" => "game_not_found",
                "groups" => "group_not_found",
                "tickets" => "ticket_not_found",
                "me" => "token_not_found",
                "sessions" => "session_not_found",
                _ => "player_not_found",
            };
            for id in [
                "00000000-0000-0000-0000-000000000000",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
                &world.member,
            ] {
                let path = operation.path.replacen("{id}", id, 1).replace("{member_id}", &world.member);
                let path = path + operation.query();
                let request = world.caller(operation).request(operation.method.clone(), &path);
                let request = match operation.schema() {
                    Some(_) => request.json(&document.example(operation)),
                    None => request,
                };
                operation.refuses(Answer::of(request).await, 404, code, id);
            }
        }
        let operation = document.operation("remove_group_computer");
        for member in [&world.game, &world.player.id] {
            let path = world.path(operation).replace(&world.member, member);
            operation.refuses(world.player.delete(&path).await, 404, "member_not_found", "an unknown member");
        }
        assert_eq!(server.everything().await, before);
    });
}

#[test]
fn unknown_paths_are_not_found() {
    test(async |server| {
        let world = World::new(server).await;
        let (game, group) = (format!("/v1/games/{}", world.game), format!("/v1/groups/{}", world.group));
        let long = format!("/{}", "a".repeat(8_000));
        let query = format!("/v1/nothing?{}", "a=b&".repeat(5_000));
        for path in [
            "/v1",
            "/v1/",
            "/v2/games",
            "/v1/games/",
            "/v1/nothing",
            "/healthz/",
            "/.env",
            "/v1/me/",
            "/V1/games",
            "/v1//games",
            "//v1/games",
            "/v1/guests%00",
            "/v1/guests;x=1",
            "/%zz",
            "/%",
            "/%ff",
            &format!("{game}/"),
            &format!("{game}/nothing"),
            &format!("{game}/moves/1"),
            &format!("{group}/members"),
            &format!("{group}/members/you"),
            &long,
            &query,
        ] {
            for method in [Method::GET, Method::POST, Method::DELETE] {
                let answer = Answer::of(world.player.request(method, path)).await;
                assert!(answer.headers.contains_key("x-request-id"), "{path}");
                answer.problem(404, "route_not_found");
            }
        }
    });
}

#[test]
fn what_the_pages_of_the_document_lack_is_not_found_like_everything_else() {
    test(async |server| {
        server.nobody().get("/docs/nothing.js").await.problem(404, "route_not_found");
    });
}

#[test]
fn a_method_that_a_path_does_not_know_is_refused_with_those_that_it_knows() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let before = server.everything().await;
        for operation in &document.operations {
            let path = world.path(operation);
            let weird =
                Answer::of(world.player.request(Method::from_bytes(b"PROPFIND").unwrap(), &path)).await;
            let allow = weird.headers["allow"].to_str().unwrap().to_owned();
            weird.problem(405, "method_not_allowed");
            let allowed: Vec<&str> = allow.split(',').map(str::trim).collect();
            assert!(allowed.contains(&operation.method.as_str()), "{path} allows {allow}");
            for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS"] {
                let answer = Answer::of(server.nobody().request(method.parse().unwrap(), &path)).await;
                let refused = answer.status == 405;
                assert_eq!(refused, !allowed.contains(&method), "{method} {path}, which allows {allow}");
                if refused {
                    assert_eq!(answer.headers["allow"], allow.as_str(), "{method} {path}");
                    assert!(method == "HEAD" || answer.json()["code"] == "method_not_allowed");
                }
            }
        }
        // Only the made-up guest of POST /v1/guests, which needs no token, has come.
        let guests = |text: &str| text.matches(",guest,").count();
        let after = server.everything().await;
        assert_eq!(guests(&after), guests(&before) + 1);
    });
}

#[test]
fn what_stands_besides_the_operations_knows_its_methods_too() {
    test(async |server| {
        for path in ["/openapi.json", "/openapi-3.0.json", "/docs/", "/"] {
            for method in [Method::POST, Method::DELETE] {
                let answer = Answer::of(server.nobody().request(method, path)).await;
                assert!(answer.headers["allow"].to_str().unwrap().contains("GET"), "{path}");
                answer.problem(405, "method_not_allowed");
            }
        }
    });
}

#[test]
fn an_idempotency_key_that_cannot_be_is_refused() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let before = server.everything().await;
        let long = "k".repeat(129);
        let keys: [&[&[u8]]; 5] =
            [&[b""], &[long.as_bytes()], &["schlüssel".as_bytes()], &[b"\xff"], &[b"a", b"b"]];
        for id in ["create_game", "create_group", "create_group_game"] {
            let operation = document.operation(id);
            for keys in keys {
                let mut request = world.player.request(operation.method.clone(), &world.path(operation));
                for key in keys {
                    request = request.header("idempotency-key", *key);
                }
                let answer = Answer::of(request.json(&document.example(operation))).await;
                operation.refuses(answer, 400, "invalid_parameter", &format!("{keys:?}"));
            }
        }
        assert_eq!(server.everything().await, before);
        let request =
            world.player.request(Method::POST, "/v1/groups").header("idempotency-key", "k".repeat(128));
        Answer::of(request.json(&json!({ "variant": "kalah" }))).await.ok(201);
    });
}

#[test]
fn headers_cannot_be_smuggled_in() {
    test(async |server| {
        for value in [
            &b"a b"[..],
            b"a\tb",
            b"\"quoted\" \xff",
            b"caf\xc3\xa9",
            b"",
            b"a\r\n set-cookie: x=y",
            &[b'a'; 129],
            &[b'a'; 9000],
        ] {
            let mut request =
                b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: ".to_vec();
            request.extend_from_slice(value);
            request.extend_from_slice(b"\r\nIdempotency-Key: ");
            request.extend_from_slice(value);
            request.extend_from_slice(b"\r\n\r\n");
            let answer = raw(server, &request).await;
            assert!(!answer.contains("\r\nset-cookie"), "{answer}");
            assert!(answer.starts_with("HTTP/1.1 200 ") || answer.starts_with("HTTP/1.1 400 "), "{answer}");
            if answer.starts_with("HTTP/1.1 200 ") {
                let id = answer.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap();
                assert_eq!(id.len(), 36, "{id} is taken over");
            }
        }
    });
}

#[test]
fn what_is_hardly_http_does_no_harm() {
    test(async |server| {
        let huge = "a".repeat(200_000);
        for request in [
            "nonsense\r\n\r\n".to_owned(),
            "GET / HTTP/9.9\r\n\r\n".to_owned(),
            "GET /healthz HTTP/1.1\r\nContent-Length: -1\r\n\r\n".to_owned(),
            "POST /v1/guests HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}".to_owned(),
            "POST /v1/guests HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}".to_owned(),
            "POST /v1/guests HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nzz\r\n{}".to_owned(),
            "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
            format!("GET /{huge} HTTP/1.1\r\nHost: x\r\n\r\n"),
            format!("GET /healthz?{huge} HTTP/1.1\r\nHost: x\r\n\r\n"),
            format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: {huge}\r\n\r\n"),
            format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{}\r\n", "X-Many: 1\r\n".repeat(500)),
            "\0\0\0\0\r\n\r\n".to_owned(),
        ] {
            let answer = raw(server, request.as_bytes()).await;
            let shown = &request[..request.len().min(60)];
            assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{shown:?}: {answer}");
        }
        server.nobody().get("/healthz").await.ok(200);
    });
}

#[test]
fn a_body_that_is_announced_as_huge_is_refused_before_it_comes() {
    test(async |server| {
        let head = "POST /v1/guests HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                    Content-Length: 99999999999\r\n\r\n{";
        let answer = raw(server, head.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("body_too_large"), "{answer}");
    });
}

#[test]
fn a_body_in_pieces_is_read_and_measured_like_any_other() {
    test(async |server| {
        let head = "POST /v1/guests HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                    Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
        let answer =
            raw(server, format!("{head}8\r\n{{\"name\":\r\n6\r\n\"Ana\"}}\r\n0\r\n\r\n").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
        let piece = format!("1000\r\n{}\r\n", " ".repeat(0x1000));
        let answer = raw(server, format!("{head}{}0\r\n\r\n", piece.repeat(17)).as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("body_too_large"), "{answer}");
    });
}
