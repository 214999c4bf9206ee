//! For `.ci/secrets-in-logs.sh`: everything that any crate logs while the tests run, and every secret that went through
//! their hands, each in a file of the folder that `MANCALA_TEST_LOGS` names. Without that variable nothing is written.
//!
//! Secrets are known by the names of their fields, so that new operations need nothing here.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

/// Fields of answers, wherever they stand.
const ANSWERED: &[&str] = &["access_token", "refresh_token", "token", "stream_token", "recovery_codes"];
/// Fields of requests.
const SENT: &[&str] = &["password", "new_password", "recovery_code", "refresh_token", "token"];
/// Shorter ones were never good, and might stand in a log by chance.
const SHORTEST: usize = 8;

static FILES: LazyLock<Option<File>> = LazyLock::new(|| {
    let folder = PathBuf::from(std::env::var_os("MANCALA_TEST_LOGS")?);
    let open = |name| OpenOptions::new().create(true).append(true).open(folder.join(name)).unwrap();
    // reqwest and hyper are the clients of these tests: what they log is not the server's.
    let filter = "trace,reqwest=off,hyper=off,hyper_util=off";
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(Arc::new(open("log")))
        .init();
    Some(open("secrets"))
});

/// Begins to log, if somebody wants to know.
pub fn listen() {
    LazyLock::force(&FILES);
}

/// The secrets of a request that counts only when it succeeds: a password that was refused may be any word.
pub struct Sent(Vec<String>);

/// Notes the token of a request, and finds what else is secret in it.
pub fn sent(request: &reqwest::Request) -> Sent {
    let mut found = Vec::new();
    if FILES.is_some() {
        let token = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        note(&Vec::from_iter(
            token.and_then(|value| value.split_once(' ')).map(|(_, token)| token.to_owned()),
        ));
        let body = request.body().and_then(|body| body.as_bytes()).unwrap_or_default();
        collect(&serde_json::from_slice(body).unwrap_or_default(), SENT, &mut found);
    }
    Sent(found)
}

/// Notes the secrets of an answer, and of its request if it was good.
pub fn answered(sent: Sent, good: bool, text: &str) {
    if FILES.is_none() {
        return;
    }
    let mut found = if good { sent.0 } else { Vec::new() };
    collect(&serde_json::from_str(text).unwrap_or_default(), ANSWERED, &mut found);
    note(&found);
}

fn collect(value: &Value, names: &[&str], found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if names.contains(&name.as_str()) {
                    found.extend(texts(value));
                }
                collect(value, names, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, names, found)),
        _ => {}
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

fn note(secrets: &[String]) {
    let Some(mut file) = FILES.as_ref() else { return };
    for secret in secrets.iter().filter(|secret| secret.len() >= SHORTEST && !secret.contains('\n')) {
        // One write each, so that those of other threads do not get in between.
        file.write_all(format!("{secret}\n").as_bytes()).unwrap();
    }
}
