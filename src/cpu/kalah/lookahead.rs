//! Search some turns ahead, for boards that cannot be solved in time, and for a first idea of those that can.

use super::board::{Board, Sower, Sown, stones_in};
use super::evaluation::{STONE, estimate};
use super::small::SmallPositions;
use super::table::{Estimate, Table};

/// How many positions are searched between two questions whether to go on.
const ASK_EVERY: u64 = 1 << 11;
/// Outside of all values.
const INFINITE: i32 = 8_000;

/// One search some turns ahead.
pub struct Lookahead<'a> {
    sower: &'a Sower,
    small: &'a SmallPositions,
    table: &'a Table,
    go_on: &'a dyn Fn() -> bool,
    looked_up: i32,
    /// Positions searched so far.
    pub nodes: u64,
    /// With this many nodes it stops even if it may go on.
    pub until: u64,
    stopped: bool,
}

/// What the moves of a board are worth, the best first.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// Pit and margin to come in [`STONE`]ths; of a move that is not the first, at most that.
    pub moves: Vec<(u8, i32)>,
    /// Turns looked ahead completely.
    pub depth: u8,
    /// Positions searched for it.
    pub nodes: u64,
}

#[derive(Clone, Copy, Default)]
struct Try {
    board: Board,
    stones: i32,
    gain: i32,
    order: i32,
    extra: bool,
    pit: u8,
}

impl<'a> Lookahead<'a> {
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

    /// Judges the moves `pits`, of which equal ones stay in the given order, up to `turns` ahead. With `each` every
    /// move gets its own value, else only the best one does. The deepest search that was completed counts, and of the
    /// next one a better move that it has found.
    pub fn outlook(&mut self, board: Board, pits: &[u8], turns: u8, each: bool) -> Outlook {
        let mut best = Outlook { moves: pits.iter().map(|&pit| (pit, 0)).collect(), depth: 0, nodes: 0 };
        for depth in 1..=turns {
            let mut moves = best.moves.clone();
            let mut alpha = -INFINITE;
            for i in 0..moves.len() {
                let value = if each {
                    self.after(board, moves[i].0, depth, -INFINITE, INFINITE)
                } else if i == 0 {
                    self.after(board, moves[i].0, depth, alpha, INFINITE)
                } else {
                    let value = self.after(board, moves[i].0, depth, alpha, alpha + 1);
                    if value > alpha { self.after(board, moves[i].0, depth, alpha, INFINITE) } else { value }
                };
                if self.stopped {
                    // What has turned out better than the former best is better indeed.
                    if i > 0 && !each && moves[0].0 != best.moves[0].0 {
                        best.moves = moves;
                    }
                    best.nodes = self.nodes;
                    return best;
                }
                moves[i].1 = value;
                if !each && value > alpha {
                    alpha = value;
                    moves[..=i].rotate_right(1);
                }
            }
            if each {
                moves.sort_by_key(|&(_, value)| -value);
            }
            best = Outlook { moves, depth, nodes: self.nodes };
        }
        best
    }

    /// The pits that the table holds for best, from `board` on.
    pub fn line(&self, mut board: Board) -> Vec<u8> {
        let mut line = Vec::new();
        while !board.is_over() && line.len() < 40 {
            let note = self.table.get(self.table.place(board)).map(Estimate::read);
            let Some(pit) =
                note.map(|note| note.pit).filter(|&pit| pit < 7 && stones_in(board.own, pit) != 0)
            else {
                break;
            };
            line.push(pit);
            let sown = self.sower.sow(board, pit);
            board = sown.next();
        }
        line
    }

    fn after(&mut self, board: Board, pit: u8, depth: u8, alpha: i32, beta: i32) -> i32 {
        let Sown { board: after, gain, extra } = self.sower.sow(board, pit);
        let gained = gain * STONE;
        let stones = board.stones() - gain;
        if after.is_over() {
            gained + after.lead() * STONE
        } else if extra {
            gained + self.search(after, stones, depth, alpha - gained, beta - gained)
        } else {
            gained - self.search(after.turned(), stones, depth - 1, gained - beta, gained - alpha)
        }
    }

    /// The margin to come in [`STONE`]ths within (`alpha`, `beta`), outside of it a bound. A chain is one turn, and the
    /// turns end where `depth` is 0 and the next seat is to move.
    fn search(&mut self, board: Board, stones: i32, depth: u8, mut alpha: i32, beta: i32) -> i32 {
        if stones <= self.looked_up {
            return self.small.margin(board, stones) * STONE;
        }
        if depth == 0 {
            return estimate(board, self.sower.pits());
        }
        self.nodes += 1;
        if self.nodes.is_multiple_of(ASK_EVERY) {
            self.stopped |= self.nodes >= self.until || !(self.go_on)();
        }
        if self.stopped {
            return 0;
        }
        let place = self.table.place(board);
        let mut first = 7;
        if let Some(known) = self.table.get(place).map(Estimate::read) {
            first = known.pit;
            let holds = known.is_lower && known.value >= beta || known.is_upper && known.value <= alpha;
            if known.depth == depth.min(31) && (holds || known.is_lower && known.is_upper) {
                return known.value;
            }
        }
        let mut tries = [Try::default(); 7];
        let mut count = 0;
        let mut best = -INFINITE;
        let mut best_pit = 7;
        for pit in (0..self.sower.pits()).rev() {
            if stones_in(board.own, pit) == 0 {
                continue;
            }
            let Sown { board: after, gain, extra } = self.sower.sow(board, pit);
            if after.is_over() {
                let value = (gain + after.lead()) * STONE;
                if value > best {
                    best = value;
                    best_pit = pit;
                }
                continue;
            }
            let order = gain + if extra { 30 } else { 0 } + if pit == first { 1_000 } else { 0 };
            let board = if extra { after } else { after.turned() };
            tries[count] = Try { board, stones: stones - gain, gain, order, extra, pit };
            count += 1;
        }
        let entered = alpha;
        alpha = alpha.max(best);
        for i in 0..count {
            if alpha >= beta {
                break;
            }
            // The next best by order: seldom are all of them tried.
            let at = (i..count).max_by_key(|&j| (tries[j].order, count - j)).unwrap_or(i);
            tries[i..=at].rotate_right(1);
            let next = tries[i];
            let mut value = self.try_window(&next, depth, alpha, if i == 0 { beta } else { alpha + 1 });
            if i != 0 && value > alpha && value < beta {
                value = self.try_window(&next, depth, alpha, beta);
            }
            if self.stopped {
                return 0;
            }
            if value > best {
                best = value;
                best_pit = next.pit;
                alpha = alpha.max(value);
            }
        }
        let note = Estimate {
            value: best,
            is_lower: best > entered,
            is_upper: best < beta,
            depth,
            pit: if best > entered || first == 7 { best_pit } else { first },
        };
        self.table.put(place, note.note());
        best
    }

    #[inline(always)]
    fn try_window(&mut self, next: &Try, depth: u8, alpha: i32, beta: i32) -> i32 {
        let gained = next.gain * STONE;
        if next.extra {
            gained + self.search(next.board, next.stones, depth, alpha - gained, beta - gained)
        } else {
            gained - self.search(next.board, next.stones, depth - 1, gained - beta, gained - alpha)
        }
    }
}
