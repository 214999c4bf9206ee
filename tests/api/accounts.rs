//! Registering: new players and guests, usernames, and what a guest keeps.

use serde_json::{Value, json};

use crate::harness::{PASSWORD, at_once, play_out, test, text};

#[test]
fn an_account_is_one_request_and_comes_back_from_anywhere() {
    test(async |server| {
        let new = json!({ "username": "Ana.Maria", "password": PASSWORD, "name": "Ana" });
        let made = server.nobody().post("/v1/accounts", new).await.ok(201);
        assert_eq!((&made["player"]["kind"], &made["player"]["name"]), (&json!("account"), &json!("Ana")));
        assert_eq!(made["recovery_codes"].as_array().unwrap().len(), 10);
        let ana = server.nobody().signed_in(&made);
        let me = ana.get("/v1/me").await.ok(200);
        assert_eq!((&me["username"], &me["preferences"]), (&json!("ana.maria"), &json!({})));
        let elsewhere = server.another().await;
        for written in ["Ana.Maria", "ana.maria", "ANAMARIA", "ａｎａ_ｍａｒｉａ"] {
            let again = elsewhere.nobody().sign_in(written, PASSWORD).await.ok(201);
            let again = elsewhere.nobody().signed_in(&again);
            assert_eq!(again.get("/v1/me").await.ok(200), me, "{written}");
        }
        elsewhere.stop().await;
    });
}

#[test]
fn nobody_else_is_told_a_username() {
    test(async |server| {
        let (ana, ben) = (server.account("ana-secretly").await, server.guest("Ben").await);
        let seen = ben.get(&format!("/v1/players/{}", ana.id)).await;
        assert!(!seen.text.contains("ana"), "not even in the made-up name: {}", seen.text);
        assert_eq!(seen.ok(200)["kind"], "account");
    });
}

#[test]
fn of_two_who_register_one_name_at_once_one_wins() {
    test(async |server| {
        let other = server.another().await;
        for (first, second) in
            [("mallory", "mallory"), ("carol", "Carol"), ("lol-user", "l0l.user"), ("modern", "rnodern")]
        {
            let callers = [(server.nobody(), first), (other.nobody(), second)];
            let answers = at_once(callers.map(|(who, name)| async move { who.register(name).await })).await;
            let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
            statuses.sort_unstable();
            assert_eq!(statuses, [201, 409], "{first} and {second}");
            for answer in answers {
                if answer.status == 409 {
                    assert_eq!(answer.problem(409, "username_taken")["errors"][0]["pointer"], "/username");
                }
            }
        }
        let players: i64 = sqlx::query_scalar("select count(*) from player")
            .fetch_one(&mut server.database().await)
            .await
            .unwrap();
        assert_eq!(players, 4, "whoever lost has left nothing behind");
        other.stop().await;
    });
}

#[test]
fn one_guest_who_registers_twice_at_once_gets_one_account() {
    test(async |server| {
        let guest = server.guest("Ana").await;
        let names = ["ana-one", "ana-two", "ana-three"];
        let callers = names.map(|name| (guest.clone(), name));
        let answers = at_once(callers.map(|(who, name)| async move { who.register(name).await })).await;
        let won = answers.iter().filter(|answer| answer.status == 201).count();
        assert_eq!(won, 1);
        for answer in answers.into_iter().filter(|answer| answer.status != 201) {
            answer.problem(409, "already_registered");
        }
    });
}

#[test]
fn names_that_imitate_are_refused() {
    test(async |server| {
        server.account("paypal").await;
        let nobody = server.nobody();
        let before = server.everything().await;
        for (name, status, code) in [
            ("PayPal", 409, "username_taken"),
            ("ｐａｙｐａｌ", 409, "username_taken"),
            ("p.a-y_pal", 409, "username_taken"),
            ("paypa1", 409, "username_taken"),
            // All of it in Cyrillic.
            ("раураӏ", 409, "username_taken"),
            // One letter of it.
            ("pаypal", 422, "invalid_value"),
            ("pay\u{200b}pal", 422, "invalid_value"),
            ("pay\u{202e}lap", 422, "invalid_value"),
            ("pay\u{2066}pal\u{2069}", 422, "invalid_value"),
            ("paypal\u{feff}", 422, "invalid_value"),
            ("pay pal", 422, "invalid_value"),
            ("pay\u{a0}pal", 422, "invalid_value"),
            ("pay\0pal", 422, "invalid_value"),
            ("pay\r\npal", 422, "invalid_value"),
            ("_paypal", 422, "invalid_value"),
            ("pa", 422, "invalid_value"),
            (&"p".repeat(31), 422, "invalid_value"),
            ("Admin", 422, "username_reserved"),
            ("ａｄｍｉｎ", 422, "username_reserved"),
            ("м0dеrаtоr", 422, "invalid_value"),
            ("M0DERAT0R", 422, "username_reserved"),
            ("per.fect", 422, "username_reserved"),
        ] {
            let problem = nobody.register(name).await.problem(status, code);
            assert_eq!(problem["errors"][0]["pointer"], "/username", "{name:?}");
        }
        assert_eq!(server.everything().await, before);
        for name in ["Мария", "田中さん", "محمد", "김철수", "zoë"] {
            nobody.register(name).await.ok(201);
            nobody.sign_in(name, PASSWORD).await.ok(201);
        }
    });
}

#[test]
fn a_guest_who_registers_while_playing_keeps_playing() {
    test(async |server| {
        let (people, group, game) = server.group_game(json!({ "variant": "kalah" }), 2).await;
        let id = text(&game["id"]);
        let seat = usize::try_from(game["to_move"].as_u64().unwrap()).unwrap();
        let guest = people[seat].clone();
        let played = guest.sow(id, 2, 0).await.ok(200);
        let made = guest.register("ana").await.ok(201);
        assert_eq!(made["player"]["id"], guest.id);
        assert_eq!(made["player"]["name"], format!("Player {seat}"), "the name stays too");

        // Both access tokens are the same player, who is signed in once.
        let registered = guest.signed_in(&made);
        for who in [&guest, &registered] {
            assert_eq!(who.get("/v1/me").await.ok(200)["username"], "ana");
        }
        let sessions = registered.get("/v1/sessions").await.ok(200);
        assert_eq!(sessions["items"].as_array().unwrap().len(), 1);

        // The game goes on, the group too.
        let state = guest.game(id).await;
        assert_eq!(state["seq"], played["game"]["seq"]);
        assert_eq!(state["seats"][seat]["player"]["kind"], "account");
        let mut players = people.clone();
        players[seat] = registered;
        play_out(&players, id, |legal| legal[0]).await;
        let members = guest.get(&format!("/v1/groups/{}", text(&group["id"]))).await.ok(200);
        assert_eq!(members["members"][seat]["player"]["id"], guest.id);
    });
}

#[test]
fn a_guest_keeps_rating_and_ticket() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        let (people, game) = server.ranked_game_of("kalah", &[ana.clone(), ben.clone()]).await;
        play_out(&people, text(&game["id"]), |legal| legal[0]).await;
        let path = format!("/v1/players/{}/ratings", ana.id);
        let before = ana.get(&path).await.ok(200);
        assert!(before.to_string().contains("\"games\":1"), "{before}");
        let ticket = ana.ticket("basic", 2).await;
        ana.register("ana").await.ok(201);
        assert_eq!(ana.get(&path).await.ok(200), before);
        let ticket = ana.get(&format!("/v1/tickets/{}", text(&ticket["id"]))).await.ok(200);
        assert_eq!(ticket["status"], "waiting");
    });
}

#[test]
fn whoever_has_an_account_does_not_register_again() {
    test(async |server| {
        let ana = server.account("ana").await;
        ana.register("ana-again").await.problem(409, "already_registered");
        server.nobody().with_token("not.a.token").register("ben").await.problem(401, "token_invalid");
        server.nobody().sign_in("ana-again", PASSWORD).await.problem(401, "wrong_credentials");
        server.nobody().sign_in("ben", PASSWORD).await.problem(401, "wrong_credentials");
    });
}

#[test]
fn a_guest_with_something_to_lose_is_warned_before_signing_in_elsewhere() {
    test(async |server| {
        let account = server.account("ana").await;
        let body = |leave: Option<bool>| {
            let mut body = json!({ "username": "ana", "password": PASSWORD });
            if let Some(leave) = leave {
                body["leave_guest"] = json!(leave);
            }
            body
        };
        let in_game = server.guest("In a game").await;
        let new = json!({ "variant": "kalah", "computers": ["easy"] });
        in_game.post("/v1/games", new).await.ok(201);
        let in_group = server.guest("In a group").await;
        in_group.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        let waiting = server.guest("Waiting").await;
        waiting.ticket("basic", 4).await;
        let (one, two) = (server.guest("One").await, server.guest("Two").await);
        let (rated, game) = server.ranked_game_of("kalah", &[one, two]).await;
        play_out(&rated, text(&game["id"]), |legal| legal[0]).await;

        for guest in [&in_game, &in_group, &waiting, &rated[0]] {
            for leave in [None, Some(false)] {
                guest.post("/v1/sessions", body(leave)).await.problem(409, "guest_would_be_lost");
            }
            // Who does not know the password learns nothing of it.
            let wrong = json!({ "username": "ana", "password": "not the password" });
            guest.post("/v1/sessions", wrong).await.problem(401, "wrong_credentials");
            let signed_in = guest.post("/v1/sessions", body(Some(true))).await.ok(201);
            assert_eq!(signed_in["player"]["id"], account.id);
            // They never become one: the guest is who it was.
            assert_eq!(guest.get("/v1/me").await.ok(200)["kind"], "guest");
        }
        let idle = server.guest("Nothing to lose").await;
        idle.post("/v1/sessions", body(None)).await.ok(201);
        // An account loses nothing.
        let other = server.account("ben").await;
        other.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        other.post("/v1/sessions", body(None)).await.ok(201);
    });
}

#[test]
fn only_known_fields_make_an_account() {
    test(async |server| {
        let nobody = server.nobody();
        for field in ["id", "kind", "player_id", "canonical", "created_at", "recovery_codes"] {
            let mut body = json!({ "username": "ana", "password": PASSWORD });
            body[field] = json!("bot");
            let problem = nobody.post("/v1/accounts", body).await.problem(422, "unknown_field");
            assert_eq!(problem["errors"][0]["pointer"], format!("/{field}"));
        }
        for field in ["kind", "username", "id", "created_at"] {
            let ana = server.guest("Ana").await;
            let change: Value =
                [(field.to_owned(), json!("bot"))].into_iter().collect::<serde_json::Map<_, _>>().into();
            ana.patch("/v1/me", change).await.problem(422, "unknown_field");
        }
    });
}

#[test]
fn the_tokens_of_a_player_who_is_gone_neither_register_nor_rename() {
    test(async |server| {
        let ana = server.guest("Ana").await;
        // As another server does it, of which this one has not learned yet.
        let gone = "update player set kind = 'deleted'";
        sqlx::query(gone).execute(&mut server.database().await).await.unwrap();
        ana.register("ana").await.problem(401, "token_invalid");
        ana.patch("/v1/me", json!({ "name": "Ana" })).await.problem(404, "player_not_found");
        ana.patch("/v1/me", json!({ "preferences": {} })).await.problem(404, "player_not_found");
    });
}

#[test]
fn nobody_calls_themselves_as_those_who_are_gone() {
    test(async |server| {
        let ana = server.guest("Ana").await;
        for name in ["Deleted player", " deleted PLAYER ", "De1eted p1ayer"] {
            let problem = ana.patch("/v1/me", json!({ "name": name })).await.problem(422, "invalid_value");
            assert_eq!(problem["errors"][0]["pointer"], "/name", "{name}");
            server.nobody().post("/v1/guests", json!({ "name": name })).await.problem(422, "invalid_value");
        }
    });
}

#[test]
fn an_account_is_known_by_the_form_that_was_stored() {
    test(async |server| {
        let ana = server.account("ana").await;
        // As if the tables of look-alikes had been others when it was made.
        let sql = "update account set canonical = 'arna'";
        sqlx::query(sql).execute(&mut server.database().await).await.unwrap();
        let began = std::time::Instant::now();
        for _ in 0..3 {
            let wrong = server.nobody().sign_in("arna", "not the password").await;
            wrong.problem(401, "wrong_credentials");
        }
        let wrong = json!({ "password": "not the password" });
        ana.post("/v1/me/recovery", wrong).await.problem(403, "wrong_password");
        assert!(began.elapsed().as_millis() >= 250 + 500 + 1000, "these were attempts with one name");
        server.nobody().sign_in("arna", PASSWORD).await.ok(201);
    });
}

/// Canonical forms are stored: when newer tables of look-alikes change one of these, the accounts of before need a
/// migration.
#[test]
fn canonical_forms_are_what_they_were() {
    let names = [
        ("Ana_Maria-2.0", "anarnaria2o"),
        ("zoë", "zoe\u{308}"),
        ("l0l.user", "loluser"),
        ("paypal", "paypal"),
        ("modern", "rnodern"),
        ("σοφος", "ooɸoo"),
        ("мария", "ʍapᴎᴙ"),
        ("田中さん", "田中さん"),
        ("محمد", "محمد"),
        ("סבתא", "oבתא"),
        ("सीता", "सीत𑧑"),
        ("김철수", "ᄀ丨ᄆ처ᄅ수"),
        ("سعيد٣", "سعىد٣"),
    ];
    test(async |server| {
        let mut forms = Vec::new();
        for (name, _) in names {
            server.nobody().register(name).await.ok(201);
        }
        let stored = "select canonical from account order by created_at, player_id";
        let stored: Vec<String> =
            sqlx::query_scalar(stored).fetch_all(&mut server.database().await).await.unwrap();
        for ((name, _), form) in names.iter().zip(&stored) {
            forms.push((*name, form.as_str()));
        }
        assert_eq!(forms, names);
    });
}
