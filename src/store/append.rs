//! The one statement that changes a running game.

use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::due::{Due, Lease};
use super::events::NewEvent;
use super::games::wide;
use super::lists::Status;
use super::{Result, corrupt};
use crate::engine::{EndReason, Game};
use crate::ids::{GameId, PlayerId};

/// What a write adds to a game: its events and the state after them.
pub struct Progress<'a> {
    /// The state after the events.
    pub game: &'a Game,
    /// One event or more.
    pub events: &'a [NewEvent],
    /// The circle before the last move, when one of the events is a move.
    pub board_before: Option<&'a [u8]>,
    /// Seats whose last turn ran out of time.
    pub run_out: &'a [u8],
    /// Whether the turn after the events begins with them.
    pub turn_begins: bool,
    /// The time limit of the turn after the events, in seconds; none for a turn without one.
    pub turn_seconds: Option<Seconds>,
    /// What the events make due.
    pub due: DueChange,
}

/// How what is due in a game changes with its events.
#[derive(Clone, Copy, Debug)]
pub enum DueChange {
    /// The same is due as before.
    Keep,
    /// Nothing is due any more.
    Nothing,
    /// This is due now; the lease is for a computer's turn.
    Now(Due, Seconds, Lease),
}

/// How many seconds after the beginning of the turn something is due.
pub type Seconds = f64;

/// What has to hold, besides the game's `seq`, when the statement begins.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    /// Nothing more.
    Always,
    /// The turn has not run out: its deadline, if it has one, lies at most one second back.
    InTime,
    /// The turn has run out, and a server process was there when it did.
    RunOut,
    /// Nothing has been heard of this player for so many seconds, neither in this turn nor since the last outage.
    Silent(PlayerId, Seconds),
    /// The game's pause has lasted for as long as it may.
    Abandoned,
}

/// What the database added to a write that held.
pub struct Appended {
    /// The time of the new events.
    pub at: OffsetDateTime,
    /// When the present turn runs out.
    pub deadline: Option<OffsetDateTime>,
    /// Whether the group of the game is private.
    pub private: bool,
}

/// The columns of a write.
struct Columns {
    board: Vec<i16>,
    board_before: Option<Vec<i16>>,
    to_move: Option<i16>,
    left_board: Vec<i16>,
    departed: Vec<i16>,
    resigned: Vec<i16>,
    status: &'static str,
    end: Option<&'static str>,
    places: Option<Vec<i16>>,
    run_out: Vec<i16>,
    kinds: Vec<String>,
    seats: Vec<Option<i16>>,
    pits: Vec<Option<i16>>,
    bys: Vec<Option<String>>,
}

/// The statement with one more condition and what it does to `due`: each form is a text of its own, so that a move in
/// the middle of a game pays for none of the others.
macro_rules! append {
    ($db:expr, $id:expr, $seq:expr, $progress:expr, $in_time:expr, $condition:literal, $due:literal $(, $more:expr)*) => {{
        let (progress, columns): (&Progress<'_>, Columns) = ($progress, Columns::of($progress));
        let added = i32::try_from(progress.events.len()).map_err(|e| corrupt("game.seq", e))?;
        let row = sqlx::query!(
            "with g as (
                 update game
                 set seq = seq + $3, board = $4, board_before = coalesce($5, board_before), to_move = $6,
                     left_board = $7, departed = $8, resigned = $9, status = $10::text::game_status,
                     end_reason = $11::text::game_end, places = $12, run_out = $13,
                     turn_began = case when $14 then now() else turn_began end,
                     deadline = case when $15::float8 is null then null
                                     when $14 then now() + make_interval(secs => $15)
                                     else deadline end,
                     ended_at = case when $10::text <> 'running' then now() end
                 where id = $1 and seq = $2 and status = 'running'
                   and (not $16 or coalesce(now() <= deadline + interval '1 second', true))"
                + $condition +
                "returning id, group_id, deadline, turn_began
             ), e as (
                 insert into game_event (game_id, seq, kind, seat, pit, by)
                 select g.id, $2 + e.n, e.kind::event_kind, e.seat, e.pit, e.by::event_by
                 from g, unnest($17::text[], $18::smallint[], $19::smallint[], $20::text[])
                         with ordinality as e (kind, seat, pit, by, n)
             )"
                + $due +
            "select now() as \"at!\", deadline,
                    coalesce((select pg.private from play_group pg where pg.id = g.group_id), false) as \"private!\" from g",
            $id.uuid(),
            $seq,
            added,
            &columns.board,
            columns.board_before.as_deref(),
            columns.to_move,
            &columns.left_board,
            &columns.departed,
            &columns.resigned,
            columns.status,
            columns.end,
            columns.places.as_deref(),
            &columns.run_out,
            progress.turn_begins,
            progress.turn_seconds,
            $in_time,
            &columns.kinds,
            &columns.seats as &[Option<i16>],
            &columns.pits as &[Option<i16>],
            &columns.bys as &[Option<String>]
            $(, $more)*
        )
        .fetch_optional($db)
        .await?;
        Ok(row.map(|row| Appended { at: row.at, deadline: row.deadline, private: row.private }))
    }};
}

/// The same with what is due from now on.
macro_rules! append_due {
    ($db:expr, $id:expr, $seq:expr, $progress:expr, $in_time:expr, $condition:literal $(, $more:expr)*) => {{
        let (kind, seconds, holder, lease) = due_columns($progress.due);
        append!(
            $db, $id, $seq, $progress, $in_time, $condition,
            ", due_now as (
                 insert into due (game_id, kind, at, holder, until)
                 select g.id, $21::text::due_kind, g.turn_began + make_interval(secs => $22), $23,
                        now() + make_interval(secs => $24)
                 from g where $21 is not null
                 on conflict (game_id) do update
                 set kind = excluded.kind, at = excluded.at, holder = excluded.holder, until = excluded.until
             ), due_no_more as (
                 delete from due using g where due.game_id = g.id and $21 is null
             ) ",
            kind, seconds, holder, lease $(, $more)*
        )
    }};
}

/// Writes the events and the state after them if, and only if, the game still stands at `seq` and the condition holds.
/// `None` means that it does not, and that nothing was written.
pub async fn append(
    db: &mut PgConnection,
    id: GameId,
    seq: i32,
    progress: &Progress<'_>,
    condition: Condition,
) -> Result<Option<Appended>> {
    let in_time = matches!(condition, Condition::InTime);
    match (condition, progress.due) {
        (Condition::Always | Condition::InTime, DueChange::Keep) => {
            append!(db, id, seq, progress, in_time, " ", " ")
        }
        (Condition::Always | Condition::InTime, _) => {
            append_due!(db, id, seq, progress, in_time, " ")
        }
        (Condition::RunOut, _) => append_due!(
            db,
            id,
            seq,
            progress,
            in_time,
            " and now() > deadline + interval '1 second'
              and exists (select from heartbeat where single and at > now() - interval '3 seconds') "
        ),
        (Condition::Silent(player, seconds), _) => append_due!(
            db,
            id,
            seq,
            progress,
            in_time,
            " and turn_began < now() - make_interval(secs => $26)
              and exists (select from heartbeat where single and at > now() - interval '3 seconds'
                                                  and resumed_at < now() - make_interval(secs => $26))
              and not exists (select from heard where player_id = $25 and at >= now() - make_interval(secs => $26)) ",
            player.uuid(),
            seconds
        ),
        (Condition::Abandoned, _) => append_due!(
            db,
            id,
            seq,
            progress,
            in_time,
            " and exists (select from due where game_id = $1 and kind = 'abandon' and at < now()) "
        ),
    }
}

fn due_columns(due: DueChange) -> (Option<&'static str>, Option<f64>, Option<Uuid>, Option<f64>) {
    match due {
        DueChange::Now(Due::Computer, seconds, lease) => {
            (Some(Due::Computer.as_str()), Some(seconds), Some(lease.holder), Some(lease.seconds))
        }
        DueChange::Now(due, seconds, _) => (Some(due.as_str()), Some(seconds), None, None),
        DueChange::Keep | DueChange::Nothing => (None, None, None, None),
    }
}

impl Columns {
    fn of(progress: &Progress<'_>) -> Self {
        let snapshot = progress.game.snapshot();
        let places: Option<Vec<i16>> =
            progress.game.places().into_iter().map(|p| p.map(i16::from)).collect::<Option<_>>();
        let events = progress.events;
        Self {
            board: wide(&snapshot.board),
            board_before: progress.board_before.map(wide),
            to_move: snapshot.to_move.map(i16::from),
            left_board: wide(&snapshot.left_board),
            departed: wide(&snapshot.departed),
            resigned: wide(&snapshot.resigned),
            status: Status::of(snapshot.end).as_str(),
            end: snapshot.end.map(EndReason::as_str),
            places: places.filter(|_| snapshot.end.is_some()),
            run_out: wide(progress.run_out),
            kinds: events.iter().map(|e| e.kind.as_str().to_owned()).collect(),
            seats: events.iter().map(|e| e.seat.map(|seat| i16::from(seat.get()))).collect(),
            pits: events.iter().map(|e| e.pit.map(i16::from)).collect(),
            bys: events.iter().map(|e| e.by.map(|by| by.as_str().to_owned())).collect(),
        }
    }
}
