//! Where the computer thinks: on threads of its own, turns of games first and in the order of asking, for less time each
//! the more are waiting. Analyses, hints and reviews ("studies") share one further thread, which pauses while turns need
//! the cores.

mod allowance;
mod queues;
mod threads;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use self::threads::Shared;
use super::{Error, Result, Service};
use crate::cpu::{Choice, Computers, Level};
use crate::engine::Position;
use crate::ids::PlayerId;
use crate::telemetry::{Metrics, Thought};

/// In which a study is answered, however many turns it has to give way to: less than any client waits.
pub(super) const STUDY_WITHIN: Duration = Duration::from_secs(45);

/// So many halvings of the time of a level leave about twenty milliseconds.
pub(super) const BRIEF: u32 = 5;

/// The threads for thinking of one process and what waits for them. They end when this is closed or dropped.
pub(super) struct Thinking {
    shared: Arc<Shared>,
    metrics: Arc<Metrics>,
    computers: Arc<Computers>,
}

/// What a thread thinks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A sowing that a game waits for. One that follows from an extra sowing comes before the turns of others, so that a
    /// chain has to queue only once.
    Turn { level: Level, again: bool },
    /// A hint for a player in a game, who waits for it.
    Hint(Level, PlayerId),
    /// An analysis that a player has asked for.
    Analysis(PlayerId),
    /// A step of a review.
    Review,
}

/// How deep a search looked, and at how many positions, where it tells.
pub(super) type Effort = Option<(u8, u64)>;

/// What a study has come to, and how long it was thought about; waiting and pausing do not count.
pub(super) struct Studied<T> {
    pub(super) answer: T,
    pub(super) took: Duration,
}

/// Something to think about, for whichever thread takes it up.
struct Job {
    kind: Kind,
    asked: Instant,
    budget: Duration,
    /// Gone as soon as the asker is: then nobody needs the answer.
    wanted: Weak<()>,
    think: Box<Search>,
}

/// A search, with the sending of its answer.
type Search = dyn FnOnce(&Computers, &Patience<'_>) -> Effort + Send;

/// How long a search may go on, and how long it has been thinking.
struct Patience<'a> {
    go_on: &'a dyn Fn() -> bool,
    thought: &'a dyn Fn() -> Duration,
}

/// The asker's end of a job; dropping it takes the question back.
struct Asked<T> {
    /// No answer: the search has failed, which has been logged. Closed: it was never begun.
    answer: oneshot::Receiver<(Option<T>, Duration)>,
    _wanted: Arc<()>,
}

impl Kind {
    /// The name by which it is counted.
    fn as_str(self) -> &'static str {
        match self {
            Self::Turn { .. } => "turn",
            Self::Hint(..) => "hint",
            Self::Analysis(_) => "analysis",
            Self::Review => "review",
        }
    }

    fn level(self) -> Option<Level> {
        match self {
            Self::Turn { level, .. } | Self::Hint(level, _) => Some(level),
            Self::Analysis(_) | Self::Review => None,
        }
    }

    /// Who has asked, where that counts.
    fn player(self) -> Option<PlayerId> {
        match self {
            Self::Hint(_, player) | Self::Analysis(player) => Some(player),
            Self::Turn { .. } | Self::Review => None,
        }
    }

    fn is_turn(self) -> bool {
        matches!(self, Self::Turn { .. })
    }

    /// Whether it goes before others of its queue.
    fn is_urgent(self) -> bool {
        matches!(self, Self::Turn { again: true, .. } | Self::Hint(..))
    }
}

/// How long a level thinks about one sowing when nobody else asks.
pub(super) fn full_time(level: Level) -> Duration {
    match level {
        // Looks a few moves ahead and is ready long before.
        Level::Easy | Level::Medium | Level::Hard => Duration::from_millis(700),
        Level::Perfect => Duration::from_millis(850),
    }
}

/// How long a level thinks about a sowing when nobody else asks, after the turn has earned so many further ones: half of
/// the time for the one before, so that the whole chain takes no more than twice its level's time.
fn time_for(level: Level, earned: u32) -> Duration {
    full_time(level) / 2_u32.pow(earned.min(BRIEF))
}

impl Service {
    /// How long a level thinks about one sowing when nobody else asks.
    pub fn time_of(level: Level) -> Duration {
        full_time(level)
    }
}

/// The seed of a game's choices in one of its states: what is asked again is chosen again.
pub(super) fn seed_of_turn(seed: u64, seq: i32) -> u64 {
    seed.wrapping_add(u64::from(seq.unsigned_abs()) << 32)
}

impl Thinking {
    /// Starts the threads: one core stays free for requests.
    pub(super) fn new(computers: Arc<Computers>, metrics: Arc<Metrics>, stopping: CancellationToken) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let shared = Arc::new(Shared::new((cores - 1).max(1), computers.clone(), metrics.clone(), stopping));
        Shared::start(&shared);
        Self { shared, metrics, computers }
    }

    /// The pit that `level` plays; `None` when the game is over, or the service stops. `earned` is how many further sowings
    /// the turn has earned, with this one, or [`BRIEF`] where nobody waits for the move. Once the returned future is dropped nobody thinks about it any more.
    pub(super) async fn choose(
        &self,
        level: Level,
        position: Position,
        seed: u64,
        earned: u32,
    ) -> Option<u8> {
        position.to_move()?;
        if level == Level::Easy {
            // A move ahead is looked through before another thread would have begun.
            let start = Instant::now();
            let choice = self.computers.choose(level, &position, seed, &|| true)?;
            self.metrics.thought(&Thought {
                kind: "turn",
                level: level.as_str(),
                waited: Duration::ZERO,
                took: start.elapsed(),
                effort: Some(effort(&choice)),
            });
            return Some(choice.pit);
        }
        let think = move |computers: &Computers, go_on: &dyn Fn() -> bool| {
            let choice = computers.choose(level, &position, seed, go_on);
            (choice, choice.as_ref().map(effort))
        };
        let (job, asked) = job(Kind::Turn { level, again: earned > 0 }, time_for(level, earned), think);
        if !self.shared.ask(job) {
            return None;
        }
        match asked.answer.await.ok()? {
            (Some(choice), _) => choice.map(|choice| choice.pit),
            // The game goes on all the same, with a move that is merely legal.
            (None, _) => position.legal().last(),
        }
    }

    /// What `think` comes to on the thread of studies, for `budget` at most.
    ///
    /// # Errors
    /// `ThinkingBusy` when too much waits already, in all or of one player, or turns leave no time for it; `ThinkingFailed` when the search does.
    pub(super) async fn study<T: Send + 'static>(
        &self,
        kind: Kind,
        budget: Duration,
        think: impl FnOnce(&Computers, &dyn Fn() -> bool) -> (T, Effort) + Send + 'static,
    ) -> Result<Studied<T>> {
        let (job, asked) = job(kind, budget, think);
        if !self.shared.ask(job) {
            return Err(self.busy(kind));
        }
        match asked.answer.await {
            Ok((Some(answer), took)) => Ok(Studied { answer, took }),
            Ok((None, _)) => Err(Error::ThinkingFailed),
            Err(_) => Err(self.busy(kind)),
        }
    }

    /// Whether a study of this kind would be taken up now.
    ///
    /// # Errors
    /// `ThinkingBusy` if not.
    pub(super) fn has_room(&self, kind: Kind) -> Result<()> {
        if self.shared.lock().has_room(kind) { Ok(()) } else { Err(self.busy(kind)) }
    }

    fn busy(&self, kind: Kind) -> Error {
        Error::ThinkingBusy { seconds: self.shared.lock().wait(kind).as_secs().max(1) }
    }

    /// How many turns and studies wait.
    pub(super) fn waiting(&self) -> (usize, usize) {
        self.shared.lock().lengths()
    }

    /// Ends the threads. What waits is not answered any more.
    pub(super) fn close(&self) {
        self.shared.close();
    }
}

impl Drop for Thinking {
    fn drop(&mut self) {
        self.close();
    }
}

/// What a choice took.
pub(super) fn effort(choice: &Choice) -> (u8, u64) {
    (choice.depth, choice.nodes)
}

fn job<T: Send + 'static>(
    kind: Kind,
    budget: Duration,
    think: impl FnOnce(&Computers, &dyn Fn() -> bool) -> (T, Effort) + Send + 'static,
) -> (Job, Asked<T>) {
    let (tell, answer) = oneshot::channel();
    let wanted = Arc::new(());
    let job = Job {
        kind,
        asked: Instant::now(),
        budget,
        wanted: Arc::downgrade(&wanted),
        think: Box::new(move |computers, patience| {
            // The tables that searches share hold nothing that a search can leave half done.
            let thought = catch_unwind(AssertUnwindSafe(|| think(computers, patience.go_on)));
            let (answer, effort) = match thought {
                Ok((answer, effort)) => (Some(answer), effort),
                Err(panic) => {
                    let why = panic.downcast_ref::<&str>().copied();
                    let why = why.or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown");
                    tracing::error!(
                        error.message = why,
                        thinking.kind = kind.as_str(),
                        "a search has failed"
                    );
                    (None, None)
                }
            };
            // When nobody listens any more nobody misses it.
            let _ = tell.send((answer, (patience.thought)()));
            effort
        }),
    };
    (job, Asked { answer, _wanted: wanted })
}

impl Job {
    fn is_wanted(&self) -> bool {
        self.wanted.strong_count() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::allowance::ANSWER_WITHIN;
    use super::{Kind, Thinking, time_for};
    use crate::cpu::{Computers, Level, Memory};
    use crate::ids::PlayerId;
    use crate::service::Error;
    use crate::telemetry::Metrics;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio_util::sync::CancellationToken;

    const SHORT: Duration = Duration::from_millis(100);

    fn thinking() -> Thinking {
        Thinking::new(
            Arc::new(Computers::new(Memory::server(2))),
            Arc::new(Metrics::new()),
            CancellationToken::new(),
        )
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn a_search_that_fails_takes_nothing_down_with_it() {
        block_on(async {
            let thinking = thinking();
            let player = PlayerId::new();
            for kind in [Kind::Analysis(player), Kind::Review, Kind::Hint(Level::Hard, player)] {
                let failed = thinking.study(kind, SHORT, |_, _| -> ((), _) { panic!("as it were") }).await;
                assert!(matches!(failed, Err(Error::ThinkingFailed)));
                let next = thinking.study(kind, SHORT, |_, _| (7, None)).await.unwrap();
                assert_eq!(next.answer, 7);
            }
        });
    }

    #[test]
    fn a_study_has_its_budget_and_says_how_much_it_took() {
        block_on(async {
            let thinking = thinking();
            let studied = thinking.study(Kind::Analysis(PlayerId::new()), SHORT, |_, go_on| {
                let mut asked = 0_u64;
                while go_on() {
                    asked += 1;
                }
                (asked, None)
            });
            let studied = studied.await.unwrap();
            assert!(studied.answer > 0 && studied.took >= SHORT, "{:?}", studied.took);
        });
    }

    #[test]
    fn a_chain_of_twenty_sowings_is_over_within_three_seconds() {
        for level in [Level::Medium, Level::Hard, Level::Perfect] {
            let whole = ANSWER_WITHIN + (1..20).map(|earned| time_for(level, earned)).sum::<Duration>();
            assert!(whole < Duration::from_secs(3), "{level:?}: {whole:?}");
        }
    }

    #[test]
    fn what_is_closed_takes_nothing_up() {
        block_on(async {
            let thinking = thinking();
            thinking.close();
            let refused = thinking.study(Kind::Analysis(PlayerId::new()), SHORT, |_, _| ((), None)).await;
            assert!(matches!(refused, Err(Error::ThinkingBusy { seconds: 1.. })));
        });
    }
}
