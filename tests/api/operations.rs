//! The operations as the served document tells them, with a place in the service where each can be tried.

use mancala_server::account::SigningKeys;
use reqwest::Method;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::harness::{Answer, KEY, Player, TestServer};

/// The document as served, with its operations.
pub struct Document {
    pub json: Value,
    pub operations: Vec<Operation>,
}

/// One documented operation.
#[derive(Clone)]
pub struct Operation {
    pub id: String,
    pub method: Method,
    pub path: String,
    pub told: Value,
}

impl Document {
    pub async fn of(server: &TestServer) -> Self {
        let json = server.nobody().get("/openapi.json").await.ok(200);
        let mut operations = Vec::new();
        for (path, item) in json["paths"].as_object().unwrap() {
            for (method, told) in item.as_object().unwrap() {
                operations.push(Operation {
                    id: told["operationId"].as_str().unwrap().to_owned(),
                    method: method.to_uppercase().parse().unwrap(),
                    path: path.clone(),
                    told: told.clone(),
                });
            }
        }
        assert!(operations.len() >= 30, "the document tells all operations");
        Self { json, operations }
    }

    pub fn operation(&self, id: &str) -> &Operation {
        self.operations.iter().find(|operation| operation.id == id).unwrap()
    }

    /// Those that take a body.
    pub fn with_body(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| operation.schema().is_some())
    }

    /// The body that the document gives as an example for an operation.
    pub fn example(&self, operation: &Operation) -> Value {
        self.example_of(operation.schema().unwrap())
    }

    fn example_of(&self, schema: &Value) -> Value {
        if let Some(reference) = schema["$ref"].as_str() {
            return self.example_of(self.resolve(reference));
        }
        if let Some(example) = schema.get("example") {
            return example.clone();
        }
        let required = schema["required"].as_array().expect("an example, or fields that have one");
        let fields = required.iter().map(|field| {
            let name = field.as_str().unwrap();
            (name.to_owned(), self.example_of(&schema["properties"][name]))
        });
        Value::Object(fields.collect::<Map<_, _>>())
    }

    /// What a reference points at.
    pub fn resolve(&self, reference: &str) -> &Value {
        let pointer = reference.strip_prefix('#').expect("references stay in the document");
        self.json.pointer(pointer).unwrap_or_else(|| panic!("{reference} points at nothing"))
    }
}

impl Operation {
    /// The schema of its body.
    pub fn schema(&self) -> Option<&Value> {
        self.told.pointer("/requestBody/content/application~1json/schema")
    }

    /// The query that it cannot do without.
    pub fn query(&self) -> &'static str {
        if self.id == "list_rating_history" { "?pool=kalah-2" } else { "" }
    }

    /// Whether it can be called without a token.
    pub fn is_open(&self) -> bool {
        self.told["security"].as_array().is_none_or(|ways| ways.is_empty() || ways.contains(&json!({})))
    }

    /// Asserts that an answer is a documented problem of this operation, with this status and code.
    #[track_caller]
    pub fn refuses(&self, answer: Answer, status: u16, code: &str, what: &str) -> Value {
        let found = (answer.status.as_u16(), answer.json()["code"].clone());
        assert_eq!(found, (status, json!(code)), "{} with {what}: {}", self.id, answer.text);
        let told = self.told["responses"][status.to_string()]["description"].as_str();
        assert!(
            told.is_some_and(|told| told.contains(&format!("`{code}`"))),
            "{} does not tell of {status} {code}, which it gives for {what}",
            self.id
        );
        answer.problem(status, code)
    }
}

/// A player with a game against the computer and a group of one, where every operation finds something to act on.
pub struct World<'a> {
    server: &'a TestServer,
    pub player: Player,
    pub game: String,
    pub group: String,
    pub member: String,
    /// Another player.
    pub other: Player,
}

impl<'a> World<'a> {
    pub async fn new(server: &'a TestServer) -> Self {
        let player = server.guest("Ana").await;
        let new = json!({ "variant": "kalah", "computers": ["easy"], "starter": "me" });
        let game = player.post("/v1/games", new).await.ok(201);
        let group = player.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
        let path = format!("/v1/groups/{}/computers", group["id"].as_str().unwrap());
        let group = player.post(&path, json!({ "level": "easy" })).await.ok(200);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (game, member) = (text(&game["id"]), text(&group["members"][1]["id"]));
        let other = server.guest("Ben").await;
        Self { server, player, game, group: text(&group["id"]), member, other }
    }

    /// The path of an operation on the things of this world.
    pub fn path(&self, operation: &Operation) -> String {
        let id = match operation.path.split('/').nth(2) {
            Some("games") => &self.game,
            Some("groups") => &self.group,
            _ => &self.player.id,
        };
        let path = operation.path.replace("{id}", id).replace("{member_id}", &self.member);
        path.replace("{player_id}", &self.other.id).replace("{pool}", "kalah-2") + operation.query()
    }

    /// Who calls an operation: its player, or for what has a budget by player somebody new every time.
    pub fn caller(&self, operation: &Operation) -> Player {
        if !["leave_game", "return_to_game", "create_analysis"].contains(&operation.id.as_str()) {
            return self.player.clone();
        }
        let (player, session) = (Uuid::now_v7().into(), Uuid::now_v7().into());
        let token = SigningKeys::parse(KEY).unwrap().issue(player, session, OffsetDateTime::now_utc());
        self.server.nobody().with_token(&token)
    }

    /// Sends a text as the body of an operation.
    pub async fn send(&self, operation: &Operation, body: impl Into<reqwest::Body>) -> Answer {
        let request = self.caller(operation).request(operation.method.clone(), &self.path(operation));
        Answer::of(request.header("content-type", "application/json").body(body)).await
    }
}
