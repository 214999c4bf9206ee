//! Blocks: kept, never told, and never ignored.

use serde_json::{Value, json};

use crate::harness::{Player, TestServer, test, text};

fn path(player: &Player) -> String {
    format!("/v1/me/blocks/{}", player.id)
}

async fn block(one: &Player, other: &Player) {
    assert_eq!(one.put(&path(other), json!({})).await.ok(204), Value::Null);
}

/// How many of these, who all wait for one game, are matched, however long they wait.
async fn matched(server: &TestServer, people: &[&Player], seats: usize) -> usize {
    let mut tickets = Vec::new();
    for player in people {
        tickets.push((*player, player.ticket("kalah", seats).await));
    }
    server.matched_of(&tickets).await
}

#[test]
fn a_block_is_made_once_and_ended_once() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        ana.get(&path(&ben)).await.problem(404, "block_not_found");
        block(&ana, &ben).await;
        let first = ana.get(&path(&ben)).await.ok(200);
        assert_eq!(first["player"], json!({ "id": ben.id, "name": "Ben", "kind": "guest" }));
        block(&ana, &ben).await;
        assert_eq!(ana.get(&path(&ben)).await.ok(200), first);
        assert_eq!(ana.get("/v1/me/blocks").await.ok(200), json!({ "items": [first] }));
        assert_eq!(ben.get("/v1/me/blocks").await.ok(200), json!({ "items": [] }), "he is not told");
        ben.get(&path(&ana)).await.problem(404, "block_not_found");
        for _ in 0..2 {
            ana.delete(&path(&ben)).await.ok(204);
        }
        ana.get(&path(&ben)).await.problem(404, "block_not_found");
        assert_eq!(ana.get("/v1/me/blocks").await.ok(200), json!({ "items": [] }));
    });
}

#[test]
fn only_other_players_who_are_there_can_be_blocked() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        ana.put(&path(&ana), json!({})).await.problem(400, "invalid_parameter");
        for id in ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"] {
            ana.put(&format!("/v1/me/blocks/{id}"), json!({})).await.problem(404, "player_not_found");
            ana.delete(&format!("/v1/me/blocks/{id}")).await.ok(204);
        }
        ana.put("/v1/me/blocks/x", json!({})).await.problem(400, "invalid_parameter");
        ben.go(json!({})).await.ok(204);
        ana.put(&path(&ben), json!({})).await.problem(404, "player_not_found");
    });
}

#[test]
fn blocks_are_listed_by_pages_and_have_an_end() {
    test(async |server| {
        let ana = server.guest("Ana").await;
        let sql = "with p as (insert into player (id, kind, name)
                              select gen_random_uuid(), 'guest', 'Somebody' from generate_series(1, 1000) returning id)
                   insert into block (player_id, blocked_id) select $1::text::uuid, id from p";
        sqlx::query(sql).bind(&ana.id).execute(&mut server.database().await).await.unwrap();
        let ben = server.guest("Ben").await;
        ana.put(&path(&ben), json!({})).await.problem(409, "too_many_blocks");
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = ana.get(&format!("/v1/me/blocks{cursor}")).await.ok(200);
            let items = page["items"].as_array().unwrap();
            assert!(items.len() <= 50);
            seen.extend(items.iter().map(|item| text(&item["player"]["id"]).to_owned()));
            let Some(next) = page["next"].as_str() else { break };
            cursor = format!("?cursor={next}");
        }
        let mut sorted = seen.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!((seen.len(), &seen), (1_000, &sorted), "each once, in order");
        let again = format!("/v1/me/blocks/{}", seen[7]);
        ana.put(&again, json!({})).await.ok(204);
        ana.delete(&again).await.ok(204);
        block(&ana, &ben).await;
        ana.get("/v1/me/blocks?cursor=x").await.problem(400, "invalid_parameter");
    });
}

#[test]
fn blocked_players_are_never_matched_whoever_has_blocked() {
    test(async |server| {
        for seats in 2..=4 {
            let mut people = Vec::new();
            for i in 0..seats {
                people.push(server.guest(&format!("Player {i}")).await);
            }
            let (first, last) = (&people[0], &people[seats - 1]);
            let all: Vec<&Player> = people.iter().collect();
            block(first, last).await;
            assert_eq!(matched(server, &all, seats).await, 0, "{seats} seats");
            first.delete(&path(last)).await.ok(204);
            block(last, first).await;
            assert_eq!(matched(server, &all, seats).await, 0, "{seats} seats, the other way round");
            let another = server.guest("Another").await;
            let more: Vec<&Player> = all.iter().copied().chain([&another]).collect();
            assert_eq!(matched(server, &more, seats).await, seats, "the others are found");
        }
    });
}

#[test]
fn opponents_who_block_each_other_after_a_game_do_not_meet_again() {
    test(async |server| {
        let (people, game) = server.ranked_game("kalah", 2).await;
        let id = text(&game["id"]);
        // A game that runs goes on.
        block(&people[0], &people[1]).await;
        let mover = &people[0];
        mover.sow(id, 2, 0).await.ok(200);
        people[1].act(id, "resign").await.ok(200);
        assert_eq!(matched(server, &[&people[0], &people[1]], 2).await, 0);
        people[0].delete(&path(&people[1])).await.ok(204);
        assert_eq!(matched(server, &[&people[0], &people[1]], 2).await, 2);
    });
}

#[test]
fn a_block_waits_for_a_match_that_is_being_made() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        ana.ticket("basic", 2).await;
        let mut database = server.database().await;
        let mut matching = sqlx::Connection::begin(&mut database).await.unwrap();
        let lock = "select id from ticket where player_id = $1::text::uuid for update";
        sqlx::query(lock).bind(&ana.id).fetch_all(&mut *matching).await.unwrap();
        let (one, other) = (ben.clone(), path(&ana));
        let blocking = tokio::spawn(async move { one.put(&other, json!({})).await });
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        assert!(!blocking.is_finished());
        matching.commit().await.unwrap();
        blocking.await.unwrap().ok(204);
    });
}

#[test]
fn who_is_blocked_by_a_member_is_told_what_a_wrong_code_is_told() {
    test(async |server| {
        let (host, member) = (server.guest("Host").await, server.guest("Member").await);
        let (ben, cem) = (server.guest("Ben").await, server.guest("Cem").await);
        let group = host.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        let code = json!({ "code": group["code"] });
        let join = "/v1/groups/join";
        member.post(join, code.clone()).await.ok(200);
        let wrong = ben.post(join, json!({ "code": "AAAAAAAA" })).await.problem(404, "code_not_found");
        block(&member, &ben).await;
        let refused = async || ben.post(join, code.clone()).await.problem(404, "code_not_found");
        assert_eq!(refused().await, wrong);
        // Not even that the group plays, or is full, is told.
        let path = format!("/v1/groups/{}", text(&group["id"]));
        let game = host.post(&format!("{path}/games"), json!({})).await.ok(201);
        assert_eq!(refused().await, wrong);
        cem.post(join, code.clone()).await.problem(409, "group_playing");
        host.act(text(&game["id"]), "resign").await.ok(200);
        for _ in 0..2 {
            host.post(&format!("{path}/computers"), json!({ "level": "easy" })).await.ok(200);
        }
        assert_eq!(refused().await, wrong);
        cem.post(join, code.clone()).await.problem(409, "group_full");
        // Whoever was there before stays, and may join again.
        block(&host, &member).await;
        member.post(join, code.clone()).await.ok(200);
        member.delete(&format!("{path}/members/me")).await.ok(204);
        assert_eq!(member.post(join, code.clone()).await.problem(404, "code_not_found"), wrong);
        ben.post(join, code.clone()).await.ok(200);
    });
}
