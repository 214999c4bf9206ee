//! The OpenAPI document: committed as the code gives it, whole, and true of its own examples.

use std::collections::HashSet;

use mancala_server::http::document::{document, document_3_0};
use reqwest::Method;
use serde_json::{Value, json};

use crate::conformance::schema_errors;
use crate::harness::{Answer, test};
use crate::operations::{Document, World};

const COMMITTED: &str = include_str!("../../openapi/openapi.json");
const COMMITTED_3_0: &str = include_str!("../../openapi/openapi-3.0.json");

#[test]
fn the_committed_documents_are_those_of_the_code() {
    for (name, committed, code) in
        [("openapi.json", COMMITTED, document()), ("openapi-3.0.json", COMMITTED_3_0, document_3_0())]
    {
        let committed: Value = serde_json::from_str(committed).unwrap();
        let paths =
            |document: &Value| document["paths"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(paths(&committed), paths(&code), "openapi/{name} is out of date: run `just openapi`");
        assert!(committed == code, "openapi/{name} is out of date: run `just openapi`");
    }
}

#[test]
fn the_documents_are_served() {
    test(async |server| {
        for (path, code, version) in
            [("/openapi.json", document(), "3.1."), ("/openapi-3.0.json", document_3_0(), "3.0.3")]
        {
            let answer = server.nobody().get(path).await;
            assert!(answer.headers["content-type"].to_str().unwrap().starts_with("application/json"));
            let served = answer.ok(200);
            assert!(served["openapi"].as_str().unwrap().starts_with(version));
            assert!(served == code, "{path} is not what the code gives");
        }
        let page = server.nobody().get("/docs/").await;
        assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html"));
        assert!(!page.text.contains("//cdn") && !page.text.contains("https://unpkg"), "it needs no network");
        for path in ["/", "/docs"] {
            assert!(server.nobody().get(path).await.text.contains("swagger"), "{path} leads to the page");
        }
    });
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                match inner.as_str() {
                    Some(reference) if key == "$ref" => found.push(reference.to_owned()),
                    _ => references(inner, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

#[test]
fn every_reference_points_at_something_and_every_schema_is_used() {
    for document in [document(), document_3_0()] {
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 100);
        for reference in &found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference} points at nothing");
        }
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            let reference = format!("#/components/schemas/{name}");
            assert!(found.contains(&reference), "{name} is used nowhere");
        }
    }
}

#[test]
fn operations_have_names_of_their_own_and_tell_their_parameters() {
    test(async |server| {
        let document = Document::of(server).await;
        let names: HashSet<&str> =
            document.operations.iter().map(|operation| operation.id.as_str()).collect();
        assert_eq!(names.len(), document.operations.len());
        for operation in &document.operations {
            let told = operation.told["parameters"].as_array().cloned().unwrap_or_default();
            let in_path = |p: &&Value| p["in"] == "path";
            let mut parameters: Vec<&str> =
                told.iter().filter(in_path).map(|p| p["name"].as_str().unwrap()).collect();
            let mut expected: Vec<&str> = operation
                .path
                .split('/')
                .filter_map(|part| part.strip_prefix('{').and_then(|part| part.strip_suffix('}')))
                .collect();
            parameters.sort_unstable();
            expected.sort_unstable();
            assert_eq!(parameters, expected, "{}", operation.id);
            for parameter in &told {
                assert!(parameter["description"].is_string(), "{} {}", operation.id, parameter["name"]);
                let asked = format!("{}=", parameter["name"].as_str().unwrap());
                let needed = parameter["in"] == "path" || operation.query().contains(&asked);
                assert_eq!(parameter["required"] == true, needed, "{}", operation.id);
            }
        }
    });
}

#[test]
fn operations_that_look_at_a_token_tell_of_401_and_do_as_they_tell() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        for operation in &document.operations {
            let security = operation.told["security"].as_array().cloned().unwrap_or_default();
            let known = |way: &Value| {
                way == &json!({}) || way == &json!({ "bearer": [] }) || way.get("personal_token").is_some()
            };
            assert!(security.iter().all(known), "{}", operation.id);
            let send = async |player: crate::harness::Player| {
                let request = player.request(operation.method.clone(), &world.path(operation));
                let body = operation.schema().map(|_| document.example(operation));
                Answer::of(match body {
                    Some(body) => request.json(&body),
                    None => request,
                })
                .await
            };
            let anonymous = send(server.nobody()).await;
            if operation.is_open() {
                // These are asked who somebody is.
                let by_body = ["refresh_session", "create_session", "recover_account"];
                let id = operation.id.as_str();
                assert!(anonymous.status != 401 || by_body.contains(&id), "{id}");
            } else {
                operation.refuses(anonymous, 401, "token_missing", "no token");
            }
            let forged = send(server.nobody().with_token("forged")).await;
            if security.is_empty() {
                assert_ne!(forged.json()["code"], "token_invalid", "{}", operation.id);
            } else {
                operation.refuses(forged, 401, "token_invalid", "a forged token");
            }
        }
    });
}

#[test]
fn every_problem_is_told_with_its_media_type_and_schema() {
    test(async |server| {
        for operation in &Document::of(server).await.operations {
            for (status, response) in operation.told["responses"].as_object().unwrap() {
                if status.starts_with(['4', '5']) {
                    let schema = &response["content"]["application/problem+json"]["schema"];
                    assert_eq!(schema["$ref"], "#/components/schemas/Problem", "{} {status}", operation.id);
                }
            }
        }
    });
}

#[test]
fn every_example_is_one_of_its_schema() {
    test(async |server| {
        let document = Document::of(server).await;
        let mut checked = 0;
        for (name, schema) in document.json["components"]["schemas"].as_object().unwrap() {
            let whole = schema.get("example").map(|example| (schema.clone(), example));
            let fields = schema["properties"].as_object().into_iter().flatten();
            let fields = fields.filter_map(|(_, field)| Some((field.clone(), field.get("example")?)));
            for (schema, example) in whole.into_iter().chain(fields) {
                let errors = schema_errors(&document, &schema, example);
                assert!(errors.is_empty(), "{name}: {example}: {errors:?}");
                checked += 1;
            }
        }
        assert!(checked > 20, "{checked}");
    });
}

#[test]
fn every_example_of_a_request_does_what_the_document_tells() {
    test(async |server| {
        let (document, mut world) = (Document::of(server).await, World::new(server).await);
        for operation in document.with_body() {
            let errors = schema_errors(&document, operation.schema().unwrap(), &document.example(operation));
            assert!(errors.is_empty(), "{}: {errors:?}", operation.id);
            // Who goes could do nothing of what comes after.
            let player = if operation.id == "delete_me" { &world.other } else { &world.player };
            let request = player.request(operation.method.clone(), &world.path(operation));
            let answer = Answer::of(request.json(&document.example(operation))).await;
            let told = &operation.told["responses"][answer.status.as_str()];
            assert!(told.is_object(), "{}: {}", operation.id, answer.text);
            // Codes and refresh tokens of examples are nobody's; a running game has no rematch; the password of the
            // account that the first example makes is changed by a later one.
            let expected = match operation.id.as_str() {
                "join_group" => "code_not_found",
                "refresh_session" => "refresh_invalid",
                "create_recovery_codes" => "wrong_password",
                "create_session" | "recover_account" => "wrong_credentials",
                "request_rematch" => "game_not_over",
                _ => "",
            };
            // What comes after a game has been resigned comes too late.
            let late = ["leave_game", "return_to_game", "create_move", "request_rematch", "resign_game"];
            if late.contains(&operation.id.as_str()) && answer.status == 409 {
                continue;
            }
            let code =
                answer.json()["code"].as_str().filter(|_| answer.status.as_u16() >= 400).map(str::to_owned);
            assert_eq!(code.unwrap_or_default(), expected, "{}: {}", operation.id, answer.text);
            if operation.id == "create_account" {
                world.player = world.player.signed_in(&answer.json());
            }
        }
        let health = Answer::of(server.nobody().request(Method::GET, "/healthz")).await;
        assert_eq!(health.status, 200);
    });
}
