//! Guests who are not heard of for long.

use serde_json::json;

use crate::harness::{Player, TestServer, test, text};

/// Lets everything that tells of this player lie so many days back.
async fn silent(server: &TestServer, player: &Player, days: f64) {
    server.service().write_heard().await.unwrap();
    let mut database = server.database().await;
    for sql in [
        "update player set created_at = now() - make_interval(secs => $2 * 86400.0) where id = $1::text::uuid",
        "update session set last_used_at = now() - make_interval(secs => $2 * 86400.0) where player_id = $1::text::uuid",
        "update heard set at = now() - make_interval(secs => $2 * 86400.0) where player_id = $1::text::uuid",
    ] {
        sqlx::query(sql).bind(&player.id).bind(days).execute(&mut database).await.unwrap();
    }
}

/// Looks through all guests.
async fn retire(server: &TestServer) {
    let mut after = None;
    while let Some(last) = server.service().retire_guests(180.0, after).await.unwrap() {
        after = Some(last);
    }
}

async fn kind(server: &TestServer, player: &Player) -> Option<String> {
    let answer = server.nobody().get(&format!("/v1/players/{}", player.id)).await;
    if answer.status == 404 { None } else { Some(text(&answer.ok(200)["kind"]).to_owned()) }
}

#[test]
fn guests_of_whom_nobody_knows_are_removed_without_a_trace() {
    test(async |server| {
        let (idle, young) = (server.guest("Idle").await, server.guest("Young").await);
        idle.get("/v1/me").await.ok(200);
        idle.put(&format!("/v1/me/blocks/{}", young.id), json!({})).await.ok(204);
        young.put(&format!("/v1/me/blocks/{}", idle.id), json!({})).await.ok(204);
        silent(server, &idle, 181.0).await;
        silent(server, &young, 179.0).await;
        retire(server).await;
        assert_eq!(kind(server, &idle).await, None);
        assert_eq!(kind(server, &young).await.as_deref(), Some("guest"));
        assert!(!server.everything().await.contains(&idle.id));
        idle.renew().await.problem(401, "refresh_invalid");
    });
}

#[test]
fn any_sign_of_life_keeps_a_guest() {
    test(async |server| {
        let mut database = server.database().await;
        for sql in [
            "update session set last_used_at = now() where player_id = $1::text::uuid",
            "insert into heard (player_id, at) values ($1::text::uuid, now()) on conflict (player_id) do update set at = now()",
        ] {
            let guest = server.guest("Ana").await;
            silent(server, &guest, 400.0).await;
            sqlx::query(sql).bind(&guest.id).execute(&mut database).await.unwrap();
            retire(server).await;
            assert_eq!(kind(server, &guest).await.as_deref(), Some("guest"), "{sql}");
        }
    });
}

#[test]
fn idle_guests_who_have_played_go_as_if_they_had_asked_for_it() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        silent(server, &people[1], 200.0).await;
        retire(server).await;
        let over = people[0].game(text(&game["id"])).await;
        assert_eq!((&over["status"], &over["end_reason"]), (&json!("finished"), &json!("resigned")));
        let gone = json!({ "id": people[1].id, "name": "Deleted player", "kind": "deleted" });
        assert_eq!(over["seats"][1]["player"], gone);
        assert_eq!(kind(server, &people[0]).await.as_deref(), Some("guest"));
        assert_eq!(server.service().audit().await.unwrap().differences, []);
    });
}

#[test]
fn accounts_and_bots_stay_for_ever() {
    test(async |server| {
        let (account, bot) = (server.account_named("Ana").await, server.bot("Deep Pit").await);
        silent(server, &account, 4_000.0).await;
        silent(server, &bot, 4_000.0).await;
        retire(server).await;
        assert_eq!(kind(server, &account).await.as_deref(), Some("account"));
        assert_eq!(kind(server, &bot).await.as_deref(), Some("bot"));
    });
}

#[test]
fn a_whole_crowd_is_looked_through() {
    test(async |server| {
        let sql = "insert into player (id, kind, name, created_at)
                   select gen_random_uuid(), 'guest', 'Crowd', now() - make_interval(days => 170 + 20 * (n % 2))
                   from generate_series(1, 500) n";
        let mut database = server.database().await;
        sqlx::query(sql).execute(&mut database).await.unwrap();
        retire(server).await;
        let count = "select count(*) from player where name = 'Crowd'";
        let left: i64 = sqlx::query_scalar(count).fetch_one(&mut database).await.unwrap();
        assert_eq!(left, 250);
    });
}
