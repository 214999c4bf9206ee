//! The options that decide how stones move and who places where, made effective once and for all:
//! [`Rules`] that exist are valid, and options that do not apply cannot influence anything.

use std::{fmt, str::FromStr};

use super::Seat;

/// Which of the two games is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// With captures; most stones in the store wins.
    Kalah,
    /// Without captures; whoever empties their side first wins.
    Basic,
}

impl Variant {
    /// Both games.
    pub const ALL: [Self; 2] = [Self::Kalah, Self::Basic];

    /// The name used on the wire and in the notation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kalah => "kalah",
            Self::Basic => "basic",
        }
    }
}

/// Whose corresponding pit a capture takes, in Kalah with three or four players
/// (`docs/rules.md`, Kalah rule 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CaptureFrom {
    /// The seat after the mover.
    Next,
    /// The seat two on; with three players the same as [`CaptureFrom::Next`].
    Opposite,
    /// Every other seat.
    All,
}

impl CaptureFrom {
    /// Every value.
    pub const ALL: [Self; 3] = [Self::Next, Self::Opposite, Self::All];

    /// The name used on the wire and in the notation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Opposite => "opposite",
            Self::All => "all",
        }
    }
}

/// A name that is none of the known values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what}, expected one of {expected}")]
pub struct UnknownName {
    what: &'static str,
    expected: &'static str,
}

impl FromStr for Variant {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|variant| variant.as_str() == name)
            .ok_or(UnknownName { what: "variant", expected: "kalah, basic" })
    }
}

impl FromStr for CaptureFrom {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|value| value.as_str() == name)
            .ok_or(UnknownName { what: "capture_from", expected: "next, opposite, all" })
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for CaptureFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The options as somebody asked for them; what is absent takes its default
/// (`docs/rules.md`, "Options").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RulesRequest {
    /// Pits a side: 4, 6 or 7; default 6.
    pub pits: Option<u8>,
    /// Stones a pit at the start: 3 to 6; default 4.
    pub stones: Option<u8>,
    /// Default [`CaptureFrom::Next`].
    pub capture_from: Option<CaptureFrom>,
    /// Default false.
    pub capture_empty: Option<bool>,
    /// Default true.
    pub full_ranking: Option<bool>,
}

/// The effective rules of one game or position.
///
/// Two values are equal exactly when every game under them goes the same way (except that
/// `opposite` and `next` stay apart with three players): options that do not apply are levelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rules {
    variant: Variant,
    players: u8,
    pits: u8,
    stones: u8,
    capture_from: CaptureFrom,
    capture_empty: bool,
    full_ranking: bool,
}

/// An option outside its range; the value is the one asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// Not 2, 3 or 4 players.
    #[error("players must be 2, 3 or 4, not {0}")]
    Players(u8),
    /// Not a number of pits that this game or position can have.
    #[error("{0} pits a side are not possible: a game has 4, 6 or 7, a position 1 to 7")]
    Pits(u8),
    /// Not 3 to 6 stones a pit.
    #[error("stones must be 3, 4, 5 or 6 a pit, not {0}")]
    Stones(u8),
}

impl RulesError {
    /// The name of the option that is wrong.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Players(_) => "players",
            Self::Pits(_) => "pits",
            Self::Stones(_) => "stones",
        }
    }
}

impl Rules {
    /// The rules of a game. A number of pits that `players` may not have is replaced by 6
    /// (`docs/rules.md`, "Options", `pits`).
    ///
    /// # Errors
    /// Players not 2 to 4, pits not 4, 6 or 7, stones not 3 to 6.
    pub fn effective(variant: Variant, players: u8, asked: &RulesRequest) -> Result<Self, RulesError> {
        let pits = match (players, asked.pits.unwrap_or(6)) {
            (2, 7) => 7,
            (3 | 4, 4) => 4,
            (_, 4 | 6 | 7) => 6,
            (_, other) => return Err(RulesError::Pits(other)),
        };
        Self::for_position(variant, players, pits, asked)
    }

    /// The rules of a position that is given whole, with its 1 to 7 pits a side as they stand;
    /// `asked.pits` says nothing then (`docs/rules.md`, "Options": only games normalise pits).
    ///
    /// # Errors
    /// Players not 2 to 4, pits not 1 to 7, stones not 3 to 6.
    pub fn for_position(
        variant: Variant,
        players: u8,
        pits: u8,
        asked: &RulesRequest,
    ) -> Result<Self, RulesError> {
        if !(2..=4).contains(&players) {
            return Err(RulesError::Players(players));
        }
        if !(1..=7).contains(&pits) {
            return Err(RulesError::Pits(pits));
        }
        let stones = asked.stones.unwrap_or(4);
        if !(3..=6).contains(&stones) {
            return Err(RulesError::Stones(stones));
        }
        let kalah = variant == Variant::Kalah;
        let several = players > 2;
        Ok(Self {
            variant,
            players,
            pits,
            stones,
            capture_from: asked.capture_from.filter(|_| kalah && several).unwrap_or(CaptureFrom::Next),
            capture_empty: kalah && asked.capture_empty.unwrap_or(false),
            full_ranking: !kalah && several && asked.full_ranking.unwrap_or(true),
        })
    }

    /// Which of the two games.
    #[inline]
    #[must_use]
    pub const fn variant(&self) -> Variant {
        self.variant
    }

    /// How many seats the board has, 2 to 4.
    #[inline]
    #[must_use]
    pub const fn players(&self) -> u8 {
        self.players
    }

    /// Pits a side, 1 to 7.
    #[inline]
    #[must_use]
    pub const fn pits(&self) -> u8 {
        self.pits
    }

    /// Stones a pit at the start, 3 to 6.
    #[inline]
    #[must_use]
    pub const fn stones(&self) -> u8 {
        self.stones
    }

    /// Whose pits a capture takes; `None` where that is no option (Basic, two players).
    #[must_use]
    pub fn capture_from(&self) -> Option<CaptureFrom> {
        (self.variant == Variant::Kalah && self.players > 2).then_some(self.capture_from)
    }

    /// Whether the last stone is taken even when nothing is opposite; `None` in Basic.
    #[must_use]
    pub fn capture_empty(&self) -> Option<bool> {
        (self.variant == Variant::Kalah).then_some(self.capture_empty)
    }

    /// Whether play goes on after the first finisher; `None` in Kalah and for two players.
    #[must_use]
    pub fn full_ranking(&self) -> Option<bool> {
        (self.variant == Variant::Basic && self.players > 2).then_some(self.full_ranking)
    }

    /// The seats of the board, in turn order.
    pub fn seats(&self) -> impl DoubleEndedIterator<Item = Seat> + ExactSizeIterator + use<> {
        Seat::ALL.into_iter().take(usize::from(self.players))
    }

    /// Whether `seat` exists on this board.
    #[must_use]
    pub const fn has(&self, seat: Seat) -> bool {
        seat.get() < self.players
    }

    /// Kalah rule 3, house rule; false where it does not apply.
    #[inline]
    pub const fn takes_lone_stone(&self) -> bool {
        self.capture_empty
    }

    /// Basic rule 6; false where it does not apply.
    #[inline]
    pub(super) const fn ranks_in_full(&self) -> bool {
        self.full_ranking
    }

    /// The seats that a capture by `seat` takes from, in turn order after it (Kalah rule 5).
    #[inline]
    pub(super) fn captured_seats(&self, seat: Seat) -> impl Iterator<Item = Seat> + use<> {
        let players = self.players;
        let next = seat.after(players);
        let (first, count) = match (self.variant, self.capture_from) {
            (Variant::Basic, _) => (next, 0),
            (Variant::Kalah, CaptureFrom::All) => (next, players - 1),
            (Variant::Kalah, CaptureFrom::Opposite) if players == 4 => (next.after(players), 1),
            (Variant::Kalah, _) => (next, 1),
        };
        std::iter::successors(Some(first), move |seat| Some(seat.after(players))).take(usize::from(count))
    }
}
