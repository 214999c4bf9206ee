//! Removes guests who have not been heard of for long.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{CLEANED_WITHIN, within};
use crate::service::Service;

/// How often all guests are looked through. Not at once at the start: whoever could not reach the service while it was
/// down has this long to come back.
const EVERY: Duration = Duration::from_secs(3 * 3600);

/// Removes guests who have not been heard of for so many days, none if that is 0, until the service stops.
pub async fn retire_guests(service: Arc<Service>, days: u32) {
    loop {
        tokio::select! {
            () = sleep(EVERY) => {}
            () = service.stopping.cancelled() => return,
        }
        let mut after = None;
        while days > 0 && !service.stopping.is_cancelled() {
            match within(CLEANED_WITHIN, service.retire_guests(days.into(), after)).await {
                Ok(Some(last)) => after = Some(last),
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(
                        error.message = error,
                        "cannot remove idle guests; it is tried again later"
                    );
                    break;
                }
            }
        }
    }
}
