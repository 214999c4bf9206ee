//! Why the private database does not run, said so that the person who started the server can act.

use std::io;
use std::path::{Path, PathBuf};

use super::programs::OLDEST_MAJOR;

/// Why the private PostgreSQL does not run.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// No usable programs on this machine.
    #[error(
        "PostgreSQL {OLDEST_MAJOR} or newer is needed, and {found}. Any one of these helps:\n\
         \x20 Debian, Ubuntu:      sudo apt-get install postgresql\n\
         \x20 macOS:               brew install postgresql@17\n\
         \x20 Docker:              docker compose up\n\
         \x20 installed elsewhere: set PG_BIN_DIR to the folder with its programs initdb and postgres\n\
         \x20 your own server:     set DATABASE_URL=postgres://user:password@host/database"
    )]
    NotInstalled {
        /// What the search came to, as half a sentence.
        found: String,
    },

    /// The cluster was written by a version whose programs are not installed.
    #[error(
        "the database in {} was made by PostgreSQL {major}, which only PostgreSQL {major} can run; installed: \
         {installed}. Install that version beside the other (`sudo apt-get install postgresql-{major}` or \
         `brew install postgresql@{major}`; PG_BIN_DIR names a folder of programs that is not found by itself), \
         or convert the folder with pg_upgrade (https://www.postgresql.org/docs/current/pgupgrade.html)",
        data.display()
    )]
    OtherVersion {
        /// The cluster.
        data: PathBuf,
        /// The major version that made it.
        major: u32,
        /// The versions found, for the message.
        installed: String,
    },

    /// Another server runs on the same home.
    #[error(
        "another server{} already uses {}: stop it first, or give this one a folder of its own with \
         MANCALA_DATA_DIR (several servers on one database: set DATABASE_URL for each)",
        holder.map(|pid| format!(" (process {pid})")).unwrap_or_default(),
        home.display()
    )]
    InUse {
        /// The contested folder.
        home: PathBuf,
        /// The process that holds it, where it has left its id.
        holder: Option<u32>,
    },

    /// The home lies too deep for the address of a Unix socket.
    #[error(
        "{} is too long a path for a Unix socket ({} bytes; Linux takes 107, macOS 103): choose a shorter folder \
         with MANCALA_DATA_DIR",
        socket.display(),
        socket.as_os_str().len()
    )]
    SocketPathTooLong {
        /// Where the socket would be.
        socket: PathBuf,
    },

    /// As root: the user PostgreSQL runs as cannot get to the home.
    #[error(
        "PostgreSQL does not run as root, and the user it runs as here ({account}) may not enter {}: allow it \
         (`chmod a+x {}`), choose another folder with MANCALA_DATA_DIR, or start the server as an ordinary user",
        folder.display(),
        folder.display()
    )]
    Unreachable {
        /// The first folder on the way that is closed.
        folder: PathBuf,
        /// The user.
        account: String,
    },

    /// As root: there is nobody else to run PostgreSQL as.
    #[error(
        "PostgreSQL does not run as root, and this system has neither a user `postgres` nor a user `nobody` to run \
         it as: start the server as an ordinary user, or set DATABASE_URL"
    )]
    NoAccount,

    /// The place of the cluster is taken by something else.
    #[error(
        "{} is not a PostgreSQL data folder but is not empty either: move it away, or choose another folder with \
         MANCALA_DATA_DIR",
        folder.display()
    )]
    NotACluster {
        /// The folder in the way.
        folder: PathBuf,
    },

    /// Making the cluster failed.
    #[error("the database could not be created; {program} says:\n{output}")]
    Creation {
        /// The program that failed.
        program: &'static str,
        /// What it printed.
        output: String,
    },

    /// The child of an earlier run does not end.
    #[error(
        "PostgreSQL of an earlier run (process {pid}) still uses {} and has not ended after {seconds} s of waiting: \
         stop it (`kill -QUIT {pid}`) and start again",
        data.display()
    )]
    PredecessorRemains {
        /// Its process id.
        pid: i32,
        /// The cluster.
        data: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },

    /// The child ended, or took too long, before it accepted connections.
    #[error("PostgreSQL did not start ({reason}). The end of its log, {}:\n{excerpt}", log.display())]
    NotStarted {
        /// How that showed.
        reason: String,
        /// The whole log.
        log: PathBuf,
        /// What this start has written to it.
        excerpt: String,
    },

    /// A program that was found could not be run.
    #[error("cannot run {}: {source}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },

    /// A file or folder of the home could not be used.
    #[error("cannot {action} {}: {source} (MANCALA_DATA_DIR chooses another folder)", path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl EmbeddedError {
    pub(super) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { action, path, source }
    }

    pub(super) fn program(program: &Path) -> impl FnOnce(io::Error) -> Self {
        let program = program.to_path_buf();
        move |source| Self::Program { program, source }
    }
}
