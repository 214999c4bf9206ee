//! The rating system: Glicko with constant volatility, in which a game of N players is N - 1 results of each, every one
//! weighted 3/(N + 1) (`docs/ratings.md`). Pure: no clock, no database.

use std::f64::consts::{LN_10, PI};

/// Rating points to natural logarithms of odds.
const Q: f64 = LN_10 / 400.0;
/// What a day without a game adds to the square of a deviation, in squared rating points.
const DRIFT_PER_DAY: f64 = 0.21436 * (0.06 / Q) * (0.06 / Q);
/// The version of these formulas, kept with every result that they gave.
pub const FORMULA: i16 = 1;

/// Strength, in rating points, from 100 to 4000: a difference of 400 is odds of ten to one.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rating(f64);

impl Rating {
    /// Of a player without a game.
    pub const NEW: Self = Self(1500.0);

    /// These points, or the nearest that a rating can have.
    #[must_use]
    pub const fn new(points: f64) -> Self {
        Self(points.clamp(100.0, 4000.0))
    }

    /// Unrounded points.
    #[must_use]
    pub const fn points(self) -> f64 {
        self.0
    }

    /// Whole points, as players see them.
    #[must_use]
    pub fn displayed(self) -> i16 {
        #[expect(clippy::cast_possible_truncation, reason = "100 to 4000")]
        let points = (self.0 + 0.5).floor() as i16;
        points
    }
}

/// How uncertain a rating is: its standard deviation in rating points, from 55 to 350.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Deviation(f64);

impl Deviation {
    /// Of a player without a game.
    pub const NEW: Self = Self(350.0);
    /// The greatest of a rating that is not provisional.
    pub const ESTABLISHED: Self = Self(110.0);

    /// These points, or the nearest that a deviation can have.
    #[must_use]
    pub const fn new(points: f64) -> Self {
        Self(points.clamp(55.0, 350.0))
    }

    /// Unrounded points.
    #[must_use]
    pub const fn points(self) -> f64 {
        self.0
    }

    /// Whole points, as players see them.
    #[must_use]
    pub fn displayed(self) -> i16 {
        #[expect(clippy::cast_possible_truncation, reason = "55 to 350")]
        let points = (self.0 + 0.5).floor() as i16;
        points
    }

    /// What it has become after so many days without a game.
    #[must_use]
    pub fn after_days(self, days: f64) -> Self {
        Self::new((self.0 * self.0 + days.max(0.0) * DRIFT_PER_DAY).sqrt())
    }

    /// After how many days without a game it will be greater than `limit`; below zero if it is already.
    #[must_use]
    pub fn days_until(self, limit: Self) -> f64 {
        (limit.0 * limit.0 - self.0 * self.0) / DRIFT_PER_DAY
    }

    /// Whether the rating is shown as provisional.
    #[must_use]
    pub fn is_provisional(self) -> bool {
        self > Self::ESTABLISHED
    }

    /// The deviation of the difference of two ratings. Beyond what a single one can have, so only for [`g`].
    fn of_difference(self, other: Self) -> f64 {
        self.0.hypot(other.0)
    }
}

/// What is known of a player's strength at some moment: a live deviation, idle days counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// How strong.
    pub rating: Rating,
    /// How certain that is.
    pub deviation: Deviation,
}

impl Standing {
    /// Of a player without a game.
    pub const NEW: Self = Self { rating: Rating::NEW, deviation: Deviation::NEW };

    /// How far apart two players are for matchmaking, in rating points: less the less is known of them.
    #[must_use]
    pub fn gap(self, other: Self) -> f64 {
        g(self.deviation.of_difference(other.deviation)) * (self.rating.0 - other.rating.0).abs()
    }

    /// The score that this player is expected to take from `other`, from 0 to 1, both deviations considered.
    #[must_use]
    pub fn expected_against(self, other: Self) -> f64 {
        expected(g(self.deviation.of_difference(other.deviation)), self.rating, other.rating)
    }
}

/// What a game did to one of its players.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The standing after the game.
    pub after: Standing,
    /// The mean score that was expected of the player against the others, from 0 to 1.
    pub expected: f64,
}

/// What a game does to its players, given their standings before it and their places (1 is best, shared places are
/// equal). In the order of the players.
#[must_use]
pub fn rate(players: &[(Standing, u8)]) -> Vec<Change> {
    let others = (players.len() - 1) as f64;
    let weight = 3.0 / (players.len() as f64 + 1.0);
    let change = |i: usize| {
        let (me, my_place) = players[i];
        let (mut information, mut surprise, mut expectations) = (0.0, 0.0, 0.0);
        for (_, &(other, place)) in players.iter().enumerate().filter(|(j, _)| *j != i) {
            let g = g(other.deviation.0);
            let e = expected(g, me.rating, other.rating);
            let score = match my_place.cmp(&place) {
                std::cmp::Ordering::Less => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Greater => 0.0,
            };
            information += g * g * e * (1.0 - e);
            surprise += g * (score - e);
            expectations += me.expected_against(other);
        }
        let d = 1.0 / (me.deviation.0 * me.deviation.0) + weight * Q * Q * information;
        let rating = Rating::new(me.rating.0 + Q / d * weight * surprise);
        let deviation = Deviation::new((1.0 / d).sqrt());
        Change { after: Standing { rating, deviation }, expected: expectations / others }
    };
    (0..players.len()).map(change).collect()
}

/// By how much a deviation flattens the odds that a difference of ratings means; from 0 to 1.
fn g(deviation: f64) -> f64 {
    1.0 / (1.0 + 3.0 * Q * Q * deviation * deviation / (PI * PI)).sqrt()
}

fn expected(g: f64, mine: Rating, other: Rating) -> f64 {
    1.0 / (1.0 + 10_f64.powf(-g * (mine.0 - other.0) / 400.0))
}
