//! The search of `hard` for three and four players: it plays the game to its end over and over, and grows a tree of the
//! sowings that were worth trying. Monte Carlo tree search with upper confidence bounds, in which each seat plays for its
//! own place.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::evaluation::{Promise, on_side, stored};
use super::search::ASK_EVERY;
use crate::cpu::Choice;
use crate::engine::{Position, Seat, Variant};

/// After so many playouts more change nothing that shows in games.
const MOST_PLAYOUTS: u32 = 200_000;
/// How much a sowing that was tried little is tried for that alone; scores lie between 0 and 1. With so much of it the
/// other seats stray from what seems best for them, as they do in games; with half of it the search trusts in replies
/// that do not come.
const CURIOSITY: f32 = 1.0;
/// In how many of ten sowings of a playout an extra sowing is taken where there is one.
const GREED: u32 = 9;
/// How many sowings of a playout are made before the end is estimated; games of Kalah end long before.
const LONGEST: u32 = 400;
/// What a stone more than one rival is worth at the end, where being ahead of all of them is worth 1.
const STONE: f32 = 0.001;

/// The pit that has stood out in playouts when `go_on`, which is asked every few thousand sowings, says no. `seed` makes
/// the playouts, and so decides between what is worth the same. `None` when the game is over.
///
/// The depth of the choice is that of the line that was tried most.
pub fn choose(position: &Position, seed: u64, go_on: &dyn Fn() -> bool) -> Option<Choice> {
    let seat = position.to_move()?;
    let mut search = Search {
        tree: vec![Node { first: 0, successors: 0, pit: 0, seat, playouts: 0, score: 0.0 }],
        rng: Pcg64Mcg::seed_from_u64(seed),
        gone: Vec::new(),
        sowings: 0,
    };
    search.open(0, position);
    let (mut path, mut asked) = (Vec::new(), 0);
    while search.tree[0].playouts < MOST_PLAYOUTS {
        if search.sowings >= asked {
            if !go_on() {
                break;
            }
            asked = search.sowings + ASK_EVERY;
        }
        search.try_once(position, &mut path);
    }
    Some(search.choice())
}

/// A sowing after all those that lead to it; the first node is the position itself.
struct Node {
    /// Where its successors begin, if it has any yet.
    first: u32,
    successors: u8,
    pit: u8,
    seat: Seat,
    playouts: u32,
    /// The sum of what these brought to `seat`.
    score: f32,
}

impl Node {
    fn successors(&self) -> Range<usize> {
        let first = self.first as usize;
        first..first + usize::from(self.successors)
    }

    /// The mean score, more the less is known of it.
    fn promise(&self, log_of_all: f32) -> f32 {
        let playouts = self.playouts as f32;
        self.score / playouts + CURIOSITY * (log_of_all / playouts).sqrt()
    }
}

struct Search {
    tree: Vec<Node>,
    rng: Pcg64Mcg,
    /// Who has left the board in this playout, in that order.
    gone: Vec<Seat>,
    sowings: u64,
}

impl Search {
    /// One playout: down the tree to a position that was not tried yet or only once, which is opened then, and on to the
    /// end.
    fn try_once(&mut self, position: &Position, path: &mut Vec<usize>) {
        let (mut position, mut at) = (*position, 0);
        self.gone.clear();
        path.clear();
        path.push(at);
        while position.to_move().is_some() {
            if self.tree[at].successors == 0 {
                if self.tree[at].playouts == 0 {
                    break;
                }
                self.open(at, &position);
            }
            at = self.most_promising(at);
            path.push(at);
            self.sow(&mut position, self.tree[at].seat, self.tree[at].pit);
        }
        let scores = self.play_out(position);
        for &node in &*path {
            let node = &mut self.tree[node];
            node.playouts += 1;
            node.score += scores[node.seat.index()];
        }
    }

    fn sow(&mut self, position: &mut Position, seat: Seat, pit: u8) {
        position.sow(pit).expect("only legal pits are tried");
        self.sowings += 1;
        if position.is_out(seat) {
            self.gone.push(seat);
        }
    }

    fn open(&mut self, at: usize, position: &Position) {
        let Some(seat) = position.to_move() else { return };
        let first = u32::try_from(self.tree.len()).expect("less than a billion nodes");
        let sowings =
            position.legal().map(|pit| Node { first: 0, successors: 0, pit, seat, playouts: 0, score: 0.0 });
        self.tree.extend(sowings);
        self.tree[at].first = first;
        self.tree[at].successors = u8::try_from(position.legal().count()).expect("at most seven pits");
    }

    /// The successor to try next: one that never was, chosen by chance, before all others.
    fn most_promising(&mut self, at: usize) -> usize {
        let new = self.tree[at].successors().filter(|&next| self.tree[next].playouts == 0);
        let news = new.clone().count();
        if news > 0 {
            let chosen = self.rng.random_range(0..news);
            return new.clone().nth(chosen).expect("one of them");
        }
        let log = (self.tree[at].playouts as f32).ln();
        let promise = |&next: &usize| self.tree[next].promise(log);
        let all = self.tree[at].successors();
        all.max_by(|one, other| promise(one).total_cmp(&promise(other))).expect("who is to move can sow")
    }

    /// Plays to the end, mostly with extra sowings where there are some: what each seat has of it.
    fn play_out(&mut self, mut position: Position) -> [f32; 4] {
        for _ in 0..LONGEST {
            let Some(seat) = position.to_move() else { break };
            let pit = self.pit_at_a_glance(&position, seat);
            self.sow(&mut position, seat, pit);
        }
        scores(&position, &self.gone)
    }

    fn pit_at_a_glance(&mut self, position: &Position, seat: Seat) -> u8 {
        let pits = position.rules().pits();
        if self.rng.random_range(0..10) < GREED {
            let by_distance = (1..=pits).zip(position.pits(seat).iter().rev());
            if let Some((distance, _)) =
                by_distance.into_iter().find(|(distance, stones)| distance == *stones)
            {
                return pits - distance;
            }
        }
        let legal = position.legal_mask();
        let chosen = self.rng.random_range(0..legal.count_ones());
        let rest = (0..chosen).fold(legal, |rest, _| rest & (rest - 1));
        u8::try_from(rest.trailing_zeros()).expect("at most seven pits")
    }

    /// What was tried most, and how many turns ahead that goes on.
    fn choice(&self) -> Choice {
        let most_tried = |at: usize| self.tree[at].successors().max_by_key(|&next| self.tree[next].playouts);
        let best = most_tried(0).expect("the game is not over");
        let (mut depth, mut seat, mut at) = (0_u8, None, best);
        loop {
            if seat.replace(self.tree[at].seat) != Some(self.tree[at].seat) {
                depth = depth.saturating_add(1);
            }
            match most_tried(at).filter(|&next| self.tree[next].playouts > 0) {
                Some(next) => at = next,
                None => break,
            }
        }
        Choice { pit: self.tree[best].pit, depth, nodes: self.sowings }
    }
}

/// What the end, or an estimate of it, is worth to each seat: from 0 behind all rivals to 1 ahead of them. Of those who
/// have left the board, those before the playout come first and then `left` in its order.
fn scores(position: &Position, left: &[Seat]) -> [f32; 4] {
    let turn_of_leaving = |seat| left.iter().position(|&gone| gone == seat);
    let over = position.to_move().is_none();
    let promise = Promise::of(position);
    let (mut stones, mut open) = ([0; 4], 0);
    for seat in position.seats() {
        let side = position.side_word(seat);
        open += on_side(side);
        stones[seat.index()] = match position.rules().variant() {
            _ if !over => promise.score(side),
            Variant::Kalah => stored(side),
            Variant::Basic => -on_side(side),
        };
    }
    let doubt = Promise::doubt(open);
    let mut scores = [0.5; 4];
    let whole = 0.5 / f32::from(position.rules().players() - 1);
    for one in position.seats() {
        for other in position.seats().skip(one.index() + 1) {
            let lead = stones[one.index()] - stones[other.index()];
            let ahead = match (position.is_out(one), position.is_out(other)) {
                (true, true) => turn_of_leaving(other).cmp(&turn_of_leaving(one)) as i8 as f32,
                (true, false) => 1.0,
                (false, true) => -1.0,
                _ if over => lead.signum() as f32 + STONE * lead as f32,
                _ => lead as f32 / (lead.abs() + doubt) as f32,
            };
            // Who has resigned is behind everybody who stayed, but its seat plays on as if it were not.
            let (gone, other_gone) = (position.is_resigned(one), position.is_resigned(other));
            scores[one.index()] += whole * if other_gone && !gone { 1.0 } else { ahead };
            scores[other.index()] += whole * if gone && !other_gone { 1.0 } else { -ahead };
        }
    }
    scores
}
