//! Who somebody is: names, access tokens, the refresh tokens that a device keeps, the tokens that programs have.

mod keys;
mod name;
mod personal;
mod refresh;
mod scope;

pub use keys::{ACCESS_SECONDS, Credential, Identity, KeysError, SigningKeys, TokenError};
pub use name::{Name, NameError};
pub use personal::PersonalToken;
pub use refresh::{RefreshToken, TokenHash};
pub use scope::{Scope, Scopes, UnknownScope};
