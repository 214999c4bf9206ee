//! What a ranked game that is being played can do to the ratings of its players.

use std::collections::BTreeMap;

use super::moves::visible;
use super::{Conflict, Error, Result, Service};
use crate::engine::{Game, Seat};
use crate::ids::{GameId, PlayerId};
use crate::pool::Pool;
use crate::rating::{Standing, rate};
use crate::store;

/// What a ranked game can still do to ratings.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// The state of the game that this is of.
    pub seq: i32,
    /// The pool in which it will count.
    pub pool: Pool,
    /// The seats, in turn order.
    pub seats: Vec<SeatOutlook>,
}

/// What it can still do to the rating of one seat.
#[derive(Clone, Debug)]
pub struct SeatOutlook {
    /// Which seat.
    pub seat: Seat,
    /// Who sits there.
    pub player: PlayerId,
    /// The live standing, from which the game will be rated.
    pub standing: Standing,
    /// The mean score that is expected against the others, from 0 to 1.
    pub expected: f64,
    /// By place that it may finish in: the smallest and the largest change of the displayed rating. They differ with
    /// who is beaten, and with whether the place is shared.
    pub places: BTreeMap<u8, (i16, i16)>,
}

impl Service {
    /// What a ranked game can still do to the ratings of its players, for whoever may see it.
    ///
    /// # Errors
    /// `GameNotFound`, `NotRanked`, or a `Conflict` when it is over.
    pub async fn outlook(&self, viewer: Option<PlayerId>, id: GameId) -> Result<Outlook> {
        let mut db = self.database.connection().await?;
        let stored = visible(&mut db, id, viewer).await?;
        if !stored.game.ranked() {
            return Err(Error::NotRanked);
        }
        if stored.game.is_over() {
            return Err(Conflict::GameOver.with(stored));
        }
        let rules = stored.options.rules();
        let pool = Pool::of(rules.variant(), rules.players());
        let players: Vec<PlayerId> = stored.seats.iter().filter_map(|who| Some(who.person()?.id)).collect();
        let standings = store::live_standings(&mut db, pool, &players).await?;
        db.done();
        let outlooks = rules.seats().zip(players).zip(outlooks(&stored.game, &standings));
        let seats = outlooks.map(|((seat, player), (standing, expected, places))| SeatOutlook {
            seat,
            player,
            standing,
            expected,
            places,
        });
        Ok(Outlook { seq: stored.seq, pool, seats: seats.collect() })
    }
}

type Places = BTreeMap<u8, (i16, i16)>;

/// By seat: the standing, the expected score, and the changes by place.
fn outlooks(game: &Game, standings: &[Standing]) -> Vec<(Standing, f64, Places)> {
    let mut outlooks: Vec<_> = standings.iter().map(|&standing| (standing, 0.0, Places::new())).collect();
    for order in game.possible_places() {
        let results: Vec<(Standing, u8)> = standings.iter().copied().zip(order).collect();
        for ((outlook, (before, place)), change) in outlooks.iter_mut().zip(&results).zip(rate(&results)) {
            let gain = change.after.rating.displayed() - before.rating.displayed();
            let (smallest, largest) = outlook.2.entry(*place).or_insert((gain, gain));
            *smallest = gain.min(*smallest);
            *largest = gain.max(*largest);
            outlook.1 = change.expected;
        }
    }
    outlooks
}
