//! Who somebody is: names, passwords, access tokens and the refresh tokens that a device keeps.

mod device;
mod keys;
mod name;
mod password;
mod recovery;
mod refresh;
mod username;

pub use device::{DeviceLabel, DeviceLabelError};
pub use keys::{ACCESS_SECONDS, Identity, KeysError, SigningKeys, TokenError};
pub use name::{Name, NameError};
pub use password::{Cost, CostError, Hasher, Password, PasswordError};
pub use recovery::RecoveryCode;
pub use refresh::{RefreshToken, TokenHash};
pub use username::{CanonicalName, Username, UsernameError};
