//! Which seat begins the next game of the same people (`docs/rules.md`, "Options").

/// Who began the last game.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastStarter {
    /// The seat.
    pub seat: usize,
    /// The place in the group's order of joining of the member who sat there; none without a group.
    pub member: Option<i64>,
}

/// The seat that begins among `members`, given by their places in the order of joining: the one after the last starter,
/// or the last starter again without rotation. When that member has gone it is the next one in line, who sits where
/// the gone one would.
pub(super) fn next_starter(rotate: bool, last: LastStarter, members: &[Option<i64>]) -> usize {
    let Some(starter) = last.member else {
        return (last.seat + usize::from(rotate)) % members.len();
    };
    match members.iter().position(|member| *member == Some(starter)) {
        Some(place) => (place + usize::from(rotate)) % members.len(),
        None => members.iter().position(|member| *member > Some(starter)).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::{LastStarter, next_starter};

    fn members(n: i64) -> Vec<Option<i64>> {
        (0..n).map(|joined| Some(10 * joined)).collect()
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
    fn it_is_still_the_next_in_line_when_somebody_before_has_gone_too() {
        let m = members(4);
        let last = LastStarter { seat: 2, member: m[2] };
        assert_eq!(next_starter(true, last, &[m[1], m[3]]), 1);
    }

    #[test]
    fn seats_of_a_game_without_a_group_rotate_by_number() {
        let last = LastStarter { seat: 1, member: None };
        assert_eq!(next_starter(true, last, &[None, None]), 0);
        assert_eq!(next_starter(false, last, &[None, None]), 1);
    }
}
