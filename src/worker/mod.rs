//! Background loops. Their work is found in the database, so it survives the end of any process; a bell in the process
//! only makes the usual case immediate.

mod clock;
mod computer;
mod ended;
mod news;
mod pairing;
mod presence;
mod retention;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::service::{Result, Service};

/// How often what has outlived its use is looked for.
const CLEAN_EVERY: Duration = Duration::from_secs(600);

/// How much of a kind a process is at before it looks for more: the rest is left to others, or waits in the database.
const MOST: usize = 128;
/// In which the database has to answer: its host may have vanished without a word.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// And for the clean-up, whose statements may have much to delete.
const CLEANED_WITHIN: Duration = Duration::from_secs(60);

pub use news::send_now as send_news_now;

/// All loops, running until the service stops; guests who have not been heard of for so many days are removed.
pub fn start(service: &Arc<Service>, guest_days: u32) -> JoinSet<()> {
    let mut loops = JoinSet::new();
    let (alive, begun) = watch::channel(false);
    loops.spawn(clock::beat(service.apart(), alive));
    loops.spawn(after_the_first_beat(begun.clone(), computer::play_turns(service.clone())));
    loops.spawn(after_the_first_beat(begun.clone(), clock::watch_time(service.clone())));
    loops.spawn(after_the_first_beat(begun.clone(), pairing::pair_players(service.clone())));
    loops.spawn(after_the_first_beat(begun, presence::write_presence(service.clone())));
    loops.spawn(clock::write_heard(service.clone()));
    loops.spawn(ended::read_ended(service.clone()));
    loops.spawn(news::send(service.apart()));
    loops.spawn(news::hear(service.clone()));
    loops.spawn(news::heal(service.clone()));
    loops.spawn(clean_up(service.clone()));
    loops.spawn(retention::retire_guests(service.clone(), guest_days));
    loops
}

async fn after_the_first_beat(mut begun: watch::Receiver<bool>, work: impl Future<Output = ()>) {
    // No beat before the end: there is nothing to do either.
    if begun.wait_for(|begun| *begun).await.is_ok() {
        work.await;
    }
}

/// What a call comes to, if that is known in this time; else why not.
async fn within<T>(time: Duration, call: impl Future<Output = Result<T>>) -> std::result::Result<T, String> {
    match timeout(time, call).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {} s", time.as_secs())),
    }
}

async fn clean_up(service: Arc<Service>) {
    loop {
        tokio::select! {
            () = sleep(CLEAN_EVERY) => {}
            () = service.stopping.cancelled() => return,
        }
        // Each by itself: one that is slow or fails does not keep the others.
        cleaned("sessions that lasted too long", service.end_old_sessions()).await;
        cleaned("ended sessions", service.forget_sessions()).await;
        cleaned("used refresh tokens", service.forget_used_tokens()).await;
        cleaned("tickets", service.forget_tickets()).await;
        cleaned("answers", service.forget_answers()).await;
    }
}

async fn cleaned(what: &str, call: impl Future<Output = Result<()>>) {
    if let Err(error) = within(CLEANED_WITHIN, call).await {
        tracing::warn!(error.message = error, what, "clean-up failed; it is tried again later");
    }
}
