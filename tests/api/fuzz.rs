//! Every operation of the document with bodies and queries that were changed a little: whatever comes is answered, with
//! something that the document tells of, and never by a failure of the server.

use std::time::Duration;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::Value;

use crate::changes::changed;
use crate::harness::{Answer, test};
use crate::operations::{Document, Operation, World};

/// How many of each operation.
const CASES: usize = 60;

/// The same ones every time.
fn inputs(seeds: &[&str]) -> Vec<String> {
    let config = Config { failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..Config::default() };
    let (strategy, mut runner) = (changed(seeds), TestRunner::new(config));
    let mut input =
        || String::from_utf8_lossy(&strategy.new_tree(&mut runner).unwrap().current()).into_owned();
    (0..CASES).map(|_| input()).collect()
}

#[track_caller]
fn assert_told(operation: &Operation, answer: &Answer, what: &str) {
    let status = answer.status.as_u16();
    assert!(status < 500, "{} with {what:?}: {}", operation.id, answer.text);
    let told = &operation.told["responses"][status.to_string()];
    assert!(told.is_object(), "{} does not tell of {status}, which {what:?} gives", operation.id);
    if let Some(code) = answer.json()["code"].as_str().filter(|_| status >= 400) {
        let told = told["description"].as_str().unwrap_or_default();
        assert!(told.contains(&format!("`{code}`")), "{} gives {code} for {what:?}", operation.id);
    }
}

#[test]
fn no_body_makes_any_operation_fail() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        for operation in document.with_body() {
            let good = document.example(operation).to_string();
            for body in inputs(&[&good, "{}"]) {
                let answer = world.send(operation, body.clone()).await;
                assert_told(operation, &answer, &body);
            }
        }
    });
}

/// A query with every parameter of an operation.
fn query(operation: &Operation, world: &World) -> Option<String> {
    let parameters = operation.told["parameters"].as_array()?.iter();
    let names = parameters.filter(|one| one["in"] == "query").filter_map(|one| one["name"].as_str());
    let pairs = names.map(|name| {
        let value = match name {
            "variant" => "kalah",
            "status" => "running",
            "level" => "easy",
            "pool" => "kalah-2",
            "player" => &world.player.id,
            "cursor" => "AZNvDFsafQKcd2oOS52MIQ",
            _ => "1",
        };
        format!("{name}={value}")
    });
    let query = pairs.collect::<Vec<_>>().join("&");
    (!query.is_empty()).then_some(query)
}

#[test]
fn no_query_makes_any_operation_fail() {
    test(async |server| {
        let (document, world) = (Document::of(server).await, World::new(server).await);
        let mut tried = 0;
        for operation in &document.operations {
            let Some(good) = query(operation, &world) else { continue };
            let path = world.path(operation);
            let path = path.split('?').next().unwrap();
            for query in inputs(&[&good, ""]) {
                let request =
                    world.caller(operation).request(operation.method.clone(), &format!("{path}?{query}"));
                let request = match operation.schema() {
                    Some(_) => request.json::<Value>(&document.example(operation)),
                    None => request,
                };
                // Some ask to wait, and may.
                let answer = tokio::time::timeout(Duration::from_secs(2), Answer::of(request)).await;
                if let Ok(answer) = answer {
                    assert_told(operation, &answer, &query);
                }
                tried += 1;
            }
        }
        assert!(tried >= 6 * CASES, "queries of {tried} have been tried");
    });
}
