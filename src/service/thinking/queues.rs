//! What waits to be thought about: the turns of games, and studies, of which only so many may wait.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::allowance::allowance;
use super::{Job, Kind, STUDY_WITHIN};

/// How many studies may wait.
const MOST_STUDIES: usize = 16;
/// And for how long all together: each could still be answered in time.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Both queues, and how many turns are being thought about.
#[derive(Default)]
pub(super) struct Queues {
    turns: VecDeque<Job>,
    studies: VecDeque<Job>,
    thinking: usize,
    /// Set once at the end: nothing more is taken up.
    pub(super) closed: bool,
}

impl Queues {
    /// Puts a job behind those of its kind.
    pub(super) fn push(&mut self, job: Job) {
        let queue = if job.kind.is_turn() { &mut self.turns } else { &mut self.studies };
        let urgent = queue.iter().take_while(|other| other.kind.is_urgent()).count();
        queue.insert(if job.kind.is_urgent() { urgent } else { queue.len() }, job);
    }

    /// The next turn and for how long to think about it, with `threads` at it; it counts as being thought about until
    /// [`Queues::turn_ended`].
    pub(super) fn next_turn(&mut self, threads: usize) -> Option<(Job, Duration)> {
        self.turns.retain(Job::is_wanted);
        let full = self.turns.front()?.budget;
        let time = allowance(full, self.turns.iter().map(|job| job.asked), threads, Instant::now());
        self.thinking += 1;
        self.turns.pop_front().map(|job| (job, time))
    }

    /// One turn less is being thought about.
    pub(super) fn turn_ended(&mut self) {
        self.thinking -= 1;
    }

    /// The next study that can still be answered in time.
    pub(super) fn next_study(&mut self) -> Option<Job> {
        self.studies.retain(|job| job.is_wanted() && job.asked.elapsed() < STUDY_WITHIN);
        self.studies.pop_front()
    }

    /// Whether turns take up all of `threads`.
    pub(super) fn crowded(&self, threads: usize) -> bool {
        self.thinking + self.turns.iter().filter(|job| job.is_wanted()).count() >= threads
    }

    /// Whether one more of this kind may wait. Turns always may: a game has to go on. So may the steps of reviews, which
    /// follow one another, so that there is never more than one.
    pub(super) fn has_room(&self, kind: Kind) -> bool {
        let always = kind.is_turn() || kind == Kind::Review;
        always || (self.lengths().1 < MOST_STUDIES && self.wait() < LONGEST_WAIT)
    }

    /// For how long the studies that wait may be thought about.
    pub(super) fn wait(&self) -> Duration {
        self.studies.iter().filter(|job| job.is_wanted()).map(|job| job.budget).sum()
    }

    /// How many turns and studies wait.
    pub(super) fn lengths(&self) -> (usize, usize) {
        let wanted = |queue: &VecDeque<Job>| queue.iter().filter(|job| job.is_wanted()).count();
        (wanted(&self.turns), wanted(&self.studies))
    }

    /// Forgets everything that waits, so that its askers hear of it.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.turns.clear();
        self.studies.clear();
    }
}
