//! How fast the computer players search two-player Kalah from the start: positions a second and the time to look
//! fourteen turns ahead, on packed boards as a ratio against the search of all other games.

#![expect(clippy::print_stdout, reason = "a benchmark reports to whoever runs it")]

use std::time::Instant;

use mancala_server::cpu::{Computers, Memory};
use mancala_server::engine::{Position, Rules, RulesRequest, Seat, Variant};

const TURNS: u8 = 14;

/// Seconds to look ahead from the start, with tables that are empty.
fn measure(name: &str, start: &Position, packed: bool) -> f64 {
    // No small positions: both searches judge by looking alone.
    let computers = Computers::new(Memory::server(0));
    let begun = Instant::now();
    let choice = computers.look_ahead(start, TURNS, packed).expect("the start has moves");
    let seconds = begun.elapsed().as_secs_f64();
    assert!(choice.depth == TURNS, "nothing cuts it short");
    #[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
    let rate = choice.nodes as f64 / seconds / 1e6;
    println!(
        "{name:>8}: {TURNS} turns ahead in {seconds:.2} s, {} positions, {rate:.1} million a second",
        choice.nodes
    );
    seconds
}

fn main() {
    let rules =
        Rules::effective(Variant::Kalah, 2, &RulesRequest::default()).expect("the standard rules are valid");
    let start = Position::start(rules, Seat::ALL[0]).expect("seat 0 is always there");
    println!("two-player Kalah from the start, {} pits, {} stones", rules.pits(), rules.stones());
    let general = measure("general", &start, false);
    let packed = measure("packed", &start, true);
    println!("   ratio: {:.2}", general / packed);
}
