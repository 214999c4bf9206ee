//! The child process: started, waited for, stopped, and its remains cleared away.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Account, Durability, EmbeddedError, Home, PORT, Programs, told_to_stop};

const POLL: Duration = Duration::from_millis(10);
/// For the server of an earlier run, or what is left of its processes, to end.
const PREDECESSOR_PATIENCE: Duration = Duration::from_secs(60);
/// For the child to become ready. It may have a crash to recover from, and as long as it lives it is at it.
const RECOVERY_PATIENCE: Duration = Duration::from_secs(300);
/// For a fast shutdown, which writes out what has changed.
const FAST_PATIENCE: Duration = Duration::from_secs(20);
/// For an immediate shutdown: PostgreSQL itself kills what is left after five seconds.
const IMMEDIATE_PATIENCE: Duration = Duration::from_secs(10);

const SETTINGS: [&str; 10] = [
    "listen_addresses=",
    "unix_socket_permissions=0700",
    "shared_buffers=128MB",
    "synchronous_commit=on",
    "timezone=UTC",
    "log_timezone=UTC",
    // Compiling pays for long analytical queries only, of which there are none.
    "jit=off",
    // The log is a plain file of ours; another user could not rotate it.
    "logging_collector=off",
    "log_destination=stderr",
    // The details of an error have values of the row that was refused.
    "log_error_verbosity=terse",
];
const DURABLE: [&str; 3] = ["max_connections=60", "fsync=on", "full_page_writes=on"];
/// More connections, because tests run side by side, each with a pool of its own.
const NOT_DURABLE: [&str; 3] = ["max_connections=200", "fsync=off", "full_page_writes=off"];

/// Everything it takes to start the child, the first time and again.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) home: Home,
    pub(super) programs: Programs,
    pub(super) account: Option<Account>,
    pub(super) durability: Durability,
}

impl Launch {
    /// Starts the child and waits until it accepts connections. None if told to stop before that.
    pub(super) fn run(&self, stop: &Receiver<()>) -> Result<Option<Postmaster>, EmbeddedError> {
        let began = Instant::now();
        if !self.wait_for_predecessor(stop)? {
            return Ok(None);
        }
        loop {
            let (mut postmaster, log_start) = self.spawn()?;
            match self.wait_until_ready(&mut postmaster, stop) {
                Ok(true) => return Ok(Some(postmaster)),
                Ok(false) => return Ok(None),
                Err(reason) => {
                    let excerpt = self.home.log_excerpt(log_start);
                    // The backends of a postmaster that was killed end by themselves, each when it next
                    // looks up from its work; until then PostgreSQL refuses to start.
                    let leftovers = excerpt.contains("is still in use");
                    if !leftovers || began.elapsed() > PREDECESSOR_PATIENCE {
                        return Err(EmbeddedError::NotStarted {
                            reason,
                            log: self.home.log().to_path_buf(),
                            excerpt,
                        });
                    }
                }
            }
            if told_to_stop(stop, POLL * 20) {
                return Ok(None);
            }
        }
    }

    /// A server that an earlier run has left is never taken over: it may be shutting down already, and it
    /// is nobody's child. False if told to stop meanwhile.
    fn wait_for_predecessor(&self, stop: &Receiver<()>) -> Result<bool, EmbeddedError> {
        let began = Instant::now();
        let mut asked = None;
        // PostgreSQL marks both the folder and the socket as taken, and clears away marks of processes that
        // are no more.
        for path in [self.home.pid_file(), self.home.socket_lock()] {
            while let Some((pid, _)) = read_pid_file(&path).filter(|(pid, _)| exists(*pid)) {
                if !is_server_of(pid, self.home.data()) {
                    remove_stale(&path, pid)?;
                    break;
                }
                if asked != Some(pid) {
                    tracing::warn!(process.pid = pid.as_raw(), "stopping the database of an earlier run");
                    // It may end at this very moment, which is what we want.
                    let _ = kill(pid, Signal::SIGINT);
                    asked = Some(pid);
                }
                if began.elapsed() > PREDECESSOR_PATIENCE {
                    return Err(EmbeddedError::PredecessorRemains {
                        pid: pid.as_raw(),
                        data: self.home.data().to_path_buf(),
                        seconds: PREDECESSOR_PATIENCE.as_secs(),
                    });
                }
                if told_to_stop(stop, POLL) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The child, and where in the log its messages begin.
    fn spawn(&self) -> Result<(Postmaster, u64), EmbeddedError> {
        let (log, log_start) = self.home.open_log()?;
        let second = log.try_clone().map_err(EmbeddedError::file("open the log", self.home.log()))?;
        let mut command = self.programs.command("postgres", self.account.as_ref());
        command.arg("-D").arg(self.home.data());
        command.arg("-p").arg(PORT.to_string());
        let mut set = |setting: &str| {
            command.arg("-c").arg(setting);
        };
        // A list, in which quotes keep commas and blanks of the path together.
        let folder = self.home.data().to_string_lossy().replace('"', "\"\"");
        set(&format!("unix_socket_directories=\"{folder}\""));
        SETTINGS.into_iter().for_each(&mut set);
        match self.durability {
            Durability::Full => DURABLE,
            Durability::None => NOT_DURABLE,
        }
        .into_iter()
        .for_each(&mut set);
        let child = command
            .stdout(Stdio::from(second))
            .stderr(Stdio::from(log))
            .spawn()
            .map_err(EmbeddedError::program(&self.programs.folder().join("postgres")))?;
        Ok((Postmaster(child), log_start))
    }

    /// False if told to stop meanwhile, and the reason if it will not become ready.
    fn wait_until_ready(&self, postmaster: &mut Postmaster, stop: &Receiver<()>) -> Result<bool, String> {
        let began = Instant::now();
        loop {
            if let Some(exit) = postmaster.ended() {
                return Err(exit);
            }
            // The socket exists, and takes connections only to refuse them, before the file says ready.
            let ready = (postmaster.pid(), "ready".to_owned());
            if read_pid_file(&self.home.pid_file()) == Some(ready)
                && UnixStream::connect(self.home.socket()).is_ok()
            {
                return Ok(true);
            }
            if began.elapsed() > RECOVERY_PATIENCE {
                return Err(format!("not ready after {} s", RECOVERY_PATIENCE.as_secs()));
            }
            if told_to_stop(stop, POLL) {
                return Ok(false);
            }
        }
    }
}

/// Process id and, in the file for the folder, the server's state: lines 1 and 8.
fn read_pid_file(path: &Path) -> Option<(Pid, String)> {
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.lines().map(str::trim);
    let pid = lines.next()?.parse().ok().filter(|&pid| pid > 0)?;
    Some((Pid::from_raw(pid), lines.nth(6).unwrap_or_default().to_owned()))
}

/// The id belongs to another process by now, or to one that has ended and that its parent has not taken
/// notice of; PostgreSQL would only see it in use. Removing the mark is safe: we hold the home's lock, and if
/// server processes are left all the same, PostgreSQL finds their shared memory, whose key is the folder's.
fn remove_stale(path: &Path, pid: Pid) -> Result<(), EmbeddedError> {
    tracing::warn!(process.pid = pid.as_raw(), file.path = %path.display(), "removing a stale file");
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(EmbeddedError::file("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// The server process, ours until it has ended: dropping it ends it.
#[derive(Debug)]
pub(super) struct Postmaster(Child);

impl Postmaster {
    pub(super) fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id().cast_signed())
    }

    /// How it ended, None while it runs.
    pub(super) fn ended(&mut self) -> Option<String> {
        match self.0.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.to_string()),
            // Somebody else has taken the exit status: there is no such child any more.
            Err(error) => Some(error.to_string()),
        }
    }

    /// Whether it ends within `patience` of `signal`.
    fn ends_on(&mut self, signal: Signal, patience: Duration) -> bool {
        let began = Instant::now();
        if self.ended().is_some() {
            return true;
        }
        // Its id cannot be another's before we have seen its end, so this reaches it or does no harm.
        let _ = kill(self.pid(), signal);
        while began.elapsed() < patience {
            if self.ended().is_some() {
                return true;
            }
            std::thread::sleep(POLL);
        }
        false
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        if self.ends_on(Signal::SIGINT, FAST_PATIENCE) {
            return;
        }
        tracing::warn!("the private database takes too long to stop; it will recover at the next start");
        if !self.ends_on(Signal::SIGQUIT, IMMEDIATE_PATIENCE) {
            // Neither can fail in a way that could be helped here.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

fn exists(pid: Pid) -> bool {
    matches!(kill(pid, None), Ok(()) | Err(Errno::EPERM))
}

/// Process ids are used again, soonest in a container that was restarted; the command line tells. A process
/// that has ended has none, even while its id is kept for its parent.
fn is_server_of(pid: Pid, data: &Path) -> bool {
    let command_line = command_line(pid);
    command_line.contains("postgres") && command_line.contains(&*data.to_string_lossy())
}

#[cfg(target_os = "linux")]
fn command_line(pid: Pid) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(not(target_os = "linux"))]
fn command_line(pid: Pid) -> String {
    std::process::Command::new("ps")
        .args(["-ww", "-o", "command=", "-p", &pid.to_string()])
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default()
}
