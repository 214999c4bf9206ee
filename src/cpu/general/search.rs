//! Alpha-beta for every variant and number of players, on the engine's own positions.

use super::evaluation::{Judge, Worth};
use super::table::{Bound, Entry, Table, key};
use crate::engine::{Position, Seat};

/// How many positions are searched between two questions whether to go on.
pub const ASK_EVERY: u64 = 1_024;

/// Beyond every value.
pub const INFINITE: i32 = i32::MAX;

/// One search with what it has learnt so far.
pub struct Search<'a> {
    pub judge: Judge,
    pub table: Table,
    pub nodes: u64,
    go_on: &'a dyn Fn() -> bool,
}

/// A position after one sowing.
struct Child {
    position: Position,
    pit: u8,
    extra: bool,
    order: i32,
}

impl<'a> Search<'a> {
    pub fn new(judge: Judge, turns: u8, go_on: &'a dyn Fn() -> bool) -> Self {
        Self { judge, table: Table::new(turns), nodes: 0, go_on }
    }

    /// The worth, to the seat that searches, of sowing `pit`, looking `depth` turns ahead with this one; `None` when
    /// the patience has run out. The sowings of one chain are one turn, so that it is always followed to its end.
    pub fn sowing(
        &mut self,
        position: &Position,
        pit: u8,
        depth: u8,
        alpha: i32,
        beta: i32,
    ) -> Option<Worth> {
        let mut next = *position;
        let sown = next.sow(pit).expect("only legal pits are searched");
        self.after(&next, if sown.extra { depth } else { depth - 1 }, alpha, beta)
    }

    /// What sowing `pit` looks worth without looking any further.
    pub fn glance(&self, position: &Position, pit: u8) -> Worth {
        let mut next = *position;
        next.sow(pit).expect("only legal pits are searched");
        self.judge.worth(&next)
    }

    /// The pits of best play from `position` on, as far as they are remembered for certain.
    pub fn line(&self, mut position: Position) -> Vec<u8> {
        let mut line = Vec::new();
        while position.to_move().is_some()
            && let Some(entry) = self.table.get(key(&position))
            && entry.bound == Bound::Exact
            && position.sow(entry.pit).is_ok()
        {
            line.push(entry.pit);
        }
        line
    }

    fn is_ours(&self, seat: Option<Seat>) -> bool {
        seat == Some(self.judge.seat())
    }

    /// The worth of `position` to the seat that searches.
    fn after(&mut self, position: &Position, depth: u8, alpha: i32, beta: i32) -> Option<Worth> {
        self.nodes += 1;
        if self.nodes.is_multiple_of(ASK_EVERY) && !(self.go_on)() {
            return None;
        }
        if depth == 0 || self.judge.is_settled(position) {
            return Some(self.judge.worth(position));
        }
        if self.is_ours(position.to_move()) {
            self.node(position, depth, alpha, beta)
        } else {
            self.node(position, depth, -beta, -alpha).map(|worth| -worth)
        }
    }

    /// The worth of a position with somebody to move, to the searching seat if it is that one's turn, else to all
    /// others.
    fn node(&mut self, position: &Position, depth: u8, mut alpha: i32, beta: i32) -> Option<Worth> {
        let seat = position.to_move()?;
        let ours = self.is_ours(Some(seat));
        let key = key(position);
        let known = self.table.get(key);
        if let Some(entry) = known
            && (entry.worth.proven || entry.depth >= depth)
            && match entry.bound {
                Bound::Exact => true,
                Bound::AtLeast => entry.worth.value >= beta,
                Bound::AtMost => entry.worth.value <= alpha,
            }
        {
            return Some(entry.worth);
        }
        if let Some((least, most)) = self.judge.limits(position) {
            let (least, most) = if ours { (least, most) } else { (-most, -least) };
            if least >= beta {
                return Some(Worth { value: least, proven: true });
            }
            if most <= alpha {
                return Some(Worth { value: most, proven: true });
            }
        }
        let floor = alpha;
        let mut best = Worth { value: -INFINITE, proven: true };
        let mut best_pit = 0;
        let mut all_proven = true;
        for child in self.children(position, seat, depth, known.map(|entry| entry.pit)) {
            let left = if child.extra { depth } else { depth - 1 };
            let worth = self.child(&child.position, ours, left, alpha, beta, best.value == -INFINITE)?;
            all_proven &= worth.proven;
            if worth.value > best.value {
                best = worth;
                best_pit = child.pit;
                alpha = alpha.max(worth.value);
            }
            if alpha >= beta {
                break;
            }
        }
        // A cut stands on its own; any other value needs all that was compared.
        if best.value < beta {
            best.proven = all_proven;
        }
        let bound = if best.value >= beta {
            Bound::AtLeast
        } else if best.value <= floor {
            Bound::AtMost
        } else {
            Bound::Exact
        };
        self.table.put(key, Entry { worth: best, bound, depth, pit: best_pit });
        Some(best)
    }

    /// The worth of a child to the side that moved: all but the first are only asked whether they are better.
    fn child(
        &mut self,
        position: &Position,
        ours: bool,
        depth: u8,
        alpha: i32,
        beta: i32,
        first: bool,
    ) -> Option<Worth> {
        let mut ask = |alpha: i32, beta: i32| {
            if ours {
                self.after(position, depth, alpha, beta)
            } else {
                self.after(position, depth, -beta, -alpha).map(|worth| -worth)
            }
        };
        if !first && depth > 0 && alpha > -INFINITE && alpha + 1 < beta {
            let worth = ask(alpha, alpha + 1)?;
            if worth.value <= alpha || worth.value >= beta {
                return Some(worth);
            }
        }
        ask(alpha, beta)
    }

    /// What can be sown, the most promising first.
    fn children(
        &self,
        position: &Position,
        seat: Seat,
        depth: u8,
        known: Option<u8>,
    ) -> impl Iterator<Item = Child> + use<> {
        let ours = self.is_ours(Some(seat));
        let mut children: [Option<Child>; 7] = [const { None }; 7];
        let mut count = 0;
        // Pits near the store first: sown in that order, chains spoil one another least.
        for pit in (0..position.rules().pits()).rev().filter(|pit| position.legal_mask() >> pit & 1 == 1) {
            let mut next = *position;
            let sown = next.sow(pit).expect("only legal pits are searched");
            let order = if known == Some(pit) {
                i32::MAX
            } else if sown.extra {
                (1 << 24) + i32::from(pit)
            } else if depth > 1 {
                let value = self.judge.estimate(&next);
                if ours { value } else { -value }
            } else {
                i32::from(sown.captured)
            };
            children[count] = Some(Child { position: next, pit, extra: sown.extra, order });
            count += 1;
        }
        children[..count].sort_by_key(|child| child.as_ref().map(|child| -child.order));
        children.into_iter().flatten()
    }
}
