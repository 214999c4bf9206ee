//! Removes guests who have not been heard of for long.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{CLEANED_WITHIN, within};
use crate::ids::PlayerId;
use crate::service::Service;

/// How often all guests are looked through. Not at once at the start: whoever could not reach the service while it was
/// down has this long to come back.
const EVERY: Duration = Duration::from_secs(3 * 3600);
/// In which a guest has to be gone, with all running games.
const REMOVED_WITHIN: Duration = Duration::from_secs(20);

/// Removes guests who have not been heard of for so many days, none if that is 0, until the service stops.
pub async fn retire_guests(service: Arc<Service>, days: u32) {
    loop {
        tokio::select! {
            () = sleep(EVERY) => {}
            () = service.stopping.cancelled() => return,
        }
        let mut after = None;
        if days > 0 {
            while let Some(last) = retire_page(&service, days.into(), after).await {
                after = Some(last);
            }
        }
    }
}

/// Removes the idle guests of a page. Where the next one begins; `None` at the end, of the guests or of the service.
async fn retire_page(service: &Service, days: f64, after: Option<PlayerId>) -> Option<PlayerId> {
    let page = within(CLEANED_WITHIN, service.idle_guests(days, after)).await;
    let (last, idle) = page
        .inspect_err(|error| {
            tracing::warn!(error.message = error, "cannot look for idle guests; it is tried again later");
        })
        .ok()?;
    for guest in idle {
        if service.stopping.is_cancelled() {
            return None;
        }
        // One of them must not keep the others.
        if let Err(error) = within(REMOVED_WITHIN, service.retire_guest(guest, days)).await {
            tracing::warn!(error.message = error, player.id = %guest.player, "an idle guest stays for now");
        }
    }
    last
}
