//! A server of a benchmark's own, on a private database that goes with it.

use std::net::TcpListener;
use std::path::PathBuf;
use std::str::FromStr;

use mancala_server::account::SigningKeys;
use mancala_server::embedded::{Cluster, Durability};
use mancala_server::server::{Server, Settings, start};
use sqlx::postgres::PgConnectOptions;
use tokio::runtime::Runtime;

/// A server without limits, and what it runs on.
pub struct Own {
    /// The folder of everything.
    pub home: PathBuf,
    /// The database.
    pub cluster: Cluster,
    /// For clients too.
    pub runtime: Runtime,
    /// The server.
    pub server: Server,
}

impl Own {
    /// Starts it.
    pub fn start() -> Self {
        let home = std::env::temp_dir().join(format!("mancala-bench-{}", std::process::id()));
        let cluster = Cluster::start(&home, Durability::Full).expect("the private database starts");
        let runtime = Runtime::new().expect("a runtime");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let settings = Settings::unlimited(listener, database(&cluster), keys());
        let server = runtime.block_on(start(settings)).expect("the server starts");
        Self { home, cluster, runtime, server }
    }

    /// Ends it, and leaves nothing behind.
    pub fn stop(self) {
        self.runtime.block_on(self.server.stop());
        drop(self.cluster);
        std::fs::remove_dir_all(&self.home).expect("its own folder");
    }
}

/// With which it signs access tokens.
pub fn keys() -> SigningKeys {
    SigningKeys::parse("dGVzdCBrZXkgb2YgdGhlIG1hbmNhbGEgdGVzdHMsIDMyIGJ5dGVz").expect("a key")
}

/// How its database is reached.
pub fn database(cluster: &Cluster) -> PgConnectOptions {
    PgConnectOptions::from_str(cluster.url()).expect("its own URL")
}
