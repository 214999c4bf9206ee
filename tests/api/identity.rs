//! Guests, and the refresh tokens by which a device stays signed in.

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Answer, KEY, Player, TestServer, test, text};

/// A new pair for a token that must be good.
async fn exchanged(anybody: &Player, token: &Value) -> Value {
    let pair = anybody.renew_with(text(token)).await.ok(200);
    assert_is_a_pair(&pair);
    assert_ne!(&pair["refresh_token"], token);
    pair
}

fn signed_in(player: &Player, pair: &Value) -> Player {
    player.with_token(pair["access_token"].as_str().unwrap())
}

#[track_caller]
fn assert_is_a_pair(answer: &Value) {
    assert_eq!((&answer["token_type"], &answer["expires_in"]), (&json!("Bearer"), &json!(900)), "{answer}");
    assert_eq!(answer["access_token"].as_str().unwrap().split('.').count(), 3);
    assert!(answer["refresh_token"].as_str().unwrap().len() >= 43, "at least 256 bits in base64");
}

/// Moves the moment at which a used token was used back in time.
async fn pretend_used_earlier(server: &TestServer, milliseconds: f64) {
    let sql = "update refresh_token set used_at = used_at - $1 * interval '1 millisecond'";
    let done = sqlx::query(sql).bind(milliseconds).execute(&mut server.database().await).await.unwrap();
    assert!(done.rows_affected() > 0);
}

#[test]
fn a_guest_is_one_request_with_or_without_a_name() {
    test(async |server| {
        let nobody = server.nobody();
        for (body, name) in [
            (json!({ "name": "Ana" }), Some("Ana")),
            (json!({ "name": "  Zoë 🎲 " }), Some("Zoë 🎲")),
            (json!({}), None),
        ] {
            let made = nobody.post("/v1/guests", body).await;
            assert_eq!(made.headers["cache-control"], "no-store");
            let made = made.ok(201);
            assert_is_a_pair(&made);
            assert_eq!(made["player"]["kind"], "guest");
            let given = made["player"]["name"].as_str().unwrap();
            assert!(name.map_or(!given.is_empty(), |name| name == given), "{given}");
            let me = signed_in(&nobody, &made).get("/v1/me").await.ok(200);
            for field in ["id", "name", "kind"] {
                assert_eq!(me[field], made["player"][field]);
            }
        }
        let bare = Answer::of(nobody.request(reqwest::Method::POST, "/v1/guests")).await.ok(201);
        assert_is_a_pair(&bare);
    });
}

#[test]
fn a_new_name_is_seen_by_others_and_in_games() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        assert_eq!(people[0].patch("/v1/me", json!({})).await.ok(200)["name"], "Player 0");
        assert_eq!(people[0].patch("/v1/me", json!({ "name": " Ana " })).await.ok(200)["name"], "Ana");
        let seen = people[1].get(&format!("/v1/players/{}", people[0].id)).await.ok(200);
        let seat = people[1].game(game["id"].as_str().unwrap()).await["seats"][0]["player"].clone();
        assert_eq!((&seen["name"], &seat["name"]), (&json!("Ana"), &json!("Ana")));
    });
}

#[test]
fn tokens_are_stored_as_hashes_only() {
    test(async |server| {
        let guest = server.guest("Ana").await;
        let stored = server.everything().await;
        for secret in [&guest.refresh, guest.token.as_ref().unwrap()] {
            let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
            assert!(!stored.contains(secret.as_str()) && !stored.contains(&hex));
        }
    });
}

#[test]
fn a_refresh_replaces_both_tokens() {
    test(async |server| {
        let guest = server.guest("Ana").await;
        let mut token = json!(guest.refresh);
        for _ in 0..4 {
            let pair = exchanged(&guest, &token).await;
            let renewed = signed_in(&guest, &pair);
            assert_eq!(renewed.get("/v1/me").await.ok(200)["id"], guest.id);
            token = pair["refresh_token"].clone();
        }
    });
}

#[test]
fn the_replaced_token_is_honoured_once_more_and_its_third_use_ends_the_session() {
    test(async |server| {
        let guest = server.guest("Ana").await;
        let first = json!(guest.refresh);
        let lost = exchanged(&guest, &first).await;
        let repeated = exchanged(&guest, &first).await;
        assert_ne!(lost["refresh_token"], repeated["refresh_token"]);
        guest.renew_with(text(&first)).await.problem(401, "refresh_reused");
        for token in [&first, &lost["refresh_token"], &repeated["refresh_token"]] {
            guest.renew_with(text(token)).await.problem(401, "refresh_invalid");
        }
    });
}

#[test]
fn of_the_two_answers_to_a_repeated_refresh_the_one_used_first_goes_on() {
    test(async |server| {
        for later in [false, true] {
            let guest = server.guest("Ana").await;
            let first = json!(guest.refresh);
            let mut answers = [exchanged(&guest, &first).await, exchanged(&guest, &first).await];
            if later {
                answers.reverse();
            }
            let [used, other] = answers.map(|answer| answer["refresh_token"].clone());
            let third = exchanged(&guest, &used).await;
            let fourth = exchanged(&guest, &third["refresh_token"]).await;
            guest.renew_with(text(&other)).await.problem(401, "refresh_reused");
            guest.renew_with(text(&fourth["refresh_token"])).await.problem(401, "refresh_invalid");
        }
    });
}

#[test]
fn a_token_whose_successor_has_been_used_is_not_forgiven() {
    test(async |server| {
        let guest = server.guest("Ana").await;
        let first = json!(guest.refresh);
        let second = exchanged(&guest, &first).await;
        let third = exchanged(&guest, &second["refresh_token"]).await;
        guest.renew_with(text(&first)).await.problem(401, "refresh_reused");
        guest.renew_with(text(&third["refresh_token"])).await.problem(401, "refresh_invalid");
    });
}

#[test]
fn a_lost_answer_is_forgiven_at_every_rotation() {
    test(async |server| {
        let guest = server.guest("Ana").await;
        let mut token = json!(guest.refresh);
        for _ in 0..3 {
            let _lost = exchanged(&guest, &token).await;
            token = exchanged(&guest, &token).await["refresh_token"].clone();
        }
    });
}

#[test]
fn forgiveness_ends_thirty_seconds_after_the_use() {
    test(async |server| {
        // With 15 of the 30 seconds left for this test to run in.
        let guest = server.guest("Ana").await;
        exchanged(&guest, &json!(guest.refresh)).await;
        pretend_used_earlier(server, 15_000.0).await;
        exchanged(&guest, &json!(guest.refresh)).await;

        let guest = server.guest("Ben").await;
        let lost = exchanged(&guest, &json!(guest.refresh)).await;
        pretend_used_earlier(server, 30_000.0).await;
        guest.renew_with(&guest.refresh).await.problem(401, "refresh_reused");
        guest.renew_with(text(&lost["refresh_token"])).await.problem(401, "refresh_invalid");
    });
}

#[test]
fn of_many_refreshes_at_once_with_one_token_two_get_tokens_and_the_third_ends_the_session() {
    test(async |server| {
        let guest = server.guest("Ana").await;
        let mut running = JoinSet::new();
        for _ in 0..10 {
            let (guest, token) = (guest.clone(), json!(guest.refresh));
            running.spawn(async move { guest.renew_with(text(&token)).await });
        }
        let mut codes = Vec::new();
        let mut tokens = Vec::new();
        for answer in running.join_all().await {
            match answer.json()["refresh_token"].clone() {
                Value::Null => codes.push(answer.json()["code"].as_str().unwrap().to_owned()),
                token => tokens.push(token),
            }
        }
        assert_eq!(tokens.len(), 2);
        assert_eq!(codes.iter().filter(|code| *code == "refresh_reused").count(), 1, "{codes:?}");
        assert_eq!(codes.iter().filter(|code| *code == "refresh_invalid").count(), 7, "{codes:?}");
        for token in tokens {
            guest.renew_with(text(&token)).await.problem(401, "refresh_invalid");
        }
    });
}

#[test]
fn what_is_no_refresh_token_is_refused_and_ends_nothing() {
    test(async |server| {
        let guest = server.guest("Ana").await;
        let access = guest.token.clone().unwrap();
        let shorter = guest.refresh[..guest.refresh.len() - 1].to_owned();
        let unknown = "mancala_rt_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".to_owned();
        let before = server.everything().await;
        for token in [unknown, access, shorter, guest.refresh.to_uppercase(), String::new(), "\0".to_owned()]
        {
            let refused = guest.renew_with(&token).await;
            assert!(refused.headers.contains_key("www-authenticate"));
            refused.problem(401, "refresh_invalid");
        }
        assert_eq!(server.everything().await, before);
        exchanged(&guest, &json!(guest.refresh)).await;
    });
}

#[test]
fn signing_out_makes_the_refresh_token_worthless_on_this_device_only() {
    test(async |server| {
        let (guest, other) = (server.guest("Ana").await, server.guest("Ben").await);
        let renewed = exchanged(&guest, &json!(guest.refresh)).await;
        assert_eq!(guest.delete("/v1/sessions/current").await.status, 204);
        for token in [&json!(guest.refresh), &renewed["refresh_token"]] {
            guest.renew_with(text(token)).await.problem(401, "refresh_invalid");
        }
        // Repeating it changes nothing.
        guest.delete("/v1/sessions/current").await.problem(401, "token_invalid");
        exchanged(&other, &json!(other.refresh)).await;
    });
}

#[test]
fn a_returning_device_resumes_its_seats() {
    test(async |server| {
        let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let id = game["id"].as_str().unwrap();
        let mover = &people[usize::try_from(game["to_move"].as_u64().unwrap()).unwrap()];
        // The device has kept nothing but its refresh token, and asks another server of the same service.
        let elsewhere = server.another().await;
        let pair = exchanged(&elsewhere.nobody(), &json!(mover.refresh)).await;
        let returned = signed_in(&elsewhere.nobody(), &pair);
        let me = returned.get("/v1/me").await.ok(200)["id"].clone();
        assert_eq!(me, mover.id);
        let mine = returned.get(&format!("/v1/games?status=running&player={}", mover.id)).await.ok(200);
        assert_eq!(mine["items"][0]["id"], id);
        let played = returned.sow(id, 0, 0).await.ok(200);
        assert_eq!(played["accepted"]["seat"], game["to_move"]);
        elsewhere.stop().await;
    });
}

#[test]
fn a_signing_key_is_replaced_without_logging_anybody_out() {
    test(async |server| {
        const NEW: &str = "dGhlIG5leHQga2V5IG9mIHRoZSBtYW5jYWxhIHRlc3RzLCBsb25n";
        let guest = server.guest("Ana").await;
        // First the new key is rolled out as the second of the list, then it signs, at last the old one goes.
        let second = server.another_with(0, &format!("{KEY},{NEW}")).await;
        let first = server.another_with(0, &format!("{NEW},{KEY}")).await;
        let only = server.another_with(0, NEW).await;
        let signed_by_new = first.guest("Ben").await;
        let accepted = async |server: &TestServer, player: &Player| {
            server.nobody().with_token(player.token.as_ref().unwrap()).get("/v1/me").await
        };
        for server in [server, &second, &first] {
            accepted(server, &guest).await.ok(200);
        }
        accepted(&only, &guest).await.problem(401, "token_invalid");
        for server in [&second, &first, &only] {
            accepted(server, &signed_by_new).await.ok(200);
        }
        accepted(server, &signed_by_new).await.problem(401, "token_invalid");
        let pair = exchanged(&only.nobody(), &json!(guest.refresh)).await;
        accepted(&only, &signed_in(&guest, &pair)).await.ok(200);
        for server in [second, first, only] {
            server.stop().await;
        }
    });
}

#[test]
fn a_dead_token_stays_dead_after_old_ones_are_forgotten() {
    test(async |server| {
        let (guest, nobody) = (server.guest("Ana").await, server.nobody());
        let first = json!(guest.refresh);
        // The answer to the first refresh is lost, so it is repeated; the device goes on with the second answer.
        let lost = exchanged(&nobody, &first).await;
        let kept = exchanged(&nobody, &first).await;
        exchanged(&nobody, &kept["refresh_token"]).await;
        pretend_used_earlier(server, 31.0 * 24.0 * 3600.0 * 1000.0).await;
        server.service().forget_used_tokens().await.unwrap();
        assert_eq!(nobody.renew_with(text(&lost["refresh_token"])).await.status, 401);
    });
}
