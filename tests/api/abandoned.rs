//! Requests whose clients go away in the middle.

use std::future::poll_fn;
use std::task::Poll;

use mancala_server::account::Name;
use mancala_server::engine::Variant;
use mancala_server::ids::PlayerId;
use mancala_server::options::Asked;
use mancala_server::store::GroupSettings;
use uuid::Uuid;

use crate::harness::{at_once, test};

/// Polls a request until it waits for the `waits`-th time, then drops it there.
async fn abandon(request: impl Future, mut waits: usize) {
    let mut request = std::pin::pin!(request);
    poll_fn(|context| match request.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(()),
        Poll::Pending => {
            waits -= 1;
            if waits == 0 { Poll::Ready(()) } else { Poll::Pending }
        }
    })
    .await;
}

#[test]
fn an_abandoned_request_leaves_no_transaction_to_the_next_one() {
    test(async |server| {
        let guests = at_once((0..12).map(|i| {
            let nobody = server.nobody();
            async move {
                nobody.post("/v1/guests", serde_json::json!({ "name": format!("Guest {i}") })).await.ok(201)
            }
        }))
        .await;
        let ids: Vec<PlayerId> = guests
            .iter()
            .map(|made| made["player"]["id"].as_str().unwrap().parse::<Uuid>().unwrap().into())
            .collect();
        for round in 0..20_u64 {
            // Dropped while it waits for the last time, the one before, and so on: from its COMMIT back to its BEGIN, which
            // is the worst and must not be mended by a later one.
            for waits in (1..12).rev() {
                let new =
                    GroupSettings { variant: Variant::Kalah, options: Asked::default(), private: false };
                abandon(server.service().create_group(ids[0], new, None), waits).await;
            }
            // What is acknowledged then is there for everybody: no open transaction holds it back. So many at once that
            // every connection has its turn.
            let name = format!("Guest of round {round}");
            at_once(ids.iter().map(|id| {
                let (service, id) = (server.service().clone(), *id);
                let name = Name::try_from(name.as_str()).unwrap();
                async move { service.update_player(id, Some(&name), None).await.unwrap() }
            }))
            .await;
            let seen: i64 = sqlx::query_scalar("select count(*) from player where name = $1")
                .bind(&name)
                .fetch_one(&mut server.database().await)
                .await
                .unwrap();
            assert_eq!(seen, 12, "round {round}");
        }
    });
}
