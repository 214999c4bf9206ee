//! Access tokens: JWTs of fifteen minutes, signed with the first of a list of keys and verified by any of them, so
//! that a key can be replaced without logging anybody out.

use base64::{Engine, engine::general_purpose::STANDARD};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use crate::ids::{PersonalTokenId, PlayerId, SessionId};

/// How long an access token is good for, in seconds.
pub const ACCESS_SECONDS: u32 = 15 * 60;

const ISSUER: &str = "mancala-server";
const AUDIENCE: &str = "mancala-api";
/// RFC 9068: says what kind of token it is, so that no other one signed with the same key is taken for it.
const TYPE: &str = "at+jwt";

/// Who a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The player.
    pub player: PlayerId,
    /// By what the player is known.
    pub credential: Credential,
}

/// By what a player is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// The device that the player is signed in on.
    Session(SessionId),
    /// The personal token that a program has.
    Token(PersonalTokenId),
}

impl Identity {
    /// A player on a device.
    pub fn on(player: PlayerId, session: SessionId) -> Self {
        Self { player, credential: Credential::Session(session) }
    }
}

/// The keys, first the one that signs.
pub struct SigningKeys {
    keys: Vec<Key>,
    validation: Validation,
}

struct Key {
    id: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: PlayerId,
    sid: SessionId,
    iat: i64,
    exp: i64,
}

/// Why a list of keys cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// There is none.
    #[error("no signing key given")]
    None,
    /// One is not base64 or has less than 256 bits.
    #[error(
        "signing key {0} must be base64 of at least 32 random bytes (make one with: openssl rand -base64 32)"
    )]
    Bad(usize),
}

/// Why an access token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It was good once.
    #[error("the token has expired; a session gets a new one with its refresh token")]
    Expired,
    /// Not one of ours: another key, algorithm, type, issuer or audience, taken back, or not a token at all.
    #[error("the token is not valid")]
    Invalid,
    /// It was good once, and has been taken back: its session has ended.
    #[error("the session of the access token has ended; sign in again")]
    Ended,
}

impl Key {
    fn parse(text: &str) -> Option<Self> {
        let secret = STANDARD.decode(text).ok().filter(|secret| secret.len() >= 32)?;
        Some(Self {
            id: STANDARD.encode(&Sha256::digest(&secret)[..6]),
            encoding: EncodingKey::from_secret(&secret).ok()?,
            decoding: DecodingKey::from_secret(&secret).ok()?,
        })
    }
}

impl SigningKeys {
    /// Reads a comma-separated list of base64 keys.
    ///
    /// # Errors
    /// When there is none, or one is not base64 of at least 32 bytes.
    pub fn parse(list: &str) -> Result<Self, KeysError> {
        let keys = list
            .split(',')
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .enumerate()
            .map(|(i, text)| Key::parse(text).ok_or(KeysError::Bad(i + 1)))
            .collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() {
            return Err(KeysError::None);
        }
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[AUDIENCE]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // Expiry is compared below, with the time that the caller gives.
        validation.validate_exp = false;
        Ok(Self { keys, validation })
    }

    /// A token for a player on a device, good for [`ACCESS_SECONDS`] from `now`.
    pub fn issue(&self, player: PlayerId, session: SessionId, now: OffsetDateTime) -> String {
        let key = &self.keys[0];
        let mut header = Header::new(Algorithm::HS256);
        header.typ = Some(TYPE.to_owned());
        header.kid = Some(key.id.clone());
        let iat = now.unix_timestamp();
        let claims = Claims {
            iss: ISSUER.to_owned(),
            aud: AUDIENCE.to_owned(),
            sub: player,
            sid: session,
            iat,
            exp: iat + i64::from(ACCESS_SECONDS),
        };
        encode(&header, &claims, &key.encoding).expect("claims of strings and numbers always encode")
    }

    /// Which player presents `token`, on which device.
    ///
    /// # Errors
    /// When it has expired, or is not an access token of ours.
    pub fn verify(&self, token: &str, now: OffsetDateTime) -> Result<(PlayerId, SessionId), TokenError> {
        let header = decode_header(token).map_err(|_| TokenError::Invalid)?;
        if header.typ.as_deref() != Some(TYPE) {
            return Err(TokenError::Invalid);
        }
        let key = self.keys.iter().find(|k| Some(&k.id) == header.kid.as_ref()).ok_or(TokenError::Invalid)?;
        let claims =
            decode::<Claims>(token, &key.decoding, &self.validation).map_err(|_| TokenError::Invalid)?.claims;
        if now.unix_timestamp() >= claims.exp {
            return Err(TokenError::Expired);
        }
        Ok((claims.sub, claims.sid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const B: &str = "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=";

    fn who() -> (PlayerId, SessionId) {
        (PlayerId::new(), SessionId::new())
    }

    fn now() -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap()
    }

    #[test]
    fn a_token_says_who_it_was_issued_to_until_it_expires() {
        let keys = SigningKeys::parse(A).unwrap();
        let who = who();
        let token = keys.issue(who.0, who.1, now());
        assert_eq!(keys.verify(&token, now()), Ok(who));
        let last = now() + time::Duration::seconds(i64::from(ACCESS_SECONDS) - 1);
        assert_eq!(keys.verify(&token, last), Ok(who));
        assert_eq!(keys.verify(&token, last + time::Duration::SECOND), Err(TokenError::Expired));
    }

    #[test]
    fn every_key_of_the_list_verifies_and_only_the_first_signs() {
        let old = SigningKeys::parse(A).unwrap();
        let both = SigningKeys::parse(&format!("{B},{A}")).unwrap();
        let who = who();
        assert_eq!(both.verify(&old.issue(who.0, who.1, now()), now()), Ok(who));
        assert_eq!(old.verify(&both.issue(who.0, who.1, now()), now()), Err(TokenError::Invalid));
    }

    #[test]
    fn forged_tokens_are_refused() {
        let keys = SigningKeys::parse(A).unwrap();
        let token = keys.issue(PlayerId::new(), SessionId::new(), now());
        let parts: Vec<&str> = token.split('.').collect();
        let none =
            base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"at+jwt"}"#);
        for forged in [
            String::new(),
            "a.b.c".to_owned(),
            format!("{none}.{}.", parts[1]),
            format!("{}.{}.", parts[0], parts[1]),
            format!("{}.{}.{}", parts[0], parts[1], parts[2].to_lowercase()),
        ] {
            assert_eq!(keys.verify(&forged, now()), Err(TokenError::Invalid), "{forged}");
        }
    }

    #[test]
    fn another_type_of_token_signed_with_the_same_key_is_refused() {
        let keys = SigningKeys::parse(A).unwrap();
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some(keys.keys[0].id.clone());
        let who = who();
        let iat = now().unix_timestamp();
        let claims =
            Claims { iss: ISSUER.into(), aud: AUDIENCE.into(), sub: who.0, sid: who.1, iat, exp: iat + 60 };
        let token = encode(&header, &claims, &keys.keys[0].encoding).unwrap();
        assert_eq!(keys.verify(&token, now()), Err(TokenError::Invalid));
    }

    #[test]
    fn weak_keys_are_refused() {
        assert!(matches!(SigningKeys::parse("  "), Err(KeysError::None)));
        assert!(matches!(SigningKeys::parse("c2hvcnQ="), Err(KeysError::Bad(1))));
        assert!(matches!(SigningKeys::parse(&format!("{A},%%%")), Err(KeysError::Bad(2))));
    }
}
