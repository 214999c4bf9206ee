//! Writes who is connected.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{ANSWERS_WITHIN, within};
use crate::service::Service;

/// When it tries again after the database has failed.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Writes until the service stops. What is written then stays: it counts for five seconds more, in which the players
/// connect to another process, and is removed by that.
pub async fn write_presence(service: Arc<Service>) {
    while !service.stopping.is_cancelled() {
        tokio::select! {
            () = service.presence_changed() => {}
            () = service.stopping.cancelled() => return,
        }
        while let Err(error) = within(ANSWERS_WITHIN, service.write_presence()).await {
            tracing::warn!(error.message = error, "cannot write who is connected; it is tried again");
            tokio::select! {
                () = sleep(TRY_AGAIN) => {}
                () = service.stopping.cancelled() => return,
            }
        }
    }
}
