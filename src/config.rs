//! The command line: what a flag or the environment can set.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::account::Cost;
use crate::budget::PlayerBudgets;
use crate::cpu::Level;
use crate::proxies::TrustedProxies;

/// A REST service for the sowing games Kalah and Basic Mancala, for two to four players.
///
/// Without a command it serves. Without DATABASE_URL it runs a private PostgreSQL of its own from the programs
/// installed on this machine, and keeps everything in one folder.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to serve, when no command is named.
    #[command(flatten)]
    pub serve: Serve,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the API (the default).
    Serve(Box<Serve>),
    /// Replay records and print what they come to.
    ///
    /// Reads one record a line (JSON, or an object with a field `record`), prints one JSON line for each: {"ok": true,
    /// "position", "places", "stores", "over"} or {"ok": false, "at": index of the first bad event, "code", "detail"}.
    /// The exit status is 1 if any record failed.
    Replay {
        /// Where to read; - is the standard input.
        #[arg(default_value = "-")]
        file: PathBuf,
        /// Add "positions": the start and the position after every event.
        #[arg(long)]
        trace: bool,
    },
    /// Say what the moves of positions are worth.
    ///
    /// Reads one position a line (JSON as in the API, or an object with a field `position`), prints one JSON line for each
    /// as soon as it is found: {"value", "moves": [{"pit", "value", "exact"}], "best", "line", "depth", "nodes", "exact"}, with
    /// --level {"level", "pit", "depth", "nodes"}, or {"error": {"code", "detail", "line"}}. The exit status is 1 if any line
    /// failed.
    Analyse {
        /// Where to read; - is the standard input.
        #[arg(default_value = "-")]
        file: PathBuf,
        /// For how many milliseconds to think about each position.
        #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with_all = ["exact", "level"],
              value_parser = clap::value_parser!(u64).range(1..))]
        budget_ms: u64,
        /// Think until every value is exact, however long it takes: for Kalah between two players.
        #[arg(long, conflicts_with = "level")]
        exact: bool,
        /// Instead print what this level plays in its usual time: easy, medium, hard or perfect.
        #[arg(long)]
        level: Option<Level>,
        /// With --level: makes its choices repeatable.
        #[arg(long, value_name = "N", default_value_t = 0, requires = "level")]
        seed: u64,
    },
    /// Make opening data for Kalah between two players: what takes too long to prove while somebody waits.
    ///
    /// Proves positions that the level perfect can meet, from the start on, and appends each to the file as soon as it is
    /// done. Stopped at any time, it goes on from what the file has. It takes 600 MB of memory and as much time as it is
    /// given: minutes for the results of 6 pits with 4 stones, hours for the margins.
    Book {
        /// The file to read and append to, of the form of data/kalah-openings.txt.
        file: PathBuf,
        /// Pits a side.
        #[arg(long, default_value_t = 6)]
        pits: u8,
        /// Stones in each pit at the start.
        #[arg(long, default_value_t = 4)]
        stones: u8,
        /// Leave out what is proven with this many positions searched.
        #[arg(long, value_name = "N", default_value_t = 300_000)]
        quick: u64,
        /// Go on to the next after this many positions searched, with the bounds proven until then.
        #[arg(long, value_name = "N", default_value_t = 60_000_000)]
        patience: u64,
        /// Leave out only positions whose margin is proven quickly, and not just who wins.
        #[arg(long)]
        margins: bool,
    },
    /// Print the OpenAPI document.
    Openapi {
        /// In OpenAPI 3.0.3 instead of 3.1.
        #[arg(long = "v3.0")]
        v3_0: bool,
    },
    /// Replay every stored game, reckon every rating again, and print what differs; the exit status is 1 if anything does.
    Audit(Database),
    /// Look at the ratings of each pool, once a month, and move them all if they have drifted. Safe to repeat.
    Season(Database),
    /// Ask a server on this machine whether it can do its work; the exit status is 1 if not.
    Healthcheck {
        /// Where it listens.
        #[arg(long, env = "MANCALA_LISTEN", default_value = "127.0.0.1:8080")]
        listen: SocketAddr,
        /// The certificate with which it speaks TLS, if it does.
        #[arg(long, env = "MANCALA_TLS_CERT")]
        tls_cert: Option<PathBuf>,
    },
}

/// Where the data is.
#[derive(Debug, Args)]
pub struct Database {
    /// A PostgreSQL database, 15 or newer (postgres://user:password@host/name). Without it the server runs a
    /// PostgreSQL of its own.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// The folder of the private database [default: /var/lib/mancala-server for root, else the user's data folder].
    #[arg(long, env = "MANCALA_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
}

impl Database {
    /// The URL of a real database, if one is named. An empty one is none.
    ///
    /// # Errors
    /// When it is the URL of something else.
    pub fn url(&self) -> Result<Option<String>, String> {
        match self.database_url.as_deref() {
            None | Some("") => Ok(None),
            Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Ok(Some(url.to_owned()))
            }
            Some(_) => Err("DATABASE_URL must begin with postgres://".to_owned()),
        }
    }
}

/// An origin as browsers send it. Nothing at all is none: an empty variable.
fn origin(text: &str) -> Result<String, String> {
    let parts = text.split_once("://");
    let good = parts.is_some_and(|(scheme, host)| {
        let scheme =
            scheme.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+-.".contains(&b))
                && scheme.starts_with(|first: char| first.is_ascii_lowercase());
        let host =
            host.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-._:[]".contains(&b))
                && !host.is_empty();
        scheme && host
    });
    if good || text.is_empty() {
        Ok(text.to_owned())
    } else {
        Err("an origin is a scheme and a host in small letters, and perhaps a port, like https://mancala.example or \
             http://localhost:3000, without * and without anything behind"
            .to_owned())
    }
}

/// How to serve.
#[derive(Debug, Args)]
pub struct Serve {
    /// Address and port to listen on.
    #[arg(long, env = "MANCALA_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Where the data is.
    #[command(flatten)]
    pub database: Database,
    /// Keys for access tokens: base64 of 32 random bytes or more each, separated by commas; the first signs, all
    /// verify. Needed with DATABASE_URL; otherwise the server makes one and keeps it.
    #[arg(long, env = "MANCALA_JWT_KEYS", hide_env_values = true)]
    pub jwt_keys: Option<String>,
    /// What hashing a password costs: KiB of memory, passes over it, lanes. Not less than the default. Passwords that were
    /// hashed at a lower cost are hashed anew when their owners sign in.
    #[arg(long, env = "MANCALA_ARGON2", default_value = "m=19456,t=2,p=1")]
    pub argon2: Cost,
    /// Origins that may call from a browser, like https://mancala.example, separated by commas [default: any].
    #[arg(long, env = "MANCALA_CORS_ORIGINS", value_delimiter = ',', value_parser = origin)]
    pub cors_origins: Vec<String>,
    /// A file with the certificate (PEM, with those between it and its root) with which the server speaks TLS itself.
    #[arg(long, env = "MANCALA_TLS_CERT")]
    pub tls_cert: Option<PathBuf>,
    /// A file with the private key (PEM) of that certificate.
    #[arg(long, env = "MANCALA_TLS_KEY")]
    pub tls_key: Option<PathBuf>,
    /// For how many seconds browsers are told to speak nothing but TLS with this host; 0 tells them nothing
    /// [default: a year where the server speaks TLS itself, else 0].
    #[arg(long, env = "MANCALA_HSTS_SECONDS")]
    pub hsts_seconds: Option<u32>,
    /// Guests, sign-ins, joins by code and token refreshes a minute for one address; it may send twice as many requests
    /// that create something, 20 times as many that play and 40 times as many that read. 0 is no limit by address.
    #[arg(long, env = "MANCALA_ADDRESS_LIMIT", default_value_t = 600)]
    pub address_limit: u32,
    /// Requests a minute for one player, by class; 0 is no limit, and `off` is none for any. Each personal token may use
    /// half of it.
    #[arg(long, env = "MANCALA_LIMITS", value_name = "CLASS=N,…", default_value_t)]
    pub limits: PlayerBudgets,
    /// Networks of the proxies in front of the server, separated by commas, which are believed when they say in
    /// X-Forwarded-For where a request came from [default: none].
    #[arg(
        long,
        env = "MANCALA_TRUSTED_PROXIES",
        value_name = "NETWORKS",
        default_value = "",
        hide_default_value = true
    )]
    pub trusted_proxies: TrustedProxies,
    /// After how many days without a sign of life a guest is removed; 0 keeps guests for ever.
    #[arg(long, env = "MANCALA_GUEST_DAYS", default_value_t = 180)]
    pub guest_days: u32,
    /// Megabytes for exact values of small positions of Kalah, which the strongest players look up; taken when they
    /// first play.
    #[arg(long, env = "MANCALA_TABLE_MB", default_value_t = 100)]
    pub table_mb: u16,
    /// What to log: error, warn, info, debug, trace, or a filter like `info,mancala_server=debug`.
    #[arg(long, env = "MANCALA_LOG", default_value = "info")]
    pub log: String,
}
