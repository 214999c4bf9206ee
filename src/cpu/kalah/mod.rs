//! Two-player Kalah on packed boards: solved exactly as far as time allows, and looked ahead where it does not.
//!
//! The design follows published work on solving Kalah (a table of all small positions, null windows, a transposition
//! table, opening data). Margins here are those *to come*: stones in the stores are left out until a value is told.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "counts of at most a hundred stones, in loops that run millions of times a second"
)]

mod board;
pub mod book;
mod evaluation;
mod lookahead;
mod openings;
mod small;
mod solver;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Analysis, Choice, MoveValue};
use crate::engine::Position;

pub use board::{Board, Sower, Sown};

use evaluation::STONE;
use lookahead::{Lookahead, Outlook};
use small::SmallPositions;
use solver::Solver;
use table::{Bounds, Table};

/// The turns that `hard` looks ahead, where it cannot solve.
const TURNS: u8 = 14;
/// With so many stones in the pits `hard` begins to search for the exact end. Before that it looks ahead only, and
/// leaves opening data to `perfect`.
const END_IN_SIGHT: i32 = 36;
/// While less than one stone in so many lies in a store `hard` is in the opening.
const OPENING: i32 = 12;
/// Positions that `hard` searches for the exact end before it looks ahead instead.
const QUICK: u64 = 400_000;
/// Positions searched ahead for a first idea of what to solve, and for the move to play if that fails.
const IDEA: u64 = 150_000;
/// The same where nothing is played.
const GUESS: u64 = 50_000;

/// Notes of searches some turns ahead that are kept, as log2 of their number.
const AHEAD: u32 = 21;

/// Everything known of two-player Kalah under given rules. Searches may share it.
pub struct Kalah {
    sower: Sower,
    small: SmallPositions,
    proven: Table,
    ahead: Table,
    /// A thread fills `small`.
    filling: AtomicBool,
}

/// A position to search: its board and what the stores add to a margin to come.
#[derive(Clone, Copy)]
struct Task {
    board: Board,
    /// Stones that the seat to move has in store more than the other.
    lead: i32,
}

impl Task {
    fn of(position: &Position) -> Option<Self> {
        let board = Board::of(position)?;
        let mover = position.to_move()?;
        let other = position.seats().find(|&seat| seat != mover)?;
        Some(Self { board, lead: i32::from(position.store(mover)) - i32::from(position.store(other)) })
    }
}

impl Kalah {
    /// The stones in the pits, if the position is one of those searched here: a running game with at most a hundred
    /// stones on the board.
    pub fn stones(position: &Position) -> Option<i32> {
        Board::of(position).map(Board::stones)
    }

    /// Knowing nothing yet, with at most `small_bytes` for small positions and room for two to `bits` proofs.
    pub fn new(pits: u8, takes_lone_stone: bool, small_bytes: usize, bits: u32) -> Self {
        Self {
            sower: Sower::new(pits, takes_lone_stone),
            small: SmallPositions::new(pits, small_bytes),
            proven: Table::new(pits, bits),
            ahead: Table::new(pits, AHEAD),
            filling: AtomicBool::new(false),
        }
    }

    /// The same, and it knows the opening data that comes with the program.
    pub fn with_openings(self) -> Self {
        if !self.sower.takes_lone_stone() {
            self.learn(openings::shipped(self.sower.pits()));
        }
        self
    }

    /// Takes over what has been proven elsewhere.
    fn learn(&self, known: impl IntoIterator<Item = (Board, Bounds)>) {
        for (board, bounds) in known {
            // Notes of the greatest effort are the last to give way.
            self.proven.put(self.proven.place(board), bounds.note(u64::MAX, None));
        }
    }

    /// Fills the table of small positions in the background as far as searching a position with `stones` in its pits
    /// profits from it. Searches use what is there by now.
    pub fn fill(self: &Arc<Self>, stones: i32) {
        let wanted = self.enough(stones);
        if self.small.filled() >= wanted || self.filling.swap(true, Ordering::AcqRel) {
            return;
        }
        let weak = Arc::downgrade(self);
        let fill = move || {
            while let Some(kalah) = weak.upgrade() {
                if kalah.small.filled() >= wanted || !kalah.small.fill_next(&kalah.sower) {
                    kalah.filling.store(false, Ordering::Release);
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("small positions".to_owned())
            .spawn(fill)
            .expect("a thread can be started");
    }

    /// Up to how many stones values of small positions help to search one with `stones`: to fill more would take longer
    /// than the search, the effort of which doubles about every three stones.
    fn enough(&self, stones: i32) -> i32 {
        self.small.within(5e6 * f64::from(stones - 36).div_euclid(3.0).exp2())
    }

    fn solver<'a>(&'a self, go_on: &'a dyn Fn() -> bool) -> Solver<'a> {
        Solver::new(&self.sower, &self.small, &self.proven, go_on)
    }

    fn lookahead<'a>(&'a self, go_on: &'a dyn Fn() -> bool) -> Lookahead<'a> {
        Lookahead::new(&self.sower, &self.small, &self.ahead, go_on)
    }

    /// What `hard` plays after the opening: the best move by the exact end if that is near, else by looking ahead. Of equal
    /// moves the first of `pits`.
    pub fn hard(&self, position: &Position, pits: &[u8], go_on: &dyn Fn() -> bool) -> Option<Choice> {
        let task = Task::of(position)?;
        let mut nodes = 0;
        let mut pits = pits.to_vec();
        if task.board.stones() <= END_IN_SIGHT {
            let idea = self.idea(task.board, &pits, GUESS, false, go_on);
            let solved = self.solve(task, &idea, QUICK, go_on);
            if solved.exact {
                return Some(solved.choice);
            }
            nodes = solved.choice.nodes;
            pits = idea.pits();
        }
        let outlook = self.lookahead(go_on).outlook(task.board, &pits, TURNS, false);
        Some(Choice { pit: outlook.moves[0].0, depth: outlook.depth, nodes: nodes + outlook.nodes })
    }

    /// Whether the game has hardly begun. There `hard` plays by the search that judges by places instead of stones, as
    /// `medium` does, and sees what that overlooks: what loses the fewest stones against best play is easily met by
    /// somebody who looks less far. Of 6 × 4 against `medium` that makes 94 ± 4 % of the points instead of 75 ± 5 %.
    pub fn is_opening(position: &Position) -> bool {
        let in_stores: i32 = position.seats().map(|seat| i32::from(position.store(seat))).sum();
        Task::of(position).is_some_and(|task| {
            let on_board = task.board.stones();
            on_board > END_IN_SIGHT && in_stores * OPENING < on_board + in_stores
        })
    }

    /// The best of `pits` by looking `turns` ahead.
    pub fn look_ahead(&self, position: &Position, pits: &[u8], turns: u8) -> Option<Choice> {
        let task = Task::of(position)?;
        let outlook = self.lookahead(&|| true).outlook(task.board, pits, turns, false);
        Some(Choice { pit: outlook.moves[0].0, depth: outlook.depth, nodes: outlook.nodes })
    }

    /// What `perfect` plays: a move that keeps the result, and of these the one with the best margin, as far as
    /// `go_on` lets it prove that; else the best one by looking ahead.
    pub fn perfect(&self, position: &Position, pits: &[u8], go_on: &dyn Fn() -> bool) -> Option<Choice> {
        let task = Task::of(position)?;
        let idea = self.idea(task.board, pits, IDEA, false, go_on);
        Some(self.solve(task, &idea, u64::MAX, go_on).choice)
    }

    /// The exact margin at the end, own store minus the other's; `None` when `go_on` said no before.
    pub fn margin(&self, position: &Position, go_on: &dyn Fn() -> bool) -> Option<i16> {
        let task = Task::of(position)?;
        let pits: Vec<u8> = position.legal().collect();
        let idea = self.idea(task.board, &pits, GUESS, false, go_on);
        let margin = self.solver(go_on).margin(task.board, idea.margin())?;
        Some((task.lead + margin) as i16)
    }

    /// The value of every move: looked ahead first, then solved one after the other, the best ones first.
    pub fn analyse(&self, position: &Position, go_on: &dyn Fn() -> bool) -> Option<Analysis> {
        let task = Task::of(position)?;
        let pits: Vec<u8> = position.legal().collect();
        let idea = self.idea(task.board, &pits, IDEA, true, go_on);
        let mut solver = self.solver(go_on);
        let mut margins: Vec<Option<i32>> = vec![None; idea.moves.len()];
        // Quick ones are not to wait for slow ones, and what a round has proven is there for the next.
        let mut patience = 100_000;
        let mut stopped = false;
        while !stopped && margins.contains(&None) {
            for (margin, &(pit, value)) in
                margins.iter_mut().zip(&idea.moves).filter(|(margin, _)| margin.is_none())
            {
                let until = solver.nodes + patience;
                *margin = self.after(&mut solver, task.board, pit, stones(value), until);
                stopped = margin.is_none() && !go_on();
                if stopped {
                    break;
                }
            }
            patience *= 8;
        }
        let exact = !margins.contains(&None);
        let mut moves: Vec<MoveValue> = margins
            .iter()
            .zip(&idea.moves)
            .map(|(margin, &(pit, value))| MoveValue {
                pit,
                value: (task.lead + margin.unwrap_or(stones(value))) as i16,
                exact: margin.is_some(),
            })
            .collect();
        let nodes = idea.nodes + solver.nodes;
        moves.sort_by_key(|m| (-m.value, m.pit));
        let best = moves[0].pit;
        let line = self.line(task.board, best, moves[0].exact, go_on);
        moves.sort_by_key(|m| m.pit);
        Some(Analysis { moves, best, line, depth: idea.depth, nodes, exact })
    }

    /// The exact margin to come when `pit` is sown, if it is found before the solver's nodes are `until`.
    fn after(&self, solver: &mut Solver<'_>, board: Board, pit: u8, guess: i32, until: u64) -> Option<i32> {
        solver.until = until;
        let Sown { board: after, gain, extra } = self.sower.sow(board, pit);
        if after.is_over() {
            Some(gain + after.lead())
        } else if extra {
            solver.margin(after, guess - gain).map(|margin| gain + margin)
        } else {
            solver.margin(after.turned(), gain - guess).map(|margin| gain - margin)
        }
    }

    fn idea(&self, board: Board, pits: &[u8], nodes: u64, each: bool, go_on: &dyn Fn() -> bool) -> Outlook {
        let mut lookahead = self.lookahead(go_on);
        lookahead.until = nodes;
        lookahead.outlook(board, pits, TURNS, each)
    }

    /// Best play as far as it is known, from sowing `pit` on.
    fn line(&self, board: Board, pit: u8, exact: bool, go_on: &dyn Fn() -> bool) -> Vec<u8> {
        let mut line = vec![pit];
        let mut sown = self.sower.sow(board, pit);
        while !sown.board.is_over() {
            let board = sown.next();
            let mut solver = self.solver(go_on);
            let pits: Vec<u8> =
                (0..self.sower.pits()).rev().filter(|&p| board::stones_in(board.own, p) != 0).collect();
            let margin = if exact { solver.margin(board, 0) } else { None };
            let known = margin.and_then(|margin| solver.first(board, &pits, margin)).and_then(|(pit, _)| pit);
            let Some(next) = known else {
                line.extend(self.lookahead(go_on).line(board));
                break;
            };
            line.push(next);
            sown = self.sower.sow(board, next);
        }
        line
    }
}

/// A value of the lookahead in whole stones.
fn stones(value: i32) -> i32 {
    (value + STONE / 2).div_euclid(STONE)
}

/// How far a position has been solved.
struct Solved {
    choice: Choice,
    /// The margin to come is at least this, with the chosen move.
    lower: i32,
    /// And at most this, with any.
    upper: i32,
    /// The chosen move has the best margin that there is.
    exact: bool,
}

impl Solved {
    /// Whether it is known who wins, given what the seat to move has more in store than the other.
    fn has_result(&self, lead: i32) -> bool {
        self.lower + lead > 0 || self.upper + lead < 0 || self.lower == self.upper
    }
}

impl Kalah {
    /// Proves the result first, then the margin, beginning with the moves that promise most, with `until` nodes at most.
    fn solve(&self, task: Task, idea: &Outlook, until: u64, go_on: &dyn Fn() -> bool) -> Solved {
        let Task { board, lead } = task;
        let stones = board.stones();
        let mut solver = self.solver(go_on);
        solver.until = until;
        let mut pits = idea.pits();
        let (mut lower, mut upper) = (-stones, stones);
        if let Some(known) = self.proven.get(self.proven.place(board)).map(Bounds::read) {
            (lower, upper) = (known.lower, known.upper);
            // What has a lower bound has the pit that leads to it.
            if lower > -stones {
                pits.retain(|&pit| pit != known.pit);
                pits.insert(0, known.pit);
            }
        }
        // More than half of the stones, half of them, and then whatever there is.
        let mut windows = vec![1 - lead, -lead];
        while lower < upper {
            let window = windows.first().copied().unwrap_or_else(|| idea.margin().max(lower + 1).min(upper));
            let settled = window <= lower || window > upper;
            if !windows.is_empty() {
                windows.remove(0);
                if settled {
                    continue;
                }
            }
            match solver.first(board, &pits, window) {
                None => break,
                Some((Some(pit), value)) => {
                    lower = value;
                    pits.retain(|&p| p != pit);
                    pits.insert(0, pit);
                    windows.clear();
                }
                Some((None, value)) => upper = value,
            }
        }
        let exact = lower == upper;
        let choice = Choice { pit: pits[0], depth: idea.depth, nodes: idea.nodes + solver.nodes };
        Solved { choice, lower, upper, exact }
    }
}

impl Outlook {
    fn pits(&self) -> Vec<u8> {
        self.moves.iter().map(|&(pit, _)| pit).collect()
    }

    /// The best margin to come, in stones.
    fn margin(&self) -> i32 {
        self.moves.first().map_or(0, |&(_, value)| stones(value))
    }
}
