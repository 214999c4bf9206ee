//! How long a turn may be thought about, so that nobody who waits behind it waits long.

use std::time::{Duration, Instant};

/// In which every turn is to have its answer, counted from the asking. The further sowings of a chain, each of which is a
/// turn of its own, come first and have half the time of the one before, so that the whole is still over within three seconds.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_millis(1_200);
/// What a turn has however many wait: enough to look a few moves ahead.
const LEAST: Duration = Duration::from_millis(10);

/// The time for a turn that is taken up `now`: as much of `full` as leaves each of those that wait, given by when they
/// asked and in their order, the same time before its own answer is due. The turn itself is the first of them; `threads`
/// take them up at once.
pub(super) fn allowance(
    full: Duration,
    asked: impl Iterator<Item = Instant>,
    threads: usize,
    now: Instant,
) -> Duration {
    let share = |(place, asked): (usize, Instant)| {
        let left = (asked + ANSWER_WITHIN).saturating_duration_since(now);
        left / u32::try_from(place / threads + 1).unwrap_or(u32::MAX)
    };
    asked.enumerate().map(share).fold(full, Duration::min).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::{ANSWER_WITHIN, LEAST, allowance};
    use std::time::{Duration, Instant};

    const FULL: Duration = Duration::from_millis(700);

    #[test]
    fn whoever_is_alone_on_a_thread_has_the_full_time_and_others_share() {
        let now = Instant::now();
        assert_eq!(allowance(FULL, [now].into_iter(), 1, now), FULL);
        assert_eq!(allowance(FULL, [now; 4].into_iter(), 4, now), FULL);
        assert_eq!(allowance(FULL, [now; 2].into_iter(), 1, now), ANSWER_WITHIN / 2);
        assert_eq!(allowance(FULL, [now; 8].into_iter(), 4, now), ANSWER_WITHIN / 2);
    }

    #[test]
    fn all_who_ask_at_once_are_answered_when_it_is_due() {
        for threads in [1, 3] {
            let start = Instant::now();
            let mut now = start;
            let mut waiting = vec![start; 60];
            while !waiting.is_empty() {
                now += allowance(FULL, waiting.iter().copied(), threads, now);
                waiting.drain(..threads.min(waiting.len()));
            }
            assert!(now - start <= ANSWER_WITHIN + Duration::from_millis(1), "{:?}", now - start);
        }
    }

    #[test]
    fn twenty_who_ask_again_as_soon_as_they_are_answered_never_wait_longer() {
        let mut now = Instant::now();
        let mut waiting = std::collections::VecDeque::from(vec![now; 20]);
        for _ in 0..1_000 {
            now += allowance(FULL, waiting.iter().copied(), 1, now);
            let asked = waiting.pop_front().expect("twenty wait");
            assert!(now - asked <= ANSWER_WITHIN + Duration::from_millis(1), "{:?}", now - asked);
            waiting.push_back(now);
        }
    }

    #[test]
    fn nobody_is_left_without_any_time() {
        let now = Instant::now();
        assert_eq!(allowance(FULL, [now; 5_000].into_iter(), 1, now), LEAST);
        assert_eq!(allowance(FULL, [now].into_iter(), 1, now + Duration::from_secs(60)), LEAST);
    }
}
