//! The threads that think, and what they share.

use std::cell::Cell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::queues::Queues;
use super::{Effort, Job, Patience, STUDY_WITHIN};
use crate::cpu::Computers;
use crate::telemetry::{Metrics, Thought};

/// How often a study that gives way looks whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the threads share.
pub(super) struct Shared {
    queues: Mutex<Queues>,
    /// Rung for each turn that comes.
    turn: Condvar,
    /// Rung for each study that comes, and when turns take up fewer threads than there are.
    study: Condvar,
    threads: usize,
    computers: Arc<Computers>,
    metrics: Arc<Metrics>,
    stopping: CancellationToken,
}

impl Shared {
    pub(super) fn new(
        threads: usize,
        computers: Arc<Computers>,
        metrics: Arc<Metrics>,
        stopping: CancellationToken,
    ) -> Self {
        let queues = Mutex::default();
        let (turn, study) = (Condvar::new(), Condvar::new());
        Self { queues, turn, study, threads, computers, metrics, stopping }
    }

    /// Starts the threads, which end when this is closed.
    pub(super) fn start(shared: &Arc<Self>) {
        let spawn = |name: String, work: fn(&Self)| {
            let shared = Arc::clone(shared);
            let thread = thread::Builder::new().name(name).spawn(move || {
                step_back();
                work(&shared);
            });
            thread.expect("the system has room for a few threads");
        };
        for i in 0..shared.threads {
            spawn(format!("turns-{i}"), Self::think_about_turns);
        }
        spawn("studies".to_owned(), Self::think_about_studies);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().expect("nobody panics while holding it")
    }

    /// Queues a job; false when there is no room for it, or nothing is taken up any more.
    pub(super) fn ask(&self, job: Job) -> bool {
        let bell = if job.kind.is_turn() { &self.turn } else { &self.study };
        let mut queues = self.lock();
        if queues.closed || self.stopping.is_cancelled() || !queues.has_room(job.kind) {
            return false;
        }
        queues.push(job);
        bell.notify_one();
        true
    }

    /// Ends the threads and forgets what waits.
    pub(super) fn close(&self) {
        self.lock().close();
        self.turn.notify_all();
        self.study.notify_all();
    }

    /// The next of a queue, as soon as there is one; `None` at the end.
    fn next<T>(&self, bell: &Condvar, take: impl Fn(&mut Queues) -> Option<T>) -> Option<T> {
        let mut queues = self.lock();
        loop {
            if self.stopping.is_cancelled() {
                queues.close();
            }
            if queues.closed {
                return None;
            }
            if let Some(job) = take(&mut queues) {
                return Some(job);
            }
            queues = bell.wait(queues).expect("nobody panics while holding it");
        }
    }

    fn think_about_turns(&self) {
        while let Some((job, time)) = self.next(&self.turn, |queues| queues.next_turn(self.threads)) {
            let (start, wanted) = (Instant::now(), job.wanted.clone());
            let go_on =
                || start.elapsed() < time && wanted.strong_count() > 0 && !self.stopping.is_cancelled();
            self.think(job, &Patience { go_on: &go_on, thought: &|| start.elapsed() });
            let mut queues = self.lock();
            queues.turn_ended();
            if !queues.crowded(self.threads) {
                self.study.notify_one();
            }
        }
    }

    fn think_about_studies(&self) {
        while let Some(job) = self.next(&self.study, Queues::next_study) {
            let (end, budget, wanted) = (job.asked + STUDY_WITHIN, job.budget, job.wanted.clone());
            let hopeless =
                || Instant::now() >= end || wanted.strong_count() == 0 || self.stopping.is_cancelled();
            self.give_way(&hopeless);
            if hopeless() {
                // Never begun, which its asker hears by its being dropped.
                continue;
            }
            let (start, paused) = (Instant::now(), Cell::new(Duration::ZERO));
            let thought = || start.elapsed().saturating_sub(paused.get());
            let go_on = || {
                paused.set(paused.get() + self.give_way(&hopeless));
                thought() < budget && !hopeless()
            };
            self.think(job, &Patience { go_on: &go_on, thought: &thought });
        }
    }

    /// Waits while turns take up all threads, unless that is `hopeless`; returns for how long.
    fn give_way(&self, hopeless: &dyn Fn() -> bool) -> Duration {
        let mut queues = self.lock();
        if !queues.crowded(self.threads) {
            return Duration::ZERO;
        }
        let since = Instant::now();
        while queues.crowded(self.threads) && !queues.closed && !hopeless() {
            let (held, _) =
                self.study.wait_timeout(queues, LOOK_EVERY).expect("nobody panics while holding it");
            queues = held;
        }
        since.elapsed()
    }

    fn think(&self, job: Job, patience: &Patience<'_>) {
        let (kind, waited) = (job.kind, job.asked.elapsed());
        let effort: Effort = (job.think)(&self.computers, patience);
        self.metrics.thought(&Thought {
            kind: kind.as_str(),
            level: kind.level().map_or("none", crate::cpu::Level::as_str),
            waited,
            took: (patience.thought)(),
            effort,
        });
    }
}

/// Lets the threads that answer requests go first where cores are short.
fn step_back() {
    // Elsewhere it would slow the whole process: on Linux each thread has its own.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(10);
}
