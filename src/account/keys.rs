//! Access tokens and stream tokens: JWTs of fifteen minutes, signed with the first of a list of keys and verified by any
//! of them, so that a key can be replaced without logging anybody out.

use base64::{Engine, engine::general_purpose::STANDARD};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::ids::{PersonalTokenId, PlayerId, SessionId};

/// How long an access token, or a stream token, is good for, in seconds.
pub const ACCESS_SECONDS: u32 = 15 * 60;

const ISSUER: &str = "mancala-server";
/// What an access token is for, and its type (RFC 9068), so that no other token signed with the same key is taken for it.
const ACCESS: Kind = Kind { audience: "mancala-api", name: "at+jwt" };
/// The same of a token that is good for one stream, and travels in its URL.
const STREAM: Kind = Kind { audience: "mancala-stream", name: "stream+jwt" };

struct Kind {
    audience: &'static str,
    name: &'static str,
}

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

impl Credential {
    /// The id of whichever it is.
    pub fn id(self) -> Uuid {
        match self {
            Self::Session(session) => session.uuid(),
            Self::Token(token) => token.uuid(),
        }
    }
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
    /// The stream that a stream token is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<String>,
    /// Tells one stream token from another.
    #[serde(skip_serializing_if = "Option::is_none")]
    jti: Option<Uuid>,
}

/// Whom a token was issued to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The player.
    pub player: PlayerId,
    /// On this device.
    pub session: SessionId,
    /// When it expires.
    pub until: OffsetDateTime,
    /// Which stream token it is.
    pub stream_token: Option<Uuid>,
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
    /// A stream token for another stream.
    #[error("the stream token is for another stream")]
    OtherStream,
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
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // Compared below, with the one of the kind of token.
        validation.validate_aud = false;
        // Expiry is compared below, with the time that the caller gives.
        validation.validate_exp = false;
        Ok(Self { keys, validation })
    }

    /// A token for a player on a device, good for [`ACCESS_SECONDS`] from `now`.
    pub fn issue(&self, player: PlayerId, session: SessionId, now: OffsetDateTime) -> String {
        self.sign(&ACCESS, player, session, now, None)
    }

    /// A token for one stream of a player on a device, as long good.
    pub fn issue_for_stream(
        &self,
        player: PlayerId,
        session: SessionId,
        stream: &str,
        now: OffsetDateTime,
    ) -> String {
        self.sign(&STREAM, player, session, now, Some(stream))
    }

    fn sign(
        &self,
        kind: &Kind,
        player: PlayerId,
        session: SessionId,
        now: OffsetDateTime,
        stream: Option<&str>,
    ) -> String {
        let key = &self.keys[0];
        let mut header = Header::new(Algorithm::HS256);
        header.typ = Some(kind.name.to_owned());
        header.kid = Some(key.id.clone());
        let iat = now.unix_timestamp();
        let claims = Claims {
            iss: ISSUER.to_owned(),
            aud: kind.audience.to_owned(),
            sub: player,
            sid: session,
            iat,
            exp: iat + i64::from(ACCESS_SECONDS),
            stream: stream.map(str::to_owned),
            jti: stream.map(|_| Uuid::now_v7()),
        };
        encode(&header, &claims, &key.encoding).expect("claims of strings and numbers always encode")
    }

    /// Which player presents `token`, on which device.
    ///
    /// # Errors
    /// When it has expired, or is not an access token of ours.
    pub fn verify(&self, token: &str, now: OffsetDateTime) -> Result<Issued, TokenError> {
        self.read(&ACCESS, token, now).map(|(issued, _)| issued)
    }

    /// Which player presents a token for this stream, on which device.
    ///
    /// # Errors
    /// When it has expired, is for another stream, or not a stream token of ours.
    pub fn verify_for_stream(
        &self,
        token: &str,
        stream: &str,
        now: OffsetDateTime,
    ) -> Result<Issued, TokenError> {
        let (issued, bound) = self.read(&STREAM, token, now)?;
        if bound.as_deref() == Some(stream) { Ok(issued) } else { Err(TokenError::OtherStream) }
    }

    fn read(
        &self,
        kind: &Kind,
        token: &str,
        now: OffsetDateTime,
    ) -> Result<(Issued, Option<String>), TokenError> {
        let header = decode_header(token).map_err(|_| TokenError::Invalid)?;
        if header.typ.as_deref() != Some(kind.name) {
            return Err(TokenError::Invalid);
        }
        let key = self.keys.iter().find(|k| Some(&k.id) == header.kid.as_ref()).ok_or(TokenError::Invalid)?;
        let claims =
            decode::<Claims>(token, &key.decoding, &self.validation).map_err(|_| TokenError::Invalid)?.claims;
        let until = OffsetDateTime::from_unix_timestamp(claims.exp).map_err(|_| TokenError::Invalid)?;
        if claims.aud != kind.audience {
            return Err(TokenError::Invalid);
        }
        if now >= until {
            return Err(TokenError::Expired);
        }
        let Claims { sub: player, sid: session, jti: stream_token, stream, .. } = claims;
        Ok((Issued { player, session, until, stream_token }, stream))
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

    fn issued(who: (PlayerId, SessionId)) -> Issued {
        let until = now() + time::Duration::seconds(i64::from(ACCESS_SECONDS));
        Issued { player: who.0, session: who.1, until, stream_token: None }
    }

    fn now() -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap()
    }

    #[test]
    fn a_token_says_who_it_was_issued_to_until_it_expires() {
        let keys = SigningKeys::parse(A).unwrap();
        let who = who();
        let token = keys.issue(who.0, who.1, now());
        assert_eq!(keys.verify(&token, now()), Ok(issued(who)));
        let last = now() + time::Duration::seconds(i64::from(ACCESS_SECONDS) - 1);
        assert_eq!(keys.verify(&token, last), Ok(issued(who)));
        assert_eq!(keys.verify(&token, last + time::Duration::SECOND), Err(TokenError::Expired));
    }

    #[test]
    fn every_key_of_the_list_verifies_and_only_the_first_signs() {
        let old = SigningKeys::parse(A).unwrap();
        let both = SigningKeys::parse(&format!("{B},{A}")).unwrap();
        let who = who();
        assert_eq!(both.verify(&old.issue(who.0, who.1, now()), now()), Ok(issued(who)));
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
    fn a_stream_token_is_good_for_its_stream_and_nothing_else() {
        let keys = SigningKeys::parse(A).unwrap();
        let who = who();
        let token = keys.issue_for_stream(who.0, who.1, "/v1/me/events", now());
        let read = keys.verify_for_stream(&token, "/v1/me/events", now()).unwrap();
        assert_eq!(Issued { stream_token: None, ..read }, issued(who));
        assert!(read.stream_token.is_some());
        assert_eq!(keys.verify_for_stream(&token, "/v1/you", now()), Err(TokenError::OtherStream));
        assert_eq!(keys.verify_for_stream(&token, "/v1/me/events", read.until), Err(TokenError::Expired));
        assert_eq!(keys.verify(&token, now()), Err(TokenError::Invalid));
        let access = keys.issue(who.0, who.1, now());
        assert_eq!(keys.verify_for_stream(&access, "/v1/me/events", now()), Err(TokenError::Invalid));
    }

    #[test]
    fn another_type_of_token_signed_with_the_same_key_is_refused() {
        let keys = SigningKeys::parse(A).unwrap();
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some(keys.keys[0].id.clone());
        let who = who();
        let iat = now().unix_timestamp();
        let claims = Claims {
            iss: ISSUER.into(),
            aud: ACCESS.audience.into(),
            sub: who.0,
            sid: who.1,
            iat,
            exp: iat + 60,
            stream: None,
            jti: None,
        };
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
