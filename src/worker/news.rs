//! Takes news to other processes and from them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::{ANSWERS_WITHIN, within};
use crate::service::{Found, SAID_EVERY, Service};

/// How often what may have been lost is looked for.
const HEAL_EVERY: Duration = Duration::from_secs(3);
/// In which something is heard, or the connection is dead: this process says something oftener itself.
const HEARD_WITHIN: Duration = SAID_EVERY.saturating_mul(3);
/// When it tries again after the database has failed.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Sends what this process has to tell. The service's connection must be nobody else's.
pub async fn send(service: Service) {
    loop {
        tokio::select! {
            () = service.news_to_send() => send_now(&service).await,
            () = service.stopping.cancelled() => return,
        }
    }
}

/// Sends what there is to be told, without waiting for more.
pub async fn send_now(service: &Service) {
    if let Err(error) = within(ANSWERS_WITHIN, service.send_news()).await {
        tracing::warn!(error.message = error, "other processes were not told; they find it themselves");
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
            tracing::warn!(error.message = error, "cannot hear other processes; it is tried again");
        }
        sleep(TRY_AGAIN).await;
    }
}

async fn listen(service: &Service) -> Result<(), String> {
    let mut listener = within(ANSWERS_WITHIN, service.listener()).await?;
    loop {
        within(ANSWERS_WITHIN, service.heal_news(&mut Found::default())).await?;
        while let Some(text) = within(HEARD_WITHIN, async { Ok(listener.next().await?) }).await? {
            service.hear_news(&text);
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
