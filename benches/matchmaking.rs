//! How good the matches of ranked play are, against somebody who knew the future, and how long a round of pairing
//! takes for how many who wait. All but the times is the same every time.

#![expect(clippy::print_stdout, reason = "a benchmark reports to whoever runs it")]
#![expect(clippy::unwrap_used, reason = "a benchmark ends at the first thing that is not as it should be")]

#[path = "../tests/matchmaking/simulation.rs"]
mod simulation;

use std::time::Instant;

use mancala_server::ids::GameId;
use mancala_server::matching::{Company, Meeting, Waiting, pair};
use mancala_server::rating::Standing;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use simulation::{Arrival, Outcome, arrivals, optimum, player, quantile, regulars, run};

const ARRIVALS: usize = 2_000;
const RATES: [f64; 2] = [0.2, 5.0];
/// One in how many has a hard limit.
const LIMITS: [(usize, &str); 2] =
    [(0, "nobody has a hard limit"), (10, "one in ten has a hard limit, 50 to 250 points")];
/// Each is paired with so many of its cheapest partners in the search for the optimum; then with twice as many.
const NEAR: usize = 40;
/// The best of so many rounds: what else the machine does only adds.
const TIMED_ROUNDS: usize = 7;

fn main() {
    println!(
        "{ARRIVALS} people come, ratings around 1500 with a standard deviation of 200, deviations 55 to 150;"
    );
    println!("one round a second; cost of a pair: its gap D + 2 for each second that one of the two waits\n");
    println!("2 seats, against a matchmaker who knows the future; wanted: at most 1.8 times its cost");
    for (limited, who) in
        [(0, "nobody has a hard limit"), (10, "one in ten has a hard limit, 50 to 250 points")]
    {
        println!("  {who}");
        for rate in RATES {
            against_the_future(rate, limited);
        }
    }
    for seats in [3, 4] {
        println!("{seats} seats");
        for (limited, who) in LIMITS {
            println!("  {who}");
            for rate in RATES {
                let outcome = run(&arrivals(1, ARRIVALS, rate, limited), seats);
                println!(
                    "  {rate:>3}/s: largest gap {:.1} on average, {}",
                    outcome.mean_gap(),
                    waits(&outcome)
                );
            }
        }
    }
    people_who_come_back();
    how_long_a_round_takes();
}

fn against_the_future(rate: f64, limited: usize) {
    let (mut ratios, mut shown) = (Vec::new(), String::new());
    for seed in 1..=5 {
        let arrivals = arrivals(seed, ARRIVALS, rate, limited);
        let outcome = run(&arrivals, 2);
        let (best, alone) = optimum(&arrivals, NEAR);
        ratios.push(outcome.cost() / best);
        if seed == 1 {
            let (wider, _) = optimum(&arrivals, 2 * NEAR);
            shown = format!(
                "J {:.1}, optimum {best:.2} ({alone} alone; {wider:.2} among twice as many pairs)\n         \
                 gap {:.1} on average, {}",
                outcome.cost(),
                outcome.mean_gap(),
                waits(&outcome)
            );
        }
    }
    let all: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    println!("  {rate:>3}/s: ratio {} (other seeds {}), {shown}", all[0], all[1..].join(" "));
}

fn waits(outcome: &Outcome) -> String {
    format!(
        "wait {:.1} s on average, p95 {:.1}, maximum {:.1} ({:.1} while people still came); \
         {} games, hard limits broken: {}, without a game: {}",
        outcome.mean_wait(),
        outcome.wait_of(0.95),
        outcome.wait_of(1.0),
        outcome.longest_while_coming,
        outcome.games(),
        outcome.broken_limits,
        outcome.left_over
    )
}

fn people_who_come_back() {
    println!(
        "\n60 people who come back after each game, 100 games each; first moves more or fewer than were due"
    );
    for seats in 2..=4 {
        let (with, without) = (regulars(1, 60, seats, 100, true), regulars(1, 60, seats, 100, false));
        println!(
            "  {seats} seats: imbalance p99 {:.2}, maximum {:.2} games (wanted: p99 at most 1.5); \
             {} of {} games repeat one of the last three ({} of {} when they are forgotten)",
            quantile(&with.imbalances, 0.99),
            quantile(&with.imbalances, 1.0),
            with.repeats,
            with.games,
            without.repeats,
            without.games
        );
    }
}

fn how_long_a_round_takes() {
    println!("\none round, milliseconds (the best of {TIMED_ROUNDS}); wanted: under 200 for 10,000");
    for (who, newcomers, mixed) in [
        ("who has waited 0 to 60 s", false, false),
        ("newcomers who all came 10 s ago", true, false),
        ("newcomers, one in ten a bot, one in ten a person who would meet one", true, true),
    ] {
        println!("  {who}");
        for seats in 2..=4 {
            let [few, more, many] =
                [1_000, 3_000, 10_000].map(|count| milliseconds(count, seats, newcomers, mixed));
            println!(
                "  {seats} seats: {few:.2} for 1,000, {more:.2} for 3,000 (x {:.1}), {many:.2} for 10,000 (x {:.1})",
                more / few,
                many / more
            );
        }
    }
}

/// Of one round for so many, one in ten with a hard limit, each with three games that they remember.
fn milliseconds(count: usize, seats: usize, newcomers: bool, mixed: bool) -> f64 {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let ticket = |(number, arrival): (usize, Arrival)| Waiting {
        player: player(number),
        standing: if newcomers { Standing::NEW } else { arrival.standing },
        waited: if newcomers { 10.0 } else { rng.random_range(0.0..60.0) },
        max_gap: arrival.max_gap,
        recent: (0..3)
            .map(|_| Meeting {
                game: GameId::new(),
                players: (1..seats).map(|_| player(rng.random_range(0..count))).collect(),
            })
            .collect(),
        blocked: Vec::new(),
        company: match number % 10 {
            0 if mixed => Company::Bot,
            1 if mixed => Company::Anybody,
            _ => Company::People,
        },
    };
    let waiting: Vec<Waiting> = arrivals(1, count, 1.0, 10).into_iter().enumerate().map(ticket).collect();
    let time = |_| {
        let begun = Instant::now();
        assert!(!pair(&waiting, seats).is_empty(), "somebody plays");
        begun.elapsed().as_secs_f64() * 1e3
    };
    (0..TIMED_ROUNDS).map(time).fold(f64::INFINITY, f64::min)
}
