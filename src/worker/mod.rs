//! Background loops. Their work is found in the database, so it survives the end of any process; a bell in the process
//! only makes the usual case immediate.

mod computer;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::service::Service;

/// How often what has outlived its use is looked for.
const CLEAN_EVERY: Duration = Duration::from_secs(600);

/// All loops, running until the service stops.
pub fn start(service: &Arc<Service>) -> JoinSet<()> {
    let mut loops = JoinSet::new();
    loops.spawn(computer::play_turns(service.clone()));
    loops.spawn(clean_up(service.clone()));
    loops
}

async fn clean_up(service: Arc<Service>) {
    loop {
        tokio::select! {
            () = sleep(CLEAN_EVERY) => {}
            () = service.stopping.cancelled() => return,
        }
        if let Err(error) = service.forget_old().await {
            tracing::warn!(error.message = %error, "clean-up failed; it is tried again later");
        }
    }
}
