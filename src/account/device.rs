//! What a device calls itself in the list of a player's sessions.

use super::name::cannot_be_seen;

/// A label of at most 80 characters on one line, possibly none. It is shown to the player alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceLabel(String);

/// Why a text cannot be a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceLabelError {
    /// More than 80 characters.
    #[error("a device has at most 80 characters")]
    Length,
    /// A control character, or one that shows nothing or turns the direction of the text.
    #[error("a device has no control or invisible characters")]
    Character,
}

impl DeviceLabel {
    /// The longest label, in characters.
    pub const MAX_CHARS: usize = 80;

    /// What a `User-Agent` tells, made fit. Whatever a header holds is one.
    pub fn of_user_agent(header: &str) -> Self {
        let visible = header.chars().filter(|c| !cannot_be_seen(*c));
        let text: String = visible.take(Self::MAX_CHARS).collect();
        Self(text.trim().to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for DeviceLabel {
    type Error = DeviceLabelError;

    fn try_from(text: &str) -> Result<Self, DeviceLabelError> {
        let text = text.trim();
        if text.chars().nth(Self::MAX_CHARS).is_some() {
            return Err(DeviceLabelError::Length);
        }
        if text.chars().any(cannot_be_seen) {
            return Err(DeviceLabelError::Character);
        }
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceLabel, DeviceLabelError};

    #[test]
    fn a_label_is_one_short_line_that_can_be_seen() {
        assert_eq!(DeviceLabel::try_from(" Ana's phone 📱 ").unwrap().as_str(), "Ana's phone 📱");
        assert_eq!(DeviceLabel::try_from("  ").unwrap(), DeviceLabel::default());
        assert!(DeviceLabel::try_from("é".repeat(80).as_str()).is_ok());
        assert_eq!(DeviceLabel::try_from("é".repeat(81).as_str()), Err(DeviceLabelError::Length));
        for text in ["a\0b", "a\nb", "a\u{202e}b", "a\u{200b}b"] {
            assert_eq!(DeviceLabel::try_from(text), Err(DeviceLabelError::Character), "{text:?}");
        }
    }

    #[test]
    fn any_user_agent_becomes_a_label() {
        let long = format!("\u{202e}Mozilla/5.0\t{}", "x".repeat(500));
        let label = DeviceLabel::of_user_agent(&long);
        assert!(label.as_str().starts_with("Mozilla/5.0x"));
        assert_eq!(DeviceLabel::try_from(label.as_str()), Ok(label));
    }
}
