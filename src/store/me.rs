//! What concerns one player, read as it is at one moment: the running games, the ticket, the groups.

use serde::Deserialize;
use sqlx::PgConnection;
use sqlx::types::Json;
use time::OffsetDateTime;
use uuid::Uuid;

use super::games::{end_reason, small};
use super::groups::{GroupRow, GroupSettings, MemberRow};
use super::tickets::TicketColumns;
use super::{Occupant, Result, TicketRow, corrupt};
use crate::engine::{EndReason, Variant};
use crate::ids::{GameId, GroupId, PlayerId, TicketId};
use crate::options::Asked;

/// What somebody who follows a player has been told of already.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Nothing at all: everything that is running is to be found.
    pub nothing: bool,
    /// Games, which are read even when they are over.
    pub games: Vec<Uuid>,
    /// Of games with greater ids than this all are read, even when they are over.
    pub before: Uuid,
    /// The ticket, which is read even when it is closed.
    pub ticket: Option<TicketId>,
    /// Groups, which are read as long as the player is a member.
    pub groups: Vec<Uuid>,
}

/// What concerns a player.
pub struct Concerns {
    /// Games in which the player has a seat.
    pub games: Vec<SeatedGame>,
    /// The one that was told of, and last the open one.
    pub tickets: Vec<TicketRow>,
    /// Groups of which the player is a member.
    pub groups: Vec<GroupRow>,
    /// The database's clock.
    pub now: OffsetDateTime,
}

/// A game as the player at one of its seats looks at it from afar.
#[derive(Clone, Debug)]
pub struct SeatedGame {
    /// Which game.
    pub id: GameId,
    /// Which of the two games.
    pub variant: Variant,
    /// Whether it counts for the ratings.
    pub ranked: bool,
    /// The group that plays it.
    pub group: Option<GroupId>,
    /// Number of events so far.
    pub seq: i32,
    /// The player's seat.
    pub seat: u8,
    /// The seat to move.
    pub to_move: Option<u8>,
    /// Whether that is the player's, who neither has left nor resigned.
    pub own_turn: bool,
    /// When the present turn runs out.
    pub deadline: Option<OffsetDateTime>,
    /// Why it has ended, and the places by seat if it has any.
    pub end: Option<(EndReason, Option<Vec<u8>>)>,
}

/// What concerns a player now, all as it is at one moment, whatever is going on: a single statement.
pub async fn concerns(db: &mut PgConnection, player: PlayerId, known: &Known) -> Result<Concerns> {
    let row = sqlx::query!(
        r#"with seated as (
               (select s.game_id, s.seat from seat s join game g on g.id = s.game_id
                where $2 and s.player_id = $1 and g.status = 'running' order by s.game_id desc limit 100)
               union
               (select s.game_id, s.seat from seat s where s.player_id = $1 and s.game_id > $3
                order by s.game_id desc limit 1000)
               union
               (select s.game_id, s.seat from seat s where s.player_id = $1 and s.game_id = any($4))
           ), member as (
               (select m.group_id from group_member m where m.player_id = $1 order by m.position desc limit 100)
               union
               (select m.group_id from group_member m where m.player_id = $1 and m.group_id = any($6))
           )
           select clock_timestamp() as "now!",
                  coalesce((
                      select jsonb_agg(jsonb_build_object(
                          'id', g.id, 'variant', g.variant, 'ranked', g.ranked, 'group_id', g.group_id, 'seq', g.seq,
                          'seat', s.seat, 'to_move', g.to_move, 'departed', s.seat = any(g.departed),
                          'deadline', g.deadline, 'end_reason', g.end_reason, 'places', g.places) order by g.id desc)
                      from seated s join game g on g.id = s.game_id), '[]') as "games!: Json<Vec<GameColumns>>",
                  coalesce((
                      select jsonb_agg(jsonb_build_object(
                          'id', t.id, 'variant', t.variant, 'players', t.players, 'turn_seconds', t.turn_seconds,
                          'max_gap', t.max_gap, 'with_bots', t.with_bots, 'status', t.status, 'game_id', t.game_id,
                          'waited', extract(epoch from coalesce(t.ended_at, now()) - t.created_at)::float8,
                          'created_at', t.created_at) order by t.open, t.id)
                      from ticket t
                      where t.player_id = $1
                        and t.id in (select o.id from ticket o where o.player_id = $1 and o.open union all select $5)),
                      '[]') as "tickets!: Json<Vec<TicketColumns>>",
                  coalesce((
                      select jsonb_agg(jsonb_build_object(
                          'id', pg.id, 'seq', pg.seq, 'code', pg.code, 'variant', pg.variant, 'options', pg.options,
                          'private', pg.private, 'game_id', pg.game_id, 'playing', coalesce(g.status = 'running', false),
                          'members', (
                              select jsonb_agg(jsonb_build_object(
                                  'id', m.id, 'position', m.position, 'player_id', m.player_id, 'level', m.level,
                                  'host', m.host, 'name', p.name, 'kind', p.kind) order by m.position)
                              from group_member m left join player p on p.id = m.player_id
                              where m.group_id = pg.id)) order by pg.id)
                      from member o join play_group pg on pg.id = o.group_id left join game g on g.id = pg.game_id),
                      '[]') as "groups!: Json<Vec<GroupColumns>>""#,
        player.uuid(),
        known.nothing,
        known.before,
        &known.games,
        known.ticket.map(TicketId::uuid),
        &known.groups
    )
    .fetch_one(db)
    .await?;
    Ok(Concerns {
        games: row.games.0.into_iter().map(GameColumns::row).collect::<Result<_>>()?,
        tickets: row.tickets.0.into_iter().map(TicketColumns::row).collect::<Result<_>>()?,
        groups: row.groups.0.into_iter().map(GroupColumns::row).collect::<Result<_>>()?,
        now: row.now,
    })
}

#[derive(Debug, Deserialize)]
struct GameColumns {
    id: Uuid,
    variant: String,
    ranked: bool,
    group_id: Option<Uuid>,
    seq: i32,
    seat: i16,
    to_move: Option<i16>,
    departed: bool,
    #[serde(with = "time::serde::rfc3339::option")]
    deadline: Option<OffsetDateTime>,
    end_reason: Option<String>,
    places: Option<Vec<i16>>,
}

impl GameColumns {
    fn row(self) -> Result<SeatedGame> {
        let seat = |seat: i16| u8::try_from(seat).map_err(|e| corrupt("seat", e));
        let end = match self.end_reason.as_deref() {
            Some(reason) => Some((end_reason(reason)?, self.places.as_deref().map(small).transpose()?)),
            None => None,
        };
        Ok(SeatedGame {
            id: self.id.into(),
            variant: self.variant.parse().map_err(|e| corrupt("game.variant", e))?,
            ranked: self.ranked,
            group: self.group_id.map(GroupId::from),
            seq: self.seq,
            seat: seat(self.seat)?,
            to_move: self.to_move.map(seat).transpose()?,
            own_turn: self.to_move == Some(self.seat) && !self.departed,
            deadline: self.deadline,
            end,
        })
    }
}

#[derive(Debug, Deserialize)]
struct GroupColumns {
    id: Uuid,
    seq: i32,
    code: String,
    variant: String,
    options: Asked,
    private: bool,
    game_id: Option<Uuid>,
    playing: bool,
    members: Vec<MemberColumns>,
}

#[derive(Debug, Deserialize)]
struct MemberColumns {
    id: Uuid,
    position: i64,
    player_id: Option<Uuid>,
    level: Option<String>,
    host: bool,
    name: Option<String>,
    kind: Option<String>,
}

impl GroupColumns {
    fn row(self) -> Result<GroupRow> {
        let member = |m: MemberColumns| {
            let (kind, level) = (m.kind.as_deref(), m.level.as_deref());
            let holder = Occupant::stored("group_member", m.player_id, m.name, kind, level)?;
            Ok(MemberRow { id: m.id.into(), position: m.position, holder, host: m.host })
        };
        Ok(GroupRow {
            id: self.id.into(),
            code: self.code,
            seq: self.seq,
            settings: GroupSettings {
                variant: self.variant.parse().map_err(|e| corrupt("play_group.variant", e))?,
                options: self.options,
                private: self.private,
            },
            game: self.game_id.map(GameId::from),
            playing: self.playing,
            members: self.members.into_iter().map(member).collect::<Result<_>>()?,
        })
    }
}
