//! What requests are counted as, and how many of each a player may make in a minute.

use std::fmt;
use std::str::FromStr;

/// What a request is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// What needs a secret or gives one: guests, accounts, sessions, passwords, joining by code.
    SignIn,
    /// What makes something that stays: games, groups and what is in their logs, tickets, tokens.
    Creating,
    /// Every other change.
    Playing,
    /// What changes nothing.
    Reading,
    /// What the computer has to think about.
    Analysis,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::SignIn, Self::Creating, Self::Playing, Self::Reading, Self::Analysis];

    /// Its name, in the document and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SignIn => "sign-in",
            Self::Creating => "creating",
            Self::Playing => "playing",
            Self::Reading => "reading",
            Self::Analysis => "analysis",
        }
    }
}

impl FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|class| class.as_str() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::as_str).join(", ");
            format!("there is no class `{text}`: they are {names}")
        })
    }
}

/// How many requests of each class a player may make in a minute; 0 is any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayerBudgets([u32; Class::ALL.len()]);

impl PlayerBudgets {
    /// Any number of everything.
    pub const OFF: Self = Self([0; Class::ALL.len()]);

    /// Those of one class.
    pub fn of(self, class: Class) -> u32 {
        self.0[class as usize]
    }
}

impl Default for PlayerBudgets {
    fn default() -> Self {
        Self([30, 60, 600, 1_200, 60])
    }
}

/// `off`, or a list like `creating=60,playing=600`; what it does not name stays as it is by default.
impl FromStr for PlayerBudgets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "off" {
            return Ok(Self::OFF);
        }
        let mut budgets = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (class, number) = part
                .split_once('=')
                .ok_or_else(|| format!("`{part}` is not of the form class=number, and not `off`"))?;
            let number = number.trim().parse().map_err(|e| format!("`{part}`: {e}"))?;
            budgets.0[class.trim().parse::<Class>()? as usize] = number;
        }
        Ok(budgets)
    }
}

impl fmt::Display for PlayerBudgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = Class::ALL.map(|class| format!("{}={}", class.as_str(), self.of(class)));
        f.write_str(&each.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, PlayerBudgets};

    #[test]
    fn what_a_setting_does_not_name_stays_as_it_is() {
        let some: PlayerBudgets = " playing=0, sign-in=7,".parse().unwrap();
        assert_eq!((some.of(Class::Playing), some.of(Class::SignIn)), (0, 7));
        assert_eq!(some.of(Class::Reading), PlayerBudgets::default().of(Class::Reading));
        assert_eq!("".parse(), Ok(PlayerBudgets::default()));
        assert_eq!("off".parse(), Ok(PlayerBudgets::OFF));
        assert_eq!(some.to_string().parse(), Ok(some));
    }

    #[test]
    fn a_setting_that_makes_no_sense_says_why() {
        for wrong in ["playing", "playing=-1", "playing=many", "sowing=3", "off,reading=3"] {
            assert!(wrong.parse::<PlayerBudgets>().is_err(), "{wrong}");
        }
    }
}
