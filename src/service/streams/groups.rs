//! The log of a group as it grows. It has no end: the next game may always begin.

use std::collections::VecDeque;

use crate::ids::{GroupId, PlayerId};
use crate::service::group_log::GroupEventView;
use crate::service::news::{Listening, Rung, Topic};
use crate::service::{Error, Result, Service};
use crate::store::GroupRow;

/// The events of a group from a cursor on.
pub struct GroupStream {
    service: Service,
    viewer: Option<PlayerId>,
    /// The group as it was at the last event that was read.
    known: GroupRow,
    /// Read and not told yet.
    ahead: VecDeque<GroupEventView>,
    listening: Listening,
    /// Whether there may be more than has been read.
    look: bool,
}

impl Service {
    /// The events of a group after `cursor`, and the group as it is now. If it has fewer events than the cursor says, those
    /// that come after now.
    ///
    /// # Errors
    /// `GroupNotFound`, also for a private group of others.
    pub async fn group_events(
        &self,
        viewer: Option<PlayerId>,
        id: GroupId,
        cursor: i32,
    ) -> Result<(GroupRow, GroupStream)> {
        // Listening before looking: what comes in between is heard.
        let topic = Topic::Group(id);
        let listening = self.news.listen([topic]);
        let told = self.news.cursor(topic);
        let (now, ahead) = self.group_log(viewer, id, cursor).await?;
        if now.seq < told {
            self.news.fell_back(topic, told, now.seq);
        }
        listening.looked_up(topic, now.seq);
        let known = ahead.last().map_or(&now, |last| &last.group).clone();
        let stream = GroupStream {
            service: self.clone(),
            viewer,
            look: known.seq < now.seq,
            known,
            ahead: ahead.into(),
            listening,
        };
        Ok((now, stream))
    }
}

impl GroupStream {
    /// The next event, if it is there already; `None` when there is none yet, see [`Self::listening`].
    ///
    /// # Errors
    /// `GroupNotFound` when the group is the viewer's to see no more; `Busy` when the log ends before what has been told, as
    /// after a restore: who connects again is told so; or the database fails.
    pub async fn next(&mut self) -> Result<Option<GroupEventView>> {
        if self.ahead.is_empty() && self.look {
            // Its own allocation, so that a stream that waits is small.
            Box::pin(self.read()).await?;
        }
        let next = self.ahead.pop_front();
        if self.ahead.is_empty() {
            // A stream that waits keeps no room for what it has told.
            self.ahead = VecDeque::new();
        }
        Ok(next)
    }

    async fn read(&mut self) -> Result<()> {
        let (now, ahead) = self.service.group_log_from(self.viewer, &self.known).await?;
        if now.seq < self.known.seq {
            return Err(Error::Busy);
        }
        self.listening.looked_up(Topic::Group(now.id), now.seq);
        self.known = ahead.last().map_or(&now, |last| &last.group).clone();
        self.look = self.known.seq < now.seq;
        self.ahead = ahead.into();
        Ok(())
    }

    /// What it hears of.
    pub fn listening(&mut self) -> &mut Listening {
        &mut self.listening
    }

    /// Looks at what may have happened.
    pub fn look(&mut self, rung: Rung) {
        self.look |= rung.like(Topic::Group(self.known.id));
    }
}
