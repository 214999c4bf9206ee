//! Reviews of finished two-player games of Kalah: what every move was worth. Computed once, from the end of the game
//! backwards, since what is known of the later positions helps with the earlier ones; then kept in the database.

use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use super::events::history;
use super::thinking::Kind;
use super::{Error, Result, Service};
use crate::cpu::Computers;
use crate::engine::{Position, Seat, Variant};
use crate::ids::{GameId, PlayerId};
use crate::store::{self, By, EventRow, StoredGame, StoredReview};

/// How long a game is thought about in all.
const REVIEW_BUDGET: Duration = Duration::from_secs(15);
/// Each position has this part of what is left of the budget, so that hard ones leave something to the others.
const PART: u32 = 4;
/// In which a review is answered, pauses for the turns of others included: less than any client waits.
const WITHIN: Duration = Duration::from_secs(55);
/// How long a request waits while a review is being computed, which may be the one that it wants.
const PATIENCE: Duration = Duration::from_secs(40);

/// What a finished game was worth, move by move.
#[derive(Clone, Debug)]
pub struct Review {
    /// Every move, in order.
    pub moves: Vec<ReviewedMove>,
    /// What the players did, by seat.
    pub seats: Vec<(Seat, ReviewedSeat)>,
    /// The moves that changed the result under best play.
    pub turning_points: Vec<TurningPoint>,
}

/// A move and what it was worth, in stones of the final margin from its seat's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewedMove {
    /// The event.
    pub seq: i32,
    /// Who moved.
    pub seat: Seat,
    /// The pit sown.
    pub pit: u8,
    /// Who decided so.
    pub by: By,
    /// What best play would have come to before the move, where it is known.
    pub before: Option<i16>,
    /// What best play would have come to after it, where it is known.
    pub after: Option<i16>,
    /// A pit that would have kept `before`, where it is known: the one sown, if that did.
    pub best: Option<u8>,
}

/// What the player of a seat did, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReviewedSeat {
    /// How many of the player's own moves are judged.
    pub judged: u32,
    /// How many of them gave nothing away.
    pub flawless: u32,
    /// Stones that the others gave away in all.
    pub given_away: u32,
}

/// What best play comes to for a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// More stones than the other seat.
    Won,
    /// As many.
    Drawn,
    /// Fewer.
    Lost,
}

/// A move that changed the result under best play, from its seat's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurningPoint {
    /// The event.
    pub seq: i32,
    /// Who moved.
    pub seat: Seat,
    /// What it was before.
    pub before: Outcome,
    /// What it was afterwards.
    pub after: Outcome,
}

impl ReviewedMove {
    /// Stones that the move cost, if that is known.
    pub fn given_away(&self) -> Option<u32> {
        let stones = self.before?.saturating_sub(self.after?);
        Some(u32::try_from(stones).unwrap_or(0))
    }
}

impl From<i16> for Outcome {
    fn from(margin: i16) -> Self {
        match margin {
            1.. => Self::Won,
            0 => Self::Drawn,
            _ => Self::Lost,
        }
    }
}

/// A finished game that can be reviewed, with its review if there is one already.
pub struct Reviewable {
    id: GameId,
    course: Course,
    kept: Option<StoredReview>,
}

impl Reviewable {
    /// Whether the review has yet to be computed.
    pub fn is_new(&self) -> bool {
        self.kept.is_none()
    }
}

/// The moves of a game, with the positions before each of them and after the last.
struct Course {
    moves: Vec<(EventRow, Seat, u8, By)>,
    positions: Vec<Position>,
}

impl Service {
    /// A finished game that `viewer` may see, to be reviewed.
    ///
    /// # Errors
    /// `GameNotFound`, `NotOver` or `NotReviewable`.
    pub async fn reviewable(&self, viewer: Option<PlayerId>, id: GameId) -> Result<Reviewable> {
        let (game, log) = self.log(viewer, id).await?;
        if !game.game.is_over() {
            return Err(Error::NotOver);
        }
        let (rules, end) = (game.options.rules(), game.game.end());
        if rules.variant() != Variant::Kalah || rules.players() != 2 || end.is_none_or(|end| end.is_abort()) {
            return Err(Error::NotReviewable);
        }
        let course = Course::of(&game, &log)?;
        Ok(Reviewable { id, course, kept: self.kept_review(id).await? })
    }

    /// The review of a game, computed now if it is new.
    ///
    /// # Errors
    /// `ThinkingBusy`.
    pub async fn review(&self, game: Reviewable) -> Result<Review> {
        let Reviewable { id, course, kept } = game;
        let kept = match kept {
            Some(kept) => kept,
            None => self.new_review(id, &course).await?,
        };
        if kept.margins.len() != course.positions.len() || kept.best.len() != course.moves.len() {
            let why = format!("review of game {id}: not as long as the game");
            return Err(Error::Database(sqlx::Error::Decode(why.into())));
        }
        Ok(course.review(&kept))
    }

    async fn kept_review(&self, id: GameId) -> Result<Option<StoredReview>> {
        let mut db = self.database.connection().await?;
        let kept = store::review(&mut db, id).await?;
        db.done();
        Ok(kept)
    }

    /// Computes a review and keeps it, one at a time in each process; of several processes the first to be done counts.
    async fn new_review(&self, id: GameId, course: &Course) -> Result<StoredReview> {
        let end = Instant::now() + WITHIN;
        let busy = |_| Error::ThinkingBusy { seconds: REVIEW_BUDGET.as_secs() };
        let _alone = timeout(PATIENCE, self.reviewing.lock()).await.map_err(busy)?;
        if let Some(kept) = self.kept_review(id).await? {
            return Ok(kept);
        }
        let (new, finished) = self.judge(course, end).await?;
        if !finished {
            // The games of others left no time for it. It is answered as far as it goes; the next request may do better.
            return Ok(new);
        }
        let mut db = self.database.connection().await?;
        let inserted = store::insert_review(&mut db, id, &new).await?;
        let kept = if inserted { Some(new) } else { store::review(&mut db, id).await? };
        db.done();
        kept.ok_or(Error::Database(sqlx::Error::RowNotFound))
    }

    /// Judges every position, and says whether there was time until `end` for all that the budget allows.
    async fn judge(&self, course: &Course, end: Instant) -> Result<(StoredReview, bool)> {
        let mut left = REVIEW_BUDGET;
        let moves = course.moves.len();
        let mut review = StoredReview { margins: vec![None; moves + 1], best: vec![None; moves] };
        for (i, position) in course.positions.iter().copied().enumerate().rev() {
            let Some(seat) = position.to_move() else {
                review.margins[i] = Some(lead(&position));
                continue;
            };
            let played = course.moves.get(i).map(|(_, _, pit, _)| *pit);
            let after = review.margins.get(i + 1).copied().flatten().map(|margin| for_seat(seat, margin));
            let study = self.thinking.study(Kind::Review, left / PART, move |computers, go_on| {
                (judged(computers, &position, played, after, go_on), None)
            });
            let Ok(studied) = timeout_at(end, study).await else { return Ok((review, false)) };
            let studied = studied?;
            left = left.saturating_sub(studied.took);
            let (margin, best) = studied.answer;
            review.margins[i] = margin.map(|margin| for_seat(seat, margin));
            if let (Some(kept), Some(_)) = (review.best.get_mut(i), played) {
                *kept = best;
            }
        }
        // What was cut short by the stop of the process is not worth keeping.
        Ok((review, !self.stopping.is_cancelled()))
    }
}

/// The margin of a position for the seat to move, and a pit that keeps it: the one that was `played`, if what is known
/// to have come `after` it says so.
fn judged(
    computers: &Computers,
    position: &Position,
    played: Option<u8>,
    after: Option<i16>,
    go_on: &dyn Fn() -> bool,
) -> (Option<i16>, Option<u8>) {
    let Some(margin) = computers.margin(position, go_on) else { return (None, None) };
    let best = match played {
        Some(_) if after == Some(margin) => played,
        Some(_) => {
            position.legal().find(|&pit| margin_after(computers, position, pit, go_on) == Some(margin))
        }
        None => None,
    };
    (Some(margin), best)
}

/// The margin for the seat to move once it has sown `pit`, if it is found in time.
pub(super) fn margin_after(
    computers: &Computers,
    position: &Position,
    pit: u8,
    go_on: &dyn Fn() -> bool,
) -> Option<i16> {
    let (mut next, seat) = (*position, position.to_move()?);
    next.sow(pit).ok()?;
    match next.to_move() {
        None => Some(for_seat(seat, lead(&next))),
        Some(mover) => {
            let margin = computers.margin(&next, go_on)?;
            Some(if mover == seat { margin } else { -margin })
        }
    }
}

/// What seat 0 has more in its store than seat 1.
fn lead(position: &Position) -> i16 {
    i16::from(position.store(Seat::ALL[0])) - i16::from(position.store(Seat::ALL[1]))
}

/// Turns a margin of seat 0 into one of `seat`, and back.
fn for_seat(seat: Seat, margin: i16) -> i16 {
    if seat == Seat::ALL[0] { margin } else { -margin }
}

impl Course {
    fn of(game: &StoredGame, log: &[EventRow]) -> Result<Self> {
        let corrupt = |e| Error::Database(sqlx::Error::Decode(Box::new(e)));
        let start = Position::start(game.options.rules(), game.starter).map_err(corrupt)?;
        let (mut moves, mut positions) = (Vec::new(), vec![start]);
        for view in history(game, log)? {
            if let (Some(seat), Some(pit), Some(by)) = (view.row.seat, view.row.pit, view.row.by) {
                moves.push((view.row, seat, pit, by));
                positions.push(view.position);
            }
        }
        Ok(Self { moves, positions })
    }

    fn review(&self, kept: &StoredReview) -> Review {
        let moves: Vec<ReviewedMove> = self
            .moves
            .iter()
            .zip(kept.margins.windows(2).zip(&kept.best))
            .map(|(&(row, seat, pit, by), (margins, &best))| ReviewedMove {
                seq: row.seq,
                seat,
                pit,
                by,
                before: margins[0].map(|margin| for_seat(seat, margin)),
                after: margins[1].map(|margin| for_seat(seat, margin)),
                best,
            })
            .collect();
        let mut seats =
            vec![(Seat::ALL[0], ReviewedSeat::default()), (Seat::ALL[1], ReviewedSeat::default())];
        for (of, stones) in moves.iter().filter_map(|m| Some((m, m.given_away()?))) {
            if of.by == By::Player {
                let (_, seat) = &mut seats[of.seat.index()];
                seat.judged += 1;
                seat.flawless += u32::from(stones == 0);
                seat.given_away += stones;
            }
        }
        let turning = |of: &ReviewedMove| {
            let (before, after) = (Outcome::from(of.before?), Outcome::from(of.after?));
            (before != after).then_some(TurningPoint { seq: of.seq, seat: of.seat, before, after })
        };
        Review { turning_points: moves.iter().filter_map(turning).collect(), moves, seats }
    }
}
