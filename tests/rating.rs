//! The rating formulas against handed vectors and against another implementation.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it should be")]

use mancala_server::rating::{Deviation, Rating, Standing, rate};
use rand::{RngExt, SeedableRng};
use serde::Deserialize;
use skillratings::Outcomes;
use skillratings::glicko::{GlickoConfig, GlickoRating, glicko_rating_period};

#[derive(Deserialize)]
struct Vectors {
    games: Vec<Vector>,
    idle: Vec<Idle>,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    seats: Vec<Seat>,
}

#[derive(Deserialize)]
struct Seat {
    rating: f64,
    deviation: f64,
    idle_days: f64,
    place: u8,
    rating_after: f64,
    deviation_after: f64,
    expected: f64,
}

#[derive(Deserialize)]
struct Idle {
    deviation: f64,
    days: f64,
    live_deviation: f64,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("data/rating_vectors.json")).unwrap()
}

fn assert_near(is: f64, should: f64, within: f64, what: &str) {
    assert!((is - should).abs() <= within, "{what}: {is}, not {should}");
}

#[test]
fn games_change_ratings_as_the_vectors_say() {
    for Vector { name, seats } in vectors().games {
        let players: Vec<(Standing, u8)> = seats
            .iter()
            .map(|seat| {
                let deviation = Deviation::new(seat.deviation).after_days(seat.idle_days);
                (Standing { rating: Rating::new(seat.rating), deviation }, seat.place)
            })
            .collect();
        for (change, seat) in rate(&players).iter().zip(&seats) {
            assert_near(change.after.rating.points(), seat.rating_after, 1e-6, &name);
            assert_near(change.after.deviation.points(), seat.deviation_after, 1e-6, &name);
            assert_near(change.expected, seat.expected, 1e-6, &name);
        }
    }
}

#[test]
fn deviations_grow_while_idle_as_the_vectors_say() {
    for Idle { deviation, days, live_deviation } in vectors().idle {
        let live = Deviation::new(deviation).after_days(days);
        assert_near(live.points(), live_deviation, 1e-6, "live deviation");
    }
}

#[test]
fn a_game_of_two_agrees_with_another_implementation_of_glicko() {
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(4);
    for _ in 0..2_000 {
        let players = [0; 2].map(|_| (rng.random_range(600.0..2400.0), rng.random_range(90.0..350.0)));
        let outcome = rng.random_range(0..3_u8);
        let places = [[1, 2], [1, 1], [2, 1]][usize::from(outcome)];
        let ours = players.map(|(r, d)| Standing { rating: Rating::new(r), deviation: Deviation::new(d) });
        let ours = rate(&[(ours[0], places[0]), (ours[1], places[1])]);
        let theirs = players.map(|(rating, deviation)| GlickoRating { rating, deviation });
        let outcomes = match outcome {
            0 => [Outcomes::WIN, Outcomes::LOSS],
            1 => [Outcomes::DRAW, Outcomes::DRAW],
            _ => [Outcomes::LOSS, Outcomes::WIN],
        };
        let period = |i: usize| {
            glicko_rating_period(&theirs[i], &[(theirs[1 - i], outcomes[i])], &GlickoConfig { c: 0.0 })
        };
        for (ours, theirs) in ours.iter().zip([period(0), period(1)]) {
            assert_near(ours.after.rating.points(), theirs.rating, 1e-9, "rating");
            assert_near(
                ours.after.deviation.points(),
                theirs.deviation.clamp(55.0, 350.0),
                1e-9,
                "deviation",
            );
        }
    }
}

#[test]
fn what_is_shown_is_rounded_half_up() {
    for (points, shown) in [(1499.5, 1500), (1499.499, 1499), (1500.0, 1500), (100.2, 100), (3999.9, 4000)] {
        assert_eq!(Rating::new(points).displayed(), shown);
    }
}

#[test]
fn the_days_until_a_rating_is_provisional_are_those_after_which_it_is() {
    let deviation = Deviation::new(80.0);
    let days = deviation.days_until(Deviation::ESTABLISHED);
    assert!(!deviation.after_days(days - 0.01).is_provisional());
    assert!(deviation.after_days(days + 0.01).is_provisional());
    assert!(Deviation::NEW.days_until(Deviation::ESTABLISHED) < 0.0);
}
