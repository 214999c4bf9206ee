//! Depth-limited alpha-beta. With three or four players all others are taken to play against the searching seat
//! (the paranoid assumption): it keeps alpha-beta's cuts, which a search by each seat's own gain would lose.

use super::evaluation::worth;
use crate::engine::{Position, Seat};

/// How many positions are searched between two questions whether to go on.
const ASK_EVERY: u64 = 1_024;

struct Search<'a> {
    root: Seat,
    go_on: &'a dyn Fn() -> bool,
    nodes: u64,
}

/// The best of `pits` (tried in this order) looking `depth` turns ahead, and how many positions were searched; no pit
/// when `go_on` said no before all were judged, or when the game is over. The sowings of one chain are one turn.
pub fn best_pit(position: &Position, pits: &[u8], depth: u8, go_on: &dyn Fn() -> bool) -> (Option<u8>, u64) {
    let Some(root) = position.to_move() else { return (None, 0) };
    let mut search = Search { root, go_on, nodes: 0 };
    let mut best = None;
    let mut alpha = -i32::MAX;
    for &pit in pits {
        let Some(value) = search.after(position, pit, depth, alpha, i32::MAX) else {
            return (None, search.nodes);
        };
        if best.is_none() || value > alpha {
            best = Some(pit);
            alpha = value;
        }
    }
    (best, search.nodes)
}

impl Search<'_> {
    /// Worth to the root seat after `pit` was sown, within (alpha, beta); `None` when the time has run out.
    fn after(&mut self, position: &Position, pit: u8, depth: u8, alpha: i32, beta: i32) -> Option<i32> {
        let mut next = *position;
        let sown = next.sow(pit).expect("only legal pits are searched");
        self.value(&next, if sown.extra { depth } else { depth - 1 }, alpha, beta)
    }

    fn value(&mut self, position: &Position, depth: u8, mut alpha: i32, mut beta: i32) -> Option<i32> {
        self.nodes += 1;
        if self.nodes.is_multiple_of(ASK_EVERY) && !(self.go_on)() {
            return None;
        }
        let Some(seat) = position.to_move().filter(|_| depth > 0) else {
            return Some(worth(position, self.root));
        };
        let maximises = seat == self.root;
        let mut best = if maximises { -i32::MAX } else { i32::MAX };
        // Pits near the store first: they earn most of the extra sowings.
        for bit in (0..u8::BITS).rev() {
            if position.legal_mask() >> bit & 1 == 0 {
                continue;
            }
            let pit = u8::try_from(bit).expect("a side has at most seven pits");
            let value = self.after(position, pit, depth, alpha, beta)?;
            if maximises {
                best = best.max(value);
                alpha = alpha.max(value);
            } else {
                best = best.min(value);
                beta = beta.min(value);
            }
            if alpha >= beta {
                break;
            }
        }
        Some(best)
    }
}
