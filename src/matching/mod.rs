//! Who plays whom in ranked games ("Matchmaking" of `docs/ratings.md`). Pure: waits and random numbers are parameters.
//!
//! A round looks at everybody who waits in one queue. A game is worth its score: how far apart its players are, less
//! what they have waited, more for every game in which they met lately. The lowest score plays first, and nobody plays
//! above [`THRESHOLD`], so the least gap that is good enough widens while people wait. Greedy, because whoever asks why
//! they were not matched can be told: somebody was a better match.

mod pairs;
mod tables;
mod tree;

use rand::Rng;
use rand::seq::SliceRandom;

use crate::ids::{GameId, PlayerId};
use crate::rating::{Rating, Standing};

/// The greatest score, in rating points, at which a game is made.
const THRESHOLD: f64 = 25.0;
/// What a second of one player's wait takes from the score of a pair, in rating points.
const PAIR_WAIT: f64 = 2.0;
/// What a second of the mean wait takes from the score of a table of three or four, in rating points.
const TABLE_WAIT: f64 = 4.0;
/// What each game in which two of the players met adds to the score, in rating points.
const MEETING: f64 = 100.0;

/// Somebody who waits for a game.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Who.
    pub player: PlayerId,
    /// Whether a program plays, and whether a person minds.
    pub company: Company,
    /// How strong now, idle days counted.
    pub standing: Standing,
    /// For how long, in seconds.
    pub waited: f64,
    /// The greatest difference of ratings, in rating points, to anybody in the game. Never broken.
    pub max_gap: Option<f64>,
    /// The player's last three rated games, at most.
    pub recent: Vec<Meeting>,
    /// Whom the player never wants to meet; who is blocked does not meet them either.
    pub blocked: Vec<PlayerId>,
}

/// Whether somebody is a bot, and if not, whether they would meet one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Company {
    /// A person who plays with people only.
    #[default]
    People,
    /// A person who plays with anybody.
    Anybody,
    /// A bot, which plays with other bots and with people who play with anybody.
    Bot,
}

impl Company {
    /// Whether the two may sit at one table.
    #[must_use]
    pub fn suits(self, other: Self) -> bool {
        !matches!((self, other), (Self::People, Self::Bot) | (Self::Bot, Self::People))
    }
}

/// A rated game that somebody played lately.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// Which game.
    pub game: GameId,
    /// Whom it was played with.
    pub players: Vec<PlayerId>,
}

/// A game to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Who plays: indices of those who wait, ascending.
    pub tickets: Vec<usize>,
    /// How good it is, in rating points; the less, the better.
    pub score: f64,
}

/// The games that one round makes for everybody who waits in a queue for `seats` (2 to 4) players, the best first.
/// Among equally good ones, whoever comes first in `waiting` goes first.
#[must_use]
pub fn pair(waiting: &[Waiting], seats: usize) -> Vec<Match> {
    if seats == 2 { pairs::pair(waiting) } else { tables::pair(waiting, seats) }
}

/// The greatest gap, in rating points, at which somebody who has waited so many seconds would now be matched with
/// people who have just come.
#[must_use]
pub fn window(waited: f64, seats: usize) -> f64 {
    THRESHOLD + if seats == 2 { PAIR_WAIT * waited } else { TABLE_WAIT * waited / seats as f64 }
}

/// What one game of so many players does to a player's balance of first moves, in twelfths of a game: had it or not,
/// less the share that everybody is due. (Twelfths are whole for 2, 3 and 4 players, so the balance never drifts.)
#[must_use]
pub fn start_share(players: u8, first: bool) -> i32 {
    i32::from(first) * 12 - 12 / i32::from(players)
}

/// In which order players with these balances of first moves, in twelfths, take their seats: who has had least moves
/// first, ties and all other seats at random.
#[must_use]
pub fn seat_order(start_balances: &[i32], rng: &mut impl Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..start_balances.len()).collect();
    // The first of the least in a random order is a random one of them; the rest has to be shuffled once more, as the
    // others of the least can now only come later.
    order.shuffle(rng);
    if let Some(first) = (0..order.len()).min_by_key(|at| start_balances[order[*at]]) {
        order.swap(0, first);
        order[1..].shuffle(rng);
    }
    order
}

/// Whether nothing that either insists on keeps the two apart.
fn may_meet(a: &Waiting, b: &Waiting) -> bool {
    let difference = (a.standing.rating.points() - b.standing.rating.points()).abs();
    a.company.suits(b.company)
        && [a, b].iter().all(|waiting| waiting.max_gap.is_none_or(|limit| difference <= limit))
        && !a.blocked.contains(&b.player)
        && !b.blocked.contains(&a.player)
}

/// The games of late in which any two of these met, each once.
fn meetings(table: &[&Waiting]) -> usize {
    let mut games: Vec<GameId> = Vec::new();
    for waiting in table {
        for meeting in &waiting.recent {
            let with = |other: &&Waiting| meeting.players.contains(&other.player);
            let met = table.iter().any(|other| other.player != waiting.player && with(other));
            if met && !games.contains(&meeting.game) {
                games.push(meeting.game);
            }
        }
    }
    games.len()
}

/// What the meetings of these add to their score.
fn penalty(table: &[&Waiting]) -> f64 {
    MEETING * meetings(table) as f64
}

/// A little less than what one point of difference to anybody in the queue adds to the gap from `standing`: a bound
/// that is cheap where the gap itself takes two roots. `least_certain` has the greatest deviation of the queue.
fn gap_per_point(standing: Standing, least_certain: Standing) -> f64 {
    let at = |points, of: Standing| Standing { rating: Rating::new(points), ..of };
    let one_apart = at(1500.0, standing).gap(at(1501.0, least_certain));
    // Rounding must not lift it above what any gap comes to.
    one_apart * (1.0 - 1e-9)
}

/// Whoever of the queue is least certain.
fn least_certain(waiting: &[Waiting]) -> Option<Standing> {
    let deviation = |standing: &Standing| standing.deviation.points();
    waiting.iter().map(|waiting| waiting.standing).max_by(|a, b| deviation(a).total_cmp(&deviation(b)))
}
