//! The folder that everything lives in, and the lock that keeps a second server out of it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::unistd::geteuid;

use super::{Account, EmbeddedError, PORT};

/// A longer log is begun anew at the next start of the child.
const LARGE_LOG_BYTES: u64 = 8 << 20;
/// A server that was killed holds its lock until the system has cleared it away.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
/// Enough of the log to see why a start has failed.
const EXCERPT_LINES: usize = 15;
const UNFINISHED: &str = "pg.unfinished-";

/// The folder everything lives in; see the module for what is where.
#[derive(Debug)]
pub(super) struct Home {
    root: PathBuf,
    data: PathBuf,
    log: PathBuf,
}

impl Home {
    /// Makes the folder if it is missing. Existing folders keep their permissions.
    pub(super) fn open(path: &Path) -> Result<Self, EmbeddedError> {
        let path = std::path::absolute(path).map_err(EmbeddedError::file("find the folder", path))?;
        // As root the children belong to somebody else who has to pass through, whatever our umask says.
        let mode = if geteuid().is_root() { 0o711 } else { 0o700 };
        let missing: Vec<_> = path.ancestors().take_while(|part| !part.exists()).collect();
        for folder in missing.into_iter().rev() {
            match fs::create_dir(folder) {
                // Another server may be making the same folder right now.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                Err(error) => Err(error),
                Ok(()) => fs::set_permissions(folder, Permissions::from_mode(mode)),
            }
            .map_err(EmbeddedError::file("make the folder", folder))?;
        }
        let root = path.canonicalize().map_err(EmbeddedError::file("open the folder", &path))?;
        let home = Self { data: root.join("pg"), log: root.join("postgres.log"), root };
        let socket = home.socket();
        if SocketAddr::from_pathname(&socket).is_err() {
            return Err(EmbeddedError::SocketPathTooLong { socket });
        }
        Ok(home)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    pub(super) fn log(&self) -> &Path {
        &self.log
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.data.join(format!(".s.PGSQL.{PORT}"))
    }

    pub(super) fn socket_lock(&self) -> PathBuf {
        self.socket().with_added_extension("lock")
    }

    pub(super) fn pid_file(&self) -> PathBuf {
        self.data.join("postmaster.pid")
    }

    /// Refuses a second server on this home.
    pub(super) fn lock(&self) -> Result<HomeLock, EmbeddedError> {
        let path = self.root.join("server.lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(EmbeddedError::file("open the lock file", &path))?;
        let began = Instant::now();
        while let Err(error) = file.try_lock() {
            match error {
                TryLockError::WouldBlock if began.elapsed() < LOCK_PATIENCE => {
                    std::thread::sleep(LOCK_PATIENCE / 50);
                }
                TryLockError::WouldBlock => {
                    let mut holder = String::new();
                    // Without it the message only says less.
                    let _ = file.read_to_string(&mut holder);
                    let holder = holder.trim().parse().ok();
                    return Err(EmbeddedError::InUse { home: self.root.clone(), holder });
                }
                TryLockError::Error(error) => return Err(EmbeddedError::file("lock", &path)(error)),
            }
        }
        file.set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(EmbeddedError::file("write the lock file", &path))?;
        Ok(HomeLock(file))
    }

    /// The major version of the cluster, None where there is none yet.
    pub(super) fn cluster_major(&self) -> Result<Option<u32>, EmbeddedError> {
        let path = self.data.join("PG_VERSION");
        match fs::read_to_string(&path) {
            Ok(text) => text
                .trim()
                .parse()
                .map(Some)
                .map_err(|_| EmbeddedError::NotACluster { folder: self.data.clone() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.expect_vacant(),
            Err(error) => Err(EmbeddedError::file("read", &path)(error)),
        }
    }

    fn expect_vacant(&self) -> Result<Option<u32>, EmbeddedError> {
        match fs::read_dir(&self.data).map(|mut entries| entries.next().is_none()) {
            Ok(true) => Ok(None),
            Ok(false) => Err(EmbeddedError::NotACluster { folder: self.data.clone() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(EmbeddedError::file("read", &self.data)(error)),
        }
    }

    /// An empty folder in which a cluster is made before it gets its place. What interrupted attempts have
    /// left goes; the name is not reused, since a program of such an attempt may be writing for a moment yet.
    pub(super) fn unfinished(&self, account: Option<&Account>) -> Result<PathBuf, EmbeddedError> {
        let entries = fs::read_dir(&self.root).map_err(EmbeddedError::file("read", &self.root))?;
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED)
                && let Err(error) = fs::remove_dir_all(entry.path())
            {
                tracing::warn!(
                    file.path = %entry.path().display(),
                    error.message = %error,
                    "cannot remove what an interrupted start has left"
                );
            }
        }
        let pid = std::process::id();
        let folder = (0u32..)
            .map(|n| self.root.join(format!("{UNFINISHED}{pid}-{n}")))
            .find(|folder| !folder.exists())
            .expect("some number is free");
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(EmbeddedError::file("make the folder", &folder))?;
        if let Some(account) = account {
            account.own(&folder)?;
        }
        Ok(folder)
    }

    /// Gives a finished cluster its place, in one step and for good.
    pub(super) fn install(&self, finished: &Path) -> Result<(), EmbeddedError> {
        fs::rename(finished, &self.data)
            .and_then(|()| File::open(&self.root)?.sync_all())
            .map_err(EmbeddedError::file("put the new database at", &self.data))
    }

    /// The log for one run of the child, and where in it that run begins.
    pub(super) fn open_log(&self) -> Result<(File, u64), EmbeddedError> {
        let open = || {
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.log)?;
            if file.metadata()?.len() > LARGE_LOG_BYTES {
                file.set_len(0)?;
            }
            let end = file.metadata()?.len();
            Ok((file, end))
        };
        open().map_err(EmbeddedError::file("open the log", &self.log))
    }

    /// The last lines the log has from `start` on.
    pub(super) fn log_excerpt(&self, start: u64) -> String {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = File::open(&self.log)?;
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let text = read().unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(EXCERPT_LINES)..].join("\n")
    }
}

/// Held while a server uses the home.
#[derive(Debug)]
pub(super) struct HomeLock(File);

impl Drop for HomeLock {
    fn drop(&mut self) {
        // Closing alone is not enough: a process that another thread is just forking holds a copy until it
        // executes its program. A failure leaves what closing does.
        let _ = self.0.unlock();
    }
}
