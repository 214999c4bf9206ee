//! Requests whose clients go away in the middle.

use std::time::Duration;

use mancala_server::engine::Variant;
use mancala_server::options::Asked;
use mancala_server::service::NewGroup;
use serde_json::json;
use tokio::time::timeout;
use uuid::Uuid;

use crate::harness::test;

#[test]
fn an_abandoned_request_leaves_no_transaction_to_the_next_one() {
    test(async |server| {
        let guest = server.guest("Ana").await;
        let id = guest.id.parse::<Uuid>().unwrap().into();
        // Dropped at every moment from before its BEGIN to after its COMMIT.
        for i in 0..2_000_u64 {
            let new = NewGroup { variant: Variant::Kalah, options: Asked::default(), private: false };
            let request = server.service().create_group(id, new, None);
            let _ = timeout(Duration::from_micros(i % 400), request).await;
            if i % 50 == 0 {
                // What is acknowledged must be there for everybody: no open transaction holds it back.
                let name = format!("Ana {i}");
                let name = mancala_server::account::Name::try_from(name.as_str()).unwrap();
                server.service().rename(id, &name).await.unwrap();
                let seen: String = sqlx::query_scalar("select name from player where id::text = $1")
                    .bind(&guest.id)
                    .fetch_one(&mut server.database().await)
                    .await
                    .unwrap();
                assert_eq!(seen, name.as_str());
            }
        }
        guest.post("/v1/groups", json!({ "variant": "kalah" })).await.ok(201);
    });
}
