//! Season maintenance: once a month each pool is looked at, and moved as a whole if its players have drifted away from
//! where new ones begin (`docs/ratings.md`).

use super::{Result, Service};
use crate::pool::Pool;
use crate::rating::{Rating, Standing};
use crate::store::{self, Season};

/// The greatest live deviation of those whose mean is taken, in points.
const CERTAIN: f64 = 75.0;
/// How far the mean may be from a new player's rating, in points.
const TOLERANCE: f64 = 25.0;

impl Service {
    /// Looks at a pool, unless that has been done this month: safe to repeat, from any number of processes.
    ///
    /// # Errors
    /// When the database fails; nothing has changed then.
    pub async fn look_at_season(&self, pool: Pool) -> Result<Option<Season>> {
        let mut tx = self.database.begin().await?;
        let Some(month) = store::begin_season(&mut tx, pool).await? else { return Ok(None) };
        let standings = store::lock_pool(&mut tx, pool).await?;
        let (players, mean) = certain(&standings);
        let away = mean.map_or(0.0, |mean| Rating::NEW.points() - mean);
        let shift = if away.abs() > TOLERANCE { away } else { 0.0 };
        let season = Season { month, players, mean, shift };
        store::finish_season(&mut tx, pool, &season).await?;
        tx.commit().await?;
        Ok(Some(season))
    }
}

/// How many are rated with some certainty, and their mean.
fn certain(standings: &[Standing]) -> (i32, Option<f64>) {
    let ratings: Vec<f64> = standings
        .iter()
        .filter(|standing| standing.deviation.points() <= CERTAIN)
        .map(|standing| standing.rating.points())
        .collect();
    let players = i32::try_from(ratings.len()).expect("fewer players than that");
    let mean = ratings.iter().sum::<f64>() / f64::from(players);
    (players, (players > 0).then_some(mean))
}
