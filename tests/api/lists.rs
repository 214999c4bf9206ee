//! Lists of games: pages, filters.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::harness::{Player, TestServer, at_once, test, text};

/// All pages of a list: how many games each has, and all their ids.
async fn pages(player: &Player, filter: &str) -> (Vec<usize>, Vec<String>) {
    let (mut sizes, mut ids, mut cursor) = (Vec::new(), Vec::new(), String::new());
    loop {
        let page = player.get(&format!("/v1/games?{filter}{cursor}")).await.ok(200);
        let items = page["items"].as_array().unwrap();
        sizes.push(items.len());
        ids.extend(items.iter().map(|game| text(&game["id"]).to_owned()));
        match page.get("next") {
            Some(next) => cursor = format!("&cursor={}", text(next)),
            None => return (sizes, ids),
        }
    }
}

async fn solo(player: Player, variant: &'static str) -> String {
    let new = json!({ "variant": variant, "computers": ["easy"], "starter": "me" });
    text(&player.post("/v1/games", new).await.ok(201)["id"]).to_owned()
}

#[test]
fn a_long_list_comes_page_by_page_without_gaps_and_repeats() {
    test(async |server| {
        let ana = server.guest("Ana").await;
        assert_eq!(pages(&ana, "").await, (vec![0], vec![]));
        let mut made = Vec::new();
        for i in 0..40 {
            made.push(solo(ana.clone(), "kalah").await);
            if [19, 20, 39].contains(&i) {
                let (sizes, ids) = pages(&ana, "").await;
                let newest_first: Vec<String> = made.iter().rev().cloned().collect();
                assert_eq!(ids, newest_first);
                assert!(sizes.iter().all(|&size| size > 0), "no page is empty: {sizes:?}");
            }
        }
        assert!(pages(&ana, "").await.0.len() >= 2, "the test needs more than one page");
        // What is made meanwhile comes before the first page, and shifts nothing.
        let first = ana.get("/v1/games").await.ok(200);
        at_once((0..5).map(|_| solo(ana.clone(), "kalah"))).await;
        let second = ana.get(&format!("/v1/games?cursor={}", text(&first["next"]))).await.ok(200);
        let ids = |page: &Value| -> Vec<String> {
            page["items"].as_array().unwrap().iter().map(|game| text(&game["id"]).to_owned()).collect()
        };
        let read: HashSet<String> = ids(&first).into_iter().chain(ids(&second)).collect();
        assert_eq!(read, made.into_iter().collect());
    });
}

#[test]
fn filters_choose_by_variant_status_and_player() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        let mut games = Vec::new();
        for (player, name) in [(&ana, "ana"), (&ben, "ben")] {
            for variant in ["kalah", "basic"] {
                for status in ["running", "finished"] {
                    for _ in 0..6 {
                        let id = solo(player.clone(), variant).await;
                        if status == "finished" {
                            player.act(&id, "resign").await.ok(200);
                        }
                        games.push((id, name, variant, status));
                    }
                }
            }
        }
        let id_of = |name: &str| if name == "ana" { ana.id.clone() } else { ben.id.clone() };
        for name in [None, Some("ana"), Some("ben")] {
            for variant in [None, Some("kalah"), Some("basic")] {
                for status in [None, Some("running"), Some("finished"), Some("aborted")] {
                    let mut filter = Vec::new();
                    filter.extend(name.map(|name| format!("player={}", id_of(name))));
                    filter.extend(variant.map(|variant| format!("variant={variant}")));
                    filter.extend(status.map(|status| format!("status={status}")));
                    let fits = |game: &&(String, &str, &str, &str)| {
                        name.is_none_or(|n| n == game.1)
                            && variant.is_none_or(|v| v == game.2)
                            && status.is_none_or(|s| s == game.3)
                    };
                    let expected: Vec<&String> =
                        games.iter().filter(fits).map(|game| &game.0).rev().collect();
                    let (_, listed) = pages(&server.nobody(), &filter.join("&")).await;
                    assert_eq!(listed.iter().collect::<Vec<_>>(), expected, "{filter:?}");
                }
            }
        }
    });
}

#[test]
fn a_parameter_that_cannot_be_is_refused() {
    test(async |server| {
        for query in [
            "cursor=nonsense",
            "cursor=",
            "cursor=AAAA",
            "cursor=%00",
            "variant=oware",
            "variant=",
            "status=lost",
            "player=me",
            "page=2",
        ] {
            server.nobody().get(&format!("/v1/games?{query}")).await.problem(400, "invalid_parameter");
        }
    });
}

/// Rows and index entries read so far, in the whole database.
async fn reads(server: &TestServer) -> i64 {
    let sql = "select ((select coalesce(sum(seq_tup_read), 0) from pg_stat_user_tables)
                     + (select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes))::bigint";
    sqlx::query_scalar(sql).fetch_one(&mut server.database().await).await.unwrap()
}

#[test]
fn a_page_reads_no_more_games_than_it_shows() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        let mine = solo(ana.clone(), "kalah").await;
        solo(ben.clone(), "basic").await;
        // Ben has played a lot, and so has everybody else.
        let many = "with made as (
                insert into game (id, variant, players, options, ranked, seed, starter, status, end_reason, board,
                                  departed, resigned, places, ended_at)
                select gen_random_uuid(), variant, players, options, ranked, seed, starter, 'finished', 'resigned', board,
                       '{0}', '{0}', '{2,1}', now()
                from game cross join generate_series(1, 10000) where id::text = $1 returning id)
            insert into seat (game_id, seat, player_id, level)
            select id, seat, case seat when 0 then $2::uuid end, case seat when 1 then 'easy' end
            from made cross join generate_series(0, 1) seat";
        let mut database = server.database().await;
        sqlx::query(many).bind(&mine).bind(&ben.id).execute(&mut database).await.unwrap();
        let before = reads(server).await;
        let reader = server.another().await;
        let asked = 12;
        for _ in 0..asked {
            for filter in ["", "?status=running", "?status=aborted", "?status=finished"] {
                reader.nobody().get(&format!("/v1/games{filter}")).await.ok(200);
            }
            for player in [&ana, &ben] {
                ana.via(&reader).get(&format!("/v1/games?player={}", player.id)).await.ok(200);
            }
        }
        // A connection tells what it has read when it ends.
        reader.stop().await;
        let mut read = reads(server).await - before;
        while read == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            read = reads(server).await - before;
        }
        let a_request = read / (6 * asked);
        assert!((1..1_000).contains(&a_request), "{a_request} rows for a page of 20 games");
    });
}
