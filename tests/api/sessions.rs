//! Sessions: which devices are signed in, how they are signed out, and how long they last.

use serde_json::{Value, json};

use crate::harness::{Answer, PASSWORD, Player, TestServer, at_once, test, text};

/// Signs in on a device with this label.
async fn sign_in(who: &Player, username: &str, device: &str) -> Player {
    let body = json!({ "username": username, "password": PASSWORD, "device": device });
    who.signed_in(&who.post("/v1/sessions", body).await.ok(201))
}

async fn sessions(who: &Player) -> Vec<Value> {
    who.get("/v1/sessions").await.ok(200)["items"].as_array().unwrap().clone()
}

fn devices(sessions: &[Value]) -> Vec<&str> {
    sessions.iter().map(|session| text(&session["device"])).collect()
}

async fn change(server: &TestServer, sql: &'static str) {
    let done = sqlx::query(sql).execute(&mut server.database().await).await.unwrap();
    assert!(done.rows_affected() > 0);
}

async fn count(server: &TestServer, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(&mut server.database().await).await.unwrap()
}

#[test]
fn every_device_is_listed_with_its_label_and_last_use() {
    test(async |server| {
        let first = server.account("ana").await;
        let second = sign_in(&server.nobody(), "ana", "  Ana's phone 📱 ").await;
        server.account("ben").await;
        let listed = sessions(&second).await;
        assert_eq!(devices(&listed), ["Ana's phone 📱", "first"], "the one used last first");
        assert_eq!([&listed[0]["current"], &listed[1]["current"]], [true, false]);
        let used = |sessions: &[Value], id: &Value| {
            sessions.iter().find(|session| session["id"] == *id).unwrap()["last_used_at"].clone()
        };
        let id = listed[1]["id"].clone();
        first.renew().await.ok(200);
        let later = sessions(&second).await;
        assert_eq!(devices(&later), ["first", "Ana's phone 📱"]);
        assert!(text(&used(&later, &id)) > text(&used(&listed, &id)));
    });
}

#[test]
fn a_device_without_a_label_is_known_by_its_user_agent() {
    test(async |server| {
        let nobody = server.nobody();
        let request = nobody.request(reqwest::Method::POST, "/v1/guests");
        let made = Answer::of(request.header("user-agent", format!("Client/1.0 {}", "x".repeat(200)))).await;
        let guest = nobody.signed_in(&made.ok(201));
        let listed = sessions(&guest).await;
        assert!(devices(&listed)[0].starts_with("Client/1.0 xxx"));
        assert_eq!(devices(&listed)[0].len(), 80);
        let guest = nobody.signed_in(&nobody.post("/v1/guests", json!({ "device": "tablet" })).await.ok(201));
        assert_eq!(devices(&sessions(&guest).await), ["tablet"]);
        let silent = nobody.signed_in(&nobody.post("/v1/guests", json!({})).await.ok(201));
        assert_eq!(devices(&sessions(&silent).await), [""]);
        for device in ["x".repeat(81), "a\u{202e}b".to_owned(), "a\nb".to_owned()] {
            let problem =
                nobody.post("/v1/guests", json!({ "device": device })).await.problem(422, "invalid_value");
            assert_eq!(problem["errors"][0]["pointer"], "/device");
        }
    });
}

#[test]
fn one_session_is_ended_and_the_others_go_on() {
    test(async |server| {
        let first = server.account("ana").await;
        let second = sign_in(&first, "ana", "second").await;
        let (other, listed) = (server.account("ben").await, sessions(&first).await);
        let id = |device: &str| {
            let found = listed.iter().find(|session| session["device"] == device);
            text(&found.unwrap()["id"]).to_owned()
        };
        let path = format!("/v1/sessions/{}", id("second"));
        other.delete(&path).await.problem(404, "session_not_found");
        server.nobody().delete(&path).await.problem(401, "token_missing");
        let unknown = "/v1/sessions/00000000-0000-0000-0000-000000000000";
        first.delete(unknown).await.problem(404, "session_not_found");
        assert_eq!(sessions(&first).await.len(), 2);
        for _ in 0..2 {
            assert_eq!(first.delete(&path).await.status, 204, "repeating it is safe");
        }
        second.renew().await.problem(401, "refresh_invalid");
        assert_eq!(devices(&sessions(&first).await), ["first"]);
        first.renew().await.ok(200);
        other.renew().await.ok(200);
    });
}

#[test]
fn all_sessions_are_ended_at_once() {
    test(async |server| {
        let first = server.account("ana").await;
        let others = [sign_in(&first, "ana", "2").await, sign_in(&first, "ana", "3").await];
        let ben = server.account("ben").await;
        assert_eq!(others[0].delete("/v1/sessions").await.status, 204);
        for who in [&first, &others[0], &others[1]] {
            who.renew().await.problem(401, "refresh_invalid");
        }
        ben.renew().await.ok(200);
        let again = sign_in(&server.nobody(), "ana", "again").await;
        assert_eq!(devices(&sessions(&again).await), ["again"]);
    });
}

#[test]
fn no_method_takes_a_word_for_a_session() {
    test(async |server| {
        let ana = server.account("ana").await;
        for word in ["refresh", "recovery"] {
            ana.delete(&format!("/v1/sessions/{word}")).await.problem(405, "method_not_allowed");
        }
        ana.renew().await.ok(200);
    });
}

#[test]
fn signing_in_gives_nothing_to_the_tokens_of_before() {
    test(async |server| {
        // Whoever planted a guest's tokens on a device has the guest afterwards, and not the account.
        server.account("ana").await;
        let planted = server.guest("Planted").await;
        let victim = sign_in(&planted, "ana", "victim").await;
        assert_ne!(victim.id, planted.id);
        assert_ne!((&victim.token, &victim.refresh), (&planted.token, &planted.refresh));
        assert_eq!(planted.get("/v1/me").await.ok(200)["kind"], "guest");
        let pair = planted.renew().await.ok(200);
        let renewed = planted.renewed(&pair);
        assert_eq!(renewed.get("/v1/me").await.ok(200)["id"], planted.id);
        let listed = sessions(&victim).await;
        assert_eq!(devices(&listed), ["victim", "first"], "the guest's session is none of them");
        assert_eq!(sessions(&renewed).await.len(), 1);
        // Signed in twice, a device has two sessions, and the older one is not the newer.
        let again = sign_in(&victim, "ana", "again").await;
        assert_eq!(again.delete("/v1/sessions/current").await.status, 204);
        again.renew().await.problem(401, "refresh_invalid");
        victim.renew().await.ok(200);
    });
}

#[test]
fn a_guest_who_registered_can_end_what_was_signed_in_before() {
    test(async |server| {
        let guest = server.guest("Ana").await;
        let body = json!({ "username": "ana", "password": PASSWORD });
        let guest = guest.signed_in(&guest.post("/v1/accounts", body).await.ok(201));
        let elsewhere = sign_in(&server.nobody(), "ana", "elsewhere").await;
        let change = json!({ "password": PASSWORD, "new_password": "six pits, five stones" });
        elsewhere.put("/v1/me/password", change).await.ok(200);
        guest.renew().await.problem(401, "refresh_invalid");
    });
}

#[test]
fn a_session_of_an_account_ends_after_sixty_days_without_use() {
    test(async |server| {
        let ana = server.account("ana").await;
        let guest = server.guest("Ben").await;
        change(server, "update session set last_used_at = now() - interval '59 days 23 hours'").await;
        let pair = ana.renew().await.ok(200);
        let ana = ana.renewed(&pair);
        change(server, "update session set last_used_at = now() - interval '60 days 1 minute'").await;
        ana.renew().await.problem(401, "refresh_invalid");
        guest.renew().await.ok(200);
    });
}

#[test]
fn a_session_of_an_account_ends_after_a_year_however_much_it_is_used() {
    test(async |server| {
        let (ana, guest) = (server.account("ana").await, server.guest("Ben").await);
        let long_ago = "update session set created_at = now() - interval '366 days'";
        change(server, long_ago).await;
        // Whoever registers as an old guest is not thrown out for that.
        let body = json!({ "username": "ben", "password": PASSWORD });
        let guest = guest.signed_in(&guest.post("/v1/accounts", body).await.ok(201));
        guest.renew().await.ok(200);
        ana.renew().await.ok(200);
        change(server, "update account set created_at = now() - interval '366 days' where username = 'ana'")
            .await;
        let ana = sign_in(&ana, "ana", "new").await;
        change(server, long_ago).await;
        ana.renew().await.problem(401, "refresh_invalid");
        sign_in(&ana, "ana", "newer").await.renew().await.ok(200);
    });
}

#[test]
fn cleaning_up_ends_what_is_old_and_forgets_what_ended_long_ago() {
    test(async |server| {
        let (ana, ben) = (server.account("ana").await, server.account("ben").await);
        let (guest, gone) = (server.guest("Guest").await, server.guest("Gone").await);
        let young = sign_in(&ana, "ana", "young").await;
        ana.renew().await.ok(200);
        assert_eq!(gone.delete("/v1/sessions/current").await.status, 204);
        change(
            server,
            "update session set last_used_at = now() - interval '61 days' where label = 'first'
            and player_id in (select player_id from account where username = 'ana')",
        )
        .await;
        change(server, "update session set created_at = now() - interval '400 days' where label <> 'young'")
            .await;
        change(server, "update account set created_at = now() - interval '400 days'").await;
        server.service().end_old_sessions().await.unwrap();
        let revoked = "select count(*) from session where revoked_at is not null";
        assert_eq!(
            count(server, revoked).await,
            3,
            "ana's and ben's first ones, and the one that was signed out"
        );
        assert_eq!(devices(&sessions(&young).await), ["young"]);
        ben.renew().await.problem(401, "refresh_invalid");
        guest.renew().await.ok(200);
        assert_eq!(count(server, "select count(*) from session").await, 5);

        change(server, "update session set revoked_at = revoked_at - interval '31 days'").await;
        server.service().forget_sessions().await.unwrap();
        assert_eq!(count(server, "select count(*) from session").await, 2);
        let orphans = "select count(*) from refresh_token where session_id not in (select id from session)";
        assert_eq!(count(server, orphans).await, 0);
        for dead in [&ana, &ben, &gone] {
            dead.renew().await.problem(401, "refresh_invalid");
        }
        young.renew().await.ok(200);
    });
}

#[test]
fn the_hundred_and_first_session_takes_the_place_of_the_one_used_least_lately() {
    test(async |server| {
        let first = server.account("ana").await;
        change(
            server,
            "insert into session (id, player_id, label, last_used_at)
            select gen_random_uuid(), player_id, n, now() - n * interval '1 hour'
            from account, generate_series(1, 99) n",
        )
        .await;
        assert_eq!(sessions(&first).await.len(), 100);
        let newest = sign_in(&first, "ana", "newest").await;
        let listed = sessions(&newest).await;
        assert_eq!(listed.len(), 100);
        assert_eq!(devices(&listed)[..3], ["newest", "first", "1"]);
        assert!(!devices(&listed).contains(&"99"), "the oldest had to go");
    });
}

#[test]
fn a_refresh_and_the_end_of_its_session_at_the_same_moment_leave_nothing_good() {
    test(async |server| {
        let ana = server.account("ana").await;
        for round in 0..8 {
            let there = sign_in(&ana, "ana", &format!("round {round}")).await;
            let listed = sessions(&there).await;
            let current = listed.iter().find(|session| session["current"] == true).unwrap();
            let path = format!("/v1/sessions/{}", text(&current["id"]));
            let (ending, refreshing) = (ana.clone(), there.clone());
            let end = tokio::spawn(async move { ending.delete(&path).await });
            let answers = at_once([async move { refreshing.renew().await }]).await;
            assert_eq!(end.await.unwrap().status, 204);
            for answer in answers.into_iter().filter(|answer| answer.status == 200) {
                let pair = answer.ok(200);
                let last = there.renewed(&pair);
                last.renew().await.problem(401, "refresh_invalid");
            }
            there.renew().await.problem(401, "refresh_invalid");
        }
    });
}
