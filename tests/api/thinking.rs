//! Thinking of many at once: turns of games come first, analyses wait or are refused, nobody is thought for in vain.

use std::time::{Duration, Instant};

use mancala_server::engine::{Position, Rules, RulesRequest, Seat, Variant};
use mancala_server::ids::PlayerId;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::harness::{Answer, Player, TestServer, at_once, number, test, text};

/// Nothing finds out about it in seconds.
fn hard_to_tell() -> Value {
    json!({ "variant": "kalah", "pits": vec![vec![7; 7]; 2], "stores": [0, 0], "to_move": 0 })
}

async fn metrics(server: &TestServer) -> String {
    server.nobody().get("/metrics").await.text
}

/// The sum of a metric over the lines that hold all these labels.
fn sum(text: &str, name: &str, labels: &[&str]) -> f64 {
    let of_it = text.lines().filter(|line| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']))
            && labels.iter().all(|label| line.contains(label))
    });
    of_it.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

fn analysis(player: &Player, budget_ms: u64) -> JoinHandle<Answer> {
    let player = player.clone();
    let body = json!({ "position": hard_to_tell(), "budget_ms": budget_ms });
    tokio::spawn(async move { player.post("/v1/analysis", body).await })
}

/// Waits until it is true of how many studies wait behind the one that is thought about.
async fn until_waiting(server: &TestServer, enough: impl Fn(f64) -> bool) {
    let began = Instant::now();
    loop {
        let studies = sum(&metrics(server).await, "mancala_thinking_queue", &["studies"]);
        if enough(studies) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{studies} wait");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn solo(player: &Player, level: &str) -> Value {
    let new = json!({ "variant": "kalah", "computers": [level], "starter": "me" });
    player.post("/v1/games", new).await.ok(201)
}

/// Sows the first legal pit, and waits until the computer has answered; how long that took. `None` at the end.
async fn exchange(player: &Player, game: &str) -> Option<Duration> {
    let state = player.until(game, |now| now["to_move"] == 0 || now["status"] != "running").await;
    if state["status"] != "running" {
        return None;
    }
    let played = player.sow(game, number(&state["legal"][0]), number(&state["seq"])).await.ok(200);
    let began = Instant::now();
    if played["game"]["to_move"] == 1 {
        player.until(game, |now| now["to_move"] != 1).await;
    }
    Some(began.elapsed())
}

#[test]
fn a_flood_of_analyses_is_refused_and_slows_no_game() {
    test(async |server| {
        let people: Vec<Player> = at_once((0..30).map(|i| {
            let nobody = server.nobody();
            async move {
                let made = nobody.post("/v1/guests", json!({ "name": format!("Guest {i}") })).await.ok(201);
                nobody.with_token(text(&made["access_token"]))
            }
        }))
        .await;
        let flood: Vec<_> = people.iter().map(|player| analysis(player, 1_800)).collect();
        until_waiting(server, |n| n >= 15.0).await;
        // The first of the late that is answered is one for whom there was no place left.
        let mut late: tokio::task::JoinSet<_> = people[..4]
            .iter()
            .cloned()
            .map(|player| async move { analysis(&player, 100).await.unwrap() })
            .collect();
        let late = late.join_next().await.unwrap().unwrap();
        let seconds: u64 = late.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=30).contains(&seconds), "{seconds}");
        assert!(!late.headers.contains_key("ratelimit"), "what is not taken up costs nothing");
        late.problem(429, "thinking_busy");
        let player = server.guest("Ana").await;
        let game = solo(&player, "medium").await;
        // Hints have places of their own.
        player.get(&format!("/v1/games/{}/hint?level=easy", text(&game["id"]))).await.ok(200);
        for _ in 0..6 {
            let Some(took) = exchange(&player, text(&game["id"])).await else { break };
            assert!(took < Duration::from_secs(3), "{took:?}");
        }
        for refused in flood.into_iter().filter(JoinHandle::is_finished) {
            let answer = refused.await.unwrap();
            if answer.status != 200 {
                answer.problem(429, "thinking_busy");
            }
        }
        // Whoever waits is gone when the server stops, and holds nothing up.
    });
}

#[test]
fn a_player_has_four_analyses_waiting_at_most() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let asked: Vec<_> = (0..5).map(|_| analysis(&player, 1_800)).collect();
        until_waiting(server, |n| n >= 4.0).await;
        let refused = analysis(&player, 100).await.unwrap();
        assert!(refused.headers.contains_key("retry-after"));
        refused.problem(429, "thinking_busy");
        // Others have their own places.
        let other = analysis(&server.guest("Ben").await, 100);
        until_waiting(server, |n| n >= 5.0).await;
        other.abort();
        asked.iter().for_each(JoinHandle::abort);
    });
}

#[test]
fn twenty_games_at_hard_are_all_answered_soon() {
    test(async |server| {
        let slowest = at_once((0..20).map(|i| {
            let nobody = server.nobody();
            async move {
                let made = nobody.post("/v1/guests", json!({ "name": format!("Guest {i}") })).await.ok(201);
                let player = nobody.with_token(text(&made["access_token"]));
                let game = solo(&player, "hard").await;
                let mut slowest = Duration::ZERO;
                for _ in 0..4 {
                    let Some(took) = exchange(&player, text(&game["id"])).await else { break };
                    slowest = slowest.max(took);
                }
                slowest
            }
        }))
        .await;
        // Three seconds on a quiet machine; this one has other things to do.
        let slowest = slowest.into_iter().max().unwrap();
        assert!(slowest < Duration::from_secs(8), "{slowest:?}");
    });
}

#[test]
fn whoever_goes_away_is_not_thought_for_any_more() {
    test(async |server| {
        let rules = Rules::for_position(Variant::Kalah, 2, 7, &RulesRequest::default()).unwrap();
        let position = Position::start(rules, Seat::new(0).unwrap()).unwrap();
        let ask = || {
            let service = server.service().clone();
            tokio::spawn(
                async move { service.analyse(PlayerId::new(), position, Duration::from_secs(5)).await },
            )
        };
        let first = ask();
        let waiting: Vec<_> = (0..3).map(|_| ask()).collect();
        until_waiting(server, |n| n >= 3.0).await;
        let began = Instant::now();
        first.abort();
        waiting.iter().for_each(JoinHandle::abort);
        analysis(&server.guest("Ben").await, 100).await.unwrap().ok(200);
        // Twenty seconds were asked for before.
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        until_waiting(server, |n| n < 1.0).await;
    });
}

#[test]
fn searches_are_counted_by_what_they_are_for() {
    test(async |server| {
        let player = server.guest("Ana").await;
        for level in ["easy", "medium"] {
            let game = solo(&player, level).await;
            exchange(&player, text(&game["id"])).await;
            exchange(&player, text(&game["id"])).await;
        }
        analysis(&player, 100).await.unwrap().ok(200);
        let game = solo(&player, "easy").await;
        player.get(&format!("/v1/games/{}/hint?level=medium", text(&game["id"]))).await.ok(200);
        let text = metrics(server).await;
        for labels in [
            ["kind=\"turn\"", "level=\"easy\""],
            ["kind=\"turn\"", "level=\"medium\""],
            ["kind=\"analysis\"", "level=\"none\""],
            ["kind=\"hint\"", "level=\"medium\""],
        ] {
            for name in ["mancala_thinking_wait_seconds_count", "mancala_thinking_seconds_count"] {
                assert!(sum(&text, name, &labels) >= 1.0, "{name} {labels:?}");
            }
            assert!(sum(&text, "mancala_thinking_depth_count", &labels) >= 1.0, "{labels:?}");
        }
        assert!(sum(&text, "mancala_thinking_nodes_total", &["kind=\"turn\""]) > 0.0);
        assert!(text.contains("mancala_thinking_queue{queue=\"turns\"} 0"), "{text}");
    });
}

#[test]
fn a_server_stops_at_once_though_it_thinks() {
    crate::harness::run(async || {
        let server = TestServer::start(0).await;
        let player = server.guest("Ana").await;
        let asked: Vec<_> = (0..3).map(|_| analysis(&player, 5_000)).collect();
        until_waiting(&server, |n| n >= 2.0).await;
        let began = Instant::now();
        server.stop().await;
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        // The one that was thought about is answered as far as it went, the others are told to come again.
        let mut answers = Vec::new();
        for answer in asked {
            answers.push(answer.await.unwrap().status.as_u16());
        }
        answers.sort_unstable();
        assert_eq!(answers, [200, 429, 429]);
    });
}
