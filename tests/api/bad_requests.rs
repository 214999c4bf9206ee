//! Bodies that are none, or not what any operation could read: the same for every operation that takes one.

use serde_json::{Value, json};

use crate::harness::{Answer, TestServer, test};
use crate::operations::{Document, Operation, World};

/// Tries something on every operation that takes a body; afterwards everything must be as it was.
fn on_every_body(attempt: &impl AsyncFn(&World, &Document, &Operation)) {
    test(async |server: &TestServer| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let before = server.everything().await;
        for operation in document.with_body() {
            attempt(&world, &document, operation).await;
            assert_eq!(server.everything().await, before, "{} has changed something", operation.id);
        }
    });
}

fn required(document: &Document, operation: &Operation) -> bool {
    let schema = document.resolve(operation.schema().unwrap()["$ref"].as_str().unwrap());
    schema["required"].as_array().is_some_and(|fields| !fields.is_empty())
}

#[test]
fn a_body_that_is_not_called_json_is_refused() {
    on_every_body(&async |world, document, operation| {
        let body = document.example(operation).to_string();
        let types =
            ["text/plain", "application/x-www-form-urlencoded", "application/xml", "application/jsonp"];
        let odd = ["application/problem+json", "multipart/form-data; boundary=x", "nonsense", "", "*/*"];
        for sent in types.into_iter().chain(odd).map(Some).chain([None]) {
            let caller = world.caller(operation);
            let request = caller.request(operation.method.clone(), &world.path(operation)).body(body.clone());
            let request = match sent {
                Some(sent) => request.header("content-type", sent),
                None => request,
            };
            let answer = Answer::of(request).await;
            operation.refuses(answer, 415, "unsupported_media_type", &format!("{sent:?}"));
        }
    });
}

#[test]
fn a_body_that_is_not_json_is_refused() {
    on_every_body(&async |world, document, operation| {
        let good = document.example(operation).to_string();
        let bodies: Vec<Vec<u8>> = vec![
            b"{".into(),
            b"}".into(),
            b"   ".into(),
            b"nope".into(),
            b"{'a': 1}".into(),
            b"\0".into(),
            b"{\"\xff\": 1}".into(),
            br#"{"\ud800": 1}"#.into(),
            b"{\"a\nb\": 1}".into(),
            b"name=Ana&pit=2".into(),
            format!("{good} x").into(),
            format!("{good}{good}").into(),
            format!("{good},").into(),
            format!("\u{feff}{good}").into(),
            good[..good.len() - 1].into(),
        ];
        for body in bodies {
            let what = String::from_utf8_lossy(&body).into_owned();
            let answer = world.send(operation, body).await;
            operation.refuses(answer, 400, "invalid_json", &what);
        }
    });
}

#[test]
fn a_body_that_is_no_object_is_refused() {
    on_every_body(&async |world, document, operation| {
        let values: Value = match document.example(operation) {
            Value::Object(fields) => fields.into_values().collect(),
            other => panic!("{other} is no object"),
        };
        for body in
            [json!(null), json!(true), json!(7), json!("text"), json!([]), json!([[]]), json!([{}]), values]
        {
            let answer = world.send(operation, body.to_string()).await;
            let problem = operation.refuses(answer, 422, "invalid_value", &body.to_string());
            assert!(problem["errors"][0]["pointer"].is_string());
        }
    });
}

#[test]
fn deep_bodies_are_refused_without_harm() {
    on_every_body(&async |world, document, operation| {
        let field = document.example(operation).as_object().unwrap().keys().next().cloned();
        let field = field.unwrap_or_else(|| "a".to_owned());
        for (open, middle, close) in [
            ("[".to_owned(), "", "]"),
            (format!("{{\"{field}\":"), "1", "}"),
            (format!("{{\"{field}\":["), "1", "]}"),
            ("[".to_owned(), "", ""),
        ] {
            let levels = 60_000 / (open.len() + close.len());
            let body = format!("{}{middle}{}", open.repeat(levels), close.repeat(levels));
            let answer = world.send(operation, body).await;
            let status = answer.status.as_u16();
            let code = answer.json()["code"].as_str().unwrap_or_default().to_owned();
            assert!([400, 422].contains(&status), "{} {status} {}", operation.id, answer.text);
            operation.refuses(answer, status, &code, "a deep body");
        }
    });
}

#[test]
fn a_body_over_64_kib_is_refused_and_one_of_64_kib_is_read() {
    on_every_body(&async |world, document, operation| {
        let good = document.example(operation).to_string();
        for size in [65_537, 1024 * 1024, 8 * 1024 * 1024] {
            let body = format!("{good}{}", " ".repeat(size - good.len()));
            let answer = world.send(operation, body).await;
            operation.refuses(answer, 413, "body_too_large", &format!("{size} bytes"));
        }
        // A field that nobody knows, so that reading it changes nothing.
        let body = format!("{}{{\"surprise\": 1}}", " ".repeat(65_536 - 15));
        let answer = world.send(operation, body).await;
        operation.refuses(answer, 422, "unknown_field", "65536 bytes");
    });
}

#[test]
fn an_empty_body_is_an_object_without_fields() {
    on_every_body(&async |world, document, operation| {
        if required(document, operation) {
            for body in ["", "{}"] {
                let answer = world.send(operation, body).await;
                operation.refuses(answer, 422, "invalid_value", "nothing");
            }
        }
    });
}

#[test]
fn a_field_that_comes_twice_is_refused() {
    on_every_body(&async |world, document, operation| {
        let example = document.example(operation);
        for (key, value) in example.as_object().unwrap() {
            let once = format!("{}: {value}", json!(key));
            let answer = world.send(operation, format!("{{{once}, {once}}}")).await;
            operation.refuses(answer, 422, "invalid_value", &format!("{key} twice"));
        }
    });
}

/// Every place in a body: its JSON pointer and what is there.
fn places(value: &Value, pointer: &str, found: &mut Vec<(String, Value)>) {
    found.push((pointer.to_owned(), value.clone()));
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, inner)| places(inner, &format!("{pointer}/{key}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, inner)| places(inner, &format!("{pointer}/{i}"), found));
        }
        _ => {}
    }
}

/// A body as text with something else at a place.
fn replaced(body: &Value, pointer: &str, by: &str) -> String {
    let mut body = body.clone();
    *body.pointer_mut(pointer).unwrap() = json!("@");
    body.to_string().replacen("\"@\"", by, 1)
}

#[test]
fn a_field_that_nobody_knows_is_refused_with_its_place() {
    on_every_body(&async |world, document, operation| {
        let example = document.example(operation);
        let mut all = Vec::new();
        places(&example, "", &mut all);
        for (pointer, value) in all.into_iter().filter(|(_, value)| value.is_object()) {
            for name in ["surprise", "", "a/b~c", "__proto__", "id\0"] {
                let mut changed = value.clone();
                changed[name] = json!(1);
                let mut body = example.clone();
                *body.pointer_mut(&pointer).unwrap() = changed;
                let answer = world.send(operation, body.to_string()).await;
                let problem = operation.refuses(answer, 422, "unknown_field", &body.to_string());
                let escaped = name.replace('~', "~0").replace('/', "~1");
                assert_eq!(problem["errors"][0]["pointer"], format!("{pointer}/{escaped}"));
            }
        }
    });
}

#[test]
fn a_value_of_the_wrong_type_is_refused_with_its_place() {
    on_every_body(&async |world, document, operation| {
        let example = document.example(operation);
        let mut all = Vec::new();
        places(&example, "", &mut all);
        for (pointer, value) in all.into_iter().filter(|(pointer, _)| !pointer.is_empty()) {
            let wrong: &[&str] = match value {
                Value::Number(_) => {
                    &["\"6\"", "true", "[]", "{}", "1e99", "-0", "-1", "18446744073709551616", "1.5", "6.0"]
                }
                Value::String(_) => &["1", "true", "[]", "{}", "{\"kalah\": null}", "{\"easy\": null}"],
                Value::Bool(_) => &["1", "\"true\"", "[]", "{}"],
                Value::Array(_) => &["1", "\"text\"", "true", "{}"],
                _ => &["1", "\"text\"", "true", "[]", "[1]"],
            };
            for by in wrong {
                let body = replaced(&example, &pointer, by);
                let answer = world.send(operation, body.clone()).await;
                let problem = operation.refuses(answer, 422, "invalid_value", &body);
                let told = problem["errors"][0]["pointer"].as_str().unwrap();
                assert!(told.starts_with(&pointer), "{told} for {body}");
            }
            if value.is_number() {
                let answer = world.send(operation, replaced(&example, &pointer, "1e999")).await;
                operation.refuses(answer, 400, "invalid_json", "1e999");
            }
        }
    });
}

#[test]
fn a_field_that_is_missing_is_named() {
    on_every_body(&async |world, document, operation| {
        let schema = document.resolve(operation.schema().unwrap()["$ref"].as_str().unwrap());
        for field in schema["required"].as_array().into_iter().flatten() {
            let field = field.as_str().unwrap();
            let mut body = document.example(operation);
            body.as_object_mut().unwrap().remove(field);
            let answer = world.send(operation, body.to_string()).await;
            let problem = operation.refuses(answer, 422, "invalid_value", &body.to_string());
            assert!(problem["detail"].as_str().unwrap().contains(field), "{problem}");
            assert!(problem["errors"][0]["pointer"].is_string());
        }
    });
}
