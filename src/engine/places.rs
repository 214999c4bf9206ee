//! Who ranks where: finishers and stayers by the game's own rule, resigners from the last place
//! upward, and during a game only what can no longer change.

use super::{EndReason, Game, Seat, Variant};

impl Game {
    /// The places by seat, 1 is the best; equal stores or sides share a place: 1, 2, 2, 4 (Kalah
    /// rule 7, Basic rules 5 to 7, "Resigning" 2, "Leaving" 8).
    ///
    /// While the game runs a place is there as soon as it is certain: of who has finished, and of
    /// who has resigned unless somebody who left earlier may still return. When the game is over
    /// all places are there, and none if it was aborted.
    #[must_use]
    pub fn places(&self) -> Vec<Option<u8>> {
        let mut places = vec![None; usize::from(self.rules().players())];
        if self.end.is_some_and(EndReason::is_abort) {
            return places;
        }
        let forfeits = |seat| self.is_resigned(seat) || (self.ranked && self.is_left(seat));

        let mut last = self.rules().players();
        for seat in self.departed.iter().copied().filter(|seat| forfeits(*seat)) {
            let certain = self.is_resigned(seat) || self.position.is_out(seat) || self.is_over();
            if !certain {
                break;
            }
            places[seat.index()] = Some(last);
            last -= 1;
        }

        let mut next = 1;
        for seat in self.left_board.iter().filter(|seat| !forfeits(**seat)) {
            places[seat.index()] = Some(next);
            next += 1;
        }
        if self.is_over() {
            let rest =
                || (self.position.seats()).filter(|seat| !forfeits(*seat) && !self.position.is_out(*seat));
            for seat in rest() {
                let mut place = next;
                for other in rest() {
                    place += u8::from(self.beats(other, seat));
                }
                places[seat.index()] = Some(place);
            }
        }
        places
    }

    /// Whether `one` ranks before `other`, both having stayed to the end without a place so far.
    /// In Basic the finisher who ended the game comes first by having an empty side.
    fn beats(&self, one: Seat, other: Seat) -> bool {
        match self.rules().variant() {
            Variant::Kalah => self.position.store(one) > self.position.store(other),
            Variant::Basic => self.position.on_side(one) < self.position.on_side(other),
        }
    }
}
