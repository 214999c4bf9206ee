//! What a token for programs may do: less than its owner.

use std::str::FromStr;

/// One of the things that a personal token may be made for. Every operation needs one at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Reading games, ratings and players.
    GamesRead,
    /// Making games and acting in them.
    GamesPlay,
    /// Everything about groups.
    Groups,
    /// Looking for ranked games.
    Ranked,
    /// Reading and changing the player itself.
    Profile,
}

/// Some text that names no scope.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no scope `{0}`")]
pub struct UnknownScope(String);

impl Scope {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::GamesRead, Self::GamesPlay, Self::Groups, Self::Ranked, Self::Profile];

    /// Its name, stored and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GamesRead => "games:read",
            Self::GamesPlay => "games:play",
            Self::Groups => "groups",
            Self::Ranked => "ranked",
            Self::Profile => "profile",
        }
    }
}

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| UnknownScope(text.to_owned()))
    }
}

/// Several of them, each at most once, in the order of [`Scope::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    /// Whether `scope` is among them.
    pub fn contains(self, scope: Scope) -> bool {
        self.0 & 1 << scope as u8 != 0
    }

    /// One by one.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |all, scope| all | 1 << scope as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_read_back_from_its_name() {
        for scope in Scope::ALL {
            assert_eq!(scope.as_str().parse(), Ok(scope));
        }
        assert_eq!("games".parse::<Scope>(), Err(UnknownScope("games".to_owned())));
    }

    #[test]
    fn scopes_are_those_that_were_put_in() {
        let some: Scopes = [Scope::Profile, Scope::GamesRead, Scope::Profile].into_iter().collect();
        assert_eq!(some.iter().collect::<Vec<_>>(), [Scope::GamesRead, Scope::Profile]);
        assert!(!some.contains(Scope::Groups) && !some.is_empty() && Scopes::default().is_empty());
    }
}
