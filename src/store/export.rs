//! Everything that is stored about one player, page by page, as the JSON lines in which it is handed out: here rather than
//! in types of their own, because nothing else ever reads it this way. Columns are named one by one, so that a secret
//! that is added to a table does not come along.

use sqlx::PgConnection;
use uuid::Uuid;

use super::Result;
use crate::ids::{PlayerId, SessionId};

/// How many lines are read at a time.
pub const EXPORT_PAGE: i64 = 200;

/// A kind of thing that is stored about a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The player, with when they were last heard of.
    Player,
    /// The credentials, without anything that signs in.
    Account,
    /// Devices that are or were signed in.
    Sessions,
    /// Tokens for programs, without the tokens.
    PersonalTokens,
    /// Whom the player has blocked.
    Blocks,
    /// Standings in the pools.
    Ratings,
    /// What rated games changed about them.
    RatingChanges,
    /// What seasons changed about them.
    SeasonChanges,
    /// Whom the player has met in rated games.
    Opponents,
    /// Ranked games that began without the player.
    NoShows,
    /// Wishes for ranked games.
    Tickets,
    /// Groups of which the player is a member.
    Groups,
    /// How the player came to groups, and left them.
    GroupEvents,
    /// Games, and the seat in each.
    Games,
    /// What the player, or somebody in the player's place, did in them.
    Events,
}

impl Part {
    /// All of them, in the order in which they are handed out.
    pub const ALL: [Self; 15] = [
        Self::Player,
        Self::Account,
        Self::Sessions,
        Self::PersonalTokens,
        Self::Blocks,
        Self::Ratings,
        Self::RatingChanges,
        Self::SeasonChanges,
        Self::Opponents,
        Self::NoShows,
        Self::Tickets,
        Self::Groups,
        Self::GroupEvents,
        Self::Games,
        Self::Events,
    ];
}

/// The last line of a page, by what its part is ordered by.
#[derive(Clone, Debug)]
pub struct Mark {
    pool: String,
    id: Uuid,
    number: i32,
}

impl Default for Mark {
    fn default() -> Self {
        // Before the first pool, the first id and the first number.
        Self { pool: "kalah-2".to_owned(), id: Uuid::nil(), number: i32::MIN }
    }
}

/// A line, and where the next page begins if it is the last.
#[derive(Clone, Debug)]
pub struct Line {
    /// A JSON object.
    pub json: String,
    /// See [`export_page`].
    pub mark: Mark,
}

struct Row {
    json: String,
    pool: Option<String>,
    id: Option<Uuid>,
    number: Option<i32>,
}

impl From<Row> for Line {
    fn from(row: Row) -> Self {
        let first = Mark::default();
        let (pool, id) = (row.pool.unwrap_or(first.pool), row.id.unwrap_or(first.id));
        Self { json: row.json, mark: Mark { pool, id, number: row.number.unwrap_or(first.number) } }
    }
}

/// The lines of a part after this mark: a page of them, in an order that does not change, or fewer at the end.
pub async fn export_page(
    db: &mut PgConnection,
    player: PlayerId,
    part: Part,
    after: &Mark,
) -> Result<Vec<Line>> {
    macro_rules! page {
        ($sql:literal $(, $argument:expr)*) => {
            sqlx::query_as!(Row, $sql, player.uuid() $(, $argument)*).fetch_all(db).await?
        };
    }
    let rows = match part {
        Part::Player => page!(
            r#"select json_build_object('type', 'player', 'id', p.id, 'kind', p.kind, 'name', p.name, 'created_at', p.created_at,
                          'preferences', p.preferences, 'heard_at', h.at)::text as "json!",
                      null as pool, p.id as "id?", null::integer as number
               from player p left join heard h on h.player_id = p.id where p.id = $1 and p.id > $2"#,
            after.id
        ),
        Part::Account => page!(
            r#"select json_build_object('type', 'account', 'username', username, 'canonical', canonical,
                          'created_at', created_at, 'password_changed_at', password_changed_at,
                          'recovery_codes', (select count(*) from recovery_code where player_id = $1))::text as "json!",
                      null as pool, player_id as "id?", null::integer as number
               from account where player_id = $1 and player_id > $2"#,
            after.id
        ),
        Part::Sessions => page!(
            r#"with own as materialized (select * from session where player_id = $1)
               select json_build_object('type', 'session', 'id', id, 'label', label, 'created_at', created_at,
                          'last_used_at', last_used_at, 'revoked_at', revoked_at)::text as "json!",
                      null as pool, id as "id?", null::integer as number
               from own where id > $2 order by id limit $3"#,
            after.id,
            EXPORT_PAGE
        ),
        Part::PersonalTokens => page!(
            r#"with own as materialized (select * from personal_token where player_id = $1)
               select json_build_object('type', 'personal_token', 'id', id, 'name', name, 'scopes', scopes,
                          'created_at', created_at, 'last_used_at', last_used_at, 'expires_at', expires_at)::text as "json!",
                      null as pool, id as "id?", null::integer as number
               from own where id > $2 order by id limit $3"#,
            after.id,
            EXPORT_PAGE
        ),
        Part::Blocks => page!(
            r#"select json_build_object('type', 'block', 'player_id', blocked_id, 'created_at', created_at)::text as "json!",
                      null as pool, blocked_id as "id?", null::integer as number
               from block where player_id = $1 and blocked_id > $2 order by blocked_id limit $3"#,
            after.id,
            EXPORT_PAGE
        ),
        Part::Ratings => page!(
            r#"select json_build_object('type', 'rating', 'pool', pool, 'rating', rating, 'deviation', deviation,
                          'rated_at', rated_at, 'changes', changes, 'games', games, 'opponents', opponents,
                          'start_balance', start_balance, 'listed_until', listed_until)::text as "json!",
                      pool::text, null::uuid as id, 0 as number
               from rating where player_id = $1 and (pool, 0) > ($2::text::pool, $3) order by pool limit $4"#,
            after.pool,
            after.number,
            EXPORT_PAGE
        ),
        Part::RatingChanges => page!(
            r#"select json_build_object('type', 'rating_change', 'game_id', game_id, 'pool', pool, 'number', number,
                          'seat', seat, 'place', place, 'players', players, 'at', at, 'rating_before', rating_before,
                          'deviation_before', deviation_before, 'rating_after', rating_after,
                          'deviation_after', deviation_after, 'expected', expected, 'formula', formula)::text as "json!",
                      pool::text, null::uuid as id, number as "number?"
               from rating_change where player_id = $1 and (pool, number) > ($2::text::pool, $3)
               order by pool, number limit $4"#,
            after.pool,
            after.number,
            EXPORT_PAGE
        ),
        Part::SeasonChanges => page!(
            r#"select json_build_object('type', 'season_change', 'pool', pool, 'month', month, 'number', number,
                          'rating_before', rating_before, 'rating_after', rating_after)::text as "json!",
                      pool::text, null::uuid as id, number as "number?"
               from season_change where player_id = $1 and (pool, number) > ($2::text::pool, $3)
               order by pool, number limit $4"#,
            after.pool,
            after.number,
            EXPORT_PAGE
        ),
        Part::Opponents => page!(
            r#"select json_build_object('type', 'opponent', 'pool', pool, 'player_id', opponent_id, 'games', games,
                          'won', won, 'tied', tied)::text as "json!",
                      pool::text, opponent_id as "id?", null::integer as number
               from opponent where player_id = $1 and (pool, opponent_id) > ($2::text::pool, $3)
               order by pool, opponent_id limit $4"#,
            after.pool,
            after.id,
            EXPORT_PAGE
        ),
        Part::NoShows => page!(
            r#"with own as materialized (select * from no_show where player_id = $1)
               select json_build_object('type', 'no_show', 'game_id', game_id, 'at', at, 'until', until)::text as "json!",
                      null as pool, game_id as "id?", null::integer as number
               from own where game_id > $2 order by game_id limit $3"#,
            after.id,
            EXPORT_PAGE
        ),
        Part::Tickets => page!(
            r#"select json_build_object('type', 'ticket', 'id', id, 'variant', variant, 'players', players,
                          'turn_seconds', turn_seconds, 'max_gap', max_gap, 'with_bots', with_bots, 'status', status,
                          'game_id', game_id, 'open', open, 'created_at', created_at, 'ended_at', ended_at)::text as "json!",
                      null as pool, id as "id?", null::integer as number
               from ticket where player_id = $1 and id > $2 order by id limit $3"#,
            after.id,
            EXPORT_PAGE
        ),
        Part::Groups => page!(
            r#"with own as materialized (
                   select m.id as member_id, m.position, m.host, g.*
                   from group_member m join play_group g on g.id = m.group_id where m.player_id = $1)
               select json_build_object('type', 'group', 'id', id, 'code', code, 'variant', variant, 'options', options,
                          'private', private, 'game_id', game_id, 'created_at', created_at, 'member_id', member_id,
                          'position', position, 'host', host)::text as "json!",
                      null as pool, id as "id?", null::integer as number
               from own where id > $2 order by id limit $3"#,
            after.id,
            EXPORT_PAGE
        ),
        Part::GroupEvents => page!(
            r#"select json_build_object('type', 'group_event', 'group_id', group_id, 'seq', seq, 'at', at, 'kind', kind,
                          'member_id', member_id, 'position', position, 'host_id', host_id, 'settings', settings)::text as "json!",
                      null as pool, group_id as "id?", seq as "number?"
               from group_event
               where player_id = $1 and group_id >= $2 and (group_id, seq) > ($2, $3) order by group_id, seq limit $4"#,
            after.id,
            after.number,
            EXPORT_PAGE
        ),
        Part::Games => page!(
            r#"select json_build_object('type', 'game', 'id', g.id, 'seat', s.seat, 'member_position', s.member_position,
                          'wants_rematch', s.wants_rematch, 'rating_before', s.rating_before,
                          'rating_after', s.rating_after, 'provisional', s.provisional, 'group_id', g.group_id,
                          'rematch_of', g.rematch_of, 'variant', g.variant, 'players', g.players, 'options', g.options,
                          'ranked', g.ranked, 'starter', g.starter, 'status', g.status, 'end_reason', g.end_reason,
                          'seq', g.seq, 'place', g.places[s.seat + 1], 'created_at', g.created_at,
                          'ended_at', g.ended_at)::text as "json!",
                      null as pool, s.game_id as "id?", null::integer as number
               from seat s join game g on g.id = s.game_id
               where s.player_id = $1 and s.game_id > $2 order by s.game_id limit $3"#,
            after.id,
            EXPORT_PAGE
        ),
        Part::Events => page!(
            r#"select json_build_object('type', 'event', 'game_id', e.game_id, 'seq', e.seq, 'at', e.at, 'kind', e.kind,
                          'seat', e.seat, 'pit', e.pit, 'by', e.by)::text as "json!",
                      null as pool, s.game_id as "id?", e.seq as "number?"
               from seat s join game_event e on e.game_id = s.game_id and e.seat = s.seat
               where s.player_id = $1 and s.game_id >= $2 and (s.game_id, e.seq) > ($2, $3)
               order by s.game_id, e.seq limit $4"#,
            after.id,
            after.number,
            EXPORT_PAGE
        ),
    };
    Ok(rows.into_iter().map(Line::from).collect())
}

/// Whether the session that asked for an export has not ended.
pub async fn export_may_go_on(db: &mut PgConnection, player: PlayerId, session: SessionId) -> Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from session where id = $1 and player_id = $2
                          and (revoked_at is null or revoked_at > now())) as "on!""#,
        session.uuid(),
        player.uuid()
    )
    .fetch_one(db)
    .await
}
