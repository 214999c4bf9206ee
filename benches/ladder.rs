//! The ladder of the levels: each plays the one below, and a verdict says whether it is as much better as it should be.
//!
//! `cargo bench --bench ladder`, or of that only `-- --game kalah:2 --pairing hard:medium --games 50 --budget 100`.
//! All games begin at the start, with places swapped from game to game; that they differ comes from the seed alone. It
//! takes hours with the server's times for thinking, which are the default.

#![expect(clippy::print_stdout, reason = "a benchmark reports to whoever runs it")]

use std::fmt;
use std::ops::AddAssign;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use mancala_server::cpu::{Computers, Level};
use mancala_server::engine::{Action, Game, Rules, RulesRequest, Seat, Variant};

/// Plays the levels against one another.
#[derive(Parser)]
struct Arguments {
    /// Only this game: kalah or basic, a colon, and the number of players
    #[arg(long)]
    game: Option<Kind>,
    /// Only this pairing: the better level, a colon, and the other one
    #[arg(long)]
    pairing: Option<Pairing>,
    /// Games a pairing
    #[arg(long, default_value_t = 200)]
    games: u64,
    /// Milliseconds a sowing; `perfect` has 150 in 700 more, as in the server
    #[arg(long, default_value_t = 700)]
    budget: u32,
    /// Games that are played at once; one on each core if not given
    #[arg(long)]
    threads: Option<usize>,
    /// Another number plays other games
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

/// A game by its name and number of players.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind {
    variant: Variant,
    players: u8,
}

/// One seat plays the better level, all others the other one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Pairing {
    better: Level,
    other: Level,
}

const MEDIUM: Pairing = Pairing { better: Level::Medium, other: Level::Easy };
const HARD: Pairing = Pairing { better: Level::Hard, other: Level::Medium };
const PERFECT: Pairing = Pairing { better: Level::Perfect, other: Level::Hard };

/// What is played when nothing else is asked for. Elsewhere `perfect` is `hard`.
const LADDER: [(Kind, &[Pairing]); 3] = [
    (Kind { variant: Variant::Kalah, players: 2 }, &[MEDIUM, HARD, PERFECT]),
    (Kind { variant: Variant::Basic, players: 2 }, &[MEDIUM, HARD]),
    (Kind { variant: Variant::Kalah, players: 4 }, &[MEDIUM, HARD]),
];

fn main() {
    let arguments = Arguments::parse();
    let computers = Computers::default();
    let mut missed = 0;
    for (kind, pairings) in plan(&arguments) {
        for pairing in pairings {
            let begun = Instant::now();
            let tally = play(&computers, kind, pairing, &arguments);
            let verdict = Wanted::of(kind, pairing).verdict(&tally);
            missed += u32::from(!verdict.starts_with("met"));
            println!("{kind} {pairing}: {tally}; {verdict} [{:.0} s]", begun.elapsed().as_secs_f64());
        }
    }
    println!(
        "verdict: {}",
        if missed == 0 { "all thresholds met".to_owned() } else { format!("{missed} MISSED") }
    );
}

fn plan(arguments: &Arguments) -> Vec<(Kind, Vec<Pairing>)> {
    let kinds = arguments.game.map_or_else(|| LADDER.map(|(kind, _)| kind).to_vec(), |kind| vec![kind]);
    let usual =
        |kind| LADDER.iter().find(|(other, _)| *other == kind).map_or(LADDER[1].1, |(_, usual)| *usual);
    kinds
        .into_iter()
        .map(|kind| (kind, arguments.pairing.map_or_else(|| usual(kind).to_vec(), |pairing| vec![pairing])))
        .collect()
}

/// Plays all games of a pairing on all cores.
fn play(computers: &Computers, kind: Kind, pairing: Pairing, arguments: &Arguments) -> Tally {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (tally, next) = (Mutex::new(Tally::default()), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads.unwrap_or(cores) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= arguments.games {
                        break;
                    }
                    let outcome = play_game(computers, kind, pairing, arguments, number);
                    *tally.lock().expect("no game panics") += outcome;
                }
            });
        }
    });
    tally.into_inner().expect("no game panics")
}

fn play_game(
    computers: &Computers,
    kind: Kind,
    pairing: Pairing,
    arguments: &Arguments,
    number: u64,
) -> Tally {
    let rules = Rules::effective(kind.variant, kind.players, &RulesRequest::default());
    let rules = rules.expect("the players were checked");
    let mut game = Game::new(rules, Seat::ALL[0], false).expect("seat 0 is always there");
    let turn = u8::try_from(number % u64::from(kind.players)).expect("less than the players");
    let better = Seat::new(turn).expect("a seat of the board");
    let mut tally = Tally::default();
    let mut sowings = 0;
    while let Some(seat) = game.position().to_move() {
        let level = if seat == better { pairing.better } else { pairing.other };
        let budget = if level == Level::Perfect { arguments.budget * 850 / 700 } else { arguments.budget };
        let (begun, seed) = (Instant::now(), (arguments.seed << 48) + (number << 16) + sowings);
        let patience = Duration::from_millis(u64::from(budget));
        let choice = computers.choose(level, game.position(), seed, &|| begun.elapsed() < patience);
        let pit = choice.expect("somebody is to move").pit;
        game.apply(seat, Action::Move { pit }).expect("levels play legal pits");
        if seat == better {
            tally.slowest = tally.slowest.max(begun.elapsed());
        }
        sowings += 1;
    }
    let places = game.places();
    let place = f64::from(places[better.index()].expect("the game is over"));
    let best_other = places.iter().enumerate().filter(|(seat, _)| *seat != better.index());
    let best_other = best_other.filter_map(|(_, place)| *place).min().expect("there are others");
    let points = match place.total_cmp(&f64::from(best_other)) {
        std::cmp::Ordering::Less => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Greater => 0.0,
    };
    tally.points.add(points);
    tally.places.add(place);
    tally.lost_first = u32::from(better.get() == 0 && points == 0.0);
    tally
}

/// Numbers of which the mean is wanted.
#[derive(Default)]
struct Sample {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Sample {
    fn add(&mut self, value: f64) {
        *self += Self { count: 1.0, sum: value, squares: value * value };
    }

    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// Half the width of the 95 % confidence interval of the mean.
    fn doubt(&self) -> f64 {
        let variance = (self.squares / self.count - self.mean() * self.mean()).max(0.0);
        1.96 * (variance / self.count).sqrt()
    }
}

impl AddAssign for Sample {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

/// What the better level has achieved.
#[derive(Default)]
struct Tally {
    points: Sample,
    places: Sample,
    lost_first: u32,
    slowest: Duration,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.points += other.points;
        self.places += other.places;
        self.lost_first += other.lost_first;
        self.slowest = self.slowest.max(other.slowest);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (points, places) = (&self.points, &self.places);
        write!(
            f,
            "{} games, {:.1} ± {:.1} % of the points, mean place {:.2} ± {:.2}, {} lost as first, slowest {:.2} s",
            points.count,
            100.0 * points.mean(),
            100.0 * points.doubt(),
            places.mean(),
            places.doubt(),
            self.lost_first,
            self.slowest.as_secs_f64()
        )
    }
}

/// What the better level should achieve.
enum Wanted {
    /// At least this share of the points.
    Points(f64),
    /// At least half of the points, and no loss as the first player.
    Unbeaten,
    /// More than half of the points, beyond doubt.
    ClearlyMore,
    /// A better place than the mean one, beyond doubt.
    BetterPlace(f64),
}

impl Wanted {
    fn of(kind: Kind, pairing: Pairing) -> Self {
        match (kind.variant, kind.players) {
            (Variant::Kalah, 2) if pairing == MEDIUM => Self::Points(0.9),
            (Variant::Kalah, 2) if pairing == HARD => Self::Points(0.75),
            (Variant::Kalah, 2) if pairing == PERFECT => Self::Unbeaten,
            (_, 2) => Self::ClearlyMore,
            (_, players) => Self::BetterPlace(f64::from(players + 1) / 2.0),
        }
    }

    fn verdict(&self, tally: &Tally) -> String {
        let (points, places) = (&tally.points, &tally.places);
        let (met, wanted) = match *self {
            Self::Points(share) => (points.mean() >= share, format!("at least {:.0} %", 100.0 * share)),
            Self::Unbeaten => (
                points.mean() >= 0.5 && tally.lost_first == 0,
                "at least 50 % and none lost as first".to_owned(),
            ),
            Self::ClearlyMore => (points.mean() - points.doubt() > 0.5, "clearly more than 50 %".to_owned()),
            Self::BetterPlace(mean) => {
                (places.mean() + places.doubt() < mean, format!("a place clearly better than {mean}"))
            }
        };
        format!("{}: {wanted}", if met { "met" } else { "MISSED" })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.variant, self.players)
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (variant, players) = text.split_once(':').ok_or("such as kalah:2")?;
        let players = players.parse().ok().filter(|n| (2..=4).contains(n)).ok_or("2 to 4 players")?;
        Ok(Self { variant: variant.parse().map_err(|_| "kalah or basic")?, players })
    }
}

impl fmt::Display for Pairing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.better, self.other)
    }
}

impl std::str::FromStr for Pairing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (better, other) = text.split_once(':').ok_or("such as hard:medium")?;
        let level = |name: &str| name.parse::<Level>().map_err(|error| error.to_string());
        Ok(Self { better: level(better)?, other: level(other)? })
    }
}
