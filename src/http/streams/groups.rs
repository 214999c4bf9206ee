//! The stream of a group.

use actix_web::web::{Bytes, Data, Path, Query};
use actix_web::{HttpRequest, HttpResponse, get};
use serde::Serialize;
use time::OffsetDateTime;
use utoipa::ToSchema;

use super::games::{From, ResetType};
use super::{Closing, Cursor, Form, Heartbeat, Source, answer, cursor_of, place};
use crate::http::caller::Viewer;
use crate::http::objects::{Group, GroupEvent};
use crate::http::problem::{Failure, ProblemCode};
use crate::ids::GroupId;
use crate::service::{Error, GroupStream, Listening, Rung, Service};
use crate::store::GroupRow;

/// The cursor lay beyond the last event, as after a restore of the database: go on from this state.
#[derive(Serialize, ToSchema)]
pub struct GroupReset {
    /// Always `reset`.
    #[serde(rename = "type")]
    pub kind: ResetType,
    /// The group as it is now.
    pub group: Group,
}

/// A message of the stream of a group.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(discriminator(property_name = "type", mapping(
    ("created" = "#/components/schemas/GroupEvent"), ("joined" = "#/components/schemas/GroupEvent"),
    ("left" = "#/components/schemas/GroupEvent"), ("settings" = "#/components/schemas/GroupEvent"),
    ("game" = "#/components/schemas/GroupEvent"), ("reset" = "#/components/schemas/GroupReset"),
    ("heartbeat" = "#/components/schemas/Heartbeat"), ("closing" = "#/components/schemas/Closing"))))]
#[expect(dead_code, reason = "for the document: each is written where it arises")]
pub enum GroupMessage {
    /// The log of the group, each event once and in order.
    Event(GroupEvent),
    /// Only first, and only when the cursor lay beyond the end.
    Reset(GroupReset),
    /// Every 15 seconds, and first.
    Heartbeat(Heartbeat),
    /// The server ends the stream.
    Closing(Closing),
}

/// Follow a group
///
/// Who joins and leaves, new settings, the next game: first the events after the cursor, then each event as it happens,
/// once and in order, with the group as it was after it. In form and cursors it is as the stream of a game.
#[utoipa::path(tag = "streams", security((), ("bearer" = []), ("personal_token" = ["groups"])),
    params(("id" = GroupId, Path, description = "The group."), From,
        ("Last-Event-ID" = Option<String>, Header, pattern = "^[0-9]*$",
            description = "The last event that the client has.")),
    responses((status = 200, description = "The messages.", content(
            (GroupMessage = "text/event-stream"), (GroupMessage = "application/x-ndjson")))))]
#[get("/groups/{id}/events")]
pub async fn stream_group(
    service: Data<Service>,
    viewer: Viewer,
    id: Path<GroupId>,
    query: Query<From>,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let form = Form::of(&request)?;
    let (cursor, from) = cursor_of(&request, query.after_seq)?;
    let slot = place(&service, viewer.bearer(), &request).await?;
    let (group, events) = service.group_events(viewer.player(), *id, cursor).await?;
    if cursor > group.seq && from == Cursor::OfUrl {
        let detail = format!("the group has {} events, and none after {cursor}", group.seq);
        return Err(Failure::new(ProblemCode::CursorAhead, detail));
    }
    let reset = (cursor > group.seq).then_some(group);
    let source = Log { events, reset };
    Ok(answer(source, form, &service, viewer.bearer(), slot, &request))
}

struct Log {
    events: GroupStream,
    reset: Option<GroupRow>,
}

impl Source for Log {
    async fn next(&mut self, form: Form, now: OffsetDateTime) -> Result<Option<Bytes>, Error> {
        if let Some(group) = self.reset.take() {
            let reset = GroupReset { kind: ResetType::Reset, group: Group::from(&group) };
            return Ok(Some(form.numbered(group.seq, &reset).into()));
        }
        let told = self.events.next().await?.map(|view| {
            let event = GroupEvent { server_time: Some(now), ..GroupEvent::from(&view) };
            form.numbered(event.seq, &event).into()
        });
        Ok(told)
    }

    fn is_over(&self) -> bool {
        false
    }

    fn listening(&mut self) -> &mut Listening {
        self.events.listening()
    }

    async fn look(&mut self, rung: Rung) -> Result<(), Error> {
        self.events.look(rung);
        Ok(())
    }
}
