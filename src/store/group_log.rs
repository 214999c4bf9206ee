//! The log of a group: written by the statements of `super::groups`, read here.

use serde::Deserialize;
use sqlx::PgConnection;
use sqlx::types::Json;
use time::OffsetDateTime;

use super::{GroupSettings, MemberRow, Occupant, Result, corrupt};
use crate::ids::{GameId, GroupId, MemberId};
use crate::options::Asked;

/// What happened to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupEvent {
    /// It was made, by its first host. Without one: the log was begun when the group was there already.
    Created(GroupSettings, Option<MemberRow>),
    /// Somebody joined, or a computer was given a place.
    Joined(MemberRow),
    /// Somebody left, or a computer lost its place.
    Left {
        /// Which place.
        member: MemberId,
        /// Who had it.
        holder: Occupant,
        /// Who became the host in the member's place.
        heir: Option<MemberId>,
    },
    /// The host changed the settings: all of them, as they are from then on.
    Settings(GroupSettings),
    /// The next game began.
    Game(GameId),
}

/// An event as it lies in the log, with its person as that one is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupEventRow {
    /// Its number, from 1.
    pub seq: i32,
    /// When it was written, by the database's clock.
    pub at: OffsetDateTime,
    /// What it is.
    pub what: GroupEvent,
}

/// Settings as they lie in an event.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSettings {
    variant: String,
    options: Asked,
    private: bool,
}

impl StoredSettings {
    fn checked(self) -> Result<GroupSettings> {
        let variant = self.variant.parse().map_err(|e| corrupt("group_event.settings", e))?;
        Ok(GroupSettings { variant, options: self.options, private: self.private })
    }
}

/// So many events of a group after `seq` up to `last`, in order.
pub async fn group_events(
    db: &mut PgConnection,
    group: GroupId,
    seq: i32,
    last: i32,
    most: i64,
) -> Result<Vec<GroupEventRow>> {
    sqlx::query!(
        r#"select e.seq, e.at, e.kind::text as "kind!", e.member_id, e.position, e.player_id, e.level, e.host_id,
                  e.settings as "settings: Json<StoredSettings>", e.game_id, p.name as "name?", p.kind as "player_kind?"
           from group_event e left join player p on p.id = e.player_id
           where e.group_id = $1 and e.seq > $2 and e.seq <= $3 order by e.seq limit $4"#,
        group.uuid(),
        seq,
        last,
        most
    )
    .fetch_all(db)
    .await?
    .into_iter()
    .map(|row| {
        let member = match row.member_id {
            Some(id) => {
                let (kind, level) = (row.player_kind.as_deref(), row.level.as_deref());
                let holder = Occupant::stored("group_event", row.player_id, row.name, kind, level)?;
                let position = row.position.ok_or_else(|| corrupt("group_event.position", "none"))?;
                Some(MemberRow { id: id.into(), position, holder, host: row.host_id == Some(id) })
            }
            None => None,
        };
        let settings = row.settings.map(|settings| settings.0.checked()).transpose()?;
        let what = match (row.kind.as_str(), member, settings, row.game_id) {
            ("created", host, Some(settings), None) => GroupEvent::Created(settings, host),
            ("joined", Some(member), None, None) => GroupEvent::Joined(member),
            ("left", Some(member), None, None) => GroupEvent::Left {
                member: member.id,
                holder: member.holder,
                heir: row.host_id.map(MemberId::from),
            },
            ("settings", None, Some(settings), None) => GroupEvent::Settings(settings),
            ("game", None, None, Some(game)) => GroupEvent::Game(game.into()),
            (kind, ..) => return Err(corrupt("group_event.kind", kind)),
        };
        Ok(GroupEventRow { seq: row.seq, at: row.at, what })
    })
    .collect()
}

/// Up to `limit` groups after `after` in the order of their making, for the audit.
pub async fn groups_after(db: &mut PgConnection, after: Option<GroupId>, limit: i64) -> Result<Vec<GroupId>> {
    let ids = sqlx::query_scalar!(
        "select id from play_group where id > coalesce($1, '00000000-0000-0000-0000-000000000000'::uuid)
         order by id limit $2",
        after.map(GroupId::uuid),
        limit
    )
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(GroupId::from).collect())
}
