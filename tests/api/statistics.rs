//! What a player's finished games come to, against the games themselves.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::clock::shift;
use crate::harness::{Player, Table, number, play_on, play_out, test, text};

/// Adds one meeting: played, and won, tied or lost.
fn count(tally: &mut Value, mine: u64, theirs: u64) {
    if tally.is_null() {
        *tally = json!({ "played": 0, "won": 0, "tied": 0, "lost": 0 });
    }
    let how = match mine.cmp(&theirs) {
        std::cmp::Ordering::Less => "won",
        std::cmp::Ordering::Equal => "tied",
        std::cmp::Ordering::Greater => "lost",
    };
    for field in ["played", how] {
        tally[field] = json!(number(&tally[field]) + 1);
    }
}

/// The statistics, reckoned from the games as they are told.
async fn reckoned(player: &Player) -> (Value, Value, Value, BTreeMap<String, Value>) {
    let (mut pools, mut computers, mut people) = (json!({}), json!({}), json!({}));
    let mut opponents = BTreeMap::new();
    let games = player.get(&format!("/v1/players/{}/games?status=finished", player.id)).await.ok(200);
    for game in games["items"].as_array().unwrap() {
        let seats = game["seats"].as_array().unwrap();
        let own = seats.iter().find(|seat| seat["player"]["id"] == player.id).unwrap();
        let (variant, mine) = (text(&game["variant"]), number(&own["place"]));
        let pool = format!("{variant}-{}", if seats.len() == 2 { "2" } else { "multi" });
        if game["ranked"] == true {
            let of_pool = &mut pools[&pool];
            if of_pool.is_null() {
                *of_pool = json!({ "played": 0, "by_place": {} });
            }
            of_pool["played"] = json!(number(&of_pool["played"]) + 1);
            let place = &mut of_pool["by_place"][mine.to_string()];
            *place = json!(place.as_u64().unwrap_or(0) + 1);
        }
        for other in seats.iter().filter(|seat| seat["seat"] != own["seat"]) {
            let theirs = number(&other["place"]);
            if game["ranked"] == true {
                let key = format!("{pool} {}", text(&other["player"]["id"]));
                count(opponents.entry(key).or_default(), mine, theirs);
            } else if let Some(level) = other["computer"].as_str() {
                count(&mut computers[variant][level], mine, theirs);
            } else {
                count(&mut people[variant], mine, theirs);
            }
        }
    }
    (pools, computers, people, opponents)
}

#[test]
fn statistics_are_what_the_finished_games_come_to() {
    test(async |server| {
        let table = Table::new(server, "kalah", 3).await;
        let ana = &table.people[0];
        let path = format!("/v1/players/{}/statistics", ana.id);
        let nothing = json!({ "pools": {}, "computers": {}, "people": {}, "opponents": [] });
        assert_eq!(server.nobody().get(&path).await.ok(200), nothing);
        // Against computers, one of them twice in a game.
        for (variant, levels, resign) in [
            ("kalah", json!(["easy"]), false),
            ("kalah", json!(["easy"]), true),
            ("kalah", json!(["medium", "easy", "easy"]), false),
            ("basic", json!(["easy", "easy"]), true),
        ] {
            let new = json!({ "variant": variant, "computers": levels, "starter": "me" });
            let game = ana.post("/v1/games", new).await.ok(201);
            if resign {
                ana.act(text(&game["id"]), "resign").await.ok(200);
                ana.until(text(&game["id"]), |now| now["status"] == "finished").await;
            } else {
                let solo = [ana.clone(), ana.clone(), ana.clone(), ana.clone()];
                play_on(&solo, text(&game["id"]), |legal| legal[0]).await;
            }
        }
        // One that runs, one against people, ranked ones in two pools, one that is aborted.
        ana.post("/v1/games", json!({ "variant": "kalah", "computers": ["hard"], "starter": "me" }))
            .await
            .ok(201);
        let ben = server.guest("Ben").await;
        let group = ana.post("/v1/groups", json!({ "variant": "basic" })).await.ok(201);
        ben.post("/v1/groups/join", json!({ "code": group["code"] })).await.ok(200);
        let game = ana.post(&format!("/v1/groups/{}/games", text(&group["id"])), json!({})).await.ok(201);
        play_out(&[ana.clone(), ben.clone()], text(&game["id"]), |legal| legal[0]).await;
        for resigners in [vec![0, 1], vec![2, 1], vec![1, 2]] {
            table.resigned(&resigners).await;
        }
        let game = table.game().await;
        play_out(&table.people, &game, |legal| legal[0]).await;
        Table::of(server, "basic", table.people[..2].to_vec()).await.resigned(&[1]).await;

        let game = table.game().await;
        shift(&mut server.database().await, &game, 1.1).await;
        assert_eq!(ana.until(&game, |now| now["status"] != "running").await["status"], "aborted");

        let (pools, computers, people, opponents) = reckoned(ana).await;
        let told = server.nobody().get(&path).await.ok(200);
        assert_eq!(told["pools"], pools);
        assert_eq!(told["computers"], computers);
        assert_eq!(told["people"], people);
        assert_eq!(computers["kalah"]["easy"]["played"], 4);
        let mut met = BTreeMap::new();
        let mut most = u64::MAX;
        for opponent in told["opponents"].as_array().unwrap() {
            let key = format!("{} {}", text(&opponent["pool"]), text(&opponent["player"]["id"]));
            let fields = ["played", "won", "tied", "lost"];
            let tally: Value = fields.iter().map(|f| (f.to_string(), opponent[f].clone())).collect();
            assert!(number(&opponent["played"]) <= most, "most games first");
            most = number(&opponent["played"]);
            met.insert(key, tally);
        }
        assert_eq!(met, opponents);
        assert_eq!(met.len(), 3);
    });
}
