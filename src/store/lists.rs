//! Lists of games, newest first, by keyset.

use sqlx::PgConnection;

use super::games::{StoredGame, games};
use super::{Result, corrupt};
use crate::engine::{EndReason, Variant};
use crate::ids::{GameId, PlayerId};

/// Which games a list shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct GameFilter {
    /// Of this variant.
    pub variant: Option<Variant>,
    /// That stand so.
    pub status: Option<Status>,
    /// In which this player has a seat.
    pub player: Option<PlayerId>,
    /// Older than this game.
    pub before: Option<GameId>,
}

/// Where a game stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Somebody is to move.
    Running,
    /// Over, with places.
    Finished,
    /// Over without a result.
    Aborted,
}

impl Status {
    /// As stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Aborted => "aborted",
        }
    }

    /// Of a game that has ended so.
    pub fn of(end: Option<EndReason>) -> Self {
        match end {
            None => Self::Running,
            Some(EndReason::Played | EndReason::Resigned) => Self::Finished,
            Some(EndReason::NoShow | EndReason::Abandoned) => Self::Aborted,
        }
    }
}

/// Games on one page of a list.
const PAGE: usize = 20;

/// A page of a list of games.
pub struct GamePage {
    /// Newest first.
    pub games: Vec<StoredGame>,
    /// The last game of this page, when there are older ones.
    pub next: Option<GameId>,
}

/// One list query: the same conditions over the rows of `$from` where `$also`, in the order of `$id`, each with the index
/// that fits it. One plan for all of them would read every game to find the few of one player; and the limit has to
/// stand in the text, since a plan made without knowing it expects a large part of all games.
macro_rules! list {
    ($from:literal, $id:literal, $also:literal, $db:expr, $filter:expr, $viewer:expr) => {
        sqlx::query_scalar!(
            "select g.id from " + $from + " left join play_group pg on pg.id = g.group_id where " + $also +
            " and " + $id + " < coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
              and ($1::text is null or g.variant = $1::text::variant)
              and ($2::text is null or g.status = $2::text::game_status)
              and (pg.private is not true
                   or coalesce($4 = any(array(select m.player_id from group_member m where m.group_id = g.group_id)), false)
                   or coalesce($4 = any(array(select v.player_id from seat v where v.game_id = g.id)), false))
            order by " + $id + " desc limit 21",
            $filter.variant.map(Variant::as_str),
            $filter.status.map(Status::as_str),
            $filter.before.map(GameId::uuid),
            $viewer.map(PlayerId::uuid),
            $filter.player.map(PlayerId::uuid)
        )
        .fetch_all($db)
        .await?
    };
}

/// A page of games that `viewer` may see, newest first.
pub async fn list_games(
    db: &mut PgConnection,
    filter: GameFilter,
    viewer: Option<PlayerId>,
) -> Result<GamePage> {
    let mut ids = match (filter.player, filter.status) {
        (Some(_), _) => {
            list!(
                "seat s join game g on g.id = s.game_id",
                "s.game_id",
                "s.player_id = $5",
                &mut *db,
                filter,
                viewer
            )
        }
        (None, Some(Status::Running)) => {
            list!("game g", "g.id", "g.status = 'running' and $5::uuid is null", &mut *db, filter, viewer)
        }
        (None, Some(Status::Aborted)) => {
            list!("game g", "g.id", "g.status = 'aborted' and $5::uuid is null", &mut *db, filter, viewer)
        }
        (None, _) => list!("game g", "g.id", "$5::uuid is null", &mut *db, filter, viewer),
    };
    let more = ids.len() > PAGE;
    ids.truncate(PAGE);
    let next = ids.last().filter(|_| more).map(|id| GameId::from(*id));
    // A group may have become private since.
    let games = games(db, &ids, viewer).await?.into_iter().filter(|game| !game.hidden).collect();
    Ok(GamePage { games, next })
}

/// What the audit compares with a replay of the log.
pub struct Stored {
    /// The game as its row says, if the row can be read at all.
    pub game: std::result::Result<StoredGame, sqlx::Error>,
    /// The places by seat, when it has finished.
    pub places: Option<Vec<i16>>,
    /// Where it stands, by which it is listed.
    pub status: String,
    /// What is due, by which workers find it.
    pub due: Option<String>,
    /// Whether that is noted later than it can be: workers would find it too late.
    pub due_too_late: bool,
    /// Whether the present turn has a deadline.
    pub limited: bool,
    /// The numbers of its seats.
    pub seats: Vec<i16>,
    /// Which game.
    pub id: GameId,
}

/// Up to `limit` games after `after` in the order of their making.
pub async fn all_games(db: &mut PgConnection, after: Option<GameId>, limit: i64) -> Result<Vec<Stored>> {
    let rows = sqlx::query!(
        r#"select id, places, status::text as "status!", d.kind::text as "due?",
                  coalesce(case d.kind when 'computer' then d.at > turn_began
                                       when 'clock' then d.at > deadline + interval '1 second'
                                       when 'abandon' then d.at > turn_began + interval '30 days' end, false) as "due_too_late!",
                  deadline is not null as "limited!",
                  array(select s.seat from seat s where s.game_id = game.id order by s.seat) as "seats!"
           from game left join due d on d.game_id = id
           where id > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000') order by id limit $2"#,
        after.map(GameId::uuid),
        limit
    )
    .fetch_all(&mut *db)
    .await?;
    let mut stored = Vec::with_capacity(rows.len());
    for row in rows {
        // One by one: a row that cannot be read is a finding about that game, not the end of the audit.
        let game = match games(db, &[row.id], None).await {
            Ok(mut found) => found.pop().ok_or(sqlx::Error::RowNotFound),
            Err(sqlx::Error::Decode(why)) => Err(corrupt("row", why)),
            Err(other) => return Err(other),
        };
        stored.push(Stored {
            game,
            places: row.places,
            status: row.status,
            due: row.due,
            due_too_late: row.due_too_late,
            limited: row.limited,
            seats: row.seats,
            id: row.id.into(),
        });
    }
    Ok(stored)
}

/// Games of which there are events, or something is due, but no row.
pub async fn games_that_are_gone(db: &mut PgConnection) -> Result<Vec<GameId>> {
    let ids = sqlx::query_scalar!(
        r#"select distinct game_id as "game_id!" from (select game_id from game_event union all select game_id from due) e
           where not exists (select from game g where g.id = e.game_id)"#
    )
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(GameId::from).collect())
}

/// Lets the transaction that has just begun see one state of the database from now on, and take its time.
pub async fn read_one_snapshot(db: &mut PgConnection) -> Result<()> {
    sqlx::query!("set transaction isolation level repeatable read, read only").execute(&mut *db).await?;
    sqlx::query!("set local statement_timeout = 0").execute(db).await?;
    Ok(())
}

/// The ranked games that a player is playing.
pub async fn running_ranked_games(db: &mut PgConnection, player: PlayerId) -> Result<Vec<StoredGame>> {
    let ids = sqlx::query_scalar!(
        "select s.game_id from seat s join game g on g.id = s.game_id
         where s.player_id = $1 and g.ranked and g.status = 'running'",
        player.uuid()
    )
    .fetch_all(&mut *db)
    .await?;
    if ids.is_empty() { Ok(Vec::new()) } else { games(db, &ids, Some(player)).await }
}
