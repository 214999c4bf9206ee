//! Players who go: what ends, what is removed, and what stays for the others.

use serde_json::{Value, json};
use sqlx::Row;

use crate::harness::{PASSWORD, Player, Table, TestServer, play_out, test, text};

/// Asserts that the player is gone, and that nothing stored contradicts it.
async fn gone(server: &TestServer, player: &Player) {
    let shown = server.nobody().get(&format!("/v1/players/{}", player.id)).await.ok(200);
    assert_eq!(shown, json!({ "id": player.id, "name": "Deleted player", "kind": "deleted" }));
    player.go(json!({})).await.problem(401, "token_invalid");
    player.renew().await.problem(401, "refresh_invalid");
    assert_eq!(server.service().audit().await.unwrap().differences, []);
}

#[test]
fn a_guest_who_goes_leaves_no_name() {
    test(async |server| {
        let ana = server.guest("Ana Conda").await;
        ana.go(json!({})).await.ok(204);
        gone(server, &ana).await;
        assert!(!server.everything().await.contains("Ana Conda"));
        // The token may be good for a while yet, but not for anything new, and nobody gets the name back.
        for (path, body) in [
            ("/v1/games", json!({ "variant": "kalah", "computers": ["easy"] })),
            ("/v1/groups", json!({ "variant": "kalah" })),
            ("/v1/tickets", json!({ "variant": "kalah", "players": 2, "turn_seconds": 30 })),
        ] {
            let answer = ana.post(path, body).await;
            assert!([401, 404].contains(&answer.status.as_u16()), "{path}: {}", answer.text);
        }
        let renamed = ana.patch("/v1/me", json!({ "name": "Ana Conda" })).await;
        assert!([401, 404].contains(&renamed.status.as_u16()), "{}", renamed.text);
    });
}

#[test]
fn an_account_is_deleted_with_its_password_only() {
    test(async |server| {
        for player in [server.account_named("Ana").await, server.bot("Deep Pit").await] {
            let problem = player.go(json!({})).await.problem(422, "invalid_value");
            assert_eq!(problem["errors"][0]["pointer"], "/password");
            player.get("/v1/me").await.ok(200);
            player.go(json!({ "password": "right", "sure": true })).await.problem(422, "unknown_field");
        }
        let player = server.account_named("Ben").await;
        player.go(json!({ "password": PASSWORD })).await.ok(204);
        gone(server, &player).await;
    });
}

#[test]
fn a_game_alone_is_resigned() {
    test(async |server| {
        let ana = server.guest("Ana").await;
        let new = json!({ "variant": "kalah", "computers": ["easy", "easy"], "starter": "me" });
        let game = ana.post("/v1/games", new).await.ok(201);
        ana.go(json!({})).await.ok(204);
        let now = server.nobody().game(text(&game["id"])).await;
        assert_eq!(now["seats"][0]["resigned"], true);
        assert_eq!(now["seats"][0]["player"]["name"], "Deleted player");
        gone(server, &ana).await;
    });
}

#[test]
fn a_game_with_one_other_is_won_by_the_other() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        people[1].go(json!({})).await.ok(204);
        let over = people[0].game(text(&game["id"])).await;
        assert_eq!((&over["end_reason"], &over["seats"][0]["place"]), (&json!("resigned"), &json!(1)));
        gone(server, &people[1]).await;
    });
}

#[test]
fn a_game_with_several_others_goes_on() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 3).await;
        people[2].go(json!({})).await.ok(204);
        let now = people[0].game(text(&game["id"])).await;
        assert_eq!((&now["status"], &now["seats"][2]["resigned"]), (&json!("running"), &json!(true)));
        people[1].act(text(&game["id"]), "resign").await.ok(200);
        assert_eq!(people[0].game(text(&game["id"])).await["seats"][2]["place"], 3);
        gone(server, &people[2]).await;
    });
}

#[test]
fn games_that_are_over_are_not_touched_and_keep_their_record() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "basic" }), 2).await;
        let id = text(&game["id"]);
        let over = play_out(&people, id, |legal| legal[0]).await;
        let record = people[0].record(id).await;
        people[1].go(json!({})).await.ok(204);
        let now = people[0].game(id).await;
        assert_eq!((&now["seq"], &now["end_reason"]), (&over["seq"], &over["end_reason"]));
        let mut renamed = record;
        renamed["players"][1] = json!("Deleted player");
        assert_eq!(people[0].record(id).await, renamed);
        let mine = people[0].get(&format!("/v1/games?player={}", people[1].id)).await.ok(200);
        assert_eq!(mine["items"].as_array().unwrap().len(), 1, "it is still listed");
        gone(server, &people[1]).await;
    });
}

#[test]
fn a_ranked_game_is_rated_as_a_resignation() {
    test(async |server| {
        let (people, game) = server.ranked_game("kalah", 2).await;
        people[0].go(json!({})).await.ok(204);
        let over = people[1].game(text(&game["id"])).await;
        assert_eq!((&over["end_reason"], &over["seats"][1]["place"]), (&json!("resigned"), &json!(1)));
        assert_eq!(people[1].receipts(text(&game["id"])).await.len(), 2);
        gone(server, &people[0]).await;
        people[1].ticket("kalah", 2).await;
    });
}

#[test]
fn who_goes_before_the_others_have_finished_is_rated_and_listed_nowhere() {
    test(async |server| {
        let table = Table::new(server, "kalah", 3).await;
        let mut database = server.database().await;
        let game = table.game().await;
        table.people[2].go(json!({})).await.ok(204);
        table.people[1].act(&game, "resign").await.ok(200);
        assert_eq!(table.people[0].receipts(&game).await.len(), 3);
        gone(server, &table.people[2]).await;
        let listed =
            "select count(*) from rating where listed_until is not null and player_id = $1::text::uuid";
        let listed: i64 =
            sqlx::query_scalar(listed).bind(&table.people[2].id).fetch_one(&mut database).await.unwrap();
        assert_eq!(listed, 0);
    });
}

#[test]
fn the_leaderboard_loses_its_player_and_the_audit_agrees() {
    test(async |server| {
        let table = Table::new(server, "kalah", 2).await;
        table.resigned(&[1]).await;
        let certain =
            "update rating set listed_until = now() + interval '1 day', opponents = 3, deviation = 60";
        sqlx::query(certain).execute(&mut server.database().await).await.unwrap();
        let board = async || {
            let board = server.nobody().get("/v1/leaderboards/kalah-2").await.ok(200);
            board["items"].as_array().unwrap().iter().map(|i| text(&i["player"]["id"]).to_owned()).collect()
        };
        let both: Vec<String> = board().await;
        assert_eq!(both, [&*table.people[0].id, &*table.people[1].id]);
        table.people[0].go(json!({})).await.ok(204);
        let left: Vec<String> = board().await;
        assert_eq!(left, [&*table.people[1].id]);
        let rank = table.people[1].get("/v1/leaderboards/kalah-2/me").await.ok(200);
        assert_eq!(rank["rank"], 1);
    });
}

#[test]
fn the_audit_notices_a_deleted_player_who_is_listed() {
    test(async |server| {
        let table = Table::new(server, "kalah", 2).await;
        table.resigned(&[1]).await;
        table.people[0].go(json!({})).await.ok(204);
        assert_eq!(server.service().audit().await.unwrap().differences, []);
        let sql =
            "update rating set listed_until = rated_at + interval '30 days' where player_id = $1::text::uuid";
        sqlx::query(sql).bind(&table.people[0].id).execute(&mut server.database().await).await.unwrap();
        assert_eq!(server.service().audit().await.unwrap().differences.len(), 1);
    });
}

#[test]
fn a_group_has_a_new_host_and_no_member_less_than_it_has() {
    test(async |server| {
        let (people, group, _) = server.group_game(json!({ "variant": "kalah" }), 3).await;
        people[0].go(json!({})).await.ok(204);
        let now = people[1].get(&format!("/v1/groups/{}", text(&group["id"]))).await.ok(200);
        let members = now["members"].as_array().unwrap();
        assert_eq!(members.len(), 2);
        assert_eq!((&members[0]["player"]["id"], &members[0]["host"]), (&json!(people[1].id), &json!(true)));
        gone(server, &people[0]).await;
    });
}

#[test]
fn an_open_ticket_is_cancelled() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        ana.ticket("kalah", 2).await;
        ana.go(json!({})).await.ok(204);
        let waits = ben.ticket("kalah", 2).await;
        server.waited(1_000.0).await;
        server.rounds().await;
        let path = format!("/v1/tickets/{}", text(&waits["id"]));
        assert_eq!(ben.get(&path).await.ok(200)["status"], "waiting");
        gone(server, &ana).await;
    });
}

/// What may stay of somebody who is gone, and why.
const STAYS: [(&str, &str); 8] = [
    ("player", "by which the games of others know who it was: without a name"),
    ("seat", "part of games of others"),
    ("group_event", "part of what happened to groups of others"),
    ("rating", "the ledger of the pool is reckoned from it; no leaderboard shows it"),
    ("rating_change", "the receipts of the others' games are reckoned from it"),
    ("season_change", "part of the same ledger"),
    ("opponent", "the others' tallies, which mirror it"),
    ("session", "that it has ended, for other processes to learn: without its label"),
];

#[test]
fn everything_that_belonged_to_the_player_alone_is_removed() {
    test(async |server| {
        let (ana, ben) = (server.account_named("Ana Conda").await, server.guest("Ben").await);
        let people = [ana.clone(), ben.clone()];
        let (_, game) = server.ranked_game_of("kalah", &people).await;
        ben.act(text(&game["id"]), "resign").await.ok(200);
        let new = json!({ "variant": "kalah", "computers": ["easy"] });
        let keyed = ana.request(reqwest::Method::POST, "/v1/games").header("idempotency-key", "one");
        crate::harness::Answer::of(keyed.json(&new)).await.ok(201);
        ana.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        ana.put(&format!("/v1/me/blocks/{}", ben.id), json!({})).await.ok(204);
        ben.put(&format!("/v1/me/blocks/{}", ana.id), json!({})).await.ok(204);
        ana.ticket("kalah", 3).await;
        server.service().write_heard().await.unwrap();
        let mut database = server.database().await;
        for sql in [
            "insert into recovery_code (hash, player_id) values (decode(repeat('ab', 32), 'hex'), $1::text::uuid)",
            "insert into personal_token (id, player_id, name, hash, scopes)
             values (gen_random_uuid(), $1::text::uuid, 'script', decode(repeat('cd', 32), 'hex'), '{ranked}')",
            "insert into no_show (game_id, player_id, until) select id, $1::text::uuid, now() from game limit 1",
            "insert into season (pool, month, players, shift) select 'basic-2', '2026-11-01', 0, 0 where $1 <> ''",
            "update player set preferences = '{\"colour\": \"Ana Conda\"}' where id = $1::text::uuid",
            "update session set label = 'Phone of Ana Conda' where player_id = $1::text::uuid",
        ] {
            sqlx::query(sql).bind(&ana.id).execute(&mut database).await.unwrap();
        }
        ana.go(json!({ "password": PASSWORD })).await.ok(204);
        let after = server.everything().await;
        assert!(!after.contains("Ana Conda") && !after.contains(&format!("user-{}", ana.id)));
        let columns = "select c.table_name::text, c.column_name::text from information_schema.columns c
                       where c.table_schema = 'public' and c.data_type = 'uuid' order by 1, 2";
        for row in sqlx::query(columns).fetch_all(&mut database).await.unwrap() {
            let (table, column): (String, String) = (row.get(0), row.get(1));
            let sql = format!("select count(*) from {table} where {column} = $1::text::uuid");
            let sql = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).bind(&ana.id);
            let count: i64 = sql.fetch_one(&mut database).await.unwrap();
            let stays = STAYS.iter().any(|(name, _)| *name == table);
            assert!(count == 0 || stays, "{count} rows of {table} have {column} of somebody who is gone");
        }
        let hidden: i64 = sqlx::query_scalar(
            "select count(*) from refresh_token t join session s on s.id = t.session_id
                                where s.player_id = $1::text::uuid",
        )
        .bind(&ana.id)
        .fetch_one(&mut database)
        .await
        .unwrap();
        assert_eq!(hidden, 0);
    });
}

#[test]
fn a_deletion_that_broke_off_is_completed_by_the_next() {
    test(async |server| {
        let mut ana = server.account_named("Ana").await;
        let new = json!({ "variant": "kalah", "computers": ["easy", "easy"], "starter": "me" });
        let game = ana.post("/v1/games", new).await.ok(201);
        let group = ana.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        ana.ticket("kalah", 3).await;
        let mut database = server.database().await;
        for sql in [
            "create function break_off() returns trigger language plpgsql as $$
             begin raise exception 'it breaks off here'; end $$",
            "create trigger break_off before update of kind on player for each row when (new.kind = 'deleted')
             execute function break_off()",
        ] {
            sqlx::query(sql).execute(&mut database).await.unwrap();
        }
        ana.go(json!({ "password": PASSWORD })).await.problem(500, "internal");
        // What others take part in has ended, what is the player's own is all there.
        assert_eq!(ana.game(text(&game["id"])).await["seats"][0]["resigned"], true);
        let group = server.nobody().get(&format!("/v1/groups/{}", text(&group["id"]))).await.ok(200);
        assert_eq!(group["members"], json!([]));
        assert_eq!(ana.get("/v1/me").await.ok(200)["name"], "Ana");
        let tokens = ana.renew().await.ok(200);
        assert_eq!(server.service().audit().await.unwrap().differences, []);
        sqlx::query("drop trigger break_off on player").execute(&mut database).await.unwrap();
        ana.refresh = text(&tokens["refresh_token"]).to_owned();
        ana.go(json!({ "password": PASSWORD })).await.ok(204);
        gone(server, &ana).await;
    });
}

#[test]
fn a_seat_that_has_its_place_keeps_nobody_from_going() {
    test(async |server| {
        let kind = json!({ "variant": "basic", "options": { "pits": 4, "stones": 3 } });
        let (people, _, game) = server.group_game(kind, 4).await;
        let id = text(&game["id"]);
        let mut state = people[0].game(id).await;
        let out =
            |state: &Value| state["seats"].as_array().unwrap().iter().position(|seat| seat["out"] == true);
        while out(&state).is_none() && state["to_move"].is_u64() {
            let mover = &people[usize::try_from(state["to_move"].as_u64().unwrap()).unwrap()];
            let pit = state["legal"][0].as_u64().unwrap();
            state = mover.sow(id, pit, state["seq"].as_u64().unwrap()).await.ok(200)["game"].clone();
        }
        let leaver = &people[out(&state).expect("somebody leaves the board")];
        leaver.go(json!({})).await.ok(204);
        gone(server, leaver).await;
    });
}
