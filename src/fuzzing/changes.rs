//! Small changes that make, of a good text, one that somebody might send who means no good or has got it wrong.

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::sample::{Index, select};
use proptest::strategy::{Just, Strategy, Union};

/// What means something to some parser, or has broken one before.
const WORDS: &[&str] = &[
    "\"",
    "\\",
    "'",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    ".",
    "-",
    "_",
    "/",
    "=",
    "&",
    "+",
    "%",
    "%00",
    "%ff",
    "%2e",
    "%zz",
    " ",
    "\t",
    "\r\n",
    "\n",
    "\0",
    "\u{7f}",
    "0",
    "-0",
    "-1",
    "1",
    "7",
    "255",
    "256",
    "1.5",
    "1e9",
    "1e999",
    "2147483648",
    "4294967296",
    "9007199254740992",
    "18446744073709551616",
    "null",
    "true",
    "false",
    "NaN",
    "\\u0000",
    "\\ud800",
    "\\n",
    "é",
    "ß",
    "ﬁ",
    "İ",
    "а",
    "e\u{301}",
    "\u{200b}",
    "\u{202e}",
    "\u{feff}",
    "🎲",
    "\u{10ffff}",
    "..",
    "W/",
    "*",
    "a",
    "A",
    "R0",
    "L1",
    "B1",
    "-----BEGIN",
    "-----END",
    "{}",
    "[]",
    "[[",
    "\"\":",
    "kalah",
    "basic",
    "seat",
    "pit",
];

#[derive(Clone, Debug)]
enum Change {
    Remove(Index, usize),
    Repeat(Index, usize),
    Insert(Index, &'static str),
    Replace(Index, &'static str),
    Byte(Index, u8),
    Cut(Index),
    /// Goes on as another of the good ones does.
    Join(Index, Index, Index),
}

impl Change {
    fn any() -> impl Strategy<Value = Self> {
        let at = any::<Index>;
        Union::new([
            (at(), 1..12_usize).prop_map(|(at, length)| Self::Remove(at, length)).boxed(),
            (at(), 1..40_usize).prop_map(|(at, length)| Self::Repeat(at, length)).boxed(),
            (at(), select(WORDS)).prop_map(|(at, word)| Self::Insert(at, word)).boxed(),
            (at(), select(WORDS)).prop_map(|(at, word)| Self::Replace(at, word)).boxed(),
            (at(), any::<u8>()).prop_map(|(at, byte)| Self::Byte(at, byte)).boxed(),
            at().prop_map(Self::Cut).boxed(),
            (at(), at(), at()).prop_map(|(at, other, from)| Self::Join(at, other, from)).boxed(),
        ])
    }

    fn carry_out(&self, text: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let place = |index: &Index| index.index(text.len() + 1);
        match self {
            Self::Remove(at, length) => {
                let at = place(at);
                text.drain(at..text.len().min(at + length));
            }
            Self::Repeat(at, length) => {
                let at = place(at);
                let piece = text[at..text.len().min(at + length)].to_vec();
                text.splice(at..at, piece);
            }
            Self::Insert(at, word) => {
                let at = place(at);
                text.splice(at..at, word.bytes());
            }
            Self::Replace(at, word) => {
                let at = place(at);
                text.splice(at..text.len().min(at + word.len()), word.bytes());
            }
            Self::Byte(at, byte) => {
                if let Some(old) = text.len().checked_sub(1).map(|last| at.index(last + 1)) {
                    text[old] = *byte;
                }
            }
            Self::Cut(at) => text.truncate(place(at)),
            Self::Join(at, other, from) => {
                let other = &seeds[other.index(seeds.len())];
                text.truncate(place(at));
                text.extend_from_slice(&other[from.index(other.len() + 1)..]);
            }
        }
    }
}

/// Changed forms of `seeds`, a few of them unchanged.
pub fn changed(seeds: &[&str]) -> impl Strategy<Value = Vec<u8>> + use<> {
    let seeds: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    (any::<Index>(), vec(Change::any(), 0..6), Just(seeds)).prop_map(|(which, changes, seeds)| {
        let mut text = seeds[which.index(seeds.len())].clone();
        changes.iter().for_each(|change| change.carry_out(&mut text, &seeds));
        text
    })
}
