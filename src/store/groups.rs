//! Groups and their members.

use sqlx::PgConnection;
use sqlx::types::Json;

use super::{Result, corrupt};
use crate::cpu::Level;
use crate::engine::Variant;
use crate::ids::{GameId, GroupId, MemberId, PlayerId};
use crate::options::Asked;
use crate::store::Occupant;

/// A group with its members in the order of joining.
#[derive(Clone, Debug)]
pub struct GroupRow {
    /// Which group.
    pub id: GroupId,
    /// By which others join.
    pub code: String,
    /// What it plays.
    pub variant: Variant,
    /// Local rules as asked for.
    pub options: Asked,
    /// Whether only members see it and its games.
    pub private: bool,
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

/// Makes a group without members.
pub async fn insert_group(
    db: &mut PgConnection,
    id: GroupId,
    code: &str,
    variant: Variant,
    options: &Asked,
    private: bool,
) -> Result<()> {
    sqlx::query!(
        "insert into play_group (id, code, variant, options, private) values ($1, $2, $3::text::variant, $4, $5)",
        id.uuid(),
        code,
        variant.as_str(),
        Json(options) as _,
        private
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

/// A group by id.
pub async fn group(db: &mut PgConnection, id: GroupId) -> Result<Option<GroupRow>> {
    let row = sqlx::query!(
        r#"select pg.code, pg.variant::text as "variant!", pg.options as "options: Json<Asked>", pg.private, pg.game_id,
                  coalesce(g.status = 'running', false) as "playing!"
           from play_group pg left join game g on g.id = pg.game_id where pg.id = $1"#,
        id.uuid()
    )
    .fetch_optional(&mut *db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let members = sqlx::query!(
        r#"select m.id, m.position, m.player_id, m.level, m.host, p.name as "name?", p.kind as "kind?"
           from group_member m left join player p on p.id = m.player_id where m.group_id = $1 order by m.position"#,
        id.uuid()
    )
    .fetch_all(db)
    .await?
    .into_iter()
    .map(|m| {
        let (kind, level) = (m.kind.as_deref(), m.level.as_deref());
        let holder = Occupant::stored("group_member", m.player_id, m.name, kind, level)?;
        Ok(MemberRow { id: m.id.into(), position: m.position, holder, host: m.host })
    })
    .collect::<Result<Vec<_>>>()?;
    Ok(Some(GroupRow {
        id,
        code: row.code,
        variant: row.variant.parse().map_err(|e| corrupt("play_group.variant", e))?,
        options: row.options.0,
        private: row.private,
        game: row.game_id.map(GameId::from),
        playing: row.playing,
        members,
    }))
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
        "insert into group_member (id, group_id, player_id, level, host) values ($1, $2, $3, $4, $5)",
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

/// Removes a member.
pub async fn remove_member(db: &mut PgConnection, id: MemberId) -> Result<()> {
    sqlx::query!("delete from group_member where id = $1", id.uuid()).execute(db).await?;
    Ok(())
}

/// Makes a member the host of a group that has none.
pub async fn make_host(db: &mut PgConnection, id: MemberId) -> Result<()> {
    sqlx::query!("update group_member set host = true where id = $1", id.uuid()).execute(db).await?;
    Ok(())
}

/// Changes what a group plays and who sees it.
pub async fn update_group(
    db: &mut PgConnection,
    id: GroupId,
    variant: Variant,
    options: &Asked,
    private: bool,
) -> Result<()> {
    sqlx::query!(
        "update play_group set variant = $2::text::variant, options = $3, private = $4 where id = $1",
        id.uuid(),
        variant.as_str(),
        Json(options) as _,
        private
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Makes `game` the group's running game.
pub async fn set_game(db: &mut PgConnection, id: GroupId, game: GameId) -> Result<()> {
    sqlx::query!("update play_group set game_id = $2 where id = $1", id.uuid(), game.uuid())
        .execute(db)
        .await?;
    Ok(())
}
