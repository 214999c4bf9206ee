//! Starting: several processes on one empty database.

use crate::harness::{TestServer, run};

#[test]
fn servers_that_start_at_once_on_an_empty_database_migrate_it_once() {
    run(async || {
        let database = TestServer::empty_database().await;
        let (one, other) = tokio::join!(TestServer::on(database.clone()), TestServer::on(database.clone()));
        let guest = one.guest("Ana").await;
        other.nobody().get("/readyz").await.ok(200);
        other.nobody().get(&format!("/v1/players/{}", guest.id)).await.ok(200);
        one.stop().await;
        other.stop().await;
    });
}
