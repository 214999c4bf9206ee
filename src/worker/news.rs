//! Takes news to other processes and from them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{ANSWERS_WITHIN, within};
use crate::service::{Found, Service};

/// How often what may have been lost is looked for.
const HEAL_EVERY: Duration = Duration::from_secs(3);
/// When it tries again after the database has failed.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Sends what this process has to tell. The service's connection must be nobody else's.
pub async fn send(service: Service) {
    loop {
        let sent = tokio::select! {
            sent = service.send_news() => sent,
            () = service.stopping.cancelled() => return,
        };
        if let Err(error) = sent {
            tracing::warn!(error.message = %error, "other processes were not told; they find it themselves");
        }
    }
}

/// Hears what other processes tell. Whenever nobody has listened for a while, everything is looked up.
pub async fn hear(service: Arc<Service>) {
    while !service.stopping.is_cancelled() {
        let heard = tokio::select! {
            heard = listen(&service) => heard,
            () = service.stopping.cancelled() => return,
        };
        if let Err(error) = heard {
            tracing::warn!(error.message = %error, "cannot hear other processes; it is tried again");
        }
        sleep(TRY_AGAIN).await;
    }
}

async fn listen(service: &Service) -> crate::service::Result<()> {
    let mut listener = service.listener().await?;
    service.make_up_for_news().await?;
    loop {
        match listener.next().await? {
            Some(text) => service.hear_news(&text),
            None => service.make_up_for_news().await?,
        }
    }
}

/// Looks for what may have been lost.
pub async fn heal(service: Arc<Service>) {
    let mut found = Found::default();
    loop {
        tokio::select! {
            () = sleep(HEAL_EVERY) => {}
            () = service.stopping.cancelled() => return,
        }
        if let Err(error) = within(ANSWERS_WITHIN, service.heal_news(&mut found)).await {
            tracing::warn!(error.message = error, "cannot look for news that was lost; it is tried again");
        }
    }
}
