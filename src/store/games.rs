//! Games and who sits at them: the row that answers everything, and the one statement that changes it.

use sqlx::PgConnection;
use sqlx::types::Json;
use time::OffsetDateTime;
use uuid::Uuid;

use super::events::{EventRow, event_row};
use super::identity::{PlayerKind, PlayerRow};
use super::{Result, corrupt};
use crate::cpu::Level;
use crate::engine::{EndReason, Game, Seat, Snapshot, Variant};
use crate::ids::{GameId, GroupId, PlayerId};
use crate::options::{Asked, Options};

/// Who sits on a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// A person.
    Person(PlayerRow),
    /// A computer player.
    Computer(Level),
}

impl Occupant {
    /// The person, if it is one.
    pub fn person(&self) -> Option<&PlayerRow> {
        match self {
            Self::Person(player) => Some(player),
            Self::Computer(_) => None,
        }
    }

    /// The columns of one row of `table`: a person's, or a computer's level.
    pub(super) fn stored(
        table: &str,
        id: Option<Uuid>,
        name: Option<String>,
        kind: Option<&str>,
        level: Option<&str>,
    ) -> Result<Self> {
        match (id, name, kind, level) {
            (Some(id), Some(name), Some(kind), None) => {
                Ok(Self::Person(PlayerRow { id: id.into(), name, kind: PlayerKind::stored(kind)? }))
            }
            (None, None, None, Some(level)) => {
                level.parse().map(Self::Computer).map_err(|e| corrupt(table, e))
            }
            _ => Err(corrupt(table, "neither a person nor a computer")),
        }
    }
}

/// A seat's rating as everybody in a ranked game is shown it, in whole points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatRating {
    /// Before the game.
    pub before: i16,
    /// After it; `None` until it is rated.
    pub after: Option<i16>,
    /// Whether the newer of the two is provisional.
    pub provisional: bool,
}

/// A game as stored, checked and ready to be played on.
#[derive(Clone, Debug)]
pub struct StoredGame {
    /// Which game.
    pub id: GameId,
    /// The group it belongs to.
    pub group: Option<GroupId>,
    /// Effective local rules.
    pub options: Options,
    /// Makes the computer's choices repeatable.
    pub seed: u64,
    /// The seat that began.
    pub starter: Seat,
    /// Number of events so far.
    pub seq: i32,
    /// The state of play.
    pub game: Game,
    /// Who sits where, by seat.
    pub seats: Vec<Occupant>,
    /// Their ratings, by seat; only in ranked games.
    pub ratings: Vec<Option<SeatRating>>,
    /// The circle before the last move.
    pub board_before: Option<Vec<u8>>,
    /// The event `seq`.
    pub last_event: Option<EventRow>,
    /// Seats whose last turn ran out of time.
    pub run_out: Vec<u8>,
    /// When the present turn runs out; `None` unless it is that of a player who is present, in a game with a limit.
    pub deadline: Option<OffsetDateTime>,
    /// When the game was made.
    pub created_at: OffsetDateTime,
    /// When it ended.
    pub ended_at: Option<OffsetDateTime>,
    /// The database's clock at the time of reading.
    pub now: OffsetDateTime,
    /// Whether its group is private.
    pub private: bool,
    /// Its group is private and the viewer neither a member nor seated: must be shown as if it did not exist.
    pub hidden: bool,
}

/// A game as `viewer` sees it.
pub async fn game(db: &mut PgConnection, id: GameId, viewer: Option<PlayerId>) -> Result<Option<StoredGame>> {
    Ok(games(db, &[id.uuid()], viewer).await?.pop())
}

/// Several games as `viewer` sees them, newest first.
pub(super) async fn games(
    db: &mut PgConnection,
    ids: &[Uuid],
    viewer: Option<PlayerId>,
) -> Result<Vec<StoredGame>> {
    sqlx::query_as!(
        GameRow,
        r#"select g.id, g.group_id, g.variant::text as "variant!", g.players, g.options as "options: Json<Asked>", g.ranked, g.seed,
                  g.starter, g.end_reason::text, g.seq, g.board, g.board_before, g.to_move, g.left_board, g.departed,
                  g.resigned, g.run_out, g.deadline, g.created_at, g.ended_at, clock_timestamp() as "now!",
                  coalesce(pg.private, false) as "private!",
                  coalesce(pg.private, false)
                      and not coalesce($2 = any(s.ids), false)
                      and not coalesce($2 = any(array(select m.player_id from group_member m
                                                      where m.group_id = g.group_id)), false) as "hidden!",
                  s.ids as "player_ids!: Vec<Option<Uuid>>", s.names as "names!: Vec<Option<String>>",
                  s.kinds as "kinds!: Vec<Option<String>>", s.levels as "levels!: Vec<Option<String>>",
                  s.befores as "befores!: Vec<Option<i16>>", s.afters as "afters!: Vec<Option<i16>>",
                  s.provisional as "provisional!: Vec<Option<bool>>",
                  e.at as "event_at?", e.kind::text as "event_kind?", e.seat as "event_seat?", e.pit as "event_pit?",
                  e.by::text as "event_by?"
           from game g
           left join play_group pg on pg.id = g.group_id
           left join game_event e on e.game_id = g.id and e.seq = g.seq
           cross join lateral (
               select array_agg(s.player_id order by s.seat) as ids, array_agg(p.name order by s.seat) as names,
                      array_agg(p.kind order by s.seat) as kinds, array_agg(s.level order by s.seat) as levels,
                      array_agg(s.rating_before order by s.seat) as befores,
                      array_agg(s.rating_after order by s.seat) as afters,
                      array_agg(s.provisional order by s.seat) as provisional
               from seat s left join player p on p.id = s.player_id
               where s.game_id = g.id
           ) s
           where g.id = any($1)
           order by g.id desc"#,
        ids,
        viewer.map(PlayerId::uuid)
    )
    .fetch_all(db)
    .await?
    .into_iter()
    .map(GameRow::checked)
    .collect()
}

struct GameRow {
    id: Uuid,
    group_id: Option<Uuid>,
    variant: String,
    players: i16,
    options: Json<Asked>,
    ranked: bool,
    seed: i64,
    starter: i16,
    end_reason: Option<String>,
    seq: i32,
    board: Vec<i16>,
    board_before: Option<Vec<i16>>,
    to_move: Option<i16>,
    left_board: Vec<i16>,
    departed: Vec<i16>,
    resigned: Vec<i16>,
    run_out: Vec<i16>,
    deadline: Option<OffsetDateTime>,
    created_at: OffsetDateTime,
    ended_at: Option<OffsetDateTime>,
    now: OffsetDateTime,
    private: bool,
    hidden: bool,
    player_ids: Vec<Option<Uuid>>,
    names: Vec<Option<String>>,
    kinds: Vec<Option<String>>,
    levels: Vec<Option<String>>,
    befores: Vec<Option<i16>>,
    afters: Vec<Option<i16>>,
    provisional: Vec<Option<bool>>,
    event_at: Option<OffsetDateTime>,
    event_kind: Option<String>,
    event_seat: Option<i16>,
    event_pit: Option<i16>,
    event_by: Option<String>,
}

impl GameRow {
    fn checked(self) -> Result<StoredGame> {
        let variant: Variant = self.variant.parse().map_err(|e| corrupt("game.variant", e))?;
        let players = u8::try_from(self.players).map_err(|e| corrupt("game.players", e))?;
        let options =
            Options::effective(variant, players, &self.options.0).map_err(|e| corrupt("game.options", e))?;
        let snapshot = Snapshot {
            board: small(&self.board)?,
            to_move: self.to_move.map(|s| small(&[s]).map(|s| s[0])).transpose()?,
            left_board: small(&self.left_board)?,
            departed: small(&self.departed)?,
            resigned: small(&self.resigned)?,
            end: self.end_reason.as_deref().map(end_reason).transpose()?,
        };
        let game = Game::restore(options.rules(), self.ranked, &snapshot).map_err(|e| corrupt("game", e))?;
        let seats = (self.player_ids.into_iter().zip(self.names))
            .zip(self.kinds.into_iter().zip(self.levels))
            .map(|((id, name), (kind, level))| {
                Occupant::stored("seat", id, name, kind.as_deref(), level.as_deref())
            })
            .collect::<Result<Vec<_>>>()?;
        let ratings = self
            .befores
            .into_iter()
            .zip(self.afters)
            .zip(self.provisional)
            .map(|((before, after), provisional)| {
                Some(SeatRating { before: before?, after, provisional: provisional? })
            })
            .collect();
        if seats.len() != usize::from(players) {
            return Err(corrupt("seat", "not one row for each seat"));
        }
        let last_event = match (self.event_at, self.event_kind) {
            (Some(at), Some(kind)) => Some(event_row(
                self.seq,
                at,
                &kind,
                self.event_seat,
                self.event_pit,
                self.event_by.as_deref(),
            )?),
            _ => None,
        };
        Ok(StoredGame {
            id: self.id.into(),
            group: self.group_id.map(GroupId::from),
            options,
            seed: u64::try_from(self.seed).map_err(|e| corrupt("game.seed", e))?,
            starter: small(&[self.starter])
                .ok()
                .and_then(|s| Seat::new(s[0]))
                .ok_or_else(|| corrupt("game.starter", self.starter))?,
            seq: self.seq,
            game,
            seats,
            ratings,
            board_before: self.board_before.as_deref().map(small).transpose()?,
            last_event,
            run_out: small(&self.run_out)?,
            deadline: self.deadline,
            created_at: self.created_at,
            ended_at: self.ended_at,
            now: self.now,
            private: self.private,
            hidden: self.hidden,
        })
    }
}

pub(super) fn end_reason(text: &str) -> Result<EndReason> {
    [EndReason::Played, EndReason::Resigned, EndReason::NoShow, EndReason::Abandoned]
        .into_iter()
        .find(|reason| reason.as_str() == text)
        .ok_or_else(|| corrupt("game.end_reason", text))
}

/// Counts and seats as the engine has them; the column type is the smallest that the database offers.
pub(super) fn small(numbers: &[i16]) -> Result<Vec<u8>> {
    numbers.iter().map(|&n| u8::try_from(n).map_err(|e| corrupt("game", e))).collect()
}

pub(super) fn wide(numbers: &[u8]) -> Vec<i16> {
    numbers.iter().map(|&n| i16::from(n)).collect()
}

/// How many games are running, finished and aborted.
pub async fn games_by_status(db: &mut PgConnection) -> Result<Vec<(String, i64)>> {
    let rows =
        sqlx::query!(r#"select status::text as "status!", count(*) as "count!" from game group by status"#)
            .fetch_all(db)
            .await?;
    Ok(rows.into_iter().map(|r| (r.status, r.count)).collect())
}
