//! The private PostgreSQL: a child process of this server, for whoever has not set `DATABASE_URL`.
//!
//! Everything lives in one folder, the *home*:
//!
//! ```text
//! home/              ours
//! home/server.lock   held while a server runs here; names its process
//! home/postgres.log  what the child has to say
//! home/pg/           0700, the cluster and its Unix socket; as root it belongs to the user PostgreSQL runs as
//! ```
//!
//! On Linux the kernel sends the child SIGINT when the *thread* that spawned it ends. So the thread that
//! calls [`Cluster::start`] has to outlive all use of the database and has to be the one that starts the
//! child again; [`Cluster`] is not `Send` to make that so. In the binary it is the main thread, which does
//! nothing but [`Cluster::watch`] while the async runtime runs on threads of its own.

mod account;
mod creation;
mod error;
mod home;
mod postmaster;
mod programs;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use account::Account;
pub use error::EmbeddedError;
use home::{Home, HomeLock};
use postmaster::{Launch, Postmaster};
use programs::Programs;

/// The unprivileged role the service connects as, and the name of its database.
const SERVICE: &str = "mancala";
/// The role that owns the cluster.
const SUPERUSER: &str = "postgres";
/// Only part of the socket's file name: nothing listens on a network.
const PORT: u16 = 5432;

const CHECK_INTERVAL: Duration = Duration::from_millis(100);
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A child that ran for this long is no part of a series of failures any more.
const LONG_RUN: Duration = Duration::from_secs(60);

/// What a commit promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A committed transaction survives a crash of the process and of the machine.
    Full,
    /// It survives a crash of the process only, and a crash of the machine may cost the whole database: for
    /// tests, which it makes much faster.
    None,
}

/// Whether the child accepts connections: a shared flag, cheap enough to ask at every request.
#[derive(Debug, Clone)]
pub struct Liveness(Arc<AtomicBool>);

impl Liveness {
    /// False from the moment the child's end is noticed until it accepts connections again.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, alive: bool) {
        self.0.store(alive, Ordering::Relaxed);
    }
}

/// A running private PostgreSQL. Dropping it stops the child and then gives the home free; files stay.
#[derive(Debug)]
pub struct Cluster {
    // Fields are dropped in this order: the child has ended before the lock is given back.
    postmaster: Postmaster,
    launch: Launch,
    url: String,
    admin_url: String,
    liveness: Liveness,
    _lock: HomeLock,
    /// Raw pointers are not `Send`: the child dies with the thread that spawned it (see the module).
    _stays_on_its_thread: PhantomData<*const ()>,
}

impl Cluster {
    /// Starts the private PostgreSQL of `home`, making folder, cluster, role and database where they are
    /// missing, and returns once it accepts connections. A server that a killed earlier run has left
    /// behind is stopped and waited for, a crashed cluster recovers.
    ///
    /// Blocks: half a second the first time, hundredths of one later, longer after a crash. Call it on a
    /// thread that outlives all use of the database.
    ///
    /// # Errors
    /// Whatever keeps the database from running, said so that the person who started the server can act.
    pub fn start(home: &Path, durability: Durability) -> Result<Self, EmbeddedError> {
        let began = Instant::now();
        let home = Home::open(home)?;
        let lock = home.lock()?;
        let account = Account::choose(home.data())?;
        if let Some(account) = &account {
            account.check_reaches(home.root())?;
        }
        let existing = home.cluster_major()?;
        let programs = Programs::find(existing.map(|major| (home.data(), major)), account.as_ref())?;
        if existing.is_none() {
            creation::create(&home, &programs, account.as_ref(), durability)?;
            tracing::info!(
                postgres.data = %home.data().display(),
                elapsed.ms = began.elapsed().as_millis(),
                "created the private database"
            );
        }
        let url = |user: &str, database: &str| connection_url(user, database, home.data());
        let (url, admin_url) = (url(SERVICE, SERVICE), url(SUPERUSER, "postgres"));
        let launch = Launch { home, programs, account, durability };
        let (_silent, never) = mpsc::channel();
        let postmaster =
            launch.run(&never)?.expect("the sender is alive and silent, so nothing interrupts this");
        tracing::info!(
            postgres.version = launch.programs.version(),
            postgres.programs = %launch.programs.folder().display(),
            postgres.data = %launch.home.data().display(),
            process.pid = postmaster.pid().as_raw(),
            elapsed.ms = began.elapsed().as_millis(),
            "the private database is ready"
        );
        Ok(Self {
            postmaster,
            launch,
            url,
            admin_url,
            liveness: Liveness(Arc::new(AtomicBool::new(true))),
            _lock: lock,
            _stays_on_its_thread: PhantomData,
        })
    }

    /// Where the service connects: its own database, as a role that may do nothing outside it.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The same server as its superuser, for what needs more: tests make databases through it.
    #[must_use]
    pub fn admin_url(&self) -> &str {
        &self.admin_url
    }

    /// The version of PostgreSQL that runs, as it names itself: `15.13 (Debian 15.13-0+deb12u1)`.
    #[must_use]
    pub fn version(&self) -> &str {
        self.launch.programs.version()
    }

    /// The folder of the programs that run.
    #[must_use]
    pub fn bin_dir(&self) -> &Path {
        self.launch.programs.folder()
    }

    /// A handle that tells, on any thread, whether the database runs.
    #[must_use]
    pub fn liveness(&self) -> Liveness {
        self.liveness.clone()
    }

    /// Keeps the database running: whenever the child ends it is started again, after a pause that grows
    /// up to half a minute while it keeps ending. Returns when `stop` receives something or its sender is
    /// gone (so that a server thread that panics ends this too); the database still runs then, and stops
    /// when the cluster is dropped.
    pub fn watch(&mut self, stop: &Receiver<()>) {
        let mut pause = SHORTEST_PAUSE;
        let mut running_since = Instant::now();
        while !told_to_stop(stop, CHECK_INTERVAL) {
            let Some(exit) = self.postmaster.ended() else {
                continue;
            };
            self.liveness.set(false);
            tracing::error!(
                process.exit = exit,
                postgres.log = %self.launch.home.log().display(),
                "the private database has ended; starting it again"
            );
            if running_since.elapsed() > LONG_RUN {
                pause = SHORTEST_PAUSE;
            }
            if !self.start_again(stop, &mut pause) {
                return;
            }
            running_since = Instant::now();
        }
    }

    /// False when told to stop before it succeeded.
    fn start_again(&mut self, stop: &Receiver<()>, pause: &mut Duration) -> bool {
        loop {
            if told_to_stop(stop, *pause) {
                return false;
            }
            *pause = (*pause * 2).min(LONGEST_PAUSE);
            match self.launch.run(stop) {
                Ok(Some(postmaster)) => {
                    tracing::info!(
                        process.pid = postmaster.pid().as_raw(),
                        "the private database is ready again"
                    );
                    self.postmaster = postmaster;
                    self.liveness.set(true);
                    return true;
                }
                Ok(None) => return false,
                Err(error) => tracing::error!(
                    error.message = %error,
                    retry.ms = pause.as_millis(),
                    "the private database cannot be started again yet"
                ),
            }
        }
    }

    /// Stops the database: open transactions are rolled back, everything committed is written out. Waits
    /// until it has ended, 20 seconds at most before it is made to end (what it has committed, it then
    /// recovers at the next start). The same as dropping it.
    pub fn stop(self) {
        drop(self);
    }
}

/// Where the service of a server that runs on `home` connects, for a command that looks at its data meanwhile.
///
/// # Errors
/// When the folder cannot be used at all.
pub fn url_of_running(home: &Path) -> Result<String, EmbeddedError> {
    Ok(connection_url(SERVICE, SERVICE, Home::open(home)?.data()))
}

/// The folder used when none is configured: `/var/lib/mancala-server` for root, otherwise where the
/// platform keeps the data of a user's programs.
#[must_use]
pub fn default_home() -> PathBuf {
    default_home_of(
        nix::unistd::geteuid().is_root(),
        cfg!(target_os = "macos"),
        std::env::var_os("XDG_DATA_HOME"),
        std::env::home_dir(),
    )
}

fn default_home_of(
    root: bool,
    macos: bool,
    xdg_data_home: Option<OsString>,
    user_home: Option<PathBuf>,
) -> PathBuf {
    const NAME: &str = "mancala-server";
    let xdg_data_home = xdg_data_home
        .map(PathBuf::from)
        // The XDG specification: a relative path there is invalid and to be ignored.
        .filter(|folder| folder.is_absolute() && !macos);
    match (xdg_data_home, user_home) {
        _ if root => Path::new("/var/lib").join(NAME),
        (Some(folder), _) => folder.join(NAME),
        (None, Some(home)) if macos => home.join("Library/Application Support").join(NAME),
        (None, Some(home)) => home.join(".local/share").join(NAME),
        (None, None) => Path::new("/var/lib").join(NAME),
    }
}

/// Waits for at most `time`. Whoever drops the sender wants an end as well.
fn told_to_stop(stop: &Receiver<()>, time: Duration) -> bool {
    stop.recv_timeout(time) != Err(RecvTimeoutError::Timeout)
}

/// Port and TLS mode are spelled out because clients take what is missing from `PGPORT` and `PGSSLMODE`.
fn connection_url(user: &str, database: &str, socket_folder: &Path) -> String {
    let mut url = format!("postgres://{user}@localhost:{PORT}/{database}?sslmode=disable&host=");
    for &byte in socket_folder.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    url
}
