//! Ranked games to their end, in every way in which there are places: what each does to the ratings is reckoned here
//! once more, from the formulas of the contract and from nothing that the service keeps.

use std::collections::HashMap;
use std::f64::consts::{LN_10, PI};

use mancala_server::engine::{Action, Game, Record, Rules, RulesRequest, Seat};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::clock::{audited, mover};
use crate::harness::{Player, TestServer, number, of_seats, play_on, test, text};

const Q: f64 = LN_10 / 400.0;

/// What is known of a player in a pool.
#[derive(Clone, Copy)]
struct Known {
    rating: f64,
    deviation: f64,
    at: Option<OffsetDateTime>,
}

impl Known {
    fn live(self, now: OffsetDateTime) -> f64 {
        let Some(at) = self.at else { return self.deviation };
        let days = (now - at).as_seconds_f64() / 86_400.0;
        (self.deviation.powi(2) + days * 0.21436 * (0.06 / Q).powi(2)).sqrt().clamp(55.0, 350.0)
    }
}

fn g(deviation: f64) -> f64 {
    1.0 / (1.0 + 3.0 * Q * Q * deviation * deviation / (PI * PI)).sqrt()
}

/// Rating, deviation and expected score of seat `i` after a game of these ratings, live deviations and places.
fn reckoned(seats: &[(f64, f64, u64)], i: usize) -> (f64, f64, f64) {
    let (rating, deviation, place) = seats[i];
    let weight = 3.0 / (seats.len() as f64 + 1.0);
    let odds = |g: f64, other: f64| 1.0 / (1.0 + 10_f64.powf(-g * (rating - other) / 400.0));
    let (mut d, mut sum, mut expected) = (1.0 / deviation.powi(2), 0.0, 0.0);
    for (j, &(other, its, placed)) in seats.iter().enumerate() {
        if j == i {
            continue;
        }
        let score = if place < placed { 1.0 } else { f64::from(u8::from(place == placed)) / 2.0 };
        let e = odds(g(its), other);
        d += weight * Q * Q * g(its).powi(2) * e * (1.0 - e);
        sum += g(its) * (score - e);
        expected += odds(g(deviation.hypot(its)), other) / (seats.len() - 1) as f64;
    }
    let after = (rating + Q / d * weight * sum).clamp(100.0, 4000.0);
    (after, (1.0 / d).sqrt().clamp(55.0, 350.0), expected)
}

#[expect(clippy::cast_possible_truncation, reason = "ratings are at most 4000")]
fn displayed(rating: f64) -> i64 {
    (rating + 0.5).floor() as i64
}

fn near(is: &Value, should: f64, what: &str) {
    assert!((is.as_f64().unwrap() - should).abs() < 1e-6, "{what}: {is}, not {should}");
}

/// The ratings of everybody, kept beside those of the service.
#[derive(Default)]
struct Book(HashMap<(String, String), Known>);

impl Book {
    /// A finished game has these places by seat, and did to its players what they are told that it did.
    async fn enter(&mut self, people: &[Player], id: &str, places: &[u64]) {
        let over = people[0].game(id).await;
        assert_eq!((&over["status"], &over["ranked"]), (&json!("finished"), &json!(true)));
        assert_eq!(json!(of_seats(&over, "place")), json!(places), "{over}");
        let kind = if people.len() == 2 { "2" } else { "multi" };
        let pool = format!("{}-{kind}", text(&over["variant"]));
        let ended = OffsetDateTime::parse(text(&over["ended_at"]), &Rfc3339).unwrap();
        let key = |player: &Player| (player.id.clone(), pool.clone());
        let new = Known { rating: 1500.0, deviation: 350.0, at: None };
        let before: Vec<(f64, f64, u64)> = people
            .iter()
            .zip(places)
            .map(|(player, place)| {
                let known = self.0.get(&key(player)).copied().unwrap_or(new);
                (known.rating, known.live(ended), *place)
            })
            .collect();
        let receipts = people[0].receipts(id).await;
        assert_eq!(receipts.len(), people.len(), "one receipt for each seat");
        for (seat, (player, receipt)) in people.iter().zip(&receipts).enumerate() {
            let (rating, deviation, place) = before[seat];
            assert_eq!((&receipt["seat"], &receipt["place"]), (&json!(seat), &json!(place)), "{receipt}");
            assert_eq!((&receipt["player_id"], &receipt["pool"]), (&json!(player.id), &json!(pool)));
            assert_eq!((&receipt["players"], &receipt["formula"]), (&json!(people.len()), &json!(1)));
            let (after, deviation_after, expected) = reckoned(&before, seat);
            near(&receipt["rating_before"], rating, "rating before");
            near(&receipt["deviation_before"], deviation, "deviation before");
            near(&receipt["rating_after"], after, "rating after");
            near(&receipt["deviation_after"], deviation_after, "deviation after");
            near(&receipt["expected"], expected, "expected");
            let change = displayed(after) - displayed(rating);
            let told = json!({ "before": displayed(rating), "after": displayed(after), "change": change,
                               "provisional": deviation_after > 110.0 });
            assert_eq!(over["seats"][seat]["rating"], told);
            self.0.insert(key(player), Known { rating: after, deviation: deviation_after, at: Some(ended) });
            history(player, &pool, id, displayed(after), change, place).await;
        }
    }
}

/// The newest point of a player's history is this game, and all changes that are shown add up to what is shown.
async fn history(player: &Player, pool: &str, game: &str, rating: i64, change: i64, place: u64) {
    let path = format!("/v1/players/{}/rating-history?pool={pool}", player.id);
    let points = player.get(&path).await.ok(200)["items"].as_array().unwrap().clone();
    let newest = &points[0];
    assert_eq!((&newest["game_id"], &newest["place"]), (&json!(game), &json!(place)));
    assert_eq!((&newest["rating"], &newest["change"]), (&json!(rating), &json!(change)));
    let sum: i64 = points.iter().map(|point| point["change"].as_i64().unwrap()).sum();
    let ratings = player.get(&format!("/v1/players/{}/ratings", player.id)).await.ok(200);
    let now = ratings["items"].as_array().unwrap().iter().find(|item| item["pool"] == pool).unwrap();
    assert_eq!((&now["rating"], 1500 + sum), (&json!(rating), rating));
    assert_eq!(now["games"], points.len());
}

/// The rules of ranked games.
fn rules(variant: &str, players: usize) -> Rules {
    let players = u8::try_from(players).unwrap();
    Rules::effective(variant.parse().unwrap(), players, &RulesRequest::default()).unwrap()
}

/// The sowings of some game, begun by seat 0, that ends with these places in some order; the shortest of several.
pub fn line_to(variant: &str, players: usize, places: &[u8]) -> Vec<u8> {
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    let mut found: Option<Vec<u8>> = None;
    for attempt in 0..20_000 {
        let mut game = Game::new(rules(variant, players), Seat::new(0).unwrap(), true).unwrap();
        let mut line = Vec::new();
        while let Some(seat) = game.position().to_move() {
            let legal: Vec<u8> = game.position().legal().collect();
            // Late pits first: that makes short games.
            let pit =
                if rng.random_bool(0.3) { legal[legal.len() - 1] } else { *legal.choose(&mut rng).unwrap() };
            line.push(pit);
            game.apply(seat, Action::Move { pit }).unwrap();
        }
        let mut ended: Vec<u8> = game.places().into_iter().flatten().collect();
        ended.sort_unstable();
        if ended == places && found.as_ref().is_none_or(|found| line.len() < found.len()) {
            found = Some(line);
        }
        if attempt >= 2_000 && found.is_some() {
            break;
        }
    }
    found.expect("games end like that now and then")
}

/// Plays these sowings.
pub async fn play_line(people: &[Player], id: &str, line: &[u8]) -> Value {
    let mut state = people[0].game(id).await;
    for &pit in line {
        state =
            people[mover(&state)].sow(id, pit.into(), number(&state["seq"])).await.ok(200)["game"].clone();
    }
    state
}

/// The places of a game, by seat, of which these seats are gone, the first of them last.
async fn places(player: &Player, id: &str, gone: &[usize]) -> Vec<u64> {
    let over = player.game(id).await;
    let players = over["seats"].as_array().unwrap().len();
    let stayed: Vec<usize> = (0..players).filter(|seat| !gone.contains(seat)).collect();
    let mut places = vec![0; players];
    for (place, &seat) in (1..=players as u64).rev().zip(gone) {
        places[seat] = place;
    }
    // Better is less: more stones in the store, or earlier without stones on the side.
    let rank: Vec<i64> = if over["variant"] == "kalah" {
        of_seats(&over, "store").iter().map(|store| -store.as_i64().unwrap()).collect()
    } else {
        let request = player.request(reqwest::Method::GET, &format!("/v1/games/{id}/record"));
        let record = request.header("accept", "text/plain").send().await.unwrap().text().await.unwrap();
        let record: Record = record.parse().unwrap();
        let states: Vec<Game> = record.states().map(Result::unwrap).collect();
        let plays = |seat: &Seat, game: &&Game| !game.position().is_out(*seat);
        let lasted = |seat: Seat| states.iter().take_while(|game| plays(&seat, game)).count();
        // The sowing that ends the game leaves nobody out, but its seat without stones.
        let end = states.last().unwrap().position();
        let rank = |seat: Seat| 100 * i64::try_from(lasted(seat)).unwrap() + i64::from(end.on_side(seat));
        Seat::ALL[..players].iter().map(|seat| rank(*seat)).collect()
    };
    for &seat in &stayed {
        places[seat] = 1 + stayed.iter().filter(|other| rank[**other] < rank[seat]).count() as u64;
    }
    places
}

#[test]
fn games_with_distinct_and_with_shared_places_are_rated_as_specified() {
    test(async |server| {
        let kinds: [(&str, usize, &[&[u8]]); 5] = [
            ("kalah", 2, &[&[1, 2], &[1, 1], &[1, 2]]),
            ("kalah", 3, &[&[1, 2, 3], &[1, 1, 3], &[1, 2, 2]]),
            ("kalah", 4, &[&[1, 1, 3, 4], &[1, 2, 3, 4], &[1, 2, 3, 3], &[1, 2, 2, 4]]),
            ("basic", 2, &[&[1, 2], &[1, 2]]),
            ("basic", 4, &[&[1, 2, 3, 4], &[1, 2, 3, 4]]),
        ];
        let mut book = Book::default();
        for (variant, players, ends) in kinds {
            let mut people = guests(server, players).await;
            for wanted in ends {
                let game;
                (people, game) = server.ranked_again(variant, &people).await;
                let id = text(&game["id"]);
                let over = play_line(&people, id, &line_to(variant, players, wanted)).await;
                assert_eq!((&over["status"], &over["end_reason"]), (&json!("finished"), &json!("played")));
                let places = places(&people[0], id, &[]).await;
                let mut sorted = places.clone();
                sorted.sort_unstable();
                assert_eq!(json!(sorted), json!(wanted));
                book.enter(&people, id, &places).await;
                people[0].act(id, "rematch").await.problem(409, "ranked_rematch");
            }
        }
        audited(server).await;
    });
}

async fn guests(server: &TestServer, count: usize) -> Vec<Player> {
    let mut guests = Vec::new();
    for i in 0..count {
        guests.push(server.guest(&format!("Player {i}")).await);
    }
    guests
}

/// What players do at the very beginning, before anybody's first move, and who is gone in the end, the first of them
/// last.
type Departures = (&'static str, usize, &'static [(usize, &'static str)], &'static [usize]);

const DEPARTURES: &[Departures] = &[
    ("kalah", 2, &[(1, "resign")], &[1]),
    ("kalah", 2, &[(0, "resign")], &[0]),
    ("kalah", 2, &[(0, "leave")], &[0]),
    // Who left first is last, though the other one has ended the game.
    ("kalah", 2, &[(0, "leave"), (1, "resign")], &[0, 1]),
    ("kalah", 2, &[(0, "leave"), (0, "return")], &[]),
    ("kalah", 2, &[(0, "leave"), (0, "return"), (1, "leave"), (0, "resign")], &[1, 0]),
    ("kalah", 3, &[(2, "resign")], &[2]),
    ("kalah", 3, &[(2, "resign"), (0, "resign")], &[2, 0]),
    ("kalah", 3, &[(1, "leave")], &[1]),
    ("kalah", 3, &[(1, "leave"), (2, "resign")], &[1, 2]),
    ("kalah", 3, &[(1, "leave"), (2, "resign"), (1, "return")], &[2]),
    // A resignation of who has left counts from when they left.
    ("kalah", 3, &[(1, "leave"), (2, "resign"), (1, "resign")], &[1, 2]),
    ("kalah", 4, &[(1, "resign"), (3, "resign")], &[1, 3]),
    ("kalah", 4, &[(1, "leave"), (2, "resign"), (1, "return"), (1, "leave")], &[2, 1]),
    ("kalah", 4, &[(3, "resign"), (0, "leave"), (2, "resign"), (1, "resign")], &[3, 0, 2, 1]),
    ("basic", 2, &[(0, "leave")], &[0]),
    ("basic", 3, &[(1, "resign")], &[1]),
    ("basic", 3, &[(0, "leave")], &[0]),
    ("basic", 4, &[(1, "resign"), (2, "leave")], &[1, 2]),
    ("basic", 4, &[(1, "leave"), (2, "resign"), (1, "return")], &[2]),
];

#[test]
fn those_who_resign_or_are_gone_at_the_end_are_last_in_the_order_in_which_they_went() {
    test(async |server| {
        let mut book = Book::default();
        let mut tables: HashMap<(&str, usize), Vec<Player>> = HashMap::new();
        for (i, (variant, players, acts, gone)) in DEPARTURES.iter().enumerate() {
            let people = match tables.remove(&(variant, *players)) {
                Some(people) => people,
                None => guests(server, *players).await,
            };
            let (people, game) = server.ranked_again(variant, &people).await;
            let id = text(&game["id"]);
            for (seat, what) in *acts {
                people[*seat].act(id, what).await.ok(200);
            }
            play_on(&people, id, |legal| legal[i % legal.len()]).await;
            let places = places(&people[0], id, gone).await;
            book.enter(&people, id, &places).await;
            tables.insert((variant, *players), people);
        }
        audited(server).await;
    });
}

#[test]
fn a_seat_that_finishes_while_its_player_is_gone_earns_nothing() {
    test(async |server| {
        let mut book = Book::default();
        for _ in 0..40 {
            let (people, game) = server.ranked_game("basic", 3).await;
            let id = text(&game["id"]);
            people[1].act(id, "leave").await.ok(200);
            let mut finished = false;
            let mut state = people[0].game(id).await;
            while let Some(seat) = state["to_move"].as_u64() {
                if seat == 1 {
                    let seen = state["seq"].clone();
                    state = people[0].until(id, |now| now["seq"] != seen).await;
                } else {
                    // Stones that stay at home keep a side from becoming empty, and do not fill the next one.
                    let side = &state["seats"][usize::try_from(seat).unwrap()]["pits"];
                    let reach = |pit: &u64| pit + number(&side[usize::try_from(*pit).unwrap()]);
                    let legal = state["legal"].as_array().unwrap().iter().map(number);
                    let pit = legal.min_by_key(reach).unwrap();
                    let mover = &people[usize::try_from(seat).unwrap()];
                    state = mover.sow(id, pit, number(&state["seq"])).await.ok(200)["game"].clone();
                }
                if state["status"] == "running" && state["seats"][1]["out"] == true && !finished {
                    finished = true;
                    assert_eq!(state["seats"][1]["place"], 3, "its place is certain");
                    people[1].act(id, "resign").await.problem(409, "already_placed");
                    // It is too late to come back, which changes nothing.
                    let back = people[1].act(id, "return").await.ok(200);
                    assert_eq!(back["seq"], state["seq"]);
                }
            }
            let places = places(&people[0], id, &[1]).await;
            book.enter(&people, id, &places).await;
            if finished {
                return audited(server).await;
            }
        }
        panic!("the computer never finished first");
    });
}
