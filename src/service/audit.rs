//! The audit: replays the log of every stored game and group and compares what comes out with what is stored, then the
//! ratings.

use super::events::abort_reason;
use super::group_log::audit_groups;
use super::ledger::{audit_ratings, compare_receipts};
use super::turn::{Turn, note_run_out};
use super::{Result, Service};
use crate::engine::{Game, Snapshot};
use crate::ids::{GameId, GroupId, PlayerId};
use crate::pool::Pool;
use crate::store::{self, EventKind, EventRow, Status, Stored, StoredGame};

/// How many games are read at a time.
const BATCH: i64 = 200;

/// Something stored that its log does not give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Of what.
    pub of: Subject,
    /// What differs, for a person to read.
    pub what: String,
}

/// What something stored belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A game.
    Game(GameId),
    /// A group.
    Group(GroupId),
    /// A player's rating in a pool.
    Rating(PlayerId, Pool),
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Game(game) => write!(f, "game {game}"),
            Self::Group(group) => write!(f, "group {group}"),
            Self::Rating(player, pool) => write!(f, "rating of player {player} in {pool}"),
        }
    }
}

/// What an audit found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Games replayed.
    pub games: u64,
    /// Events of games replayed.
    pub events: u64,
    /// Groups replayed.
    pub groups: u64,
    /// Changes of ratings reckoned again.
    pub changes: u64,
    /// Everything that differs.
    pub differences: Vec<Difference>,
}

impl Service {
    /// Replays every stored game and group. Games that are being played meanwhile are read again until row and log agree.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn audit(&self) -> Result<Report> {
        let mut report = Report::default();
        let mut after = None;
        let mut tx = self.database.begin().await?;
        store::read_one_snapshot(&mut tx).await?;
        for game in store::games_that_are_gone(&mut tx).await? {
            let what = "there are events, but no game".to_owned();
            report.differences.push(Difference { of: Subject::Game(game), what });
        }
        loop {
            // Every batch is one snapshot of the database: rows and logs of running games belong together.
            let mut tx = self.database.begin().await?;
            store::read_one_snapshot(&mut tx).await?;
            let batch = store::all_games(&mut tx, after, BATCH).await?;
            let Some(last) = batch.last() else { break };
            after = Some(last.id);
            for stored in batch {
                let log = store::events_after(&mut tx, stored.id, 0).await;
                report.games += 1;
                let found = match (&stored.game, log) {
                    (Ok(game), Ok(log)) => {
                        report.events += log.len() as u64;
                        let mut found = compare(&stored, game, &log);
                        let receipts = store::receipts(&mut tx, stored.id).await?;
                        found.extend(compare_receipts(game, &receipts));
                        found
                    }
                    (Err(e), _) => vec![e.to_string()],
                    (_, Err(e @ sqlx::Error::Decode(_))) => vec![e.to_string()],
                    (_, Err(e)) => return Err(e.into()),
                };
                let of = Subject::Game(stored.id);
                report.differences.extend(found.into_iter().map(|what| Difference { of, what }));
            }
        }
        let groups = audit_groups(self).await?;
        report.groups = groups.groups;
        let differences = groups.differences.into_iter();
        report
            .differences
            .extend(differences.map(|(group, what)| Difference { of: Subject::Group(group), what }));
        let ratings = audit_ratings(self).await?;
        report.changes = ratings.changes;
        let differences = ratings.differences.into_iter();
        report.differences.extend(
            differences.map(|(player, pool, what)| Difference { of: Subject::Rating(player, pool), what }),
        );
        Ok(report)
    }
}

/// What of a stored game its log does not give.
fn compare(row: &Stored, stored: &StoredGame, log: &[EventRow]) -> Vec<String> {
    if let Some((row, expected)) = log.iter().zip(1..).find(|(row, expected)| row.seq != *expected) {
        return vec![format!("the log has event {} where event {expected} belongs", row.seq)];
    }
    let (replayed, board_before, run_out) = match replay(stored, log) {
        Ok(replayed) => replayed,
        Err(what) => return vec![what],
    };
    let mut found = Vec::new();
    let mut check = |what: &str, stored: String, replayed: String| {
        if stored != replayed {
            found.push(format!("{what}: stored {stored}, replayed {replayed}"));
        }
    };
    let now = stored.game.snapshot();
    let Snapshot { board, to_move, left_board, departed, resigned, end } = replayed.snapshot();
    check("seq", stored.seq.to_string(), log.len().to_string());
    check("board", format!("{:?}", now.board), format!("{board:?}"));
    check("board_before", format!("{:?}", stored.board_before), format!("{board_before:?}"));
    check("to_move", format!("{:?}", now.to_move), format!("{to_move:?}"));
    check("left_board", format!("{:?}", now.left_board), format!("{left_board:?}"));
    check("departed", format!("{:?}", now.departed), format!("{departed:?}"));
    check("resigned", format!("{:?}", now.resigned), format!("{resigned:?}"));
    check("end", format!("{:?}", now.end), format!("{end:?}"));
    let by_rule: Option<Vec<i16>> = replayed.places().into_iter().map(|p| p.map(i16::from)).collect();
    let by_rule = by_rule.filter(|_| end.is_some());
    check("places", format!("{:?}", row.places), format!("{by_rule:?}"));
    let seats: Vec<i16> = stored.options.rules().seats().map(|seat| seat.get().into()).collect();
    check("seats", format!("{:?}", row.seats), format!("{seats:?}"));
    check("status", row.status.clone(), Status::of(end).as_str().to_owned());
    check("run_out", format!("{:?}", stored.run_out), format!("{run_out:?}"));
    let turn = Turn::of(&replayed, &stored.seats, &stored.options);
    let due = turn.due(&replayed, &stored.seats, &stored.options).map(|(due, _)| due.as_str());
    check("due", format!("{:?}", row.due.as_deref()), format!("{due:?}"));
    check("due too late", row.due_too_late.to_string(), false.to_string());
    check("deadline", row.limited.to_string(), turn.limit(&stored.options).is_some().to_string());
    check("ended_at", stored.ended_at.is_some().to_string(), end.is_some().to_string());
    found
}

/// The game, the board before its last move, and the seats whose last turn ran out.
type Replayed = (Game, Option<Vec<u8>>, Vec<u8>);

fn replay(stored: &StoredGame, log: &[EventRow]) -> std::result::Result<Replayed, String> {
    let mut game = Game::new(stored.options.rules(), stored.starter, stored.game.ranked())
        .map_err(|e| format!("starter: {e}"))?;
    let (mut board_before, mut run_out) = (None, Vec::new());
    for row in log {
        if row.kind == EventKind::Move {
            board_before = Some(game.snapshot().board);
        }
        let action = row.action(abort_reason(stored));
        game.apply(row.seat.unwrap_or(stored.starter), action)
            .map_err(|e| format!("event {} cannot be: {e}", row.seq))?;
        note_run_out(&mut run_out, row.seat, action, row.by);
    }
    Ok((game, board_before, run_out))
}
