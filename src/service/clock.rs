//! What time brings about in a game: turns that run out, players who fall silent, games that everybody has left.

use std::sync::atomic::Ordering;
use std::time::Duration;

use time::OffsetDateTime;
use tokio::time::{Instant, sleep, timeout_at};

use super::thinking::seed_of_turn;
use super::turn::{MARGIN, Turn, has_run_out, stand_in};
use super::write::Plan;
use super::{Error, Result, Service, Topic};
use crate::cpu::Level;
use crate::engine::{AbortReason, Action, ActionError, Position, Seat};
use crate::ids::GameId;
use crate::store::{self, By, Condition, Due, EventKind, Lease, StoredGame};

/// For how long the computer thinks about a turn that has run out, with all further sowings: the whole has to be
/// written within 1.5 seconds ("Time" 9). Where the stand-in needs longer the easy level plays, which needs none.
const PATIENCE: Duration = Duration::from_millis(900);
/// How long a process has what is due to itself, in seconds.
const LEASE: f64 = 1.2;
/// How long it may take to find what is due without having known of it.
const LOOK_WITHIN: f64 = 1.0;
/// How many no-shows within a day end a ranked game without a result.
const FORGIVEN: i64 = 2;
/// How often a turn that has run out is tried to be played, with a short rest in between.
const ATTEMPTS: usize = 32;
const REST: Duration = Duration::from_millis(30);
/// How long a player's request waits at a time for the clock to play.
const CLOCK_PLAYS_WITHIN: Duration = Duration::from_millis(100);

impl Service {
    /// Beats the heart that tells the processes of an outage; `first` is the first beat of this one. Turns that would
    /// have run out while no process was there begin anew ("Time" 10).
    ///
    /// # Errors
    /// When the database fails.
    pub async fn beat(&self, first: bool) -> Result<()> {
        let mut db = self.database.connection().await?;
        let (anew, now) = store::beat(&mut db, first).await?;
        let known = store::beat_process(&mut db, self.process).await?;
        db.done();
        if !known {
            self.presence.write_anew();
        }
        let ahead = (now - OffsetDateTime::now_utc()).whole_microseconds();
        self.database_ahead.store(ahead.try_into().unwrap_or_default(), Ordering::Relaxed);
        if anew > 0 {
            tracing::info!(turns = anew, "nobody was there when these turns ran out; they have begun anew");
        }
        Ok(())
    }

    /// The time by the database's clock, as far as the last beat of the heart has told it.
    pub fn database_time(&self) -> OffsetDateTime {
        let ahead = self.database_ahead.load(Ordering::Relaxed);
        OffsetDateTime::now_utc() + time::Duration::microseconds(ahead)
    }

    /// Takes what time has made due, longest waiting first, and says when to look again.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn take_due(&self) -> Result<(Vec<GameId>, Duration)> {
        let mut db = self.database.connection().await?;
        let mut games = Vec::new();
        let mut next = store::next_due(&mut db, LOOK_WITHIN).await?;
        if next.is_some_and(|seconds| seconds < 0.0) {
            store::put_off(&mut db, MARGIN.into()).await?;
            let lease = Lease { holder: self.process, seconds: LEASE };
            games = store::lease_due(&mut db, lease).await?;
            next = store::next_due(&mut db, LOOK_WITHIN).await?;
        }
        db.done();
        // Never so often that looking would be all that is done.
        let next = next.unwrap_or(LOOK_WITHIN).clamp(0.02, LOOK_WITHIN);
        Ok((games, Duration::from_secs_f64(next) + Duration::from_millis(2)))
    }

    /// Does what time has brought about in a game, if anything. Harmless to call at any time, from any number of
    /// processes: the conditions are part of the write, and the guard lets one through.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn attend(&self, id: GameId) -> Result<()> {
        let patience = Instant::now() + PATIENCE;
        for _ in 0..ATTEMPTS {
            let mut db = self.database.connection().await?;
            let stored = store::game(&mut db, id, None).await?;
            db.done();
            let Some(stored) = stored else { return Ok(()) };
            let turn = Turn::of(&stored.game, &stored.seats, &stored.options);
            // What was due when it was found need not be any more.
            let due = turn.due(&stored.game, &stored.seats, &stored.options).map(|(due, _)| due);
            let mut plan = Plan::new(&stored);
            let condition = match (turn, due) {
                (Turn::Person(seat), Some(Due::Clock)) if has_run_out(&stored) => {
                    self.play_for(seat, &mut plan, &stored, patience).await?;
                    Condition::RunOut
                }
                (Turn::Person(seat), Some(Due::Away)) => {
                    let player = stored.seats[seat.index()].person().map(|person| person.id);
                    let Some((player, silence)) = player.zip(stored.options.away_seconds()) else {
                        return Ok(());
                    };
                    plan.add(seat, Action::Leave, None).expect("a player who is present can leave");
                    Condition::Silent(player, (silence + MARGIN).into())
                }
                (Turn::Paused, _) => {
                    let abort = Action::Abort(AbortReason::Abandoned);
                    plan.add(stored.starter, abort, None).expect("a running game can be aborted");
                    Condition::Abandoned
                }
                _ => return Ok(()),
            };
            let db = self.database.connection().await?;
            let written = self.commit(db, plan, condition).await?.is_some();
            // Silence that was broken, or a pause, is looked at again when it is next due.
            if written || !matches!(condition, Condition::RunOut) {
                return Ok(());
            }
            sleep(REST).await;
        }
        Ok(())
    }

    /// Plays a turn that has run out, with the further sowings that it earns; the second in a row is also the end of
    /// the player's presence ("Leaving" 6).
    async fn play_for(
        &self,
        seat: Seat,
        plan: &mut Plan<'_>,
        stored: &StoredGame,
        patience: Instant,
    ) -> Result<()> {
        if stored.game.ranked() && self.has_never_moved(stored, seat).await? {
            return self.miss(seat, plan, stored).await;
        }
        let level = stand_in(&stored.game, &stored.options);
        let mut seq = stored.seq;
        while plan.game().position().to_move() == Some(seat) {
            let seed = seed_of_turn(stored.seed, seq);
            let pit = self
                .choose_by(patience, level, *plan.game().position(), seed, (seq - stored.seq).unsigned_abs())
                .await;
            let pit = pit.expect("a seat to move has a move");
            plan.add(seat, Action::Move { pit }, Some(By::Clock)).expect("a legal move of the seat to move");
            seq += 1;
        }
        if stored.run_out.contains(&seat.get()) {
            match plan.add(seat, Action::Leave, None) {
                // With its place, or with the game at its end, there is nothing left to leave.
                Ok(()) | Err(ActionError::GameOver | ActionError::AlreadyPlaced(_)) => {}
                Err(error) => unreachable!("a player who is present can leave: {error}"),
            }
        }
        Ok(())
    }

    /// A no-show: the first two within a day end the game without a result, from the third on it is a resignation
    /// ("Time" 11, `docs/ratings.md`).
    async fn miss(&self, seat: Seat, plan: &mut Plan<'_>, stored: &StoredGame) -> Result<()> {
        let player = stored.seats[seat.index()].person().expect("no computer sits in a ranked game").id;
        let mut db = self.database.connection().await?;
        let earlier = store::recent_no_shows(&mut db, player).await?;
        db.done();
        plan.misses(seat);
        let (action, by) = if earlier < FORGIVEN {
            (Action::Abort(AbortReason::NoShow), None)
        } else {
            (Action::Resign, Some(By::Clock))
        };
        plan.add(seat, action, by).expect("a running game can be aborted, and a seat to move can resign");
        Ok(())
    }

    /// What `level` plays, or the easy level if that is not known at `patience`.
    async fn choose_by(
        &self,
        patience: Instant,
        level: Level,
        position: Position,
        seed: u64,
        earned: u32,
    ) -> Option<u8> {
        match timeout_at(patience, self.thinking.choose(level, position, seed, earned)).await {
            Ok(Some(pit)) => Some(pit),
            _ => self.thinking.choose(Level::Easy, position, seed, earned).await,
        }
    }

    async fn has_never_moved(&self, stored: &StoredGame, seat: Seat) -> Result<bool> {
        let mut db = self.database.connection().await?;
        let log = store::events_after(&mut db, stored.id, 0).await?;
        db.done();
        Ok(!log.iter().any(|row| row.kind == EventKind::Move && row.seat == Some(seat)))
    }

    /// Returns when the game has changed, or after a short while: the clock is about to play a turn that has run out,
    /// or the turn is about to begin anew. No connection is held meanwhile.
    pub(super) async fn wait_for_the_clock(&self, id: GameId) -> std::result::Result<(), Error> {
        let listening = self.news.listen([Topic::Game(id)]);
        tokio::select! {
            _ = listening.rung() => {}
            () = sleep(CLOCK_PLAYS_WITHIN) => {}
            () = self.stopping.cancelled() => return Err(Error::Busy),
        }
        Ok(())
    }
}
