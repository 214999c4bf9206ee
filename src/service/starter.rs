//! Which seat begins the next game of the same people (`docs/rules.md`, "Options").

use crate::ids::MemberId;

/// Who began the last game.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastStarter {
    /// The seat.
    pub seat: usize,
    /// The member who sat there.
    pub member: Option<MemberId>,
}

/// The seat that begins among `members` in their present order: the one after the last starter, or the last starter
/// again without rotation. When that member has gone, everybody behind has moved up, so its old place is the next one.
pub(super) fn next_starter(rotate: bool, last: LastStarter, members: &[Option<MemberId>]) -> usize {
    let place = members.iter().position(|m| m.is_some() && *m == last.member);
    match (place, last.member) {
        (Some(place), _) => (place + usize::from(rotate)) % members.len(),
        (None, Some(_)) => last.seat % members.len(),
        (None, None) => (last.seat + usize::from(rotate)) % members.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::{LastStarter, next_starter};
    use crate::ids::MemberId;

    fn members(n: usize) -> Vec<Option<MemberId>> {
        (0..n).map(|_| Some(MemberId::new())).collect()
    }

    #[test]
    fn the_start_goes_round_with_rotation_and_stays_without() {
        let m = members(3);
        for seat in 0..3 {
            let last = LastStarter { seat, member: m[seat] };
            assert_eq!(next_starter(true, last, &m), (seat + 1) % 3);
            assert_eq!(next_starter(false, last, &m), seat);
        }
    }

    #[test]
    fn the_order_that_counts_is_the_present_one() {
        let m = members(3);
        let last = LastStarter { seat: 1, member: m[1] };
        // Seat 0 has left the group: the last starter now sits on seat 0.
        assert_eq!(next_starter(true, last, &m[1..]), 1);
        assert_eq!(next_starter(false, last, &m[1..]), 0);
    }

    #[test]
    fn when_the_last_starter_has_gone_the_next_in_line_begins() {
        let m = members(3);
        let last = LastStarter { seat: 1, member: m[1] };
        assert_eq!(next_starter(true, last, &[m[0], m[2]]), 1);
        let last = LastStarter { seat: 2, member: m[2] };
        assert_eq!(next_starter(true, last, &m[..2]), 0);
    }

    #[test]
    fn seats_of_a_game_without_a_group_rotate_by_number() {
        let last = LastStarter { seat: 1, member: None };
        assert_eq!(next_starter(true, last, &[None, None]), 0);
        assert_eq!(next_starter(false, last, &[None, None]), 1);
    }
}
