//! Why a move is good, as far as the rules alone can tell. Only what is true of the position is said.

use crate::cpu::Choice;
use crate::engine::{Cup, Position, Seat, Setup};

/// How many sowings of the others are looked at, at most; what is not certain by then is not said.
const MOST_SOWINGS: u32 = 20_000;

/// Something that is good about a move, from the point of view of the seat that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is no other.
    OnlyMove,
    /// The game is over then.
    EndsGame,
    /// The seat has emptied its side and leaves the board (Basic).
    LeavesBoard,
    /// The seat sows again.
    ExtraSowing,
    /// `stones` of the `pit` of `seat` go to the own store.
    Capture {
        /// How many.
        stones: u8,
        /// Whose they were.
        seat: Seat,
        /// Where they lay.
        pit: u8,
    },
    /// The `stones` of the own `pit` could be captured if it were the others' turn, and after the move neither they nor
    /// as many elsewhere.
    Protects {
        /// The pit.
        pit: u8,
        /// The stones in it before the move.
        stones: u8,
    },
    /// The own `pit` earns an extra sowing afterwards, and did not before.
    PreparesExtra {
        /// The pit.
        pit: u8,
    },
    /// The move keeps the margin that best play leads to.
    KeepsExactResult {
        /// Own store minus the other's at the end.
        margin: i16,
    },
    /// The best move of a search over `depth` turns.
    BestBySearch {
        /// Turns.
        depth: u8,
    },
    /// It is what the level plays, for no better reason.
    PlaysAtLevel,
}

/// The reasons for a choice, most telling first. `exact` is the exact margin, if the choice is known to keep it.
pub fn of(position: &Position, choice: &Choice, exact: Option<i16>) -> Vec<Reason> {
    let (Some(seat), Ok(sowing)) = (position.to_move(), position.trace(choice.pit)) else {
        return Vec::new();
    };
    let mut reasons = Vec::new();
    let mut say = |holds: bool, reason| {
        if holds {
            reasons.push(reason);
        }
    };
    say(position.legal().count() == 1, Reason::OnlyMove);
    say(sowing.ends_game, Reason::EndsGame);
    say(sowing.finished.contains(&seat), Reason::LeavesBoard);
    say(sowing.extra, Reason::ExtraSowing);
    for &(cup, stones) in &sowing.captured {
        match cup {
            Cup::Pit { seat: whose, pit } if whose != seat => {
                say(true, Reason::Capture { stones, seat: whose, pit });
            }
            _ => {}
        }
    }
    if !sowing.ends_game {
        reasons.extend(protected(position, &sowing.position, seat));
        reasons.extend(prepared(position, &sowing.position, seat));
    }
    reasons.extend(exact.map(|margin| Reason::KeepsExactResult { margin }));
    if choice.depth > 0 {
        reasons.push(Reason::BestBySearch { depth: choice.depth });
    } else if reasons.is_empty() {
        reasons.push(Reason::PlaysAtLevel);
    }
    reasons
}

/// What of `seat` is in danger before the move and safe after it.
fn protected(before: &Position, after: &Position, seat: Seat) -> Vec<Reason> {
    let mut patience = MOST_SOWINGS;
    let Some(worst) = losses(after, seat, true, &mut patience) else { return Vec::new() };
    let Some(danger) = losses(before, seat, false, &mut patience) else { return Vec::new() };
    let most_lost = worst.iter().copied().max().unwrap_or(0);
    let stones = before.pits(seat);
    (0..before.rules().pits())
        .filter(|&pit| danger[usize::from(pit)] > 0 && worst[usize::from(pit)] == 0)
        .map(|pit| Reason::Protects { pit, stones: stones[usize::from(pit)] })
        .filter(|reason| matches!(reason, Reason::Protects { stones, .. } if *stones > most_lost))
        .collect()
}

/// For each pit of `seat` the most stones that another seat can capture from it, were it that seat's turn now: with its
/// next sowing, or at any point of a whole chain. `None` when there is too much to look at.
fn losses(position: &Position, seat: Seat, chains: bool, patience: &mut u32) -> Option<Vec<u8>> {
    let mut losses = vec![0; usize::from(position.rules().pits())];
    for other in position.seats().filter(|&other| other != seat && !position.is_out(other)) {
        if let Some(theirs) = with_turn(position, other) {
            add_losses(&theirs, seat, chains, patience, &mut losses)?;
        }
    }
    Some(losses)
}

fn add_losses(
    position: &Position,
    seat: Seat,
    chains: bool,
    patience: &mut u32,
    losses: &mut [u8],
) -> Option<()> {
    for pit in position.legal() {
        *patience = patience.checked_sub(1)?;
        let sowing = position.trace(pit).ok()?;
        for (cup, stones) in sowing.captured {
            match cup {
                Cup::Pit { seat: whose, pit } if whose == seat => {
                    let loss = &mut losses[usize::from(pit)];
                    *loss = stones.max(*loss);
                }
                _ => {}
            }
        }
        if chains && sowing.extra {
            add_losses(&sowing.position, seat, chains, patience, losses)?;
        }
    }
    Some(())
}

/// The pit nearest to the store that earns an extra sowing after the move and did not before.
fn prepared(before: &Position, after: &Position, seat: Seat) -> Option<Reason> {
    let earns = |position: &Position, pit| position.trace(pit).is_ok_and(|sowing| sowing.extra);
    let mine = with_turn(after, seat)?;
    let pit = (0..before.rules().pits()).rev().find(|&pit| earns(&mine, pit) && !earns(before, pit))?;
    Some(Reason::PreparesExtra { pit })
}

/// The same board with `seat` to move; `None` if that cannot be.
fn with_turn(position: &Position, seat: Seat) -> Option<Position> {
    let seats = || position.seats();
    let setup = Setup {
        rules: *position.rules(),
        pits: seats().map(|s| position.pits(s).to_vec()).collect(),
        stores: seats().map(|s| position.store(s)).collect(),
        out: seats().map(|s| position.is_out(s)).collect(),
        to_move: Some(seat),
    };
    Position::from_setup(&setup).ok()
}

#[cfg(test)]
mod tests {
    use super::{Reason, of};
    use crate::cpu::Choice;
    use crate::engine::{Position, Rules, RulesRequest, Seat, Setup, Variant};

    /// The reasons for sowing `pit`, seat 0 to move.
    fn reasons(variant: Variant, pits: &[&[u8]], pit: u8, request: &RulesRequest) -> Vec<Reason> {
        let players = u8::try_from(pits.len()).unwrap();
        let rules =
            Rules::for_position(variant, players, u8::try_from(pits[0].len()).unwrap(), request).unwrap();
        let setup = Setup {
            rules,
            pits: pits.iter().map(|side| side.to_vec()).collect(),
            stores: vec![10; pits.len()],
            out: vec![false; pits.len()],
            to_move: Seat::new(0),
        };
        of(&Position::from_setup(&setup).unwrap(), &Choice { pit, depth: 3, nodes: 9 }, None)
    }

    fn kalah(mine: &[u8], theirs: &[u8], pit: u8) -> Vec<Reason> {
        let reasons = reasons(Variant::Kalah, &[mine, theirs], pit, &RulesRequest::default());
        let (last, others) = reasons.split_last().unwrap();
        assert_eq!(*last, Reason::BestBySearch { depth: 3 });
        others.to_vec()
    }

    fn captures(stones: u8, pit: u8) -> Reason {
        Reason::Capture { stones, seat: Seat::ALL[1], pit }
    }

    #[test]
    fn what_a_move_does_at_once_is_said() {
        assert_eq!(kalah(&[4, 4, 4, 4, 4, 4], &[4, 4, 4, 4, 4, 4], 2), [Reason::ExtraSowing]);
        assert_eq!(kalah(&[1, 0, 0, 0, 0, 2], &[0, 3, 0, 0, 5, 0], 0), [captures(5, 4)]);
        // Nothing lies across: nothing is captured.
        assert_eq!(kalah(&[1, 0, 0, 0, 0, 2], &[0, 3, 0, 0, 0, 1], 0), []);
        let last = [Reason::OnlyMove, Reason::EndsGame];
        assert_eq!(kalah(&[0, 0, 0, 0, 0, 1], &[1, 1, 1, 1, 1, 1], 5), last);
        let by_capture = [Reason::OnlyMove, Reason::EndsGame, captures(6, 4)];
        assert_eq!(kalah(&[1, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 6, 3], 0), by_capture);
    }

    #[test]
    fn every_pit_that_a_capture_empties_is_said() {
        let all =
            RulesRequest { capture_from: Some(crate::engine::CaptureFrom::All), ..RulesRequest::default() };
        let pits: [&[u8]; 3] = [&[1, 0, 9, 0], &[1, 1, 2, 1], &[1, 1, 3, 1]];
        let found = reasons(Variant::Kalah, &pits, 0, &all);
        let expected = [(2, 1), (3, 2)].map(|(stones, seat)| {
            let seat = Seat::ALL[seat];
            Reason::Capture { stones, seat, pit: 2 }
        });
        assert_eq!(found[..2], expected);
    }

    #[test]
    fn stones_are_protected_when_they_could_be_captured_before_and_nothing_like_it_afterwards() {
        // Their a takes the six across from their empty b; sown, the six are no more to be had.
        let threat = &[1, 0, 3, 3, 3, 3];
        let protects = Reason::Protects { pit: 4, stones: 6 };
        let prepares = Reason::PreparesExtra { pit: 5 };
        assert_eq!(kalah(&[0, 1, 0, 0, 6, 0], threat, 4), [protects, prepares]);
        // Another move leaves them there.
        assert_eq!(kalah(&[0, 1, 0, 0, 6, 0], threat, 1), [captures(3, 3)]);
        // Without the stone in a there is no threat; nor when b is not empty.
        assert_eq!(kalah(&[0, 1, 0, 0, 6, 0], &[0, 0, 3, 3, 3, 3], 4), [prepares]);
        assert_eq!(kalah(&[0, 1, 0, 0, 6, 0], &[1, 1, 3, 3, 3, 3], 4), [prepares]);
    }

    #[test]
    fn an_extra_sowing_that_becomes_possible_is_prepared() {
        // Pit 3 needs three stones; the fourth pit gets its third.
        let prepares = Reason::PreparesExtra { pit: 3 };
        assert_eq!(kalah(&[0, 0, 1, 2, 0, 0], &[1, 1, 0, 1, 1, 1], 2), [prepares]);
        // It was possible before.
        assert_eq!(kalah(&[1, 0, 0, 3, 0, 0], &[1, 1, 1, 1, 0, 1], 0), []);
    }

    #[test]
    fn in_basic_a_finisher_leaves_the_board_or_ends_the_game() {
        let three: [&[u8]; 3] = [&[0, 0, 0, 1], &[1, 1, 1, 1], &[1, 1, 1, 1]];
        let found = reasons(Variant::Basic, &three, 3, &RulesRequest::default());
        assert_eq!(found[..2], [Reason::OnlyMove, Reason::LeavesBoard]);
        let two: [&[u8]; 2] = [&[0, 0, 0, 1], &[1, 1, 1, 1]];
        let found = reasons(Variant::Basic, &two, 3, &RulesRequest::default());
        assert_eq!(found[..2], [Reason::OnlyMove, Reason::EndsGame]);
    }

    #[test]
    fn a_choice_by_chance_still_has_its_reason() {
        let rules = Rules::effective(Variant::Kalah, 2, &RulesRequest::default()).unwrap();
        let start = Position::start(rules, Seat::ALL[0]).unwrap();
        let by_chance = |pit| of(&start, &Choice { pit, depth: 0, nodes: 0 }, None);
        assert_eq!(by_chance(5), [Reason::PlaysAtLevel]);
        assert_eq!(by_chance(2), [Reason::ExtraSowing]);
    }

    #[test]
    fn the_exact_result_is_said_when_it_is_known() {
        let rules = Rules::effective(Variant::Kalah, 2, &RulesRequest::default()).unwrap();
        let start = Position::start(rules, Seat::ALL[0]).unwrap();
        let reasons = of(&start, &Choice { pit: 2, depth: 14, nodes: 9 }, Some(8));
        let expected =
            [Reason::ExtraSowing, Reason::KeepsExactResult { margin: 8 }, Reason::BestBySearch { depth: 14 }];
        assert_eq!(reasons, expected);
    }
}
