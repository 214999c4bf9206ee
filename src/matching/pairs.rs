//! A round for two seats: of all pairs that may play, the one with the lowest score first.
//!
//! Looking at all pairs would take seconds for a queue of ten thousand. Instead everybody keeps the best of their own
//! pairs, and the best of those is the best of all. A partner who turns out to be taken is replaced only when the pair
//! comes up: without them the next best can only be worse, so nothing comes up too late.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::tree::Tree;
use super::{Match, Waiting};

/// The best pair of somebody who looks for a partner.
struct Pair {
    score: f64,
    owner: usize,
    partner: usize,
}

impl Pair {
    fn tickets(&self) -> [usize; 2] {
        [self.owner.min(self.partner), self.owner.max(self.partner)]
    }
}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| self.tickets().cmp(&other.tickets()))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Pair {}

pub(super) fn pair(waiting: &[Waiting]) -> Vec<Match> {
    let Some(mut tree) = Tree::new(waiting) else { return Vec::new() };
    let best = |tree: &Tree<'_>, owner| {
        tree.best_partner(owner)
            .map(|partner| Reverse(Pair { score: partner.score, owner, partner: partner.index }))
    };
    let mut heap: BinaryHeap<_> = (0..waiting.len()).filter_map(|owner| best(&tree, owner)).collect();
    let mut matches = Vec::new();
    while let Some(Reverse(pair)) = heap.pop() {
        if !tree.is_free(pair.owner) {
            continue;
        }
        if tree.is_free(pair.partner) {
            tree.take(pair.owner);
            tree.take(pair.partner);
            matches.push(Match { tickets: pair.tickets().to_vec(), score: pair.score });
        } else {
            heap.extend(best(&tree, pair.owner));
        }
    }
    matches
}
