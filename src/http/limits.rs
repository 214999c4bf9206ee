//! Rate limits: by address, by player and by token for each class of requests; and by player for what makes noise in
//! others' games or costs much thinking.
//!
//! Each process counts for itself, so with several servers the real limit is a multiple.

use std::fmt::Write;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::web::Data;
use actix_web::{HttpMessage, HttpRequest};
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use super::open_streams::{OpenStreams, Slot};
use super::problem::{Failure, ProblemCode};
use crate::budget::{Class, PlayerBudgets};
use crate::ids::{PersonalTokenId, PlayerId};
use crate::proxies::TrustedProxies;

type Limiter<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock, StateInformationMiddleware>;

/// How often a player may leave and return, in a minute.
const COMINGS_AND_GOINGS: NonZeroU32 = NonZeroU32::new(4).expect("four is not zero");

/// For how many milliseconds a player may have the computer think in a minute, turns of games not counted.
const THINKING: NonZeroU32 = NonZeroU32::new(20_000).expect("it is not zero");

/// After how many requests whoever has a full budget again is forgotten, so that memory stays bounded.
const FORGET_EVERY: u32 = 4_096;

/// How many requests of a class an address may send for each one that signs in: a whole school may be behind it.
fn of_address(class: Class) -> u32 {
    match class {
        Class::SignIn => 1,
        Class::Creating | Class::Analysis => 2,
        Class::Playing => 20,
        Class::Reading => 40,
    }
}

/// All limits of a process.
pub struct Limits {
    proxies: TrustedProxies,
    addresses: ByClass<IpAddr>,
    players: ByClass<PlayerId>,
    tokens: ByClass<PersonalTokenId>,
    comings_and_goings: Budget<PlayerId>,
    thinking: Budget<PlayerId>,
    streams: Arc<OpenStreams>,
}

/// A budget for each class that has one.
struct ByClass<K: Hash + Eq + Clone>([Option<Budget<K>>; Class::ALL.len()]);

struct Budget<K: Hash + Eq + Clone> {
    name: String,
    /// What is counted, as it is told after the number.
    unit: &'static str,
    a_minute: NonZeroU32,
    limiter: Limiter<K>,
    taken: AtomicU32,
}

/// What the budgets that a request was counted in have left, for the headers of the response.
pub struct BudgetHeaders {
    policy: String,
    left: String,
}

impl BudgetHeaders {
    /// Header by header.
    pub fn into_iter(self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let value = |text: String| HeaderValue::try_from(text).expect("digits and names");
        [
            (HeaderName::from_static("ratelimit-policy"), value(self.policy)),
            (HeaderName::from_static("ratelimit"), value(self.left)),
        ]
        .into_iter()
    }

    /// Both are lists of structured fields (RFC 9651), one item a budget.
    fn add(&mut self, name: &str, quota: NonZeroU32, left: u32, seconds: u64) {
        let comma = if self.policy.is_empty() { "" } else { ", " };
        let written = write!(self.policy, "{comma}\"{name}\";q={quota};w=60")
            .and_then(|()| write!(self.left, "{comma}\"{name}\";r={left};t={seconds}"));
        written.expect("a String takes everything");
    }
}

impl Limits {
    /// With this many guests, joins and refreshes a minute for one address, and multiples of it for all else; 0 is no
    /// limit by address.
    pub fn new(address_limit: u32, players: PlayerBudgets, proxies: TrustedProxies) -> Self {
        // A program may use half of what its owner may: the other half is left to its owner.
        let of_token = |class| players.of(class).div_ceil(2);
        Self {
            proxies,
            addresses: ByClass::new("address", |class| address_limit.saturating_mul(of_address(class))),
            players: ByClass::new("player", |class| players.of(class)),
            tokens: ByClass::new("token", of_token),
            comings_and_goings: Budget::new("comings-and-goings".to_owned(), "", COMINGS_AND_GOINGS),
            thinking: Budget::new("thinking".to_owned(), " ms of thinking", THINKING),
            streams: Arc::new(OpenStreams::new(address_limit > 0, players.of(Class::Reading) > 0)),
        }
    }

    /// From where a request comes: a network that counts as one.
    fn origin(&self, request: &HttpRequest) -> Option<IpAddr> {
        let lines = request.headers().get_all("x-forwarded-for").map(HeaderValue::as_bytes);
        request.peer_addr().map(|peer| network(self.proxies.origin(peer.ip(), lines)))
    }

    /// Takes a request that counts as so many from the budget of the address that it comes from.
    pub fn ask_of_address(
        &self,
        class: Class,
        cost: NonZeroU32,
        request: &HttpRequest,
    ) -> Result<(), Failure> {
        let Some(budget) = self.addresses.of(class) else { return Ok(()) };
        let origin = self.origin(request);
        origin.map_or(Ok(()), |origin| budget.take(&origin, cost.min(budget.a_minute), request))
    }

    /// Takes one request from the budget of a player.
    pub fn ask_of_player(&self, class: Class, who: PlayerId, request: &HttpRequest) -> Result<(), Failure> {
        self.players.of(class).map_or(Ok(()), |budget| budget.take(&who, NonZeroU32::MIN, request))
    }

    /// Takes one request from the budget of a personal token.
    pub fn ask_of_token(
        &self,
        class: Class,
        token: PersonalTokenId,
        request: &HttpRequest,
    ) -> Result<(), Failure> {
        self.tokens.of(class).map_or(Ok(()), |budget| budget.take(&token, NonZeroU32::MIN, request))
    }
}

impl<K: Hash + Eq + Clone> ByClass<K> {
    fn new(whose: &str, a_minute: impl Fn(Class) -> u32) -> Self {
        Self(Class::ALL.map(|class| {
            let a_minute = NonZeroU32::new(a_minute(class))?;
            Some(Budget::new(format!("{whose}-{}", class.as_str()), "", a_minute))
        }))
    }

    fn of(&self, class: Class) -> Option<&Budget<K>> {
        self.0[class as usize].as_ref()
    }
}

impl<K: Hash + Eq + Clone> Budget<K> {
    fn new(name: String, unit: &'static str, a_minute: NonZeroU32) -> Self {
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
        let mut extensions = request.extensions_mut();
        if !extensions.contains::<BudgetHeaders>() {
            let (policy, left) = (String::with_capacity(96), String::with_capacity(96));
            extensions.insert(BudgetHeaders { policy, left });
        }
        let told = extensions.get_mut::<BudgetHeaders>().expect("it has just been put there");
        told.add(&self.name, quota, left, wait.unwrap_or(until_full));
        match wait {
            None => Ok(()),
            Some(seconds) => {
                let (unit, name) = (self.unit, &self.name);
                let detail = format!("at most {quota}{unit} a minute ({name}); try again in {seconds} s");
                Err(Failure::new(ProblemCode::RateLimited, detail).retry_after(seconds))
            }
        }
    }
}

fn limits(request: &HttpRequest) -> &Limits {
    request.app_data::<Data<Limits>>().expect("every app has limits")
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

/// A place for one more stream of whoever sends the request, until it is dropped.
pub fn open_stream(player: Option<PlayerId>, request: &HttpRequest) -> Result<Slot, Failure> {
    let limits = limits(request);
    limits.streams.open(player, limits.origin(request))
}
