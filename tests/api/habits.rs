//! What every response has in common: ids, headers, HEAD and OPTIONS, CORS, compression, ETags.

use std::io::Read;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Player, test};
use crate::operations::{Document, World};

/// A success, and every kind of failure that another layer makes.
fn all_sorts(world: &World) -> Vec<(Method, String, u16)> {
    let game = format!("/v1/games/{}", world.game);
    vec![
        (Method::GET, "/healthz".to_owned(), 200),
        (Method::GET, "/metrics".to_owned(), 200),
        (Method::GET, "/openapi.json".to_owned(), 200),
        (Method::GET, "/docs/".to_owned(), 200),
        (Method::GET, "/v1/me".to_owned(), 200),
        (Method::GET, game.clone(), 200),
        (Method::HEAD, game.clone(), 200),
        (Method::OPTIONS, game.clone(), 204),
        (Method::POST, "/v1/guests".to_owned(), 201),
        (Method::GET, "/v1/games/x".to_owned(), 400),
        (Method::GET, "/v1/games?surprise=1".to_owned(), 400),
        (Method::POST, format!("{game}/moves"), 422),
        (Method::GET, format!("/v1/games/{}", world.member), 404),
        (Method::GET, "/nothing".to_owned(), 404),
        (Method::DELETE, game, 405),
    ]
}

#[test]
fn every_response_has_an_id_and_may_not_be_sniffed() {
    test(async |server| {
        let world = World::new(server).await;
        let mut seen = std::collections::HashSet::new();
        for (method, path, status) in all_sorts(&world) {
            let answer = Answer::of(world.player.request(method.clone(), &path)).await;
            assert_eq!(answer.status.as_u16(), status, "{method} {path}");
            assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{method} {path}");
            assert!(answer.headers.contains_key("cache-control"), "{method} {path}");
            let id = answer.headers["x-request-id"].to_str().unwrap().to_owned();
            assert!(id.parse::<uuid::Uuid>().is_ok() && seen.insert(id), "ids are made up anew");
        }
        let anonymous = server.nobody().get("/v1/me").await;
        assert!(anonymous.headers.contains_key("x-request-id"));
        anonymous.problem(401, "token_missing");
    });
}

#[test]
fn the_id_of_a_request_is_the_one_given_or_its_trace() {
    test(async |server| {
        let world = World::new(server).await;
        const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
        let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
        for (method, path, _) in all_sorts(&world) {
            let ask = |headers: &[(&'static str, &str)]| {
                headers.iter().fold(world.player.request(method.clone(), &path), |r, (k, v)| r.header(*k, *v))
            };
            for (headers, expected) in [
                (vec![("x-request-id", "my-id:42")], "my-id:42"),
                (vec![("traceparent", parent.as_str())], TRACE),
                (vec![("traceparent", parent.as_str()), ("x-request-id", "mine")], "mine"),
            ] {
                let answer = Answer::of(ask(&headers)).await;
                assert_eq!(answer.headers["x-request-id"], expected, "{method} {path}");
            }
            let answer = Answer::of(ask(&[("traceparent", "00-xyz-1-01")])).await;
            assert_eq!(answer.headers["x-request-id"].len(), 36);
        }
    });
}

#[test]
fn head_is_get_without_the_body() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let reads = document.operations.iter().filter(|operation| operation.method == Method::GET);
        let mut paths: Vec<String> = reads.map(|operation| world.path(operation)).collect();
        let others = ["/openapi.json", "/docs/", "/v1/games/x", "/nothing"];
        paths.extend(others.map(str::to_owned));
        for path in paths {
            let get = Answer::of(world.player.request(Method::GET, &path)).await;
            let head = Answer::of(world.player.request(Method::HEAD, &path)).await;
            assert_eq!(head.status, get.status, "{path}");
            assert_eq!(head.text, "", "{path}");
            for name in ["content-type", "etag", "cache-control", "vary", "allow", "location"] {
                assert_eq!(head.headers.get(name), get.headers.get(name), "{name} of {path}");
            }
        }
    });
}

#[test]
fn options_tells_the_methods_of_a_path() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        for operation in &document.operations {
            let path = world.path(operation);
            let answer = Answer::of(server.nobody().request(Method::OPTIONS, &path)).await;
            assert_eq!((answer.status.as_u16(), answer.text.as_str()), (204, ""), "{path}");
            let allow = answer.headers["allow"].to_str().unwrap();
            assert!(allow.split(", ").any(|method| method == operation.method.as_str()), "{path}: {allow}");
        }
        Answer::of(server.nobody().request(Method::OPTIONS, "/nothing"))
            .await
            .problem(404, "route_not_found");
    });
}

#[test]
fn a_browser_may_call_from_any_origin() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        for operation in &document.operations {
            let request = server.nobody().request(Method::OPTIONS, &world.path(operation));
            let request = request.header("origin", "https://client.example");
            let request = request.header("access-control-request-method", operation.method.as_str());
            let wanted = "authorization, content-type, idempotency-key, if-none-match, x-request-id";
            let answer = Answer::of(request.header("access-control-request-headers", wanted)).await;
            assert!([200, 204].contains(&answer.status.as_u16()), "{}: {}", operation.path, answer.text);
            let header = |name: &str| answer.headers[name].to_str().unwrap().to_ascii_lowercase();
            assert_eq!(header("access-control-allow-origin"), "*");
            assert!(
                header("access-control-allow-methods").contains(&operation.method.as_str().to_lowercase())
            );
            let allowed = header("access-control-allow-headers");
            assert!(wanted.split(", ").all(|name| allowed.contains(name)), "{allowed}");
            assert!(answer.headers.contains_key("x-request-id"));
        }
        // Failures too can be read, and what their headers say.
        for path in ["/v1/variants", "/v1/me", "/nothing", "/v1/games/x"] {
            let answer =
                Answer::of(server.nobody().request(Method::GET, path).header("origin", "null")).await;
            assert_eq!(answer.headers["access-control-allow-origin"], "*", "{path}");
            let exposed = answer.headers["access-control-expose-headers"].to_str().unwrap().to_lowercase();
            for name in ["etag", "location", "retry-after", "x-request-id", "ratelimit", "ratelimit-policy"] {
                assert!(exposed.split(',').any(|exposed| exposed.trim() == name), "{name} not in {exposed}");
            }
        }
    });
}

#[test]
fn json_is_compressed_for_those_who_accept_it() {
    test(async |server| {
        let world = World::new(server).await;
        let paths = [
            "/v1/variants".to_owned(),
            "/openapi.json".to_owned(),
            format!("/v1/games/{}/preview", world.game),
        ];
        for path in paths {
            let plain = world.player.get(&path).await;
            assert!(!plain.headers.contains_key("content-encoding"));
            for (accept, expected) in [
                ("gzip", Some("gzip")),
                ("br", Some("br")),
                ("gzip;q=0.5, br", Some("br")),
                ("identity", None),
            ] {
                let request = world.player.request(Method::GET, &path).header("accept-encoding", accept);
                let response = request.send().await.unwrap();
                let encoding =
                    response.headers().get("content-encoding").map(|v| v.to_str().unwrap().to_owned());
                assert_eq!(encoding.as_deref(), expected, "{accept}");
                let vary = response.headers().get("vary").map_or("", |v| v.to_str().unwrap()).to_lowercase();
                assert!(expected.is_none() || vary.contains("accept-encoding"), "{vary}");
                let bytes = response.bytes().await.unwrap();
                let mut text = String::new();
                match expected {
                    Some("gzip") => {
                        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap()
                    }
                    Some(_) => brotli::Decompressor::new(&bytes[..], 4096).read_to_string(&mut text).unwrap(),
                    None => (&bytes[..]).read_to_string(&mut text).unwrap(),
                };
                assert_eq!(text, plain.text);
                assert!(expected.is_none() || bytes.len() < text.len());
            }
        }
    });
}

#[test]
fn an_encoding_that_nobody_knows_is_refused_like_everything_else() {
    test(async |server| {
        let request = server.nobody().request(Method::GET, "/v1/variants");
        let answer = Answer::of(request.header("accept-encoding", "x-secret, identity;q=0, *;q=0")).await;
        if answer.status != 200 {
            let code = answer.json()["code"].as_str().unwrap_or("none").to_owned();
            answer.problem(406, &code);
        }
    });
}

async fn conditional(player: &Player, path: &str, tags: &[&str]) -> Answer {
    let request = player.request(Method::GET, path);
    Answer::of(tags.iter().fold(request, |request, tag| request.header("if-none-match", *tag))).await
}

#[test]
fn a_client_that_has_the_state_gets_304() {
    test(async |server| {
        let world = World::new(server).await;
        let path = format!("/v1/games/{}", world.game);
        let first = world.player.get(&path).await;
        let old = first.headers["etag"].to_str().unwrap().to_owned();
        assert_eq!(old, "W/\"0\"");
        first.ok(200);
        // Pit 2 of 6 × 4 ends in the own store, so the computer does not move.
        let moved = world.player.sow(&world.game, 2, 0).await;
        assert_eq!(moved.headers["etag"], "W/\"1\"");
        moved.ok(200);
        for tags in [
            &["W/\"1\""][..],
            &["\"1\""],
            &["*"],
            &["W/\"0\", W/\"1\""],
            &["\"x\",\"1\""],
            &["W/\"9\"", "W/\"1\""],
        ] {
            let answer = conditional(&world.player, &path, tags).await;
            assert_eq!((answer.status.as_u16(), answer.text.as_str()), (304, ""), "{tags:?}");
            assert_eq!(answer.headers["etag"], "W/\"1\"");
            assert!(answer.headers.contains_key("x-request-id"));
        }
        for tags in [
            &[][..],
            &[old.as_str()],
            &["\"x\""],
            &["1"],
            &["W/1"],
            &[""],
            &["\"11\""],
            &["\"1"],
            &["W/\"0\", W/\"2\""],
        ] {
            let answer = conditional(&world.player, &path, tags).await;
            assert_eq!(answer.headers["etag"], "W/\"1\"");
            assert_eq!(answer.ok(200)["seq"], 1, "{tags:?}");
        }
        let missing = format!("/v1/games/{}", world.member);
        conditional(&world.player, &missing, &["*"]).await.problem(404, "game_not_found");
    });
}

#[test]
fn what_was_made_says_where_it_is() {
    test(async |server| {
        let world = World::new(server).await;
        for (path, body) in [
            ("/v1/games", json!({ "variant": "basic", "computers": ["easy"], "starter": "me" })),
            ("/v1/groups", json!({ "variant": "basic" })),
            (format!("/v1/groups/{}/games", world.group).as_str(), json!({})),
        ] {
            let answer = world.player.post(path, body).await;
            let location = answer.headers["location"].to_str().unwrap().to_owned();
            let made: Value = answer.ok(201);
            assert_eq!(world.player.get(&location).await.ok(200)["id"], made["id"]);
        }
    });
}
