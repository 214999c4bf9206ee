//! Recovery codes: the way back for somebody who has forgotten the password, since there is no e-mail.

use rand::RngExt;

use super::refresh::{TokenHash, hash};

/// A code of 100 random bits, in groups that a person can copy from paper. Never stored, never logged: no `Debug`.
pub struct RecoveryCode(String);

impl RecoveryCode {
    /// How many of them an account gets.
    pub const SET: usize = 10;

    /// Without i, l, o and u (Crockford's base 32): those are read as other characters, or make words.
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

    /// A new code.
    pub fn generate() -> Self {
        let mut rng = rand::rng();
        Self((0..20).map(|_| char::from(Self::ALPHABET[rng.random_range(0..32)])).collect())
    }

    /// A whole set of new codes.
    pub fn generate_set() -> Vec<Self> {
        (0..Self::SET).map(|_| Self::generate()).collect()
    }

    /// A code as somebody typed it: groups, case and what is easily mistaken do not matter.
    pub fn presented(text: &str) -> Self {
        let meant = text.chars().filter(|c| *c != '-' && !c.is_whitespace());
        Self(
            meant
                .map(|c| match c.to_ascii_lowercase() {
                    'o' => '0',
                    'i' | 'l' => '1',
                    c => c,
                })
                .collect(),
        )
    }

    /// Under which it is stored. A fast hash is enough for so many random bits.
    pub fn hash(&self) -> TokenHash {
        hash(&self.0)
    }

    /// The text for its owner.
    pub fn into_text(self) -> String {
        let letters: Vec<char> = self.0.chars().collect();
        letters.chunks(5).map(String::from_iter).collect::<Vec<_>>().join("-")
    }
}

#[cfg(test)]
mod tests {
    use super::RecoveryCode;

    #[test]
    fn a_code_is_recognised_however_it_is_typed() {
        let code = RecoveryCode("0123456789abcdefghjk".to_owned());
        let hash = code.hash();
        assert_eq!(code.into_text(), "01234-56789-abcde-fghjk");
        for typed in ["01234-56789-ABCDE-FGHJK", "o1234 56789 abcde fghjk", " OL23456789abcdefghjk\n"] {
            assert!(RecoveryCode::presented(typed).hash() == hash, "{typed}");
        }
        assert!(RecoveryCode::presented("01234-56789-abcde-fghj").hash() != hash);
    }

    #[test]
    fn a_set_is_ten_different_codes() {
        let codes: std::collections::BTreeSet<String> =
            RecoveryCode::generate_set().into_iter().map(RecoveryCode::into_text).collect();
        assert_eq!(codes.len(), 10);
        assert!(codes.iter().all(|code| code.len() == 23), "{codes:?}");
    }
}
