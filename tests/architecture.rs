//! The shape of the sources: who imports whom, where SQL and transactions live, how files are kept.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it should be")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Which modules of the crate each module may use ("Layout and direction of imports" of `docs/architecture.md`).
const ARROWS: &[(&str, &[&str])] = &[
    ("engine", &[]),
    ("ids", &[]),
    ("texts", &[]),
    ("tls", &["fuzzing"]),
    ("rating", &[]),
    ("pool", &["engine"]),
    ("matching", &["rating", "ids"]),
    ("telemetry", &[]),
    ("fuzzing", &[]),
    ("embedded", &[]),
    ("budget", &[]),
    ("proxies", &[]),
    ("config", &["account", "cpu", "budget", "proxies"]),
    ("cpu", &["engine"]),
    ("account", &["ids"]),
    ("options", &["engine", "cpu"]),
    ("store", &["engine", "cpu", "rating", "pool", "matching", "account", "ids", "options"]),
    (
        "service",
        &["store", "engine", "cpu", "rating", "pool", "matching", "account", "ids", "options", "telemetry"],
    ),
    ("worker", &["service", "ids"]),
    (
        "http",
        &[
            "service",
            "store",
            "engine",
            "cpu",
            "rating",
            "pool",
            "matching",
            "account",
            "ids",
            "options",
            "texts",
            "embedded",
            "telemetry",
            "budget",
            "proxies",
            "fuzzing",
        ],
    ),
    (
        "server",
        &[
            "http",
            "worker",
            "service",
            "store",
            "engine",
            "cpu",
            "rating",
            "pool",
            "matching",
            "account",
            "ids",
            "options",
            "texts",
            "embedded",
            "telemetry",
            "budget",
            "proxies",
            "config",
            "tls",
        ],
    ),
    (
        "commands",
        &[
            "server",
            "http",
            "worker",
            "service",
            "store",
            "engine",
            "cpu",
            "rating",
            "pool",
            "matching",
            "account",
            "ids",
            "options",
            "texts",
            "embedded",
            "telemetry",
            "budget",
            "proxies",
            "config",
            "tls",
        ],
    ),
];

/// A file stays under this many lines.
const MOST_LINES: usize = 450;

struct Source {
    path: PathBuf,
    /// As it stands.
    text: String,
    /// Without comments and what is in quotes.
    code: String,
}

impl Source {
    /// The module of the crate that the file belongs to.
    fn module(&self) -> &str {
        let inside = self.path.strip_prefix("src").unwrap().components().next().unwrap();
        inside.as_os_str().to_str().unwrap().trim_end_matches(".rs")
    }

    fn is_in(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }
}

fn read(folder: &str) -> Vec<Source> {
    // At run time: a copy of this test may be run on a copy of the sources.
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut sources = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = code(&text);
                sources.push(Source { path: path.strip_prefix(&root).unwrap().to_owned(), text, code });
            }
        }
    }
    assert!(!sources.is_empty(), "{folder} has sources");
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

/// The text without comments and without what stands in quotes.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("r#\"") {
            rest.find("\"#").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("'\"'") {
            3
        } else if first == '"' {
            quoted(rest)
        } else {
            code.push(first);
            first.len_utf8()
        };
        rest = &rest[skipped..];
    }
    code
}

/// The length of the text in quotes with which `text` begins.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Every name that follows `prefix`: `prefix::name`, and the names of `prefix::{name, name::…}`.
fn names_after<'a>(code: &'a str, prefix: &str) -> Vec<&'a str> {
    let mut names = Vec::new();
    let prefix = format!("{prefix}::");
    for (at, _) in code.match_indices(&prefix) {
        let longer =
            code[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':');
        if longer {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(list) => names.extend(list_of(list)),
            None => names.push(word(rest)),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The first word of each item of a list in braces, of which the opening one has been read.
fn list_of(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0_u32, 0, Vec::new());
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' => {
                items.push(&list[start..at]);
                break;
            }
            ',' if depth == 0 => {
                items.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.into_iter().map(|item| word(item.trim_start())).collect()
}

fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn imports_go_in_one_direction() {
    let sources = read("src");
    let modules: BTreeSet<&str> =
        sources.iter().map(Source::module).filter(|m| !["lib", "main"].contains(m)).collect();
    let known: BTreeSet<&str> = ARROWS.iter().map(|(module, _)| *module).collect();
    assert_eq!(modules, known, "every module has its arrows");
    let mut faults = Vec::new();
    for source in sources.iter().filter(|source| modules.contains(source.module())) {
        let module = source.module();
        let (_, allowed) = ARROWS.iter().find(|(name, _)| *name == module).unwrap();
        for name in names_after(&source.code, "crate") {
            if name != module && modules.contains(name) && !allowed.contains(&name) {
                faults.push(format!("{}: {module} must not use {name}", source.path.display()));
            }
        }
    }
    none(&faults);
}

#[test]
fn no_arrow_goes_in_a_circle() {
    let mut placed: BTreeSet<&str> = BTreeSet::new();
    while placed.len() < ARROWS.len() {
        let free = ARROWS
            .iter()
            .find(|(module, uses)| !placed.contains(module) && uses.iter().all(|used| placed.contains(used)));
        placed.insert(free.expect("some module uses only those that are placed").0);
    }
}

#[test]
fn http_takes_types_of_the_store_and_calls_none_of_its_functions() {
    let mut faults = Vec::new();
    for source in read("src").iter().filter(|source| source.is_in("src/http")) {
        for name in
            names_after(&source.code, "store").iter().chain(&names_after(&source.code, "crate::store"))
        {
            // A type begins with a capital letter; `self` names the module, whose names are looked at in their turn.
            if *name != "self" && !name.starts_with(|c: char| c.is_ascii_uppercase()) {
                faults.push(format!("{}: store::{name}", source.path.display()));
            }
        }
    }
    none(&faults);
}

#[test]
fn sql_is_in_the_store_and_transactions_begin_in_the_service() {
    let mut faults = Vec::new();
    let rules = [("sqlx::query", "src/store"), (".begin()", "src/service"), (".begin_with(", "src/service")];
    for source in read("src") {
        for (what, home) in rules {
            // The store's own type hands transactions out to whoever asks, which this test sees to be the service.
            let hands_out = source.is_in("src/store/database.rs") && what == ".begin()";
            if source.code.contains(what) && !source.is_in(home) && !hands_out {
                faults.push(format!("{}: {what} belongs to {home}", source.path.display()));
            }
        }
    }
    none(&faults);
}

#[test]
fn the_engine_knows_no_library_of_the_outside() {
    let mut faults = Vec::new();
    for source in read("src").iter().filter(|source| source.is_in("src/engine")) {
        for library in ["serde", "sqlx", "actix", "utoipa", "tokio", "uuid", "time::"] {
            if source.code.contains(library) {
                faults.push(format!("{}: {library}", source.path.display()));
            }
        }
    }
    none(&faults);
}

#[test]
fn every_file_says_what_it_is_and_stays_short() {
    let mut faults = Vec::new();
    for source in read("src").into_iter().chain(read("tests")) {
        if !source.text.starts_with("//! ") {
            faults.push(format!("{}: begins with something else than //!", source.path.display()));
        }
        let lines = source.text.lines().count();
        if lines >= MOST_LINES {
            faults.push(format!("{}: {lines} lines", source.path.display()));
        }
    }
    none(&faults);
}

/// What stands between backquotes in a text.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_test_and_file_that_the_page_about_security_names_is_there() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let page = fs::read_to_string(root.join("docs/security.md")).unwrap();
    let (_, attacks) = page.split_once("## Attacks and their tests").unwrap();
    let (table, _) = attacks.split_once("\n## ").unwrap();
    let named: BTreeSet<&str> =
        spans(table).filter(|span| span.contains("::") && !span.contains('…')).collect();
    let mut tests = BTreeSet::new();
    for source in read("tests") {
        let module = source.path.file_stem().unwrap().to_str().unwrap();
        for test in source.code.split("#[test]\n").skip(1) {
            tests.insert(format!("{module}::{}", word(test.trim_start().trim_start_matches("fn "))));
        }
    }
    let mut faults: Vec<String> =
        named.iter().filter(|name| !tests.contains(**name)).map(|name| format!("no test {name}")).collect();
    // These files are about attacks and nothing else.
    let about = ["attacks::", "injection::", "strangers::"];
    let about = tests.iter().filter(|test| about.iter().any(|module| test.starts_with(module)));
    faults
        .extend(about.filter(|test| !named.contains(test.as_str())).map(|test| format!("{test} has no row")));
    let files = spans(&page).filter(|span| span.starts_with("src/") || span.starts_with("tests/"));
    faults.extend(files.filter(|file| !root.join(file).exists()).map(|file| format!("no file {file}")));
    none(&faults);
    assert!(named.len() >= 50, "{named:?}");
}

#[test]
fn the_reader_of_this_test_sees_imports_and_not_words() {
    let text = "//! crate::http\nuse crate::store;\nuse crate::{cpu, engine::{self, Game}, ids::GameId};\n\
                // crate::server\nlet x = \"crate::worker \\\" crate::config\"; crate::options::Asked::new(); mycrate::texts";
    assert_eq!(names_after(&code(text), "crate"), ["store", "cpu", "engine", "ids", "options"]);
}
