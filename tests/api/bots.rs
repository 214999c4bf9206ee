//! Bots: who becomes one, and whom they meet in ranked play.

use serde_json::{Value, json};

use crate::harness::{Player, TestServer, test, text};

async fn ticket(player: &Player, players: usize, with_bots: bool) -> Value {
    let wish = json!({ "variant": "kalah", "players": players, "turn_seconds": 30, "with_bots": with_bots });
    player.post("/v1/tickets", wish).await.ok(201)
}

async fn status(player: &Player, ticket: &Value) -> String {
    let path = format!("/v1/tickets/{}", text(&ticket["id"]));
    text(&player.get(&path).await.ok(200)["status"]).to_owned()
}

/// Whether these get a game together, however long they wait.
async fn play(server: &TestServer, people: &[(&Player, bool)]) -> bool {
    let mut tickets = Vec::new();
    for (player, with_bots) in people {
        tickets.push((*player, ticket(player, people.len(), *with_bots).await));
    }
    let matched = server.matched_of(&tickets).await;
    assert!(matched == 0 || matched == people.len(), "{matched} of {}", people.len());
    matched > 0
}

#[test]
fn an_account_becomes_a_bot_for_good() {
    test(async |server| {
        let guest = server.guest("Ana").await;
        guest.put("/v1/me/bot", json!({})).await.problem(403, "account_needed");
        let account = server.account_named("Deep Pit").await;
        for _ in 0..2 {
            let bot = account.put("/v1/me/bot", json!({})).await.ok(200);
            assert_eq!((&bot["id"], &bot["kind"]), (&json!(account.id), &json!("bot")));
        }
        account.put("/v1/me/bot", json!({ "bot": false })).await.problem(422, "unknown_field");
        let shown = guest.get(&format!("/v1/players/{}", account.id)).await.ok(200);
        assert_eq!(shown["kind"], "bot", "everybody sees it");
    });
}

#[test]
fn after_a_ranked_game_it_is_too_late_to_be_a_bot() {
    test(async |server| {
        let account = server.account_named("Late").await;
        let people = [account.clone(), server.guest("Ana").await];
        let (_, game) = server.ranked_game_of("kalah", &people).await;
        account.put("/v1/me/bot", json!({})).await.problem(409, "bot_too_late");
        account.act(text(&game["id"]), "resign").await.ok(200);
        account.put("/v1/me/bot", json!({})).await.problem(409, "bot_too_late");
        let solo = json!({ "variant": "kalah", "computers": ["easy"] });
        let other = server.account_named("Early").await;
        other.post("/v1/games", solo).await.ok(201);
        other.put("/v1/me/bot", json!({})).await.ok(200);
    });
}

#[test]
fn a_ticket_tells_whether_it_is_for_games_with_bots() {
    test(async |server| {
        let player = server.guest("Ana").await;
        let plain = player.ticket("kalah", 2).await;
        assert_eq!(plain["with_bots"], false);
        player.delete(&format!("/v1/tickets/{}", text(&plain["id"]))).await.ok(200);
        let asked = ticket(&player, 2, true).await;
        assert_eq!(asked["with_bots"], true);
        let again = player.get(&format!("/v1/tickets/{}", text(&asked["id"]))).await.ok(200);
        assert_eq!(again["with_bots"], true);
        let wish = json!({ "variant": "kalah", "players": 2, "turn_seconds": 30, "with_bots": 1 });
        player.post("/v1/tickets", wish).await.problem(422, "invalid_value");
    });
}

#[test]
fn bots_meet_bots_and_those_who_ask_for_them_and_nobody_else() {
    test(async |server| {
        let (one, other) = (server.bot("One").await, server.bot("Other").await);
        let (ana, ben) = (server.guest("Ana").await, server.guest("Ben").await);
        assert!(!play(server, &[(&one, false), (&ana, false)]).await, "she has not asked for it");
        assert!(!play(server, &[(&one, true), (&ana, false)]).await, "nor does the bot decide for her");
        assert!(play(server, &[(&one, false), (&ana, true)]).await);
        assert!(play(server, &[(&one, false), (&other, false)]).await);
        assert!(play(server, &[(&ana, true), (&ben, false)]).await, "who asks for bots meets people too");
        assert!(!play(server, &[(&one, false), (&ana, true), (&ben, false)]).await);
        assert!(play(server, &[(&one, false), (&ana, true), (&ben, true)]).await);
        let four = [(&one, false), (&other, false), (&ana, true), (&ben, false)];
        assert!(!play(server, &four).await);
        assert!(play(server, &[(&one, false), (&other, false), (&ana, true), (&ben, true)]).await);
    });
}

#[test]
fn whoever_becomes_a_bot_while_waiting_waits_as_one() {
    test(async |server| {
        let account = server.account_named("Deep Pit").await;
        let waits = ticket(&account, 2, false).await;
        account.put("/v1/me/bot", json!({})).await.ok(200);
        let ana = server.guest("Ana").await;
        let hers = ticket(&ana, 2, false).await;
        server.waited(5_000.0).await;
        server.rounds().await;
        assert_eq!(status(&account, &waits).await, "waiting");
        assert_eq!(status(&ana, &hers).await, "waiting");
    });
}
