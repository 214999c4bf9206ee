//! What there can be news of, and how one process writes that to another.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::ids::{GameId, GroupId, PlayerId, TicketId};

/// What there can be news of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// The log of a game has grown.
    Game(GameId),
    /// Who may see a game has changed.
    Sight(GameId),
    /// The log of a group has grown.
    Group(GroupId),
    /// A ticket waits no more.
    Ticket(TicketId),
    /// A player has a game, a ticket or a group more or less.
    Player(PlayerId),
    /// A player has come or gone.
    Presence(PlayerId),
    /// A session or a personal token has ended.
    Credential(Uuid),
    /// A stream token is used anew.
    StreamToken(Uuid),
}

/// News on its way from one process to another: of what, and how far its log goes (0 for what has none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hint {
    pub topic: Topic,
    pub seq: i32,
}

impl Topic {
    fn kind(self) -> (char, Uuid) {
        match self {
            Self::Game(id) => ('g', id.uuid()),
            Self::Sight(id) => ('v', id.uuid()),
            Self::Group(id) => ('c', id.uuid()),
            Self::Ticket(id) => ('t', id.uuid()),
            Self::Player(id) => ('p', id.uuid()),
            Self::Presence(id) => ('h', id.uuid()),
            Self::Credential(id) => ('s', id),
            Self::StreamToken(id) => ('k', id),
        }
    }

    /// The id of what it is about.
    pub(super) fn id(self) -> Uuid {
        self.kind().1
    }

    /// The bit of its kind.
    pub(super) const fn bit(self) -> u8 {
        match self {
            Self::Game(_) => 1,
            Self::Sight(_) => 2,
            Self::Group(_) => 4,
            Self::Ticket(_) => 8,
            Self::Player(_) => 16,
            Self::Presence(_) => 32,
            Self::Credential(_) => 64,
            Self::StreamToken(_) => 128,
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (letter, id) = self.topic.kind();
        write!(f, "{letter}{}{}", id.simple(), self.seq)
    }
}

/// It is not of this version of the program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unknown;

impl FromStr for Hint {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let (id, seq) = text.get(1..33).zip(text.get(33..)).ok_or(Unknown)?;
        let id = Uuid::try_parse(id).map_err(|_| Unknown)?;
        let topic = match text.as_bytes()[0] {
            b'g' => Topic::Game(id.into()),
            b'v' => Topic::Sight(id.into()),
            b'c' => Topic::Group(id.into()),
            b't' => Topic::Ticket(id.into()),
            b'p' => Topic::Player(id.into()),
            b'h' => Topic::Presence(id.into()),
            b's' => Topic::Credential(id),
            b'k' => Topic::StreamToken(id),
            _ => return Err(Unknown),
        };
        Ok(Self { topic, seq: seq.parse().map_err(|_| Unknown)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let id = Uuid::now_v7();
        let topics = [
            Topic::Game(id.into()),
            Topic::Sight(id.into()),
            Topic::Group(id.into()),
            Topic::Ticket(id.into()),
            Topic::Player(id.into()),
            Topic::Presence(id.into()),
            Topic::Credential(id),
            Topic::StreamToken(id),
        ];
        for topic in topics {
            let hint = Hint { topic, seq: 1_234 };
            assert_eq!(hint.to_string().parse(), Ok(hint));
        }
        let bits = topics.map(Topic::bit).iter().fold(0, |all, bit| all | bit);
        assert_eq!(bits, u8::MAX, "each kind has a bit of its own");
    }

    #[test]
    fn what_is_no_hint_is_refused() {
        let id = Uuid::now_v7().simple().to_string();
        for text in ["", "g", &id, &format!("g{id}"), &format!("x{id}1"), &format!("g{id}ä"), "gää"] {
            assert_eq!(text.parse::<Hint>(), Err(Unknown), "{text}");
        }
    }
}
