//! Logs and metrics.

use std::time::Duration;

use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    TextEncoder,
};

/// Buckets from a quick read to a long poll, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Buckets for those who wait for opponents, in seconds.
const WAITS: [f64; 8] = [1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0];

/// Depths of searches, in turns.
const DEPTHS: [f64; 10] = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 20.0, 30.0];

/// Everything that is counted.
pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    duration: HistogramVec,
    moves: IntCounterVec,
    matched: HistogramVec,
    games: IntGaugeVec,
    connections: IntGaugeVec,
    embedded: IntGauge,
    passwords: IntCounter,
    thinking: Thinking,
}

/// What is counted of searches, by what they were for and the level that thought.
struct Thinking {
    waiting: IntGaugeVec,
    waited: HistogramVec,
    took: HistogramVec,
    depth: HistogramVec,
    nodes: IntCounterVec,
}

/// A search that has ended.
pub struct Thought {
    /// What it was for: `turn`, `hint`, `analysis` or `review`.
    pub kind: &'static str,
    /// The level that thought, or `none`.
    pub level: &'static str,
    /// How long it had waited for a thread.
    pub waited: Duration,
    /// How long it took, pauses left out.
    pub took: Duration,
    /// How many turns ahead it looked and at how many positions, where it tells.
    pub effort: Option<(u8, u64)>,
}

/// What is measured at the moment of asking.
pub struct Gauges {
    /// Games by status.
    pub games: Vec<(String, i64)>,
    /// Database connections, all and idle.
    pub connections: (u32, usize),
    /// Whether the embedded database runs, where there is one.
    pub embedded: Option<bool>,
    /// Turns of the computer, and analyses, hints and reviews, that wait for a thread.
    pub waiting: (usize, usize),
}

impl Metrics {
    /// With everything at zero.
    #[expect(clippy::new_without_default, reason = "a second registry would count nothing that anybody sees")]
    pub fn new() -> Self {
        let registry = Registry::new();
        let counter = |name: &str, help: &str, labels: &[&str]| {
            let counter = IntCounterVec::new(Opts::new(name, help), labels).expect("names are constants");
            registry.register(Box::new(counter.clone())).expect("names are different");
            counter
        };
        let gauge = |name: &str, help: &str, labels: &[&str]| {
            let gauge = IntGaugeVec::new(Opts::new(name, help), labels).expect("names are constants");
            registry.register(Box::new(gauge.clone())).expect("names are different");
            gauge
        };
        let requests = counter(
            "mancala_http_requests_total",
            "Requests answered, by route and status.",
            &["method", "route", "status"],
        );
        let moves = counter("mancala_moves_total", "Moves written, by who played them.", &["by"]);
        let games = gauge("mancala_games", "Games stored, by status.", &["status"]);
        let connections =
            gauge("mancala_database_connections", "Database connections of this process.", &["state"]);
        let histogram = |name: &str, help: &str, buckets: &[f64], labels: &[&str]| {
            let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
            let histogram = HistogramVec::new(options, labels).expect("names are constants");
            registry.register(Box::new(histogram.clone())).expect("names are different");
            histogram
        };
        let duration = histogram(
            "mancala_http_request_duration_seconds",
            "Time to answer, by route.",
            &BUCKETS,
            &["method", "route"],
        );
        let matched = histogram(
            "mancala_ticket_wait_seconds",
            "Time that matched players had waited for their ranked game, by pool.",
            &WAITS,
            &["pool"],
        );
        let of_searches = ["kind", "level"];
        let thinking = Thinking {
            waiting: gauge("mancala_thinking_queue", "Turns and studies that wait for a thread.", &["queue"]),
            waited: histogram(
                "mancala_thinking_wait_seconds",
                "Time that searches waited.",
                &BUCKETS,
                &of_searches,
            ),
            took: histogram("mancala_thinking_seconds", "Time that searches took.", &BUCKETS, &of_searches),
            depth: histogram(
                "mancala_thinking_depth",
                "Turns that searches looked ahead.",
                &DEPTHS,
                &of_searches,
            ),
            nodes: counter("mancala_thinking_nodes_total", "Positions searched.", &of_searches),
        };
        let embedded = IntGauge::new("mancala_embedded_database_up", "1 while the embedded database runs.")
            .expect("constants");
        let passwords = IntCounter::new(
            "mancala_password_verifications_total",
            "Passwords compared with a hash, for unknown usernames too.",
        )
        .expect("constants");
        registry.register(Box::new(passwords.clone())).expect("names are different");
        Self {
            registry,
            requests,
            duration,
            moves,
            matched,
            games,
            connections,
            embedded,
            passwords,
            thinking,
        }
    }

    /// Counts an answered request.
    pub fn answered(&self, method: &str, route: &str, status: u16, took: Duration) {
        self.requests.with_label_values(&[method, route, &status.to_string()]).inc();
        self.duration.with_label_values(&[method, route]).observe(took.as_secs_f64());
    }

    /// Counts a written move by `player`, `computer` or `clock`.
    pub fn moved(&self, by: &str) {
        self.moves.with_label_values(&[by]).inc();
    }

    /// Counts a password that was compared with a hash.
    pub fn password_verified(&self) {
        self.passwords.inc();
    }

    /// Counts a player who was matched in a pool after so many seconds.
    pub fn matched(&self, pool: &str, seconds: f64) {
        self.matched.with_label_values(&[pool]).observe(seconds);
    }

    /// Counts a search.
    pub fn thought(&self, thought: &Thought) {
        let labels = [thought.kind, thought.level];
        let Thinking { waited, took, depth, nodes, .. } = &self.thinking;
        waited.with_label_values(&labels).observe(thought.waited.as_secs_f64());
        took.with_label_values(&labels).observe(thought.took.as_secs_f64());
        if let Some((turns, positions)) = thought.effort {
            depth.with_label_values(&labels).observe(turns.into());
            nodes.with_label_values(&labels).inc_by(positions);
        }
    }

    /// All metrics in the text format of Prometheus.
    pub fn text(&self, gauges: &Gauges) -> String {
        for status in ["running", "finished", "aborted"] {
            let count = gauges.games.iter().find(|(s, _)| s == status).map_or(0, |(_, n)| *n);
            self.games.with_label_values(&[status]).set(count);
        }
        let (all, idle) = gauges.connections;
        self.connections.with_label_values(&["open"]).set(all.into());
        self.connections.with_label_values(&["idle"]).set(i64::try_from(idle).unwrap_or(i64::MAX));
        for (queue, length) in [("turns", gauges.waiting.0), ("studies", gauges.waiting.1)] {
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            self.thinking.waiting.with_label_values(&[queue]).set(length);
        }
        let mut families = self.registry.gather();
        if let Some(up) = gauges.embedded {
            self.embedded.set(up.into());
            families.extend(prometheus::core::Collector::collect(&self.embedded));
        }
        let mut text = Vec::new();
        TextEncoder::new().encode(&families, &mut text).expect("writing to memory does not fail");
        String::from_utf8(text).expect("the text format is UTF-8")
    }
}

/// Sends log lines to standard error: readable ones to a terminal, JSON elsewhere. `filter` is in the form of
/// `tracing`'s `EnvFilter`.
///
/// # Errors
/// When the filter cannot be read.
pub fn init_logs(filter: &str) -> Result<(), String> {
    use std::io::IsTerminal;
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_new(filter).map_err(|e| format!("MANCALA_LOG: {e}"))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if std::io::stderr().is_terminal() {
        builder.compact().init();
    } else {
        builder.json().flatten_event(true).with_current_span(true).with_span_list(false).init();
    }
    Ok(())
}
