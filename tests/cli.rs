//! The program as a user runs it: its commands, and a server that is killed in the middle of a game.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it should be")]

#[cfg(test)]
#[path = "cli/tls.rs"]
mod tls;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const GAMES: &str = include_str!("data/games.ndjson");

fn program() -> Command {
    // At run time: a copy of this test may be run with a copy of the program.
    let path = std::env::var_os("CARGO_BIN_EXE_mancala-server").expect("cargo sets it");
    let mut program = Command::new(path);
    for (variable, _) in std::env::vars_os() {
        if variable == "DATABASE_URL" || variable.to_string_lossy().starts_with("MANCALA_") {
            program.env_remove(variable);
        }
    }
    program
}

fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = program()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // Beside the reading: a pipe holds only so much.
    let writing = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let _ = writing.join().unwrap();
    output
}

fn lines(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn replay_agrees_with_every_position_of_the_handed_games() {
    let output = run(&["replay", "--trace"], GAMES);
    assert!(output.status.success());
    let answers = lines(&output);
    assert_eq!(answers.len(), 70);
    for (game, answer) in GAMES.lines().zip(answers) {
        let game: Value = serde_json::from_str(game).unwrap();
        assert_eq!(answer["ok"], true, "{answer}");
        assert_eq!(answer["places"], game["places"]);
        assert_eq!(answer["stores"], game["record"]["result"]["stores"]);
        let (expected, found) =
            (game["positions"].as_array().unwrap(), answer["positions"].as_array().unwrap());
        assert_eq!(expected.len(), found.len());
        for (expected, found) in expected.iter().zip(found) {
            for field in ["pits", "stores", "out", "to_move"] {
                assert_eq!(expected[field], found[field], "{field}");
            }
        }
    }
}

#[test]
fn replay_tells_the_first_bad_event_of_each_record_and_fails() {
    let good: Value = serde_json::from_str(GAMES.lines().next().unwrap()).unwrap();
    let spoilt = |spoil: &dyn Fn(&mut Value)| {
        let mut record = good["record"].clone();
        spoil(&mut record);
        record.to_string()
    };
    let cases = [
        (spoilt(&|record| record["events"][5]["pit"] = json!(6)), Some(5), "pit_out_of_range"),
        (spoilt(&|record| record["events"][5]["pit"] = json!(1000)), Some(5), "pit_out_of_range"),
        (spoilt(&|record| record["events"][5]["seat"] = json!(2)), Some(5), "not_your_turn"),
        (spoilt(&|record| record["events"][5]["seat"] = json!(3)), Some(5), "no_such_seat"),
        (spoilt(&|record| record["events"][5]["seat"] = json!(9)), Some(5), "no_such_seat"),
        (spoilt(&|record| record["events"][5] = json!({ "seat": 0 })), Some(5), "invalid_value"),
        (spoilt(&|record| record["events"][5]["pit"] = json!("a")), Some(5), "invalid_value"),
        (spoilt(&|record| record["result"]["places"] = json!([1, 2, 3])), None, "result_mismatch"),
        (spoilt(&|record| record["options"]["pits"] = json!(5)), None, "invalid_value"),
        ("{".to_owned(), None, "invalid_json"),
    ];
    let input: Vec<&str> = cases.iter().map(|(record, ..)| record.as_str()).collect();
    let output = run(&["replay", "-"], &input.join("\n"));
    assert_eq!(output.status.code(), Some(1));
    for ((record, at, code), answer) in cases.iter().zip(lines(&output)) {
        assert_eq!(answer["ok"], false, "{record}");
        assert_eq!((answer["at"].as_u64(), answer["code"].as_str()), (*at, Some(*code)), "{answer}");
        assert!(answer["detail"].is_string());
    }
}

/// Lines for `analyse`: an endgame as it is, one in an object, and one that is over.
const POSITIONS: &str = r#"{"variant": "kalah", "pits": [[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 2]], "stores": [20, 23], "to_move": 0}

{"position": {"variant": "basic", "pits": [[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 2]], "stores": [20, 23], "to_move": 0}}
{"variant": "kalah", "pits": [[0, 1], [1, 1]], "stores": [0, 0]}
"#;

#[test]
fn analyse_answers_each_line_with_values_or_an_error() {
    let output = run(&["analyse", "--budget-ms", "50"], POSITIONS);
    assert_eq!(output.status.code(), Some(1), "one of them is over");
    let answers = lines(&output);
    assert_eq!(answers.len(), 3);
    for (answer, value) in answers.iter().zip([-5, 3]) {
        assert_eq!(answer["moves"], json!([{ "pit": 5, "value": value, "exact": true }]));
        assert_eq!(
            (&answer["value"], &answer["best"], &answer["line"]),
            (&json!(value), &json!(5), &json!([5]))
        );
        assert!(answer["depth"].is_u64() && answer["nodes"].is_u64() && answer["exact"].is_boolean());
    }
    let error = &answers[2]["error"];
    assert_eq!((&error["code"], &error["pointer"]), (&json!("invalid_position"), &json!("/to_move")));
    assert_eq!(error["line"], 4, "the empty line counts");
    assert!(error["detail"].is_string());
    let good = POSITIONS.lines().take(3).collect::<Vec<_>>().join("\n");
    assert!(run(&["analyse", "-", "--budget-ms", "1"], &good).status.success());
}

#[test]
fn analyse_tells_what_a_level_plays_the_same_for_the_same_seed() {
    let start = json!({ "variant": "kalah", "pits": vec![vec![4; 6]; 2], "stores": [0, 0], "to_move": 0 });
    let input = format!("{start}\n");
    let mut pits = Vec::new();
    for seed in 0..12 {
        let arguments = ["analyse", "--level", "easy", "--seed", &seed.to_string()];
        let (answer, again) = (run(&arguments, &input), run(&arguments, &input));
        assert!(answer.status.success());
        assert_eq!(answer.stdout, again.stdout);
        assert_eq!(lines(&answer)[0]["level"], "easy");
        pits.push(lines(&answer)[0]["pit"].as_u64().unwrap());
    }
    pits.sort_unstable();
    pits.dedup();
    assert!(pits.len() > 1, "easy draws lots");
    let hard = run(&["analyse", "--level", "hard"], &input);
    assert!(lines(&hard)[0]["depth"].as_u64().unwrap() > 0);
}

#[test]
fn analyse_refuses_what_cannot_be_exact_and_flags_that_contradict() {
    let exact = run(&["analyse", "--exact"], POSITIONS.lines().nth(2).unwrap());
    assert_eq!(exact.status.code(), Some(1));
    assert_eq!(lines(&exact)[0]["error"]["code"], "not_exact");
    for arguments in [
        &["analyse", "--exact", "--level", "hard"][..],
        &["analyse", "--exact", "--budget-ms", "5"],
        &["analyse", "--level", "godlike"],
        &["analyse", "--level", "hard", "--budget-ms", "5"],
        &["analyse", "--seed", "5"],
        &["analyse", "/no/such/file"],
    ] {
        let output = run(arguments, "");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn analyse_answers_a_line_before_the_next_one_comes() {
    let mut child = program()
        .args(["analyse", "--budget-ms", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for _ in 0..3 {
        writeln!(to, "{}", POSITIONS.lines().next().unwrap()).unwrap();
        to.flush().unwrap();
        let mut answer = String::new();
        from.read_line(&mut answer).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&answer).unwrap()["best"], 5);
    }
    drop(to);
    assert!(child.wait().unwrap().success());
}

#[test]
fn help_tells_every_command_and_setting() {
    let help = run(&["--help"], "");
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    for word in [
        "replay",
        "analyse",
        "openapi",
        "audit",
        "season",
        "healthcheck",
        "DATABASE_URL",
        "MANCALA_DATA_DIR",
        "MANCALA_JWT_KEYS",
    ] {
        assert!(text.contains(word), "{word} is missing in:\n{text}");
    }
}

#[test]
fn a_real_database_needs_a_key_and_the_message_says_how_to_make_one() {
    let output = program()
        .args(["--listen", "127.0.0.1:0", "--database-url", "postgres://nobody@127.0.0.1:1/none"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("openssl rand -base64 32"));
}

/// A folder for a private database, gone at the end.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("mancala-cli-{}-{name}", std::process::id())))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server in a process of its own.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(home: &Path) -> Self {
        Self::start_with(home, &[])
    }

    fn start_with(home: &Path, settings: &[(&str, &Path)]) -> Self {
        let mut child = program()
            .args(["--listen", "127.0.0.1:0", "--address-limit", "0", "--data-dir"])
            .arg(home)
            .envs(settings.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = said
            .by_ref()
            .map(Result::unwrap)
            .find_map(|line| Some(line.split("listens on ").nth(1)?.split(' ').next()?.to_owned()))
            .expect("the server says where it listens");
        // Read on, so that the server never waits for somebody to hear it.
        std::thread::spawn(move || said.for_each(drop));
        Self { child, url }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Somebody who calls one after the other.
struct Caller {
    runtime: Runtime,
    client: Client,
}

impl Caller {
    fn new() -> Self {
        Self { runtime: Runtime::new().unwrap(), client: Client::new() }
    }

    fn call(&self, url: String, token: Option<&str>, body: Option<&Value>) -> Value {
        let request = match body {
            Some(body) => self.client.post(url).json(body),
            None => self.client.get(url),
        };
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        self.runtime.block_on(async { request.send().await.unwrap().json::<Value>().await.unwrap() })
    }
}

#[test]
fn a_game_goes_on_from_the_last_acknowledged_move_after_kill_9() {
    let home = Home::new("kill");
    let caller = Caller::new();
    let call = |url, token: Option<&str>, body: Option<&Value>| caller.call(url, token, body);
    let mut served = Served::start(&home.0);
    let guest = call(format!("{}/v1/guests", served.url), None, Some(&json!({})));
    let token = guest["access_token"].as_str().unwrap();
    let new = json!({ "variant": "kalah", "computers": ["easy"], "options": { "stones": 3 }, "seed": 5 });
    let mut game = call(format!("{}/v1/games", served.url), Some(token), Some(&new));
    let path = format!("/v1/games/{}", game["id"].as_str().unwrap());
    let mut accepted = Vec::new();
    while game["status"] == "running" {
        if game["to_move"] == 0 {
            let body = json!({ "pit": game["legal"][0], "seq": game["seq"] });
            let played = call(format!("{}{path}/moves", served.url), Some(token), Some(&body));
            let event = played["accepted"].clone();
            if accepted.len() < 3 {
                served.kill();
                served = Served::start(&home.0);
                // The answer might have been lost with the server: the same request gets the same answer.
                let again = call(format!("{}{path}/moves", served.url), Some(token), Some(&body));
                assert_eq!(again["accepted"], event);
            }
            accepted.push(event);
        }
        game = call(format!("{}{path}?after_seq={}&wait=25", served.url, game["seq"]), Some(token), None);
    }
    let record = call(format!("{}{path}/record", served.url), None, None);
    for event in &accepted {
        let place = usize::try_from(event["seq"].as_u64().unwrap() - 1).unwrap();
        assert_eq!(record["events"][place], json!({ "seat": 0, "pit": event["pit"] }));
    }
    let audit = program().args(["audit", "--data-dir"]).arg(&home.0).output().unwrap();
    let found = String::from_utf8_lossy(&audit.stdout).into_owned();
    assert!(audit.status.success() && found.starts_with("1 games with "), "{found}");
    // Nobody is rated, so that nothing moves; and once a month is enough.
    for said in ["0 players to go by, nothing moves", "has been looked at this month"] {
        let season = program().args(["season", "--data-dir"]).arg(&home.0).output().unwrap();
        let found = String::from_utf8_lossy(&season.stdout).into_owned();
        assert!(season.status.success() && found.lines().count() == 4, "{found}");
        assert!(found.lines().all(|line| line.ends_with(said)), "{found}");
    }
    served.kill();
}

#[test]
fn a_turn_that_was_thought_about_at_kill_9_is_played_soon_after_the_restart_once() {
    let home = Home::new("lease");
    let caller = Caller::new();
    let mut served = Served::start(&home.0);
    let guest = caller.call(format!("{}/v1/guests", served.url), None, Some(&json!({})));
    let token = guest["access_token"].as_str().unwrap();
    let mut waited = Vec::new();
    for _ in 0..3 {
        let new =
            json!({ "variant": "kalah", "computers": ["hard"], "starter": "me", "options": { "stones": 6 } });
        let game = caller.call(format!("{}/v1/games", served.url), Some(token), Some(&new));
        let path = format!("/v1/games/{}", game["id"].as_str().unwrap());
        let body = json!({ "pit": 1, "seq": 0 });
        caller.call(format!("{}{path}/moves", served.url), Some(token), Some(&body));
        // The computer has begun to think.
        std::thread::sleep(Duration::from_millis(200));
        served.kill();
        served = Served::start(&home.0);
        let restarted = Instant::now();
        let mut now = caller.call(format!("{}{path}?after_seq=1&wait=25", served.url), Some(token), None);
        waited.push(restarted.elapsed());
        while now["to_move"] == 1 {
            let seq = now["seq"].clone();
            now = caller.call(format!("{}{path}?after_seq={seq}&wait=25", served.url), Some(token), None);
        }
        let record = caller.call(format!("{}{path}/record", served.url), None, None);
        let events = record["events"].as_array().unwrap();
        assert_eq!((&events[0]["seat"], &events[1]["seat"]), (&json!(0), &json!(1)), "{record}");
        assert_eq!(events.len() as u64, now["seq"].as_u64().unwrap(), "no turn is played twice");
    }
    // Two seconds are promised; a machine that is busy with other tests may take longer.
    assert!(waited.iter().all(|time| time.as_secs() < 10), "{waited:?}");
    served.kill();
}
