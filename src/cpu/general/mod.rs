//! The searches that know every variant and number of players, on the engine's own positions.
//!
//! With two players, and with more for levels that look only a few turns ahead: alpha-beta, in which all others play
//! against the seat (paranoid). `medium` does that in a millisecond. With three or four players looking further that way
//! is worth nothing, as what it fears does not happen, and letting each seat play for its own place by the same
//! estimates (max^n) swings with every turn more or less: mean places from 2.0 to 3.1 of one seat against three of
//! `medium` in Kalah 6 × 4, where 2.5 is none better. What does better is playing the game to its end over and over
//! (`playouts`), so `hard` does that: 1.4 to 1.9 in the same games, whatever its time.
//!
//! Analysis is always alpha-beta, paranoid with several players, as its values then mean something: what the seat gets
//! whatever all others do.

mod evaluation;
mod playouts;
mod search;
mod table;
#[cfg(test)]
mod tests;

use super::{Analysis, Choice, MoveValue};
use crate::engine::Position;
use evaluation::{Goal, Judge, Worth};
use search::{INFINITE, Search};

/// The most turns that are looked ahead with all others against the seat when there are several. For more there are
/// playouts.
const MOST_WARY: u8 = 5;

/// The best of `pits`, which are tried in this order, looking at most `turns` ahead. The deepest search that was
/// completed counts, improved by what the one after it had found for certain; `go_on` is asked every few thousand
/// positions. Positions of about the same worth are told apart by `seed`. `None` when the game is over.
pub fn choose(
    position: &Position,
    pits: &[u8],
    turns: u8,
    seed: u64,
    go_on: &dyn Fn() -> bool,
) -> Option<Choice> {
    if position.rules().players() > 2 && turns > MOST_WARY {
        return playouts::choose(position, seed, go_on);
    }
    let mut search = Search::new(Judge::new(position, Goal::Places, Some(seed))?, turns, go_on);
    let mut pits = pits.to_vec();
    let mut choice = Choice { pit: *pits.first()?, depth: 0, nodes: 0 };
    // One turn further each time, until the patience or the turns have run out or more cannot change anything.
    for depth in 1..=turns {
        let Some(proven) = look(&mut search, position, &pits, depth, &mut choice.pit) else { break };
        choice.depth = depth;
        if proven {
            break;
        }
        // The next depth looks at the best pit first: it cuts most, and whatever is found better later is so for
        // certain.
        pits.sort_by_key(|&pit| pit != choice.pit);
    }
    Some(Choice { nodes: search.nodes, ..choice })
}

/// Looks `depth` turns ahead and keeps in `best` the best of the pits so far; whether that can never change with more
/// depth, or `None` when the patience has run out.
fn look(search: &mut Search, position: &Position, pits: &[u8], depth: u8, best: &mut u8) -> Option<bool> {
    let mut alpha = -INFINITE;
    let mut all_proven = true;
    for &pit in pits {
        if alpha > -INFINITE {
            let worth = search.sowing(position, pit, depth, alpha, alpha + 1)?;
            if worth.value <= alpha {
                all_proven &= worth.proven;
                continue;
            }
            *best = pit;
        }
        let worth = search.sowing(position, pit, depth, alpha, INFINITE)?;
        all_proven &= worth.proven;
        if worth.value > alpha {
            *best = pit;
            alpha = worth.value;
        }
    }
    Some(all_proven)
}

/// Every legal move's value in stones, looking at most `turns` ahead. With three or four players it is what the seat
/// gets when all others play against it, and what is exact is therefore safe. The best move is the one that leads to the
/// best place, certain ones before hopes, and then the one of most stones. `None` when the game is over.
pub fn analyse(position: &Position, turns: u8, go_on: &dyn Fn() -> bool) -> Option<Analysis> {
    let mut search = Search::new(Judge::new(position, Goal::Stones, None)?, turns, go_on);
    let mut found: Vec<Found> = position.legal().map(|pit| Found::at_once(&search, position, pit)).collect();
    let mut depth = 0;
    while depth < turns && !found.iter().all(|found| found.worth.proven) {
        let Some(deeper) = deepen(&mut search, position, &found, depth + 1) else { break };
        found = deeper;
        depth += 1;
    }
    // Of equal moves one that is certain, and then the one nearest to the store.
    let best = found.iter().max_by_key(|found| (found.worth.value, found.worth.proven))?;
    Some(Analysis {
        best: best.pit,
        line: best.line.clone(),
        depth,
        nodes: search.nodes,
        exact: found.iter().all(|found| found.worth.proven),
        moves: found.iter().map(|found| found.value(&search, position)).collect(),
    })
}

/// What is known of a move that is analysed.
#[derive(Clone)]
struct Found {
    pit: u8,
    worth: Worth,
    line: Vec<u8>,
}

impl Found {
    fn at_once(search: &Search, position: &Position, pit: u8) -> Self {
        Self { pit, worth: search.glance(position, pit), line: vec![pit] }
    }

    fn value(&self, search: &Search, position: &Position) -> MoveValue {
        let value = search.judge.in_stones(position, self.worth.value);
        MoveValue { pit: self.pit, value, exact: self.worth.proven }
    }
}

/// The same moves looked through `depth` turns ahead, as far as they are not proven; `None` when the patience has run
/// out.
fn deepen(search: &mut Search, position: &Position, found: &[Found], depth: u8) -> Option<Vec<Found>> {
    (found.iter())
        .map(|found| {
            if found.worth.proven {
                return Some(found.clone());
            }
            let worth = search.sowing(position, found.pit, depth, -INFINITE, INFINITE)?;
            let mut next = *position;
            next.sow(found.pit).expect("only legal pits are analysed");
            let mut line = vec![found.pit];
            line.extend(search.line(next));
            Some(Found { pit: found.pit, worth, line })
        })
        .collect()
}
