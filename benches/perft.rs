//! How fast the engine sows, and the packed boards of two-player Kalah, as ratios against a deliberately naive
//! reference, which moves every stone along a list of cups. All count the leaves of the same tree, and must agree.

#![expect(clippy::print_stdout, reason = "a benchmark reports to whoever runs it")]

use std::time::Instant;

use mancala_server::cpu::kalah::{Board, Sower};
use mancala_server::engine::{Position, Rules, RulesRequest, Seat, Variant};

const PITS: usize = 6;
const STONES: u32 = 4;
const DEPTH: u32 = 9;
const ROUNDS: u32 = 3;

/// Leaves and sowings of a tree; a game that has ended is one leaf.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Count {
    leaves: u64,
    sowings: u64,
}

fn engine(position: &Position, depth: u32, count: &mut Count) {
    if depth == 0 || position.to_move().is_none() {
        count.leaves += 1;
        return;
    }
    for pit in position.legal() {
        let mut next = *position;
        next.sow(pit).expect("a legal pit can be sown");
        count.sowings += 1;
        engine(&next, depth - 1, count);
    }
}

fn packed(sower: &Sower, board: Board, depth: u32, count: &mut Count) {
    if depth == 0 || board.is_over() {
        count.leaves += 1;
        return;
    }
    for pit in (0..sower.pits()).filter(|pit| board.stones_in(*pit) != 0) {
        let sown = sower.sow(board, pit);
        count.sowings += 1;
        packed(sower, sown.next(), depth - 1, count);
    }
}

#[derive(Clone)]
struct Naive {
    /// The pits of seat 0, its store, the pits of seat 1, its store.
    cups: Vec<u32>,
    mover: usize,
    over: bool,
}

impl Naive {
    fn start() -> Self {
        let mut cups = vec![STONES; 2 * (PITS + 1)];
        cups[PITS] = 0;
        cups[2 * PITS + 1] = 0;
        Self { cups, mover: 0, over: false }
    }

    fn pits(&self, seat: usize) -> Vec<usize> {
        (0..PITS).map(|pit| seat * (PITS + 1) + pit).collect()
    }

    fn store(seat: usize) -> usize {
        seat * (PITS + 1) + PITS
    }

    fn sow(&mut self, from: usize) {
        let (mine, theirs) = (Self::store(self.mover), Self::store(1 - self.mover));
        let mut hand = std::mem::take(&mut self.cups[from]);
        let mut at = from;
        while hand > 0 {
            at = (at + 1) % self.cups.len();
            if at != theirs {
                self.cups[at] += 1;
                hand -= 1;
            }
        }
        if self.pits(self.mover).contains(&at) && self.cups[at] == 1 {
            let across = 2 * PITS - at;
            if self.cups[across] > 0 {
                self.cups[mine] += self.cups[across] + 1;
                self.cups[across] = 0;
                self.cups[at] = 0;
            }
        }
        if (0..2).any(|seat| self.pits(seat).iter().all(|pit| self.cups[*pit] == 0)) {
            for seat in 0..2 {
                for pit in self.pits(seat) {
                    self.cups[Self::store(seat)] += std::mem::take(&mut self.cups[pit]);
                }
            }
            self.over = true;
        } else if at != mine {
            self.mover = 1 - self.mover;
        }
    }
}

fn naive(board: &Naive, depth: u32, count: &mut Count) {
    if depth == 0 || board.over {
        count.leaves += 1;
        return;
    }
    for pit in board.pits(board.mover) {
        if board.cups[pit] > 0 {
            let mut next = board.clone();
            next.sow(pit);
            count.sowings += 1;
            naive(&next, depth - 1, count);
        }
    }
}

/// The count, and millions of sowings a second in the best of some rounds.
fn measure(name: &str, run: impl Fn(&mut Count)) -> (Count, f64) {
    let mut best = f64::INFINITY;
    let mut count = Count::default();
    for _ in 0..ROUNDS {
        count = Count::default();
        let begun = Instant::now();
        run(&mut count);
        best = best.min(begun.elapsed().as_secs_f64());
    }
    #[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
    let rate = count.sowings as f64 / best / 1e6;
    println!("{name:>8}: {} leaves, {} sowings, {rate:.1} million a second", count.leaves, count.sowings);
    (count, rate)
}

fn main() {
    let rules =
        Rules::effective(Variant::Kalah, 2, &RulesRequest::default()).expect("the standard rules are valid");
    let start = Position::start(rules, Seat::ALL[0]).expect("seat 0 is always there");
    println!("two-player Kalah, {PITS} pits, {STONES} stones, depth {DEPTH}");
    let (expected, reference) = measure("naive", |count| naive(&Naive::start(), DEPTH, count));
    let (counted, rate) = measure("engine", |count| engine(&start, DEPTH, count));
    assert_eq!(counted, expected, "the engine and the reference disagree");
    let sower = Sower::new(start.rules().pits(), false);
    let board = Board::of(&start).expect("two-player Kalah");
    let (counted, packed_rate) = measure("packed", |count| packed(&sower, board, DEPTH, count));
    assert_eq!(counted, expected, "the packed boards and the reference disagree");
    println!("   ratio: {:.2} engine, {:.2} packed", rate / reference, packed_rate / reference);
}
