//! What no notification tells: ends of credentials, and a database that has lost its newest writes.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::PgConnection;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::harness::{Stream, TestServer, test, text};
use crate::round_trips::Proxy;
use crate::stream_ends::closing;
use crate::streams::{events, game, play};

#[test]
fn a_token_that_nobody_said_has_ended_ends_its_streams() {
    test(async |server| {
        let (_, id, _) = game(server).await;
        let owner = server.account("streamer").await;
        let new = json!({ "name": "program", "scopes": ["games:read"] });
        let made = owner.post("/v1/me/tokens", new).await.ok(201);
        let stream = owner.with_token(text(&made["token"])).follow(&events(&id)).await;
        let mut of_owner = owner.follow(&events(&id)).await;
        // As by a process that died between its commit and its notification.
        sqlx::query("delete from personal_token where id = $1")
            .bind(text(&made["id"]).parse::<Uuid>().unwrap())
            .execute(&mut server.database().await)
            .await
            .unwrap();
        assert_eq!(closing(stream).await, "session_ended");
        let more = timeout(Duration::from_secs(4), of_owner.next()).await;
        assert!(more.is_err(), "the session goes on: {more:?}");
    });
}

/// Copies a row of a table, so that the database can be made to lose what is written later.
async fn remember(db: &mut PgConnection, table: &str, id: &str) {
    let copy = format!("create table remembered as select * from {table} where id = '{id}'");
    sqlx::query(sqlx::AssertSqlSafe(copy)).execute(db).await.unwrap();
}

/// Loses the last event of a log, and what it changed.
async fn lose_the_last(db: &mut PgConnection, table: &str, log: &str, of: &str) {
    let columns: String = sqlx::query_scalar(
        "select string_agg(column_name, ', ') from information_schema.columns
         where table_name = $1 and is_generated = 'NEVER' and column_name <> 'id'",
    )
    .bind(table)
    .fetch_one(&mut *db)
    .await
    .unwrap();
    for sql in [
        format!("delete from {log} e using remembered r where e.{of} = r.id and e.seq > r.seq"),
        format!(
            "update {table} t set ({columns}) = (select {columns} from remembered) from remembered r where r.id = t.id"
        ),
    ] {
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut *db).await.unwrap();
    }
}

/// A stream that has been told up to `seq`.
async fn told(mut stream: Stream, seq: u64) -> Stream {
    while stream.next().await.unwrap().id != Some(seq) {}
    stream
}

#[test]
fn whoever_was_told_more_of_a_game_than_there_is_begins_anew() {
    test(async |server| {
        let (people, id, _) = game(server).await;
        let path = events(&id);
        play(&people, &id, 2).await;
        let mut db = server.database().await;
        remember(&mut db, "game", &id).await;
        play(&people, &id, 1).await;
        let stream = told(people[0].follow(&path).await, 3).await;
        let mut fresh = told(people[1].follow(&format!("{path}?after_seq=1")).await, 3).await;
        lose_the_last(&mut db, "game", "game_event", "game_id").await;
        // Whoever comes now is not told what is no more.
        let mut newcomer = people[1].follow_again(&path, 3).await;
        assert_eq!(newcomer.next().await.unwrap().data["type"], "reset");
        let more = timeout(Duration::from_millis(500), newcomer.next()).await;
        assert!(more.is_err(), "{more:?}");
        let waiting = tokio::spawn({
            let (person, path) = (people[0].clone(), format!("/v1/games/{id}?after_seq=2&wait=25"));
            async move { person.get(&path).await.ok(200) }
        });
        assert_eq!(closing(stream).await, "restart");
        assert_eq!(fresh.next().await.unwrap().data["reason"], "restart");
        let mut again = people[0].follow_again(&path, 3).await;
        let reset = again.next().await.unwrap();
        assert_eq!((reset.id, &reset.data["type"]), (Some(2), &json!("reset")));
        play(&people, &id, 1).await;
        assert_eq!(again.next().await.unwrap().id, Some(3));
        assert_eq!(newcomer.next().await.unwrap().id, Some(3));
        assert_eq!(waiting.await.unwrap()["seq"], 3);
    });
}

#[test]
fn whoever_was_told_more_of_a_group_than_there_is_begins_anew() {
    test(async |server| {
        let host = server.guest("Ana").await;
        let group = host.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        let id = text(&group["id"]);
        let (change, path) = (format!("/v1/groups/{id}"), format!("/v1/groups/{id}/events"));
        let mut db = server.database().await;
        remember(&mut db, "play_group", id).await;
        host.patch(&change, json!({ "private": true })).await.ok(200);
        let stream = told(host.follow(&path).await, 2).await;
        lose_the_last(&mut db, "play_group", "group_event", "group_id").await;
        assert_eq!(closing(stream).await, "restart");
        let mut again = host.follow_again(&path, 2).await;
        assert_eq!(again.next().await.unwrap().data["type"], "reset");
        host.patch(&change, json!({ "options": { "stones": 3 } })).await.ok(200);
        let told = again.next().await.unwrap();
        assert_eq!((told.id, &told.data["group"]["private"]), (Some(2), &json!(false)));
    });
}

#[test]
fn who_waits_for_what_was_lost_asks_the_database_seldom() {
    test(async |server| {
        let proxy = Proxy::start(server.database_options()).await;
        let watched = TestServer::on(proxy.options.clone()).await;
        let (people, id, _) = game(&watched).await;
        play(&people, &id, 2).await;
        let mut db = server.database().await;
        remember(&mut db, "game", &id).await;
        play(&people, &id, 1).await;
        // Who listens keeps what was told.
        let _stream = told(people[1].follow(&events(&id)).await, 3).await;
        lose_the_last(&mut db, "game", "game_event", "game_id").await;
        proxy.all_taken();
        people[0].get(&format!("/v1/games/{id}?after_seq=2&wait=2")).await.ok(200);
        let asked = proxy.all_taken();
        let reads = asked.iter().filter(|trip| trip.contains("select g.id, g.group_id")).count();
        assert!(reads < 10, "{reads} times");
        watched.stop().await;
    });
}

#[test]
fn a_private_game_in_which_nothing_happens_is_not_read_again() {
    test(async |server| {
        let proxy = Proxy::start(server.database_options()).await;
        let watched = TestServer::on(proxy.options.clone()).await;
        let new = json!({ "variant": "kalah", "private": true });
        let (people, _, game) = watched.group_game(new, 2).await;
        let _game = people[0].follow(&events(text(&game["id"]))).await;
        let _me = people[1].follow("/v1/me/events").await;
        let reads = |trips: &[String]| {
            let of =
                |trip: &&String| trip.contains("select g.id, g.group_id") || trip.contains("with seated as");
            trips.iter().filter(of).count()
        };
        // Found once, for it is not known since when it is so.
        sleep(Duration::from_secs(5)).await;
        let first = reads(&proxy.all_taken());
        sleep(Duration::from_secs(8)).await;
        let later = proxy.all_taken();
        assert!(first > 0 && !later.is_empty(), "the proxy sees what is asked");
        assert_eq!(reads(&later), 0, "{later:#?}");
        watched.stop().await;
    });
}

#[test]
fn whoever_is_slow_is_told_nothing_after_the_end_of_the_session() {
    test(async |server| {
        let host = server.guest("Ana").await;
        let group = host.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        let id = text(&group["id"]).parse::<Uuid>().unwrap();
        let mut db = server.database().await;
        const EVENTS: u64 = 40_000;
        sqlx::query(
            "with g as (update play_group set seq = $2 where id = $1 returning id, variant, options)
             insert into group_event (group_id, seq, kind, settings)
             select id, n, 'settings', jsonb_build_object('variant', variant, 'options', options, 'private', false)
             from g, generate_series(2, $2) n",
        )
        .bind(id)
        .bind(i32::try_from(EVENTS).unwrap())
        .execute(&mut db)
        .await
        .unwrap();
        let mut stream = host.follow(&format!("/v1/groups/{id}/events")).await;
        assert_eq!(stream.next().await.unwrap().id, Some(1));
        host.delete("/v1/sessions/current").await.ok(204);
        let mut last = Value::Null;
        let mut seq = 1;
        while let Some(message) = stream.next().await {
            if let Some(id) = message.id {
                assert_eq!(id, seq + 1);
                seq = id;
            }
            last = message.data;
        }
        assert_eq!(last["reason"], "session_ended");
        assert!(seq < EVENTS, "all {seq} were told");
    });
}
