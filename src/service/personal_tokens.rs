//! Tokens for programs: made and listed by their owner, and who presents one.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use time::OffsetDateTime;
use uuid::Uuid;

use super::{Error, Result, Service, Topic};
use crate::account::{
    ACCESS_SECONDS, Credential, Identity, Issued, PersonalToken, Scopes, TokenError, TokenHash, TokenName,
};
use crate::ids::{PersonalTokenId, PlayerId, SessionId};
use crate::store::{self, NewPersonalToken, PersonalTokenRow, PlayerKind, PresentedToken};

/// How many tokens a player may have.
const MOST: i64 = 20;
/// For how long a token that has been looked up is known without asking again, so that a program's move is as cheap
/// as anybody's: as long as it takes until the end of a session is known everywhere.
const KNOWN_FOR: Duration = Duration::from_secs(2);
/// How many are known before those that are out of date are forgotten.
const KNOWN: usize = 1_024;

/// Tokens that have been presented within the last seconds.
#[derive(Default)]
pub(super) struct KnownTokens(Mutex<HashMap<TokenHash, (Instant, PresentedToken)>>);

/// Who a request comes from, and what its token allows.
#[derive(Clone, Copy, Debug)]
pub struct Bearer {
    /// Who.
    pub who: Identity,
    /// What it is restricted to; a session is to nothing.
    pub only: Option<Scopes>,
    /// When it stops being one.
    pub until: Option<OffsetDateTime>,
    /// The stream token, if it came with one.
    pub stream_token: Option<Uuid>,
}

/// A personal token to be made.
pub struct WantedToken {
    /// What its owner calls it.
    pub name: TokenName,
    /// What it is good for.
    pub scopes: Scopes,
    /// When it ends by itself.
    pub expires_at: Option<OffsetDateTime>,
}

impl KnownTokens {
    fn get(&self, hash: &TokenHash) -> Option<PresentedToken> {
        let known = self.0.lock().expect("nobody panics while holding it");
        known.get(hash).filter(|(since, _)| since.elapsed() < KNOWN_FOR).map(|(_, token)| *token)
    }

    fn keep(&self, hash: TokenHash, token: PresentedToken, since: Instant) {
        let mut known = self.0.lock().expect("nobody panics while holding it");
        if known.len() >= KNOWN {
            known.retain(|_, (since, _)| since.elapsed() < KNOWN_FOR);
        }
        known.insert(hash, (since, token));
    }
}

impl Service {
    /// Who presents a token, the access token of a session or a personal one, and is there therefore.
    ///
    /// # Errors
    /// When it has expired, has been taken back, or is not one of ours.
    pub async fn authenticate(&self, token: &str, now: OffsetDateTime) -> Result<Bearer> {
        let bearer = if token.starts_with(PersonalToken::PREFIX) {
            let hash = PersonalToken::hash_of(token).ok_or(TokenError::Invalid)?;
            let token = self.presented(hash).await?;
            if token.expires_at.is_some_and(|end| end <= now) {
                return Err(TokenError::Expired.into());
            }
            let who = Identity { player: token.player, credential: Credential::Token(token.id) };
            Bearer { who, only: Some(token.scopes), until: token.expires_at, stream_token: None }
        } else {
            self.bearer_of(self.keys.verify(token, now)?)?
        };
        self.hear(bearer.who.player);
        Ok(bearer)
    }

    /// Who presents a token for this stream.
    ///
    /// # Errors
    /// When it has expired, its session has ended, or it is not one of ours for that.
    pub fn authenticate_for_stream(&self, token: &str, stream: &str, now: OffsetDateTime) -> Result<Bearer> {
        let bearer = self.bearer_of(self.keys.verify_for_stream(token, stream, now)?)?;
        self.hear(bearer.who.player);
        Ok(bearer)
    }

    fn bearer_of(&self, issued: Issued) -> Result<Bearer> {
        let Issued { player, session, until, stream_token } = issued;
        if self.ended.contains(session.uuid()) {
            return Err(TokenError::Ended.into());
        }
        Ok(Bearer { who: Identity::on(player, session), only: None, until: Some(until), stream_token })
    }

    /// A token for one stream of a player on a device, to be used in its URL.
    pub fn issue_for_stream(
        &self,
        player: PlayerId,
        session: SessionId,
        stream: &str,
        now: OffsetDateTime,
    ) -> String {
        self.keys.issue_for_stream(player, session, stream, now)
    }

    /// Ends the streams that are read with this stream token, good until then: it is used for another one. Which of its uses
    /// this is, for [`Self::is_replaced`].
    pub fn replace_streams(&self, stream_token: Uuid, until: OffsetDateTime) -> i32 {
        // Uses at two processes are told in any order: so each says when it was, in microseconds of the token's life.
        let age = self.database_time() - (until - time::Duration::seconds(ACCESS_SECONDS.into()));
        let used = i32::try_from(age.whole_microseconds()).unwrap_or(i32::MAX).max(1);
        self.news.tell(Topic::StreamToken(stream_token), used);
        used
    }

    /// Whether a stream token that somebody here listens to was used again after `used`.
    pub fn is_replaced(&self, stream_token: Uuid, used: i32) -> bool {
        self.news.cursor(Topic::StreamToken(stream_token)) > used
    }

    /// Whether a session or a personal token has ended, as far as this process has heard.
    pub fn has_ended(&self, credential: Credential) -> bool {
        self.ended.contains(credential.id())
    }

    async fn presented(&self, hash: TokenHash) -> Result<PresentedToken> {
        let token = match self.known_tokens.get(&hash) {
            Some(token) => token,
            None => {
                let since = Instant::now();
                let mut db = self.database.connection().await?;
                let found = store::use_personal_token(&mut db, &hash).await?;
                db.done();
                let token = found.ok_or(TokenError::Invalid)?;
                self.known_tokens.keep(hash, token, since);
                token
            }
        };
        // It may have been taken back here since it was looked up.
        if self.ended.contains(token.id.uuid()) { Err(TokenError::Invalid.into()) } else { Ok(token) }
    }

    /// Makes a token for a program of this player: how it is listed, and its text, which is told this once.
    ///
    /// # Errors
    /// `AccountNeeded` for guests, `TooManyTokens`, `PlayerNotFound`; `Token` when the session that asks goes on no more,
    /// which other processes may not have learned yet.
    pub async fn create_personal_token(
        &self,
        player: PlayerId,
        session: SessionId,
        wanted: WantedToken,
    ) -> Result<(PersonalTokenRow, PersonalToken)> {
        let (id, token) = (PersonalTokenId::new(), PersonalToken::generate());
        let WantedToken { name, scopes, expires_at } = wanted;
        let new =
            NewPersonalToken { id, player, name: name.as_str(), hash: token.hash(), scopes, expires_at };
        let mut tx = self.database.begin().await?;
        match store::lock_kind(&mut tx, player).await?.ok_or(Error::PlayerNotFound)? {
            PlayerKind::Account | PlayerKind::Bot => {}
            PlayerKind::Guest | PlayerKind::Deleted => return Err(Error::AccountNeeded),
        }
        if !store::session_goes_on(&mut tx, player, session).await? {
            return Err(TokenError::Ended.into());
        }
        let made = store::insert_personal_token(&mut tx, &new, MOST).await?;
        let created_at = made.ok_or(Error::TooManyTokens)?;
        tx.commit().await?;
        let name = name.as_str().to_owned();
        Ok((PersonalTokenRow { id, name, scopes, created_at, last_used_at: None, expires_at }, token))
    }

    /// The tokens of a player, in the order in which they were made.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn personal_tokens(&self, player: PlayerId) -> Result<Vec<PersonalTokenRow>> {
        let mut db = self.database.connection().await?;
        let tokens = store::personal_tokens(&mut db, player).await?;
        db.done();
        Ok(tokens)
    }

    /// Takes a token back: it is refused from now on, by other processes within two seconds.
    ///
    /// # Errors
    /// `TokenNotFound`.
    pub async fn revoke_personal_token(&self, player: PlayerId, id: PersonalTokenId) -> Result<()> {
        let mut db = self.database.connection().await?;
        let removed = store::remove_personal_token(&mut db, player, id).await?;
        db.done();
        if !removed {
            return Err(Error::TokenNotFound);
        }
        self.tokens_have_ended(&[id]);
        Ok(())
    }
}
