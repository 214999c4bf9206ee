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
use rustls::ServerConfig;
#[cfg(target_os = "linux")]
use socket2::SockRef;
use sqlx::postgres::PgConnectOptions;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use utoipa_actix_web::AppExt;

use crate::account::{Cost, SigningKeys};
use crate::budget::PlayerBudgets;
use crate::cpu::Memory;
use crate::embedded::Liveness;
use crate::proxies::TrustedProxies;
use crate::service::{self, Service};
use crate::store::{self, Database};
use crate::telemetry::Metrics;
use crate::{http, worker};

/// In which the headers of a request have to arrive.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// HTTP threads: each has database connections of its own, which the database has to have room for.
const MOST_THREADS: usize = 8;
/// How long an idle connection is kept.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// In which whoever is sent something has to take some of it.
const TAKEN_WITHIN: Duration = Duration::from_secs(30);
/// How many bytes the system keeps of what it cannot send yet.
const UNSENT: u32 = 32 * 1024;
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
    /// Guests, joins and refreshes a minute for one address, and multiples of it for all else; 0 is no limit.
    pub address_limit: u32,
    /// Requests of each class a minute for one player.
    pub player_budgets: PlayerBudgets,
    /// Which proxies are believed when they say from where a request came.
    pub trusted_proxies: TrustedProxies,
    /// How it is spoken with.
    pub transport: Transport,
    /// After how many days of silence a guest is removed; 0 is never.
    pub guest_days: u32,
    /// How much the tables of the computer players may take.
    pub tables: Memory,
}

/// How a server is spoken with.
#[derive(Default)]
pub struct Transport {
    /// The certificate and the key with which it speaks TLS itself.
    pub tls: Option<ServerConfig>,
    /// For how many seconds browsers are to speak nothing but TLS with it; 0 leaves that to them.
    pub hsts_seconds: u32,
    /// Origins that may call from a browser; none named means any.
    pub cors_origins: Vec<String>,
}

impl Settings {
    /// A server without limits, speaking plain HTTP, with small tables: for tests and benchmarks.
    pub fn unlimited(listener: TcpListener, database: PgConnectOptions, keys: SigningKeys) -> Self {
        Self {
            listener,
            database,
            keys,
            password_cost: Cost::default(),
            embedded: None,
            address_limit: 0,
            player_budgets: PlayerBudgets::OFF,
            trusted_proxies: TrustedProxies::default(),
            transport: Transport::default(),
            guest_days: 0,
            tables: Memory::server(2),
        }
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database cannot be reached.
    #[error("the database cannot be reached: {0}")]
    Database(#[from] sqlx::Error),
    /// The database does not answer as it should.
    #[error(transparent)]
    Service(#[from] service::Error),
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
    secure: bool,
    service: Arc<Service>,
    stopping: CancellationToken,
    http: ServerHandle,
    serving: JoinHandle<std::io::Result<()>>,
    loops: JoinSet<()>,
}

/// Starts a server: migrates the database, then listens. The process may have as many files open then as it is allowed.
///
/// # Errors
/// When the database cannot be reached or migrated, or the listener cannot be used.
pub async fn start(settings: Settings) -> Result<Server, StartError> {
    raise_open_files();
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
    let limits = Data::new(http::Limits::new(
        settings.address_limit,
        settings.player_budgets,
        settings.trusted_proxies,
    ));
    // Before the first request: a session may have ended a moment ago, elsewhere or before a restart.
    service.read_ended().await?;
    let loops = worker::start(&service, settings.guest_days);
    let address = settings.listener.local_addr()?;
    give_up_on_silence(&settings.listener)?;

    let (shared, metrics) = (service.clone(), Data::from(metrics));
    let Transport { tls, hsts_seconds, cors_origins: origins } = settings.transport;
    let secure = tls.is_some();
    let (embedded, hsts) = (Data::new(settings.embedded), Data::new(http::Hsts::new(hsts_seconds)));
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let server = HttpServer::new(move || {
        // Called once on each HTTP thread.
        App::new()
            .app_data(Data::new(shared.on(Database::new(database.clone()))))
            .app_data(metrics.clone())
            .app_data(limits.clone())
            .app_data(embedded.clone())
            .app_data(hsts.clone())
            .wrap(from_fn(http::gate))
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
    // Whoever hangs up waits for nothing any more: streams and long polls end at once, not at the next heartbeat.
    .h1_allow_half_closed(false)
    // A compressed answer goes out in several writes, and must not wait for the first to be acknowledged.
    .tcp_nodelay(true)
    .shutdown_timeout(STOP_WITHIN_SECONDS);
    let server = match tls {
        Some(tls) => server.listen_rustls_0_23(settings.listener, tls)?,
        None => server.listen(settings.listener)?,
    }
    .run();
    let (http, serving) = (server.handle(), tokio::spawn(server));
    Ok(Server { address, secure, service, stopping, http, serving, loops })
}

/// Each open stream is an open file, and systems begin with a low limit that everybody may raise.
pub fn raise_open_files() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let maximum = getrlimit(Resource::Nofile).maximum;
        // Where that is refused, the lower limit holds.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

impl Server {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// With which scheme, and where.
    pub fn url(&self) -> String {
        format!("{}://{}", if self.secure { "https" } else { "http" }, self.address)
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
        // What was done since the stop began.
        worker::send_news_now(&self.service).await;
        self.service.close().await;
    }
}

/// Has the system close connections whose other end takes nothing for so long, and keep little for them until then: so a
/// reader of a stream who is slow, or gone without a word, costs neither memory nor a connection for long. What comes in
/// by a listener inherits this from it.
fn give_up_on_silence(listener: &TcpListener) -> std::io::Result<()> {
    // Other systems do without.
    #[cfg(target_os = "linux")]
    {
        let socket = SockRef::from(listener);
        socket.set_tcp_user_timeout(Some(TAKEN_WITHIN))?;
        socket.set_tcp_notsent_lowat(UNSENT)?;
    }
    Ok(())
}

/// Tokens travel in a header that no browser sends by itself, never in a cookie. So any origin may be let in, and none is
/// ever allowed credentials: that is left at its default, which is off.
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
    let mut origins = origins.iter().filter(|origin| !origin.is_empty()).peekable();
    if origins.peek().is_none() {
        cors.allow_any_origin().send_wildcard()
    } else {
        origins.fold(cors, |cors, origin| cors.allowed_origin(origin))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use socket2::SockRef;

    use super::{TAKEN_WITHIN, UNSENT, give_up_on_silence};

    #[test]
    fn what_comes_in_by_a_listener_inherits_its_limits() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        give_up_on_silence(&listener).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let socket = SockRef::from(&accepted);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(TAKEN_WITHIN));
        assert_eq!(socket.tcp_notsent_lowat().unwrap(), UNSENT);
    }
}
