//! Looking for a ranked game: tickets, and what becomes of them.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Player, TestServer, at_once, test, text};

fn wish(players: usize) -> Value {
    json!({ "variant": "kalah", "players": players, "turn_seconds": 30 })
}

async fn guests(server: &TestServer, count: usize) -> Vec<Player> {
    let mut guests = Vec::new();
    for i in 0..count {
        guests.push(server.guest(&format!("Player {i}")).await);
    }
    guests
}

#[test]
fn those_who_look_for_the_same_game_get_it() {
    test(async |server| {
        for (variant, players) in [("kalah", 2), ("basic", 3), ("kalah", 4)] {
            let (people, game) = server.ranked_game(variant, players).await;
            assert_eq!(people.len(), players);
            assert_eq!((&game["ranked"], &game["status"]), (&json!(true), &json!("running")));
            assert_eq!((&game["variant"], &game["starter"]), (&json!(variant), &json!(0)));
            let options = &game["options"];
            assert_eq!((&options["pits"], &options["stones"]), (&json!(6), &json!(4)));
            assert_eq!((&options["turn_seconds"], &options["stand_in"]), (&json!(30), &json!("easy")));
            assert!(game["deadline"].is_string(), "the first turn has its limit");
            for seat in game["seats"].as_array().unwrap() {
                assert_eq!(seat["rating"], json!({ "before": 1500, "provisional": true }));
            }
        }
    });
}

#[test]
fn a_waiting_ticket_tells_what_to_expect() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let made = player.post("/v1/tickets", wish(2)).await;
        assert_eq!(made.headers["location"], format!("/v1/tickets/{}", text(&made.json()["id"])));
        let made = made.ok(201);
        assert_eq!(made["status"], "waiting");
        assert!(made.get("game_id").is_none() && made.get("estimate").is_none(), "{made}");
        let window = made["window"].as_f64().unwrap();
        let waited = made["waited"].as_f64().unwrap();
        assert!((window - (25.0 + 2.0 * waited)).abs() < 1e-6, "{made}");
        let path = format!("/v1/tickets/{}", text(&made["id"]));
        let later = player.get(&format!("{path}?wait=1")).await.ok(200);
        assert!(
            later["waited"].as_f64().unwrap() >= 1.0 && later["window"].as_f64().unwrap() >= 27.0,
            "{later}"
        );
        server.guest("Ben").await.get(&path).await.problem(404, "ticket_not_found");
        player.get(&format!("{path}?wait=26")).await.problem(400, "invalid_parameter");
        player.delete(&path).await.ok(200);
        // What others have waited is what the next one may expect.
        server.ranked_game("kalah", 2).await;
        let next = player.ticket("kalah", 2).await;
        assert!(next["estimate"].as_f64().unwrap() < 5.0, "{next}");
        let bounded = json!({ "variant": "basic", "players": 2, "turn_seconds": 60, "max_gap": 10 });
        player.delete(&format!("/v1/tickets/{}", text(&next["id"]))).await.ok(200);
        let bounded = player.post("/v1/tickets", bounded).await.ok(201);
        assert_eq!((&bounded["max_gap"], &bounded["window"]), (&json!(10), &json!(10.0)));
    });
}

#[test]
fn a_player_has_one_ticket_and_none_while_playing() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let open = player.ticket("kalah", 2).await;
        let problem = player.post("/v1/tickets", wish(3)).await.problem(409, "ticket_open");
        assert_eq!(problem["ticket_id"], open["id"]);
        player.delete(&format!("/v1/tickets/{}", text(&open["id"]))).await.ok(200);

        let (people, game) = server.ranked_game("kalah", 3).await;
        let id = text(&game["id"]);
        // Also for whoever has resigned while the others play on.
        people[1].act(id, "resign").await.ok(200);
        for player in &people {
            let problem = player.post("/v1/tickets", wish(2)).await.problem(409, "in_ranked_game");
            assert_eq!(problem["game_id"], *id);
        }
        people[2].act(id, "resign").await.ok(200);
        for player in &people {
            player.ticket("kalah", 4).await;
        }
    });
}

#[test]
fn tickets_for_games_that_cannot_be_are_refused() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let bad = [
            ("players", json!(1)),
            ("players", json!(5)),
            ("turn_seconds", json!(45)),
            ("turn_seconds", json!(0)),
            ("max_gap", json!(0)),
            ("max_gap", json!(4001)),
            ("max_gap", json!(-1)),
            ("variant", json!("oware")),
        ];
        for (field, value) in bad {
            let mut body = wish(2);
            body[field] = value;
            let problem = player.post("/v1/tickets", body).await.problem(422, "invalid_value");
            assert_eq!(problem["errors"][0]["pointer"], format!("/{field}"), "{problem}");
        }
        player
            .post("/v1/tickets", json!({ "variant": "kalah", "players": 2 }))
            .await
            .problem(422, "invalid_value");
        server.nobody().post("/v1/tickets", wish(2)).await.problem(401, "token_missing");
        player.ticket("kalah", 2).await;
    });
}

#[test]
fn a_cancelled_ticket_is_never_matched_and_a_matched_one_never_cancelled() {
    test(async |server| {
        let people = guests(server, 2).await;
        let first = people[0].ticket("kalah", 2).await;
        let path = format!("/v1/tickets/{}", text(&first["id"]));
        for _ in 0..2 {
            assert_eq!(people[0].delete(&path).await.ok(200)["status"], "cancelled");
        }
        people[1].delete(&path).await.problem(404, "ticket_not_found");
        let second = people[1].ticket("kalah", 2).await;
        let path = format!("/v1/tickets/{}?wait=3", text(&second["id"]));
        assert_eq!(people[1].get(&path).await.ok(200)["status"], "waiting");

        let third = people[0].ticket("kalah", 2).await;
        let matched = people[0].matched(&third).await;
        assert_eq!(matched["status"], "matched");
        let path = format!("/v1/tickets/{}", text(&third["id"]));
        let problem = people[0].delete(&path).await.problem(409, "ticket_matched");
        assert_eq!(problem["game_id"], matched["game_id"]);
    });
}

#[test]
fn a_ticket_of_a_player_who_is_silent_expires() {
    test(async |server| {
        let people = guests(server, 2).await;
        let ticket = people[0].ticket("kalah", 2).await;
        server.service().write_heard().await.unwrap();
        let sql = "with t as (update ticket set created_at = created_at - interval '40 seconds'),
                        b as (update heartbeat set resumed_at = '-infinity')
                   update heard set at = at - interval '40 seconds'";
        sqlx::query(sql).execute(&mut server.database().await).await.unwrap();
        // Whoever comes now finds nobody.
        let late = people[1].ticket("kalah", 2).await;
        let path = format!("/v1/tickets/{}?wait=3", text(&late["id"]));
        assert_eq!(people[1].get(&path).await.ok(200)["status"], "waiting");
        let path = format!("/v1/tickets/{}", text(&ticket["id"]));
        assert_eq!(people[0].get(&path).await.ok(200)["status"], "expired");
        assert_eq!(people[0].delete(&path).await.ok(200)["status"], "expired");
        people[0].ticket("kalah", 2).await;
    });
}

#[test]
fn a_repeated_wish_with_its_key_is_one_ticket() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let ask = async |body: Value| {
            let request = player.request(Method::POST, "/v1/tickets").header("Idempotency-Key", "one");
            Answer::of(request.json(&body)).await
        };
        let first = ask(wish(2)).await.ok(201);
        let again = ask(wish(2)).await.ok(201);
        assert_eq!(first["id"], again["id"]);
        ask(wish(3)).await.problem(422, "idempotency_key_reused");
    });
}

#[test]
fn a_hard_limit_is_kept_and_ratings_are_read_when_pairing() {
    test(async |server| {
        let people = guests(server, 2).await;
        let rate = async |player: &Player, rating: f64| {
            let sql = "insert into rating (player_id, pool, rating, deviation) values ($1::text::uuid, 'kalah-2', $2, 60)
                       on conflict (player_id, pool) do update set rating = excluded.rating";
            sqlx::query(sql)
                .bind(&player.id)
                .bind(rating)
                .execute(&mut server.database().await)
                .await
                .unwrap();
        };
        rate(&people[0], 1500.0).await;
        rate(&people[1], 1521.0).await;
        let limited = json!({ "variant": "kalah", "players": 2, "turn_seconds": 30, "max_gap": 20 });
        let first = people[0].post("/v1/tickets", limited).await.ok(201);
        people[1].ticket("kalah", 2).await;
        let path = format!("/v1/tickets/{}?wait=3", text(&first["id"]));
        assert_eq!(people[0].get(&path).await.ok(200)["status"], "waiting");
        rate(&people[1], 1519.0).await;
        assert_eq!(people[0].matched(&first).await["status"], "matched");
    });
}

#[test]
fn many_who_come_and_go_over_several_servers_are_each_in_one_game() {
    test(async |server| {
        let others = [server.another().await, server.another().await];
        let people = guests(server, 60).await;
        let ends = at_once(people.iter().cloned().enumerate().map(|(i, player)| {
            let player = match i % 3 {
                0 => player,
                n => player.via(&others[n - 1]),
            };
            async move {
                let mut tickets = Vec::new();
                loop {
                    let ticket = player.ticket("kalah", 2).await;
                    let path = format!("/v1/tickets/{}", text(&ticket["id"]));
                    if i % 2 == 0 && tickets.len() < 3 {
                        player.get(&format!("{path}?wait=1")).await.ok(200);
                        let cancelled = player.delete(&path).await;
                        let status = if cancelled.status == 200 { "cancelled" } else { "matched" };
                        tickets.push((text(&ticket["id"]).to_owned(), status));
                        if status == "matched" {
                            return tickets;
                        }
                    } else {
                        let mut now = player.matched(&ticket).await;
                        while now["status"] == "waiting" {
                            now = player.matched(&ticket).await;
                        }
                        tickets.push((text(&ticket["id"]).to_owned(), "matched"));
                        return tickets;
                    }
                }
            }
        }))
        .await;
        let mut database = server.database().await;
        for (id, said) in ends.iter().flatten() {
            let sql = "select status::text from ticket where id = $1::text::uuid";
            let stored: String = sqlx::query_scalar(sql).bind(id).fetch_one(&mut database).await.unwrap();
            assert_eq!(stored, *said);
        }
        let sql = "select count(distinct player_id), count(distinct game_id), count(*) from seat";
        let (players, games, seats): (i64, i64, i64) =
            sqlx::query_as(sql).fetch_one(&mut database).await.unwrap();
        assert_eq!((players, games, seats), (60, 30, 60));
        let sql =
            "select count(*) from ticket t join seat s using (game_id, player_id) where t.status = 'matched'";
        let matched: i64 = sqlx::query_scalar(sql).fetch_one(&mut database).await.unwrap();
        assert_eq!(matched, 60);
        for other in others {
            other.stop().await;
        }
    });
}

#[test]
fn the_one_with_the_fewest_first_moves_begins() {
    test(async |server| {
        let people = guests(server, 2).await;
        let mut begun = Vec::new();
        for _ in 0..6 {
            let (_, game) = server.ranked_again("kalah", &people).await;
            let starter = text(&game["seats"][0]["player"]["id"]).to_owned();
            let second = people.iter().find(|p| p.id != starter).unwrap();
            second.act(text(&game["id"]), "resign").await.ok(200);
            begun.push(starter);
        }
        // Drawn by lot when both have had as many.
        assert!(begun.chunks(2).all(|pair| pair[0] != pair[1]), "{begun:?}");
    });
}

#[test]
fn those_who_have_just_met_wait_for_others() {
    test(async |server| {
        let people = guests(server, 3).await;
        let (_, game) = server.ranked_game_of("kalah", &people[..2]).await;
        people[0].act(text(&game["id"]), "resign").await.ok(200);
        // Their ratings are now far apart too, so that is not what they wait for.
        let sql = "update rating set rating = 1500, deviation = 60";
        sqlx::query(sql).execute(&mut server.database().await).await.unwrap();
        let first = people[0].ticket("kalah", 2).await;
        people[1].ticket("kalah", 2).await;
        let path = format!("/v1/tickets/{}?wait=3", text(&first["id"]));
        assert_eq!(people[0].get(&path).await.ok(200)["status"], "waiting");
        let third = people[2].ticket("kalah", 2).await;
        assert_eq!(people[2].matched(&third).await["status"], "matched");
    });
}
