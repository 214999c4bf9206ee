//! What waits to be thought about: the turns of games, and studies, of which only so many may wait.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::allowance::allowance;
use super::{Job, Kind, STUDY_WITHIN};

/// How many analyses may wait, of all players and of one.
const MOST_ANALYSES: (usize, usize) = (16, 4);
/// How many hints: their places are their own, so that analyses never take a hint away from a game.
const MOST_HINTS: (usize, usize) = (8, 2);
/// How long there may be to think before an analysis, which could still be answered in time.
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

    /// Whether one more of this kind, and of its player, may wait. Turns always may: a game has to go on. So may the steps
    /// of reviews, which follow one another, so that there is never more than one.
    pub(super) fn has_room(&self, kind: Kind) -> bool {
        let (most, of_one) = match kind {
            Kind::Turn { .. } | Kind::Review => return true,
            Kind::Hint(..) => MOST_HINTS,
            Kind::Analysis(_) => MOST_ANALYSES,
        };
        let alike = || self.wanted_studies().filter(|job| job.kind.as_str() == kind.as_str());
        let own = alike().filter(|job| job.kind.player() == kind.player()).count();
        own < of_one && alike().count() < most && (kind.is_urgent() || self.wait(kind) < LONGEST_WAIT)
    }

    /// For how long may be thought about the studies that one of this kind comes after.
    pub(super) fn wait(&self, kind: Kind) -> Duration {
        let before = self.wanted_studies().filter(|job| job.kind.is_urgent() || !kind.is_urgent());
        before.map(|job| job.budget).sum()
    }

    fn wanted_studies(&self) -> impl Iterator<Item = &Job> {
        self.studies.iter().filter(|job| job.is_wanted())
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

#[cfg(test)]
mod tests {
    use super::super::{Asked, Kind, job};
    use super::{MOST_ANALYSES, MOST_HINTS, Queues};
    use crate::cpu::Level;
    use crate::ids::PlayerId;
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    /// Puts a job of this kind into the queues; it is wanted as long as what comes back is kept.
    fn ask(queues: &mut Queues, kind: Kind, budget: Duration) -> Asked<()> {
        let (job, asked) = job(kind, budget, |_, _| ((), None));
        queues.push(job);
        asked
    }

    fn turn(level: Level, again: bool) -> Kind {
        Kind::Turn { level, again }
    }

    #[test]
    fn turns_come_in_the_order_of_asking_and_those_of_a_chain_first() {
        let mut queues = Queues::default();
        let (medium, hard) = (turn(Level::Medium, false), turn(Level::Hard, false));
        let (second, third) = (turn(Level::Medium, true), turn(Level::Hard, true));
        let asked = [medium, hard, second, third].map(|kind| ask(&mut queues, kind, SECOND));
        let order = std::iter::from_fn(|| queues.next_turn(1)).map(|(job, _)| job.kind).collect::<Vec<_>>();
        assert_eq!(order, [second, third, medium, hard]);
        drop(asked);
    }

    #[test]
    fn nobody_thinks_for_those_who_are_gone() {
        let mut queues = Queues::default();
        let gone = ask(&mut queues, turn(Level::Hard, false), SECOND);
        let kept = ask(&mut queues, turn(Level::Medium, false), SECOND);
        let analysis = Kind::Analysis(PlayerId::new());
        let study = ask(&mut queues, analysis, SECOND);
        assert_eq!(queues.lengths(), (2, 1));
        drop((gone, study));
        assert_eq!((queues.lengths(), queues.wait(analysis)), ((1, 0), Duration::ZERO));
        assert_eq!(queues.next_turn(1).map(|(job, _)| job.kind), Some(turn(Level::Medium, false)));
        assert!(queues.next_turn(1).is_none() && queues.next_study().is_none());
        drop(kept);
    }

    #[test]
    fn analyses_are_few_and_short_together_but_hints_turns_and_reviews_have_room() {
        for (budget, most) in [(SECOND, MOST_ANALYSES.0), (5 * SECOND, 6)] {
            let mut queues = Queues::default();
            let mut asked = Vec::new();
            while queues.has_room(Kind::Analysis(PlayerId::new())) {
                asked.push(ask(&mut queues, Kind::Analysis(PlayerId::new()), budget));
            }
            assert_eq!(asked.len(), most);
            for _ in 0..MOST_HINTS.0 {
                let hint = Kind::Hint(Level::Easy, PlayerId::new());
                assert!(queues.has_room(hint) && queues.wait(hint) < 8 * SECOND);
                asked.push(ask(&mut queues, hint, SECOND));
            }
            assert!(!queues.has_room(Kind::Hint(Level::Easy, PlayerId::new())));
            assert!(queues.has_room(Kind::Review) && queues.has_room(turn(Level::Hard, false)));
        }
    }

    #[test]
    fn nobody_takes_the_places_of_others() {
        let (one, other) = (PlayerId::new(), PlayerId::new());
        let hint = |player| Kind::Hint(Level::Hard, player);
        for (own, others, most) in [
            (Kind::Analysis(one), Kind::Analysis(other), MOST_ANALYSES.1),
            (hint(one), hint(other), MOST_HINTS.1),
        ] {
            let mut queues = Queues::default();
            let mut asked = Vec::new();
            while queues.has_room(own) {
                asked.push(ask(&mut queues, own, SECOND));
            }
            assert_eq!(asked.len(), most);
            assert!(queues.has_room(others));
            asked.pop();
            assert!(queues.has_room(own), "what is taken back leaves its place");
        }
    }

    #[test]
    fn turns_are_crowded_until_as_many_have_ended_as_there_are_too_many() {
        let mut queues = Queues::default();
        let asked = [(); 3].map(|()| ask(&mut queues, turn(Level::Hard, false), SECOND));
        assert!(queues.crowded(3) && !queues.crowded(4));
        assert!(queues.next_turn(3).is_some() && queues.crowded(3), "one is thought about, two wait");
        queues.turn_ended();
        assert!(!queues.crowded(3));
        drop(asked);
    }
}
