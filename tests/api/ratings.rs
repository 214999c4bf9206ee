//! What rated games do to ratings, as everybody can read it: receipts, ratings, history.

use mancala_server::rating::{Deviation, Rating, Standing, rate};
use serde_json::{Value, json};

use crate::clock::shift;
use crate::harness::{Player, Table, of_seats, play_out, test, text};

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn whole(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

fn displayed(value: &Value) -> i64 {
    i64::from(Rating::new(float(value)).displayed())
}

async fn rating(player: &Player, pool: &str) -> Value {
    let ratings = player.get(&format!("/v1/players/{}/ratings", player.id)).await.ok(200);
    let of_pool = ratings["items"].as_array().unwrap().iter().find(|item| item["pool"] == pool);
    of_pool.cloned().unwrap_or(Value::Null)
}

#[test]
fn a_finished_ranked_game_has_a_receipt_for_each_seat_from_which_it_can_be_reckoned_again() {
    test(async |server| {
        for (variant, players, pool, resigners) in [
            ("kalah", 2, "kalah-2", vec![]),
            ("kalah", 4, "kalah-multi", vec![]),
            ("basic", 2, "basic-2", vec![1]),
            ("basic", 3, "basic-multi", vec![]),
            ("kalah", 3, "kalah-multi", vec![2, 0]),
        ] {
            let table = Table::new(server, variant, players).await;
            for round in 0..2 {
                let game = table.resigned(&resigners).await;
                let over = play_out(&table.people, &game, |legal| legal[legal.len() / 2]).await;
                let receipts = server.nobody().receipts(&game).await;
                let results: Vec<(Standing, u8)> = receipts
                    .iter()
                    .map(|receipt| {
                        let rating = Rating::new(float(&receipt["rating_before"]));
                        let deviation = Deviation::new(float(&receipt["deviation_before"]));
                        let place = u8::try_from(whole(&receipt["place"])).unwrap();
                        (Standing { rating, deviation }, place)
                    })
                    .collect();
                let changes = rate(&results);
                assert_eq!(changes.len(), players);
                for (seat, (receipt, change)) in receipts.iter().zip(changes).enumerate() {
                    let told = &over["seats"][seat];
                    assert_eq!((&receipt["seat"], &receipt["pool"]), (&json!(seat), &json!(pool)));
                    assert_eq!((&receipt["players"], &receipt["formula"]), (&json!(players), &json!(1)));
                    assert_eq!(receipt["player_id"], told["player"]["id"]);
                    assert_eq!(receipt["place"], told["place"]);
                    for (field, value) in [
                        ("rating_after", change.after.rating.points()),
                        ("deviation_after", change.after.deviation.points()),
                        ("expected", change.expected),
                    ] {
                        assert!((float(&receipt[field]) - value).abs() < 1e-9, "{field}: {receipt}");
                    }
                    // What everybody is shown are whole points, and their difference.
                    let (before, after) =
                        (displayed(&receipt["rating_before"]), displayed(&receipt["rating_after"]));
                    let shown = &told["rating"];
                    assert_eq!((whole(&shown["before"]), whole(&shown["after"])), (before, after));
                    assert_eq!(whole(&shown["change"]), after - before);
                    let rating = rating(&table.people[seat], pool).await;
                    assert_eq!((whole(&rating["rating"]), whole(&rating["games"])), (after, round + 1));
                }
            }
        }
    });
}

#[test]
fn games_that_are_not_rated_have_no_receipts() {
    test(async |server| {
        let (people, _, unranked) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        people[0].act(text(&unranked["id"]), "resign").await.ok(200);
        assert_eq!(people[0].receipts(text(&unranked["id"])).await, Vec::<Value>::new());
        let table = Table::new(server, "kalah", 2).await;
        let game = table.game().await;
        assert_eq!(table.people[0].receipts(&game).await, Vec::<Value>::new());
        shift(&mut server.database().await, &game, 1.1).await;
        let over = table.people[0].until(&game, |now| now["status"] != "running").await;
        assert_eq!(over["status"], "aborted");
        assert_eq!(table.people[0].receipts(&game).await, Vec::<Value>::new());
        for player in table.people.iter().chain(&people) {
            let ratings = player.get(&format!("/v1/players/{}/ratings", player.id)).await.ok(200);
            assert_eq!(ratings, json!({ "items": [] }));
        }
    });
}

#[test]
fn a_rating_becomes_uncertain_with_the_days_as_it_is_read() {
    test(async |server| {
        let table = Table::new(server, "kalah", 2).await;
        let game = table.resigned(&[1]).await;
        let winner = &table.people[0];
        let after = Deviation::new(float(&winner.receipts(&game).await[0]["deviation_after"]));
        for days in [0.0, 30.0, 365.0, 10_000.0] {
            let sql = "update rating set rated_at = now() - make_interval(secs => $1 * 86400.0)";
            sqlx::query(sql).bind(days).execute(&mut server.database().await).await.unwrap();
            let live = rating(winner, "kalah-2").await;
            let expected = json!({ "pool": "kalah-2", "rating": 1662, "games": 1, "provisional": true,
                                   "deviation": after.after_days(days).displayed() });
            assert_eq!(live, expected, "after {days} days");
        }
        // And the next game is rated from there.
        let game = table.resigned(&[0]).await;
        assert_eq!(winner.receipts(&game).await[0]["deviation_before"], 350.0);
    });
}

/// The whole history of a rating, and how many points each page has.
async fn history(player: &Player, pool: &str) -> (Vec<Value>, Vec<usize>) {
    let (mut points, mut sizes, mut cursor) = (Vec::new(), Vec::new(), String::new());
    loop {
        let path = format!("/v1/players/{}/rating-history?pool={pool}{cursor}", player.id);
        let page = player.get(&path).await.ok(200);
        let items = page["items"].as_array().unwrap();
        sizes.push(items.len());
        points.extend(items.clone());
        match page.get("next") {
            Some(next) => cursor = format!("&cursor={}", text(next)),
            None => return (points, sizes),
        }
    }
}

#[test]
fn the_history_of_a_rating_comes_page_by_page_and_adds_up() {
    test(async |server| {
        let table = Table::new(server, "basic", 2).await;
        let player = &table.people[0];
        assert_eq!(history(player, "basic-2").await, (vec![], vec![0]));
        let mut games = Vec::new();
        for round in 0..101 {
            games.push(Some(table.resigned(&[usize::from(round % 3 == 0)]).await));
        }
        // A season, as the command makes it.
        for sql in [
            "insert into season (pool, month, players, mean, shift) values ('basic-2', '2026-12-01', 9, 1470, 30)",
            "insert into season_change (pool, month, player_id, number, rating_before, rating_after)
             select pool, '2026-12-01', player_id, changes + 1, rating, rating + 30 from rating",
            "update rating set rating = rating + 30, changes = changes + 1",
        ] {
            sqlx::query(sql).execute(&mut server.database().await).await.unwrap();
        }
        games.push(None);
        games.push(Some(table.resigned(&[1]).await));
        // Another pool is another history.
        Table::of(server, "kalah", table.people.clone()).await.resigned(&[0]).await;
        let (points, sizes) = history(player, "basic-2").await;
        assert_eq!(sizes, [100, 3]);
        assert_eq!(history(player, "kalah-2").await.0.len(), 1);
        let mut current = whole(&rating(player, "basic-2").await["rating"]);
        for (point, game) in points.iter().zip(games.iter().rev()) {
            assert_eq!(whole(&point["rating"]), current, "{point}");
            current -= whole(&point["change"]);
            match game {
                Some(game) => {
                    assert_eq!((text(&point["game_id"]), &point["players"]), (game.as_str(), &json!(2)));
                    let receipt = &player.receipts(game).await[0];
                    assert_eq!(point["place"], receipt["place"]);
                    assert_eq!(whole(&point["rating"]), displayed(&receipt["rating_after"]));
                    assert!(point["deviation"].is_number() && point.get("season").is_none());
                }
                None => {
                    assert_eq!((&point["season"], &point["change"]), (&json!("2026-12"), &json!(30)));
                    let of_games = ["game_id", "place", "players", "deviation", "provisional"];
                    assert!(of_games.iter().all(|field| point.get(field).is_none()), "{point}");
                }
            }
        }
        assert_eq!(current, 1500, "the changes add up");
        // A cursor is for its player and pool.
        let [ana, ben] = &table.people[..] else { panic!("two") };
        let page = ana.get(&format!("/v1/players/{}/rating-history?pool=basic-2", ana.id)).await.ok(200);
        let cursor = text(&page["next"]);
        let before = server.everything().await;
        for (whose, query) in [
            (&ben.id, format!("pool=basic-2&cursor={cursor}")),
            (&ana.id, format!("pool=kalah-2&cursor={cursor}")),
            (&ana.id, format!("pool=basic-multi&cursor={cursor}")),
            (&ana.id, format!("pool=basic-2&cursor={cursor}AA")),
            (&ana.id, "pool=basic-2&cursor=".to_owned()),
            (&ana.id, "pool=basic-2&cursor=nonsense".to_owned()),
            (&ana.id, "pool=oware-2".to_owned()),
            (&ana.id, "pool=".to_owned()),
            (&ana.id, String::new()),
        ] {
            let path = format!("/v1/players/{whose}/rating-history?{query}");
            ana.get(&path).await.problem(400, "invalid_parameter");
        }
        assert_eq!(server.everything().await, before);
    });
}

#[test]
fn a_players_games_are_listed_as_by_the_list_of_all_games() {
    test(async |server| {
        let table = Table::new(server, "kalah", 2).await;
        for _ in 0..22 {
            table.resigned(&[0]).await;
        }
        let (player, stranger) = (&table.people[0], server.guest("Stranger").await);
        let own = |query: &str| format!("/v1/players/{}/games?{query}", player.id);
        for query in ["", "&variant=kalah", "&variant=basic", "&status=finished", "&status=running"] {
            let all = stranger.get(&format!("/v1/games?player={}{query}", player.id)).await.ok(200);
            let listed = stranger.get(&own(query)).await.ok(200);
            assert_eq!(all["next"], listed["next"]);
            let ids = |page: &Value| -> Vec<Value> {
                page["items"].as_array().unwrap().iter().map(|game| game["id"].clone()).collect()
            };
            assert_eq!(ids(&all), ids(&listed));
        }
        let first = stranger.get(&own("")).await.ok(200);
        let second = stranger.get(&own(&format!("cursor={}", text(&first["next"])))).await.ok(200);
        assert_eq!(second["items"].as_array().unwrap().len(), 2);
        assert_eq!(of_seats(&second["items"][0], "place"), [json!(2), json!(1)]);
        stranger.get(&own("cursor=x")).await.problem(400, "invalid_parameter");
    });
}
