//! The text form of a record (`docs/rules.md`, "Words"): a line in brackets with the rules, then
//! the turns as pit letters. Reading it plays it, so a record that was read is legal.
//!
//! Texts come from strangers: reading never panics and does at most one sowing a letter.

use std::fmt;
use std::str::FromStr;

use super::{
    Action, ActionError, CaptureFrom, Game, PositionError, Record, Rules, RulesError, RulesRequest, Seat,
    UnknownName, Variant,
};

/// Where and why a text is not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct NotationError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong there.
    #[source]
    pub problem: NotationProblem,
}

/// Why a text is not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotationProblem {
    /// The first line is not in brackets.
    #[error("expected a first line in brackets, such as [kalah players=2 starter=0]")]
    Header,
    /// The first word in the brackets is no variant.
    #[error(transparent)]
    Variant(UnknownName),
    /// Not one of the known options.
    #[error("unknown option")]
    UnknownOption,
    /// An option given twice.
    #[error("option {0} is repeated")]
    RepeatedOption(&'static str),
    /// An option without a default is missing.
    #[error("option {0} is missing")]
    MissingOption(&'static str),
    /// A value that is not of the option's kind.
    #[error("option {0} cannot have this value")]
    Value(&'static str),
    /// An option out of range.
    #[error(transparent)]
    Rules(RulesError),
    /// The starter is not in the game.
    #[error(transparent)]
    Starter(PositionError),
    /// Neither a turn nor something that happened to a seat.
    #[error("expected pits a to g joined by -, or R, L or B with a seat")]
    Token,
    /// Sowings joined although the one before earned no other.
    #[error("the sowing before this one did not earn another, so they are not one turn")]
    NotOneTurn,
    /// The rules do not allow it.
    #[error(transparent)]
    Action(ActionError),
}

const OPTIONS: [&str; 8] =
    ["players", "pits", "stones", "capture_from", "capture_empty", "full_ranking", "starter", "ranked"];

const LETTERS: [char; 7] = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = &self.rules;
        let (variant, players) = (rules.variant(), rules.players());
        let (pits, stones) = (rules.pits(), rules.stones());
        write!(f, "[{variant} players={players} pits={pits} stones={stones}")?;
        if let Some(value) = rules.capture_from() {
            write!(f, " capture_from={value}")?;
        }
        if let Some(value) = rules.capture_empty() {
            write!(f, " capture_empty={value}")?;
        }
        if let Some(value) = rules.full_ranking() {
            write!(f, " full_ranking={value}")?;
        }
        writeln!(f, " starter={} ranked={}]", self.starter, self.ranked)?;

        let mut separator = "";
        let mut sower = None;
        for (seat, action) in &self.events {
            let (mark, next_sower) = match action {
                Action::Move { pit } => {
                    let letter = LETTERS.get(usize::from(*pit)).copied().unwrap_or('?');
                    f.write_str(if sower == Some(seat) { "-" } else { separator })?;
                    write!(f, "{letter}")?;
                    (None, Some(seat))
                }
                Action::Resign => (Some('R'), None),
                Action::Leave => (Some('L'), None),
                Action::Return => (Some('B'), None),
                Action::Abort(_) => continue,
            };
            if let Some(mark) = mark {
                write!(f, "{separator}{mark}{seat}")?;
            }
            sower = next_sower;
            separator = " ";
        }
        if separator.is_empty() { Ok(()) } else { f.write_str("\n") }
    }
}

impl FromStr for Record {
    type Err = NotationError;

    /// Reads and plays a record.
    ///
    /// # Errors
    /// The first thing that is not notation, or that the rules do not allow.
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let (number, header) = lines.next().unwrap_or((1, ""));
        let mut record = read_header(header).map_err(|fault| fault.on(number))?;
        let mut reader = Reader {
            game: Game::new(record.rules, record.starter, record.ranked)
                .map_err(|error| Fault(1, NotationProblem::Starter(error)).on(number))?,
            events: Vec::new(),
        };
        for (number, line) in lines {
            for (column, word) in words(line, 1) {
                reader.read(column, word).map_err(|fault| fault.on(number))?;
            }
        }
        record.events = reader.events;
        Ok(record)
    }
}

/// A problem at a column of the line at hand.
struct Fault(usize, NotationProblem);

impl Fault {
    const fn on(self, line: usize) -> NotationError {
        NotationError { line, column: self.0, problem: self.1 }
    }
}

/// The words of a line with the column of each, the line's own first column being `first`.
fn words(line: &str, first: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut next = first;
    line.split(char::is_whitespace)
        .map(move |word| {
            let column = next;
            next += word.chars().count() + 1;
            (column, word)
        })
        .filter(|(_, word)| !word.is_empty())
}

fn read_header(line: &str) -> Result<Record, Fault> {
    let indent = line.chars().take_while(|char| char.is_whitespace()).count();
    let inner = line.trim().strip_prefix('[').and_then(|line| line.strip_suffix(']'));
    let inner = inner.ok_or(Fault(indent + 1, NotationProblem::Header))?;
    let mut words = words(inner, indent + 2);
    let (column, name) = words.next().ok_or(Fault(indent + 1, NotationProblem::Header))?;
    let variant: Variant = name.parse().map_err(|error| Fault(column, NotationProblem::Variant(error)))?;

    let mut given = [None; OPTIONS.len()];
    for (column, word) in words {
        let (name, value) = word.split_once('=').ok_or(Fault(column, NotationProblem::UnknownOption))?;
        let index = (OPTIONS.iter().position(|option| *option == name))
            .ok_or(Fault(column, NotationProblem::UnknownOption))?;
        if given[index].replace((column, value)).is_some() {
            return Err(Fault(column, NotationProblem::RepeatedOption(OPTIONS[index])));
        }
    }
    let missing = |index: usize| Fault(indent + 1, NotationProblem::MissingOption(OPTIONS[index]));
    let [players, pits, stones, capture_from, capture_empty, full_ranking, starter, ranked] = given;

    let players = value::<u8>(0, players)?.ok_or_else(|| missing(0))?;
    let asked = RulesRequest {
        pits: value(1, pits)?,
        stones: value(2, stones)?,
        capture_from: value::<CaptureFrom>(3, capture_from)?,
        capture_empty: value(4, capture_empty)?,
        full_ranking: value(5, full_ranking)?,
    };
    let number = value::<u8>(6, starter)?.ok_or_else(|| missing(6))?;
    let starter_column = starter.map_or(indent + 1, |(column, _)| column);
    Ok(Record {
        rules: Rules::effective(variant, players, &asked)
            .map_err(|error| Fault(indent + 1, NotationProblem::Rules(error)))?,
        starter: Seat::new(number)
            .filter(|starter| starter.get() < players)
            .ok_or(Fault(starter_column, NotationProblem::Value(OPTIONS[6])))?,
        ranked: value(7, ranked)?.unwrap_or(false),
        events: Vec::new(),
    })
}

fn value<T: FromStr>(option: usize, given: Option<(usize, &str)>) -> Result<Option<T>, Fault> {
    given
        .map(|(column, text)| {
            text.parse().map_err(|_| Fault(column, NotationProblem::Value(OPTIONS[option])))
        })
        .transpose()
}

struct Reader {
    game: Game,
    events: Vec<(Seat, Action)>,
}

impl Reader {
    fn read(&mut self, column: usize, word: &str) -> Result<(), Fault> {
        let action = match word.as_bytes()[0] {
            b'R' => Action::Resign,
            b'L' => Action::Leave,
            b'B' => Action::Return,
            _ => return self.read_turn(column, word),
        };
        let seat = match word.as_bytes() {
            [_, digit @ b'0'..=b'3'] => Seat::new(digit - b'0'),
            _ => None,
        };
        let seat = seat.ok_or(Fault(column, NotationProblem::Token))?;
        self.apply(column, seat, action)?;
        Ok(())
    }

    fn read_turn(&mut self, mut column: usize, word: &str) -> Result<(), Fault> {
        let mut joined = false;
        for sowing in word.split('-') {
            let pit = (0..).zip(LETTERS).find(|(_, letter)| sowing.chars().eq([*letter]));
            let (pit, _) = pit.ok_or(Fault(column, NotationProblem::Token))?;
            let seat = (self.game.position().to_move())
                .ok_or(Fault(column, NotationProblem::Action(ActionError::GameOver)))?;
            let last = self.events.last().map(|(seat, _)| *seat);
            if joined && last != Some(seat) {
                return Err(Fault(column, NotationProblem::NotOneTurn));
            }
            self.apply(column, seat, Action::Move { pit })?;
            joined = true;
            // A letter and the hyphen after it.
            column += 2;
        }
        Ok(())
    }

    fn apply(&mut self, column: usize, seat: Seat, action: Action) -> Result<(), Fault> {
        self.game.apply(seat, action).map_err(|error| Fault(column, NotationProblem::Action(error)))?;
        self.events.push((seat, action));
        Ok(())
    }
}
