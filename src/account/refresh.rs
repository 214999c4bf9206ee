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
        let secret: [u8; 32] = rand::rng().random();
        Self(format!("{}{}", Self::PREFIX, URL_SAFE_NO_PAD.encode(secret)))
    }

    /// What every refresh token begins with, so that scanners can find one that has leaked.
    const PREFIX: &str = "mancala_rt_";

    /// A token as presented; any text is one, most of them unknown.
    pub fn presented(text: String) -> Self {
        Self(text)
    }

    /// Under which it is stored.
    pub fn hash(&self) -> TokenHash {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// The text for the device.
    pub fn into_text(self) -> String {
        self.0
    }
}
