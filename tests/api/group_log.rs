//! The log of a group: every change is an event, and the events replay to the group.

use mancala_server::http::GroupEvent;
use mancala_server::ids::{GroupId, PlayerId};
use mancala_server::service::Error;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{Player, TestServer, at_once, number, test, text};

fn path(group: &Value) -> String {
    format!("/v1/groups/{}", text(&group["id"]))
}

fn group_id(group: &Value) -> GroupId {
    text(&group["id"]).parse::<Uuid>().unwrap().into()
}

fn player_id(player: &Player) -> PlayerId {
    player.id.parse::<Uuid>().unwrap().into()
}

async fn join(player: &Player, group: &Value) -> Value {
    player.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200)
}

/// What happened after `after`, as it is sent, however much that is.
async fn log(server: &TestServer, viewer: &Player, group: &Value, after: i32) -> Vec<Value> {
    let viewer = Some(player_id(viewer));
    let (_, mut views) = server.service().group_log(viewer, group_id(group), after).await.unwrap();
    let mut events = Vec::new();
    while let Some(last) = views.last() {
        let known = last.group.clone();
        events.extend(views.iter().map(|view| serde_json::to_value(GroupEvent::from(view)).unwrap()));
        (_, views) = server.service().group_log_from(viewer, &known).await.unwrap();
    }
    events
}

/// The whole log, which replays to what is answered now and has no gap.
async fn sound(server: &TestServer, viewer: &Player, group: &Value) -> Vec<Value> {
    let events = log(server, viewer, group, 0).await;
    let now = viewer.get(&path(group)).await.ok(200);
    assert_eq!(events.last().unwrap()["group"], now);
    assert_eq!(number(&now["seq"]), events.len() as u64);
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!((&event["seq"], &event["group"]["seq"]), (&json!(seq), &json!(seq)));
    }
    let times: Vec<&str> = events.iter().map(|event| text(&event["at"])).collect();
    // Texts of times with more or fewer digits of a second do not sort, so they are read.
    let read =
        |at: &&str| time::OffsetDateTime::parse(at, &time::format_description::well_known::Rfc3339).unwrap();
    assert!(times.iter().map(read).is_sorted(), "{times:?}");
    assert_eq!(server.service().audit().await.unwrap().differences, []);
    events
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| text(&event["type"])).collect()
}

#[test]
fn every_change_of_a_group_is_an_event_with_the_group_as_it_was_then() {
    test(async |server| {
        let (ana, ben, cem) =
            (server.guest("Ana").await, server.guest("Ben").await, server.guest("Cem").await);
        let options = json!({ "stones": 3, "turn_seconds": null });
        let group = ana.post("/v1/groups", json!({ "variant": "kalah", "options": options })).await.ok(201);
        let (here, me) = (path(&group), format!("{}/members/me", path(&group)));
        let mut seen = vec![group.clone()];
        seen.push(join(&ben, &group).await);
        let computers = format!("{here}/computers");
        seen.push(ana.post(&computers, json!({ "level": "easy" })).await.ok(200));
        seen.push(ana.patch(&here, json!({ "variant": "basic", "private": true })).await.ok(200));
        let game = ana.post(&format!("{here}/games"), json!({})).await.ok(201);
        seen.push(ana.get(&here).await.ok(200));
        ben.act(text(&game["id"]), "resign").await.ok(200);
        ana.act(text(&game["id"]), "resign").await.ok(200);
        while ana.game(text(&game["id"])).await["status"] == "running" {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        ana.act(text(&game["id"]), "rematch").await.ok(200);
        let next = ben.act(text(&game["id"]), "rematch").await.ok(200);
        seen.push(ana.get(&here).await.ok(200));
        for player in [&ben, &ana] {
            player.act(text(&next["game_id"]), "resign").await.ok(200);
        }
        while ana.game(text(&next["game_id"])).await["status"] == "running" {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let computer = text(&seen[5]["members"][2]["id"]).to_owned();
        seen.push(ana.delete(&format!("{computers}/{computer}")).await.ok(200));
        ana.patch(&here, json!({ "private": false })).await.ok(200);
        seen.push(ana.get(&here).await.ok(200));
        for leaving in [&ana, &ben] {
            assert_eq!(leaving.delete(&me).await.status, 204);
            seen.push(cem.get(&here).await.ok(200));
        }
        seen.push(join(&cem, &group).await);

        let events = sound(server, &cem, &group).await;
        let expected = [
            "created", "joined", "joined", "settings", "game", "game", "left", "settings", "left", "left",
            "joined",
        ];
        assert_eq!(kinds(&events), expected);
        assert_eq!(
            events.iter().map(|event| &event["group"]).collect::<Vec<_>>(),
            seen.iter().collect::<Vec<_>>()
        );
        let member = |n: usize| events[n].get("member").map(|member| member["id"].clone());
        let [host, second] = [0, 1].map(|n| seen[1]["members"][n]["id"].clone());
        assert_eq!((member(0), events[0].get("host")), (Some(host.clone()), Some(&host)));
        assert_eq!((member(1), events[1].get("host")), (Some(second.clone()), None));
        assert_eq!(events[2]["member"]["computer"], "easy");
        assert_eq!((member(3), member(4)), (None, None));
        assert_eq!((&events[4]["game_id"], &events[5]["game_id"]), (&game["id"], &next["game_id"]));
        assert_eq!((member(6), events[6].get("host")), (Some(json!(computer)), None));
        assert_eq!((member(8), events[8].get("host")), (Some(host), Some(&second)));
        assert_eq!(
            (&events[8]["member"]["host"], &events[8]["member"]["player"]["name"]),
            (&json!(true), &json!("Ana"))
        );
        assert_eq!((member(9), events[9].get("host")), (Some(second), None));
        assert_eq!((member(10), events[10].get("host")), (member(10), member(10).as_ref()));
    });
}

#[test]
fn what_changes_nothing_is_no_event() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        let options = json!({ "stones": 3 });
        let new = json!({ "variant": "kalah", "options": options });
        let keyed =
            || ana.request(reqwest::Method::POST, "/v1/groups").header("idempotency-key", "one").json(&new);
        let group = crate::harness::Answer::of(keyed()).await.ok(201);
        crate::harness::Answer::of(keyed()).await.ok(201);
        let here = path(&group);
        join(&ben, &group).await;
        let before = ana.get(&here).await.ok(200);
        assert_eq!(join(&ben, &group).await, before);
        for same in
            [json!({}), json!({ "variant": "kalah" }), json!({ "options": options, "private": false })]
        {
            assert_eq!(ana.patch(&here, same).await.ok(200), before);
        }
        ana.patch(&here, json!({ "options": { "stones": 9 } })).await.problem(422, "invalid_value");
        ben.patch(&here, json!({ "private": true })).await.problem(403, "not_host");
        server.guest("Cem").await.delete(&format!("{here}/members/me")).await.problem(403, "not_member");
        assert_eq!(kinds(&sound(server, &ana, &group).await), ["created", "joined"]);
        // A limit that is asked not to be is something else than one that is not asked about.
        ana.patch(&here, json!({ "options": { "stones": 3, "turn_seconds": null } })).await.ok(200);
        assert_eq!(kinds(&sound(server, &ana, &group).await), ["created", "joined", "settings"]);
    });
}

#[test]
fn many_changes_at_once_leave_no_gap_and_nothing_twice() {
    test(async |server| {
        let other = server.another().await;
        let host = server.guest("Host").await;
        let group = host.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        let me = format!("{}/members/me", path(&group));
        let mut guests = Vec::new();
        for i in 0..8 {
            guests.push(server.guest(&format!("Guest {i}")).await);
        }
        for guest in &mut guests[..4] {
            *guest = guest.via(&other);
        }
        let (group, me, host) = (&group, &me, &host);
        let coming = guests.iter().map(async |guest| {
            let mut changes = 0;
            for _ in 0..4 {
                let joined = guest.post("/v1/groups/join", json!({ "code": group["code"] })).await;
                changes += usize::from(joined.status == 200);
                changes += usize::from(guest.delete(me).await.status == 204);
            }
            changes
        });
        let settings = (0..12).map(async |i| {
            host.patch(&path(group), json!({ "private": i % 2 == 0 })).await.ok(200);
            0
        });
        let (coming, _) =
            tokio::join!(futures_util::future::join_all(coming), futures_util::future::join_all(settings));
        let events = sound(server, host, group).await;
        let came = kinds(&events).into_iter().filter(|kind| ["joined", "left"].contains(kind)).count();
        assert_eq!(came, coming.iter().sum::<usize>());
        // Those who began a game at once have begun one.
        join(&guests[0], group).await;
        let games = format!("{}/games", path(group));
        let answers = at_once((0..6).map(|_| {
            let (host, games) = (host.clone(), games.clone());
            async move { host.post(&games, json!({})).await.status }
        }));
        assert_eq!(answers.await.into_iter().filter(|status| *status == 201).count(), 1);
        assert_eq!(kinds(&sound(server, host, group).await).last(), Some(&"game"));
        other.stop().await;
    });
}

#[test]
fn the_log_calls_everybody_by_the_name_of_now_and_nobody_who_is_gone() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        let group = ana.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        join(&ben, &group).await;
        let (_, views) = server.service().group_log(None, group_id(&group), 1).await.unwrap();
        let known = views[0].group.clone();
        ben.patch("/v1/me", json!({ "name": "Benno" })).await.ok(200);
        ana.patch(&path(&group), json!({ "variant": "basic" })).await.ok(200);
        let (_, views) = server.service().group_log_from(None, &known).await.unwrap();
        assert_eq!(
            views[0].group.members[1].holder.person().unwrap().name,
            "Benno",
            "to whoever knew him as Ben"
        );
        assert_eq!(
            ana.request(reqwest::Method::DELETE, "/v1/me").json(&json!({})).send().await.unwrap().status(),
            204
        );
        let events = sound(server, &ben, &group).await;
        assert_eq!(kinds(&events), ["created", "joined", "settings", "left"]);
        let gone = json!({ "id": ana.id, "name": "Deleted player", "kind": "deleted" });
        assert_eq!(events[0]["member"]["player"], gone);
        assert_eq!(events[1]["member"]["player"]["name"], "Benno");
        assert_eq!((&events[3]["member"]["player"], &events[3]["host"]), (&gone, &events[1]["member"]["id"]));
        let told = serde_json::to_string(&events).unwrap();
        assert!(!told.contains("\"Ana\"") && !told.contains("\"Ben\""), "{told}");
    });
}

#[test]
fn the_log_of_a_private_group_is_for_its_members() {
    test(async |server| {
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        let group = ana.post("/v1/groups", json!({ "variant": "kalah", "private": true })).await.ok(201);
        let id = group_id(&group);
        let refused = async |viewer: Option<PlayerId>| {
            matches!(server.service().group_log(viewer, id, 0).await, Err(Error::GroupNotFound))
        };
        assert!(refused(None).await && refused(Some(player_id(&ben))).await);
        join(&ben, &group).await;
        assert_eq!(log(server, &ben, &group, 0).await.len(), 2);
        let (known, _) = server.service().group_log(Some(player_id(&ben)), id, 0).await.unwrap();
        assert_eq!(ben.delete(&format!("{}/members/me", path(&group))).await.status, 204);
        assert!(refused(Some(player_id(&ben))).await);
        let went_on = server.service().group_log_from(Some(player_id(&ben)), &known).await;
        assert!(matches!(went_on, Err(Error::GroupNotFound)));
        ana.patch(&path(&group), json!({ "private": false })).await.ok(200);
        assert!(!refused(None).await);
    });
}

#[test]
fn a_long_log_is_told_from_any_event_and_some_at_a_time() {
    test(async |server| {
        let ana = server.guest("Ana").await;
        let group = ana.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        for i in 0..450 {
            ana.patch(&path(&group), json!({ "private": i % 2 == 0 })).await.ok(200);
        }
        join(&server.guest("Ben").await, &group).await;
        let all = sound(server, &ana, &group).await;
        assert_eq!(all.len(), 452);
        for after in [0, 1, 199, 200, 201, 451] {
            let rest = log(server, &ana, &group, after).await;
            assert_eq!(rest, all[usize::try_from(after).unwrap()..]);
            let (_, some) = server.service().group_log(None, group_id(&group), after).await.unwrap();
            assert!(some.len() < 400, "{}", some.len());
        }
        for beyond in [452, 453, i32::MAX] {
            let (now, none) = server.service().group_log(None, group_id(&group), beyond).await.unwrap();
            assert_eq!((now.seq, none.len()), (452, 0));
        }
    });
}

#[test]
fn groups_that_were_there_before_their_logs_have_logs_that_replay() {
    test(async |server| {
        let (ana, ben, cem) =
            (server.guest("Ana").await, server.guest("Ben").await, server.guest("Cem").await);
        let mut groups = Vec::new();
        for i in 0..5 {
            let new = json!({ "variant": (["kalah", "basic"][i % 2]), "private": i == 1,
                "options": (if i == 2 { json!({ "pits": 4, "turn_seconds": null }) } else { json!({}) }) });
            groups.push(ana.post("/v1/groups", new).await.ok(201));
        }
        let me = |group: &Value| format!("{}/members/me", path(group));
        // One with its host only, one with a game, one whose host came after a computer, one that everybody has left, one
        // whose host has left.
        for group in &groups[1..] {
            join(&ben, group).await;
        }
        ana.post(&format!("{}/games", path(&groups[1])), json!({})).await.ok(201);
        ana.post(&format!("{}/computers", path(&groups[2])), json!({ "level": "hard" })).await.ok(200);
        for group in &groups[2..] {
            assert_eq!(ana.delete(&me(group)).await.status, 204);
        }
        for group in &groups[2..4] {
            assert_eq!(ben.delete(&me(group)).await.status, 204);
        }
        join(&cem, &groups[2]).await;
        let mut before = Vec::new();
        for group in &groups {
            before.push(ana.get(&path(group)).await.ok(200));
        }
        let mut database = server.database().await;
        for sql in [
            "drop table group_event",
            "drop type group_event_kind",
            "alter table play_group drop column seq",
            "delete from _sqlx_migrations where version = 20261130230000",
        ] {
            assert!(sqlx::query(sql).execute(&mut database).await.is_ok(), "{sql}");
        }
        let newer = server.another().await;
        let ana = ana.via(&newer);
        let expected: [&[&str]; 5] = [
            &["created", "joined"],
            &["created", "joined", "joined", "game"],
            &["created", "joined", "joined"],
            &["created"],
            &["created", "joined"],
        ];
        for ((group, mut before), expected) in groups.iter().zip(before).zip(expected) {
            let events = sound(&newer, &ana, group).await;
            assert_eq!(kinds(&events), expected);
            before["seq"] = json!(expected.len());
            assert_eq!(ana.get(&path(group)).await.ok(200), before);
            assert_eq!(events[0].get("member"), None);
            let began = text(&events[0]["at"]);
            assert!(
                events
                    .iter()
                    .all(|event| text(&event["at"])[..16] == began[..16] || text(&event["at"]) > began)
            );
        }
        // And they go on.
        join(&cem.via(&newer), &groups[0]).await;
        ana.patch(&path(&groups[0]), json!({ "private": true })).await.ok(200);
        let events = sound(&newer, &ana, &groups[0]).await;
        assert_eq!(kinds(&events), ["created", "joined", "joined", "settings"]);
        newer.stop().await;
    });
}

#[test]
fn whatever_of_a_group_its_log_does_not_give_is_found_by_the_audit() {
    // What is done to a group, and a word of what is said.
    let tampered = [
        ("update play_group set seq = seq + 1 where id = $1::uuid", "seq"),
        ("update play_group set private = not private where id = $1::uuid", "settings"),
        ("update play_group set options = '{\"stones\": 5}' where id = $1::uuid", "settings"),
        ("update play_group set options = '{\"stones\": \"many\"}' where id = $1::uuid", "many"),
        ("update play_group set game_id = null where id = $1::uuid", "game"),
        ("update group_member set level = 'hard' where level is not null and group_id = $1::uuid", "members"),
        ("update group_member set host = false where host and group_id = $1::uuid", "members"),
        ("delete from group_member where level is not null and group_id = $1::uuid", "members"),
        ("delete from group_event where seq = 3 and group_id = $1::uuid", "event 4 where event 3"),
        ("delete from group_event where group_id = $1::uuid", "no log"),
        ("update group_event set settings = '{}' where seq = 1 and group_id = $1::uuid", "variant"),
        ("update group_event set position = 0 where seq = 2 and group_id = $1::uuid", "event 2"),
        ("update group_event set host_id = member_id where seq = 2 and group_id = $1::uuid", "event 2"),
        (
            "update group_event set member_id = gen_random_uuid() where seq = 4 and group_id = $1::uuid",
            "event 4",
        ),
        (
            "update group_event set player_id = null, level = 'easy' where seq = 4 and group_id = $1::uuid",
            "event 4",
        ),
        (
            "update group_event set host_id = gen_random_uuid() where seq = 4 and group_id = $1::uuid",
            "event 4",
        ),
    ];
    test(async |server| {
        let (ana, ben, cem) =
            (server.guest("Ana").await, server.guest("Ben").await, server.guest("Cem").await);
        let mut database = server.database().await;
        for (i, (sql, word)) in tampered.into_iter().enumerate() {
            let group = ana.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
            join(&ben, &group).await;
            join(&cem, &group).await;
            assert_eq!(ana.delete(&format!("{}/members/me", path(&group))).await.status, 204);
            let computers = format!("{}/computers", path(&group));
            ben.post(&computers, json!({ "level": "easy" })).await.ok(200);
            ben.post(&format!("{}/games", path(&group)), json!({})).await.ok(201);
            let before = server.service().audit().await.unwrap().differences;
            assert_eq!(before.len(), i, "{before:?}");
            let done = sqlx::query(sql).bind(text(&group["id"])).execute(&mut database).await.unwrap();
            assert!(done.rows_affected() > 0, "{sql}");
            let report = server.service().audit().await.unwrap();
            assert_eq!(report.groups, i as u64 + 1);
            let of = format!("group {}", text(&group["id"]));
            let said: Vec<_> = report.differences.iter().filter(|found| found.of.to_string() == of).collect();
            assert!(said.len() == 1 && said[0].what.contains(word), "{sql}: {:?}", report.differences);
        }
    });
}
