//! Guests who are not heard of for long.

use serde_json::json;

use crate::harness::{Player, TestServer, at_once, test, text};

const DAYS: f64 = 180.0;

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
    loop {
        let (last, idle) = server.service().idle_guests(DAYS, after).await.unwrap();
        for guest in idle {
            server.service().retire_guest(guest, DAYS).await.unwrap();
        }
        if last.is_none() {
            break;
        }
        after = last;
    }
}

/// A guest with a finished game, or with nothing, who is silent.
async fn silent_guest(server: &TestServer, played: bool) -> Player {
    let guest = server.guest("Ana").await;
    if played {
        let new = json!({ "variant": "kalah", "computers": ["easy"], "starter": "me" });
        let game = guest.post("/v1/games", new).await.ok(201);
        guest.act(text(&game["id"]), "resign").await.ok(200);
    }
    silent(server, &guest, 200.0).await;
    guest
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
fn an_idle_guest_who_was_once_in_a_group_stays_in_its_log_without_a_name() {
    test(async |server| {
        let (host, guest) = (server.guest("Host").await, server.guest("Guest").await);
        let group = host.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        guest.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
        let me = format!("/v1/groups/{}/members/me", text(&group["id"]));
        assert_eq!(guest.delete(&me).await.status, 204);
        silent(server, &guest, 200.0).await;
        retire(server).await;
        assert_eq!(kind(server, &guest).await.as_deref(), Some("deleted"));
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

#[test]
fn a_guest_who_comes_back_after_the_page_was_read_stays() {
    test(async |server| {
        for played in [false, true] {
            let (back, registered, gone) = (
                silent_guest(server, played).await,
                silent_guest(server, played).await,
                silent_guest(server, played).await,
            );
            let (_, idle) = server.service().idle_guests(DAYS, None).await.unwrap();
            assert_eq!(idle.len(), 3);
            let body = json!({ "refresh_token": back.refresh });
            let tokens = server.nobody().post("/v1/sessions/refresh", body).await.ok(200);
            server.becomes_account(&registered).await;
            for guest in idle {
                // Registering is told from coming back, by whichever is seen first.
                let _ = server.service().retire_guest(guest, DAYS).await;
            }
            back.with_token(text(&tokens["access_token"])).get("/v1/me").await.ok(200);
            let body = json!({ "refresh_token": tokens["refresh_token"] });
            server.nobody().post("/v1/sessions/refresh", body).await.ok(200);
            let me = registered.get("/v1/me").await.ok(200);
            assert!(me["username"].is_string(), "{me}");
            let left = kind(server, &gone).await;
            assert_eq!(left.as_deref(), played.then_some("deleted"));
        }
    });
}

#[test]
fn a_refresh_and_the_end_of_an_idle_guest_take_turns() {
    test(async |server| {
        for round in 0..12 {
            let guest = silent_guest(server, round % 2 == 0).await;
            let (_, idle) = server.service().idle_guests(DAYS, None).await.unwrap();
            let retiring = idle.into_iter().map(|idle| {
                let service = server.service().clone();
                tokio::spawn(async move { service.retire_guest(idle, DAYS).await })
            });
            let retiring: Vec<_> = retiring.collect();
            let body = json!({ "refresh_token": guest.refresh });
            let answers = at_once((0..3).map(|_| {
                let (nobody, body) = (server.nobody(), body.clone());
                async move { nobody.post("/v1/sessions/refresh", body).await }
            }))
            .await;
            for task in retiring {
                task.await.unwrap().unwrap();
            }
            for answer in &answers {
                assert!([200, 401].contains(&answer.status.as_u16()), "{}", answer.text);
            }
            // Whoever was given tokens is still there.
            if let Some(answer) = answers.into_iter().find(|answer| answer.status == 200) {
                let tokens = answer.ok(200);
                assert_eq!(kind(server, &guest).await.as_deref(), Some("guest"), "{tokens}");
            }
        }
    });
}
