//! Opening data: what has been proven of positions that take too long to prove while somebody waits. The file
//! `data/kalah-openings.txt` is made by `mancala-server book`; a line reads
//! `4 4 0 5 5 5 / 4 4 4 4 4 4 = 7..9 c`: the pits of the seat to move and of the other one, the bounds of the margin to
//! come, and the best pit. A single number is an exact margin.

use std::fmt::Write;
use std::str::FromStr;

use super::board::Board;
use super::table::Bounds;

/// The data that comes with the program.
const SHIPPED: &str = include_str!("../../../data/kalah-openings.txt");

/// A line that is not one of opening data.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the opening data cannot be read")]
pub struct BadLine {
    line: usize,
}

/// The data that comes with the program for `pits` a side, by the usual rules.
pub fn shipped(pits: u8) -> Vec<(Board, Bounds)> {
    read(SHIPPED, pits).expect("a test reads the shipped data")
}

/// What `text` says of positions with `pits` a side.
///
/// # Errors
/// The first line that cannot be read.
pub fn read(text: &str, pits: u8) -> Result<Vec<(Board, Bounds)>, BadLine> {
    let mut known = Vec::new();
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let (of, board, bounds) = read_line(line).ok_or(BadLine { line: i + 1 })?;
        if of == pits {
            known.push((board, bounds));
        }
    }
    Ok(known)
}

/// A line of opening data, as [`read`] reads it.
pub fn line(board: Board, pits: u8, bounds: Bounds) -> String {
    let side = |side: u64| {
        let stones: Vec<String> = side.to_le_bytes()[..usize::from(pits)].iter().map(u8::to_string).collect();
        stones.join(" ")
    };
    let mut line = format!("{} / {} = {}", side(board.own), side(board.other), bounds.lower);
    if bounds.upper != bounds.lower {
        write!(line, "..{}", bounds.upper).expect("writing to a string does not fail");
    }
    write!(line, " {}", char::from(b'a' + bounds.pit)).expect("writing to a string does not fail");
    line
}

fn read_line(line: &str) -> Option<(u8, Board, Bounds)> {
    let (sides, known) = line.split_once(" = ")?;
    let (own, other) = sides.split_once(" / ")?;
    let (margins, pit) = known.split_once(' ')?;
    let (lower, upper) = margins.split_once("..").unwrap_or((margins, margins));
    let side = |text: &str| {
        let stones = text.split(' ').map(u8::from_str).collect::<Result<Vec<u8>, _>>().ok()?;
        let side = stones.iter().rev().fold(0, |side, &stones| side << 8 | u64::from(stones));
        Some((u8::try_from(stones.len()).ok()?, side))
    };
    let ((pits, own), (others, other)) = (side(own)?, side(other)?);
    let pit = *pit.as_bytes().first().filter(|_| pit.len() == 1)?;
    let bounds = Bounds {
        lower: lower.parse().ok()?,
        upper: upper.parse().ok()?,
        pit: pit.checked_sub(b'a').filter(|&pit| pit < pits)?,
    };
    (pits == others && pits <= 7 && bounds.lower <= bounds.upper).then_some((
        pits,
        Board { own, other },
        bounds,
    ))
}
