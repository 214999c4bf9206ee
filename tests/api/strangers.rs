//! Every operation of the document with another player's ids: nothing of the owner's is read, changed, or told to exist.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{Answer, PASSWORD, Player, TestServer, test, text};
use crate::operations::{Document, Operation};

const USERNAME: &str = "ana-who-owns";

/// Somebody with one of everything that is nobody else's business.
struct Owner {
    ana: Player,
    /// A running private game and one that is over.
    games: Vec<String>,
    /// The private group of these games, and one with a computer.
    groups: Vec<String>,
    /// Ana and the computer, in these groups.
    members: Vec<String>,
    ticket: String,
    sessions: Vec<String>,
    token: String,
    blocked: Player,
    code: String,
}

impl Owner {
    async fn new(server: &TestServer) -> Self {
        let ana = server.account(USERNAME).await;
        let preferences = json!({ "diary": "of Ana alone" });
        ana.patch("/v1/me", json!({ "name": "Ana", "preferences": preferences })).await.ok(200);
        let device = json!({ "username": USERNAME, "password": PASSWORD, "device": "hidden phone" });
        server.nobody().post("/v1/sessions", device).await.ok(201);
        let new = json!({ "name": "hidden program", "scopes": ["profile"] });
        let token = ana.post("/v1/me/tokens", new).await.ok(201);
        let blocked = server.guest("Cora").await;
        assert_eq!(ana.put(&format!("/v1/me/blocks/{}", blocked.id), json!({})).await.status, 204);

        let private = json!({ "variant": "kalah", "private": true });
        let group = ana.post("/v1/groups", private.clone()).await.ok(201);
        let ben = server.guest("Ben").await;
        ben.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
        let games = format!("/v1/groups/{}/games", text(&group["id"]));
        let over = ana.post(&games, json!({})).await.ok(201);
        ben.act(text(&over["id"]), "resign").await.ok(200);
        let running = ana.post(&games, json!({})).await.ok(201);
        let other = ana.post("/v1/groups", private).await.ok(201);
        let path = format!("/v1/groups/{}/computers", text(&other["id"]));
        let other = ana.post(&path, json!({ "level": "easy" })).await.ok(200);
        let ticket = ana.ticket("basic", 4).await;
        let sessions = ana.get("/v1/sessions").await.ok(200);
        let id = |value: &Value| text(&value["id"]).to_owned();
        Self {
            games: vec![id(&running), id(&over)],
            members: vec![id(&group["members"][0]), id(&other["members"][1])],
            code: text(&group["code"]).to_owned(),
            groups: vec![id(&group), id(&other)],
            ticket: id(&ticket),
            sessions: sessions["items"].as_array().unwrap().iter().map(id).collect(),
            token: id(&token),
            ana,
            blocked,
        }
    }

    /// The paths of an operation with all ids of the owner's that fit, and each with ids that nothing has.
    fn paths(&self, operation: &Operation) -> Vec<(String, String)> {
        let path = &operation.path;
        let ids = match path {
            path if !path.contains("{id}") => vec![self.ana.id.clone()],
            path if path.starts_with("/v1/games/") => self.games.clone(),
            path if path.starts_with("/v1/groups/") => self.groups.clone(),
            path if path.starts_with("/v1/tickets/") => vec![self.ticket.clone()],
            path if path.starts_with("/v1/sessions/") => self.sessions.clone(),
            path if path.starts_with("/v1/me/tokens/") => vec![self.token.clone()],
            path if path.starts_with("/v1/players/") => vec![self.ana.id.clone()],
            path => panic!("whose id is in {path}?"),
        };
        let with = |id: &str, member: &str| {
            let path = path.replace("{id}", id).replace("{member_id}", member);
            // Of blocks: whom Ana has blocked is her business.
            let path = path.replace("{player_id}", &self.blocked.id).replace("{pool}", "kalah-2");
            assert!(!path.contains('{'), "an id that this test does not know: {path}");
            path + operation.query()
        };
        let unknown = Uuid::now_v7().to_string();
        let pairs = ids.iter().enumerate().map(|(i, id)| {
            (with(id, self.members.get(i).unwrap_or(&self.members[0])), with(&unknown, &unknown))
        });
        pairs.collect()
    }

    /// What nobody else may be told.
    fn secrets(&self) -> Vec<&str> {
        let ids = [&self.games, &self.groups, &self.members, &self.sessions].into_iter().flatten();
        let words = [USERNAME, "of Ana alone", "hidden phone", "hidden program", &self.code];
        let more = [&self.ticket, &self.token];
        ids.chain(more).map(String::as_str).chain(words).collect()
    }
}

/// Everybody whom the owner's things are none of the business of.
async fn others(server: &TestServer) -> Vec<(&'static str, Player)> {
    let (account, owner) = (server.account_named("Mallory").await, server.account_named("Mallet").await);
    let scopes = ["games:read", "games:play", "groups", "ranked", "profile"];
    let token = owner.post("/v1/me/tokens", json!({ "name": "x", "scopes": scopes })).await.ok(201);
    vec![
        ("nobody", server.nobody()),
        ("a guest", server.guest("Trudy").await),
        ("an account", account),
        ("a program", server.nobody().with_token(text(&token["token"]))),
    ]
}

/// A body as the document shows it, about the owner where it can be.
fn body(document: &Document, operation: &Operation, owner: &Owner) -> Option<Value> {
    operation.schema()?;
    let mut body = document.example(operation);
    if body.get("username").is_some() {
        body["username"] = json!(USERNAME);
        // The one of the document is hers.
        if body.get("password").is_some() {
            body["password"] = json!("not the right password");
        }
    }
    if body.get("refresh_token").is_some() {
        body["refresh_token"] = json!(owner.sessions[0]);
    }
    Some(body)
}

async fn send(who: &Player, operation: &Operation, path: &str, body: Option<&Value>) -> Answer {
    let request = who.request(operation.method.clone(), path);
    Answer::of(match body {
        Some(body) => request.json(body),
        None => request,
    })
    .await
}

/// Every row of the database.
pub async fn rows(server: &TestServer) -> BTreeSet<String> {
    // Only the first row of a table follows its name.
    let everything = server.everything().await;
    everything.lines().filter_map(|line| Some(line[line.find('(')?..].to_owned())).collect()
}

/// What differs between two answers apart from the ids that were asked for and the id of the request.
fn told(answer: &Answer, path: &str) -> (u16, String) {
    let ids = path.split(['/', '?']).filter(|part| Uuid::try_parse(part).is_ok());
    let text = ids.fold(answer.text.clone(), |text, id| text.replace(id, "this"));
    (answer.status.as_u16(), text)
}

#[test]
fn no_operation_reads_or_changes_what_is_another_players() {
    test(async |server| {
        let (document, owner) = (Document::of(server).await, Owner::new(server).await);
        let before = rows(server).await;
        let mut with_ids = 0;
        for operation in &document.operations {
            let id = operation.id.as_str();
            let body = body(&document, operation, &owner);
            let is_public = operation.path.starts_with("/v1/players/");
            let has_ids = operation.path.contains("id}") && !is_public;
            with_ids += u32::from(has_ids);
            for (who, caller) in others(server).await {
                for (path, unknown) in owner.paths(operation) {
                    let answer = send(&caller, operation, &path, body.as_ref()).await;
                    assert!(!answer.status.is_server_error(), "{who}, {id}: {}", answer.text);
                    let sent = format!("{path} {}", body.as_ref().unwrap_or(&Value::Null));
                    let found = format!("{:?} {}", answer.headers, answer.text);
                    let leak = owner.secrets().into_iter().find(|s| found.contains(s) && !sent.contains(s));
                    assert_eq!(leak, None, "{who}, {id}: {found}");
                    if has_ids && !operation.path.contains("{player_id}") {
                        assert!(answer.status.is_client_error(), "{who}, {id}: {}", answer.text);
                        // Nor is it told that there is such a thing.
                        let nothing = send(&caller, operation, &unknown, body.as_ref()).await;
                        assert_eq!(told(&answer, &path), told(&nothing, &unknown), "{who}, {id}");
                    }
                    if id == "get_block" {
                        assert!(answer.status.is_client_error(), "{who} reads the blocks of others");
                    }
                }
            }
            // So that her ticket goes on waiting.
            owner.ana.get("/v1/me").await.ok(200);
            let after = rows(server).await;
            let changed: Vec<_> = before.difference(&after).collect();
            assert!(changed.is_empty(), "{id} has changed {changed:#?}");
            let hers = |row: &&String| {
                owner.secrets().iter().any(|s| row.contains(s)) || row.contains(&owner.ana.id)
            };
            let added: Vec<_> = after.difference(&before).filter(hers).collect();
            assert!(added.is_empty(), "{id} has added {added:#?}");
        }
        assert!(with_ids >= 20, "only {with_ids} operations have ids");

        let Owner { ana, games, ticket, sessions, blocked, .. } = &owner;
        assert_eq!(ana.game(&games[0]).await["status"], "running");
        assert_eq!(ana.get(&format!("/v1/tickets/{ticket}")).await.ok(200)["status"], "waiting");
        let count = async |path: &str| ana.get(path).await.ok(200)["items"].as_array().unwrap().len();
        assert_eq!(count("/v1/sessions").await, sessions.len());
        assert_eq!((count("/v1/me/tokens").await, count("/v1/me/blocks").await), (1, 1));
        assert_eq!(ana.get(&format!("/v1/me/blocks/{}", blocked.id)).await.status, 200);
    });
}

#[test]
fn an_idempotency_key_of_another_player_is_a_new_one() {
    test(async |server| {
        let owner = server.guest("Ana").await;
        let post = async |who: &Player| {
            let request =
                who.request(reqwest::Method::POST, "/v1/groups").header("idempotency-key", "the same");
            Answer::of(request.json(&json!({ "variant": "kalah", "private": true }))).await.ok(201)
        };
        let hers = post(&owner).await;
        assert_eq!(post(&owner).await["id"], hers["id"]);
        let theirs = post(&server.guest("Mallory").await).await;
        assert_ne!((&theirs["id"], &theirs["code"]), (&hers["id"], &hers["code"]));
    });
}

#[test]
fn who_calls_is_told_by_the_token_alone() {
    test(async |server| {
        let (ana, mallory) = (server.guest("Ana").await, server.guest("Mallory").await);
        let before = rows(server).await;
        for name in
            ["X-User-Id", "X-Player-Id", "X-Forwarded-User", "X-Original-URL", "X-Rewrite-URL", "Cookie"]
        {
            let request = mallory.request(reqwest::Method::GET, "/v1/me").header(name, &ana.id);
            assert_eq!(Answer::of(request).await.ok(200)["id"], mallory.id.as_str(), "{name}");
            let request = server.nobody().request(reqwest::Method::GET, "/v1/me").header(name, &ana.id);
            Answer::of(request).await.problem(401, "token_missing");
        }
        for name in ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"] {
            let request = ana.request(reqwest::Method::GET, "/v1/me").header(name, "DELETE");
            Answer::of(request).await.ok(200);
        }
        for query in ["player_id", "id", "sub", "access_token", "_method", "as"] {
            let path = format!("/v1/me?{query}={}", ana.id);
            mallory.get(&path).await.problem(400, "invalid_parameter");
        }
        let token = ana.token.clone().unwrap();
        server.nobody().get(&format!("/v1/me?access_token={token}")).await.problem(401, "token_missing");
        assert_eq!(rows(server).await, before);
    });
}
