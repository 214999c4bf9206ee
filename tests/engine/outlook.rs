//! How games may still end, against how random games do end.

use mancala_server::engine::{Action, Game, Rules, RulesRequest, Seat, Variant};

use crate::random::Random;

fn game(variant: Variant, players: u8, asked: &RulesRequest, ranked: bool) -> Game {
    Game::new(Rules::effective(variant, players, asked).unwrap(), Seat::ALL[0], ranked).unwrap()
}

fn possible(game: &Game) -> Vec<Vec<u8>> {
    game.possible_places().into_iter().collect()
}

#[test]
fn before_the_first_move_everything_is_possible_and_only_kalah_has_ties() {
    let every = RulesRequest::default();
    let first_ends = RulesRequest { full_ranking: Some(false), ..RulesRequest::default() };
    for (variant, asked, players, orders) in [
        (Variant::Kalah, &every, 2, 3),
        (Variant::Kalah, &every, 3, 13),
        (Variant::Kalah, &every, 4, 75),
        (Variant::Basic, &every, 2, 2),
        (Variant::Basic, &every, 3, 6),
        (Variant::Basic, &every, 4, 24),
        // Whoever is first, and then any order with ties of the two others.
        (Variant::Basic, &first_ends, 3, 3 * 3),
    ] {
        let found = possible(&game(variant, players, asked, true));
        assert_eq!(found.len(), orders, "{variant:?} of {players}");
    }
    assert_eq!(possible(&game(Variant::Kalah, 2, &every, true)), [vec![1, 1], vec![1, 2], vec![2, 1]]);
}

#[test]
fn who_has_resigned_stays_behind_and_who_is_left_in_a_ranked_game_may_come_back() {
    let mut game = game(Variant::Kalah, 3, &RulesRequest::default(), true);
    game.apply(Seat::ALL[1], Action::Leave).unwrap();
    let mut left = game.clone();
    left.apply(Seat::ALL[2], Action::Resign).unwrap();
    // Seat 1 is last if it stays away, and in any place before seat 2 if it comes back.
    assert_eq!(possible(&left), [[1, 1, 3], [1, 2, 3], [1, 3, 2], [2, 1, 3]]);
    game.apply(Seat::ALL[1], Action::Resign).unwrap();
    assert_eq!(possible(&game), [[1, 3, 1], [1, 3, 2], [2, 3, 1]]);
    game.apply(Seat::ALL[0], Action::Resign).unwrap();
    assert_eq!(possible(&game), [[2, 3, 1]], "the places of a game that is over");
}

#[test]
fn random_games_end_as_was_possible_at_every_moment() {
    for seed in 0..3_000 {
        let mut random = Random::new(seed);
        let rules = random.rules();
        let mut game = Game::new(rules, Seat::ALL[0], random.chance(2)).unwrap();
        let departures = random.pick(&[4, 20, 1_000_000]);
        let mut known = vec![game.possible_places()];
        while !game.is_over() {
            if random.chance(departures) {
                let action = random.pick(&[Action::Resign, Action::Leave, Action::Leave, Action::Return]);
                // Those that the rules refuse change nothing.
                let _ = game.apply(Seat::ALL[random.below(usize::from(rules.players()))], action);
            } else {
                let legal: Vec<u8> = game.position().legal().collect();
                let pit = random.pick(&legal);
                game.apply(game.position().to_move().unwrap(), Action::Move { pit }).unwrap();
            }
            let possible = game.possible_places();
            for (seat, certain) in game.places().into_iter().enumerate() {
                let same = possible.iter().all(|places| certain.is_none_or(|place| places[seat] == place));
                assert!(same, "seat {seat} has its place");
            }
            known.push(possible);
        }
        let places: Vec<u8> = game.places().into_iter().map(Option::unwrap).collect();
        assert_eq!(possible(&game), vec![places.clone()]);
        for possible in known {
            assert!(possible.contains(&places), "{places:?} is not among {possible:?} (seed {seed})");
        }
    }
}
