//! Whether the service runs, and how it does.

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use serde::Serialize;
use utoipa::ToSchema;

use super::problem::{Failure, ProblemCode};
use crate::embedded::Liveness;
use crate::service::Service;
use crate::telemetry::{Gauges, Metrics};

/// How the service is.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"status": "ok"}))]
pub struct Health {
    /// Always ok: a service that is not answers with a problem.
    #[schema(example = "ok")]
    pub status: &'static str,
}

const OK: Health = Health { status: "ok" };

/// Is the process alive?
///
/// Says nothing about the database.
#[utoipa::path(tag = "service", responses((status = 200, description = "It is.", body = Health)))]
#[get("/healthz")]
pub async fn get_health() -> HttpResponse {
    HttpResponse::Ok().json(OK)
}

/// Can the service do its work?
///
/// The database answers and has every migration.
#[utoipa::path(tag = "service", responses((status = 200, description = "It can.", body = Health)))]
#[get("/readyz")]
pub async fn get_readiness(
    service: Data<Service>,
    embedded: Data<Option<Liveness>>,
) -> Result<HttpResponse, Failure> {
    let not = |detail: &str| Err(Failure::new(ProblemCode::Unavailable, detail).retry_after(2));
    if embedded.as_ref().as_ref().is_some_and(|database| !database.is_alive()) {
        return not("the embedded database is starting again");
    }
    match service.is_ready().await {
        Ok(true) => Ok(HttpResponse::Ok().json(OK)),
        Ok(false) => not("the database lacks migrations"),
        Err(_) => not("the database cannot be reached"),
    }
}

/// Metrics
///
/// In the text format of Prometheus: requests by route and status, moves, games by status, database
/// connections, and what the computer's searches wait for and take.
#[utoipa::path(tag = "service",
    responses((status = 200, description = "The metrics.", content_type = "text/plain", body = String)))]
#[get("/metrics")]
pub async fn get_metrics(
    service: Data<Service>,
    metrics: Data<Metrics>,
    embedded: Data<Option<Liveness>>,
) -> HttpResponse {
    // Without a database the process still has metrics to show.
    let games = service.games_by_status().await.unwrap_or_default();
    let embedded = embedded.as_ref().as_ref().map(Liveness::is_alive);
    let (connections, waiting) = (service.connections(), service.waiting_to_think());
    let text = metrics.text(&Gauges { games, connections, embedded, waiting });
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(text)
}
