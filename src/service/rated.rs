//! How a ranked game ends: its last event, the ratings, the receipts and the players' release are one transaction.

use super::{Result, Service};
use crate::engine::{EndReason, Seat};
use crate::matching::start_share;
use crate::pool::Pool;
use crate::rating::rate;
use crate::store::{self, Appended, Condition, LockedRating, Progress, SeatChange, SeatRating, StoredGame};

impl Service {
    /// Appends events that end a ranked game, or with which `no_show` has missed its very first turn. In one
    /// transaction with all that follows from them; `None` as in [`store::append`], with nothing written. Otherwise what
    /// was appended, and the ratings by seat as everybody in the game is shown them.
    pub(super) async fn append_ranked(
        &self,
        stored: &StoredGame,
        progress: &Progress<'_>,
        condition: Condition,
        no_show: Option<Seat>,
    ) -> Result<Option<(Appended, Vec<Option<SeatRating>>)>> {
        let mut tx = self.database.begin().await?;
        let end = progress.game.end();
        let rules = stored.options.rules();
        let pool = Pool::of(rules.variant(), rules.players());
        let mut changes = Vec::new();
        if end.is_some_and(|end: EndReason| !end.is_abort()) {
            let players: Vec<_> = stored.seats.iter().filter_map(|who| Some(who.person()?.id)).collect();
            // Before the game's own row: whoever rates another game of theirs waits here, and no reader waits for us.
            let locked = store::lock_ratings(&mut tx, pool, &players).await?;
            changes = changes_of(stored, progress, &locked);
        }
        let Some(appended) = store::append(&mut tx, stored.id, stored.seq, progress, condition).await? else {
            return Ok(None);
        };
        if !changes.is_empty() {
            store::insert_changes(&mut tx, stored.id, pool, &changes).await?;
        }
        if let Some(player) = no_show.and_then(|seat| stored.seats[seat.index()].person()) {
            store::insert_no_show(&mut tx, stored.id, player.id).await?;
        }
        if end.is_some() {
            store::release_tickets(&mut tx, stored.id).await?;
        }
        tx.commit().await?;
        let mut ratings = stored.ratings.clone();
        for change in &changes {
            ratings[change.seat.index()] = Some(change.shown());
        }
        Ok(Some((appended, ratings)))
    }
}

/// What a finished game does to its players.
fn changes_of(stored: &StoredGame, progress: &Progress<'_>, locked: &[LockedRating]) -> Vec<SeatChange> {
    let places = progress.game.places();
    let mut changes = Vec::with_capacity(places.len());
    let rules = stored.options.rules();
    let seated = rules.seats().zip(&stored.seats).zip(places).map(|((seat, who), place)| {
        let player = who.person().expect("no computer sits in a ranked game").id;
        let rating = locked.iter().find(|locked| locked.player == player).expect("all of them are locked");
        (seat, player, place.expect("a finished game has all places"), rating.standing)
    });
    let seated: Vec<_> = seated.collect();
    let results: Vec<_> = seated.iter().map(|(_, _, place, before)| (*before, *place)).collect();
    for ((seat, player, place, before), change) in seated.into_iter().zip(rate(&results)) {
        let start_share = start_share(rules.players(), seat == stored.starter);
        changes.push(SeatChange { seat, player, place, before, change, start_share });
    }
    changes
}
