//! Passwords: what they must be, and how they are kept (argon2id, RFC 9106).

use std::str::FromStr;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Argon2, Params};
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use rand::RngExt;
use unicode_normalization::UnicodeNormalization;

/// A password in clear text, in the one form that all keyboards come to (NFKC). Never stored, never logged: no `Debug`.
pub struct Password(String);

/// Why a text cannot become a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// Fewer than 8 or more than 128 characters.
    #[error("a password has 8 to 128 characters")]
    Length,
    /// Among the first that an attacker would try.
    #[error(
        "this password is among the first million that an attacker would try; take a longer one or a few words"
    )]
    Weak,
}

/// How many guesses a new password has to survive.
const GUESSES: u64 = 1_000_000;
/// So many characters are looked at for that. The search for words in disguise takes seconds for a long password that is
/// made of nothing but disguises, and 60 ms for one of these.
const JUDGED: usize = 24;

impl Password {
    /// A password as somebody typed it to sign in: any text is one, most of them wrong.
    pub fn presented(text: &str) -> Self {
        // Longer ones than can be set are not worth normalising.
        Self(text.chars().take(1_024).nfkc().collect())
    }

    /// Whether it may be set: passwords that are known, simple, or made of what `about` the player is known, may not.
    /// Takes milliseconds, and never more than a hash.
    ///
    /// # Errors
    /// `Length` or `Weak`.
    pub fn check(&self, about: &[&str]) -> Result<(), PasswordError> {
        if !(8..=128).contains(&self.0.chars().count()) {
            return Err(PasswordError::Length);
        }
        let judged: String = self.0.chars().take(JUDGED).collect();
        if zxcvbn::zxcvbn(&judged, about).guesses() < GUESSES { Err(PasswordError::Weak) } else { Ok(()) }
    }
}

/// What one hash costs: memory, passes over it, lanes.
#[derive(Clone, Debug, Default)]
pub struct Cost(Params);

/// Why a text is no cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CostError {
    /// It cannot be read, or argon2 does not know it.
    #[error("give the cost of a password as m=19456,t=2,p=1: KiB of memory, passes, lanes")]
    Malformed,
    /// Less than OWASP advises.
    #[error("a password must cost at least m=19456,t=2,p=1")]
    TooLow,
}

impl Cost {
    /// Any cost that argon2 knows, however low: tests make thousands of passwords. The command line reads costs with
    /// `parse`, which refuses low ones.
    ///
    /// # Errors
    /// When argon2 does not know it.
    pub fn new(kibibytes: u32, passes: u32, lanes: u32) -> Result<Self, CostError> {
        Params::new(kibibytes, passes, lanes, None).map(Self).map_err(|_| CostError::Malformed)
    }

    fn is_below(&self, other: &Self) -> bool {
        let all = |cost: &Self| [cost.0.m_cost(), cost.0.t_cost(), cost.0.p_cost()];
        all(self).iter().zip(all(other)).any(|(own, other)| *own < other)
    }
}

impl FromStr for Cost {
    type Err = CostError;

    fn from_str(text: &str) -> Result<Self, CostError> {
        let mut parts = text.split(',');
        let mut number = |name: &str| {
            let value = parts.next()?.trim().strip_prefix(name)?.strip_prefix('=')?;
            value.parse::<u32>().ok()
        };
        let cost = (number("m"), number("t"), number("p"));
        let (Some(m), Some(t), Some(p)) = cost else { return Err(CostError::Malformed) };
        if parts.next().is_some() {
            return Err(CostError::Malformed);
        }
        let cost = Self::new(m, t, p)?;
        if cost.is_below(&Self::default()) { Err(CostError::TooLow) } else { Ok(cost) }
    }
}

/// Makes and verifies hashes at one cost. Each takes tens of milliseconds and much memory.
pub struct Hasher {
    cost: Cost,
    argon2: Argon2<'static>,
    /// A hash that no password has.
    nobodys: String,
}

impl Hasher {
    /// At this cost.
    pub fn new(cost: Cost) -> Self {
        let (salt, hash): ([u8; 16], [u8; 32]) = (rand::rng().random(), rand::rng().random());
        let [salt, hash] = [STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash)];
        let (m, t, p) = (cost.0.m_cost(), cost.0.t_cost(), cost.0.p_cost());
        let nobodys = format!("$argon2id$v=19$m={m},t={t},p={p}${salt}${hash}");
        Self { argon2: Argon2::from(cost.0.clone()), cost, nobodys }
    }

    /// The hash of a password with a new salt: a PHC string.
    pub fn hash(&self, password: &Password) -> String {
        let hash = self.argon2.hash_password(password.0.as_bytes());
        hash.expect("the cost is one that argon2 knows, and any bytes are a password").to_string()
    }

    /// Whether `stored` is the hash of `password`. Without a stored one it takes as long, and is not.
    pub fn verify(&self, password: &Password, stored: Option<&str>) -> bool {
        let stored = stored.unwrap_or(&self.nobodys);
        self.argon2.verify_password(password.0.as_bytes(), stored).is_ok()
    }

    /// Whether a stored hash cost less than one made now.
    pub fn is_outdated(&self, stored: &str) -> bool {
        let cost = PasswordHash::new(stored).ok().and_then(|hash| Params::try_from(&hash).ok());
        cost.is_none_or(|cost| Cost(cost).is_below(&self.cost))
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, CostError, Hasher, Password, PasswordError};

    fn cheap() -> Hasher {
        Hasher::new(Cost::new(64, 1, 1).unwrap())
    }

    #[test]
    fn a_password_is_right_however_its_characters_are_composed() {
        let hasher = cheap();
        let hash = hasher.hash(&Password::presented("Zoe\u{308} und ｋａｆｆｅｅ"));
        assert!(hash.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{hash}");
        assert!(hasher.verify(&Password::presented("Zoë und kaffee"), Some(&hash)));
        assert!(!hasher.verify(&Password::presented("zoë und kaffee"), Some(&hash)));
        assert!(!hasher.verify(&Password::presented("Zoë und kaffee"), None));
        assert!(!hasher.verify(&Password::presented(""), Some("no hash at all")));
    }

    #[test]
    fn two_hashes_of_one_password_differ() {
        let hasher = cheap();
        let password = Password::presented("a house of seven pits");
        assert_ne!(hasher.hash(&password), hasher.hash(&password));
    }

    #[test]
    fn a_hash_is_outdated_when_it_cost_less() {
        let hash = cheap().hash(&Password::presented("a house of seven pits"));
        for (cost, outdated) in
            [((64, 1, 1), false), ((65, 1, 1), true), ((64, 2, 1), true), ((32, 1, 1), false)]
        {
            let (m, t, p) = cost;
            assert_eq!(Hasher::new(Cost::new(m, t, p).unwrap()).is_outdated(&hash), outdated, "{cost:?}");
        }
        assert!(cheap().is_outdated("no hash at all"));
    }

    #[test]
    fn passwords_of_any_script_are_long_enough_and_not_the_first_to_be_tried() {
        let check = |text: &str| Password::presented(text).check(&["mafalda", "Mafalda of Lisbon"]);
        for good in [
            "tr0ub4dor&3zebra",
            "correct horse battery",
            "пять камней в лунке",
            "七つの穴と四つの石だよ",
            "🎲🌱🏺🪨🐪🌴🏜️🌙",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        assert_eq!(check(&"correct horse battery ".repeat(5)), Ok(()));
        for length in ["", "seven 7", &"x".repeat(129), &"é".repeat(100_000)] {
            assert_eq!(check(length), Err(PasswordError::Length), "{}", length.len());
        }
        for weak in [
            "password",
            "Passw0rd",
            "12345678",
            "123456789",
            "qwertyuiop",
            "iloveyou",
            "aaaaaaaaaaaa",
            "abcdefgh",
            "mafalda1",
            "Mafalda2024",
            "drowssap",
            "ｐａｓｓｗｏｒｄ",
            "20041999",
        ] {
            assert_eq!(check(weak), Err(PasswordError::Weak), "{weak}");
        }
    }

    #[test]
    fn any_text_can_be_checked() {
        for text in [
            "\0\0\0\0\0\0\0\0",
            "\u{fdfa}\u{fdfa}\u{fdfa}",
            "ﷺ1985-12-31ﷺ",
            "a\u{300}\u{301}\u{302}\u{303}bcdefg",
        ] {
            let _ = Password::presented(text).check(&["", "\0", "ﷺ"]);
        }
    }

    #[test]
    fn the_command_line_takes_no_cost_below_the_default() {
        for (text, error) in [
            ("m=19456,t=2,p=1", None),
            ("m=65536,t=3,p=4", None),
            ("m=19455,t=2,p=1", Some(CostError::TooLow)),
            ("m=47104,t=1,p=1", Some(CostError::TooLow)),
            ("m=64,t=1,p=1", Some(CostError::TooLow)),
            ("m=19456,t=2,p=0", Some(CostError::Malformed)),
            ("t=2,m=19456,p=1", Some(CostError::Malformed)),
            ("m=19456,t=2,p=1,x=1", Some(CostError::Malformed)),
            ("19456", Some(CostError::Malformed)),
            ("", Some(CostError::Malformed)),
        ] {
            assert_eq!(text.parse::<Cost>().err(), error, "{text}");
        }
    }
}
