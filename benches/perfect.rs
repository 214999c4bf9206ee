//! Whether `perfect` is: it plays two-player Kalah against chance, `medium` and `hard`, from both sides, and an exact search
//! with far more time looks at each of its moves. The result (won, drawn, lost) must never be given away, with 3 stones
//! a pit nor the margin, and no move may take more than a second.
//!
//! `cargo bench --bench perfect`, or of that only `-- --stones 3 --against medium --games 20`. What is asked twice is known,
//! so hundreds of games take less than hundreds of times as long; against `hard` a game takes half a minute.

#![expect(clippy::print_stdout, reason = "a benchmark reports to whoever runs it")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use mancala_server::cpu::{Computers, Level, Memory};
use mancala_server::engine::{Position, Rules, RulesRequest, Seat, Variant};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The time that the server gives a sowing of `perfect`, and one of the others.
const THINKING: [Duration; 2] = [Duration::from_millis(850), Duration::from_millis(700)];
/// How long the exact search may take for one position.
const PATIENCE: Duration = Duration::from_secs(30);

/// Plays `perfect` and checks what it plays.
#[derive(Parser)]
struct Arguments {
    /// Stones in each of the six pits at the start; 3 and 4 by default
    #[arg(long)]
    stones: Option<u8>,
    /// Only this opponent: random, medium or hard
    #[arg(long)]
    against: Option<String>,
    /// Games for each opponent, each side and each number of stones
    #[arg(long, default_value_t = 100)]
    games: u64,
    /// Makes other games
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

/// What was seen of the moves of `perfect`.
#[derive(Default)]
struct Seen {
    ends: [u32; 3],
    moves: u32,
    result_lost: u32,
    margin_lost: u32,
    unknown: u32,
    slowest: Duration,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let (players, exact) = (Computers::default(), Computers::new(Memory::PATIENT));
    let mut faults = 0;
    for stones in arguments.stones.map_or(vec![3, 4], |stones| vec![stones]) {
        for name in ["random", "medium", "hard"] {
            if arguments.against.as_ref().is_some_and(|only| only != name) {
                continue;
            }
            for side in [Seat::ALL[0], Seat::ALL[1]] {
                let mut seen = Seen::default();
                for game in 0..arguments.games {
                    let seed = arguments.seed << 32 | game;
                    play(&players, &exact, start(stones), (side, name.parse().ok()), seed, &mut seen);
                }
                let Seen { ends: [lost, drawn, won], moves, result_lost, margin_lost, unknown, slowest } =
                    seen;
                let bad =
                    result_lost > 0 || (stones == 3 && margin_lost > 0) || slowest > Duration::from_secs(1);
                faults += u32::from(bad);
                println!(
                    "6 x {stones}, seat {side} against {name}: {won} won, {drawn} drawn, {lost} lost; {moves} moves, result given \
                     away in {result_lost}, margin in {margin_lost}, not known in {unknown}, slowest {:.2} s; {}",
                    slowest.as_secs_f64(),
                    if bad { "MISSED" } else { "met" }
                );
            }
        }
    }
    println!("verdict: {}", if faults == 0 { "perfect".to_owned() } else { format!("{faults} MISSED") });
    ExitCode::from(u8::from(faults > 0))
}

fn start(stones: u8) -> Position {
    let asked = RulesRequest { stones: Some(stones), ..RulesRequest::default() };
    let rules = Rules::effective(Variant::Kalah, 2, &asked).expect("3 to 6 stones");
    Position::start(rules, Seat::ALL[0]).expect("seat 0 is always there")
}

/// One game; an opponent without a level plays at random.
fn play(
    players: &Computers,
    exact: &Computers,
    mut position: Position,
    (side, opponent): (Seat, Option<Level>),
    seed: u64,
    seen: &mut Seen,
) {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    while let Some(seat) = position.to_move() {
        let begun = Instant::now();
        let level = if seat == side { Some(Level::Perfect) } else { opponent };
        let thinking = THINKING[usize::from(seat != side)];
        let pit = match level {
            Some(level) => {
                let choice = players.choose(level, &position, rng.random(), &|| begun.elapsed() < thinking);
                choice.expect("somebody is to move").pit
            }
            None => {
                let pits: Vec<u8> = position.legal().collect();
                pits[rng.random_range(0..pits.len())]
            }
        };
        let took = begun.elapsed();
        let mut next = position;
        next.sow(pit).expect("levels play legal pits");
        if seat == side {
            seen.moves += 1;
            seen.slowest = seen.slowest.max(took);
            match (margin(exact, &position, side), margin(exact, &next, side)) {
                (Some(before), Some(after)) => {
                    seen.result_lost += u32::from(before.signum() != after.signum());
                    seen.margin_lost += u32::from(before != after);
                }
                _ => seen.unknown += 1,
            }
        }
        position = next;
    }
    let end = margin(exact, &position, side).expect("the game is over");
    seen.ends[usize::from(end >= 0) + usize::from(end > 0)] += 1;
}

/// What `side` ends with more than the other under best play.
fn margin(exact: &Computers, position: &Position, side: Seat) -> Option<i16> {
    let other = if side == Seat::ALL[0] { Seat::ALL[1] } else { Seat::ALL[0] };
    let Some(seat) = position.to_move() else {
        return Some(i16::from(position.store(side)) - i16::from(position.store(other)));
    };
    let begun = Instant::now();
    let margin = exact.margin(position, &|| begun.elapsed() < PATIENCE)?;
    Some(if seat == side { margin } else { -margin })
}
