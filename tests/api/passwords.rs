//! Passwords and recovery codes: the work that they cost, what changes them, and what they end.

use std::thread::available_parallelism;

use mancala_server::account::Cost;
use serde_json::{Value, json};

use crate::harness::{Answer, PASSWORD, Player, TestServer, at_once, test, text};

const OTHER: &str = "six pits, five stones";

async fn recover(who: &Player, username: &str, code: &Value) -> Answer {
    let body = json!({ "username": username, "recovery_code": code, "new_password": OTHER });
    who.post("/v1/sessions/recovery", body).await
}

/// How many passwords the server has compared with a hash.
async fn verifications(server: &TestServer) -> u64 {
    let text = server.nobody().get("/metrics").await.text;
    let line = text.lines().find(|line| line.starts_with("mancala_password_verifications_total "));
    line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

async fn stored_hash(server: &TestServer) -> String {
    let sql = "select password from account";
    sqlx::query_scalar(sql).fetch_one(&mut server.database().await).await.unwrap()
}

#[test]
fn wrong_passwords_and_unknown_users_get_the_same_answer_for_the_same_work() {
    test(async |server| {
        server.account("ana").await;
        let nobody = server.nobody();
        let mut answers = Vec::new();
        for (username, password) in [
            ("ana", OTHER),
            ("ben", OTHER),
            ("ben", PASSWORD),
            ("ana", ""),
            ("", ""),
            ("x", "y"),
            ("no such name 🎲\0", "\0"),
            (&"n".repeat(10_000), &"p".repeat(10_000)),
        ] {
            let before = verifications(server).await;
            let answer = nobody.sign_in(username, password).await;
            assert_eq!(verifications(server).await, before + 1, "{username}");
            let mut headers: Vec<String> = answer.headers.keys().map(ToString::to_string).collect();
            headers.sort();
            answers.push((headers, answer.problem(401, "wrong_credentials")));
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{answers:#?}");
    });
}

#[test]
fn recovery_tells_no_more_of_unknown_users() {
    test(async |server| {
        server.account("ana").await;
        let code = json!("01234-56789-abcde-fghjk");
        let known = recover(&server.nobody(), "ana", &code).await.problem(401, "wrong_credentials");
        let unknown = recover(&server.nobody(), "ben", &code).await.problem(401, "wrong_credentials");
        assert_eq!(known, unknown);
        let weak = json!({ "username": "ben", "recovery_code": code, "new_password": "password" });
        let weak = server.nobody().post("/v1/sessions/recovery", weak).await;
        assert_eq!(weak.problem(401, "wrong_credentials"), known);
    });
}

#[test]
fn passwords_that_everybody_knows_are_refused() {
    test(async |server| {
        let nobody = server.nobody();
        let before = server.everything().await;
        for (password, code) in [
            ("password", "weak_password"),
            ("Passw0rd", "weak_password"),
            ("1234567890", "weak_password"),
            ("qwertyuiop", "weak_password"),
            ("aaaaaaaaaaaaa", "weak_password"),
            ("mafalda99", "weak_password"),
            ("lisbonne1", "weak_password"),
            ("seven 7", "invalid_value"),
            (&"x".repeat(129), "invalid_value"),
        ] {
            let body = json!({ "username": "mafalda", "password": password, "name": "Lisbonne" });
            let problem = nobody.post("/v1/accounts", body).await.problem(422, code);
            assert_eq!(problem["errors"][0]["pointer"], "/password");
            assert!(
                password == "password" || !problem.to_string().contains(password),
                "it is never repeated"
            );
        }
        assert_eq!(server.everything().await, before);
        let ana = server.account("ana").await;
        let change = json!({ "password": PASSWORD, "new_password": "password" });
        let problem = ana.put("/v1/me/password", change).await.problem(422, "weak_password");
        assert_eq!(problem["errors"][0]["pointer"], "/new_password");
        // 128 characters, however many bytes those are.
        let long = "七つの穴と四つの石だよと石が".repeat(10).chars().take(128).collect::<String>();
        let body = json!({ "username": "long", "password": long });
        nobody.post("/v1/accounts", body).await.ok(201);
        nobody.sign_in("long", &long).await.ok(201);
        let shorter: String = long.chars().take(127).collect();
        nobody.sign_in("long", &shorter).await.problem(401, "wrong_credentials");
    });
}

#[test]
fn neither_passwords_nor_recovery_codes_are_stored() {
    test(async |server| {
        let body = json!({ "username": "ana", "password": PASSWORD });
        let made = server.nobody().post("/v1/accounts", body).await.ok(201);
        let stored = server.everything().await;
        assert!(stored.contains("$argon2id$v=19$"));
        let codes = made["recovery_codes"].as_array().unwrap().iter().map(text);
        for secret in
            codes.flat_map(|code| [code.to_owned(), code.replace('-', "")]).chain([PASSWORD.to_owned()])
        {
            let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
            assert!(!stored.contains(&secret) && !stored.contains(&hex));
        }
    });
}

#[test]
fn a_new_password_ends_all_other_sessions() {
    test(async |server| {
        let here = server.account("ana").await;
        let there = here.signed_in(&here.without_token().sign_in("ana", PASSWORD).await.ok(201));
        let guest = server.guest("Ben").await;
        let change = json!({ "password": PASSWORD, "new_password": OTHER });
        let wrong = json!({ "password": OTHER, "new_password": OTHER });
        here.put("/v1/me/password", wrong).await.problem(403, "wrong_password");
        there.renew().await.ok(200);
        guest.put("/v1/me/password", change.clone()).await.problem(403, "account_needed");
        server.nobody().put("/v1/me/password", change.clone()).await.problem(401, "token_missing");

        let there = here.signed_in(&here.without_token().sign_in("ana", PASSWORD).await.ok(201));
        let changed = here.put("/v1/me/password", change).await.ok(200);
        assert_eq!(changed["recovery_codes"].as_array().unwrap().len(), 10);
        there.renew().await.problem(401, "refresh_invalid");
        let sessions = here.get("/v1/sessions").await.ok(200);
        assert_eq!(sessions["items"].as_array().unwrap().len(), 1);
        here.renew().await.ok(200);
        here.without_token().sign_in("ana", PASSWORD).await.problem(401, "wrong_credentials");
        here.without_token().sign_in("ana", OTHER).await.ok(201);
    });
}

#[test]
fn no_session_of_the_old_password_survives_a_change_at_the_same_moment() {
    test(async |server| {
        for round in 0..6 {
            let name = format!("ana-{round}x");
            let ana = server.account(&name).await;
            let (changing, signing) = (ana.clone(), [ana.clone(), ana.clone(), ana.clone()]);
            let change = json!({ "password": PASSWORD, "new_password": OTHER });
            let change = tokio::spawn(async move { changing.put("/v1/me/password", change).await });
            let signing = signing.map(|who| {
                let name = name.clone();
                async move { who.without_token().sign_in(&name, PASSWORD).await }
            });
            let answers = at_once(signing).await;
            change.await.unwrap().ok(200);
            for answer in answers {
                if answer.status == 201 {
                    let there = ana.signed_in(&answer.ok(201));
                    there.renew().await.problem(401, "refresh_invalid");
                } else {
                    answer.problem(401, "wrong_credentials");
                }
            }
        }
    });
}

#[test]
fn a_recovery_code_sets_a_password_once_and_ends_everything_else() {
    test(async |server| {
        let body = json!({ "username": "ana", "password": PASSWORD });
        let made = server.nobody().post("/v1/accounts", body).await.ok(201);
        let ana = server.nobody().signed_in(&made);
        let sql = "insert into personal_token (id, player_id, name, hash, scopes)
            values (gen_random_uuid(), $1::uuid, 'a script', sha256('x'), '{games:read}')";
        sqlx::query(sql).bind(&ana.id).execute(&mut server.database().await).await.unwrap();
        let codes = made["recovery_codes"].as_array().unwrap();
        let ben = server.account("ben").await;
        recover(&ben, "ben", &codes[0]).await.problem(401, "wrong_credentials");
        let weak = json!({ "username": "ana", "recovery_code": codes[0], "new_password": "password" });
        let problem = ben.post("/v1/sessions/recovery", weak).await.problem(422, "weak_password");
        assert_eq!(problem["errors"][0]["pointer"], "/new_password");

        let typed = json!(text(&codes[0]).to_uppercase().replace('-', " "));
        let recovered = recover(&server.nobody(), "ANA", &typed).await.ok(201);
        let recovered = server.nobody().signed_in(&recovered);
        assert_eq!(recovered.get("/v1/me").await.ok(200)["id"], ana.id);
        ana.renew().await.problem(401, "refresh_invalid");
        ben.renew().await.ok(200);
        let sessions = recovered.get("/v1/sessions").await.ok(200);
        assert_eq!(sessions["items"].as_array().unwrap().len(), 1);
        let tokens: i64 = sqlx::query_scalar("select count(*) from personal_token")
            .fetch_one(&mut server.database().await)
            .await
            .unwrap();
        assert_eq!(tokens, 0);
        recover(&server.nobody(), "ana", &codes[0]).await.problem(401, "wrong_credentials");
        ana.without_token().sign_in("ana", PASSWORD).await.problem(401, "wrong_credentials");
        ana.without_token().sign_in("ana", OTHER).await.ok(201);

        // Of several who use one at once, one gets in.
        let callers = [0; 4].map(|_| (server.nobody(), codes[1].clone()));
        let answers =
            at_once(callers.map(|(who, code)| async move { recover(&who, "ana", &code).await })).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    });
}

#[test]
fn new_recovery_codes_take_the_place_of_the_old_ones() {
    test(async |server| {
        let body = json!({ "username": "ana", "password": PASSWORD });
        let made = server.nobody().post("/v1/accounts", body).await.ok(201);
        let (ana, guest) = (server.nobody().signed_in(&made), server.guest("Ben").await);
        let path = "/v1/me/recovery";
        guest.post(path, json!({ "password": PASSWORD })).await.problem(403, "account_needed");
        ana.post(path, json!({ "password": OTHER })).await.problem(403, "wrong_password");
        let new = ana.post(path, json!({ "password": PASSWORD })).await.ok(201);
        assert_eq!(new["recovery_codes"].as_array().unwrap().len(), 10);
        let nobody = server.nobody();
        for old in made["recovery_codes"].as_array().unwrap() {
            recover(&nobody, "ana", old).await.problem(401, "wrong_credentials");
        }
        recover(&nobody, "ana", &new["recovery_codes"][9]).await.ok(201);
    });
}

#[test]
fn a_password_is_hashed_anew_at_sign_in_when_it_cost_less_than_it_would_now() {
    test(async |server| {
        server.account("ana").await;
        let first = stored_hash(server).await;
        assert!(first.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{first}");
        let dearer = server.another_at_cost(Cost::new(128, 2, 1).unwrap()).await;
        dearer.nobody().sign_in("ana", OTHER).await.problem(401, "wrong_credentials");
        assert_eq!(stored_hash(server).await, first, "only the right password can be hashed");
        // Several at once: all get in.
        let callers = [0; 3].map(|_| dearer.nobody());
        for answer in
            at_once(callers.map(|who| async move { who.without_token().sign_in("ana", PASSWORD).await }))
                .await
        {
            answer.ok(201);
        }
        let second = stored_hash(server).await;
        assert!(second.starts_with("$argon2id$v=19$m=128,t=2,p=1$"), "{second}");
        // A server that has not been told yet lowers nothing.
        server.nobody().sign_in("ana", PASSWORD).await.ok(201);
        assert_eq!(stored_hash(server).await, second);
        dearer.stop().await;
    });
}

#[test]
fn beyond_a_short_queue_nobody_waits_for_hashing() {
    test(async |server| {
        let slow = server.another_at_cost(Cost::new(19_456, 20, 1).unwrap()).await;
        let served = available_parallelism().unwrap().get() + 16;
        let callers = (0..served + 30).map(|i| (slow.nobody(), format!("name-{i}x")));
        let answers = at_once(
            callers.map(|(who, name)| async move { who.without_token().sign_in(&name, PASSWORD).await }),
        )
        .await;
        let verified = answers.iter().filter(|answer| answer.status == 401).count();
        assert!((served..served + 30).contains(&verified), "{verified} of {}", answers.len());
        assert_eq!(verifications(&slow).await, u64::try_from(verified).unwrap());
        for answer in answers.into_iter().filter(|answer| answer.status != 401) {
            assert!(answer.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() >= 1);
            answer.problem(429, "sign_in_busy");
        }
        slow.nobody().sign_in("later", PASSWORD).await.problem(401, "wrong_credentials");
        slow.stop().await;
    });
}

#[test]
fn repeated_failures_slow_answers_down_and_lock_nobody_out() {
    test(async |server| {
        server.account("ana").await;
        for username in ["ana", "ben"] {
            let began = std::time::Instant::now();
            for _ in 0..4 {
                server.nobody().sign_in(username, OTHER).await.problem(401, "wrong_credentials");
            }
            assert!(began.elapsed().as_millis() >= 250 + 500 + 1000, "{username}: {:?}", began.elapsed());
        }
        server.nobody().sign_in("ana", PASSWORD).await.ok(201);
    });
}
