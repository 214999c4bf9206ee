//! Groups and their members. Whatever changes them adds the event that says so (`super::group_log`) in the same statement.

use sqlx::PgConnection;
use sqlx::types::Json;

use super::{Result, corrupt};
use crate::cpu::Level;
use crate::engine::Variant;
use crate::ids::{GameId, GroupId, MemberId, PlayerId};
use crate::options::Asked;
use crate::store::Occupant;

/// What the host of a group decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// What it plays.
    pub variant: Variant,
    /// Local rules as asked for.
    pub options: Asked,
    /// Whether only members see it and its games.
    pub private: bool,
}

/// A group with its members in the order of joining.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRow {
    /// Which group.
    pub id: GroupId,
    /// The number of events in its log.
    pub seq: i32,
    /// By which others join.
    pub code: String,
    /// What its host has decided.
    pub settings: GroupSettings,
    /// The running or last game.
    pub game: Option<GameId>,
    /// Whether that game is running.
    pub playing: bool,
    /// Members in the order of joining.
    pub members: Vec<MemberRow>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRow {
    /// Which place in the group.
    pub id: MemberId,
    /// Its rank in the order of joining.
    pub position: i64,
    /// The person or computer that holds it.
    pub holder: Occupant,
    /// Whether it decides for the group.
    pub host: bool,
}

impl GroupRow {
    /// The member that is this player.
    pub fn member(&self, player: PlayerId) -> Option<&MemberRow> {
        self.members.iter().find(|m| m.holder.person().is_some_and(|p| p.id == player))
    }
}

/// Makes a group with its first member, who is its host.
pub async fn insert_group(
    db: &mut PgConnection,
    id: GroupId,
    code: &str,
    settings: &GroupSettings,
    host: PlayerId,
) -> Result<()> {
    sqlx::query!(
        "with made as (
             insert into play_group (id, code, variant, options, private, seq)
             values ($1, $2, $3::text::variant, $4, $5, 1) returning *),
         first as (
             insert into group_member (id, group_id, player_id, host) values ($6, $1, $7, true) returning *)
         insert into group_event (group_id, seq, kind, member_id, position, player_id, host_id, settings)
         select made.id, made.seq, 'created', first.id, first.position, first.player_id, first.id,
                jsonb_build_object('variant', made.variant, 'options', made.options, 'private', made.private)
         from made, first",
        id.uuid(),
        code,
        settings.variant.as_str(),
        Json(&settings.options) as _,
        settings.private,
        MemberId::new().uuid(),
        host.uuid()
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The id of the group with this code.
pub async fn group_of_code(db: &mut PgConnection, code: &str) -> Result<Option<GroupId>> {
    let id =
        sqlx::query_scalar!("select id from play_group where code = $1", code).fetch_optional(db).await?;
    Ok(id.map(GroupId::from))
}

/// Locks a group, so that changes of one group take turns.
pub async fn lock_group(db: &mut PgConnection, id: GroupId) -> Result<()> {
    sqlx::query_scalar!("select id from play_group where id = $1 for update", id.uuid())
        .fetch_optional(db)
        .await?;
    Ok(())
}

/// A group by id: one statement, so that its members and its `seq` belong together.
pub async fn group(db: &mut PgConnection, id: GroupId) -> Result<Option<GroupRow>> {
    let rows = sqlx::query!(
        r#"select pg.seq, pg.code, pg.variant::text as "variant!", pg.options as "options: Json<Asked>", pg.private,
                  pg.game_id, coalesce(g.status = 'running', false) as "playing!", m.id as "member?",
                  m.position as "position?", m.player_id as "player_id?", m.level as "level?", m.host as "host?",
                  p.name as "name?", p.kind as "kind?"
           from play_group pg left join game g on g.id = pg.game_id left join group_member m on m.group_id = pg.id
                left join player p on p.id = m.player_id
           where pg.id = $1 order by m.position"#,
        id.uuid()
    )
    .fetch_all(db)
    .await?;
    let mut group: Option<GroupRow> = None;
    for row in rows {
        let group = match &mut group {
            Some(group) => group,
            none => none.insert(GroupRow {
                id,
                seq: row.seq,
                code: row.code,
                settings: GroupSettings {
                    variant: row.variant.parse().map_err(|e| corrupt("play_group.variant", e))?,
                    options: row.options.0,
                    private: row.private,
                },
                game: row.game_id.map(GameId::from),
                playing: row.playing,
                members: Vec::new(),
            }),
        };
        if let (Some(member), Some(position), Some(host)) = (row.member, row.position, row.host) {
            let (kind, level) = (row.kind.as_deref(), row.level.as_deref());
            let holder = Occupant::stored("group_member", row.player_id, row.name, kind, level)?;
            group.members.push(MemberRow { id: member.into(), position, holder, host });
        }
    }
    Ok(group)
}

/// Who is to become a member.
#[derive(Clone, Copy, Debug)]
pub enum Holder {
    /// A person.
    Person(PlayerId),
    /// A computer player.
    Computer(Level),
}

/// Adds a member.
pub async fn add_member(db: &mut PgConnection, group: GroupId, holder: Holder, host: bool) -> Result<()> {
    let (player, level) = match holder {
        Holder::Person(id) => (Some(id.uuid()), None),
        Holder::Computer(level) => (None, Some(level.as_str())),
    };
    sqlx::query!(
        "with new as (
             insert into group_member (id, group_id, player_id, level, host) values ($1, $2, $3, $4, $5) returning *),
         changed as (
             update play_group g set seq = g.seq + 1 from new where g.id = new.group_id returning g.seq)
         insert into group_event (group_id, seq, kind, member_id, position, player_id, level, host_id)
         select new.group_id, changed.seq, 'joined', new.id, new.position, new.player_id, new.level,
                case when new.host then new.id end
         from new, changed",
        MemberId::new().uuid(),
        group.uuid(),
        player,
        level,
        host
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Removes a member; `heir` becomes the host in the member's place.
pub async fn remove_member(db: &mut PgConnection, id: MemberId, heir: Option<MemberId>) -> Result<()> {
    let heir = heir.map(MemberId::uuid);
    sqlx::query!(
        "with old as (delete from group_member where id = $1 returning *),
         changed as (
             update play_group g set seq = g.seq + 1 from old where g.id = old.group_id returning g.seq)
         insert into group_event (group_id, seq, kind, member_id, position, player_id, level, host_id)
         select old.group_id, changed.seq, 'left', old.id, old.position, old.player_id, old.level, $2
         from old, changed",
        id.uuid(),
        heir
    )
    .execute(&mut *db)
    .await?;
    // After that: a group has one host at a time.
    sqlx::query!("update group_member set host = true where id = $1", heir).execute(db).await?;
    Ok(())
}

/// Changes what a group plays and who sees it.
pub async fn update_group(db: &mut PgConnection, id: GroupId, settings: &GroupSettings) -> Result<()> {
    sqlx::query!(
        "with changed as (
             update play_group set variant = $2::text::variant, options = $3, private = $4, seq = seq + 1
             where id = $1 returning *)
         insert into group_event (group_id, seq, kind, settings)
         select id, seq, 'settings', jsonb_build_object('variant', variant, 'options', options, 'private', private)
         from changed",
        id.uuid(),
        settings.variant.as_str(),
        Json(&settings.options) as _,
        settings.private
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Makes `game` the group's running game.
pub async fn set_game(db: &mut PgConnection, id: GroupId, game: GameId) -> Result<()> {
    sqlx::query!(
        "with changed as (update play_group set game_id = $2, seq = seq + 1 where id = $1 returning *)
         insert into group_event (group_id, seq, kind, game_id) select id, seq, 'game', game_id from changed",
        id.uuid(),
        game.uuid()
    )
    .execute(db)
    .await?;
    Ok(())
}
