//! A session in which every answer is held against the schema that the document gives for it.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, PASSWORD, Player, Table, TestServer, play_out, test};
use crate::operations::Document;

/// What about a value does not fit a schema of the document, with fields that the schema does not name.
pub fn schema_errors(document: &Document, schema: &Value, value: &Value) -> Vec<String> {
    let mut whole = schema.clone();
    let mut components = document.json["components"].clone();
    close(&mut components);
    whole["components"] = components;
    let validator = jsonschema::validator_for(&whole).unwrap();
    validator.iter_errors(value).map(|error| format!("{error} at {}", error.instance_path())).collect()
}

/// Lets every object have only the fields that it names: what is not documented must not be answered.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("properties").is_some_and(Value::is_object)
                && !fields.contains_key("additionalProperties")
            {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
            fields.iter_mut().filter(|(key, _)| *key != "example").for_each(|(_, inner)| close(inner));
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

#[test]
fn what_is_not_documented_is_noticed() {
    test(async |server| {
        let document = Document::of(server).await;
        let schema = json!({ "$ref": "#/components/schemas/Group" });
        let host = server.guest("Ana").await;
        let group = host.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        assert_eq!(schema_errors(&document, &schema, &group), Vec::<String>::new());
        for (pointer, value) in [
            ("/surprise", json!(1)),
            ("/members/0/surprise", json!(1)),
            ("/variant", json!("oware")),
            ("/id", json!(7)),
        ] {
            let mut changed = group.clone();
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            changed.pointer_mut(parent).unwrap()[field] = value;
            assert_eq!(schema_errors(&document, &schema, &changed).len(), 1, "{pointer}");
        }
    });
}

struct Session<'a> {
    server: &'a TestServer,
    document: Document,
}

impl Session<'_> {
    /// Asserts that an answer is one that the document tells, and returns it.
    #[track_caller]
    fn conforms(&self, id: &str, answer: &Answer) -> Value {
        let operation = self.document.operation(id);
        let told = &operation.told["responses"][answer.status.as_str()];
        assert!(told.is_object(), "{id} does not tell of {}: {}", answer.status, answer.text);
        let Some(contents) = told["content"].as_object() else {
            assert_eq!(answer.text, "", "{id}");
            return Value::Null;
        };
        let sent = answer.headers["content-type"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let content = contents.get(&sent).unwrap_or_else(|| panic!("{id} does not tell of {sent}"));
        let value = if sent.ends_with("json") { answer.json() } else { json!(answer.text) };
        let errors = schema_errors(&self.document, &content["schema"], &value);
        assert!(errors.is_empty(), "{id}: {errors:#?} in {value}");
        for header in told["headers"].as_object().into_iter().flatten() {
            assert!(answer.headers.contains_key(header.0.as_str()), "{id} lacks {}", header.0);
        }
        value
    }

    async fn send(&self, id: &str, who: &Player, ids: &[&str], body: Value) -> Value {
        self.ask(id, who, ids, "", body).await
    }

    /// Calls an operation with ids for its path, and returns its answer, which conforms.
    async fn ask(&self, id: &str, who: &Player, ids: &[&str], query: &str, body: Value) -> Value {
        let operation = self.document.operation(id);
        let mut path = operation.path.clone();
        for (name, value) in ["{id}", "{member_id}"].iter().zip(ids) {
            path = path.replace(name, value).replace("{pool}", value);
        }
        let request = who.request(operation.method.clone(), &format!("{path}{query}"));
        self.conforms(id, &Answer::of(if body.is_null() { request } else { request.json(&body) }).await)
    }

    async fn guest(&self, name: &str) -> Player {
        let made = self.send("create_guest", &self.server.nobody(), &[], json!({ "name": name })).await;
        let mut player = self.server.nobody().with_token(made["access_token"].as_str().unwrap());
        player.id = text(&made["player"]["id"]);
        player.refresh = text(&made["refresh_token"]);
        player
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn every_answer_of_a_session_is_as_the_document_tells() {
    test(async |server| {
        let s = Session { server, document: Document::of(server).await };
        let nobody = server.nobody();
        for id in ["get_health", "get_readiness", "get_metrics", "list_variants"] {
            s.send(id, &nobody, &[], Value::Null).await;
        }
        let (ana, ben) = (s.guest("Ana").await, s.guest("Ben").await);
        s.send("refresh_session", &nobody, &[], json!({ "refresh_token": ben.refresh })).await;
        s.send("get_me", &ana, &[], Value::Null).await;
        s.send("update_me", &ana, &[], json!({ "name": "Anna" })).await;
        s.send("get_player", &nobody, &[&ana.id], Value::Null).await;

        let options = json!({ "pits": 7, "turn_seconds": null, "away_seconds": 60, "stand_in": "hard", "capture_from": "all" });
        let group =
            s.send("create_group", &ana, &[], json!({ "variant": "kalah", "options": options })).await;
        let group_id = text(&group["id"]);
        s.send("join_group", &ben, &[], json!({ "code": group["code"] })).await;
        let with = s.send("add_group_computer", &ana, &[&group_id], json!({ "level": "easy" })).await;
        let member = text(&with["members"][2]["id"]);
        s.send("remove_group_computer", &ana, &[&group_id, &member], Value::Null).await;
        s.send("update_group", &ana, &[&group_id], json!({ "options": { "stones": 3 } })).await;
        let game = s.send("create_group_game", &ana, &[&group_id], json!({})).await;
        s.send("get_group", &nobody, &[&group_id], Value::Null).await;
        let id = text(&game["id"]);
        let people = [ana.clone(), ben.clone()];
        let mover = &people[usize::try_from(game["to_move"].as_u64().unwrap()).unwrap()];
        s.send("create_move", mover, &[&id], json!({ "pit": 3, "seq": 0 })).await;
        s.send("create_move", mover, &[&id], json!({ "pit": 2, "seq": 0 })).await;
        s.ask("get_game", &nobody, &[&id], "?after_seq=0&wait=5", Value::Null).await;
        s.send("preview_game", &nobody, &[&id], Value::Null).await;
        s.send("leave_game", &ana, &[&id], json!({})).await;
        s.send("get_game", &ben, &[&id], Value::Null).await;
        s.send("return_to_game", &ana, &[&id], json!({})).await;
        s.send("request_rematch", &ana, &[&id], json!({})).await;
        s.send("resign_game", &ana, &[&id], json!({})).await;
        s.send("create_move", &ben, &[&id], json!({ "pit": 0, "seq": 9 })).await;
        s.send("get_game", &nobody, &[&id], Value::Null).await;
        for who in [&ana, &ana, &ben] {
            s.send("request_rematch", who, &[&id], json!({})).await;
        }
        let record = s.send("get_record", &nobody, &[&id], Value::Null).await;
        assert!(s.send("replay_record", &nobody, &[], record.clone()).await["over"] == true);
        let request =
            nobody.request(Method::GET, &format!("/v1/games/{id}/record")).header("accept", "text/plain");
        assert!(s.conforms("get_record", &Answer::of(request).await).as_str().unwrap().starts_with("[kalah"));
        let conditional = ana.request(Method::GET, &format!("/v1/games/{id}")).header("if-none-match", "*");
        s.conforms("get_game", &Answer::of(conditional).await);
        for query in ["", "?variant=kalah&status=running", "?status=finished", "?cursor=x", "?variant=x"] {
            s.ask("list_games", &nobody, &[], query, Value::Null).await;
        }
        s.ask("list_games", &ana, &[], &format!("?player={}", ana.id), Value::Null).await;
        let new =
            json!({ "variant": "basic", "computers": ["easy", "easy"], "starter": "computer", "seed": 1 });
        let solo = s.send("create_game", &ana, &[], new).await;
        s.send("get_game", &ana, &[&text(&solo["id"])], Value::Null).await;
        let new = json!({ "variant": "kalah", "computers": ["perfect"], "starter": "me" });
        let solo = text(&s.send("create_game", &ana, &[], new).await["id"]);
        for query in ["", "?level=easy", "?level=godlike"] {
            s.ask("get_hint", &ana, &[&solo], query, Value::Null).await;
        }
        s.send("get_hint", &ben, &[&solo], Value::Null).await;
        for finished in [&solo, &id] {
            s.send("get_review", &ana, &[finished], Value::Null).await;
        }
        let mut changed = record;
        changed["events"][0]["pit"] = json!(7);
        s.send("replay_record", &nobody, &[], changed).await;
        let position =
            json!({ "variant": "kalah", "pits": [[1, 2], [3, 0]], "stores": [0, 0], "to_move": 0 });
        s.send("preview_position", &nobody, &[], json!({ "position": position })).await;
        for budget in [50, 0] {
            let body = json!({ "position": position, "budget_ms": budget });
            s.send("create_analysis", &ana, &[], body).await;
        }
        s.send(
            "preview_position",
            &nobody,
            &[],
            json!({ "position": { "variant": "kalah", "pits": [], "stores": [] } }),
        )
        .await;
        for (id, ids) in [("get_game", &ana.id), ("get_group", &ana.id), ("get_player", &group_id)] {
            s.send(id, &nobody, &[ids], Value::Null).await;
        }
        let ana = server.becomes_account(&ana).await;
        let end = time::OffsetDateTime::now_utc() + time::Duration::DAY;
        let end = end.format(&time::format_description::well_known::Rfc3339).unwrap();
        let new = json!({ "name": "a bot", "scopes": ["groups"], "expires_at": end });
        let made = s.send("create_personal_token", &ana, &[], new).await;
        let program = nobody.with_token(made["token"].as_str().unwrap());
        for id in ["create_group", "get_me", "list_personal_tokens"] {
            let body = if id == "create_group" { json!({ "variant": "basic" }) } else { Value::Null };
            s.send(id, &program, &[], body).await;
        }
        s.send("list_personal_tokens", &ana, &[], Value::Null).await;
        for _ in 0..2 {
            s.send("delete_personal_token", &ana, &[&text(&made["id"])], Value::Null).await;
        }
        s.send("leave_group", &ben, &[&group_id], Value::Null).await;
        s.send("leave_group", &ben, &[&group_id], Value::Null).await;
        s.send("create_group_game", &ana, &[&group_id], json!({ "surprise": 1 })).await;
        s.send("delete_current_session", &ben, &[], Value::Null).await;
        s.send("refresh_session", &nobody, &[], json!({ "refresh_token": ben.refresh })).await;
        s.send("get_me", &nobody, &[], Value::Null).await;
    });
}

#[test]
fn accounts_and_sessions_are_as_the_document_tells() {
    test(async |server| {
        let s = Session { server, document: Document::of(server).await };
        let (guest, nobody) = (s.guest("Ana").await, server.nobody());
        let new = json!({ "username": "ana", "password": PASSWORD, "device": "phone" });
        let made = s.send("create_account", &guest, &[], new.clone()).await;
        let ana = nobody.signed_in(&made);
        for (who, body) in [
            (&ana, new.clone()),
            (&nobody, new.clone()),
            (&nobody, json!({ "username": "admin", "password": PASSWORD })),
            (&nobody, json!({ "username": "a b", "password": PASSWORD })),
            (&nobody, json!({ "username": "ben", "password": "password" })),
        ] {
            assert!(s.send("create_account", who, &[], body).await["code"].is_string());
        }
        let guest = s.guest("Ben").await;
        s.send("create_group", &guest, &[], json!({ "variant": "kalah" })).await;
        let mut credentials = json!({ "username": "ana", "password": PASSWORD, "leave_guest": false });
        s.send("create_session", &guest, &[], credentials.clone()).await;
        credentials["leave_guest"] = json!(true);
        s.send("create_session", &guest, &[], credentials).await;
        s.send("create_session", &nobody, &[], json!({ "username": "ana", "password": "wrong" })).await;
        s.send("update_me", &ana, &[], json!({ "preferences": { "theme": ["dark", null] } })).await;
        for who in [&ana, &guest] {
            s.send("get_me", who, &[], Value::Null).await;
            s.send("create_recovery_codes", who, &[], json!({ "password": PASSWORD })).await;
            s.send("create_recovery_codes", who, &[], json!({ "password": "wrong" })).await;
            for new in ["password", "six pits, five stones"] {
                s.send("change_password", who, &[], json!({ "password": PASSWORD, "new_password": new }))
                    .await;
            }
        }
        let codes = json!({ "password": "six pits, five stones" });
        let codes = s.send("create_recovery_codes", &ana, &[], codes).await["recovery_codes"].clone();
        let body = json!({ "username": "ana", "recovery_code": codes[0], "new_password": PASSWORD });
        let recovered = s.send("recover_account", &nobody, &[], body.clone()).await;
        s.send("recover_account", &nobody, &[], body).await;
        let last = nobody.signed_in(&recovered);
        s.send("create_session", &nobody, &[], json!({ "username": "ana", "password": PASSWORD })).await;
        let listed = s.send("list_sessions", &last, &[], Value::Null).await;
        let other = listed["items"].as_array().unwrap().iter().find(|session| session["current"] == false);
        for id in [&other.unwrap()["id"], &json!(ana.id)] {
            s.send("delete_session", &last, &[&text(id)], Value::Null).await;
        }
        s.send("delete_sessions", &last, &[], Value::Null).await;
    });
}

#[test]
fn games_that_are_over_are_told_and_replayed_as_documented() {
    test(async |server| {
        let s = Session { server, document: Document::of(server).await };
        for (variant, options, players) in [
            ("kalah", json!({ "capture_empty": true, "turn_seconds": 60 }), 2),
            ("kalah", json!({ "capture_from": "all" }), 4),
            ("basic", json!({}), 3),
            ("basic", json!({ "full_ranking": false, "pits": 4 }), 4),
        ] {
            let new = json!({ "variant": variant, "options": options });
            let (people, _, game) = server.group_game(new, players).await;
            let id = text(&game["id"]);
            let end = play_out(&people, &id, |legal| legal[0]).await;
            let told = s.send("get_game", &people[0], &[&id], Value::Null).await;
            assert_eq!(told["last_event"], end["last_event"]);
            let record = s.send("get_record", &people[0], &[&id], Value::Null).await;
            let replayed = s.send("replay_record", &people[0], &[], record.clone()).await;
            assert_eq!(
                (&replayed["places"], &replayed["stores"]),
                (&record["result"]["places"], &record["result"]["stores"])
            );
            assert_eq!(replayed["position"], end["last_event"]["position"]);
        }
    });
}

#[test]
fn what_is_read_of_ratings_is_as_the_document_tells() {
    test(async |server| {
        let s = Session { server, document: Document::of(server).await };
        let table = Table::new(server, "kalah", 3).await;
        let (ana, nobody) = (&table.people[0], server.nobody());
        let solo = json!({ "variant": "basic", "computers": ["easy"], "starter": "me" });
        let solo = text(&s.send("create_game", ana, &[], solo).await["id"]);
        ana.act(&solo, "resign").await.ok(200);
        let running = table.game().await;
        s.send("get_game", ana, &[&running], Value::Null).await;
        for game in [&running, &solo] {
            s.send("get_outlook", &nobody, &[game], Value::Null).await;
        }
        for seat in [1, 0] {
            table.people[seat].act(&running, "resign").await.ok(200);
        }
        let over = s.send("get_game", ana, &[&running], Value::Null).await;
        assert!(over["seats"][0]["rating"]["after"].is_number());
        for game in [&running, &solo] {
            s.send("get_outlook", ana, &[game], Value::Null).await;
            s.send("list_receipts", &nobody, &[game], Value::Null).await;
        }
        for id in ["list_ratings", "get_statistics", "list_player_games"] {
            s.send(id, &nobody, &[&ana.id], Value::Null).await;
        }
        for query in ["?pool=kalah-multi", "?pool=kalah-2", "?pool=kalah-multi&cursor=x", "?pool=x", ""] {
            s.ask("list_rating_history", &nobody, &[&ana.id], query, Value::Null).await;
        }
        // On the leaderboard sooner than they could play for it.
        let sql = "update rating set deviation = 60, opponents = 10, listed_until = now() + interval '1 day'";
        sqlx::query(sql).execute(&mut server.database().await).await.unwrap();
        for pool in ["kalah-multi", "kalah-2", "oware"] {
            s.send("list_leaderboard", &nobody, &[pool], Value::Null).await;
            s.send("get_own_rank", ana, &[pool], Value::Null).await;
        }
        s.send("list_ratings", &nobody, &[&ana.id], Value::Null).await;
        let board = s.ask("list_leaderboard", &nobody, &["kalah-multi"], "", Value::Null).await;
        assert_eq!(board["items"].as_array().unwrap().len(), 3);
    });
}
