//! Sees to what time brings about, and says that this process is there.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{ANSWERS_WITHIN, MOST, within};
use crate::ids::GameId;
use crate::service::Service;

/// How often the heart beats. An outage is three seconds without a beat.
const BEAT_EVERY: Duration = Duration::from_secs(1);
/// How often it is written who has been heard of.
const WRITE_EVERY: Duration = Duration::from_secs(3);
/// When it looks again after the database has failed.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Beats, and lets the other loops begin with the first beat: before it nobody knows what happened while no process
/// was there.
pub async fn beat(service: Service, alive: watch::Sender<bool>) {
    while !service.stopping.is_cancelled() {
        let first = !*alive.borrow();
        match within(ANSWERS_WITHIN, service.beat(first)).await {
            Ok(()) => {
                alive.send_replace(true);
            }
            Err(error) => tracing::warn!(error.message = error, "the heart cannot beat"),
        }
        tokio::select! {
            () = sleep(BEAT_EVERY) => {}
            () = service.stopping.cancelled() => {}
        }
    }
}

/// Writes who has been heard of, once more at the end.
pub async fn write_heard(service: Arc<Service>) {
    loop {
        let stops = tokio::select! {
            () = sleep(WRITE_EVERY) => false,
            () = service.stopping.cancelled() => true,
        };
        if let Err(error) = within(ANSWERS_WITHIN, service.write_heard()).await {
            tracing::warn!(error.message = error, "cannot write who is there; it is tried again");
        }
        if stops {
            return;
        }
    }
}

/// Finds turns that have run out, players who have fallen silent and games that everybody has left, when their time
/// has come.
pub async fn watch_time(service: Arc<Service>) {
    let mut attending: JoinSet<()> = JoinSet::new();
    while !service.stopping.is_cancelled() {
        let full = attending.len() >= MOST;
        let next = match look(&service, full).await {
            Ok((games, next)) => {
                for game in games {
                    attending.spawn(attend(service.clone(), game));
                }
                next
            }
            Err(error) => {
                tracing::warn!(error.message = error, "cannot look for what is due");
                TRY_AGAIN
            }
        };
        tokio::select! {
            () = sleep(next) => {}
            Some(_) = attending.join_next(), if full => {}
            () = service.stopping.cancelled() => {}
        }
        while attending.try_join_next().is_some() {}
    }
    attending.shutdown().await;
}

/// What is due, unless there is too much of it already, and when to look again.
async fn look(service: &Service, full: bool) -> Result<(Vec<GameId>, Duration), String> {
    if full { Ok((Vec::new(), TRY_AGAIN)) } else { within(ANSWERS_WITHIN, service.take_due()).await }
}

async fn attend(service: Arc<Service>, game: GameId) {
    if let Err(error) = within(ANSWERS_WITHIN, service.attend(game)).await {
        tracing::warn!(error.message = error, game.id = %game, "what was due failed; it is tried again");
    }
}
