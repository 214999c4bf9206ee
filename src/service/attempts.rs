//! Repeated attempts to sign in with one username: the answers get slower, for right and wrong passwords alike, and are
//! never refused, so that nobody can lock anybody out.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::account::CanonicalName;

/// How long the second attempt waits; each further one waits twice as long as the one before.
const FIRST: Duration = Duration::from_millis(250);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(4);
/// After which attempts are forgotten.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// How many names are remembered at most.
const MOST: usize = 10_000;

/// The attempts of the last minutes that have not succeeded, by name, in this process. Names that nobody has are
/// remembered like all others.
#[derive(Default)]
pub(super) struct Attempts {
    /// Names become numbers: whatever is presented takes the same few bytes.
    numbers: RandomState,
    lately: Mutex<HashMap<u64, Lately>>,
}

#[derive(Clone, Copy)]
struct Lately {
    count: u32,
    last: Instant,
}

impl Attempts {
    /// How long an attempt has to wait. It counts from now on: many at once must not all be the first.
    pub fn delay(&self, name: &CanonicalName, now: Instant) -> Duration {
        let number = self.numbers.hash_one(name);
        let mut lately = self.lock();
        let is_recent = |attempts: &Lately| now.saturating_duration_since(attempts.last) < FORGOTTEN;
        let before = lately.get(&number).filter(|attempts| is_recent(attempts)).map_or(0, |a| a.count);
        if lately.len() >= MOST && !lately.contains_key(&number) {
            lately.retain(|_, attempts| is_recent(attempts));
            let oldest = lately.iter().min_by_key(|(_, attempts)| attempts.last).map(|(number, _)| *number);
            if let Some(oldest) = oldest.filter(|_| lately.len() >= MOST) {
                lately.remove(&oldest);
            }
        }
        lately.insert(number, Lately { count: before.saturating_add(1), last: now });
        match before {
            0 => Duration::ZERO,
            before => FIRST.saturating_mul(1 << (before - 1).min(16)).min(LONGEST),
        }
    }

    /// The right password was given: the next attempt waits for nothing.
    pub fn forget(&self, name: &CanonicalName) {
        self.lock().remove(&self.numbers.hash_one(name));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Lately>> {
        self.lately.lock().expect("nobody panics while holding it")
    }
}

#[cfg(test)]
mod tests {
    use super::{Attempts, CanonicalName, Duration, FORGOTTEN, Instant, MOST};

    fn milliseconds(attempts: &Attempts, name: &str, now: Instant) -> u128 {
        attempts.delay(&CanonicalName::of(name), now).as_millis()
    }

    #[test]
    fn each_attempt_waits_longer_than_the_one_before_up_to_four_seconds() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        let waits: Vec<u128> = (0..8).map(|_| milliseconds(&attempts, "ana", now)).collect();
        assert_eq!(waits, [0, 250, 500, 1000, 2000, 4000, 4000, 4000]);
        assert_eq!(milliseconds(&attempts, "A.N.A", now), 4000, "the same name written in another way");
        assert_eq!(milliseconds(&attempts, "ben", now), 0, "another name");
    }

    #[test]
    fn attempts_are_forgotten_after_success_and_with_time() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for _ in 0..5 {
            milliseconds(&attempts, "ana", now);
        }
        assert_eq!(milliseconds(&attempts, "ana", now + FORGOTTEN - Duration::from_secs(1)), 4000);
        assert_eq!(milliseconds(&attempts, "ana", now + FORGOTTEN * 2), 0);
        milliseconds(&attempts, "ana", now + FORGOTTEN * 2);
        attempts.forget(&CanonicalName::of("ana"));
        assert_eq!(milliseconds(&attempts, "ana", now + FORGOTTEN * 2), 0);
    }

    #[test]
    fn memory_stays_bounded_however_many_names_are_tried() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        let later = |i: usize| now + Duration::from_millis(u64::try_from(i).unwrap());
        for i in 0..MOST + 500 {
            milliseconds(&attempts, &format!("name{i}x"), later(i));
        }
        assert_eq!(attempts.lock().len(), MOST);
        assert!(milliseconds(&attempts, &format!("name{}x", MOST + 400), later(MOST + 500)) > 0);
    }
}
