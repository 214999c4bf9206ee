//! Exact search: null windows over proven bounds, down to positions whose values are in a table.

use super::board::{Board, Sower, Sown, stones_in};
use super::small::SmallPositions;
use super::table::{Bounds, Table};

/// How many positions are searched between two questions whether to go on.
const ASK_EVERY: u64 = 1 << 12;

/// One exact search.
pub struct Solver<'a> {
    sower: &'a Sower,
    small: &'a SmallPositions,
    table: &'a Table,
    go_on: &'a dyn Fn() -> bool,
    /// Up to how many stones `small` is asked.
    looked_up: i32,
    /// Positions searched so far.
    pub nodes: u64,
    /// With this many nodes it stops even if it may go on.
    pub until: u64,
    stopped: bool,
}

/// A move that a node may try.
#[derive(Clone, Copy, Default)]
struct Try {
    board: Board,
    stones: i32,
    gain: i32,
    order: i32,
    extra: bool,
    pit: u8,
}

impl<'a> Solver<'a> {
    pub fn new(
        sower: &'a Sower,
        small: &'a SmallPositions,
        table: &'a Table,
        go_on: &'a dyn Fn() -> bool,
    ) -> Self {
        Self {
            sower,
            small,
            table,
            go_on,
            looked_up: small.filled(),
            nodes: 0,
            until: u64::MAX,
            stopped: false,
        }
    }

    /// The exact margin to come for the seat to move, found by null windows from `guess` on.
    pub fn margin(&mut self, board: Board, guess: i32) -> Option<i32> {
        self.stopped = false;
        let stones = board.stones();
        let (mut lower, mut upper) = (-stones, stones);
        let mut beta = guess.clamp(lower + 1, upper);
        while lower < upper {
            let value = self.bound(board, beta)?;
            if value >= beta {
                lower = value
            } else {
                upper = value
            }
            // Margins go by twos, and the window has to be above what is proven.
            beta = if value >= beta { value + 2 } else { value };
        }
        Some(lower)
    }

    /// A bound of the margin to come: at least `beta` and then a lower bound, or less and an upper one. `None` when
    /// it was stopped before.
    pub fn bound(&mut self, board: Board, beta: i32) -> Option<i32> {
        let value = self.search(board, board.stones(), beta);
        (!self.stopped).then_some(value)
    }

    /// The first of `pits` whose margin to come is at least `beta`, with a lower bound of it; without one, an upper
    /// bound of all. `None` when it was stopped before.
    pub fn first(&mut self, board: Board, pits: &[u8], beta: i32) -> Option<(Option<u8>, i32)> {
        let stones = board.stones();
        let mut best = -stones;
        for &pit in pits {
            let Sown { board: after, gain, extra } = self.sower.sow(board, pit);
            let value = if after.is_over() {
                gain + after.lead()
            } else if extra {
                gain + self.search(after, stones - gain, beta - gain)
            } else {
                gain - self.search(after.turned(), stones - gain, gain - beta + 1)
            };
            if self.stopped {
                return None;
            }
            if value >= beta {
                return Some((Some(pit), value));
            }
            best = best.max(value);
        }
        Some((None, best))
    }

    fn search(&mut self, board: Board, stones: i32, beta: i32) -> i32 {
        if stones <= self.looked_up {
            return self.small.margin(board, stones);
        }
        // Margins are odd or even as the stones are.
        let beta = beta + ((beta ^ stones) & 1);
        if beta > stones {
            return stones;
        }
        if beta <= -stones {
            return -stones;
        }
        self.nodes += 1;
        if self.nodes.is_multiple_of(ASK_EVERY) {
            // More layers may have been filled by now.
            self.looked_up = self.small.filled();
            self.stopped |= self.nodes >= self.until || !(self.go_on)();
        }
        if self.stopped {
            return 0;
        }
        let place = self.table.place(board);
        let known = self.table.get(place);
        let mut bounds = known.map_or(Bounds::unknown(stones), Bounds::read);
        if bounds.lower >= beta {
            return bounds.lower;
        }
        if bounds.upper < beta {
            return bounds.upper;
        }
        let begun = self.nodes;
        let mut best = -stones;
        let mut best_pit = 7;
        let mut tries = [Try::default(); 7];
        let mut count = 0;
        'found: {
            for pit in (0..self.sower.pits()).rev() {
                if stones_in(board.own, pit) == 0 {
                    continue;
                }
                let Sown { board: after, gain, extra } = self.sower.sow(board, pit);
                let left = stones - gain;
                let value = if after.is_over() {
                    gain + after.lead()
                } else {
                    let next = if extra { after } else { after.turned() };
                    if left <= self.looked_up {
                        let margin = self.small.margin(next, left);
                        if extra { gain + margin } else { gain - margin }
                    } else {
                        let mut order = gain * 4;
                        if extra {
                            order += 100;
                        }
                        if pit == bounds.pit {
                            order += 1000;
                        }
                        tries[count] = Try { board: next, stones: left, gain, order, extra, pit };
                        count += 1;
                        continue;
                    }
                };
                if value > best {
                    best = value;
                    best_pit = pit;
                    if best >= beta {
                        break 'found;
                    }
                }
            }
            let tries = &mut tries[..count];
            for i in 0..count {
                // The next best by order: seldom are all of them tried.
                let mut at = i;
                for j in i + 1..count {
                    if tries[j].order > tries[at].order {
                        at = j;
                    }
                }
                tries[i..=at].rotate_right(1);
                let Try { board, stones, gain, extra, pit, .. } = tries[i];
                let value = if extra {
                    gain + self.search(board, stones, beta - gain)
                } else {
                    gain - self.search(board, stones, gain - beta + 1)
                };
                if self.stopped {
                    return 0;
                }
                if value > best {
                    best = value;
                    best_pit = pit;
                    if best >= beta {
                        break 'found;
                    }
                }
            }
        }
        if best >= beta {
            bounds.lower = best;
            bounds.pit = best_pit;
        } else {
            bounds.upper = best;
            if bounds.pit == 7 {
                bounds.pit = best_pit;
            }
        }
        self.table.put(place, bounds.note(self.nodes - begun, known));
        best
    }
}
