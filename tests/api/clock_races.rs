//! Races of the clock against a player, in number: whatever comes of one is exactly one event.

use serde_json::json;
use sqlx::{Connection, PgConnection};

use crate::clock::{audited, limited, mover, shift};
use crate::harness::{TestServer, at_once, number, of_seats, test, text};

/// How many of them the suite runs.
const RACES: usize = 100;

#[test]
fn clock_and_player_at_the_same_moment_make_one_event() {
    test(async |server| {
        let other = server.another().await;
        races(server, &other, RACES).await;
        other.stop().await;
    });
}

#[test]
#[ignore = "takes a minute: the races of the contract in full number, run by hand"]
fn a_thousand_races_of_clock_and_player_make_one_event_each() {
    test(async |server| {
        let other = server.another().await;
        let (players, clocks) = races(server, &other, 1_000).await;
        eprintln_counts(players, clocks);
        other.stop().await;
    });
}

#[expect(clippy::print_stderr, reason = "run by hand, and reported")]
fn eprintln_counts(players: usize, clocks: usize) {
    eprintln!("{players} turns were the player's, {clocks} the clock's");
}

/// Races of the clocks of two processes against a player who asks both, in twenty games at a time; who won how often.
async fn races(server: &TestServer, other: &TestServer, count: usize) -> (usize, usize) {
    let mut games = Vec::new();
    for _ in 0..20 {
        games.push(server.group_game(limited(2), 2).await);
    }
    let mut won = (0, 0);
    for round in 0.. {
        if won.0 + won.1 >= count {
            break;
        }
        let racing = at_once(games.iter().cloned().enumerate().map(|(i, (people, _, game))| {
            let (database, base) = (server.database_options().clone(), other.url(""));
            async move {
                let id = text(&game["id"]).to_owned();
                let now = people[0].game(&id).await;
                // Where the clock has taken a seat over the next race is another game's.
                if now["status"] != "running" || of_seats(&now, "left").contains(&json!(true)) {
                    return None;
                }
                let (seq, seat) = (number(&now["seq"]), mover(&now));
                let player = people[seat].clone();
                let elsewhere = player.at(base);
                // The clock may play from this moment on, or a little later.
                let ahead = f64::from(u32::try_from((round * 7 + i * 3) % 20).unwrap()) / 1000.0;
                let mut database = PgConnection::connect_with(&database).await.unwrap();
                shift(&mut database, &id, 1.0 - ahead).await;
                let pit = number(&now["legal"][0]);
                let same = id.clone();
                let first = tokio::spawn(async move { player.sow(&same, pit, seq).await });
                let same = id.clone();
                let second = tokio::spawn(async move { elsewhere.sow(&same, pit, seq).await });
                let answers = [first.await.unwrap(), second.await.unwrap()];
                let after: Vec<(i32, String)> = sqlx::query_as(
                    "select seq, concat_ws(' ', kind, seat, by) from game_event
                     where game_id = $1::text::uuid and seq > $2 order by seq",
                )
                .bind(&id)
                .bind(i32::try_from(seq).unwrap())
                .fetch_all(&mut database)
                .await
                .unwrap();
                let by_player = format!("move {seat} player");
                let by_clock = format!("move {seat} clock");
                let accepted = answers.iter().filter(|answer| answer.status == 200).count();
                let first = &after[0].1;
                if *first == by_player {
                    assert_eq!(accepted, 2, "{answers:?} {after:?}");
                    let own = after.iter().filter(|(_, event)| *event == by_player).count();
                    assert_eq!(own, 1, "{after:?}");
                } else {
                    assert_eq!((first, accepted), (&by_clock, 0), "{answers:?} {after:?}");
                    for answer in answers {
                        assert_eq!(answer.status, 409, "{}", answer.text);
                    }
                }
                // Nobody has two turns at once in a row, and nothing is missing.
                for (seq, (is, _)) in (seq + 1..).zip(&after) {
                    assert_eq!(u64::try_from(*is).unwrap(), seq);
                }
                Some(*first == by_player)
            }
        }))
        .await;
        for (i, by_player) in racing.into_iter().enumerate() {
            match by_player {
                Some(true) => won.0 += 1,
                Some(false) => won.1 += 1,
                None => games[i] = server.group_game(limited(2), 2).await,
            }
        }
    }
    let wrong: i64 = sqlx::query_scalar(
        "select count(*) from game g where seq <> (select count(*) from game_event e where e.game_id = g.id)",
    )
    .fetch_one(&mut server.database().await)
    .await
    .unwrap();
    assert_eq!(wrong, 0);
    audited(server).await;
    won
}
