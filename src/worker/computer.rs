//! Plays the computer's turns.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{sleep, timeout};

use crate::ids::GameId;
use crate::service::Service;

/// How often it looks without having been rung for: how long a turn waits whose process has died.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many turns are taken up at once.
const BATCH: i64 = 64;

/// Looks for games in which the computer has the turn, and plays until it has it no more.
pub async fn play_turns(service: Arc<Service>) {
    // One core stays free for requests.
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let thinking = Arc::new(Semaphore::new((cores - 1).max(1)));
    let mut playing: JoinSet<()> = JoinSet::new();
    let mut taken: HashMap<Id, GameId> = HashMap::new();
    while !service.stopping.is_cancelled() {
        match service.computer_turns(BATCH).await {
            Ok(games) => {
                for game in games {
                    if !taken.values().any(|id| *id == game) {
                        let task = playing.spawn(play_game(service.clone(), thinking.clone(), game));
                        taken.insert(task.id(), game);
                    }
                }
            }
            Err(error) => tracing::warn!(error.message = %error, "cannot look for computer turns"),
        }
        tokio::select! {
            _ = timeout(LOOK_EVERY, service.computer_turns.notified()) => {}
            Some(done) = playing.join_next_with_id(), if !playing.is_empty() => forget(&mut taken, done),
            () = service.stopping.cancelled() => {}
        }
        while let Some(done) = playing.try_join_next_with_id() {
            forget(&mut taken, done);
        }
    }
    // Turns that are being thought about are found again at the next start.
    playing.shutdown().await;
}

/// A task that has ended, in whatever way, holds its game no more.
fn forget(taken: &mut HashMap<Id, GameId>, done: Result<(Id, ()), JoinError>) {
    let task = done.map_or_else(|error| error.id(), |(task, ())| task);
    taken.remove(&task);
}

async fn play_game(service: Arc<Service>, thinking: Arc<Semaphore>, id: GameId) {
    loop {
        let turn = {
            let _place = thinking.acquire().await;
            service.play_computer_turn(id).await
        };
        match turn {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(error.message = %error, game.id = %id, "a computer turn failed; it is tried again");
                sleep(LOOK_EVERY).await;
                return;
            }
        }
    }
}
