//! Everything about the caller, to take along.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, TryStreamExt, pin_mut};
use serde_json::{Value, json};
use sqlx::Row;

use crate::conformance::schema_errors;
use crate::harness::{Player, TestServer, at_once, test, text};
use crate::operations::Document;

/// Which lines hold the rows of a table, by which column the rows are a player's, and which columns stay out.
struct Told {
    table: &'static str,
    line: &'static str,
    owner: &'static str,
    without: &'static [(&'static str, &'static str)],
}

const OWNER: (&str, &str) = ("player_id", "is the caller");

const TOLD: &[Told] = &[
    Told { table: "player", line: "player", owner: "id", without: &[] },
    Told {
        table: "account",
        line: "account",
        owner: "player_id",
        without: &[OWNER, ("password", "a hash: of use to thieves only")],
    },
    Told {
        table: "session",
        line: "session",
        owner: "player_id",
        without: &[OWNER, ("of_account", "what its player is, is told of the player")],
    },
    Told {
        table: "personal_token",
        line: "personal_token",
        owner: "player_id",
        without: &[OWNER, ("hash", "of use to thieves only")],
    },
    Told {
        table: "block",
        line: "block",
        owner: "player_id",
        without: &[("blocked_id", "is told as player_id, since the caller is known")],
    },
    Told { table: "rating", line: "rating", owner: "player_id", without: &[OWNER] },
    Told { table: "rating_change", line: "rating_change", owner: "player_id", without: &[OWNER] },
    Told { table: "season_change", line: "season_change", owner: "player_id", without: &[OWNER] },
    Told {
        table: "opponent",
        line: "opponent",
        owner: "player_id",
        without: &[("opponent_id", "is told as player_id, since the caller is known")],
    },
    Told { table: "no_show", line: "no_show", owner: "player_id", without: &[OWNER] },
    Told { table: "ticket", line: "ticket", owner: "player_id", without: &[OWNER] },
    Told {
        table: "group_member",
        line: "group",
        owner: "player_id",
        without: &[OWNER, ("group_id", "is the id of the line"), ("level", "is of computers only")],
    },
    Told {
        table: "group_event",
        line: "group_event",
        owner: "player_id",
        without: &[
            OWNER,
            ("level", "is of computers only"),
            ("game_id", "is of games, which nobody is the cause of"),
        ],
    },
    Told {
        table: "seat",
        line: "game",
        owner: "player_id",
        without: &[OWNER, ("game_id", "is the id of the line"), ("level", "is of computers only")],
    },
];

/// Tables that are not told row by row, and why.
const NOT_TOLD: &[(&str, &str)] = &[
    ("heard", "heard_at of the player"),
    ("recovery_code", "nothing but hashes: how many there are is in the account"),
    ("refresh_token", "nothing but hashes and times of use: the last of them is in the session"),
    ("idempotency", "ids of what is told anyway, under keys of the client's own; forgotten after a day"),
    ("game", "what of it is about a seat of the caller is in the lines of games"),
    ("game_event", "those of the caller's seats are told as events: see the test for them"),
    ("play_group", "told with the caller's membership"),
    ("due", "what the servers have to do in a game"),
    ("review", "about a game, which is public, and computed from it"),
    ("season", "about a pool"),
    ("heartbeat", "about the servers"),
    ("process", "about the servers"),
    (
        "connected",
        "which streams of the caller are open at this moment: gone within seconds after they close",
    ),
    ("_sqlx_migrations", "about the schema"),
];

/// Columns that point at players without belonging to them.
const OF_OTHERS: &[(&str, &str, &str)] = &[
    ("block", "blocked_id", "who has blocked the caller is told to nobody but them"),
    (
        "opponent",
        "opponent_id",
        "the same games from the view of the others, which mirrors the caller's own rows",
    ),
];

async fn lines(player: &Player) -> Vec<Value> {
    let answer = player.get("/v1/me/export").await;
    assert_eq!(answer.headers["content-type"], "application/x-ndjson");
    assert!(answer.headers["content-disposition"].to_str().unwrap().contains("attachment"));
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.text.ends_with("{\"type\":\"end\"}\n"), "the end is there");
    answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_type<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

/// A player of whom every table has something.
async fn everywhere(server: &TestServer) -> (Player, Player) {
    let (ana, ben) = (server.account_named("Ana").await, server.guest("Ben").await);
    let (_, game) = server.ranked_game_of("kalah", &[ana.clone(), ben.clone()]).await;
    ben.act(text(&game["id"]), "resign").await.ok(200);
    let new = json!({ "variant": "basic", "computers": ["easy"], "starter": "me", "options": { "pits": 4 } });
    let keyed = ana.request(reqwest::Method::POST, "/v1/games").header("idempotency-key", "one");
    let game = crate::harness::Answer::of(keyed.json(&new)).await.ok(201);
    ana.sow(text(&game["id"]), 0, 0).await.ok(200);
    ana.act(text(&game["id"]), "leave").await.ok(200);
    let group = ana.post("/v1/groups", json!({ "variant": "kalah", "private": true })).await.ok(201);
    ben.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
    ana.post(&format!("/v1/groups/{}/games", text(&group["id"])), json!({})).await.ok(201);
    let cem = server.guest("Cem").await;
    ana.put(&format!("/v1/me/blocks/{}", cem.id), json!({})).await.ok(204);
    cem.put(&format!("/v1/me/blocks/{}", ana.id), json!({})).await.ok(204);
    ana.ticket("kalah", 4).await;
    let mut database = server.database().await;
    for sql in [
        "insert into recovery_code (hash, player_id) values (decode(repeat('ab', 32), 'hex'), $1::text::uuid)",
        "insert into personal_token (id, player_id, name, hash, scopes)
         values (gen_random_uuid(), $1::text::uuid, 'script', decode(repeat('cd', 32), 'hex'), '{ranked}')",
        "insert into no_show (game_id, player_id, until) select game_id, player_id, now() from seat
         where player_id = $1::text::uuid order by game_id limit 1",
        "insert into season (pool, month, players, shift) select 'basic-2', '2026-11-01', 0, 0 where $1 <> ''",
        "insert into season_change (pool, month, player_id, number, rating_before, rating_after)
         values ('basic-2', '2026-11-01', $1::text::uuid, 1, 1400, 1420)",
        "update player set preferences = '{\"colour\": \"red\"}' where id = $1::text::uuid",
    ] {
        sqlx::query(sql).bind(&ana.id).execute(&mut database).await.unwrap();
    }
    server.service().write_heard().await.unwrap();
    (ana, cem)
}

#[test]
fn everything_that_is_stored_about_the_caller_is_told() {
    test(async |server| {
        let (ana, _) = everywhere(server).await;
        let lines = lines(&ana).await;
        let mut database = server.database().await;
        let sql = "select table_name::text, column_name::text from information_schema.columns
                   where table_schema = 'public'";
        let mut tables = BTreeMap::<String, BTreeSet<String>>::new();
        for row in sqlx::query(sql).fetch_all(&mut database).await.unwrap() {
            tables.entry(row.get(0)).or_default().insert(row.get(1));
        }
        for (table, columns) in &tables {
            let Some(told) = TOLD.iter().find(|told| told.table == table) else {
                let reason = NOT_TOLD.iter().find(|(name, _)| name == table);
                assert!(reason.is_some(), "{table} is neither told nor explained");
                continue;
            };
            let of_table = of_type(&lines, told.line);
            let sql = format!("select count(*) from {table} where {} = $1::text::uuid", told.owner);
            let rows: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
                .bind(&ana.id)
                .fetch_one(&mut database)
                .await
                .unwrap();
            assert!(rows > 0, "the test has nothing in {table}");
            assert_eq!(i64::try_from(of_table.len()).unwrap(), rows, "{table}");
            for column in columns {
                let left_out = told.without.iter().any(|(name, _)| name == column);
                let name = match (table.as_str(), column.as_str()) {
                    ("group_member", "id") => "member_id",
                    (_, column) => column,
                };
                let known = left_out || of_table.iter().all(|line| line.get(name).is_some());
                assert!(known, "{table}.{column} is neither told nor explained");
            }
        }
        // Nothing that points at a player is forgotten.
        let sql = "select c.table_name::text, k.column_name::text
                   from information_schema.table_constraints c
                   join information_schema.key_column_usage k using (constraint_schema, constraint_name)
                   join information_schema.constraint_column_usage u using (constraint_schema, constraint_name)
                   where c.constraint_type = 'FOREIGN KEY' and u.table_name = 'player'";
        let mut seen = 0;
        for row in sqlx::query(sql).fetch_all(&mut database).await.unwrap() {
            let (table, column): (String, String) = (row.get(0), row.get(1));
            let told = TOLD.iter().any(|told| told.table == table && told.owner == column);
            let explained = NOT_TOLD.iter().any(|(name, _)| *name == table);
            let of_others = OF_OTHERS.iter().any(|(name, other, _)| (*name, *other) == (&*table, &*column));
            assert!(told || explained || of_others, "{table}.{column}");
            seen += 1;
        }
        assert!(seen >= 15, "{seen}");
    });
}

#[test]
fn the_lines_say_what_the_service_says() {
    test(async |server| {
        let (ana, cem) = everywhere(server).await;
        let lines = lines(&ana).await;
        let only = |kind: &str| {
            let found = of_type(&lines, kind);
            assert_eq!(found.len(), 1, "{kind}");
            found[0].clone()
        };
        let player = only("player");
        assert_eq!((&player["id"], &player["name"]), (&json!(ana.id), &json!("Ana")));
        assert_eq!(player["preferences"], json!({ "colour": "red" }));
        assert!(player["heard_at"].is_string());
        // Ten from registering, one from the database.
        assert_eq!(only("account")["recovery_codes"], 11);
        assert_eq!(only("block")["player_id"], cem.id);
        assert_eq!(only("rating")["games"], 1);
        assert_eq!((&only("rating_change")["place"], &only("opponent")["won"]), (&json!(1), &json!(1)));
        assert_eq!(only("season_change")["rating_after"].as_f64(), Some(1420.0));
        assert_eq!((&only("group")["private"], &only("group")["host"]), (&json!(true), &json!(true)));
        assert_eq!(of_type(&lines, "ticket").len(), 2);
        assert_eq!(of_type(&lines, "game").len(), 3);
        let events: Vec<&Value> = of_type(&lines, "event");
        assert!(events.iter().any(|event| event["kind"] == "leave"), "{events:?}");
        let sql = "select count(*) from seat s join game_event e using (game_id) where s.seat = e.seat
                   and s.player_id = $1::text::uuid";
        let mut database = server.database().await;
        let stored: i64 = sqlx::query_scalar(sql).bind(&ana.id).fetch_one(&mut database).await.unwrap();
        assert_eq!(i64::try_from(events.len()).unwrap(), stored);
        let document = Document::of(server).await;
        let schema = json!({ "$ref": "#/components/schemas/ExportLine" });
        for line in &lines {
            assert_eq!(schema_errors(&document, &schema, line), Vec::<String>::new(), "{line}");
        }
    });
}

#[test]
fn no_secret_is_told_and_nothing_that_others_have_done_in_secret() {
    test(async |server| {
        let (ana, _) = everywhere(server).await;
        let text = ana.get("/v1/me/export").await.text;
        for secret in ["secret-hash", &"ab".repeat(32), &"cd".repeat(32), &ana.refresh] {
            assert!(!text.contains(secret), "{secret}");
        }
        let cem_knows = "select count(*) from block where blocked_id = $1::text::uuid";
        let blocks: i64 = sqlx::query_scalar(cem_knows)
            .bind(&ana.id)
            .fetch_one(&mut server.database().await)
            .await
            .unwrap();
        let told = text.lines().filter(|line| line.contains("\"type\" : \"block\"")).count();
        assert_eq!((blocks, told), (1, 1), "only her own block");
        server.nobody().get("/v1/me/export").await.problem(401, "token_missing");
    });
}

async fn with_tickets(server: &TestServer, count: i32) -> Player {
    let ana = server.guest("Ana").await;
    let sql = "insert into ticket (id, player_id, variant, players, turn_seconds, status, open)
               select gen_random_uuid(), $1::text::uuid, 'kalah', 2, 30, 'cancelled', false from generate_series(1, $2)";
    sqlx::query(sql).bind(&ana.id).bind(count).execute(&mut server.database().await).await.unwrap();
    ana
}

/// The ids of a player and of the only session.
async fn ids(player: &Player) -> (uuid::Uuid, uuid::Uuid) {
    let sessions = player.get("/v1/sessions").await.ok(200);
    let session = text(&sessions["items"][0]["id"]).parse().unwrap();
    (player.id.parse().unwrap(), session)
}

#[test]
fn an_export_of_many_pages_tells_everything_once() {
    test(async |server| {
        let ana = with_tickets(server, 5_000).await;
        let lines = lines(&ana).await;
        let ids: BTreeSet<&str> = of_type(&lines, "ticket").iter().map(|line| text(&line["id"])).collect();
        assert_eq!((ids.len(), lines.len()), (5_000, 5_000 + 3), "with the player, the session and the end");
    });
}

#[test]
fn an_export_reads_a_page_when_it_is_asked_for() {
    test(async |server| {
        let ana = with_tickets(server, 2_000).await;
        let (id, session) = ids(&ana).await;
        let export = server.service().export(id.into(), session.into()).await.unwrap();
        pin_mut!(export);
        let mut told = 0;
        while told == 0 {
            let page = export.next().await.unwrap().unwrap();
            assert!(page.lines().count() <= 200, "a page at a time");
            told += page.matches("ticket").count();
        }
        // No connection is held between pages, however slowly they are taken: others use them all meanwhile.
        at_once((0..40).map(|_| {
            let ana = ana.clone();
            async move { ana.get("/v1/me").await.ok(200) }
        }))
        .await;
        sqlx::query("delete from ticket").execute(&mut server.database().await).await.unwrap();
        let rest: Vec<String> = export.try_collect().await.unwrap();
        assert!(rest.iter().all(|page| !page.contains("ticket")), "nothing had been read ahead");
        assert_eq!(rest.last().unwrap(), "{\"type\":\"end\"}\n");
    });
}

#[test]
fn an_export_is_cut_off_when_its_session_ends() {
    test(async |server| {
        let ana = with_tickets(server, 2_000).await;
        let (id, session) = ids(&ana).await;
        let other = server.another().await;
        let export = server.service().export(id.into(), session.into()).await.unwrap();
        pin_mut!(export);
        export.next().await.unwrap().unwrap();
        // Elsewhere, and long ago for a slow reader.
        assert_eq!(ana.via(&other).delete("/v1/sessions/current").await.status, 204);
        sqlx::query("update session set revoked_at = now() - interval '1 hour'")
            .execute(&mut server.database().await)
            .await
            .unwrap();
        let error = export.next().await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), mancala_server::account::TokenError::Ended.to_string());
        other.stop().await;
    });
}

#[test]
fn exports_count_among_what_there_is_less_of() {
    test(async |server| {
        let document = server.nobody().get("/openapi.json").await.ok(200);
        let class = |path: &str| document["paths"][path]["get"]["x-budget"].clone();
        assert_eq!((class("/v1/me/export"), class("/v1/me")), (json!("creating"), json!("reading")));
    });
}
