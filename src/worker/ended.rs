//! Learns which sessions other processes have ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{ANSWERS_WITHIN, within};
use crate::service::Service;

/// How often it looks.
const READ_EVERY: Duration = Duration::from_secs(2);

/// Looks until the service stops.
pub async fn read_ended(service: Arc<Service>) {
    loop {
        tokio::select! {
            () = sleep(READ_EVERY) => {}
            () = service.stopping.cancelled() => return,
        }
        if let Err(error) = within(ANSWERS_WITHIN, service.read_ended()).await {
            tracing::warn!(error.message = error, "cannot read which sessions have ended; it is tried again");
        }
    }
}
