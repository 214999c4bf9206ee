//! The log of a group, replayed: each event with the group as it was after it; and the audit of such logs.

use sqlx::PgConnection;

use super::groups::visible_group;
use super::{Error, Result, Service};
use crate::ids::{GroupId, PlayerId};
use crate::store::{self, GroupEvent, GroupEventRow, GroupRow, MemberRow, Occupant};

/// How many events are read at a time that are not to be told.
const PAGE: i64 = 200;
/// How many are read ahead for a reader.
const READ_AHEAD: i64 = 32;
/// How many groups the audit reads at a time.
const BATCH: i64 = 200;

/// An event with everything needed to show it.
#[derive(Clone, Debug)]
pub struct GroupEventView {
    /// As it lies in the log.
    pub row: GroupEventRow,
    /// Who came, or who went, as they were then.
    pub member: Option<MemberRow>,
    /// The group after the event.
    pub group: GroupRow,
}

impl Service {
    /// A group as `viewer` sees it, and what happened to it after its event `after`, as much as is read ahead. When the
    /// last of them is not the group's last, [`Service::group_log_from`] goes on.
    ///
    /// # Errors
    /// `GroupNotFound`, also for a private group of others.
    pub async fn group_log(
        &self,
        viewer: Option<PlayerId>,
        id: GroupId,
        after: i32,
    ) -> Result<(GroupRow, Vec<GroupEventView>)> {
        let mut db = self.database.connection().await?;
        let now = visible_group(&mut db, id, viewer).await?;
        let views =
            if after < now.seq { replayed(&mut db, &now, beginning(&now), after).await? } else { Vec::new() };
        db.done();
        Ok((now, views))
    }

    /// The same after a state of the group that the caller has: whatever came before it is not read again.
    ///
    /// # Errors
    /// `GroupNotFound`, also for a private group of others.
    pub async fn group_log_from(
        &self,
        viewer: Option<PlayerId>,
        known: &GroupRow,
    ) -> Result<(GroupRow, Vec<GroupEventView>)> {
        let mut db = self.database.connection().await?;
        let now = visible_group(&mut db, known.id, viewer).await?;
        let views = replayed(&mut db, &now, known.clone(), known.seq).await?;
        db.done();
        Ok((now, views))
    }
}

/// A group of which nothing has happened yet.
fn beginning(now: &GroupRow) -> GroupRow {
    GroupRow { seq: 0, game: None, playing: false, members: Vec::new(), ..now.clone() }
}

/// What happened after `after`, which is not before `group`. Events up to the `seq` of `now` are there and never change, so
/// whatever happens meanwhile makes no difference.
async fn replayed(
    db: &mut PgConnection,
    now: &GroupRow,
    mut group: GroupRow,
    after: i32,
) -> Result<Vec<GroupEventView>> {
    let corrupt = |what: String| {
        Error::Database(sqlx::Error::Decode(format!("log of group {}: {what}", now.id).into()))
    };
    let mut views = Vec::new();
    while group.seq < now.seq && views.is_empty() {
        let (last, most) = if group.seq < after { (after, PAGE) } else { (now.seq, READ_AHEAD) };
        let rows = store::group_events(db, now.id, group.seq, last, most).await?;
        if rows.is_empty() {
            return Err(corrupt(format!("it ends at event {} of {}", group.seq, now.seq)));
        }
        call_by_their_names(&mut group, now, &rows);
        for row in rows {
            let member = apply(&mut group, &row).map_err(corrupt)?;
            if row.seq > after {
                let playing = now.playing && group.game == now.game;
                views.push(GroupEventView { row, member, group: GroupRow { playing, ..group.clone() } });
            }
        }
    }
    Ok(views)
}

/// Members of a state that was read earlier may have other names since.
fn call_by_their_names(group: &mut GroupRow, now: &GroupRow, rows: &[GroupEventRow]) {
    for member in &mut group.members {
        let left = rows.iter().find_map(|row| match &row.what {
            GroupEvent::Left { member: id, holder, .. } if *id == member.id => Some(holder),
            _ => None,
        });
        let present = now.members.iter().find(|m| m.id == member.id).map(|m| &m.holder);
        if let Some(holder) = left.or(present) {
            member.holder = holder.clone();
        }
    }
}

fn same(a: &Occupant, b: &Occupant) -> bool {
    match (a, b) {
        (Occupant::Person(a), Occupant::Person(b)) => a.id == b.id,
        (Occupant::Computer(a), Occupant::Computer(b)) => a == b,
        _ => false,
    }
}

/// Makes of a group what an event made of it, and tells who came or went; or why the event cannot be.
fn apply(group: &mut GroupRow, row: &GroupEventRow) -> std::result::Result<Option<MemberRow>, String> {
    let expected = group.seq + 1;
    if row.seq != expected {
        return Err(format!("there is event {} where event {expected} belongs", row.seq));
    }
    group.seq = row.seq;
    let impossible = |why: &str| format!("event {} cannot be: {why}", row.seq);
    if matches!(row.what, GroupEvent::Created(..)) != (row.seq == 1) {
        return Err(impossible("a log begins with the making of the group, and with nothing else"));
    }
    let member = match &row.what {
        GroupEvent::Created(settings, host) => {
            group.settings = settings.clone();
            host.clone()
        }
        GroupEvent::Joined(member) => Some(member.clone()),
        GroupEvent::Left { member, holder, heir } => {
            let place = group.members.iter().position(|m| m.id == *member);
            let mut gone = group.members.remove(place.ok_or_else(|| impossible("no such member leaves"))?);
            if !same(&gone.holder, holder) {
                return Err(impossible("somebody else has that place"));
            }
            gone.holder = holder.clone();
            if let Some(heir) = heir {
                let heir = group.members.iter_mut().find(|m| m.id == *heir && m.holder.person().is_some());
                heir.ok_or_else(|| impossible("no such person becomes the host"))?.host = true;
            }
            if group.members.iter().filter(|m| m.host).count() > 1 {
                return Err(impossible("there is a host already"));
            }
            return Ok(Some(gone));
        }
        GroupEvent::Settings(settings) => {
            group.settings = settings.clone();
            None
        }
        GroupEvent::Game(game) => {
            group.game = Some(*game);
            None
        }
    };
    if let Some(member) = &member {
        if group.members.iter().any(|m| m.position >= member.position) {
            return Err(impossible("somebody comes before those who are there already"));
        }
        if group.members.iter().any(|m| m.host && member.host) {
            return Err(impossible("there is a host already"));
        }
        group.members.push(member.clone());
    }
    Ok(member)
}

/// What was found when all groups were replayed.
#[derive(Default)]
pub(super) struct Replayed {
    pub groups: u64,
    pub differences: Vec<(GroupId, String)>,
}

/// Replays all groups.
pub(super) async fn audit_groups(service: &Service) -> Result<Replayed> {
    let mut found = Replayed::default();
    let mut after = None;
    loop {
        // Every batch is one snapshot of the database: groups and their logs belong together.
        let mut tx = service.database.begin().await?;
        store::read_one_snapshot(&mut tx).await?;
        let batch = store::groups_after(&mut tx, after, BATCH).await?;
        let Some(last) = batch.last() else { return Ok(found) };
        after = Some(*last);
        for id in batch {
            found.groups += 1;
            let group = store::group(&mut tx, id).await;
            let log = store::group_events(&mut tx, id, 0, i32::MAX, i64::MAX).await;
            let differences = match (group, log) {
                (Ok(Some(group)), Ok(log)) => compare(&group, &log),
                (Ok(None), Ok(_)) => vec!["it has gone".to_owned()],
                (Err(e @ (sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. })), _)
                | (_, Err(e @ (sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. }))) => {
                    vec![e.to_string()]
                }
                (Err(e), _) | (_, Err(e)) => return Err(e.into()),
            };
            found.differences.extend(differences.into_iter().map(|what| (id, what)));
        }
    }
}

/// What of a group its log does not give.
fn compare(stored: &GroupRow, log: &[GroupEventRow]) -> Vec<String> {
    let mut group = beginning(stored);
    for row in log {
        if let Err(what) = apply(&mut group, row) {
            return vec![what];
        }
    }
    if log.is_empty() {
        return vec!["it has no log".to_owned()];
    }
    let mut found = Vec::new();
    let mut check = |what: &str, stored: String, replayed: String| {
        if stored != replayed {
            found.push(format!("{what}: stored {stored}, replayed {replayed}"));
        }
    };
    check("seq", stored.seq.to_string(), group.seq.to_string());
    check("settings", format!("{:?}", stored.settings), format!("{:?}", group.settings));
    check("game", format!("{:?}", stored.game), format!("{:?}", group.game));
    check("members", members(stored), members(&group));
    found
}

fn members(group: &GroupRow) -> String {
    let who = |holder: &Occupant| match holder {
        Occupant::Person(player) => player.id.to_string(),
        Occupant::Computer(level) => level.to_string(),
    };
    let each = group.members.iter().map(|m| (m.id, m.position, who(&m.holder), m.host));
    format!("{:?}", each.collect::<Vec<_>>())
}
