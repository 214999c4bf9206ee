//! The audit of ratings: reckons every change again from its receipts, and every rating from its changes.

use super::{Result, Service};
use crate::engine::EndReason;
use crate::ids::PlayerId;
use crate::matching::start_share;
use crate::pool::Pool;
use crate::rating::{Deviation, FORMULA, Rating, Standing, rate};
use crate::store::{self, LedgerCause, LedgerEntry, LedgerRow, Receipt, SeatRating, StoredGame};

/// How many ratings are read at a time.
const BATCH: i64 = 500;
/// What is lost when numbers are written and read, and more than any other processor's rounding.
const NEAR: f64 = 1e-6;

fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() > NEAR || a.is_nan() || b.is_nan()
}

/// What of a game's receipts does not follow from the game.
pub(super) fn compare_receipts(stored: &StoredGame, receipts: &[Receipt]) -> Vec<String> {
    let end = stored.game.end();
    let rated = stored.game.ranked() && end.is_some_and(|end: EndReason| !end.is_abort());
    if !rated {
        return if receipts.is_empty() {
            Vec::new()
        } else {
            vec!["receipts of a game that is not rated".into()]
        };
    }
    let rules = stored.options.rules();
    if receipts.len() != usize::from(rules.players()) {
        return vec![format!("{} receipts for {} seats", receipts.len(), rules.players())];
    }
    let mut found = Vec::new();
    let results: Vec<(Standing, u8)> = receipts.iter().map(|r| (r.before, r.place)).collect();
    let seats = rules.seats().zip(&stored.seats).zip(stored.game.places()).zip(&stored.ratings);
    for ((receipt, change), (((seat, who), place), shown)) in receipts.iter().zip(rate(&results)).zip(seats) {
        let mut check = |what: &str, holds: bool| {
            if !holds {
                found.push(format!("receipt of seat {seat}: {what}"));
            }
        };
        check("another seat", receipt.seat == seat.get());
        check("another player", who.person().is_some_and(|person| person.id == receipt.player));
        check("another place", place == Some(receipt.place));
        check("another pool", receipt.pool == Pool::of(rules.variant(), rules.players()));
        check("another number of players", receipt.players == rules.players());
        check("another formula", receipt.formula == FORMULA);
        let (after, reckoned) = (receipt.after, change.after);
        check("another rating", !differ(after.rating.points(), reckoned.rating.points()));
        check("another deviation", !differ(after.deviation.points(), reckoned.deviation.points()));
        check("another expectation", !differ(receipt.expected, change.expected));
        let should_be_shown = SeatRating {
            before: receipt.before.rating.displayed(),
            after: Some(after.rating.displayed()),
            provisional: after.deviation.is_provisional(),
        };
        check("shown otherwise", *shown == Some(should_be_shown));
    }
    found
}

/// What was found when all ratings were reckoned from their changes.
#[derive(Default)]
pub(super) struct Ledgers {
    pub changes: u64,
    pub differences: Vec<(PlayerId, Pool, String)>,
}

/// Reckons all ratings from their changes.
pub(super) async fn audit_ratings(service: &Service) -> Result<Ledgers> {
    let mut found = Ledgers::default();
    let mut tx = service.database.begin().await?;
    store::read_one_snapshot(&mut tx).await?;
    for (player, pool) in store::changes_without_rating(&mut tx).await? {
        found.differences.push((player, pool, "there are changes, but no rating".to_owned()));
    }
    drop(tx);
    let mut after = None;
    loop {
        let mut tx = service.database.begin().await?;
        store::read_one_snapshot(&mut tx).await?;
        let batch = store::ledgers(&mut tx, after, BATCH).await?;
        let Some(last) = batch.last() else { return Ok(found) };
        after = Some((last.player, last.pool));
        for row in batch {
            let entries = store::ledger_entries(&mut tx, row.player, row.pool).await?;
            found.changes += entries.len() as u64;
            let differences = compare(&row, &entries).into_iter();
            found.differences.extend(differences.map(|what| (row.player, row.pool, what)));
        }
    }
}

/// What of a rating does not follow from its changes, or of a change from the one before.
fn compare(row: &LedgerRow, entries: &[LedgerEntry]) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |what: String, holds: bool| {
        if !holds {
            found.push(what);
        }
    };
    let (mut rating, mut deviation) = (Rating::NEW.points(), Deviation::NEW);
    let (mut games, mut balance) = (0, 0);
    for (entry, number) in entries.iter().zip(1..) {
        check(format!("change {} where {number} belongs", entry.number), entry.number == number);
        let before = entry.rating_before;
        check(format!("change {number}: from {before}, not {rating}"), !differ(before, rating));
        rating = entry.rating_after;
        match entry.cause {
            LedgerCause::Game(game) => {
                let live = deviation.after_days(game.idle_days).points();
                let from = game.deviation_before;
                check(format!("change {number}: deviation from {from}, not {live}"), !differ(from, live));
                deviation = Deviation::new(game.deviation_after);
                balance += start_share(u8::try_from(game.players).unwrap_or(u8::MAX), game.began);
                games += 1;
            }
            LedgerCause::Season(shift) => {
                let moved = Rating::new(before + shift).points();
                check(
                    format!("change {number}: by the season to {rating}, not {moved}"),
                    !differ(rating, moved),
                );
            }
        }
    }
    check(format!("rating: stored {}, reckoned {rating}", row.rating), !differ(row.rating, rating));
    let reckoned = deviation.points();
    check(
        format!("deviation: stored {}, reckoned {reckoned}", row.deviation),
        !differ(row.deviation, reckoned),
    );
    check(
        format!("changes: stored {}, counted {}", row.changes, entries.len()),
        usize::try_from(row.changes) == Ok(entries.len()),
    );
    check(format!("games: stored {}, counted {games}", row.games), row.games == games);
    check(
        format!("first moves: stored {}, counted {balance}", row.start_balance),
        row.start_balance == balance,
    );
    check(
        format!("opponents: stored {}, counted {}", row.opponents, row.tallied),
        i64::from(row.opponents) == row.tallied,
    );
    check("opponents: not those of the receipts".to_owned(), row.tallies_hold);
    check("the date of the last game".to_owned(), row.dated);
    let may_be_listed = store::listed_seconds(deviation).filter(|_| !row.deleted);
    let listed = match (row.listed, may_be_listed) {
        (None, None) => true,
        // The database keeps microseconds.
        (Some(stored), Some(reckoned)) => (stored - reckoned).abs() < 1e-3,
        _ => false,
    };
    check("until when the leaderboard may show the player".to_owned(), listed);
    found
}
