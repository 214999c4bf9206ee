//! Usernames: what an account signs in with. Two that look alike are the same one.

use std::collections::HashSet;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_security::{GeneralSecurityProfile, MixedScript, skeleton};

/// A username that can be registered: 3 to 30 letters and digits of one script in lower case, `_`, `-` and `.` inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Username {
    shown: String,
    canonical: CanonicalName,
}

/// What all usernames that look alike have in common. Any text has one, so that whoever signs in need not write a name
/// as it was registered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CanonicalName(String);

/// Why a text cannot be a username.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsernameError {
    /// Fewer than 3 or more than 30 characters.
    #[error("a username has 3 to 30 characters")]
    Length,
    /// Something else than letters, their marks, digits and separators.
    #[error("a username has letters and digits, and between them `_`, `-` and `.`")]
    Character,
    /// It begins or ends with a separator or begins with a mark.
    #[error("a username begins and ends with a letter or a digit")]
    Edge,
    /// Letters or digits of several scripts.
    #[error("the letters and digits of a username are of one script")]
    Scripts,
    /// A name by which somebody could pass for the service, or for what plays in it.
    #[error("this username is reserved")]
    Reserved,
}

/// Names by which somebody could pass for the service, for one of its computers, or for nobody.
const RESERVED: &[&str] = &[
    "admin",
    "administrator",
    "anonymous",
    "api",
    "bot",
    "computer",
    "deleted",
    "deleted-player",
    "easy",
    "everyone",
    "guest",
    "hard",
    "help",
    "host",
    "info",
    "mancala",
    "mancala-server",
    "medium",
    "mod",
    "moderator",
    "nobody",
    "null",
    "official",
    "operator",
    "owner",
    "perfect",
    "root",
    "security",
    "server",
    "service",
    "staff",
    "support",
    "sysadmin",
    "system",
    "undefined",
    "webmaster",
];

static RESERVED_FORMS: LazyLock<HashSet<CanonicalName>> =
    LazyLock::new(|| RESERVED.iter().map(|name| CanonicalName::of(name)).collect());

/// The longest text that is looked at, in bytes: 30 characters with all that normalising may take away.
const MAX_BYTES: usize = 512;

impl Username {
    /// As it is shown to its owner.
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// By which it is found.
    pub fn canonical(&self) -> &CanonicalName {
        &self.canonical
    }
}

impl CanonicalName {
    /// The canonical form of any text; of too long a one, that of its beginning.
    pub fn of(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        let letters = in_lower_case(text);
        // Nobody has a name with control characters, and the database could not be asked for one.
        let letters: String = letters.chars().filter(|c| !is_separator(*c) && !c.is_control()).collect();
        // The look-alike that UTS 39 chooses may be a capital: 0 becomes O.
        let form = skeleton(&letters.replace('ς', "σ")).collect::<String>();
        Self(form.to_lowercase())
    }

    /// One that was stored when its account was made. Reckoned anew it might be another: the tables of look-alikes grow.
    pub(crate) fn stored(text: String) -> Self {
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn in_lower_case(text: &str) -> String {
    // Twice, since the lower case of one character may be several.
    text.nfkc().collect::<String>().to_lowercase().nfkc().collect()
}

fn is_separator(c: char) -> bool {
    matches!(c, '_' | '-' | '.')
}

impl TryFrom<&str> for Username {
    type Error = UsernameError;

    fn try_from(text: &str) -> Result<Self, UsernameError> {
        if text.len() > MAX_BYTES {
            return Err(UsernameError::Length);
        }
        let shown = in_lower_case(text);
        let is_one = |c: char| c.identifier_allowed() && (c.is_alphanumeric() || is_combining_mark(c));
        if !shown.chars().all(|c| is_separator(c) || is_one(c)) {
            return Err(UsernameError::Character);
        }
        if !(3..=30).contains(&shown.chars().count()) {
            return Err(UsernameError::Length);
        }
        if shown.starts_with(|c| is_separator(c) || is_combining_mark(c)) || shown.ends_with(is_separator) {
            return Err(UsernameError::Edge);
        }
        // Digits of other scripts stand beside any letters in the tables; beside 0 to 9 they only confuse.
        let digits = |ascii: bool| shown.chars().any(|c| c.is_numeric() && c.is_ascii() == ascii);
        if !shown.as_str().is_single_script() || (digits(true) && digits(false)) {
            return Err(UsernameError::Scripts);
        }
        let canonical = CanonicalName::of(&shown);
        if RESERVED_FORMS.contains(&canonical) {
            return Err(UsernameError::Reserved);
        }
        Ok(Self { shown, canonical })
    }
}

#[cfg(test)]
mod tests {
    use super::{CanonicalName, Username, UsernameError};

    fn same(a: &str, b: &str) -> bool {
        CanonicalName::of(a) == CanonicalName::of(b)
    }

    #[test]
    fn names_of_any_one_script_are_kept_in_lower_case() {
        for (text, shown) in [
            ("Ana", "ana"),
            ("ana_maria-2.0", "ana_maria-2.0"),
            ("Zoë", "zoë"),
            ("ＡＮＡ", "ana"),
            ("Zoe\u{308}", "zoë"),
            ("ΣΟΦΟΣ", "σοφος"),
            ("Мария", "мария"),
            ("田中さん", "田中さん"),
            ("محمد", "محمد"),
            ("מרים", "מרים"),
            ("सीता", "सीता"),
            ("سعيد٣", "سعيد٣"),
            ("김철수", "김철수"),
        ] {
            let name = Username::try_from(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(name.as_str(), shown);
            assert_eq!(Username::try_from(name.as_str()).unwrap(), name, "a name is its own form");
            assert_eq!(name.canonical(), &CanonicalName::of(text));
        }
    }

    #[test]
    fn what_cannot_be_a_name_is_told_apart() {
        use UsernameError as E;
        for (text, error) in [
            ("ab", E::Length),
            ("", E::Length),
            (&"a".repeat(31), E::Length),
            (&"a".repeat(100_000), E::Length),
            ("ana maria", E::Character),
            ("ana@example.org", E::Character),
            ("ana\u{200b}", E::Character),
            ("an\u{200d}a", E::Character),
            ("ana\u{202e}", E::Character),
            ("ana\u{2060}", E::Character),
            ("ana\0", E::Character),
            ("ana\n", E::Character),
            ("ana🎲", E::Character),
            ("ana'--", E::Character),
            ("ana\u{3164}", E::Character),
            ("_ana", E::Edge),
            ("ana.", E::Edge),
            ("...", E::Edge),
            ("\u{301}ana", E::Edge),
            ("аna", E::Scripts),
            ("anaмария", E::Scripts),
            ("αna", E::Scripts),
            ("ana٣", E::Scripts),
            ("سعيد٣3", E::Scripts),
            ("admin", E::Reserved),
            ("ADMIN", E::Reserved),
            ("a.d.m.i.n", E::Reserved),
            ("ａｄｍｉｎ", E::Reserved),
            ("m0derat0r", E::Reserved),
            ("rnancala", E::Reserved),
        ] {
            assert_eq!(Username::try_from(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn names_that_look_alike_have_one_form() {
        for (a, b) in [
            ("Ana", "ana"),
            ("ana", "a_n.a"),
            ("ana", "ａｎａ"),
            ("lola", "l0la"),
            ("lll", "111"),
            ("modern", "rnodern"),
            ("раса", "paca"),
            ("zoë", "Zoe\u{308}"),
            ("ΣΟΦΟΣ", "σοφοσ"),
            ("ſam", "sam"),
        ] {
            assert!(same(a, b), "{a} and {b}");
        }
        for (a, b) in [("ana", "anna"), ("zoe", "zoë"), ("ana1", "ana2"), ("٠٠٠", "٠٠٠٠")] {
            assert!(!same(a, b), "{a} and {b}");
        }
    }

    #[test]
    fn every_text_has_a_canonical_form() {
        for text in ["", "\0", "\u{fdfa}\u{fdfa}", &"ß".repeat(10_000), "\u{202e}", "🎲"] {
            let form = CanonicalName::of(text);
            assert!(form.as_str().len() <= 40 * super::MAX_BYTES, "{}", form.as_str().len());
        }
    }
}
