//! Plays the computer's turns.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{sleep, timeout};

use crate::ids::GameId;
use crate::service::{ComputerTurn, Service};

/// How often it looks without having been rung for: how long a turn waits whose process has died.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many turns are taken up at one look.
const BATCH: i64 = 64;
/// After which a turn is given up, to be found again: the database does not answer.
const TURN_WITHIN: Duration = Duration::from_secs(60);

/// Looks for games in which the computer has the turn, and plays until it has it no more.
pub async fn play_turns(service: Arc<Service>) {
    let mut playing: JoinSet<()> = JoinSet::new();
    let mut taken: HashMap<Id, GameId> = HashMap::new();
    while !service.stopping.is_cancelled() {
        let ids: Vec<GameId> = taken.values().copied().collect();
        match service.computer_turns(&ids, BATCH).await {
            Ok(games) => {
                for game in games {
                    let task = playing.spawn(play_game(service.clone(), game));
                    taken.insert(task.id(), game);
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

/// Plays a game's computer turns until it has none. A game that was found but has none is held for a while, so that it
/// is not found again at once.
async fn play_game(service: Arc<Service>, id: GameId) {
    loop {
        match timeout(TURN_WITHIN, service.play_computer_turn(id)).await {
            Ok(Ok(ComputerTurn::DueAgain)) => {}
            Ok(Ok(ComputerTurn::Played)) => return,
            Ok(Ok(ComputerTurn::NotDue)) => return sleep(LOOK_EVERY).await,
            Ok(Err(error)) => {
                tracing::warn!(error.message = %error, game.id = %id, "a computer turn failed; it is tried again");
                return sleep(LOOK_EVERY).await;
            }
            Err(_) => {
                tracing::warn!(game.id = %id, "a computer turn took too long; it is tried again");
                return;
            }
        }
    }
}
