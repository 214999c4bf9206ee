//! Everybody who waits, by rating and wait, in a tree that finds somebody's best partner without looking at all.
//!
//! Of two who could play, the one who has waited longer looks for the other. If everybody looked at everybody, whoever
//! has waited longest would be the best partner of all at once, and each pair that is made would send all of them to
//! look again. Each half of a node is split where its people differ most, so that it works as well for a crowd of
//! newcomers, who all have the same rating, as for ratings that are all different. Before anything else it is split by whom
//! people would meet: a bot among ten thousand people who mind would have to look at all of them.

use super::{Company, PAIR_WAIT, THRESHOLD, Waiting, gap_per_point, least_certain, may_meet, penalty};
use crate::rating::Standing;

/// So many people are looked at one by one.
const LEAF: usize = 8;

/// A free partner for somebody.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partner {
    /// The score of the pair.
    pub score: f64,
    /// The index of the partner.
    pub index: usize,
}

/// Those who are free.
pub(super) struct Tree<'a> {
    waiting: &'a [Waiting],
    least_certain: Standing,
    points: Vec<Point>,
    /// Each node before its left half, that before its right half; the root is the first.
    nodes: Vec<Node>,
    /// Where in `points` each index is.
    places: Vec<usize>,
}

/// What a search needs of one person, all in one place.
#[derive(Clone, Copy)]
struct Point {
    index: usize,
    rating: f64,
    waited: f64,
    max_gap: f64,
    company: Company,
    leaf: usize,
    free: bool,
}

struct Node {
    parent: usize,
    /// Which points.
    start: usize,
    end: usize,
    /// The right half; none in a leaf.
    right: Option<usize>,
    extent: Extent,
}

/// Between which limits the free points of a node are.
#[derive(Clone, Copy)]
struct Extent {
    rating: (f64, f64),
    waited: (f64, f64),
    index: (usize, usize),
    company: (Company, Company),
}

impl Extent {
    const EMPTY: Self = Self {
        rating: (f64::INFINITY, f64::NEG_INFINITY),
        waited: (f64::INFINITY, f64::NEG_INFINITY),
        index: (usize::MAX, 0),
        company: (Company::Bot, Company::People),
    };

    fn of(points: &[Point]) -> Self {
        points.iter().filter(|point| point.free).fold(Self::EMPTY, |extent, point| {
            extent.join(Self {
                rating: (point.rating, point.rating),
                waited: (point.waited, point.waited),
                index: (point.index, point.index),
                company: (point.company, point.company),
            })
        })
    }

    fn join(self, other: Self) -> Self {
        let join = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        Self {
            rating: join(self.rating, other.rating),
            waited: join(self.waited, other.waited),
            index: (self.index.0.min(other.index.0), self.index.1.max(other.index.1)),
            company: (self.company.0.min(other.company.0), self.company.1.max(other.company.1)),
        }
    }
}

/// Somebody who looks for a partner, and the best so far.
struct Search {
    me: Point,
    gap_per_point: f64,
    best: Partner,
}

impl Search {
    /// The least that any partner within the extent can come to, by score and then index; none if nobody there has
    /// waited less or is near enough.
    fn bound(&self, extent: &Extent) -> Option<(f64, usize)> {
        let Point { index, rating, waited, max_gap, company, .. } = self.me;
        // Of one kind all through, except near the root.
        if extent.company.0 == extent.company.1 && !company.suits(extent.company.0) {
            return None;
        }
        let difference = (extent.rating.0 - rating).max(rating - extent.rating.1).max(0.0);
        let all_as_long = extent.waited.0 == waited;
        if extent.waited.0 > waited || (all_as_long && extent.index.1 <= index) || difference > max_gap {
            return None;
        }
        let score = self.gap_per_point * difference - PAIR_WAIT * (waited + extent.waited.1.min(waited));
        Some((score, if all_as_long { extent.index.0.max(index + 1) } else { extent.index.0 }))
    }

    fn improves(&self, (score, index): (f64, usize)) -> bool {
        score < self.best.score || (score == self.best.score && index < self.best.index)
    }

    fn consider(&mut self, point: &Point, waiting: &[Waiting]) {
        let younger =
            point.waited < self.me.waited || (point.waited == self.me.waited && point.index > self.me.index);
        let difference = (point.rating - self.me.rating).abs();
        if !point.free || !younger || difference > self.me.max_gap.min(point.max_gap) {
            return;
        }
        let waits = PAIR_WAIT * (self.me.waited + point.waited);
        if !self.improves((self.gap_per_point * difference - waits, point.index)) {
            return;
        }
        let (me, other) = (&waiting[self.me.index], &waiting[point.index]);
        let score = me.standing.gap(other.standing) - waits + penalty(&[me, other]);
        if self.improves((score, point.index)) && may_meet(me, other) {
            self.best = Partner { score, index: point.index };
        }
    }
}

impl<'a> Tree<'a> {
    /// Everybody, free; none if there is nobody.
    pub fn new(waiting: &'a [Waiting]) -> Option<Self> {
        let least_certain = least_certain(waiting)?;
        let point = |(index, waiting): (usize, &Waiting)| Point {
            index,
            rating: waiting.standing.rating.points(),
            waited: waiting.waited,
            max_gap: waiting.max_gap.unwrap_or(f64::INFINITY),
            company: waiting.company,
            leaf: 0,
            free: true,
        };
        let points: Vec<Point> = waiting.iter().enumerate().map(point).collect();
        let places = vec![0; points.len()];
        let mut tree = Self { waiting, least_certain, nodes: Vec::new(), places, points };
        tree.build(0, 0, tree.points.len());
        for (place, point) in tree.points.iter().enumerate() {
            tree.places[point.index] = place;
        }
        Some(tree)
    }

    fn build(&mut self, parent: usize, start: usize, end: usize) {
        let id = self.nodes.len();
        let points = &mut self.points[start..end];
        let extent = Extent::of(points);
        self.nodes.push(Node { parent, start, end, right: None, extent });
        if extent.company.0 != extent.company.1 {
            points.sort_unstable_by_key(|point| (point.company, point.index));
            let first = points.partition_point(|point| point.company == extent.company.0);
            self.halve(id, start, start + first, end);
            return;
        }
        if points.len() <= LEAF {
            points.iter_mut().for_each(|point| point.leaf = id);
            return;
        }
        let half = points.len() / 2;
        let (ratings, waits) = (extent.rating.1 - extent.rating.0, extent.waited.1 - extent.waited.0);
        points.select_nth_unstable_by(half, |a, b| {
            let order = if ratings > PAIR_WAIT * waits {
                a.rating.total_cmp(&b.rating)
            } else {
                a.waited.total_cmp(&b.waited)
            };
            order.then(a.index.cmp(&b.index))
        });
        self.halve(id, start, start + half, end);
    }

    fn halve(&mut self, id: usize, start: usize, middle: usize, end: usize) {
        self.build(id, start, middle);
        self.nodes[id].right = Some(self.nodes.len());
        self.build(id, middle, end);
    }

    /// Whether this one has no game yet.
    pub fn is_free(&self, index: usize) -> bool {
        self.points[self.places[index]].free
    }

    /// This one has a game.
    pub fn take(&mut self, index: usize) {
        let point = &mut self.points[self.places[index]];
        point.free = false;
        let mut id = point.leaf;
        loop {
            let Node { parent, start, end, right, .. } = self.nodes[id];
            self.nodes[id].extent = match right {
                None => Extent::of(&self.points[start..end]),
                Some(right) => self.nodes[id + 1].extent.join(self.nodes[right].extent),
            };
            if id == 0 {
                return;
            }
            id = parent;
        }
    }

    /// The best free partner for `index` among those who have waited less (as long: who come later).
    pub fn best_partner(&self, index: usize) -> Option<Partner> {
        let mut search = Search {
            me: self.points[self.places[index]],
            gap_per_point: gap_per_point(self.waiting[index].standing, self.least_certain),
            best: Partner { score: THRESHOLD, index: usize::MAX },
        };
        self.descend(0, &mut search);
        (search.best.index != usize::MAX).then_some(search.best)
    }

    fn descend(&self, id: usize, search: &mut Search) {
        let node = &self.nodes[id];
        let Some(right) = node.right else {
            for point in &self.points[node.start..node.end] {
                search.consider(point, self.waiting);
            }
            return;
        };
        let mut halves = [id + 1, right].map(|half| (half, search.bound(&self.nodes[half].extent)));
        let key = |half: &(usize, Option<(f64, usize)>)| half.1.unwrap_or((f64::INFINITY, usize::MAX));
        if key(&halves[1]) < key(&halves[0]) {
            halves.swap(0, 1);
        }
        for (half, bound) in halves {
            if bound.is_some_and(|bound| search.improves(bound)) {
                self.descend(half, search);
            }
        }
    }
}
