//! Makes opening data: proves, once and with patience, what would take too long while somebody waits.
//!
//! From the start of a game on, both as the first player and as the second, it follows the best move in its own turns
//! and every move in the opponent's, breadth first, as long as positions are slow to solve. The lines it gives can be
//! kept in a file; given back as known, it goes on from there.

use std::collections::{HashMap, HashSet, VecDeque};

use super::board::{Board, MOST_STONES, stones_in};
use super::openings::{self, BadLine};
use super::table::{Bounds, Table};
use crate::cpu::Memory;

use super::{IDEA, Kalah, Solved, Task};

/// How opening data is made.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// A position whose result, or margin, is proven from nothing with this many nodes needs no data.
    pub quick: u64,
    /// Whether the margin counts for that, and not the result alone.
    pub margins: bool,
    /// Nodes after which a position is left with the bounds proven until then.
    pub patience: u64,
}

/// Why no opening data can be made.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The data given as known cannot be read.
    #[error(transparent)]
    Known(#[from] BadLine),
    /// Nothing that is searched exactly.
    #[error("opening data is for 1 to 7 pits a side and at most {MOST_STONES} stones in all")]
    Size,
}

/// Gives the lines for `pits` a side with `stones` each, beyond what `known` says, to `write`, until there are no more
/// or it answers false.
///
/// # Errors
/// When the size is none that is searched exactly, or a line of `known` cannot be read.
pub fn make(
    pits: u8,
    stones: u8,
    known: &str,
    effort: Effort,
    write: &mut dyn FnMut(&str) -> bool,
) -> Result<(), BookError> {
    let whole = u16::from(pits) * 2 * u16::from(stones);
    if !(1..=7).contains(&pits) || stones == 0 || whole > MOST_STONES {
        return Err(BookError::Size);
    }
    let mut kalah = Kalah::new(pits, false, Memory::PATIENT.usual, Memory::PATIENT.usual_proofs);
    while kalah.small.filled() < kalah.enough(whole.into()) && kalah.small.fill_next(&kalah.sower) {}
    let mut known: HashMap<Board, Bounds> = openings::read(known, pits)?.into_iter().collect();
    kalah.learn(known.clone());
    let side = (0..pits).fold(0, |side, _| side << 8 | u64::from(stones));
    let start = Task { board: Board { own: side, other: side }, lead: 0 };
    let mut seen = HashSet::new();
    // As the first player, who needs it most, and then as the second.
    let mut queue = VecDeque::from([start]);
    let mut second = VecDeque::new();
    replies(&kalah, start, &mut second);
    while let Some(task) = queue.pop_front().or_else(|| second.pop_front()) {
        if !seen.insert((task.board, task.lead)) {
            continue;
        }
        let bounds = match known.get(&task.board) {
            Some(bounds) => *bounds,
            None if is_quick(&mut kalah, &known, task, effort) => continue,
            None => {
                let bounds = prove(&kalah, task, effort.patience);
                known.insert(task.board, bounds);
                kalah.learn([(task.board, bounds)]);
                if !write(&openings::line(task.board, pits, bounds)) {
                    return Ok(());
                }
                bounds
            }
        };
        let sown = kalah.sower.sow(task.board, bounds.pit);
        let lead = task.lead + sown.gain;
        if sown.board.is_over() {
            continue;
        }
        if sown.extra {
            queue.push_back(Task { board: sown.board, lead });
        } else {
            replies(&kalah, Task { board: sown.board.turned(), lead: -lead }, &mut queue);
        }
    }
    Ok(())
}

/// All positions in which the turn comes back after a turn of the opponent, who is to move.
fn replies(kalah: &Kalah, task: Task, queue: &mut VecDeque<Task>) {
    for pit in (0..kalah.sower.pits()).filter(|&pit| stones_in(task.board.own, pit) != 0) {
        let sown = kalah.sower.sow(task.board, pit);
        let lead = task.lead + sown.gain;
        if sown.board.is_over() {
            continue;
        }
        if sown.extra {
            replies(kalah, Task { board: sown.board, lead }, queue);
        } else {
            queue.push_back(Task { board: sown.board.turned(), lead: -lead });
        }
    }
}

/// Whether the position is solved with few nodes by what is known, but without what was proven on the way to that.
fn is_quick(kalah: &mut Kalah, known: &HashMap<Board, Bounds>, task: Task, effort: Effort) -> bool {
    let warm = std::mem::replace(&mut kalah.proven, Table::new(kalah.sower.pits(), 20));
    kalah.learn(known.clone());
    let solved = solve(kalah, task, effort.quick);
    kalah.proven = warm;
    if effort.margins { solved.exact } else { solved.has_result(task.lead) }
}

fn prove(kalah: &Kalah, task: Task, nodes: u64) -> Bounds {
    let solved = solve(kalah, task, nodes);
    Bounds { lower: solved.lower, upper: solved.upper, pit: solved.choice.pit }
}

fn solve(kalah: &Kalah, task: Task, nodes: u64) -> Solved {
    let pits: Vec<u8> =
        (0..kalah.sower.pits()).rev().filter(|&pit| stones_in(task.board.own, pit) != 0).collect();
    let idea = kalah.idea(task.board, &pits, IDEA, false, &|| true);
    kalah.solve(task, &idea, nodes, &|| true)
}
