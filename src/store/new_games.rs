//! How games come about: a new one, and the one after it with the same people.

use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::append::Seconds;
use super::due::{Due, Lease};
use super::games::{Occupant, SeatRating, wide};
use super::{Result, corrupt};
use crate::engine::{Game, Seat};
use crate::ids::{GameId, GroupId};
use crate::options::Options;

/// A game about to be made.
pub struct NewGame<'a> {
    /// Its id.
    pub id: GameId,
    /// Its group.
    pub group: Option<GroupId>,
    /// The game that it is the rematch of.
    pub rematch_of: Option<GameId>,
    /// Effective local rules.
    pub options: &'a Options,
    /// Makes the computer's choices repeatable; below 2^53.
    pub seed: u64,
    /// The first position.
    pub game: &'a Game,
    /// The seat that begins.
    pub starter: Seat,
    /// Who sits where, with each one's place in the group's order of joining.
    pub seats: &'a [(Occupant, Option<i64>)],
    /// Ratings by seat, in a ranked game; else empty.
    pub ratings: &'a [SeatRating],
    /// The time limit of the first turn, in seconds; none for a turn without one.
    pub turn_seconds: Option<u32>,
    /// What is due in it: what, and how many seconds after its beginning.
    pub due: Option<(Due, Seconds)>,
    /// For a computer that has the first turn.
    pub lease: Lease,
}

/// Makes a game and its seats.
pub async fn insert_game(db: &mut PgConnection, new: &NewGame<'_>) -> Result<()> {
    let snapshot = new.game.snapshot();
    let rules = new.options.rules();
    sqlx::query!(
        "insert into game (id, group_id, rematch_of, variant, players, options, ranked, seed, starter, board, to_move,
                           deadline)
         values ($1, $2, $3, $4::text::variant, $5, $6, $7, $8, $9, $10, $11, now() + make_interval(secs => $12))",
        new.id.uuid(),
        new.group.map(GroupId::uuid),
        new.rematch_of.map(GameId::uuid),
        rules.variant().as_str(),
        i16::from(rules.players()),
        Json(new.options.stored()) as _,
        new.game.ranked(),
        i64::try_from(new.seed).map_err(|e| corrupt("game.seed", e))?,
        i16::from(new.starter.get()),
        &wide(&snapshot.board),
        snapshot.to_move.map(i16::from),
        new.turn_seconds.map(f64::from)
    )
    .execute(&mut *db)
    .await?;
    if let Some((due, seconds)) = new.due {
        let lease = (due == Due::Computer).then_some(new.lease);
        sqlx::query!(
            "insert into due (game_id, kind, at, holder, until)
             values ($1, $2::text::due_kind, now() + make_interval(secs => $3), $4, now() + make_interval(secs => $5))",
            new.id.uuid(),
            due.as_str(),
            seconds,
            lease.map(|lease| lease.holder),
            lease.map(|lease| lease.seconds)
        )
        .execute(&mut *db)
        .await?;
    }
    let (mut numbers, mut players, mut levels, mut members) = (vec![], vec![], vec![], vec![]);
    for (number, (occupant, member)) in (0_i16..).zip(new.seats) {
        numbers.push(number);
        members.push(*member);
        let (player, level) = match occupant {
            Occupant::Person(player) => (Some(player.id.uuid()), None),
            Occupant::Computer(level) => (None, Some(level.to_string())),
        };
        players.push(player);
        levels.push(level);
    }
    let ratings: Vec<i16> = new.ratings.iter().map(|rating| rating.before).collect();
    let provisional: Vec<bool> = new.ratings.iter().map(|rating| rating.provisional).collect();
    sqlx::query!(
        "insert into seat (game_id, seat, player_id, level, member_position, rating_before, provisional)
         select $1, * from unnest($2::smallint[], $3::uuid[], $4::text[], $5::bigint[], $6::smallint[], $7::boolean[])",
        new.id.uuid(),
        &numbers,
        &players as &[Option<Uuid>],
        &levels as &[Option<String>],
        &members as &[Option<i64>],
        &ratings,
        &provisional
    )
    .execute(db)
    .await?;
    Ok(())
}

/// A finished game's rematch, as its players see it.
pub struct RematchRow {
    /// Persons' seats that agree.
    pub agreed: Vec<i16>,
    /// The game that followed, if one did.
    pub next: Option<GameId>,
    /// Each seat's place in the group's order of joining.
    pub members: Vec<Option<i64>>,
}

/// Locks a game, says for `seat` that it wants a rematch, and tells who does.
pub async fn offer_rematch(db: &mut PgConnection, id: GameId, seat: Seat) -> Result<RematchRow> {
    sqlx::query!("select id from game where id = $1 for update", id.uuid()).fetch_one(&mut *db).await?;
    sqlx::query!(
        "update seat set wants_rematch = true where game_id = $1 and seat = $2",
        id.uuid(),
        i16::from(seat.get())
    )
    .execute(&mut *db)
    .await?;
    let row = sqlx::query!(
        r#"select coalesce(array_agg(seat order by seat) filter (where wants_rematch), '{}') as "agreed!",
                  array_agg(member_position order by seat) as "members!: Vec<Option<i64>>",
                  (select id from game where rematch_of = $1) as next
           from seat where game_id = $1"#,
        id.uuid()
    )
    .fetch_one(db)
    .await?;
    Ok(RematchRow { agreed: row.agreed, next: row.next.map(GameId::from), members: row.members })
}

/// The seat that began a game, and its place in the group's order of joining.
pub async fn starter(db: &mut PgConnection, id: GameId) -> Result<(usize, Option<i64>)> {
    let row = sqlx::query!(
        "select g.starter, s.member_position from game g join seat s on s.game_id = g.id and s.seat = g.starter
         where g.id = $1",
        id.uuid()
    )
    .fetch_one(db)
    .await?;
    let seat = usize::try_from(row.starter).map_err(|e| corrupt("game.starter", e))?;
    Ok((seat, row.member_position))
}
