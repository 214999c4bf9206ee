//! A second reading of the rules, stone by stone and without a thought for speed, and of the
//! places, from nothing but the list of events.

use mancala_server::engine::{Action, CaptureFrom, Cup, Position, Record, Rules, Seat, Sowing, Variant};

type Hollow = (usize, usize);

/// A board on which the hollow after the last pit of a side is the store.
#[derive(Debug, Clone)]
pub struct Naive {
    rules: Rules,
    sides: Vec<Vec<u8>>,
    out: Vec<bool>,
    pub resigned: Vec<bool>,
    /// Left in a ranked game.
    pub forfeiting: Vec<bool>,
    pub to_move: Option<usize>,
    pub finishing_order: Vec<usize>,
}

/// What a sowing did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Story {
    path: Vec<Hollow>,
    captured: Vec<(Hollow, u8)>,
    pub extra: bool,
    left_board: Vec<usize>,
    over: bool,
}

fn hollow(cup: Cup, pits: usize) -> Hollow {
    match cup {
        Cup::Pit { seat, pit } => (seat.index(), usize::from(pit)),
        Cup::Store { seat } => (seat.index(), pits),
    }
}

impl Story {
    pub fn of(sowing: &Sowing) -> Self {
        let pits = usize::from(sowing.position.rules().pits());
        Self {
            path: sowing.path.iter().map(|cup| hollow(*cup, pits)).collect(),
            captured: sowing.captured.iter().map(|(cup, n)| (hollow(*cup, pits), *n)).collect(),
            extra: sowing.extra,
            left_board: sowing.finished.iter().map(|seat| seat.index()).collect(),
            over: sowing.ends_game,
        }
    }
}

impl Naive {
    pub fn start(rules: Rules, starter: usize) -> Self {
        let mut side = vec![rules.stones(); usize::from(rules.pits())];
        side.push(0);
        let players = usize::from(rules.players());
        Self {
            rules,
            sides: vec![side; players],
            out: vec![false; players],
            resigned: vec![false; players],
            forfeiting: vec![false; players],
            to_move: Some(starter),
            finishing_order: Vec::new(),
        }
    }

    pub fn assert_same(&self, position: &Position) {
        for seat in position.seats() {
            let (store, pits) = self.sides[seat.index()].split_last().unwrap();
            assert_eq!((position.pits(seat), position.store(seat)), (pits, *store));
            assert_eq!(position.is_out(seat), self.out[seat.index()]);
            assert_eq!(position.is_resigned(seat), self.resigned[seat.index()]);
        }
        assert_eq!(position.to_move().map(Seat::index), self.to_move);
    }

    fn pits(&self) -> usize {
        usize::from(self.rules.pits())
    }

    fn players(&self) -> usize {
        self.sides.len()
    }

    fn side_empty(&self, seat: usize) -> bool {
        self.sides[seat][..self.pits()].iter().all(|stones| *stones == 0)
    }

    fn after(&self, (seat, index): Hollow) -> Hollow {
        if index < self.pits() { (seat, index + 1) } else { ((seat + 1) % self.players(), 0) }
    }

    fn takes_part(&self, (seat, index): Hollow, mover: usize) -> bool {
        match self.rules.variant() {
            Variant::Kalah => index < self.pits() || seat == mover,
            Variant::Basic => !self.out[seat],
        }
    }

    pub fn sow(&mut self, pit: usize) -> Story {
        let mover = self.to_move.unwrap();
        let before = self.clone();
        let mut story = Story::default();
        let mut at = (mover, pit);
        let mut hand = std::mem::replace(&mut self.sides[mover][pit], 0);
        assert!(hand > 0 && pit < self.pits());
        while hand > 0 {
            at = self.after(at);
            if self.takes_part(at, mover) {
                self.sides[at.0][at.1] += 1;
                story.path.push(at);
                hand -= 1;
            }
        }
        let in_store = at.1 == self.pits();
        let mut goes_again = in_store;
        if self.rules.variant() == Variant::Kalah {
            let laid_before = story.path.iter().filter(|hollow| **hollow == at).count() > 1;
            let was_empty = before.sides[at.0][at.1] == 0 || at == (mover, pit);
            if at.0 == mover && !in_store && was_empty && !laid_before {
                self.capture(mover, at.1, &mut story);
            }
            story.over = (0..self.players()).any(|seat| self.side_empty(seat));
            if story.over {
                let pits = self.pits();
                for side in &mut self.sides {
                    side[pits] = side.iter().sum();
                    side[..pits].fill(0);
                }
            }
        } else if self.side_empty(mover) {
            goes_again = false;
            self.finish(mover, &mut story);
        }
        story.extra = goes_again && !story.over;
        if story.over {
            self.to_move = None;
        } else if !goes_again {
            let mut next = (mover + 1) % self.players();
            while self.out[next] {
                next = (next + 1) % self.players();
            }
            self.to_move = Some(next);
        }
        story
    }

    fn capture(&mut self, mover: usize, pit: usize, story: &mut Story) {
        let n = self.players();
        let victims = match self.rules.capture_from() {
            None | Some(CaptureFrom::Next) => vec![(mover + 1) % n],
            Some(CaptureFrom::Opposite) if n == 4 => vec![(mover + 2) % n],
            Some(CaptureFrom::Opposite) => vec![(mover + 1) % n],
            Some(CaptureFrom::All) => (1..n).map(|step| (mover + step) % n).collect(),
        };
        let across = self.pits() - 1 - pit;
        let loot: Vec<_> = (victims.into_iter())
            .map(|seat| ((seat, across), self.sides[seat][across]))
            .filter(|(_, stones)| *stones > 0)
            .collect();
        if loot.is_empty() && self.rules.capture_empty() != Some(true) {
            return;
        }
        story.captured = loot;
        story.captured.push(((mover, pit), 1));
        for ((seat, index), stones) in &story.captured {
            self.sides[*seat][*index] = 0;
            let store = self.pits();
            self.sides[mover][store] += stones;
        }
    }

    fn finish(&mut self, mover: usize, story: &mut Story) {
        let gave_up = self.resigned[mover] || self.forfeiting[mover];
        if self.players() == 2 || (self.rules.full_ranking() == Some(false) && !gave_up) {
            story.over = true;
            return;
        }
        self.out[mover] = true;
        self.finishing_order.push(mover);
        story.left_board = vec![mover];
        story.over = self.stayers_without_a_place() <= 1;
    }

    pub fn stayers_without_a_place(&self) -> usize {
        (0..self.players()).filter(|seat| !self.out[*seat] && !self.resigned[*seat]).count()
    }

    /// The places at the end of the game that `record` tells of, this being its last board.
    pub fn places(&self, record: &Record) -> Vec<u8> {
        let seats = 0..self.players();
        // When each seat gave up, if that stood in the end.
        let mut gave_up = vec![None; self.players()];
        for (moment, (seat, action)) in record.events.iter().enumerate() {
            let entry = &mut gave_up[seat.index()];
            match action {
                Action::Leave if record.ranked => *entry = Some(moment),
                Action::Return => *entry = None,
                Action::Resign => *entry = entry.or(Some(moment)),
                _ => {}
            }
        }
        let key = |seat: usize| -> (bool, i64, i64) {
            if let Some(moment) = gave_up[seat] {
                return (true, -i64::try_from(moment).unwrap(), 0);
            }
            let finished = self.finishing_order.iter().position(|other| *other == seat);
            let score = match self.rules.variant() {
                Variant::Kalah => -i64::from(self.sides[seat][self.pits()]),
                Variant::Basic => self.sides[seat][..self.pits()].iter().copied().map(i64::from).sum(),
            };
            (false, finished.map_or(99, |rank| i64::try_from(rank).unwrap()), score)
        };
        let place = |seat| 1 + seats.clone().filter(|other| key(*other) < key(seat)).count();
        seats.clone().map(|seat| u8::try_from(place(seat)).unwrap()).collect()
    }
}
