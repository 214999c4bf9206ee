//! The rule of matchmaking as its contract has it, without any thought of speed.

use std::collections::BTreeSet;

use mancala_server::matching::{Company, Match, Waiting};

pub const GREATEST_SCORE: f64 = 25.0;

/// The score of a pair.
pub fn score(waiting: &[Waiting], i: usize, j: usize) -> f64 {
    let (a, b) = (&waiting[i], &waiting[j]);
    a.standing.gap(b.standing) - 2.0 * (a.waited + b.waited) + 100.0 * games_met_in(waiting, &[i, j])
}

/// Of all pairs that may play, the one with the lowest score, again and again.
pub fn pairs(waiting: &[Waiting]) -> Vec<Match> {
    let mut free: Vec<usize> = (0..waiting.len()).collect();
    let mut matches = Vec::new();
    loop {
        let mut best: Option<Match> = None;
        for (at, &i) in free.iter().enumerate() {
            for &j in &free[at + 1..] {
                let (a, b) = (&waiting[i], &waiting[j]);
                let score = score(waiting, i, j);
                let better = best.as_ref().is_none_or(|best| score < best.score);
                if compatible(a, b) && score <= GREATEST_SCORE && better {
                    best = Some(Match { tickets: vec![i, j], score });
                }
            }
        }
        let Some(best) = best else { return matches };
        free.retain(|index| !best.tickets.contains(index));
        matches.push(best);
    }
}

/// Of the tables that everybody makes with those nearest to them, the one with the lowest score, again and again.
pub fn tables(waiting: &[Waiting], seats: usize) -> Vec<Match> {
    let mut free: Vec<usize> = (0..waiting.len()).collect();
    let mut matches = Vec::new();
    loop {
        let mut best: Option<Match> = None;
        for &anchor in &free {
            let Some(table) = table_of(waiting, &free, anchor, seats) else { continue };
            if table.score <= GREATEST_SCORE && best.as_ref().is_none_or(|best| table.score < best.score) {
                best = Some(table);
            }
        }
        let Some(best) = best else { return matches };
        free.retain(|index| !best.tickets.contains(index));
        matches.push(best);
    }
}

fn table_of(waiting: &[Waiting], free: &[usize], anchor: usize, seats: usize) -> Option<Match> {
    let rank = |index: usize| {
        let mut order: Vec<usize> = (0..waiting.len()).collect();
        order.sort_by(|a, b| waiting[*b].waited.total_cmp(&waiting[*a].waited));
        order.iter().position(|other| *other == index).unwrap()
    };
    let mut others: Vec<(f64, usize, usize)> = free
        .iter()
        .filter(|other| **other != anchor)
        .map(|&other| {
            let gap = waiting[anchor].standing.gap(waiting[other].standing);
            let distance = gap + 100.0 * games_met_in(waiting, &[anchor, other]);
            (distance, rank(anchor).abs_diff(rank(other)), other)
        })
        .collect();
    others.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut tickets = vec![anchor];
    for (_, _, other) in others {
        if tickets.len() < seats && tickets.iter().all(|t| compatible(&waiting[*t], &waiting[other])) {
            tickets.push(other);
        }
    }
    tickets.sort_unstable();
    let mut widest = 0.0_f64;
    for &i in &tickets {
        for &j in &tickets {
            widest = widest.max(waiting[i].standing.gap(waiting[j].standing));
        }
    }
    let waited: f64 = tickets.iter().map(|ticket| waiting[*ticket].waited).sum();
    let score = widest - 4.0 * waited / seats as f64 + 100.0 * games_met_in(waiting, &tickets);
    (tickets.len() == seats).then_some(Match { tickets, score })
}

/// Whether two may be in one game, and what a game of several of them must never be.
pub fn compatible(a: &Waiting, b: &Waiting) -> bool {
    let difference = (a.standing.rating.points() - b.standing.rating.points()).abs();
    let near = |limit: Option<f64>| limit.is_none_or(|limit| difference <= limit);
    let bots = [a, b].iter().filter(|one| one.company == Company::Bot).count();
    let minds = [a, b].iter().any(|one| one.company == Company::People);
    near(a.max_gap)
        && near(b.max_gap)
        && !a.blocked.contains(&b.player)
        && !b.blocked.contains(&a.player)
        && !(bots == 1 && minds)
}

/// In how many different games of late any two of these met.
fn games_met_in(waiting: &[Waiting], tickets: &[usize]) -> f64 {
    let mut games = BTreeSet::new();
    for &i in tickets {
        for &j in tickets.iter().filter(|j| **j != i) {
            let met = waiting[i].recent.iter().filter(|game| game.players.contains(&waiting[j].player));
            games.extend(met.map(|game| game.game));
        }
    }
    games.len() as f64
}
