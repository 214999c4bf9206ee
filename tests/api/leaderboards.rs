//! Leaderboards: who is on them, page by page, and what that costs among a hundred thousand.

use mancala_server::rating::Deviation;
use mancala_server::store;
use serde_json::{Value, json};
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use crate::harness::{Player, Table, TestServer, number, test, text};
use crate::round_trips::Proxy;

/// As many rated players as wanted, who would take too long to play for it: from 1000 points upwards, each two in this
/// distance from the next two, all of them with enough opponents. Their names are their numbers.
async fn rated(server: &TestServer, pool: &str, players: i32, distance: f64) {
    let until = Deviation::new(70.0).days_until(Deviation::ESTABLISHED).min(30.0);
    let sql = "with new as (
            insert into player (id, kind, name) select gen_random_uuid(), 'guest', n from generate_series(1, $2) n
            returning id, name)
        insert into rating (player_id, pool, rating, deviation, games, changes, opponents, listed_until)
        select id, $1::text::pool, 1000.25 + name::integer / 2 * $4, 70, 20, 20, 10,
               now() + make_interval(secs => $3 * 86400.0)
        from new";
    let mut database = server.database().await;
    sqlx::query(sql)
        .bind(pool)
        .bind(players)
        .bind(until)
        .bind(distance)
        .execute(&mut database)
        .await
        .unwrap();
}

/// Gives a player a rating in kalah-2, and says how long the list may show it.
async fn rate(server: &TestServer, player: &Player, deviation: f64, days_ago: f64, opponents: i32) {
    let days = Deviation::new(deviation).days_until(Deviation::ESTABLISHED).min(30.0) - days_ago;
    let sql = "insert into rating (player_id, pool, rating, deviation, games, changes, opponents, rated_at, listed_until)
        values ($1::text::uuid, 'kalah-2', 1500, $2, 30, 30, $3, now() - make_interval(secs => $4 * 86400.0),
                case when $5 then now() + make_interval(secs => $6 * 86400.0) end)";
    let query = sqlx::query(sql).bind(&player.id).bind(deviation).bind(opponents).bind(days_ago);
    let query = query.bind(deviation <= 110.0).bind(days);
    query.execute(&mut server.database().await).await.unwrap();
}

async fn own(player: &Player, pool: &str) -> Value {
    player.get(&format!("/v1/leaderboards/{pool}/me")).await.ok(200)
}

async fn pages(player: &Player, pool: &str) -> Vec<Vec<Value>> {
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = player.get(&format!("/v1/leaderboards/{pool}{cursor}")).await.ok(200);
        pages.push(page["items"].as_array().unwrap().clone());
        match page.get("next") {
            Some(next) => cursor = format!("?cursor={}", text(next)),
            None => return pages,
        }
    }
}

#[test]
fn whoever_plays_enough_different_opponents_comes_on_the_leaderboard() {
    test(async |server| {
        let mut people = Vec::new();
        for name in ["Ana", "Ben", "Cleo", "Dan"] {
            people.push(server.guest(name).await);
        }
        assert_eq!(
            own(&people[0], "kalah-2").await,
            json!({ "listed": false, "reason": "no_games", "rating": 1500, "deviation": 350, "provisional": true,
                    "games": 0, "opponents": 0, "opponents_needed": 3 })
        );
        for (i, one) in people.iter().enumerate() {
            for other in &people[i + 1..] {
                let table = Table::of(server, "kalah", vec![one.clone(), other.clone()]).await;
                for game in 0..6 {
                    // Whoever comes later in the alphabet loses more often.
                    table.resigned(&[usize::from(game % 3 != 0)]).await;
                }
            }
            if i == 0 {
                assert_eq!(own(&people[1], "kalah-2").await["reason"], "provisional");
            }
        }
        let pages = pages(&server.nobody(), "kalah-2").await;
        assert_eq!(pages.len(), 1);
        assert_eq!(pages[0].len(), 4);
        for (i, entry) in pages[0].iter().enumerate() {
            let player = people.iter().find(|player| entry["player"]["id"] == player.id).unwrap();
            let told = own(player, "kalah-2").await;
            assert_eq!((&told["rank"], &told["opponents"]), (&json!(i + 1), &json!(3)));
            let ratings = player.get(&format!("/v1/players/{}/ratings", player.id)).await.ok(200);
            for field in ["rating", "deviation", "games", "rank"] {
                assert_eq!(ratings["items"][0][field], entry[field], "{field}");
                assert_eq!(told[field], entry[field], "{field}");
            }
            assert!(number(&entry["deviation"]) <= 110 && entry["games"] == 18);
            // Only this pool has the games.
            assert_eq!(own(player, "basic-2").await["reason"], "no_games");
        }
        assert_eq!(self::pages(&server.nobody(), "kalah-multi").await, [Vec::<Value>::new()]);
    });
}

#[test]
fn who_is_not_on_the_leaderboard_is_told_why() {
    test(async |server| {
        let mut on_it = 0;
        for (name, deviation, days_ago, opponents, reason) in [
            ("listed", 70.0, 0.0, 3, None),
            ("just in time", 70.0, 29.99, 3, None),
            ("idle", 70.0, 30.01, 3, Some("idle")),
            ("long idle", 70.0, 4_000.0, 9, Some("idle")),
            ("uncertain", 110.1, 0.0, 9, Some("provisional")),
            ("barely certain", 110.0, 0.0, 9, Some("provisional")),
            ("uncertain by now", 108.0, 20.0, 9, Some("provisional")),
            ("still certain", 108.0, 18.0, 9, None),
            ("among friends", 70.0, 0.0, 2, Some("too_few_opponents")),
        ] {
            let player = server.guest(name).await;
            rate(server, &player, deviation, days_ago, opponents).await;
            let told = own(&player, "kalah-2").await;
            assert_eq!(told.get("reason").and_then(Value::as_str), reason, "{name}: {told}");
            assert_eq!(
                (&told["listed"], told.get("rank").is_some()),
                (&json!(reason.is_none()), reason.is_none())
            );
            // What is read of the deviation agrees.
            assert_eq!(
                told["provisional"] == true && reason != Some("idle"),
                reason == Some("provisional"),
                "{told}"
            );
            on_it += usize::from(reason.is_none());
            let listed = &pages(&player, "kalah-2").await[0];
            assert_eq!(listed.len(), on_it, "{name}");
            assert_eq!(listed.iter().any(|entry| entry["player"]["id"] == player.id), reason.is_none());
        }
        // From the fiftieth rated player on, ten opponents are needed.
        rated(server, "kalah-2", 40, 2.0).await;
        let player = server.guest("The fiftieth").await;
        assert_eq!(own(&player, "kalah-2").await["opponents_needed"], 3);
        rate(server, &player, 70.0, 0.0, 9).await;
        let told = own(&player, "kalah-2").await;
        assert_eq!((&told["opponents_needed"], &told["reason"]), (&json!(10), &json!("too_few_opponents")));
        assert_eq!(pages(&player, "kalah-2").await[0].len(), 40);
    });
}

#[test]
fn a_leaderboard_comes_page_by_page_with_shared_ranks() {
    test(async |server| {
        rated(server, "basic-2", 120, 2.0).await;
        let pages = pages(&server.nobody(), "basic-2").await;
        let sizes: Vec<usize> = pages.iter().map(Vec::len).collect();
        assert_eq!(sizes, [50, 50, 20]);
        let all: Vec<Value> = pages.into_iter().flatten().collect();
        let ratings: Vec<u64> = all.iter().map(|entry| number(&entry["rating"])).collect();
        let mut names: Vec<u64> =
            all.iter().map(|entry| text(&entry["player"]["name"]).parse().unwrap()).collect();
        for (i, entry) in all.iter().enumerate() {
            let above = ratings.iter().filter(|rating| **rating > ratings[i]).count();
            assert_eq!(number(&entry["rank"]), above as u64 + 1, "{entry}");
        }
        // One has the highest rating, and fifty and fifty-one share theirs across two pages.
        assert_eq!((ratings[0], ratings[1], ratings[49], ratings[50]), (1120, 1118, 1070, 1070));
        names.sort_unstable();
        assert_eq!(names, (1..=120).collect::<Vec<u64>>());
    });
}

#[test]
fn pools_and_cursors_that_cannot_be_are_refused() {
    test(async |server| {
        rated(server, "kalah-2", 120, 2.0).await;
        let player = server.guest("Ana").await;
        let page = player.get("/v1/leaderboards/kalah-2").await.ok(200);
        let cursor = text(&page["next"]);
        let before = server.everything().await;
        for pool in ["oware-2", "kalah", "KALAH-2", "kalah-2%00", "%ff%fe", "🎲", "1", "null", "kalah_2"] {
            for path in [format!("/v1/leaderboards/{pool}"), format!("/v1/leaderboards/{pool}/me")] {
                player.get(&path).await.problem(404, "pool_not_found");
            }
        }
        for path in [
            format!("basic-2?cursor={cursor}"),
            format!("kalah-multi?cursor={cursor}"),
            format!("kalah-2?cursor={cursor}AA"),
            format!("kalah-2?cursor=AA{cursor}"),
            "kalah-2?cursor=".to_owned(),
            "kalah-2?cursor=nonsense".to_owned(),
            "kalah-2?cursor=%00".to_owned(),
            "kalah-2?page=2".to_owned(),
            "kalah-2/me?cursor=x".to_owned(),
        ] {
            player.get(&format!("/v1/leaderboards/{path}")).await.problem(400, "invalid_parameter");
        }
        server.nobody().get("/v1/leaderboards/kalah-2/me").await.problem(401, "token_missing");
        assert_eq!(server.everything().await, before);
    });
}

/// The one statement that a request asks of the database.
async fn statement(proxy: &Proxy, player: &Player, path: &str) -> String {
    for _ in 0..200 {
        proxy.taken();
        player.get(path).await.ok(200);
        let trips = proxy.taken();
        // Every connection prepares a statement when it first meets it.
        if trips.iter().any(|trip| trip.contains("prepare ")) {
            continue;
        }
        assert_eq!(trips.len(), 1, "{path}: {trips:#?}");
        return trips[0].clone();
    }
    panic!("{path}: prepared anew all the time");
}

/// The nodes of the plan that PostgreSQL follows for a statement, on a connection with the settings of the service.
async fn plan(database: &mut PgConnection, statement: &str, values: &str) -> Vec<Value> {
    for sql in ["deallocate all".to_owned(), format!("prepare asked as {statement}")] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut *database).await.unwrap();
    }
    let explain = format!("explain (analyze, format json) execute asked ({values})");
    let told: Value =
        sqlx::query_scalar(sqlx::AssertSqlSafe(explain)).persistent(false).fetch_one(database).await.unwrap();
    let (mut nodes, mut open) = (Vec::new(), vec![told[0]["Plan"].clone()]);
    while let Some(node) = open.pop() {
        open.extend(node["Plans"].as_array().cloned().unwrap_or_default());
        nodes.push(node);
    }
    nodes
}

/// How many rows a node has read.
fn rows(node: &Value) -> f64 {
    let read = ["Actual Rows", "Rows Removed by Filter"].map(|field| node[field].as_f64().unwrap_or(0.0));
    (read[0] + read[1]) * node["Actual Loops"].as_f64().unwrap()
}

/// Whether a plan reads the leaderboard by its index alone, from where it should and this many rows at most, and no more
/// than a few rows of anything else.
fn goes_along_the_leaderboard(what: &str, nodes: &[Value], most: f64) {
    let scans = nodes.iter().filter(|node| node["Node Type"].as_str().unwrap().contains("Scan"));
    let mut along = 0;
    for scan in scans {
        let (kind, index) = (text(&scan["Node Type"]), scan["Index Name"].as_str().unwrap_or(""));
        match (kind, index) {
            ("Index Only Scan", "rating_leaderboard") => {
                along += 1;
                assert!(rows(scan) <= most, "{what} reads {} rows: {scan:#}", rows(scan));
                let condition = text(&scan["Index Cond"]);
                assert!(condition.contains("rating"), "{what} begins where it should: {condition}");
            }
            // Names, the own rating, and whether there are fifty rated players.
            ("Index Scan" | "Index Only Scan", "player_pkey" | "rating_pkey" | "rating_pool") => {
                assert!(rows(scan) <= 51.0, "{what}: {scan:#}");
            }
            ("Function Scan", _) => {}
            _ => panic!("{what}: {scan:#}"),
        }
    }
    assert_eq!(along, 1, "{what}: {nodes:#?}");
    let sorted = nodes.iter().filter(|node| node["Node Type"] == "Sort").any(|sort| rows(sort) > 1.0);
    assert!(!sorted, "{what} sorts");
}

#[test]
fn among_a_hundred_thousand_a_page_and_ones_own_rank_are_one_statement_along_the_index() {
    test(async |server| {
        const PLAYERS: i32 = 100_000;
        rated(server, "kalah-2", PLAYERS, 0.03125).await;
        rated(server, "basic-2", 1_000, 1.0).await;
        let proxy = Proxy::start(server.database_options()).await;
        let through = TestServer::on(proxy.options.clone()).await;
        let player = server.guest("Ana").await.via(&through);
        let page = statement(&proxy, &player, "/v1/leaderboards/kalah-2").await;
        let rank = statement(&proxy, &player, "/v1/leaderboards/kalah-2/me").await;
        through.stop().await;
        let mut database = PgConnection::connect_with(server.database_options()).await.unwrap();
        let as_service = server.database_options().clone().options(store::SESSION);
        let mut asking = PgConnection::connect_with(&as_service).await.unwrap();
        let deep = "'kalah-2', 1100, 'ffffffff-ffff-ffff-ffff-ffffffffffff'";
        let middle: uuid::Uuid =
            sqlx::query_scalar("select r.player_id from rating r join player p on p.id = r.player_id where p.name = '50000' and pool = 'kalah-2'")
                .fetch_one(&mut database)
                .await
                .unwrap();
        let (of_rank, half) = (format!("'{middle}', '{{kalah-2}}'"), f64::from(PLAYERS / 2));
        // Rows that have changed lately are looked up in the table too: that must not make another index look nearer.
        for sql in ["analyze rating", "vacuum analyze rating"] {
            sqlx::query(sql).execute(&mut database).await.unwrap();
            for (what, statement, values, most) in [
                ("the first page", &page, "'kalah-2', null, null", 51.0),
                ("a page deep down", &page, deep, 51.0),
                ("one's own rank", &rank, of_rank.as_str(), half + 10.0),
            ] {
                goes_along_the_leaderboard(what, &plan(&mut asking, statement, values).await, most);
            }
        }
    });
}
