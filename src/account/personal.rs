//! Personal access tokens: 32 random bytes that a program keeps. The server keeps only their hash.

use super::TokenHash;
use super::name::cannot_be_seen;
use super::refresh::{hash, secret};

/// A personal token in clear text. Never stored, never logged: no `Debug`.
pub struct PersonalToken(String);

impl PersonalToken {
    /// What every personal token begins with, so that scanners can find one that has leaked.
    pub const PREFIX: &str = "mancala_pat_";

    /// A new token.
    pub fn generate() -> Self {
        Self(secret(Self::PREFIX))
    }

    /// The hash of a token as presented, if it has the form of one.
    pub fn hash_of(presented: &str) -> Option<TokenHash> {
        let rest = presented.strip_prefix(Self::PREFIX)?;
        let right =
            rest.len() == 43 && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        right.then(|| hash(presented))
    }

    /// Under which it is stored.
    pub fn hash(&self) -> TokenHash {
        hash(&self.0)
    }

    /// The text for the program.
    pub fn into_text(self) -> String {
        self.0
    }
}

/// What the owner of a token calls it: 1 to 60 characters on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenName(String);

/// Why a text cannot be the name of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenNameError {
    /// Nothing is left after trimming, or more than 60 characters.
    #[error("a token's name has 1 to 60 characters")]
    Length,
    /// A control character, or one that shows nothing or turns the direction of the text.
    #[error("a token's name has no control or invisible characters")]
    Character,
}

impl TokenName {
    /// The longest name, in characters.
    pub const MAX_CHARS: usize = 60;

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for TokenName {
    type Error = TokenNameError;

    fn try_from(text: &str) -> Result<Self, TokenNameError> {
        let text = text.trim();
        if text.is_empty() || text.chars().nth(Self::MAX_CHARS).is_some() {
            return Err(TokenNameError::Length);
        }
        if text.chars().any(cannot_be_seen) {
            Err(TokenNameError::Character)
        } else {
            Ok(Self(text.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PersonalToken, TokenName, TokenNameError};

    #[test]
    fn the_name_of_a_token_is_one_short_line_that_can_be_seen() {
        assert_eq!(TokenName::try_from(" my bot 🤖 ").unwrap().as_str(), "my bot 🤖");
        assert!(TokenName::try_from("é".repeat(60).as_str()).is_ok());
        for text in ["", "  ", &"é".repeat(61)] {
            assert_eq!(TokenName::try_from(text), Err(TokenNameError::Length), "{text:?}");
        }
        for text in ["a\0b", "a\nb", "a\u{202e}b", "a\u{200b}b"] {
            assert_eq!(TokenName::try_from(text), Err(TokenNameError::Character), "{text:?}");
        }
    }

    #[test]
    fn a_token_is_found_again_by_its_text_and_nothing_else_has_a_hash() {
        let token = PersonalToken::generate();
        let hash = token.hash();
        let text = token.into_text();
        assert_eq!(PersonalToken::hash_of(&text), Some(hash));
        let other_prefix = text.replace("_pat_", "_rt_");
        for wrong in ["", "mancala_pat_", &text[..54], &format!("{text}A"), &other_prefix] {
            assert_eq!(PersonalToken::hash_of(wrong), None, "{wrong}");
        }
        assert_eq!(PersonalToken::hash_of(&format!("{}é", &text[..53])), None);
    }
}
