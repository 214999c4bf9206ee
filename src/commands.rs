//! What the commands of the command line do.
//!
//! The main thread owns the embedded database, which has to be started and watched by a thread that outlives
//! everything else; the async runtime runs on threads of its own.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rand::RngExt;
use sqlx::postgres::PgConnectOptions;
use tokio_util::sync::CancellationToken;

use crate::account::{Cost, SigningKeys};
use crate::config::{Command, CommandLine, Database, Serve};
use crate::cpu::kalah::book::{self, Effort};
use crate::cpu::{Computers, Memory};
use crate::embedded::{Cluster, Durability, EmbeddedError, Liveness, default_home, url_of_running};
use crate::http::Search;
use crate::pool::Pool;
use crate::server::{self, Settings, Transport};
use crate::service::Service;
use crate::store::Season;
use crate::telemetry::{Metrics, init_logs};
use crate::{http, store, tls};

/// For how long browsers are told to speak TLS with a server that does: a year.
const A_YEAR: u32 = 365 * 24 * 60 * 60;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Outcome = Result<ExitCode, Failure>;

/// Carries out a command line. What went wrong is told on standard error, with exit status 2.
pub fn run(line: CommandLine) -> ExitCode {
    let outcome = match line.command {
        None => serve(line.serve),
        Some(Command::Serve(options)) => serve(*options),
        Some(Command::Replay { file, trace }) => each_line(&file, |line, _| http::replay_line(line, trace)),
        Some(Command::Analyse { file, budget_ms, exact, level, seed }) => {
            let search = match level {
                Some(level) => Search::Level(level, seed),
                None if exact => Search::Exact,
                None => Search::Within(Duration::from_millis(budget_ms)),
            };
            let patient = matches!(search, Search::Exact);
            let mut computers = Computers::new(if patient { Memory::PATIENT } else { Memory::default() });
            each_line(&file, |line, number| http::analyse_line(line, number, &mut computers, search))
        }
        Some(Command::Book { file, pits, stones, quick, patience, margins }) => {
            book(&file, pits, stones, Effort { quick, patience, margins })
        }
        Some(Command::Openapi { v3_0 }) => openapi(v3_0),
        Some(Command::Audit(database)) => with_service(database, audit),
        Some(Command::Season(database)) => with_service(database, season),
        Some(Command::Healthcheck { listen, tls_cert }) => healthcheck(listen, named(tls_cert.as_deref())),
    };
    outcome.unwrap_or_else(|error| {
        say(&format!("mancala-server: {error}"));
        ExitCode::from(2)
    })
}

/// A line for the person at the terminal. That nobody reads it is no reason to fail.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The path of a setting; an empty variable names none.
fn named(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| !path.as_os_str().is_empty())
}

fn serve(options: Serve) -> Outcome {
    init_logs(&options.log)?;
    let Serve { listen, database, jwt_keys, .. } = options;
    let tls = tls::server(named(options.tls_cert.as_deref()), named(options.tls_key.as_deref()))?;
    let hsts_seconds = options.hsts_seconds.unwrap_or(if tls.is_some() { A_YEAR } else { 0 });
    let transport = Transport { tls, hsts_seconds, cors_origins: options.cors_origins };
    let listener = TcpListener::bind(listen).map_err(|e| format!("cannot listen on {listen}: {e}"))?;
    let settings = |database, keys, embedded| Settings {
        listener,
        database,
        keys,
        password_cost: options.argon2,
        embedded,
        address_limit: options.address_limit,
        player_budgets: options.limits,
        trusted_proxies: options.trusted_proxies,
        transport,
        guest_days: options.guest_days,
        tables: Memory::server(options.table_mb),
    };
    if let Some(url) = database.url()? {
        let keys = jwt_keys.ok_or(
            "MANCALA_JWT_KEYS is not set. With DATABASE_URL several servers may share one database, so they need one \
             key: set it to the output of `openssl rand -base64 32` on all of them.",
        )?;
        let keys = SigningKeys::parse(&keys)?;
        let database = PgConnectOptions::from_str(&url).map_err(|e| format!("DATABASE_URL: {e}"))?;
        return block_on(serve_until_stopped(settings(database, keys, None)));
    }
    let home = database.data_dir.unwrap_or_else(default_home);
    with_cluster(&home, |url, embedded| {
        let keys = match jwt_keys {
            Some(keys) => keys,
            None => kept_key(&home)?,
        };
        let keys = SigningKeys::parse(&keys)?;
        let database = PgConnectOptions::from_str(url)?;
        block_on(serve_until_stopped(settings(database, keys, Some(embedded))))
    })
}

/// Runs `work` on a thread of its own, while this one keeps the private database of `home` running.
fn with_cluster<T: Send>(
    home: &Path,
    work: impl FnOnce(&str, Liveness) -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let mut cluster = Cluster::start(home, Durability::Full)?;
    let (url, liveness) = (cluster.url().to_owned(), cluster.liveness());
    let (done, watching) = mpsc::channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            // Dropped at the end, however that comes, which ends the watching.
            let _done = done;
            work(&url, liveness)
        });
        cluster.watch(&watching);
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}

async fn serve_until_stopped(settings: Settings) -> Outcome {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut server = tokio::select! {
        server = server::start(settings) => server?,
        _ = interrupt.recv() => return Ok(ExitCode::SUCCESS),
        _ = terminate.recv() => return Ok(ExitCode::SUCCESS),
    };
    say(&format!("Mancala Server listens on {0} and explains itself on {0}/docs/", server.url()));
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = server.broken() => return Err("a part of the server has ended by itself; see the log".into()),
    }
    tracing::info!("stopping");
    server.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// The signing key of a server with a private database: made at the first start, kept beside the database.
fn kept_key(home: &Path) -> Result<String, Failure> {
    let path = home.join("signing.key");
    match fs::read_to_string(&path) {
        Ok(key) => return Ok(key),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(format!("cannot read {}: {error}", path.display()).into()),
    }
    let key = STANDARD.encode(rand::rng().random::<[u8; 32]>());
    // Written aside and renamed, so that a crash never leaves half a key.
    let unfinished = home.join("signing.key.new");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(key.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, &path)?;
    Ok(key)
}

/// Answers every line of a file, given its number, with a line, at once; fails in the end if any of them was bad.
fn each_line(file: &Path, mut answer: impl FnMut(&str, usize) -> (bool, String)) -> Outcome {
    let input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(fs::File::open(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?)
    };
    let mut output = BufWriter::new(io::stdout().lock());
    let mut all_good = true;
    for (line, number) in BufReader::new(input).split(b'\n').zip(1..) {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        if line.trim().is_empty() {
            continue;
        }
        let (good, answer) = answer(&line, number);
        all_good &= good;
        writeln!(output, "{answer}")?;
        // Whoever sends a line may be waiting for this one.
        output.flush()?;
    }
    Ok(if all_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Appends opening data to a file, line by line.
fn book(file: &Path, pits: u8, stones: u8, effort: Effort) -> Outcome {
    let mut out = OpenOptions::new().create(true).read(true).append(true).open(file)?;
    let mut known = String::new();
    out.read_to_string(&mut known)?;
    let mut failure = None;
    book::make(pits, stones, &known, effort, &mut |line| {
        let written = writeln!(out, "{line}").and_then(|()| out.sync_data());
        failure = written.err();
        failure.is_none()
    })?;
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn openapi(v3_0: bool) -> Outcome {
    let document = if v3_0 { http::document::document_3_0() } else { http::document::document() };
    writeln!(io::stdout(), "{}", serde_json::to_string_pretty(&document)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Does something with a service that answers no requests, on the database that is asked for.
fn with_service(database: Database, work: impl AsyncFn(&Service) -> Outcome + Sync) -> Outcome {
    init_logs("warn")?;
    let on = |url: &str| block_on(async { work(&service_on(url).await?).await });
    if let Some(url) = database.url()? {
        return on(&url);
    }
    let home = database.data_dir.unwrap_or_else(default_home);
    if !home.join("pg").exists() {
        return Err(format!("there is no private database in {}", home.display()).into());
    }
    match with_cluster(&home, |url, _| on(url)) {
        // A server runs on the folder: its database can be used beside it.
        Err(error) if matches!(error.downcast_ref(), Some(EmbeddedError::InUse { .. })) => {
            on(&url_of_running(&home)?)
        }
        outcome => outcome,
    }
}

async fn service_on(url: &str) -> Result<Service, Failure> {
    let database = store::Database::new(PgConnectOptions::from_str(url)?);
    if !store::is_ready(&mut *database.connection().await?).await.unwrap_or(false) {
        return Err("the database has not been migrated by this version; start the server once".into());
    }
    // It signs nothing.
    let unused = SigningKeys::parse(&STANDARD.encode([0; 32]))?;
    let (metrics, stopping) = (Arc::new(Metrics::new()), CancellationToken::new());
    Ok(Service::new(database, unused, Cost::default(), metrics, stopping, Memory::default()))
}

async fn audit(service: &Service) -> Outcome {
    let report = service.audit().await?;
    let mut output = io::stdout().lock();
    for difference in &report.differences {
        writeln!(output, "{}: {}", difference.of, difference.what)?;
    }
    let (games, events, groups, changes) = (report.games, report.events, report.groups, report.changes);
    if report.differences.is_empty() {
        writeln!(
            output,
            "{games} games with {events} events and {groups} groups replay to what is stored, {changes} changes of ratings add up"
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(
        output,
        "{games} games with {events} events and {groups} groups replayed, {changes} changes of ratings reckoned again, {} differences",
        report.differences.len()
    )?;
    Ok(ExitCode::FAILURE)
}

async fn season(service: &Service) -> Outcome {
    let mut output = io::stdout().lock();
    for pool in Pool::ALL {
        match service.look_at_season(pool).await? {
            None => writeln!(output, "{pool}: has been looked at this month")?,
            Some(Season { month, players, mean: None, .. }) => {
                writeln!(output, "{pool}, {month}: {players} players to go by, nothing moves")?;
            }
            Some(Season { month, players, mean: Some(mean), shift }) => {
                writeln!(
                    output,
                    "{pool}, {month}: {players} players with a mean of {mean:.1}, moved by {shift:.1}"
                )?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn healthcheck(listen: SocketAddr, cert: Option<&Path>) -> Outcome {
    // Whoever listens on every address can be asked on the loopback one.
    let host: IpAddr = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let patience = Duration::from_secs(2);
    let stream = TcpStream::connect_timeout(&SocketAddr::new(host, listen.port()), patience)?;
    stream.set_read_timeout(Some(patience))?;
    match cert {
        Some(cert) => ready(tls::to_own_server(stream, cert)?, listen),
        None => ready(stream, listen),
    }
}

fn ready(mut stream: impl Read + Write, listen: SocketAddr) -> Outcome {
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: {listen}\r\nConnection: close\r\n\r\n")?;
    let mut status_line = String::new();
    BufReader::new(stream).read_line(&mut status_line)?;
    let ready = status_line.split(' ').nth(1) == Some("200");
    Ok(if ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
