//! Pairs those who wait for ranked games, every second.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::within;
use crate::service::Service;

/// How often each queue is paired.
const EVERY: Duration = Duration::from_secs(1);
/// In which a round has to end, with all the games that it begins.
const ROUND_WITHIN: Duration = Duration::from_secs(60);

/// Pairs until the service stops.
pub async fn pair_players(service: Arc<Service>) {
    loop {
        tokio::select! {
            () = sleep(EVERY) => {}
            () = service.stopping.cancelled() => return,
        }
        match within(ROUND_WITHIN, service.pair_all()).await {
            Ok(0) => {}
            Ok(games) => tracing::info!(games, "ranked games have begun"),
            Err(error) => tracing::warn!(error.message = error, "pairing failed; it is tried again"),
        }
    }
}
