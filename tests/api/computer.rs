//! Games against the computer, and that its turns are never lost or played twice.

use serde_json::{Value, json};
use sqlx::Connection;
use sqlx::postgres::{PgConnectOptions, PgConnection};

use crate::harness::{Player, TestServer, at_once, number, play_on, test, text};

async fn solo(player: &Player, new: Value) -> Value {
    player.post("/v1/games", new).await.ok(201)
}

#[test]
fn a_guest_plays_against_the_computer_to_the_end() {
    test(async |server| {
        let player = server.guest("Ana").await;
        for (variant, computers, stones) in [
            ("kalah", vec!["easy"], 4),
            ("kalah", vec!["medium"], 3),
            ("kalah", vec!["easy", "easy", "medium"], 3),
            ("kalah", vec!["perfect"], 3),
            ("basic", vec!["perfect"], 3),
            ("basic", vec!["easy"], 4),
            ("basic", vec!["easy", "easy"], 3),
        ] {
            let new = json!({ "variant": variant, "computers": computers, "options": { "pits": 4, "stones": stones } });
            let game = solo(&player, new.clone()).await;
            let seats = game["seats"].as_array().unwrap();
            assert_eq!(seats[0]["player"]["id"], json!(player.id));
            let levels: Vec<&Value> = seats[1..].iter().map(|seat| &seat["computer"]).collect();
            assert_eq!(json!(levels), json!(computers));
            let end = play_on(std::slice::from_ref(&player), text(&game["id"]), |legal| legal[0]).await;
            assert_eq!((&end["status"], &end["end_reason"]), (&json!("finished"), &json!("played")), "{new}");
            let record = player.record(text(&game["id"])).await;
            player.post("/v1/records/replay", record).await.ok(200);
        }
    });
}

#[test]
fn a_level_that_does_not_exist_is_refused_with_those_that_do() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let new = json!({ "variant": "kalah", "computers": ["easy", "godlike"] });
        let problem = player.post("/v1/games", new).await.problem(422, "invalid_value");
        assert_eq!(problem["errors"][0]["pointer"], "/computers/1");
        for level in ["easy", "medium", "hard", "perfect"] {
            assert!(text(&problem["detail"]).contains(level), "{problem}");
        }
        for computers in [json!([]), json!(["easy", "easy", "easy", "easy"]), json!(["genius"])] {
            let new = json!({ "variant": "kalah", "computers": computers });
            player.post("/v1/games", new).await.problem(422, "invalid_value");
        }
        assert_eq!(player.get(&format!("/v1/games?player={}", player.id)).await.ok(200)["items"], json!([]));
    });
}

#[test]
fn the_starter_is_the_one_asked_for() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let new = |starter: &str, seed: u64| json!({ "variant": "kalah", "computers": ["easy", "easy"], "starter": starter, "seed": seed });
        let game = solo(&player, new("me", 1)).await;
        assert_eq!((&game["starter"], &game["to_move"], &game["seq"]), (&json!(0), &json!(0), &json!(0)));
        let game = solo(&player, new("computer", 1)).await;
        assert_eq!(game["starter"], 1, "the first of the computers");
        let id = text(&game["id"]);
        player.until(id, |now| now["to_move"] == 0 || now["status"] == "finished").await;
        assert_eq!(player.record(id).await["events"][0]["seat"], 1);
        // By lot everybody begins some time, and the seed decides who.
        let mut starters = [0_u32; 3];
        for seed in 0..30 {
            let (first, again) =
                (solo(&player, new("random", seed)).await, solo(&player, new("random", seed)).await);
            assert_eq!(first["starter"], again["starter"]);
            starters[usize::try_from(number(&first["starter"])).unwrap()] += 1;
        }
        assert!(starters.iter().all(|&games| games > 0), "{starters:?}");
    });
}

#[test]
fn the_same_seed_and_moves_give_the_same_game() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let mut played = Vec::new();
        for seed in [7_u64, 7, 8, 9_007_199_254_740_991] {
            let new =
                json!({ "variant": "kalah", "computers": ["easy"], "starter": "computer", "seed": seed });
            let game = solo(&player, new).await;
            play_on(std::slice::from_ref(&player), text(&game["id"]), |legal| legal[0]).await;
            played.push(player.record(text(&game["id"])).await["events"].clone());
        }
        assert_eq!(played[0], played[1]);
        assert_ne!(played[0], played[2]);
        let new = json!({ "variant": "kalah", "computers": ["easy"], "seed": 9_007_199_254_740_992_u64 });
        player.post("/v1/games", new).await.problem(422, "invalid_value");
    });
}

async fn waiting_for_the_computer(database: &PgConnectOptions) -> bool {
    let mut database = PgConnection::connect_with(database).await.unwrap();
    sqlx::query_scalar("select exists (select from due where kind = 'computer')")
        .fetch_one(&mut database)
        .await
        .unwrap()
}

#[test]
fn a_turn_that_a_stopped_server_owed_is_played_by_the_next_one() {
    test(async |server| {
        let stopped = TestServer::start(0).await;
        let player = stopped.guest("Ana").await;
        // The level that thinks longest, so that the server stops while it thinks.
        let new =
            json!({ "variant": "kalah", "computers": ["hard"], "starter": "me", "options": { "stones": 6 } });
        let game = solo(&player, new).await;
        let id = text(&game["id"]);
        player.sow(id, 1, 0).await.ok(200);
        let database = stopped.database_options().clone();
        stopped.stop().await;
        assert!(waiting_for_the_computer(&database).await, "the turn is still to be played");
        let next = TestServer::on(database).await;
        let now = player.via(&next).until(id, |now| now["last_event"]["by"] == "computer").await;
        assert_eq!(number(&now["last_event"]["seat"]), 1);
        next.stop().await;
        assert!(!waiting_for_the_computer(server.database_options()).await);
    });
}

#[test]
fn two_servers_never_play_a_turn_twice() {
    test(async |server| {
        let other = server.another().await;
        let player = server.guest("Ana").await;
        let games = (0..20).map(|seed| {
            let (mut player, elsewhere) = (player.clone(), player.via(&other));
            async move {
                let new = json!({ "variant": "kalah", "computers": ["easy", "easy"], "seed": seed,
                    "options": { "pits": 4, "stones": 3 } });
                let game = solo(&player, new).await;
                if seed % 2 == 1 {
                    player = elsewhere;
                }
                let end = play_on(std::slice::from_ref(&player), text(&game["id"]), |legal| legal[0]).await;
                let record = player.record(text(&game["id"])).await;
                assert_eq!(record["events"].as_array().unwrap().len() as u64, number(&end["seq"]));
                player.post("/v1/records/replay", record).await.ok(200);
            }
        });
        at_once(games).await;
        assert!(!waiting_for_the_computer(server.database_options()).await);
        let wrong: i64 = sqlx::query_scalar(
            "select count(*) from (
                 select g.seq, count(e.seq) as events, max(e.seq) as last
                 from game g left join game_event e on e.game_id = g.id group by g.id
             ) as games where events <> seq or last <> seq",
        )
        .fetch_one(&mut server.database().await)
        .await
        .unwrap();
        assert_eq!(wrong, 0, "games whose events are not consecutive");
        let by_the_wrong_one: i64 =
            sqlx::query_scalar("select count(*) from game_event where (seat = 0) <> (by = 'player')")
                .fetch_one(&mut server.database().await)
                .await
                .unwrap();
        assert_eq!(by_the_wrong_one, 0);
        assert_eq!(server.service().audit().await.unwrap().differences, []);
        other.stop().await;
    });
}

#[test]
fn many_slow_games_keep_nobody_waiting_for_ever() {
    test(async |server| {
        let rich = server.guest("Ana").await;
        // More than are taken up at one look, every one with a long thought due, and nobody who waits for it.
        let games = at_once((0..70).map(|_| {
            let rich = rich.clone();
            async move {
                let new = json!({ "variant": "kalah", "computers": ["hard", "hard", "hard"], "starter": "computer" });
                let game = solo(&rich, new).await;
                rich.act(text(&game["id"]), "resign").await.ok(200);
            }
        }))
        .await;
        assert_eq!(games.len(), 70);
        let poor = server.guest("Ben").await;
        let game =
            solo(&poor, json!({ "variant": "kalah", "computers": ["easy"], "starter": "computer" })).await;
        poor.until(text(&game["id"]), |now| now["to_move"] == 0).await;
    });
}
