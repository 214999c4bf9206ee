//! Groups and what happened to them.

use serde::Serialize;
use time::OffsetDateTime;
use utoipa::ToSchema;

use super::{Level, Player, Variant};
use crate::ids::{GameId, GroupId, MemberId};
use crate::options::Asked;
use crate::service::GroupEventView;
use crate::store::{self, GroupRow, MemberRow, Occupant};

/// A member of a group.
#[derive(Serialize, ToSchema)]
pub struct GroupMember {
    /// The place in the group.
    pub id: MemberId,
    /// The person; absent for a computer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub player: Option<Player>,
    /// The level of the computer; absent for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computer: Option<Level>,
    /// Whether this member decides for the group.
    pub host: bool,
}

/// A group.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"id": "01936f0d-1c2d-7b54-8f0e-2b6c9d3e4f50", "seq": 1, "code": "KTRWMHNP", "variant": "kalah",
    "options": {"stones": 4}, "private": false, "members": [{"id": "01936f0d-1c2e-7a11-a6b1-0f1e2d3c4b5a",
        "player": {"id": "01936f0c-5b1a-7d02-9c77-6a0e4b9d8c21", "name": "Ana", "kind": "guest"}, "host": true}]}))]
pub struct Group {
    /// The group's id.
    pub id: GroupId,
    /// The number of events so far: every change of the group is one.
    pub seq: i32,
    /// By which others join.
    #[schema(example = "KTRWMHNP")]
    pub code: String,
    /// What it plays.
    pub variant: Variant,
    /// Local rules as they were asked for; each game holds the effective ones.
    pub options: Asked,
    /// Whether only members see the group and its games.
    pub private: bool,
    /// In the order of joining, which is the order of the seats.
    pub members: Vec<GroupMember>,
    /// The running or last game; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub game_id: Option<GameId>,
}

impl From<&MemberRow> for GroupMember {
    fn from(member: &MemberRow) -> Self {
        let (player, computer) = match &member.holder {
            Occupant::Person(player) => (Some(Player::from(player)), None),
            Occupant::Computer(level) => (None, Some((*level).into())),
        };
        Self { id: member.id, player, computer, host: member.host }
    }
}

impl From<&GroupRow> for Group {
    fn from(row: &GroupRow) -> Self {
        Self {
            id: row.id,
            seq: row.seq,
            code: row.code.clone(),
            variant: row.settings.variant.into(),
            options: row.settings.options.clone(),
            private: row.settings.private,
            members: row.members.iter().map(GroupMember::from).collect(),
            game_id: row.game,
        }
    }
}

/// What happened to a group.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum GroupEventType {
    /// It was made.
    Created,
    /// Somebody joined, or the host gave a place to a computer.
    Joined,
    /// Somebody left, or the host took the place of a computer away.
    Left,
    /// The host changed what it plays or who sees it.
    Settings,
    /// Its next game began.
    Game,
}

/// An event of a group, with the group as it was after it.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"seq": 2, "at": "2026-11-30T12:00:00Z", "type": "joined", "member": {
        "id": "01936f0d-2a3b-7c11-8f21-6b7c8d9e0f1a",
        "player": {"id": "01936f0c-6c2b-7e13-8d88-7b1f5cae9d32", "name": "Ben", "kind": "guest"}, "host": false},
    "group": {"id": "01936f0d-1c2d-7b54-8f0e-2b6c9d3e4f50", "seq": 2, "code": "KTRWMHNP", "variant": "kalah",
        "options": {"stones": 4}, "private": false, "members": [{"id": "01936f0d-1c2e-7a11-a6b1-0f1e2d3c4b5a",
            "player": {"id": "01936f0c-5b1a-7d02-9c77-6a0e4b9d8c21", "name": "Ana", "kind": "guest"}, "host": true},
        {"id": "01936f0d-2a3b-7c11-8f21-6b7c8d9e0f1a",
            "player": {"id": "01936f0c-6c2b-7e13-8d88-7b1f5cae9d32", "name": "Ben", "kind": "guest"}, "host": false}]}}))]
pub struct GroupEvent {
    /// Its number in the group, from 1.
    pub seq: i32,
    /// When it happened, by the database's clock.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: GroupEventType,
    /// Who came, or who went, as they were until then. Absent where nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<GroupMember>,
    /// The member who became the host by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<MemberId>,
    /// The game that began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub game_id: Option<GameId>,
    /// The group after the event.
    pub group: Group,
    /// In streams: the database's clock when it was sent.
    #[serde(with = "time::serde::rfc3339::option", skip_serializing_if = "Option::is_none")]
    pub server_time: Option<OffsetDateTime>,
}

impl From<&GroupEventView> for GroupEvent {
    fn from(view: &GroupEventView) -> Self {
        use store::GroupEvent as E;
        let newcomer = |member: &MemberRow| member.host.then_some(member.id);
        let (kind, host, game_id) = match &view.row.what {
            E::Created(_, member) => (GroupEventType::Created, member.as_ref().and_then(newcomer), None),
            E::Joined(member) => (GroupEventType::Joined, newcomer(member), None),
            E::Left { heir, .. } => (GroupEventType::Left, *heir, None),
            E::Settings(_) => (GroupEventType::Settings, None, None),
            E::Game(game) => (GroupEventType::Game, None, Some(*game)),
        };
        Self {
            seq: view.row.seq,
            at: view.row.at,
            kind,
            member: view.member.as_ref().map(GroupMember::from),
            host,
            game_id,
            group: Group::from(&view.group),
            server_time: None,
        }
    }
}
