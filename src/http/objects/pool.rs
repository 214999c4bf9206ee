//! The pools of ratings.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::pool;

/// Ranked games whose ratings can be compared: a player has a rating in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum Pool {
    /// Kalah between two.
    #[serde(rename = "kalah-2")]
    Kalah2,
    /// Kalah among three or four.
    #[serde(rename = "kalah-multi")]
    KalahMulti,
    /// Basic Mancala between two.
    #[serde(rename = "basic-2")]
    Basic2,
    /// Basic Mancala among three or four.
    #[serde(rename = "basic-multi")]
    BasicMulti,
}

impl From<Pool> for pool::Pool {
    fn from(pool: Pool) -> Self {
        match pool {
            Pool::Kalah2 => Self::Kalah2,
            Pool::KalahMulti => Self::KalahMulti,
            Pool::Basic2 => Self::Basic2,
            Pool::BasicMulti => Self::BasicMulti,
        }
    }
}

impl From<pool::Pool> for Pool {
    fn from(pool: pool::Pool) -> Self {
        match pool {
            pool::Pool::Kalah2 => Self::Kalah2,
            pool::Pool::KalahMulti => Self::KalahMulti,
            pool::Pool::Basic2 => Self::Basic2,
            pool::Pool::BasicMulti => Self::BasicMulti,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pool;
    use crate::pool;

    #[test]
    fn a_pool_is_written_in_one_way_only() {
        for pool in pool::Pool::ALL {
            assert_eq!(serde_json::to_value(Pool::from(pool)).unwrap(), pool.as_str());
        }
    }
}
