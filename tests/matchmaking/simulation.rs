//! People who come to a queue and wait for ranked games, and what the best possible matchmaker would have made of them.
//! Seeded: the same every time. All are patient: nobody cancels.

use std::collections::{BTreeMap, BTreeSet};

use mancala_server::ids::{GameId, PlayerId};
use mancala_server::matching::{Company, Match, Meeting, Waiting, pair, seat_order, start_share};
use mancala_server::rating::{Deviation, Rating, Standing};
use mwmatching::Matching;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A round of pairing each so many seconds.
const ROUND: f64 = 1.0;
/// How long the last ones wait for each other before the simulation gives up on them, in seconds.
const PATIENCE: f64 = 3_600.0;
/// What a second of waiting costs, in rating points of gap.
const WAIT: f64 = 2.0;

/// Somebody who comes once.
#[derive(Clone)]
pub struct Arrival {
    /// In seconds.
    pub at: f64,
    pub standing: Standing,
    pub max_gap: Option<f64>,
}

/// People in the order of their coming, `rate` a second on average, one in `limited` with a hard limit of 50 to 250
/// points (none at 0). Ratings are normal around 1500 with a standard deviation of 200, deviations 55 to 150.
pub fn arrivals(seed: u64, count: usize, rate: f64, limited: usize) -> Vec<Arrival> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut at = 0.0;
    (0..count)
        .map(|_| {
            at += exponential(&mut rng, 1.0 / rate);
            let standing = standing(&mut rng);
            let max_gap =
                (limited > 0 && rng.random_range(0..limited) == 0).then(|| rng.random_range(50.0..250.0));
            Arrival { at, standing, max_gap }
        })
        .collect()
}

fn standing(rng: &mut impl Rng) -> Standing {
    // A sum of twelve uniform numbers is as good as normal here.
    let normal: f64 = (0..12).map(|_| rng.random_range(-0.5..0.5)).sum();
    Standing {
        rating: Rating::new(1500.0 + 200.0 * normal),
        deviation: Deviation::new(rng.random_range(55.0..150.0)),
    }
}

fn exponential(rng: &mut impl Rng, mean: f64) -> f64 {
    -mean * (1.0 - rng.random_range(0.0..1.0_f64)).ln()
}

/// The player with this number.
pub fn player(number: usize) -> PlayerId {
    uuid::Uuid::from_u128(number as u128).into()
}

/// What became of those who came.
#[derive(Default)]
pub struct Outcome {
    /// The largest gap of each game and the sum of its players' waits.
    games: Vec<(f64, f64)>,
    /// In seconds, of those who got a game.
    waits: Vec<f64>,
    /// The longest wait of those who got a game before the last one came, in seconds. After that nobody comes for whom
    /// it would pay to wait, as somebody always will in a real queue.
    pub longest_while_coming: f64,
    /// Games in which somebody's hard limit is broken.
    pub broken_limits: usize,
    /// Who never got a game.
    pub left_over: usize,
}

impl Outcome {
    fn add(&mut self, waiting: &[Waiting], made: &Match) {
        let table: Vec<&Waiting> = made.tickets.iter().map(|ticket| &waiting[*ticket]).collect();
        let pairs = || table.iter().flat_map(|a| table.iter().map(move |b| (*a, *b)));
        let gap = pairs().map(|(a, b)| a.standing.gap(b.standing)).fold(0.0, f64::max);
        self.games.push((gap, table.iter().map(|waiting| waiting.waited).sum()));
        self.waits.extend(table.iter().map(|waiting| waiting.waited));
        let broken = |(a, b): (&Waiting, &Waiting)| {
            a.max_gap.is_some_and(|limit| difference(a.standing, b.standing) > limit)
        };
        self.broken_limits += usize::from(pairs().any(broken));
    }

    pub fn games(&self) -> usize {
        self.games.len()
    }

    /// The mean of what a pair costs: its gap, and its waits at [`WAIT`] a second.
    pub fn cost(&self) -> f64 {
        mean(self.games.iter().map(|(gap, waited)| gap + WAIT * waited))
    }

    pub fn mean_gap(&self) -> f64 {
        mean(self.games.iter().map(|(gap, _)| *gap))
    }

    pub fn mean_wait(&self) -> f64 {
        mean(self.waits.iter().copied())
    }

    /// The wait that so large a share of all does not exceed, in seconds.
    pub fn wait_of(&self, share: f64) -> f64 {
        quantile(&self.waits, share)
    }
}

fn difference(a: Standing, b: Standing) -> f64 {
    (a.rating.points() - b.rating.points()).abs()
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count() as f64
}

/// The value that so large a share of all does not exceed.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted[at.clamp(1, sorted.len()) - 1]
}

/// Lets people come and pairs them each second until all have a game or nothing can be made of the rest.
pub fn run(arrivals: &[Arrival], seats: usize) -> Outcome {
    let mut outcome = Outcome::default();
    let mut queue: Vec<usize> = Vec::new();
    let (mut come, mut now) = (0, 0.0);
    let end = arrivals.last().unwrap().at + PATIENCE;
    while now < end && (come < arrivals.len() || queue.len() >= seats) {
        now += ROUND;
        while come < arrivals.len() && arrivals[come].at <= now {
            queue.push(come);
            come += 1;
        }
        let ticket = |number: &usize| Waiting {
            player: player(*number),
            standing: arrivals[*number].standing,
            waited: now - arrivals[*number].at,
            max_gap: arrivals[*number].max_gap,
            recent: Vec::new(),
            blocked: Vec::new(),
            company: Company::People,
        };
        let waiting: Vec<Waiting> = queue.iter().map(ticket).collect();
        let mut matched = BTreeSet::new();
        for made in pair(&waiting, seats) {
            outcome.add(&waiting, &made);
            if come < arrivals.len() {
                let waits = made.tickets.iter().map(|ticket| waiting[*ticket].waited);
                outcome.longest_while_coming = waits.fold(outcome.longest_while_coming, f64::max);
            }
            matched.extend(made.tickets.iter().map(|ticket| queue[*ticket]));
        }
        queue.retain(|number| !matched.contains(number));
    }
    outcome.left_over = queue.len();
    outcome
}

/// The least mean cost of a pair that anybody who knew the future could reach: the perfect matching with the least
/// cost, when whoever comes first waits exactly until the other comes. Looked for among the pairs of each with their
/// `near` cheapest partners. Hard limits are kept. Also how many remain without a partner.
pub fn optimum(arrivals: &[Arrival], near: usize) -> (f64, usize) {
    let cost = |i: usize, j: usize| {
        let (a, b) = (&arrivals[i], &arrivals[j]);
        a.standing.gap(b.standing) + WAIT * (a.at - b.at).abs()
    };
    let allowed = |i: usize, j: usize| {
        let apart = difference(arrivals[i].standing, arrivals[j].standing);
        [i, j].iter().all(|one| arrivals[*one].max_gap.is_none_or(|limit| apart <= limit))
    };
    let mut pairs = BTreeSet::new();
    for i in 0..arrivals.len() {
        let others = (0..arrivals.len()).filter(|j| i != *j && allowed(i, *j));
        let mut others: Vec<(f64, usize)> = others.map(|j| (cost(i, j), j)).collect();
        if near < others.len() {
            others.select_nth_unstable_by(near, |a, b| a.0.total_cmp(&b.0));
            others.truncate(near);
        }
        pairs.extend(others.iter().map(|(_, j)| (i.min(*j), i.max(*j))));
    }
    // In hundredths of a point: the search takes whole numbers.
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^31")]
    let edges = pairs.iter().map(|&(i, j)| (i, j, (-100.0 * cost(i, j)).round() as i32)).collect();
    let mates = Matching::new(edges).max_cardinality().solve();
    let matched: Vec<usize> = (0..mates.len()).filter(|i| mates[*i] < arrivals.len()).collect();
    (mean(matched.iter().map(|i| cost(*i, mates[*i]))), arrivals.len() - matched.len())
}

/// People who come back after each game.
pub struct Regulars {
    pub games: usize,
    /// Games in which two met who had met in one of their last three.
    pub repeats: usize,
    /// How unevenly first moves were dealt when each had played their games: what a player had more or less than was
    /// due, in games.
    pub imbalances: Vec<f64>,
}

/// Lets `people` play until each has finished `games` games, which last 60 s and some time more, 120 s on average.
/// With `memory` the matchmaker knows whom they met.
pub fn regulars(seed: u64, people: usize, seats: usize, games: usize, memory: bool) -> Regulars {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let standings: Vec<Standing> = (0..people).map(|_| standing(&mut rng)).collect();
    let mut back_at: Vec<f64> = (0..people).map(|_| rng.random_range(0.0..180.0)).collect();
    let mut recent: Vec<Vec<Meeting>> = vec![Vec::new(); people];
    let mut balances = vec![0; people];
    let mut played = vec![0; people];
    let mut imbalances = BTreeMap::new();
    let (mut made_games, mut repeats, mut now) = (0, 0, 0.0);
    while imbalances.len() < people {
        now += ROUND;
        let queue: Vec<usize> = (0..people).filter(|person| back_at[*person] <= now).collect();
        let ticket = |person: &usize| Waiting {
            player: player(*person),
            standing: standings[*person],
            waited: now - back_at[*person],
            max_gap: None,
            recent: if memory { recent[*person].clone() } else { Vec::new() },
            blocked: Vec::new(),
            company: Company::People,
        };
        let waiting: Vec<Waiting> = queue.iter().map(ticket).collect();
        for made in pair(&waiting, seats) {
            let table: Vec<usize> = made.tickets.iter().map(|ticket| queue[*ticket]).collect();
            let met = |a: usize, b: usize| recent[a].iter().any(|game| game.players.contains(&player(b)));
            made_games += 1;
            repeats += usize::from(table.iter().any(|a| table.iter().any(|b| met(*a, *b))));
            let game = GameId::from(uuid::Uuid::from_u128(made_games as u128));
            let order =
                seat_order(&table.iter().map(|person| balances[*person]).collect::<Vec<_>>(), &mut rng);
            let end = now + 60.0 + exponential(&mut rng, 120.0);
            for (seat, at) in order.into_iter().enumerate() {
                let person = table[at];
                let others = table.iter().filter(|other| **other != person).map(|other| player(*other));
                recent[person].push(Meeting { game, players: others.collect() });
                let old = recent[person].len().saturating_sub(3);
                recent[person].drain(..old);
                balances[person] += start_share(u8::try_from(seats).unwrap(), seat == 0);
                back_at[person] = end;
                played[person] += 1;
                if played[person] == games {
                    imbalances.insert(person, f64::from(balances[person]).abs() / 12.0);
                }
            }
        }
    }
    Regulars { games: made_games, repeats, imbalances: imbalances.into_values().collect() }
}
