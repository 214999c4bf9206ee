//! Everything that is stored about a player, for that player.

use std::collections::VecDeque;

use futures_util::Stream;
use futures_util::stream::try_unfold;

use super::{Error, Result, Service};
use crate::account::TokenError;
use crate::ids::{PlayerId, SessionId};
use crate::store::{self, EXPORT_PAGE, ExportMark, Part, PlayerKind};

/// The last line: without it the export has been cut off.
const END: &str = "{\"type\":\"end\"}\n";

/// How far an export has come.
struct Progress {
    service: Service,
    player: PlayerId,
    session: SessionId,
    parts: VecDeque<Part>,
    after: ExportMark,
    over: bool,
}

impl Service {
    /// All that is stored about a player as JSON lines, some at a time: a page is read when it is asked for, and no
    /// connection is held in between, so that it takes neither memory nor a connection to wait for a slow reader. Each
    /// page is as things are when it is read, and there is none after the end of the session that asked.
    ///
    /// # Errors
    /// `PlayerNotFound`; of a page, when the session has ended, the database fails or the service stops.
    pub async fn export(
        &self,
        player: PlayerId,
        session: SessionId,
    ) -> Result<impl Stream<Item = Result<String>> + use<>> {
        let mut db = self.database.connection().await?;
        let row = store::player(&mut db, player).await?;
        db.done();
        row.filter(|row| row.kind != PlayerKind::Deleted).ok_or(Error::PlayerNotFound)?;
        let (parts, after) = (VecDeque::from(Part::ALL), ExportMark::default());
        let progress = Progress { service: self.clone(), player, session, parts, after, over: false };
        Ok(try_unfold(progress, Progress::next))
    }
}

impl Progress {
    /// The next lines, with what comes after them.
    async fn next(mut self) -> Result<Option<(String, Self)>> {
        while let Some(part) = self.parts.front() {
            if self.service.stopping.is_cancelled() {
                return Err(Error::Busy);
            }
            let mut db = self.service.database.connection().await?;
            // Asked of the database: a slow reader may take longer than ended sessions are remembered.
            if !store::export_may_go_on(&mut db, self.player, self.session).await? {
                db.done();
                return Err(Error::Token(TokenError::Ended));
            }
            let lines = store::export_page(&mut db, self.player, *part, &self.after).await?;
            db.done();
            let full = i64::try_from(lines.len()).is_ok_and(|lines| lines >= EXPORT_PAGE);
            match lines.last().filter(|_| full) {
                Some(last) => self.after = last.mark.clone(),
                None => {
                    self.parts.pop_front();
                    self.after = ExportMark::default();
                }
            }
            if !lines.is_empty() {
                let text = lines.into_iter().map(|line| line.json + "\n").collect();
                return Ok(Some((text, self)));
            }
        }
        if self.over {
            return Ok(None);
        }
        self.over = true;
        Ok(Some((END.to_owned(), self)))
    }
}
