//! Ranked games, as matchmaking makes them.

use serde_json::{Value, json};

use super::{Player, TestServer, at_once, text};

impl Player {
    /// A ticket for a ranked game.
    pub async fn ticket(&self, variant: &str, players: usize) -> Value {
        let wish = json!({ "variant": variant, "players": players, "turn_seconds": 30 });
        self.post("/v1/tickets", wish).await.ok(201)
    }

    /// A ticket as soon as it no longer waits.
    pub async fn matched(&self, ticket: &Value) -> Value {
        let path = format!("/v1/tickets/{}?wait=25", text(&ticket["id"]));
        self.get(&path).await.ok(200)
    }
}

impl TestServer {
    /// A ranked game of these people, as it stands, and they in the order of its seats.
    pub async fn ranked_game_of(&self, variant: &str, people: &[Player]) -> (Vec<Player>, Value) {
        let players = people.len();
        let matched = at_once(people.iter().cloned().map(|player| {
            let variant = variant.to_owned();
            async move {
                let ticket = player.ticket(&variant, players).await;
                player.matched(&ticket).await
            }
        }))
        .await;
        let id = text(&matched[0]["game_id"]).to_owned();
        assert!(matched.iter().all(|ticket| ticket["game_id"] == *id), "{matched:?}");
        let game = people[0].game(&id).await;
        let seats = game["seats"].as_array().unwrap().iter();
        let by_seat =
            seats.map(|seat| people.iter().find(|p| p.id == text(&seat["player"]["id"])).unwrap().clone());
        (by_seat.collect(), game)
    }

    /// The same with new guests.
    pub async fn ranked_game(&self, variant: &str, players: usize) -> (Vec<Player>, Value) {
        let mut people = Vec::new();
        for _ in 0..players {
            people.push(self.guest(&format!("Player {}", people.len())).await);
        }
        self.ranked_game_of(variant, &people).await
    }
}
