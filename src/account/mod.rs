//! Who somebody is: names, access tokens and the refresh tokens that a device keeps.

mod keys;
mod name;
mod refresh;

pub use keys::{ACCESS_SECONDS, Identity, KeysError, SigningKeys, TokenError};
pub use name::{Name, NameError};
pub use refresh::{RefreshToken, TokenHash};
