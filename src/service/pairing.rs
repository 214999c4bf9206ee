//! Pairing those who wait for a ranked game: one round of every queue at a time, safe with several processes.

use super::games::{Setup, random_seed, rng_of};
use super::{Result, Service, Topic};
use crate::ids::GameId;
use crate::matching::{pair, seat_order};
use crate::options::{Asked, Options, StandIn};
use crate::store::{self, Occupant, Queue, SeatRating, Waiter};

/// For how many seconds a player may be silent before a ticket dies: longer than a poll of it lasts.
const SILENCE: f64 = 30.0;

impl Service {
    /// One round of pairing in every queue in which anybody waits. How many games have begun.
    ///
    /// # Errors
    /// When the database fails; games that have begun by then go on.
    pub async fn pair_all(&self) -> Result<usize> {
        let mut db = self.database.connection().await?;
        let queues = store::queues(&mut db).await?;
        db.done();
        let mut begun = 0;
        for queue in queues {
            begun += self.pair_queue(queue).await?;
        }
        Ok(begun)
    }

    /// One round in a queue, unless another process is at it.
    async fn pair_queue(&self, queue: Queue) -> Result<usize> {
        // Only holds the lock: each match is a short transaction of its own.
        let mut round = self.database.begin().await?;
        if !store::try_lock_queue(&mut round, queue).await? {
            return Ok(0);
        }
        let mut db = self.database.connection().await?;
        for (ticket, player) in store::expire_tickets(&mut db, queue, SILENCE).await? {
            self.news.tell(Topic::Ticket(ticket), 0);
            self.news.tell(Topic::Player(player), 0);
        }
        let waiters = store::waiters(&mut db, queue).await?;
        db.done();
        let waiting: Vec<_> = waiters.iter().map(|waiter| waiter.waiting.clone()).collect();
        let seats = usize::from(queue.players);
        let matches = tokio::task::spawn_blocking(move || pair(&waiting, seats));
        let matches = matches.await.expect("pairing does not panic");
        let mut begun = 0;
        for one in matches {
            let together: Vec<&Waiter> = one.tickets.iter().map(|&i| &waiters[i]).collect();
            begun += usize::from(self.begin_ranked(queue, &together).await?);
        }
        Ok(begun)
    }

    /// Begins the game of those who were matched, if all of them are still waiting.
    async fn begin_ranked(&self, queue: Queue, together: &[&Waiter]) -> Result<bool> {
        let id = GameId::new();
        let seed = random_seed();
        let balances: Vec<i32> = together.iter().map(|waiter| waiter.start_balance).collect();
        let seated: Vec<&Waiter> =
            seat_order(&balances, &mut rng_of(seed)).into_iter().map(|i| together[i]).collect();
        let tickets: Vec<_> = together.iter().map(|waiter| waiter.ticket).collect();
        let seats: Vec<_> =
            seated.iter().map(|waiter| (Occupant::Person(waiter.player.clone()), None)).collect();
        let ratings: Vec<_> = seated
            .iter()
            .map(|waiter| SeatRating {
                before: waiter.waiting.standing.rating.displayed(),
                after: None,
                provisional: waiter.waiting.standing.deviation.is_provisional(),
            })
            .collect();
        let options = options(queue);
        let setup = Setup {
            group: None,
            rematch_of: None,
            options: &options,
            seed,
            starter: 0,
            seats: &seats,
            ratings: &ratings,
        };
        let mut tx = self.database.begin().await?;
        if !store::lock_waiting(&mut tx, &tickets).await? {
            return Ok(false);
        }
        // Somebody has blocked another, or become a bot, since they were read.
        if !store::may_meet(&mut tx, &tickets).await? {
            return Ok(false);
        }
        self.insert_game(&mut tx, id, &setup).await?;
        store::match_tickets(&mut tx, &tickets, id).await?;
        tx.commit().await?;
        for waiter in together {
            self.news.tell(Topic::Ticket(waiter.ticket), 0);
            self.news.tell(Topic::Player(waiter.waiting.player), 0);
            self.metrics.matched(queue.pool().as_str(), waiter.waiting.waited);
        }
        Ok(true)
    }
}

/// The standard local rules, which all ranked games are played by (`docs/rules.md`, "Ranked result").
fn options(queue: Queue) -> Options {
    let asked = Asked {
        turn_seconds: Some(Some(queue.turn_seconds)),
        stand_in: Some(StandIn::Easy),
        ..Asked::default()
    };
    Options::effective(queue.variant, queue.players, &asked).expect("tickets are checked when they are made")
}
