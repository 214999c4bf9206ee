//! The ledgers of ratings: seasons move whole pools, and the audit finds whatever does not follow from what was played.

use mancala_server::pool::Pool;
use mancala_server::store::Season;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, PgConnection};

use crate::clock::audited;
use crate::harness::{Player, Table, TestServer, at_once, play_out, test, text};

async fn execute(server: &TestServer, sql: &'static str) -> u64 {
    sqlx::query(sql).execute(&mut server.database().await).await.unwrap().rows_affected()
}

/// The command `name` of the program, on the database of this server: whether it was content, and what it said.
async fn command(server: &TestServer, name: &'static str) -> (bool, String) {
    let path = std::env::var_os("CARGO_BIN_EXE_mancala-server").expect("cargo sets it");
    let url = server.database_options().to_url_lossy().to_string();
    let run = move || std::process::Command::new(path).args([name, "--database-url", &url]).output().unwrap();
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

/// Looks at all pools; what was found at the one of Kalah between two.
async fn season(server: &TestServer) -> Option<Season> {
    let mut found = None;
    for pool in Pool::ALL {
        let season = server.service().look_at_season(pool).await.unwrap();
        if pool == Pool::Kalah2 {
            found = season;
        }
    }
    found
}

/// The exact ratings of a pool, by player.
async fn ratings(database: &mut PgConnection, pool: &str) -> Vec<(String, f64, i32)> {
    let sql = "select player_id::text, rating, changes from rating where pool = $1::pool order by 1";
    sqlx::query_as(sql).bind(pool).fetch_all(database).await.unwrap()
}

/// Guests of these ratings, deviations and days without a game, as if they had come by them.
async fn rated(server: &TestServer, standings: &[(f64, f64, f64)]) -> Vec<Player> {
    let mut people = Vec::new();
    for (rating, deviation, days) in standings {
        let player = server.guest("Somebody").await;
        let sql = "insert into rating (player_id, pool, rating, deviation, rated_at)
                   values ($1::uuid, 'kalah-2', $2, $3, now() - make_interval(secs => $4 * 86400.0))";
        let insert = sqlx::query(sql).bind(&player.id).bind(rating).bind(deviation).bind(days);
        insert.execute(&mut server.database().await).await.unwrap();
        people.push(player);
    }
    people
}

async fn newest_change(player: &Player) -> Value {
    let path = format!("/v1/players/{}/rating-history?pool=kalah-2", player.id);
    player.get(&path).await.ok(200)["items"][0].clone()
}

#[test]
fn a_pool_that_is_near_enough_to_where_players_begin_stays() {
    test(async |server| {
        // Nobody is there at first.
        let looked = season(server).await.unwrap();
        assert_eq!((looked.players, looked.mean, looked.shift), (0, None, 0.0));
        // Only those with a live deviation of 75 at most are counted; one has been idle since.
        let people = rated(
            server,
            &[(1470.0, 60.0, 0.0), (1480.0, 74.9, 0.0), (900.0, 76.0, 0.0), (900.0, 74.0, 20.0)],
        )
        .await;
        // It is a month later, each time.
        for _ in 0..2 {
            execute(server, "update season set month = month - interval '1 month'").await;
            let before = ratings(&mut server.database().await, "kalah-2").await;
            let looked = season(server).await.unwrap();
            assert_eq!((looked.players, looked.mean, looked.shift), (2, Some(1475.0), 0.0));
            assert_eq!(ratings(&mut server.database().await, "kalah-2").await, before);
            assert_eq!(newest_change(&people[0]).await, Value::Null, "nothing has changed");
        }
    });
}

#[test]
fn a_pool_that_has_drifted_moves_as_a_whole_once_a_month() {
    test(async |server| {
        for (standings, shift, after) in [
            (
                [(1460.0, 60.0, 0.0), (1480.0, 60.0, 3.0), (900.5, 300.0, 0.0), (3985.0, 80.0, 0.0)],
                30.0,
                [1490.0, 1510.0, 930.5, 4000.0],
            ),
            (
                [(1530.0, 60.0, 0.0), (1522.0, 60.0, 0.0), (900.5, 300.0, 0.0), (101.0, 80.0, 0.0)],
                -26.0,
                [1504.0, 1496.0, 874.5, 100.0],
            ),
        ] {
            for table in ["season_change", "season", "rating"] {
                let sql = sqlx::AssertSqlSafe(format!("delete from {table}"));
                sqlx::query(sql).execute(&mut server.database().await).await.unwrap();
            }
            let people = rated(server, &standings).await;
            let (content, said) = command(server, "season").await;
            assert!(content && said.lines().count() == 4, "{said}");
            assert!(said.contains(&format!("moved by {shift:.1}")), "{said}");
            let moved = ratings(&mut server.database().await, "kalah-2").await;
            for ((player, after), (before, ..)) in people.iter().zip(after).zip(standings) {
                let (_, now, changes) = moved.iter().find(|(id, ..)| *id == player.id).unwrap();
                assert!((now - after).abs() < 1e-9, "{now}, not {after}");
                assert_eq!(*changes, 1);
                let receipt = newest_change(player).await;
                assert!(receipt["season"].is_string() && receipt.get("game_id").is_none(), "{receipt}");
                let change = (after + 0.5).floor() - (before + 0.5_f64).floor();
                assert_eq!(receipt["change"].as_f64(), Some(change), "{receipt}");
            }
            // Once more this month.
            let (content, said) = command(server, "season").await;
            assert!(content && said.matches("has been looked at this month").count() == 4, "{said}");
            assert_eq!(ratings(&mut server.database().await, "kalah-2").await, moved);
        }
    });
}

#[test]
fn many_looks_at_once_are_one() {
    test(async |server| {
        rated(server, &[(1400.0, 60.0, 0.0), (1420.0, 60.0, 0.0)]).await;
        let looks = at_once((0..8).map(|_| {
            let service = server.service().clone();
            async move { service.look_at_season(Pool::Kalah2).await.unwrap() }
        }))
        .await;
        assert_eq!(looks.iter().flatten().count(), 1, "{looks:?}");
        let sum: f64 = ratings(&mut server.database().await, "kalah-2").await.iter().map(|r| r.1).sum();
        assert!((sum - 3000.0).abs() < 1e-9, "{sum}");
    });
}

/// A pool with a season in between, and another pool: two who play until they are known, and win of everybody else.
async fn played(server: &TestServer) -> (Table<'_>, Season) {
    let two = Table::new(server, "kalah", 2).await;
    for round in 0..40 {
        two.resigned(&[round % 2]).await;
    }
    for regular in &two.people {
        for _ in 0..5 {
            let newcomer = server.guest("Newcomer").await;
            Table::of(server, "kalah", vec![regular.clone(), newcomer]).await.resigned(&[1]).await;
        }
    }
    let many = Table::new(server, "basic", 3).await;
    many.resigned(&[1, 2]).await;
    play_out(&many.people, &many.game().await, |legal| legal[0]).await;
    audited(server).await;
    let season = season(server).await.unwrap();
    two.resigned(&[0]).await;
    play_out(&two.people, &two.game().await, |legal| legal[legal.len() - 1]).await;
    (two, season)
}

#[test]
fn ratings_go_on_from_where_a_season_has_moved_them_and_all_adds_up() {
    test(async |server| {
        let (two, season) = played(server).await;
        assert_eq!(season.players, 2);
        assert!(season.shift < -25.0, "{season:?}");
        audited(server).await;
        // The first change after the season begins with what the season left.
        let path = format!("/v1/players/{}/rating-history?pool=kalah-2", two.people[0].id);
        let points = two.people[0].get(&path).await.ok(200)["items"].as_array().unwrap().clone();
        assert!(points[2]["season"].is_string(), "{points:?}");
        let game = text(&points[1]["game_id"]);
        let before = two.people[0].receipts(game).await[0]["rating_before"].as_f64().unwrap();
        assert_eq!(Some((before + 0.5).floor()), points[2]["rating"].as_f64());
        let sum: i64 = points.iter().map(|point| point["change"].as_i64().unwrap()).sum();
        assert_eq!(points[0]["rating"], 1500 + sum);
        let (content, said) = command(server, "audit").await;
        assert!(content && said.contains("games with") && said.contains("add up"), "{said}");
        // Games that end while the pool is looked at come before or after it.
        execute(server, "delete from season where pool <> 'kalah-2'").await;
        let mut tables = Vec::new();
        for _ in 0..12 {
            let table = Table::new(server, "basic", 2).await;
            tables.push((table.people[0].clone(), table.game().await));
        }
        let ending = at_once(tables.into_iter().enumerate().map(|(i, (player, game))| {
            let service = server.service().clone();
            async move {
                player.act(&game, "resign").await.ok(200);
                if i % 4 == 0 { service.look_at_season(Pool::Basic2).await.unwrap() } else { None }
            }
        }));
        assert_eq!(ending.await.into_iter().flatten().count(), 1);
        audited(server).await;
    });
}

/// What is done to the ledgers, and a word of what the audit says of it.
const TAMPERED: &[(&str, &str)] = &[
    ("update rating set rating = rating + 0.001 where changes = 3 and pool = 'kalah-2' or games = 2", "rating"),
    ("update rating set deviation = deviation - 0.001 where games = 2", "deviation"),
    ("update rating set games = games + 1 where games = 2", "games"),
    ("update rating set opponents = opponents + 1 where games = 2", "opponents"),
    ("update rating set start_balance = start_balance + 12 where games = 2", "first moves"),
    ("update rating set changes = changes + 1 where games = 2", "changes"),
    ("update rating set rated_at = rated_at - interval '1 hour' where games = 2", "date"),
    ("update rating set listed_until = now() + interval '30 days' where games = 2", "leaderboard"),
    ("update rating set listed_until = null where games > 40", "leaderboard"),
    ("delete from rating where games = 2", "no rating"),
    ("update rating_change set rating_after = rating_after + 0.001 where number = 1", "another rating"),
    ("update rating_change set rating_before = rating_before + 0.001 where number = 5", "from"),
    ("update rating_change set deviation_after = deviation_after + 0.001 where number = 5", "another deviation"),
    ("update rating_change set deviation_before = deviation_before - 0.001 where number = 5", "deviation from"),
    ("update rating_change set expected = expected + 0.001 where number = 5", "expectation"),
    ("update rating_change set place = 3 - place where number = 5 and players = 2", "another place"),
    ("update rating_change set place = 1 where number = 5", "another place"),
    ("update rating_change set players = 4 where number = 5", "number of players"),
    ("update rating_change set seat = 3 where number = 5 and seat = 1", "another seat"),
    ("update rating_change set formula = 2 where number = 5", "formula"),
    ("update rating_change set pool = 'basic-multi' where number = 5", "another pool"),
    ("update rating_change set number = 1000 where number = 5", "where 5 belongs"),
    ("update rating_change set at = at + interval '1 hour' where number = 5", "deviation from"),
    ("update rating_change set player_id = (select player_id from rating where games = 1 limit 1)
      where number = 5 and seat = 1", "another player"),
    ("delete from rating_change where number = 5 and seat = 0", "1 receipts for 2 seats"),
    ("delete from rating_change where number = 5", "0 receipts for 2 seats"),
    ("update game set ranked = false where id in (select game_id from rating_change where number = 5)",
     "not rated"),
    ("update seat set rating_before = rating_before + 1
      where game_id in (select game_id from rating_change where number = 5)", "shown otherwise"),
    ("update seat set rating_after = rating_after + 1
      where game_id in (select game_id from rating_change where number = 5)", "shown otherwise"),
    ("update seat set rating_after = null
      where game_id in (select game_id from rating_change where number = 5)", "shown otherwise"),
    ("update seat set provisional = not provisional
      where game_id in (select game_id from rating_change where number = 5)", "shown otherwise"),
    ("update opponent set games = games + 1 where games = 1", "opponents"),
    ("update opponent set won = won + 1 where games > 40", "opponents"),
    ("update opponent set tied = tied + 1 where games > 40", "opponents"),
    ("delete from opponent where games > 40", "opponents"),
    ("update season_change set rating_after = rating_after + 1 where number = 2", "season"),
    ("with s as (update season_change set rating_after = rating_after + 1 where number = 2 returning player_id, pool)
      update rating r set rating = rating + 1 from s where s.player_id = r.player_id and s.pool = r.pool", "season"),
    ("update season_change set rating_before = rating_before + 1 where number = 2", "from"),
    ("delete from season_change where number = 2", "changes"),
    ("update season set shift = shift + 1 where shift <> 0", "season"),
];

const KEPT: &[&str] = &["rating_change", "season_change", "opponent", "rating"];

#[test]
fn whatever_of_the_ledgers_was_tampered_with_is_found() {
    test(async |server| {
        let (table, _) = played(server).await;
        audited(server).await;
        let mut database = server.database().await;
        for table in KEPT.iter().chain(&["seat", "season", "game"]) {
            let sql = sqlx::AssertSqlSafe(format!("create table kept_{table} as select * from {table}"));
            sqlx::query(sql).execute(&mut database).await.unwrap();
        }
        let mut missed = Vec::new();
        for (sql, word) in TAMPERED {
            assert!(execute(server, sql).await > 0, "{sql}");
            let report = server.service().audit().await.unwrap();
            if !report.differences.iter().any(|difference| difference.what.contains(word)) {
                missed.push((sql, report.differences));
            }
            for table in KEPT {
                for sql in [
                    format!("delete from {table}"),
                    format!("insert into {table} select * from kept_{table}"),
                ] {
                    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut database).await.unwrap();
                }
            }
            for sql in [
                "update seat s set rating_before = k.rating_before, rating_after = k.rating_after, provisional = k.provisional
                 from kept_seat k where k.game_id = s.game_id and k.seat = s.seat",
                "update season s set shift = k.shift from kept_season k where k.pool = s.pool and k.month = s.month",
                "update game g set ranked = k.ranked from kept_game k where k.id = g.id and k.ranked <> g.ranked",
            ] {
                execute(server, sql).await;
            }
        }
        assert!(missed.is_empty(), "{missed:#?}");
        audited(server).await;
        // The command says so too, and is not content.
        execute(server, "update rating set rating = rating + 1 where games > 40").await;
        let (content, said) = command(server, "audit").await;
        assert!(!content && said.contains("in kalah-2: rating: stored"), "{said}");
        assert!(table.people.iter().all(|player| said.contains(&player.id)), "{said}");
        assert_eq!(json!(said.lines().count()), json!(3), "{said}");
    });
}
