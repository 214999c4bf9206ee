//! Puts the parts together: database, use cases, workers, HTTP. The binary runs one of these, a test as many as it likes.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use actix_cors::Cors;
use actix_web::dev::ServerHandle;
use actix_web::http::header::{ETAG, HeaderName, LOCATION, RETRY_AFTER};
use actix_web::middleware::{Compress, from_fn};
use actix_web::web::Data;
use actix_web::{App, HttpServer};
use sqlx::postgres::PgConnectOptions;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use utoipa_actix_web::AppExt;

use crate::account::{Cost, SigningKeys};
use crate::cpu::Memory;
use crate::embedded::Liveness;
use crate::service::Service;
use crate::store::{self, Database};
use crate::telemetry::Metrics;
use crate::{http, worker};

/// In which the headers of a request have to arrive.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// HTTP threads: each has database connections of its own, which the database has to have room for.
const MOST_THREADS: usize = 8;
/// How long an idle connection is kept.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// How long a stop waits for requests that are being answered.
const STOP_WITHIN_SECONDS: u64 = 30;

/// What a server needs to run.
pub struct Settings {
    /// Already bound, so that the caller knows the port.
    pub listener: TcpListener,
    /// Where the database is.
    pub database: PgConnectOptions,
    /// Which keys sign and verify access tokens.
    pub keys: SigningKeys,
    /// What a password costs to hash.
    pub password_cost: Cost,
    /// Whether the embedded database runs, where there is one.
    pub embedded: Option<Liveness>,
    /// Guests, joins and refreshes a minute for one address; 0 is no limit.
    pub address_limit: u32,
    /// Origins that may call from a browser; none named means any.
    pub cors_origins: Vec<String>,
    /// How much the tables of the computer players may take.
    pub tables: Memory,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database cannot be reached.
    #[error("the database cannot be reached: {0}")]
    Database(#[from] sqlx::Error),
    /// The schema cannot be brought up to date.
    #[error("the database cannot be migrated: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// The address cannot be listened on.
    #[error("cannot serve: {0}")]
    Io(#[from] std::io::Error),
}

/// A running server.
pub struct Server {
    address: SocketAddr,
    service: Arc<Service>,
    stopping: CancellationToken,
    http: ServerHandle,
    serving: JoinHandle<std::io::Result<()>>,
    loops: JoinSet<()>,
}

/// Starts a server: migrates the database, then listens.
///
/// # Errors
/// When the database cannot be reached or migrated, or the listener cannot be used.
pub async fn start(settings: Settings) -> Result<Server, StartError> {
    let database = settings.database;
    store::migrate(&database).await?;
    let own = Database::new(database.clone());
    let stopping = CancellationToken::new();
    let metrics = Arc::new(Metrics::new());
    let service = Arc::new(Service::new(
        own,
        settings.keys,
        settings.password_cost,
        metrics.clone(),
        stopping.clone(),
        settings.tables,
    ));
    let limits = Data::new(http::Limits::new(settings.address_limit));
    let loops = worker::start(&service);
    let address = settings.listener.local_addr()?;

    let (shared, metrics) = (service.clone(), Data::from(metrics));
    let (embedded, origins) = (Data::new(settings.embedded), settings.cors_origins);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let server = HttpServer::new(move || {
        // Called once on each HTTP thread.
        App::new()
            .app_data(Data::new(shared.on(Database::new(database.clone()))))
            .app_data(metrics.clone())
            .app_data(limits.clone())
            .app_data(embedded.clone())
            .wrap(from_fn(http::known_parameters))
            .wrap(Compress::default())
            .wrap(cors(&origins))
            .wrap(from_fn(http::frame))
            .into_utoipa_app()
            .configure(http::operations)
            .into_app()
            .configure(http::surroundings)
    })
    .workers(threads)
    .disable_signals()
    .client_request_timeout(HEADERS_WITHIN)
    .keep_alive(KEEP_ALIVE)
    // A compressed answer goes out in several writes, and must not wait for the first to be acknowledged.
    .tcp_nodelay(true)
    .shutdown_timeout(STOP_WITHIN_SECONDS)
    .listen(settings.listener)?
    .run();
    Ok(Server { address, service, stopping, http: server.handle(), serving: tokio::spawn(server), loops })
}

impl Server {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its use cases.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Returns when a part of the server has ended by itself, which none should.
    pub async fn broken(&mut self) {
        tokio::select! {
            _ = &mut self.serving => {}
            _ = self.loops.join_next() => {}
        }
    }

    /// Answers every request that has come in, cuts waiting ones short, and ends.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        self.http.stop(true).await;
        if let Ok(Err(error)) = self.serving.await {
            tracing::error!(error.message = %error, "the HTTP server failed");
        }
        while self.loops.join_next().await.is_some() {}
        self.service.close().await;
    }
}

/// Tokens travel in a header, never in a cookie, so any origin may be let in.
fn cors(origins: &[String]) -> Cors {
    let cors = Cors::default()
        .allow_any_method()
        .allow_any_header()
        .expose_headers([
            ETAG,
            LOCATION,
            RETRY_AFTER,
            HeaderName::from_static("x-request-id"),
            HeaderName::from_static("ratelimit"),
            HeaderName::from_static("ratelimit-policy"),
        ])
        .max_age(3600);
    if origins.is_empty() {
        cors.allow_any_origin().send_wildcard()
    } else {
        origins.iter().fold(cors, |cors, origin| cors.allowed_origin(origin))
    }
}
