//! What protects those who talk with the server on the way: caches, origins, TLS; and the server from those who talk
//! slowly or oddly.

use std::time::Duration;

use mancala_server::server::Transport;
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::harness::{Answer, TestServer, raw, run, test};
use crate::operations::{Document, World};

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers.get(name).map_or("", |value| value.to_str().unwrap())
}

fn varies_with(answer: &Answer, name: &str) -> bool {
    let values =
        answer.headers.get_all("vary").iter().map(|value| value.to_str().unwrap().to_ascii_lowercase());
    values
        .flat_map(|value| value.split(',').map(|one| one.trim().to_owned()).collect::<Vec<_>>())
        .any(|one| one == name)
}

#[test]
fn what_somebody_with_a_token_is_told_is_kept_by_no_shared_cache() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        for operation in &document.operations {
            let request = world.caller(operation).request(operation.method.clone(), &world.path(operation));
            let request = match operation.schema() {
                Some(_) => request.json(&document.example(operation)),
                None => request,
            };
            let answer = Answer::of(request).await;
            let told = header(&answer, "cache-control");
            assert!(
                ["no-store", "private"].iter().any(|word| told.contains(word)),
                "{}: {told}",
                operation.id
            );
            assert!(!told.contains("public"), "{}: {told}", operation.id);
            assert!(told == "no-store" || varies_with(&answer, "authorization"), "{}", operation.id);
            if answer.text.contains("_token\":") {
                assert_eq!(told, "no-store", "{}", operation.id);
            }
        }
        // A game may be private, so nobody else's cache keeps it even when nobody in particular has asked.
        let answer = server.nobody().get(&format!("/v1/games/{}", world.game)).await;
        assert_eq!(header(&answer, "cache-control"), "private, no-cache");
        assert!(varies_with(&answer, "authorization"));
        // What is the same for everybody may be kept by everybody.
        for path in ["/v1/variants", "/openapi.json"] {
            let answer = server.nobody().get(path).await;
            assert!(header(&answer, "cache-control").starts_with("public, max-age="), "{path}");
        }
    });
}

#[test]
fn tls_is_promised_only_where_it_is_asked_for() {
    run(async || {
        let promising = Transport { hsts_seconds: 600, ..Transport::default() };
        for (transport, told) in [(Transport::default(), ""), (promising, "max-age=600")] {
            let server = TestServer::spoken_with(transport).await;
            for path in ["/healthz", "/v1/me", "/nothing", "/v1/games/x", "/docs/"] {
                let answer = server.nobody().get(path).await;
                assert_eq!(header(&answer, "strict-transport-security"), told, "{path}");
            }
            server.stop().await;
        }
    });
}

async fn preflight(server: &TestServer, origin: &str) -> Answer {
    let request = server.nobody().request(Method::OPTIONS, "/v1/me").header("origin", origin);
    let request = request.header("access-control-request-method", "PATCH");
    Answer::of(request.header("access-control-request-headers", "authorization, content-type")).await
}

#[test]
fn only_named_origins_may_call_from_a_browser_and_none_with_credentials() {
    run(async || {
        let named = ["https://a.example".to_owned(), "http://localhost:3000".to_owned()];
        let transport = Transport { cors_origins: named.to_vec(), ..Transport::default() };
        let server = TestServer::spoken_with(transport).await;
        let simple = async |origin: &str| {
            Answer::of(server.nobody().request(Method::GET, "/v1/variants").header("origin", origin)).await
        };
        for origin in &named {
            let (asked, called) = (preflight(&server, origin).await, simple(origin).await);
            assert!([200, 204].contains(&asked.status.as_u16()), "{}", asked.text);
            assert!(header(&asked, "access-control-allow-methods").contains("PATCH"));
            for answer in [&asked, &called] {
                assert_eq!(header(answer, "access-control-allow-origin"), origin);
                assert!(varies_with(answer, "origin"), "{:?}", answer.headers);
                assert!(!answer.headers.contains_key("access-control-allow-credentials"));
            }
        }
        for origin in [
            "https://b.example",
            "http://a.example",
            "https://a.example:8443",
            "https://a.example.evil.example",
            "https://evil-a.example",
            "null",
            "*",
        ] {
            for answer in [preflight(&server, origin).await, simple(origin).await] {
                assert!(!answer.headers.contains_key("access-control-allow-origin"), "{origin}");
                assert!(!answer.headers.contains_key("access-control-allow-credentials"), "{origin}");
            }
        }
        server.stop().await;

        // Any, which is also what an empty variable means.
        for cors_origins in [Vec::new(), vec![String::new()]] {
            let server = TestServer::spoken_with(Transport { cors_origins, ..Transport::default() }).await;
            for origin in ["https://b.example", "null"] {
                let answer = preflight(&server, origin).await;
                assert_eq!(header(&answer, "access-control-allow-origin"), "*");
                assert!(!answer.headers.contains_key("access-control-allow-credentials"));
            }
            server.stop().await;
        }
    });
}

/// Somebody who begins a request and then sends a byte now and then, until the server has had enough; what it said.
async fn trickle(address: std::net::SocketAddr, beginning: &'static str, rest: &'static [u8]) -> String {
    let (mut from, mut to) = TcpStream::connect(address).await.unwrap().into_split();
    let _ = to.write_all(beginning.as_bytes()).await;
    let writing = tokio::spawn(async move {
        for byte in rest.iter().cycle() {
            sleep(Duration::from_millis(500)).await;
            if to.write_all(&[*byte]).await.is_err() {
                break;
            }
        }
    });
    let mut said = Vec::new();
    let _ = from.read_to_end(&mut said).await;
    writing.abort();
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn two_hundred_slow_callers_keep_nobody_waiting_and_are_sent_away() {
    const BODY: &str = "POST /v1/guests HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n";
    const CHUNKS: &str = "POST /v1/records/replay HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n";
    const UNREAD: &str = "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n";
    test(async |server| {
        let kinds: [(usize, &str, &[u8]); 5] = [
            (70, "POST /v1/guests HTTP/1.1\r\nHost: x\r\n", b"X-Slow: 1\r\n"),
            (30, "G", b"ET"),
            (60, BODY, b" "),
            (30, CHUNKS, b"1\r\n \r\n"),
            (10, UNREAD, b" "),
        ];
        let mut slow = JoinSet::new();
        for (count, beginning, rest) in kinds {
            for _ in 0..count {
                let said = trickle(server.address(), beginning, rest);
                slow.spawn(async move { (beginning, said.await) });
            }
        }
        // Meanwhile somebody plays, as quickly as ever.
        for _ in 0..10 {
            let player = server.guest("Ana").await;
            let new = json!({ "variant": "kalah", "computers": ["easy"], "starter": "me" });
            let game = player.post("/v1/games", new).await.ok(201);
            let game = game["id"].as_str().unwrap();
            timeout(Duration::from_secs(10), player.sow(game, 2, 0)).await.expect("in good time").ok(200);
            sleep(Duration::from_millis(300)).await;
        }
        assert!(slow.len() >= 190, "the slow ones are still there");
        let all = async {
            while let Some(done) = slow.join_next().await {
                let (beginning, said) = done.unwrap();
                // Nothing at all to those who have not said what they want, 408 to the others, 200 where nobody reads.
                let fine = ["", "HTTP/1.1 408 ", "HTTP/1.1 200 "].iter().any(|start| said.starts_with(start));
                assert!(fine, "{beginning}: {said}");
            }
        };
        timeout(Duration::from_secs(120), all).await.expect("the slow ones are sent away");
        server.nobody().get("/readyz").await.ok(200);
    });
}

#[test]
fn no_header_gets_into_an_answer_by_the_back_door() {
    test(async |server| {
        let values: [&[u8]; 9] = [
            b"x\r\nset-cookie: a=b",
            b"x\nset-cookie: a=b",
            b"x\rset-cookie: a=b",
            b"x\r\n set-cookie: a=b",
            b"x\0set-cookie: a=b",
            b"x%0d%0aset-cookie: a=b",
            b"\xc4\x8d\xc4\x8aset-cookie: a=b",
            b"00-4bf92f3577b34da6a3ce929d0e0e473\r-00f067aa0ba902b7-01",
            b"\x1b[2J",
        ];
        let names = [
            "X-Request-Id",
            "traceparent",
            "Idempotency-Key",
            "Origin",
            "If-None-Match",
            "Accept",
            "Authorization",
        ];
        for name in names {
            for value in values {
                let mut request =
                    format!("GET /v1/variants HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{name}: ")
                        .into_bytes();
                request.extend_from_slice(value);
                request.extend_from_slice(b"\r\n\r\n");
                let answer = raw(server, &request).await;
                let head = answer.split("\r\n\r\n").next().unwrap();
                let told = String::from_utf8_lossy(value);
                assert!(
                    head.starts_with("HTTP/1.1 2") || head.starts_with("HTTP/1.1 4"),
                    "{name} {told:?}: {head}"
                );
                // A line feed alone ends a header too, and what follows is one of the request.
                assert!(!head.contains("set-cookie") && !head.contains('\x1b'), "{name} {told:?}: {head}");
            }
        }
    });
}

#[test]
fn the_body_of_a_request_is_never_taken_for_the_next_one() {
    test(async |server| {
        let inner = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
        for (method, path) in [("GET", "/healthz"), ("DELETE", "/v1/nothing"), ("POST", "/v1/guests")] {
            let request = format!(
                "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{inner}\
                 GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                inner.len()
            );
            let answer = raw(server, request.as_bytes()).await;
            assert!(!answer.contains("\"openapi\""), "{method} {path}: {answer}");
        }
    });
}

#[test]
fn a_field_that_comes_twice_is_seen_under_any_spelling_and_at_any_depth() {
    test(async |server| {
        let send = async |path: &str, body: String| {
            let request = server.nobody().request(Method::POST, path);
            Answer::of(request.header("content-type", "application/json").body(body)).await
        };
        send("/v1/guests", r#"{"name":"Ana","n\u0061me":"Eve"}"#.to_owned())
            .await
            .problem(422, "invalid_value");
        let record = |options: &str, event: &str| {
            format!(
                r#"{{"format":"mancala-record/1","variant":"kalah","options":{{{options}}},"starter":0,"events":[{{{event}}}]}}"#
            )
        };
        let (options, event) = (r#""players":2"#, r#""seat":0,"pit":2"#);
        send("/v1/records/replay", record(options, event)).await.ok(200);
        for twice in [
            record(r#""players":2,"players":3"#, event),
            record(r#""players":2,"pl\u0061yers":2"#, event),
            record(options, r#""seat":0,"pit":2,"pit":3"#),
        ] {
            send("/v1/records/replay", twice).await.problem(422, "invalid_value");
        }
        // As many as fit are no more work than one.
        let many = format!("{{{}\"name\":\"Ana\"}}", "\"name\":\"Ana\",".repeat(4_500));
        send("/v1/guests", many).await.problem(422, "invalid_value");
    });
}
