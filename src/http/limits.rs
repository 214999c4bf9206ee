//! Rate limits: by address for what needs no account, by player for what makes noise in others' games or costs much
//! thinking.
//!
//! Each process counts for itself, so behind a proxy with several servers the real limit is a multiple.

use std::future::{Ready, ready};
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use actix_web::dev::Payload;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::web::Data;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use super::problem::{Failure, ProblemCode};
use crate::ids::PlayerId;

type Limiter<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock, StateInformationMiddleware>;

/// How often a player may leave and return, in a minute.
const COMINGS_AND_GOINGS: NonZeroU32 = NonZeroU32::new(4).expect("four is not zero");

/// For how many milliseconds a player may have the computer think in a minute, turns of games not counted.
const THINKING: NonZeroU32 = NonZeroU32::new(20_000).expect("it is not zero");

/// After how many requests whoever has a full budget again is forgotten, so that memory stays bounded.
const FORGET_EVERY: u32 = 4_096;

/// All limits of a process.
pub struct Limits {
    addresses: Option<Budget<IpAddr>>,
    comings_and_goings: Budget<PlayerId>,
    thinking: Budget<PlayerId>,
}

struct Budget<K: Hash + Eq + Clone> {
    name: &'static str,
    /// What is counted, as it is told after the number.
    unit: &'static str,
    a_minute: NonZeroU32,
    limiter: Limiter<K>,
    taken: AtomicU32,
}

/// The headers that tell a client what is left of its budget, for the response to come.
pub struct BudgetHeaders([(HeaderName, HeaderValue); 2]);

impl BudgetHeaders {
    /// Header by header.
    pub fn into_iter(self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        self.0.into_iter()
    }
}

impl Limits {
    /// With this many guests, joins and refreshes a minute for one address; 0 is no limit.
    pub fn new(address_limit: u32) -> Self {
        Self {
            addresses: NonZeroU32::new(address_limit).map(|n| Budget::new("addresses", "", n)),
            comings_and_goings: Budget::new("comings-and-goings", "", COMINGS_AND_GOINGS),
            thinking: Budget::new("thinking", " ms of thinking", THINKING),
        }
    }
}

impl<K: Hash + Eq + Clone> Budget<K> {
    fn new(name: &'static str, unit: &'static str, a_minute: NonZeroU32) -> Self {
        let limiter = RateLimiter::dashmap(Quota::per_minute(a_minute)).with_middleware();
        Self { name, unit, a_minute, limiter, taken: AtomicU32::new(0) }
    }

    /// Takes `amount`, which is at most the whole, from `key`'s budget, and leaves for the response what is left.
    fn take(&self, key: &K, amount: NonZeroU32, request: &HttpRequest) -> Result<(), Failure> {
        if self.taken.fetch_add(1, Ordering::Relaxed).is_multiple_of(FORGET_EVERY) {
            self.limiter.retain_recent();
        }
        let checked = self.limiter.check_key_n(key, amount).expect("nobody takes more than there can be");
        let (left, wait) = match checked {
            Ok(state) => (state.remaining_burst_capacity(), None),
            Err(refusal) => {
                let wait = refusal.wait_time_from(DefaultClock::default().now());
                (0, Some(wait.as_secs() + 1))
            }
        };
        let quota = self.a_minute;
        let until_full = u64::from(quota.get() - left.min(quota.get())) * 60 / u64::from(quota.get());
        let header = |name, text: String| {
            (HeaderName::from_static(name), HeaderValue::from_str(&text).expect("digits and a name"))
        };
        request.extensions_mut().insert(BudgetHeaders([
            header("ratelimit-policy", format!("\"{}\";q={quota};w=60", self.name)),
            header("ratelimit", format!("\"{}\";r={left};t={}", self.name, wait.unwrap_or(until_full))),
        ]));
        match wait {
            None => Ok(()),
            Some(seconds) => {
                let detail = format!("at most {quota}{} a minute; try again in {seconds} s", self.unit);
                Err(Failure::new(ProblemCode::RateLimited, detail).retry_after(seconds))
            }
        }
    }
}

fn limits(request: &HttpRequest) -> &Limits {
    request.app_data::<Data<Limits>>().expect("every app has limits")
}

/// A request that its address may make now.
pub struct AddressBudget;

impl FromRequest for AddressBudget {
    type Error = Failure;
    type Future = Ready<Result<Self, Failure>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let taken = match (&limits(request).addresses, request.peer_addr()) {
            (Some(budget), Some(peer)) => budget.take(&network(peer.ip()), NonZeroU32::MIN, request),
            _ => Ok(()),
        };
        ready(taken.map(|()| Self))
    }
}

/// Whoever has one IPv6 address has its whole /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64)).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Takes one from what a player may do in coming and going.
pub fn come_or_go(player: PlayerId, request: &HttpRequest) -> Result<(), Failure> {
    limits(request).comings_and_goings.take(&player, NonZeroU32::MIN, request)
}

/// Takes so many milliseconds, at most 20,000, from what a player may have the computer think about.
pub fn have_thought(player: PlayerId, ms: u32, request: &HttpRequest) -> Result<(), Failure> {
    match NonZeroU32::new(ms) {
        Some(ms) => limits(request).thinking.take(&player, ms, request),
        None => Ok(()),
    }
}
