//! Players who go while something else happens to them.

use serde_json::json;

use crate::harness::{Answer, PASSWORD, Player, TestServer, at_once, number, test, text};

/// How much of somebody who is gone still waits to end.
async fn ties(server: &TestServer, player: &Player) -> i64 {
    let sql = "select (select count(*) from ticket where player_id = p.id and status = 'waiting')
                    + (select count(*) from group_member where player_id = p.id)
                    + (select count(*) from seat s join game g on g.id = s.game_id
                       where s.player_id = p.id and g.status = 'running' and s.seat <> all(g.resigned)
                         and s.seat <> all(g.left_board))
                    + (select count(*) from block where p.id in (player_id, blocked_id))
               from player p where p.id = $1::text::uuid and p.kind = 'deleted'";
    let found = sqlx::query_scalar(sql).bind(&player.id).fetch_optional(&mut server.database().await).await;
    found.unwrap().expect("the player is gone")
}

async fn sound(server: &TestServer, player: &Player) {
    assert_eq!(ties(server, player).await, 0);
    assert_eq!(server.service().audit().await.unwrap().differences, []);
}

#[test]
fn moves_and_the_end_of_their_player_take_turns() {
    test(async |server| {
        for _ in 0..6 {
            let (people, _, game) = server.group_game(json!({ "variant": "kalah" }), 3).await;
            let id = text(&game["id"]).to_owned();
            let mover = people[usize::try_from(number(&game["to_move"])).unwrap()].clone();
            let answers =
                at_once(
                    (0..5).map(|pit| {
                        let (mover, id) = (mover.clone(), id.clone());
                        async move {
                            if pit == 2 { mover.go(json!({})).await } else { mover.sow(&id, pit, 0).await }
                        }
                    }),
                )
                .await;
            assert_eq!(answers[2].status, 204, "{}", answers[2].text);
            for answer in &answers {
                assert!(!answer.status.is_server_error(), "{}", answer.text);
            }
            sound(server, &mover).await;
        }
    });
}

#[test]
fn a_match_and_the_end_of_one_of_its_players_take_turns() {
    test(async |server| {
        for _ in 0..8 {
            let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
            ana.ticket("kalah", 2).await;
            let his = ben.ticket("kalah", 2).await;
            server.waited(1_000.0).await;
            let leaver = ana.clone();
            let going = tokio::spawn(async move { leaver.go(json!({})).await });
            server.service().pair_all().await.unwrap();
            going.await.unwrap().ok(204);
            let path = format!("/v1/tickets/{}", text(&his["id"]));
            let ticket = ben.get(&path).await.ok(200);
            match ticket["game_id"].as_str() {
                Some(game) => assert_eq!(ben.game(game).await["end_reason"], "resigned"),
                None => drop(ben.delete(&path).await.ok(200)),
            }
            sound(server, &ana).await;
        }
    });
}

#[test]
fn nothing_new_outlives_its_player() {
    test(async |server| {
        let host = server.guest("Host").await;
        let group = host.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        for _ in 0..10 {
            let ana = server.guest("Ana").await;
            let requests = [
                ("/v1/games", json!({ "variant": "kalah", "computers": ["easy", "easy"], "starter": "me" })),
                ("/v1/groups", json!({ "variant": "kalah" })),
                ("/v1/tickets", json!({ "variant": "basic", "players": 4, "turn_seconds": 60 })),
                ("/v1/groups/join", json!({ "code": group["code"] })),
            ];
            let (leaver, blocker, blocked) = (ana.clone(), ana.clone(), host.id.clone());
            let block =
                tokio::spawn(
                    async move { blocker.put(&format!("/v1/me/blocks/{blocked}"), json!({})).await },
                );
            let going = tokio::spawn(async move { leaver.go(json!({})).await });
            let answers = at_once(requests.map(|(path, body)| {
                let player = ana.clone();
                async move { player.post(path, body).await }
            }))
            .await;
            for answer in answers.into_iter().chain([block.await.unwrap()]) {
                let fine = [200, 201, 204, 401, 404].contains(&answer.status.as_u16());
                assert!(fine, "{}: {}", answer.status, answer.text);
            }
            going.await.unwrap().ok(204);
            sound(server, &ana).await;
        }
    });
}

#[test]
fn who_goes_twice_at_once_is_gone_once() {
    test(async |server| {
        for _ in 0..4 {
            let (people, _, _) = server.group_game(json!({ "variant": "kalah" }), 2).await;
            let ana = &people[0];
            let answers = at_once((0..4).map(|_| {
                let ana = ana.clone();
                async move { ana.go(json!({})).await }
            }))
            .await;
            let done = answers.iter().filter(|answer| answer.status == 204).count();
            let statuses: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
            assert!(done >= 1 && statuses.iter().all(|status| [204, 401].contains(status)), "{statuses:?}");
            sound(server, ana).await;
        }
    });
}

#[test]
fn the_end_of_a_ranked_game_and_of_its_player_take_turns() {
    test(async |server| {
        for _ in 0..6 {
            let (people, game) = server.ranked_game("kalah", 3).await;
            let id = text(&game["id"]).to_owned();
            people[1].act(&id, "resign").await.ok(200);
            let answers =
                at_once([1, 2].map(|seat| {
                    let (player, id) = (people[seat].clone(), id.clone());
                    async move {
                        if seat == 1 { player.go(json!({})).await } else { player.act(&id, "resign").await }
                    }
                }))
                .await;
            assert_eq!((answers[0].status.as_u16(), answers[1].status.as_u16()), (204, 200));
            assert_eq!(people[0].receipts(&id).await.len(), 3);
            sound(server, &people[1]).await;
        }
    });
}

#[test]
fn an_account_goes_or_goes_on_whatever_its_password_is_used_for_at_the_same_moment() {
    test(async |server| {
        for round in 0..8 {
            let name = format!("ana-{round}x");
            let made = server.nobody().register(&name).await.ok(201);
            let ana = server.nobody().signed_in(&made);
            let other = "six pits, five stones";
            let recovery = json!({ "username": name, "recovery_code": made["recovery_codes"][round],
                "new_password": other });
            let change = json!({ "password": PASSWORD, "new_password": other });
            let (leaver, signing) = (ana.clone(), ana.without_token());
            let mut others: Vec<_> = [
                ("PUT", "/v1/me/password", change),
                ("POST", "/v1/me/recovery", json!({ "password": PASSWORD })),
                ("POST", "/v1/sessions/recovery", recovery),
                ("POST", "/v1/me/tokens", json!({ "name": "x", "scopes": ["groups"] })),
                ("POST", "/v1/sessions", json!({ "username": name, "password": PASSWORD })),
            ]
            .map(|(method, path, body)| {
                let who = if path.contains("/me/") { &ana } else { &signing };
                who.request(method.parse().unwrap(), path).json(&body)
            })
            .into();
            others.push(ana.request(reqwest::Method::DELETE, "/v1/sessions"));
            let going = tokio::spawn(async move { leaver.go(json!({ "password": PASSWORD })).await });
            for answer in at_once(others.into_iter().map(Answer::of)).await {
                assert!(!answer.status.is_server_error(), "{}", answer.text);
            }
            let gone = going.await.unwrap();
            assert!([204, 401, 403].contains(&gone.status.as_u16()), "{}", gone.text);
            if gone.status == 204 {
                sound(server, &ana).await;
                let left: i64 = sqlx::query_scalar(
                    "select (select count(*) from session where player_id = p and revoked_at is null)
                          + (select count(*) from recovery_code where player_id = p)
                          + (select count(*) from personal_token where player_id = p)
                     from (select $1::text::uuid as p) p",
                )
                .bind(&ana.id)
                .fetch_one(&mut server.database().await)
                .await
                .unwrap();
                assert_eq!(left, 0, "nothing signs in as somebody who is gone");
            }
        }
    });
}

#[test]
fn a_guest_who_registers_while_it_is_deleted_is_the_one_or_the_other() {
    test(async |server| {
        for round in 0..8 {
            let guest = server.guest("Ana").await;
            let (leaver, name) = (guest.clone(), format!("ana-{round}x"));
            let going = tokio::spawn(async move { leaver.go(json!({})).await });
            let registered = guest.register(&name).await;
            let gone = going.await.unwrap();
            match registered.status.as_u16() {
                201 => assert!([409, 422, 503].contains(&gone.status.as_u16()), "{}", gone.text),
                401 => assert_eq!(gone.status, 204, "{}", gone.text),
                _ => panic!("{}", registered.text),
            }
        }
    });
}
