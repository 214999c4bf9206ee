//! What the document says of each operation besides its form: who may call it, and what it is counted as. The gate goes
//! by that, so it is written where the document is made.

use serde_json::Value;

use crate::account::Scope;
use crate::budget::Class;

/// Who may call an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody: no token is looked at.
    Anybody,
    /// Whoever has a good token.
    Bearers {
        /// Whether one may do without.
        optional: bool,
        /// What a personal token must be good for; `None` is for sessions only.
        scope: Option<Scope>,
    },
}

impl Access {
    /// What the document says.
    pub fn of(told: &Value) -> Self {
        let ways = told["security"].as_array().map(Vec::as_slice).unwrap_or_default();
        if ways.is_empty() {
            return Self::Anybody;
        }
        let scope = ways.iter().find_map(|way| way["personal_token"][0].as_str());
        Self::Bearers {
            optional: ways.iter().any(|way| way.as_object().is_some_and(serde_json::Map::is_empty)),
            scope: scope.map(|name| name.parse().expect("the document has known scopes")),
        }
    }
}

/// What an operation is counted as. What is not of the API proper is not counted.
pub fn class_of(path: &str, method: &str, operation: &Value) -> Option<Class> {
    let rest = path.strip_prefix("/v1/")?;
    let secrets = ["guests", "accounts", "sessions", "groups/join", "me/password", "me/recovery"];
    // What ends sessions is asked for no secret, apart from what ends the player.
    let about_secrets =
        if method == "delete" { rest == "me" } else { secrets.iter().any(|start| rest.starts_with(start)) };
    let thinking = ["create_analysis", "get_hint", "get_review"];
    // A read, but of everything at once; and changes to a group, each of which stays in its log.
    let heavy = ["export_me", "update_group", "add_group_computer", "remove_group_computer"];
    // Stateless: nothing stays of what they are sent.
    let asking = ["preview_position", "replay_record"];
    let is_one_of = |ids: &[&str]| ids.iter().any(|id| operation["operationId"] == *id);
    Some(match method {
        _ if is_one_of(&thinking) => Class::Analysis,
        _ if is_one_of(&heavy) => Class::Creating,
        "get" => Class::Reading,
        _ if is_one_of(&asking) => Class::Reading,
        _ if about_secrets => Class::SignIn,
        "post" if operation["responses"].get("201").is_some() => Class::Creating,
        _ => Class::Playing,
    })
}

/// As how many requests of its class an operation counts for the address that it comes from. Whoever guesses passwords or
/// codes, of one player or of many, is out of budget sooner than whoever knows them.
pub fn cost_of(operation: &Value) -> u32 {
    let guessed =
        ["create_session", "recover_account", "change_password", "create_recovery_codes", "delete_me"];
    if guessed.iter().any(|id| operation["operationId"] == *id) { 10 } else { 1 }
}

/// Says in words too which scope an operation needs: the older form of the document has no other place for it.
pub fn tell_scope(operation: &mut Value) {
    let sentence = match Access::of(operation) {
        Access::Anybody => return,
        Access::Bearers { scope: Some(scope), .. } => {
            format!("Personal tokens need the scope `{}`.", scope.as_str())
        }
        Access::Bearers { scope: None, .. } => "Personal tokens are not accepted.".to_owned(),
    };
    let told = operation["description"].as_str().unwrap_or_default();
    operation["description"] = format!("{told}\n\n{sentence}").into();
}
