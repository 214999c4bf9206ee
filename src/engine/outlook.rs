//! How a game can still end: every order in which its seats may come out.

use std::collections::BTreeSet;

use super::{EndReason, Game, Seat, Variant};

impl Game {
    /// Every way in which the places may fall, by seat: what is certain stays, who has resigned stays behind, and
    /// whoever plays may win, share a place (Kalah), resign or leave. A seat that is left in a ranked game may come
    /// back. Whether the stones still suffice for an order is not asked.
    ///
    /// Of a finished game the places as they are, of an aborted one nothing.
    #[must_use]
    pub fn possible_places(&self) -> BTreeSet<Vec<u8>> {
        let mut found = BTreeSet::new();
        if self.end.is_some_and(EndReason::is_abort) {
            return found;
        }
        if self.is_over() {
            found.extend(self.places().into_iter().collect::<Option<Vec<u8>>>());
            return found;
        }
        let forfeits = |seat| self.is_resigned(seat) || (self.ranked && self.is_left(seat));
        let first: Vec<Seat> = self.left_board.iter().copied().filter(|seat| !forfeits(*seat)).collect();
        let behind: Vec<Seat> = self.departed.iter().copied().filter(|seat| forfeits(*seat)).collect();
        let may_return = |seat: &&Seat| !self.is_resigned(**seat) && !self.position.is_out(**seat);
        let returning: Vec<Seat> = behind.iter().filter(may_return).copied().collect();
        for who in 0..1_usize << returning.len() {
            let back: Vec<Seat> =
                (0..returning.len()).filter(|i| who >> i & 1 == 1).map(|i| returning[i]).collect();
            let behind: Vec<Seat> = behind.iter().copied().filter(|seat| !back.contains(seat)).collect();
            self.add_orders(&first, &behind, &mut found);
        }
        found
    }

    /// Every order with `first` at the head, in this order, and `behind` at the end, the first of them last.
    fn add_orders(&self, first: &[Seat], behind: &[Seat], found: &mut BTreeSet<Vec<u8>>) {
        let between: Vec<Seat> =
            self.rules().seats().filter(|seat| !first.contains(seat) && !behind.contains(seat)).collect();
        let mut places = vec![0; usize::from(self.rules().players())];
        for (place, seat) in (1..).zip(first) {
            places[seat.index()] = place;
        }
        for (place, seat) in (1..=self.rules().players()).rev().zip(behind) {
            places[seat.index()] = place;
        }
        let count = between.len();
        // Each seat is given one of as many ranks as there are seats; several may have the same.
        for number in 0..between.iter().fold(1, |orders, _| orders * count) {
            let ranks: Vec<usize> =
                (0_u32..).take(count).map(|digit| number / count.pow(digit) % count).collect();
            if !self.can_tie(&ranks) {
                continue;
            }
            for (seat, rank) in between.iter().zip(&ranks) {
                let better = ranks.iter().filter(|other| *other < rank).count() + first.len();
                places[seat.index()] = (1..).nth(better).expect("there are as many places as seats");
            }
            found.insert(places.clone());
        }
    }

    /// Whether the ties among these are possible: in Kalah all, in Basic none, or none for the first place where the
    /// first finisher ends the game (Kalah rule 7, Basic rules 5 to 7).
    fn can_tie(&self, ranks: &[usize]) -> bool {
        let share = |rank: &usize| ranks.iter().filter(|other| *other == rank).count() > 1;
        match self.rules().variant() {
            Variant::Kalah => true,
            Variant::Basic if self.rules().ranks_in_full() || self.rules().players() == 2 => {
                !ranks.iter().any(share)
            }
            Variant::Basic => !ranks.iter().min().is_some_and(share),
        }
    }
}
