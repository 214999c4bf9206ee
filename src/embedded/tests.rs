//! The private database started, killed, refused and started again.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

use super::programs::version_number;
use super::{Account, Cluster, Durability, EmbeddedError, Home, Programs};
use super::{connection_url, default_home_of};

/// A short home under the system's temporary folder, removed at the end.
struct TestHome(PathBuf);

impl TestHome {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mes-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(name))
    }

    fn start(&self) -> Result<Cluster, EmbeddedError> {
        Cluster::start(&self.0, Durability::None)
    }
}

impl Drop for TestHome {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn try_query(cluster: &Cluster, url: &str, sql: &str) -> Result<String, String> {
    let output = Command::new(cluster.bin_dir().join("psql"))
        .args(["--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-Atqc", sql, url])
        // Where these count, the URL is not complete.
        .envs([("PGPORT", "1"), ("PGHOST", "nowhere.invalid"), ("PGSSLMODE", "require")])
        .output()
        .unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    } else {
        Err(String::from_utf8(output.stderr).unwrap())
    }
}

fn query(cluster: &Cluster, url: &str, sql: &str) -> String {
    try_query(cluster, url, sql).unwrap()
}

/// As root another user has to pass through, whatever the umask of the tests.
fn open_up(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o711)).unwrap();
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(30), "waited in vain until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Ends without stopping the child, as if killed: it only gives the lock back, as the kernel would.
fn abandon(cluster: Cluster) -> Pid {
    let pid = cluster.postmaster.pid();
    let Cluster { postmaster, _lock, .. } = cluster;
    std::mem::forget(postmaster);
    pid
}

#[test]
fn the_first_start_makes_a_database_for_an_unprivileged_role() {
    let home = TestHome::new();
    let cluster = home.start().unwrap();
    let about = "select current_user, current_database(), rolsuper or rolcreatedb or rolcreaterole, \
                 current_setting('server_encoding'), current_setting('data_checksums'), \
                 current_setting('listen_addresses'), current_setting('TimeZone') \
                 from pg_roles where rolname = current_user";
    assert_eq!(query(&cluster, cluster.url(), about), "mancala|mancala|f|UTF8|on||UTC");
    query(&cluster, cluster.url(), "create schema s create table t (id int)");
    assert!(try_query(&cluster, cluster.url(), "create database another").is_err());
    query(&cluster, cluster.admin_url(), "create database another template mancala owner mancala");
    assert!(cluster.liveness().is_alive());
    assert_eq!(fs::metadata(home.0.join("pg")).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(&home.0).unwrap().uid(), geteuid().as_raw());
    assert!(fs::read_dir(&home.0).unwrap().all(|entry| {
        let name = entry.unwrap().file_name();
        ["pg", "postgres.log", "server.lock"].iter().any(|expected| name == *expected)
    }));
}

#[test]
fn full_durability_is_what_it_says() {
    let home = TestHome::new();
    let cluster = Cluster::start(&home.0, Durability::Full).unwrap();
    let settings = "select string_agg(setting, ' ') from pg_settings \
                    where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums')";
    assert_eq!(query(&cluster, cluster.url(), settings), "on on on on");
}

#[test]
fn a_restart_keeps_the_data_and_removes_what_an_interrupted_creation_left() {
    let home = TestHome::new();
    let leftover = home.0.join("pg.unfinished-1-0/base");
    fs::create_dir_all(&leftover).unwrap();
    open_up(&home.0);
    let cluster = home.start().unwrap();
    assert!(!leftover.exists());
    query(&cluster, cluster.url(), "create table kept as select 42 as answer");
    let version = fs::read(home.0.join("pg/PG_VERSION")).unwrap();
    cluster.stop();
    assert!(!home.0.join("pg/postmaster.pid").exists(), "it was not shut down in order");
    let cluster = home.start().unwrap();
    assert_eq!(query(&cluster, cluster.url(), "select answer from kept"), "42");
    assert_eq!(fs::read(home.0.join("pg/PG_VERSION")).unwrap(), version);
}

#[test]
fn a_second_server_on_the_same_home_is_refused() {
    let home = TestHome::new();
    let _first = home.start().unwrap();
    let message = home.start().unwrap_err().to_string();
    assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
    assert!(message.contains("MANCALA_DATA_DIR"), "{message}");
}

#[test]
fn a_killed_child_is_started_again_with_its_data() {
    let home = TestHome::new();
    let mut cluster = home.start().unwrap();
    query(&cluster, cluster.url(), "create table kept as select 42 as answer");
    let (liveness, killed) = (cluster.liveness(), cluster.postmaster.pid());
    let (stop, stopped) = mpsc::channel();
    let killer = thread::spawn(move || {
        for expected in [false, true] {
            if !expected {
                kill(killed, Signal::SIGKILL).unwrap();
            }
            wait_until("the flag changes", || liveness.is_alive() == expected);
        }
        stop.send(()).unwrap();
    });
    cluster.watch(&stopped);
    killer.join().unwrap();
    assert_ne!(cluster.postmaster.pid(), killed);
    assert_eq!(query(&cluster, cluster.url(), "select answer from kept"), "42");
}

#[test]
fn watching_ends_when_the_server_thread_is_gone_even_while_the_database_cannot_start() {
    let home = TestHome::new();
    let mut cluster = home.start().unwrap();
    let liveness = cluster.liveness();
    let (stop, stopped) = mpsc::channel::<()>();
    fs::write(home.0.join("pg/postgresql.conf"), "nonsense = 1\n").unwrap();
    kill(cluster.postmaster.pid(), Signal::SIGKILL).unwrap();
    let server = thread::spawn(move || {
        wait_until("the end is noticed", || !liveness.is_alive());
        thread::sleep(Duration::from_millis(500));
        assert!(!liveness.is_alive());
        drop(stop);
    });
    cluster.watch(&stopped);
    server.join().unwrap();
    drop(cluster);
    let message = home.start().unwrap_err().to_string();
    assert!(message.contains("nonsense"), "the log is not quoted: {message}");
}

#[test]
fn an_earlier_child_that_was_killed_and_keeps_its_id_does_not_block() {
    let home = TestHome::new();
    let earlier = abandon(home.start().unwrap());
    // Nobody takes its exit status, as in a container whose first process does not care for orphans.
    kill(earlier, Signal::SIGKILL).unwrap();
    home.start().unwrap();
}

#[test]
fn the_child_of_an_earlier_run_is_stopped_and_waited_for() {
    let home = TestHome::new();
    let cluster = home.start().unwrap();
    let earlier = abandon(cluster);
    let cluster = home.start().unwrap();
    assert_ne!(cluster.postmaster.pid(), earlier);
    assert!(fs::read_to_string(home.0.join("postgres.log")).unwrap().contains("fast shutdown"));
}

#[cfg(target_os = "linux")]
#[test]
fn the_child_ends_with_the_thread_that_started_it() {
    let home = TestHome::new();
    let path = home.0.clone();
    let pid = thread::spawn(move || abandon(Cluster::start(&path, Durability::None).unwrap()).as_raw())
        .join()
        .unwrap();
    // An ended child that nobody has waited for keeps its id but has no command line.
    wait_until("it has ended", || fs::read(format!("/proc/{pid}/cmdline")).unwrap().is_empty());
    home.start().unwrap();
}

#[test]
fn stale_files_that_name_another_process_do_not_block() {
    let home = TestHome::new();
    home.start().unwrap().stop();
    let account = Account::choose(&home.0.join("pg")).unwrap();
    let mut stranger = Command::new("sleep");
    stranger.arg("60").stdin(Stdio::null());
    if let Some(account) = &account {
        account.apply(&mut stranger);
    }
    let mut stranger = stranger.spawn().unwrap();
    for file in ["postmaster.pid", ".s.PGSQL.5432.lock"] {
        fs::write(home.0.join("pg").join(file), format!("{}\n/somewhere\n", stranger.id())).unwrap();
    }
    let cluster = home.start();
    assert!(stranger.try_wait().unwrap().is_none(), "a stranger was stopped");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    cluster.unwrap();
}

#[test]
fn a_home_with_an_unusual_name_works() {
    let home = TestHome::new();
    // A comma would do as well, but not for psql, which takes it for a list of hosts.
    let cluster = Cluster::start(&home.0.join("a b \"ü%"), Durability::None).unwrap();
    assert_eq!(query(&cluster, cluster.url(), "select 1"), "1");
}

#[test]
fn too_long_a_socket_path_is_explained() {
    let home = TestHome::new();
    let message = Home::open(&home.0.join("x".repeat(100))).unwrap_err().to_string();
    assert!(message.contains("too long") && message.contains("MANCALA_DATA_DIR"), "{message}");
}

#[test]
fn a_foreign_folder_is_left_alone() {
    let home = TestHome::new();
    fs::create_dir_all(home.0.join("pg")).unwrap();
    open_up(&home.0);
    fs::write(home.0.join("pg/letter.txt"), "dear").unwrap();
    assert!(matches!(home.start(), Err(EmbeddedError::NotACluster { .. })));
}

#[test]
fn a_home_the_database_user_cannot_reach_is_named() {
    let home = TestHome::new();
    fs::create_dir_all(home.0.join("inner")).unwrap();
    open_up(&home.0.join("inner"));
    fs::set_permissions(&home.0, fs::Permissions::from_mode(0o700)).unwrap();
    let started = Cluster::start(&home.0.join("inner"), Durability::None);
    // Only root has to run the database as somebody else.
    if geteuid().is_root() {
        let message = started.unwrap_err().to_string();
        let folder = home.0.canonicalize().unwrap();
        assert!(message.contains(&format!("`chmod a+x {}`", folder.display())), "{message}");
    } else {
        started.unwrap();
    }
}

#[test]
fn without_programs_every_way_to_get_some_is_named() {
    let message = Programs::find_among(None, &["/nowhere".into()], None, None).unwrap_err().to_string();
    for way in [
        "sudo apt-get install postgresql\n",
        "brew install postgresql@17\n",
        "docker compose up\n",
        "PG_BIN_DIR",
        "DATABASE_URL",
    ] {
        assert!(message.contains(way), "{way} is missing in {message}");
    }
}

/// A folder of programs that claim to be of `version`.
fn pretend_programs(parent: &Path, version: &str) -> PathBuf {
    let folder = parent.join(version);
    fs::create_dir_all(&folder).unwrap();
    for program in ["postgres", "initdb"] {
        let path = folder.join(program);
        fs::write(&path, format!("#!/bin/sh\necho '{program} (PostgreSQL) {version} (Pretended)'\n"))
            .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder.canonicalize().unwrap()
}

#[test]
fn a_cluster_gets_programs_of_its_own_version() {
    let home = TestHome::new();
    let folders = ["9.6.24", "16.4", "16.10", "17beta1"].map(|version| pretend_programs(&home.0, version));
    let [old, _, newest_16, newest] = &folders;
    let find = |preferred, existing: Option<u32>| {
        let existing = existing.map(|major| (Path::new("/home/pg"), major));
        Programs::find_among(preferred, &folders, existing, None)
    };
    assert_eq!(find(None, None).unwrap().folder(), newest);
    assert_eq!(find(None, None).unwrap().version(), "17beta1 (Pretended)");
    assert_eq!(find(None, Some(16)).unwrap().folder(), newest_16);
    assert_eq!(find(Some(folders[1].as_path()), None).unwrap().folder(), folders[1]);
    assert_eq!(find(Some(folders[1].as_path()), Some(17)).unwrap().folder(), newest);
    assert_eq!(find(Some(old), None).unwrap().folder(), newest);

    let message = find(None, Some(18)).unwrap_err().to_string();
    for part in ["made by PostgreSQL 18", "16.10 (Pretended)", "postgresql-18", "pg_upgrade"] {
        assert!(message.contains(part), "{part} is missing in {message}");
    }
    let message = Programs::find_among(None, &folders[..1], None, None).unwrap_err().to_string();
    assert!(message.contains("only an older one is installed (9.6.24"), "{message}");
}

#[test]
fn programs_are_found_through_links() {
    let home = TestHome::new();
    let folder = pretend_programs(&home.0, "16.4");
    let links = home.0.join("links");
    fs::create_dir(&links).unwrap();
    std::os::unix::fs::symlink(folder.join("postgres"), links.join("postgres")).unwrap();
    assert_eq!(Programs::find_among(None, &[links], None, None).unwrap().folder(), folder);
}

#[test]
fn versions_are_read_as_postgresql_writes_them() {
    for (text, number) in [
        ("15.13 (Debian 15.13-0+deb12u1)", Some((15, 13))),
        ("17.0", Some((17, 0))),
        ("18beta1", Some((18, 0))),
        ("19devel", Some((19, 0))),
        ("new", None),
        ("", None),
    ] {
        assert_eq!(version_number(text), number, "{text}");
    }
}

#[test]
fn the_default_home_follows_the_platform() {
    let (xdg, user) = (|| Some("/data".into()), || Some("/home/ann".into()));
    for (found, expected) in [
        (default_home_of(true, false, xdg(), user()), "/var/lib/mancala-server"),
        (default_home_of(false, false, xdg(), user()), "/data/mancala-server"),
        (default_home_of(false, false, None, user()), "/home/ann/.local/share/mancala-server"),
        (default_home_of(false, false, Some("rel".into()), user()), "/home/ann/.local/share/mancala-server"),
        (default_home_of(false, true, xdg(), user()), "/home/ann/Library/Application Support/mancala-server"),
        (default_home_of(false, false, None, None), "/var/lib/mancala-server"),
    ] {
        assert_eq!(found, Path::new(expected));
    }
}

#[test]
fn a_url_spells_the_socket_folder_in_ascii() {
    assert_eq!(
        connection_url("u", "d", Path::new("/a b/ü&")),
        "postgres://u@localhost:5432/d?sslmode=disable&host=%2Fa%20b%2F%C3%BC%26"
    );
}
