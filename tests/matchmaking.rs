//! Who is matched with whom: the rule against a naive reading of it, and how well it does in a simulation.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it should be")]

#[path = "matchmaking/naive.rs"]
mod naive;
#[path = "matchmaking/simulation.rs"]
mod simulation;

use mancala_server::ids::GameId;
use mancala_server::matching::{Company, Match, Meeting, Waiting, pair, seat_order, start_share, window};
use mancala_server::rating::{Deviation, Rating, Standing};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use simulation::{Arrival, arrivals, optimum, player, quantile, regulars, run};

fn waiting(number: usize, rating: f64, deviation: f64, waited: f64) -> Waiting {
    Waiting {
        player: player(number),
        standing: Standing { rating: Rating::new(rating), deviation: Deviation::new(deviation) },
        waited,
        max_gap: None,
        recent: Vec::new(),
        blocked: Vec::new(),
        company: Company::People,
    }
}

fn game(number: u128, with: &[usize]) -> Meeting {
    Meeting {
        game: GameId::from(uuid::Uuid::from_u128(number)),
        players: with.iter().map(|number| player(*number)).collect(),
    }
}

/// A queue with everything in it that can matter; half of them with ratings and waits that are often equal.
fn random_queue(rng: &mut impl Rng, most: usize) -> Vec<Waiting> {
    let count = rng.random_range(0..=most);
    let coarse = rng.random_range(0..2) == 0;
    let spread = [0.0, 30.0, 200.0, 800.0][rng.random_range(0..4)];
    let longest = [0.0, 8.0, 60.0, 300.0][rng.random_range(0..4)];
    let value = |rng: &mut dyn Rng, most: f64| {
        let value = rng.random_range(0.0..=1.0) * most;
        if coarse { (value / 4.0).floor() * 4.0 } else { value }
    };
    // Often people only, as it is mostly.
    let kinds = [1, 2, 3][rng.random_range(0..3)];
    let mut queue: Vec<Waiting> = (0..count)
        .map(|number| {
            let rating = 1500.0 + value(rng, spread);
            let deviation = [55.0, 80.0, 200.0, 350.0][rng.random_range(0..4)];
            Waiting {
                max_gap: (rng.random_range(0..4) == 0).then(|| value(rng, spread)),
                company: [Company::People, Company::Anybody, Company::Bot][rng.random_range(0..kinds)],
                ..waiting(number, rating, deviation, value(rng, longest))
            }
        })
        .collect();
    for number in 0..rng.random_range(0..=count) {
        // A game of two to four of them; some have played others since and do not remember it.
        let mut table: Vec<usize> =
            (0..rng.random_range(2..=4)).map(|_| rng.random_range(0..count)).collect();
        table.sort_unstable();
        table.dedup();
        for &one in table.iter().filter(|_| rng.random_range(0..4) > 0) {
            let others: Vec<usize> = table.iter().copied().filter(|other| *other != one).collect();
            if queue[one].recent.len() < 3 {
                queue[one].recent.push(game(number as u128, &others));
            }
        }
    }
    for _ in 0..rng.random_range(0..=count / 3) {
        let (one, other) = (rng.random_range(0..count), rng.random_range(0..count));
        queue[one].blocked.push(player(other));
    }
    queue
}

fn assert_same(queue: &[Waiting], seats: usize, naive: &[Match]) {
    let made = pair(queue, seats);
    let tickets = |matches: &[Match]| matches.iter().map(|made| made.tickets.clone()).collect::<Vec<_>>();
    assert_eq!(tickets(&made), tickets(naive), "{seats} seats, {queue:#?}");
    for (made, naive) in made.iter().zip(naive) {
        assert!((made.score - naive.score).abs() < 1e-9, "{seats} seats, {made:?} and {naive:?}");
    }
}

#[test]
fn pairs_are_exactly_those_of_the_rule() {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let mut made = 0;
    for round in 0..3_000 {
        let queue = random_queue(&mut rng, if round % 50 == 0 { 80 } else { 16 });
        let naive = naive::pairs(&queue);
        made += naive.len();
        assert_same(&queue, 2, &naive);
    }
    assert!(made > 3_000, "only {made} pairs were compared");
}

#[test]
fn tables_are_exactly_those_of_the_rule() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    let mut made = 0;
    for round in 0..2_000 {
        let seats = rng.random_range(3..=4);
        let queue = random_queue(&mut rng, if round % 50 == 0 { 40 } else { 16 });
        let naive = naive::tables(&queue, seats);
        made += naive.len();
        assert_same(&queue, seats, &naive);
    }
    assert!(made > 1_000, "only {made} tables were compared");
}

#[test]
fn a_pair_plays_at_a_score_of_25_and_not_above() {
    // Of the same rating, so that the score is nothing but waits and meetings.
    let mut queue = [waiting(0, 1500.0, 60.0, 20.0), waiting(1, 1500.0, 60.0, 17.0)];
    queue[0].recent = vec![game(1, &[1])];
    assert_eq!(pair(&queue, 2), [], "100 - 2 * 37 is above 25");
    queue[1].waited = 17.5;
    assert_eq!(pair(&queue, 2), [Match { tickets: vec![0, 1], score: 25.0 }]);
}

#[test]
fn a_game_that_both_remember_counts_once_and_two_games_twice() {
    let mut queue = [waiting(0, 1500.0, 60.0, 30.0), waiting(1, 1500.0, 60.0, 30.0)];
    queue[0].recent = vec![game(1, &[1]), game(7, &[5])];
    queue[1].recent = vec![game(1, &[0]), game(8, &[6])];
    assert_eq!(pair(&queue, 2), [Match { tickets: vec![0, 1], score: -20.0 }]);
    queue[1].recent[1] = game(8, &[0]);
    assert_eq!(pair(&queue, 2), [], "200 - 120 is above 25");
}

#[test]
fn no_wait_breaks_a_hard_limit_or_a_block() {
    for seats in 2..=4 {
        let day = 86_400.0;
        let queue = |limit| {
            let mut queue: Vec<Waiting> =
                (0..seats).map(|number| waiting(number, 1500.0, 60.0, day)).collect();
            queue[seats - 1] = Waiting { max_gap: Some(limit), ..waiting(seats - 1, 1540.0, 60.0, day) };
            queue
        };
        assert_eq!(pair(&queue(40.0), seats).len(), 1, "40 is not above the limit");
        assert_eq!(pair(&queue(39.9), seats), []);
        let mut blocked = queue(40.0);
        blocked[0].blocked.push(player(seats - 1));
        assert_eq!(pair(&blocked, seats), []);
        blocked[0].blocked.clear();
        blocked[seats - 1].blocked.push(player(0));
        assert_eq!(pair(&blocked, seats), []);
    }
}

#[test]
fn no_wait_seats_a_bot_with_somebody_who_minds() {
    use Company::{Anybody, Bot, People};
    let day = 86_400.0;
    let plays = |table: &[Company]| {
        let seat = |(number, company): (usize, &Company)| Waiting {
            company: *company,
            ..waiting(number, 1500.0, 60.0, day)
        };
        let queue: Vec<Waiting> = table.iter().enumerate().map(seat).collect();
        !pair(&queue, table.len()).is_empty()
    };
    for table in [
        &[People, People][..],
        &[Bot, Bot],
        &[Anybody, Bot],
        &[Bot, Anybody],
        &[People, Anybody],
        &[Bot, Bot, Bot],
        &[Anybody, Bot, Anybody],
        &[People, Anybody, People],
        &[Bot, Anybody, Bot, Anybody],
    ] {
        assert!(plays(table), "{table:?}");
    }
    for table in [
        &[People, Bot][..],
        &[Bot, People],
        &[People, Anybody, Bot],
        &[Bot, People, Bot],
        &[Anybody, Anybody, Bot, People],
    ] {
        assert!(!plays(table), "{table:?}");
    }
}

#[test]
fn no_forbidden_game_is_made_and_no_pair_that_could_play_is_left() {
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    let (mut mixed, mut left) = (0, 0);
    for round in 0..3_000 {
        let seats = 2 + round % 3;
        let queue = random_queue(&mut rng, 40);
        let made = pair(&queue, seats);
        let mut free = vec![true; queue.len()];
        for table in &made {
            assert_eq!(table.tickets.len(), seats);
            for (at, &i) in table.tickets.iter().enumerate() {
                assert!(std::mem::replace(&mut free[i], false), "{i} plays twice");
                for &j in &table.tickets[at + 1..] {
                    assert!(naive::compatible(&queue[i], &queue[j]), "{i} with {j} of {queue:#?}");
                    mixed += usize::from(queue[i].company != queue[j].company);
                }
            }
        }
        for i in (0..queue.len()).filter(|i| seats == 2 && free[*i]) {
            for j in (i + 1..queue.len()).filter(|j| free[*j]) {
                left += 1;
                assert!(
                    !naive::compatible(&queue[i], &queue[j])
                        || naive::score(&queue, i, j) > naive::GREATEST_SCORE - 1e-9,
                    "{i} and {j} could play: {queue:#?}"
                );
            }
        }
    }
    assert!(mixed > 1_000 && left > 1_000, "{mixed} mixed pairs, {left} left");
}

#[test]
fn bots_among_a_crowd_are_matched_with_those_who_do_not_mind() {
    // All the same, and almost all of them people who mind.
    let company = |number| match number {
        0 | 3_000 | 5_999 => Company::Bot,
        1_234 => Company::Anybody,
        _ => Company::People,
    };
    let queue: Vec<Waiting> = (0..6_000)
        .map(|number| Waiting { company: company(number), ..waiting(number, 1500.0, 350.0, 9.0) })
        .collect();
    for seats in 2..=4 {
        let made = pair(&queue, seats);
        let bots = made.iter().filter(|table| table.tickets.contains(&0)).count();
        assert_eq!(bots, 1, "{seats} seats: the first bot plays");
        assert!(made.len() >= 6_000 / seats - 1, "{seats} seats: {} games", made.len());
    }
}

#[test]
fn the_window_is_where_newcomers_begin_to_be_matched() {
    for seats in 2..=4 {
        for waited in [0.0, 7.0, 30.0] {
            let matched_at = |gap: f64| {
                let mut queue: Vec<Waiting> =
                    (0..seats).map(|number| waiting(number, 1500.0, 55.0, 0.0)).collect();
                queue[0].waited = waited;
                let point = queue[0].standing.gap(waiting(9, 1501.0, 55.0, 0.0).standing);
                queue[0].standing.rating = Rating::new(1500.0 + gap / point);
                pair(&queue, seats).len() == 1
            };
            let window = window(waited, seats);
            assert!(matched_at(window - 0.01), "{seats} seats after {waited} s");
            assert!(!matched_at(window + 0.01), "{seats} seats after {waited} s");
        }
    }
}

#[test]
fn a_crowd_with_the_same_rating_is_paired_in_the_order_of_waiting() {
    let queue: Vec<Waiting> = (0..2_000).map(|number| waiting(number, 1500.0, 350.0, 9.0)).collect();
    for seats in 2..=4 {
        let matches = pair(&queue, seats);
        assert_eq!(matches.len(), 2_000 / seats);
        for (at, made) in matches.iter().enumerate().filter(|_| seats == 2) {
            assert_eq!(made.tickets, [2 * at, 2 * at + 1]);
        }
    }
}

#[test]
fn whoever_had_the_fewest_first_moves_begins_and_ties_are_drawn() {
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    let mut firsts = [0_u32; 4];
    let mut seconds = [0; 4];
    for _ in 0..4_000 {
        let order = seat_order(&[3, -9, 15, -9], &mut rng);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3]);
        firsts[order[0]] += 1;
        seconds[order[1]] += 1;
    }
    assert!(firsts[1] + firsts[3] == 4_000 && firsts[1].abs_diff(2_000) < 200, "{firsts:?}");
    assert!(seconds.iter().all(|count| *count > 500), "{seconds:?}");
    assert!(seat_order(&[], &mut rng).is_empty());
}

#[test]
fn the_shares_of_a_game_add_up_to_nothing() {
    for players in 2..=4 {
        let others = i32::from(players) - 1;
        assert_eq!(start_share(players, true) + others * start_share(players, false), 0);
    }
    assert_eq!([start_share(2, true), start_share(3, false), start_share(4, true)], [6, -4, 9]);
}

#[test]
fn pairs_cost_at_most_1_8_times_what_the_future_would_allow() {
    for rate in [0.2, 5.0] {
        // The last ones wait for people who never come: of fewer they would be too many.
        let arrivals = arrivals(1, 2_000, rate, 0);
        let (outcome, (optimum, alone)) = (run(&arrivals, 2), optimum(&arrivals, 20));
        assert_eq!((outcome.left_over, outcome.games(), alone), (0, 1_000, 0));
        let ratio = outcome.cost() / optimum;
        assert!((1.0..=1.8).contains(&ratio), "{ratio:.2} at {rate} a second");
        let (gap, wait) = (outcome.mean_gap(), outcome.mean_wait());
        assert!(
            (outcome.cost() - gap - 2.0 * 2.0 * wait).abs() < 1e-9,
            "two wait for a game, at two points a second"
        );
        assert!(outcome.wait_of(0.95) < outcome.longest_while_coming, "the longest wait is not a usual one");
    }
}

#[test]
fn the_optimum_is_that_of_whoever_knows_who_will_come() {
    // At best the first plays the third and the second the fourth.
    let at = |at, rating| Arrival { at, standing: waiting(0, rating, 55.0, 0.0).standing, max_gap: None };
    let arrivals = [at(0.0, 1500.0), at(1.0, 1700.0), at(2.0, 1500.0), at(3.0, 1700.0)];
    assert_eq!(optimum(&arrivals, 3), (4.0, 0));
}

#[test]
fn no_hard_limit_is_broken_in_a_simulation() {
    for seats in 2..=4 {
        let outcome = run(&arrivals(5, 600, 1.0, 3), seats);
        assert_eq!(outcome.broken_limits, 0, "{seats} seats");
        assert!(outcome.games() > 500 / seats, "{} games", outcome.games());
    }
}

#[test]
fn first_moves_are_dealt_evenly() {
    for seats in 2..=4 {
        let regulars = regulars(6, 40, seats, 100, true);
        let worst = quantile(&regulars.imbalances, 0.99);
        assert!(worst <= 1.5, "{worst} games, {seats} seats");
    }
}

#[test]
fn people_meet_again_less_often_than_without_memory() {
    let repeats = |memory| {
        let regulars = regulars(7, 40, 2, 30, memory);
        regulars.repeats as f64 / regulars.games as f64
    };
    let (with, without) = (repeats(true), repeats(false));
    assert!(with < without / 2.0, "{with:.2} and {without:.2}");
}
