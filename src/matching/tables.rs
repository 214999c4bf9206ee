//! A round for three or four seats. To look at all tables that could be made is out of the question, so everybody who
//! is free proposes one: themselves and those nearest to them who may also meet each other. The proposal with the
//! lowest score is made first, and who has proposed somebody now taken proposes anew, at once: without that one the
//! next may come to less, as somebody farther away may have waited longer.
//!
//! Of those who are equally near the nearest in the order of waiting is taken, so that in a crowd of newcomers, who
//! all have the same rating, not everybody proposes the same few.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::{Match, TABLE_WAIT, THRESHOLD, Waiting, gap_per_point, least_certain, may_meet, penalty};
use crate::rating::Standing;

/// A table that somebody proposes.
struct Proposal {
    score: f64,
    anchor: usize,
    /// The anchor too, ascending.
    members: Vec<usize>,
}

impl Ord for Proposal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(self.anchor.cmp(&other.anchor))
    }
}

impl PartialOrd for Proposal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Proposal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Proposal {}

pub(super) fn pair(waiting: &[Waiting], seats: usize) -> Vec<Match> {
    let Some(mut line) = Line::new(waiting) else { return Vec::new() };
    // Who has chosen this one for their table; some may have chosen anew since, which only costs time.
    let mut chosen_by: Vec<Vec<usize>> = vec![Vec::new(); waiting.len()];
    let mut heap = BinaryHeap::new();
    let mut free = vec![true; waiting.len()];
    let mut to_ask: Vec<usize> = (0..waiting.len()).collect();
    let mut matches = Vec::new();
    loop {
        for anchor in to_ask.drain(..) {
            let members = line.table_of(anchor, seats);
            members
                .iter()
                .filter(|member| **member != anchor)
                .for_each(|member| chosen_by[*member].push(anchor));
            if members.len() == seats {
                let score = score(waiting, &members);
                heap.extend((score <= THRESHOLD).then_some(Reverse(Proposal { score, anchor, members })));
            }
        }
        let Some(Reverse(Proposal { score, members, .. })) = heap.pop() else { return matches };
        if members.iter().any(|member| !free[*member]) {
            continue;
        }
        for member in &members {
            free[*member] = false;
            line.take(*member);
            to_ask.append(&mut chosen_by[*member]);
        }
        to_ask.retain(|anchor| free[*anchor]);
        to_ask.sort_unstable();
        to_ask.dedup();
        matches.push(Match { tickets: members, score });
    }
}

fn score(waiting: &[Waiting], members: &[usize]) -> f64 {
    let table: Vec<&Waiting> = members.iter().map(|member| &waiting[*member]).collect();
    let gaps = table.iter().flat_map(|a| table.iter().map(|b| a.standing.gap(b.standing)));
    let waited: f64 = table.iter().map(|waiting| waiting.waited).sum();
    gaps.fold(0.0, f64::max) - TABLE_WAIT * waited / table.len() as f64 + penalty(&table)
}

/// Those who are free, in a line by rating, those with the same rating by their wait.
struct Line<'a> {
    waiting: &'a [Waiting],
    least_certain: Standing,
    /// The longest of all waits, in seconds.
    longest: f64,
    /// How many have waited longer than this one.
    ranks: Vec<usize>,
    /// The free neighbours of each who is free.
    lower: Vec<Option<usize>>,
    higher: Vec<Option<usize>>,
}

impl<'a> Line<'a> {
    fn new(waiting: &'a [Waiting]) -> Option<Self> {
        let least_certain = least_certain(waiting)?;
        let mut order: Vec<usize> = (0..waiting.len()).collect();
        order.sort_by(|a, b| waiting[*b].waited.total_cmp(&waiting[*a].waited));
        let longest = waiting[order[0]].waited;
        let mut ranks = vec![0; order.len()];
        order.iter().enumerate().for_each(|(rank, index)| ranks[*index] = rank);
        let rating = |index: usize| waiting[index].standing.rating.points();
        // Stable: who has the same rating stays in the order of waiting.
        order.sort_by(|a, b| rating(*a).total_cmp(&rating(*b)));
        let (mut lower, mut higher) = (vec![None; order.len()], vec![None; order.len()]);
        for neighbours in order.windows(2) {
            lower[neighbours[1]] = Some(neighbours[0]);
            higher[neighbours[0]] = Some(neighbours[1]);
        }
        Some(Self { waiting, least_certain, longest, ranks, lower, higher })
    }

    fn take(&mut self, index: usize) {
        let (lower, higher) = (self.lower[index], self.higher[index]);
        if let Some(lower) = lower {
            self.higher[lower] = higher;
        }
        if let Some(higher) = higher {
            self.lower[higher] = lower;
        }
    }

    /// The anchor and the nearest who fit, ascending: fewer than `seats` if the table could not be played now anyway.
    fn table_of(&self, anchor: usize, seats: usize) -> Vec<usize> {
        let mut members = vec![anchor];
        let mut nearest = self.nearest(anchor, seats);
        while members.len() < seats
            && let Some(next) = nearest.next()
        {
            if members.iter().all(|member| may_meet(&self.waiting[*member], &self.waiting[next])) {
                members.push(next);
            }
        }
        members.sort_unstable();
        members
    }

    fn nearest(&self, anchor: usize, seats: usize) -> Nearest<'_> {
        let me = &self.waiting[anchor];
        let most_waited = me.waited + (seats - 1) as f64 * self.longest;
        Nearest {
            line: self,
            anchor,
            gap_per_point: gap_per_point(me.standing, self.least_certain),
            // The trace on top is for rounding.
            farthest: THRESHOLD + TABLE_WAIT * most_waited / seats as f64 + 1e-6,
            lower: self.lower[anchor],
            higher: self.higher[anchor],
            seen: BinaryHeap::new(),
        }
    }
}

/// Finds those nearest to somebody one after the other.
struct Nearest<'a> {
    line: &'a Line<'a>,
    anchor: usize,
    gap_per_point: f64,
    /// With anybody farther away than this, no table of the anchor can be played now, whatever the others waited.
    farthest: f64,
    /// Up to where in the line nobody has been seen yet.
    lower: Option<usize>,
    higher: Option<usize>,
    /// Who has been seen but may not be the next.
    seen: BinaryHeap<Reverse<Near>>,
}

/// How near somebody is: by the gap and what meetings add to it, in rating points, then in the order of waiting.
#[derive(PartialEq)]
struct Near {
    distance: f64,
    ranks: usize,
    index: usize,
}

impl Eq for Near {}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        let distances = self.distance.total_cmp(&other.distance);
        distances.then(self.ranks.cmp(&other.ranks)).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Nearest<'_> {
    /// Nobody from this one outwards is nearer than this; none if they are all too far away.
    fn bound(&self, outwards: Option<usize>) -> Option<Near> {
        let (me, index) = (&self.line.waiting[self.anchor], outwards?);
        let other = &self.line.waiting[index];
        let difference = (me.standing.rating.points() - other.standing.rating.points()).abs();
        let distance = self.gap_per_point * difference;
        if distance > self.farthest || me.max_gap.is_some_and(|limit| difference > limit) {
            return None;
        }
        // Those with the same rating stand in the order of waiting.
        let ranks = if difference == 0.0 { self.ranks_to(index) } else { 0 };
        Some(Near { distance, ranks, index: 0 })
    }

    fn ranks_to(&self, index: usize) -> usize {
        self.line.ranks[self.anchor].abs_diff(self.line.ranks[index])
    }

    fn see(&mut self, index: usize) {
        let (me, other) = (&self.line.waiting[self.anchor], &self.line.waiting[index]);
        // Who never sits with the anchor need not be brought into an order.
        if !me.company.suits(other.company) {
            return;
        }
        let distance = me.standing.gap(other.standing) + penalty(&[me, other]);
        self.seen.push(Reverse(Near { distance, ranks: self.ranks_to(index), index }));
    }
}

impl Iterator for Nearest<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            let (lower, higher) = (self.bound(self.lower), self.bound(self.higher));
            let from_below = match (&lower, &higher) {
                (Some(lower), Some(higher)) => lower <= higher,
                (lower, _) => lower.is_some(),
            };
            let unseen = if from_below { lower } else { higher };
            let decided = |Reverse(near): &Reverse<Near>| unseen.as_ref().is_none_or(|unseen| near < unseen);
            if self.seen.peek().is_some_and(decided) || unseen.is_none() {
                let Reverse(near) = self.seen.pop()?;
                return (near.distance <= self.farthest).then_some(near.index);
            }
            if from_below {
                self.lower.inspect(|index| self.see(*index));
                self.lower = self.lower.and_then(|index| self.line.lower[index]);
            } else {
                self.higher.inspect(|index| self.see(*index));
                self.higher = self.higher.and_then(|index| self.line.higher[index]);
            }
        }
    }
}
