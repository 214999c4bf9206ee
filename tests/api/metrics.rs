//! Health, readiness and metrics.

use reqwest::Method;
use serde_json::json;

use crate::harness::{Answer, Player, TestServer, test};

async fn metrics(server: &TestServer) -> String {
    let answer = server.nobody().get("/metrics").await;
    assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/plain; version=0.0.4"));
    assert_eq!(answer.status, 200);
    answer.text
}

/// The value of a line, which begins with the name and holds all these labels.
fn value(text: &str, name: &str, labels: &[&str]) -> Option<f64> {
    let line = text.lines().find(|line| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']))
            && labels.iter().all(|label| line.contains(label))
    })?;
    line.rsplit(' ').next()?.parse().ok()
}

async fn ask(player: &Player, method: &str, path: &str) {
    Answer::of(player.request(Method::from_bytes(method.as_bytes()).unwrap(), path)).await;
}

#[test]
fn a_server_says_that_it_lives_and_is_ready() {
    test(async |server| {
        for path in ["/healthz", "/readyz"] {
            assert_eq!(server.nobody().get(path).await.ok(200), json!({ "status": "ok" }));
        }
    });
}

#[test]
fn a_server_whose_database_lacks_a_migration_lives_but_is_not_ready() {
    test(async |server| {
        let sql = "delete from _sqlx_migrations where version = (select max(version) from _sqlx_migrations)";
        sqlx::query(sql).execute(&mut server.database().await).await.unwrap();
        let answer = server.nobody().get("/readyz").await;
        assert!(answer.headers.contains_key("retry-after"));
        answer.problem(503, "unavailable");
        server.nobody().get("/healthz").await.ok(200);
    });
}

#[test]
fn metrics_are_in_the_text_format_of_prometheus() {
    test(async |server| {
        server.guest("Ana").await;
        let text = metrics(server).await;
        let mut typed = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                typed.push(rest.split(' ').next().unwrap());
            } else if !line.starts_with('#') {
                let (series, number) = line.rsplit_once(' ').unwrap();
                number.parse::<f64>().unwrap();
                let name = series.split('{').next().unwrap();
                let bare = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
                assert!(typed.contains(&name) || bare.is_some_and(|bare| typed.contains(&bare)), "{line}");
            }
        }
        for name in [
            "mancala_http_requests_total",
            "mancala_http_request_duration_seconds",
            "mancala_games",
            "mancala_database_connections",
        ] {
            assert!(typed.contains(&name), "{name} is missing");
        }
    });
}

#[test]
fn requests_are_counted_by_route_and_status() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        for _ in 0..3 {
            people[0].game(game["id"].as_str().unwrap()).await;
        }
        people[0].get(&format!("/v1/games/{}", people[0].id)).await.problem(404, "game_not_found");
        people[0].get("/v1/games/x").await.problem(400, "invalid_parameter");
        let text = metrics(server).await;
        let count = |labels: &[&str]| value(&text, "mancala_http_requests_total", labels);
        assert_eq!(count(&["method=\"POST\"", "route=\"/v1/guests\"", "status=\"201\""]), Some(2.0));
        let route = "route=\"/v1/games/{id}\"";
        assert_eq!(count(&["method=\"GET\"", route, "status=\"200\""]), Some(3.0));
        assert_eq!(count(&["method=\"GET\"", route, "status=\"404\""]), Some(1.0));
        assert_eq!(count(&["method=\"GET\"", route, "status=\"400\""]), Some(1.0));
        let durations =
            value(&text, "mancala_http_request_duration_seconds_count", &["method=\"GET\"", route]);
        assert_eq!(durations, Some(5.0));
    });
}

#[test]
fn moves_are_counted_once_however_often_they_are_sent() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let id = game["id"].as_str().unwrap();
        let mover = &people[usize::try_from(game["to_move"].as_u64().unwrap()).unwrap()];
        let by = ["by=\"player\""];
        assert_eq!(value(&metrics(server).await, "mancala_moves_total", &by).unwrap_or(0.0), 0.0);
        for _ in 0..3 {
            mover.sow(id, 2, 0).await.ok(200);
        }
        mover.sow(id, 2, 1).await.problem(422, "pit_empty");
        assert_eq!(value(&metrics(server).await, "mancala_moves_total", &by), Some(1.0));
    });
}

#[test]
fn games_are_counted_by_status() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        server.group_game(json!({ "variant": "basic" }), 3).await;
        people[0]
            .post(&format!("/v1/games/{}/resign", game["id"].as_str().unwrap()), json!({}))
            .await
            .ok(200);
        let text = metrics(server).await;
        for (status, number) in [("running", 1.0), ("finished", 1.0), ("aborted", 0.0)] {
            assert_eq!(value(&text, "mancala_games", &[&format!("status=\"{status}\"")]), Some(number));
        }
    });
}

#[test]
fn what_nobody_serves_makes_no_labels() {
    test(async |server| {
        let nobody = server.nobody();
        let once = async |i: u32| {
            ask(&nobody, "GET", &format!("/nothing/{i}")).await;
            ask(&nobody, "GET", &format!("/v1/nothing/{i}")).await;
            ask(&nobody, "GET", &format!("/v1/games/{i}")).await;
            ask(&nobody, "GET", &format!("/v1/games/{i}/nothing")).await;
            ask(&nobody, "GET", &format!("/docs/nothing{i}")).await;
            ask(&nobody, "PUT", &format!("/v1/games/{i}")).await;
            ask(&nobody, &format!("WEIRD{i}"), "/v1/games").await;
            ask(&nobody, &format!("WEIRD{i}"), &format!("/{i}")).await;
            metrics(server).await;
        };
        once(0).await;
        let before = metrics(server).await.lines().count();
        for i in 1..20 {
            once(i).await;
        }
        let text = metrics(server).await;
        assert_eq!(text.lines().count(), before, "{text}");
        assert!(!text.contains("WEIRD") && !text.contains("nothing"));
        let unknown = value(&text, "mancala_http_requests_total", &["method=\"other\"", "route=\"unknown\""]);
        assert!(unknown.is_some_and(|count| count >= 20.0), "{unknown:?}");
    });
}
