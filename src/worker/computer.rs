//! Plays the computer's turns.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use super::{ANSWERS_WITHIN, MOST, within};
use crate::ids::GameId;
use crate::service::{ComputerTurn, Service};

/// How often the leases on turns that are being thought about are renewed.
const RENEW_EVERY: Duration = Duration::from_millis(250);
/// When it looks again after the database has failed.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// After which a turn is given up, to be found again: the database does not answer.
const TURN_WITHIN: Duration = Duration::from_secs(60);

/// Plays the turns that this process has written, and looks for those that no process holds.
pub async fn play_turns(service: Arc<Service>) {
    let mut playing: JoinSet<()> = JoinSet::new();
    let mut held: HashMap<Id, GameId> = HashMap::new();
    let (mut look_at, mut renew_at) = (Instant::now(), Instant::now());
    while !service.stopping.is_cancelled() {
        // Before looking: what this process holds must not seem to be free.
        if !held.is_empty() && renew_at <= Instant::now() {
            let games: Vec<GameId> = held.values().copied().collect();
            if let Err(error) = within(ANSWERS_WITHIN, service.keep_computer_turns(&games)).await {
                tracing::warn!(error.message = error, "cannot renew leases; others may think about the same");
            }
            renew_at = Instant::now() + RENEW_EVERY;
        }
        let mut games = service.computer_turns.take();
        if look_at <= Instant::now() && held.len() < MOST {
            let next = match within(ANSWERS_WITHIN, service.take_computer_turns()).await {
                Ok((found, next)) => {
                    games.extend(found.into_iter().filter(|game| !held.values().any(|held| held == game)));
                    next
                }
                Err(error) => {
                    tracing::warn!(error.message = error, "cannot look for computer turns");
                    TRY_AGAIN
                }
            };
            look_at = Instant::now() + next;
        }
        for game in games {
            let task = playing.spawn(play_game(service.clone(), game));
            held.insert(task.id(), game);
        }
        let wake_at = match held.len() {
            0 => look_at,
            MOST.. => renew_at,
            _ => look_at.min(renew_at),
        };
        tokio::select! {
            () = service.computer_turns.rung() => {}
            Some(done) = playing.join_next_with_id(), if !playing.is_empty() => forget(&mut held, done),
            () = sleep_until(wake_at) => {}
            () = service.stopping.cancelled() => {}
        }
        while let Some(done) = playing.try_join_next_with_id() {
            forget(&mut held, done);
        }
    }
    // Turns that are being thought about are found again, by another process or at the next start.
    playing.shutdown().await;
}

/// A task that has ended, in whatever way, holds its game no more.
fn forget(held: &mut HashMap<Id, GameId>, done: Result<(Id, ()), JoinError>) {
    let task = done.map_or_else(|error| error.id(), |(task, ())| task);
    held.remove(&task);
}

/// Plays a game's computer turns until it has none. What fails is tried again when its lease has ended.
async fn play_game(service: Arc<Service>, id: GameId) {
    let mut chain = 0;
    loop {
        match timeout(TURN_WITHIN, service.play_computer_turn(id, chain)).await {
            Ok(Ok(ComputerTurn::DueAgain { earned })) => chain = earned,
            Ok(Ok(ComputerTurn::Played | ComputerTurn::NotDue)) => return,
            Ok(Err(error)) => {
                tracing::warn!(error.message = %error, game.id = %id, "a computer turn failed; it is tried again");
                return;
            }
            Err(_) => {
                tracing::warn!(game.id = %id, "a computer turn took too long; it is tried again");
                return;
            }
        }
    }
}
