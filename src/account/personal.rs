//! Personal access tokens: 32 random bytes that a program keeps. The server keeps only their hash.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::RngExt;
use sha2::{Digest, Sha256};

use super::TokenHash;

/// A personal token in clear text. Never stored, never logged: no `Debug`.
pub struct PersonalToken(String);

impl PersonalToken {
    /// What every personal token begins with, so that scanners can find one that has leaked.
    pub const PREFIX: &str = "mancala_pat_";

    /// A new token.
    pub fn generate() -> Self {
        let secret: [u8; 32] = rand::rng().random();
        Self(format!("{}{}", Self::PREFIX, URL_SAFE_NO_PAD.encode(secret)))
    }

    /// The hash of a token as presented, if it has the form of one.
    pub fn hash_of(presented: &str) -> Option<TokenHash> {
        let secret = presented.strip_prefix(Self::PREFIX)?;
        let right =
            secret.len() == 43 && secret.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        right.then(|| Sha256::digest(presented.as_bytes()).into())
    }

    /// Under which it is stored.
    pub fn hash(&self) -> TokenHash {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// The text for the program.
    pub fn into_text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::PersonalToken;

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
