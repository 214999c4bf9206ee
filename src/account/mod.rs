//! Who somebody is: names, passwords, access tokens, the refresh tokens that a device keeps, the tokens that programs have.

mod device;
mod keys;
mod name;
mod password;
mod personal;
mod recovery;
mod refresh;
mod scope;
mod username;

pub use device::{DeviceLabel, DeviceLabelError};
pub use keys::{ACCESS_SECONDS, Credential, Identity, Issued, KeysError, SigningKeys, TokenError};
pub use name::{Name, NameError};
pub use password::{Cost, CostError, Hasher, Password, PasswordError};
pub use personal::{PersonalToken, TokenName, TokenNameError};
pub use recovery::RecoveryCode;
pub use refresh::{RefreshToken, TokenHash};
pub use scope::{Scope, Scopes, UnknownScope};
pub use username::{CanonicalName, Username, UsernameError};
