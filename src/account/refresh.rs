//! Refresh tokens: 32 random bytes that a device keeps. The server keeps only their hash.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::RngExt;
use sha2::{Digest, Sha256};

/// A refresh token in clear text, as the device has it. Never stored, never logged: no `Debug`.
pub struct RefreshToken(String);

/// SHA-256 of a refresh token. A fast hash is enough: the token has 256 random bits.
pub type TokenHash = [u8; 32];

impl RefreshToken {
    /// A new token.
    pub fn generate() -> Self {
        Self(secret(Self::PREFIX))
    }

    /// What every refresh token begins with, so that scanners can find one that has leaked.
    const PREFIX: &str = "mancala_rt_";

    /// A token as presented; any text is one, most of them unknown.
    pub fn presented(text: String) -> Self {
        Self(text)
    }

    /// Under which it is stored.
    pub fn hash(&self) -> TokenHash {
        hash(&self.0)
    }

    /// The text for the device.
    pub fn into_text(self) -> String {
        self.0
    }
}

/// The text of a token that nobody can guess.
pub(super) fn secret(prefix: &str) -> String {
    let random: [u8; 32] = rand::rng().random();
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(random))
}

/// Under which a secret is stored that nobody can guess.
pub(super) fn hash(text: &str) -> TokenHash {
    Sha256::digest(text.as_bytes()).into()
}
