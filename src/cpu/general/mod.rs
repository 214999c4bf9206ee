//! The search that knows every variant and number of players, on the engine's own positions.

mod evaluation;
mod search;

use super::{Analysis, MoveValue};
use crate::engine::Position;

/// The best of `pits`, which are tried in this order, looking at most `turns` ahead. The deepest search that was
/// completed counts; `go_on` is asked every few thousand positions. `None` when the game is over.
pub fn choose(
    position: &Position,
    pits: &[u8],
    turns: u8,
    go_on: &dyn Fn() -> bool,
) -> Option<super::Choice> {
    let mut pits = pits.to_vec();
    let mut choice = super::Choice { pit: *pits.first()?, depth: 0, nodes: 0 };
    for depth in 1..=turns {
        let (best, nodes) = search::best_pit(position, &pits, depth, go_on);
        choice.nodes += nodes;
        let Some(best) = best else { break };
        choice.pit = best;
        choice.depth = depth;
        // The next depth looks at the best pit first: it cuts most.
        pits.sort_by_key(|&p| p != best);
    }
    Some(choice)
}

/// Every legal move's value in stones, looking at most `turns` ahead.
pub fn analyse(position: &Position, turns: u8, go_on: &dyn Fn() -> bool) -> Option<Analysis> {
    let pits: Vec<u8> = position.legal().collect();
    let choice = choose(position, &pits, turns, go_on)?;
    let seat = position.to_move()?;
    let moves = pits
        .iter()
        .map(|&pit| {
            let mut next = *position;
            next.sow(pit).expect("only legal pits are analysed");
            let exact = next.to_move().is_none();
            MoveValue { pit, value: evaluation::margin(&next, seat), exact }
        })
        .collect();
    let exact = false;
    Some(Analysis {
        moves,
        best: choice.pit,
        line: vec![choice.pit],
        depth: choice.depth,
        nodes: choice.nodes,
        exact,
    })
}
