//! Ranked games, as matchmaking makes them.

use serde_json::{Value, json};

use super::{Player, TestServer, at_once, text};

impl Player {
    /// A ticket for a ranked game.
    pub async fn ticket(&self, variant: &str, players: usize) -> Value {
        let wish = json!({ "variant": variant, "players": players, "turn_seconds": 30 });
        self.post("/v1/tickets", wish).await.ok(201)
    }

    /// The receipts of a game.
    pub async fn receipts(&self, game: &str) -> Vec<Value> {
        let answer = self.get(&format!("/v1/games/{game}/receipts")).await.ok(200);
        answer["items"].as_array().unwrap().clone()
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
        seated(people, &matched).await
    }

    /// The same with people who have just met or are far apart: as if they had waited for long.
    pub async fn ranked_again(&self, variant: &str, people: &[Player]) -> (Vec<Player>, Value) {
        let mut tickets = Vec::new();
        for player in people {
            tickets.push(player.ticket(variant, people.len()).await);
        }
        self.waited(5_000.0).await;
        let matched = people.iter().cloned().zip(tickets);
        let matched =
            at_once(matched.map(|(player, ticket)| async move { player.matched(&ticket).await })).await;
        seated(people, &matched).await
    }

    /// How many of those with these tickets are matched, however long they wait. The games are resigned and the other
    /// tickets cancelled, so that all are free again.
    pub async fn matched_of(&self, tickets: &[(&Player, Value)]) -> usize {
        self.waited(5_000.0).await;
        self.rounds().await;
        let mut matched = 0;
        for (player, ticket) in tickets {
            let path = format!("/v1/tickets/{}", text(&ticket["id"]));
            let now = player.get(&path).await.ok(200);
            if let Some(game) = now["game_id"].as_str() {
                matched += 1;
                player.act(game, "resign").await;
            } else {
                player.delete(&path).await.ok(200);
            }
        }
        matched
    }

    /// Lets everybody who waits have waited for so many seconds more.
    pub async fn waited(&self, seconds: f64) {
        // Else those of whom nothing is written yet would have been silent for as long.
        self.service().write_heard().await.unwrap();
        let sql =
            "update ticket set created_at = created_at - make_interval(secs => $1) where status = 'waiting'";
        sqlx::query(sql).bind(seconds).execute(&mut self.database().await).await.unwrap();
    }

    /// Has those who wait paired a few times.
    pub async fn rounds(&self) {
        for _ in 0..3 {
            self.service().pair_all().await.unwrap();
            // The server's own round may have had the queue.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
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

/// The game of these tickets, and the people in the order of its seats.
async fn seated(people: &[Player], matched: &[Value]) -> (Vec<Player>, Value) {
    let id = text(&matched[0]["game_id"]);
    assert!(matched.iter().all(|ticket| ticket["game_id"] == *id), "{matched:?}");
    let game = people[0].game(id).await;
    let seats = game["seats"].as_array().unwrap().iter();
    let by_seat =
        seats.map(|seat| people.iter().find(|p| p.id == text(&seat["player"]["id"])).unwrap().clone());
    (by_seat.collect(), game)
}

/// People in a group, by seat, who play ranked games there: no operation makes one without the queue.
pub struct Table<'a> {
    server: &'a TestServer,
    pub people: Vec<Player>,
    group: String,
}

impl<'a> Table<'a> {
    pub async fn of(server: &'a TestServer, variant: &str, people: Vec<Player>) -> Self {
        let new = json!({ "variant": variant, "options": { "turn_seconds": 60 } });
        let group = people[0].post("/v1/groups", new).await.ok(201);
        for player in &people[1..] {
            player.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
        }
        Self { server, people, group: text(&group["id"]).to_owned() }
    }

    /// With so many new guests.
    pub async fn new(server: &'a TestServer, variant: &str, players: usize) -> Self {
        let mut people = Vec::new();
        for i in 0..players {
            people.push(server.guest(&format!("Player {i}")).await);
        }
        Self::of(server, variant, people).await
    }

    /// A new ranked game.
    pub async fn game(&self) -> String {
        let path = format!("/v1/groups/{}/games", self.group);
        let game = text(&self.people[0].post(&path, json!({})).await.ok(201)["id"]).to_owned();
        let sql = "update game set ranked = true where id = $1::text::uuid";
        sqlx::query(sql).bind(&game).execute(&mut self.server.database().await).await.unwrap();
        game
    }

    /// A ranked game in which these seats resign in this order.
    pub async fn resigned(&self, seats: &[usize]) -> String {
        let game = self.game().await;
        for &seat in seats {
            self.people[seat].act(&game, "resign").await.ok(200);
        }
        game
    }
}
