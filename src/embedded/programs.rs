//! Where the programs of PostgreSQL are, and of which version.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Account, EmbeddedError};

/// The oldest version whose SQL the service is written for.
pub(super) const OLDEST_MAJOR: u32 = 15;

/// Variables the programs need to find their parts. They get nothing else of ours: no `PG*` that would
/// configure them, and no secrets, since they may run as another user.
const KEPT_VARIABLES: [&str; 5] =
    ["PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LOCALE_ARCHIVE", "TMPDIR"];

/// Folders with one version each: where they are, how their names begin, and what follows.
const INSTALLATIONS: [(&str, &str, &str); 9] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
    ("/usr/local", "pgsql", "bin"),
    ("/usr/libexec", "postgresql", ""),
    ("/opt/homebrew/opt", "postgresql", "bin"),
    ("/usr/local/opt", "postgresql", "bin"),
    ("/home/linuxbrew/.linuxbrew/opt", "postgresql", "bin"),
    ("/opt/local/lib", "postgresql", "bin"),
    ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
];

/// An installed PostgreSQL.
#[derive(Debug, Clone)]
pub(super) struct Programs {
    folder: PathBuf,
    /// Major and minor.
    number: (u32, u32),
    version: String,
}

impl Programs {
    /// The programs of this machine that run the `existing` cluster, or that make the best new one.
    pub(super) fn find(
        existing: Option<(&Path, u32)>,
        account: Option<&Account>,
    ) -> Result<Self, EmbeddedError> {
        let preferred = std::env::var_os("PG_BIN_DIR").map(PathBuf::from);
        Self::find_among(preferred.as_deref(), &usual_folders(), existing, account)
    }

    /// `preferred` wins where it will do, then the newest version does.
    pub(super) fn find_among(
        preferred: Option<&Path>,
        folders: &[PathBuf],
        existing: Option<(&Path, u32)>,
        account: Option<&Account>,
    ) -> Result<Self, EmbeddedError> {
        let fits = |programs: &Self| match existing {
            Some((_, major)) => programs.number.0 == major,
            None => programs.number.0 >= OLDEST_MAJOR,
        };
        if let Some(folder) = preferred {
            match programs_folder(folder).and_then(|folder| Self::examine(folder, account)) {
                Some(programs) if fits(&programs) => return Ok(programs),
                found => tracing::warn!(
                    file.path = %folder.display(),
                    postgres.version = found.map(|programs| programs.version),
                    "PG_BIN_DIR has no programs for this database; looking elsewhere"
                ),
            }
        }
        let folders: BTreeSet<_> = folders.iter().filter_map(|dir| programs_folder(dir)).collect();
        let mut installed: Vec<_> =
            folders.into_iter().filter_map(|folder| Self::examine(folder, account)).collect();
        installed.sort_by_key(|programs| programs.number);
        if let Some(newest) = installed.iter().rfind(|programs| fits(programs)) {
            return Ok(newest.clone());
        }
        let list = installed
            .iter()
            .map(|programs| format!("{} in {}", programs.version, programs.folder.display()))
            .collect::<Vec<_>>()
            .join(", ");
        Err(match existing {
            Some((data, major)) => EmbeddedError::OtherVersion {
                data: data.to_path_buf(),
                major,
                installed: if list.is_empty() { "none".to_owned() } else { list },
            },
            None if list.is_empty() => EmbeddedError::NotInstalled {
                found: "its server programs were not found on this machine".to_owned(),
            },
            None => EmbeddedError::NotInstalled { found: format!("only an older one is installed ({list})") },
        })
    }

    /// None where the programs do not even run, for instance because `account` cannot reach them.
    fn examine(folder: PathBuf, account: Option<&Account>) -> Option<Self> {
        let output = command(&folder, "postgres", account).arg("--version").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let (_, version) = text.trim().split_once("(PostgreSQL) ")?;
        Some(Self { folder, number: version_number(version)?, version: version.to_owned() })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }

    pub(super) fn command(&self, program: &str, account: Option<&Account>) -> Command {
        command(&self.folder, program, account)
    }
}

/// A program that ends when we do. Its messages are English, since we look at some.
fn command(folder: &Path, program: &str, account: Option<&Account>) -> Command {
    let mut command = Command::new(folder.join(program));
    command
        .env_clear()
        .envs(KEPT_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .env("LANG", "C")
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::null())
        // A group of its own: Ctrl-C reaches only us, and we stop the child last.
        .process_group(0);
    if let Some(account) = account {
        account.apply(&mut command);
    }
    end_with_parent(&mut command);
    command
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "the parent-death signal can only be asked for by the child itself, between fork and exec"
)]
fn end_with_parent(command: &mut Command) {
    use nix::sys::{prctl, signal::Signal};
    use nix::unistd::{getpid, getppid};

    let parent = getpid();
    let ask = move || {
        prctl::set_pdeathsig(Signal::SIGINT)?;
        // We may have died before the line above: then no signal comes any more.
        if getppid() != parent {
            return Err(nix::errno::Errno::ESRCH.into());
        }
        Ok(())
    };
    // SAFETY: two system calls and no allocation, which is all that is allowed here. It runs after the
    // change of user, which would clear the setting.
    unsafe { command.pre_exec(ask) };
}

/// Elsewhere a child outlives a killed server; the next start stops it.
#[cfg(not(target_os = "linux"))]
fn end_with_parent(_command: &mut Command) {}

fn usual_folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = INSTALLATIONS.iter().flat_map(|(parent, beginning, rest)| {
        fs::read_dir(parent)
            .into_iter()
            .flatten()
            .flatten()
            .filter(move |entry| entry.file_name().to_string_lossy().starts_with(beginning))
            .map(move |entry| entry.path().join(rest))
    });
    std::env::split_paths(&path).chain(installed).collect()
}

/// Where `folder`'s `postgres` really lies, together with `initdb`: packages put links on the path, and a
/// program finds its libraries from where it lies.
fn programs_folder(folder: &Path) -> Option<PathBuf> {
    let real = folder.join("postgres").canonicalize().ok()?;
    [real.parent()?, folder].into_iter().find(|folder| folder.join("initdb").is_file()).map(Path::to_path_buf)
}

/// `15.13 (Debian 15.13-0+deb12u1)` is (15, 13), `18beta1` is (18, 0).
pub(super) fn version_number(version: &str) -> Option<(u32, u32)> {
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().ok()
    };
    let minor = version.split_whitespace().next()?.split_once('.');
    Some((digits(version)?, minor.and_then(|(_, minor)| digits(minor)).unwrap_or(0)))
}
