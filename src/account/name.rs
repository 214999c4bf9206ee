//! Display names: short, visible, on one line.

use rand::RngExt;

use super::username::CanonicalName;

/// A display name: 1 to 40 characters after trimming, none of them a control or an invisible formatting character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

/// Why a text cannot be a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing is left after trimming, or more than 40 characters.
    #[error("a name has 1 to 40 characters")]
    Length,
    /// A control character, or one that shows nothing or turns the direction of the text.
    #[error("a name has no control or invisible characters")]
    Character,
    /// The name of those who are gone, or one that looks like it.
    #[error("this name is that of players who have been deleted")]
    Reserved,
}

impl Name {
    /// The name of everybody who is gone; nobody else has it.
    pub const OF_THE_DELETED: &str = "Deleted player";

    /// The longest name, in characters.
    pub const MAX_CHARS: usize = 40;

    /// A name for a guest who gave none.
    pub fn of_guest() -> Self {
        Self(format!("Guest {}", rand::rng().random_range(1000..10_000)))
    }

    /// A name for an account that gave none: its username is nobody else's business.
    pub fn of_account() -> Self {
        Self(format!("Player {}", rand::rng().random_range(1000..10_000)))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for Name {
    type Error = NameError;

    fn try_from(text: &str) -> Result<Self, NameError> {
        // A byte count first, so that a huge text is refused without being walked.
        if text.len() > 16 * Self::MAX_CHARS {
            return Err(NameError::Length);
        }
        if text.chars().any(cannot_be_seen) || has_bare_selector(text) {
            return Err(NameError::Character);
        }
        let text = text.trim();
        if !(1..=Self::MAX_CHARS).contains(&text.chars().count()) {
            return Err(NameError::Length);
        }
        if look(text) == look(Self::OF_THE_DELETED) {
            Err(NameError::Reserved)
        } else {
            Ok(Self(text.to_owned()))
        }
    }
}

/// Whether the selector that makes a character a picture stands where there is none: after nothing, letters or digits.
fn has_bare_selector(text: &str) -> bool {
    let before = std::iter::once(' ').chain(text.chars());
    before.zip(text.chars()).any(|(before, c)| c == '\u{fe0f}' && (before == ' ' || before.is_alphabetic()))
}

/// What names that look alike have in common, spaces or not.
fn look(name: &str) -> CanonicalName {
    CanonicalName::of(&name.split_whitespace().collect::<String>())
}

/// Control characters too: what one line of visible text does not have.
pub(super) fn cannot_be_seen(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

/// Zero-width characters, direction overrides and line separators: names made of them imitate other names.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0e}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1d173}'..='\u{1d17a}' | '\u{1bca0}'..='\u{1bca3}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{2800}' | '\u{fffe}' | '\u{ffff}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::{Name, NameError};

    #[test]
    fn names_are_trimmed_and_measured_in_characters() {
        assert_eq!(Name::try_from("  Zoë  ").unwrap().as_str(), "Zoë");
        assert!(Name::try_from("é".repeat(40).as_str()).is_ok());
        assert_eq!(Name::try_from("é".repeat(41).as_str()), Err(NameError::Length));
        assert_eq!(Name::try_from("a".repeat(10_000).as_str()), Err(NameError::Length));
        assert_eq!(Name::try_from("   "), Err(NameError::Length));
    }

    #[test]
    fn what_cannot_be_seen_cannot_be_a_name() {
        for text in [
            "a\0b",
            "a\nb",
            "\u{7}",
            "a\u{202e}b",
            "a\u{200b}",
            "\u{2028}x",
            "\u{180b}",
            "\u{17b4}x",
            "Ana\u{fe0f}",
            "\u{fe0f}",
            "\u{1d173}",
        ] {
            assert_eq!(Name::try_from(text), Err(NameError::Character), "{text:?}");
        }
    }

    #[test]
    fn nobody_passes_for_a_player_who_is_gone() {
        for text in
            ["Deleted player", "deleted  PLAYER", "DeletedPlayer", "Deleted-player", "De1eted p\u{430}yer"]
        {
            let refused = Name::try_from(text) == Err(NameError::Reserved);
            assert_eq!(refused, !text.contains('\u{430}'), "{text}");
        }
        assert_eq!(Name::try_from("De1eted p1\u{430}yer"), Err(NameError::Reserved));
        assert!(Name::try_from("Deleted players").is_ok());
    }

    #[test]
    fn whoever_gives_no_name_gets_a_valid_one() {
        for name in [Name::of_guest(), Name::of_account()] {
            assert_eq!(Name::try_from(name.as_str()), Ok(name));
        }
    }
}
