//! The server as a program of its own, on the database of a server of the tests.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::ConnectOptions;

use super::{KEY, TestServer};

/// A program that runs, everything that it logs kept.
pub struct Program {
    child: Child,
    /// Where it listens.
    pub url: String,
    /// Reads until it ends.
    log: Option<JoinHandle<Vec<String>>>,
}

impl Program {
    /// On the database of a server of the tests, listening here.
    pub fn on(server: &TestServer, listen: &str, log_filter: &str) -> Self {
        // At run time: a copy of this test may be run with a copy of the program.
        let path = std::env::var_os("CARGO_BIN_EXE_mancala-server").expect("cargo sets it");
        let database = server.database_options().to_url_lossy();
        let mut child = Command::new(path)
            .args(["--listen", listen, "--address-limit", "0"])
            .env("MANCALA_LIMITS", "off")
            .env("DATABASE_URL", database.as_str())
            .env("MANCALA_JWT_KEYS", KEY)
            .env("MANCALA_LOG", log_filter)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).split(b'\n');
        let mut url = None;
        while url.is_none() {
            let line = said.next().expect("the server says where it listens").unwrap();
            let line = String::from_utf8(line).unwrap();
            url = line
                .split("listens on ")
                .nth(1)
                .map(|rest| rest.split([' ', '"']).next().unwrap().to_owned());
        }
        let rest = said.map_while(Result::ok);
        let log = std::thread::spawn(move || {
            rest.map(|line| String::from_utf8(line).expect("the log is UTF-8")).collect()
        });
        Self { child, url: url.unwrap(), log: Some(log) }
    }

    /// Ends it as it should be ended: what it has logged.
    pub fn end(mut self) -> Vec<String> {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        self.log.take().unwrap().join().unwrap()
    }
}

impl Drop for Program {
    /// Ends it as nobody should be.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
