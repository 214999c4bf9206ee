//! News between processes: notifications, and what makes them good where they are lost.

use sqlx::PgConnection;
use sqlx::postgres::PgListener;
use uuid::Uuid;

use super::{Database, Result};
use crate::ids::{GameId, GroupId, PlayerId, TicketId};

/// Of all processes on one database.
const CHANNEL: &str = "mancala_news";

/// Hears what other processes tell, over a connection of its own.
pub struct Listener(PgListener);

impl Database {
    /// Listens to what other processes tell.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub async fn listener(&self) -> Result<Listener> {
        let mut listener = PgListener::connect_with(&self.apart().pool).await?;
        listener.listen(CHANNEL).await?;
        Ok(Listener(listener))
    }
}

impl Listener {
    /// The next thing told; `None` when the connection was lost and made anew, and what was told meanwhile with it.
    ///
    /// # Errors
    /// When it cannot be made anew.
    pub async fn next(&mut self) -> Result<Option<String>> {
        Ok(self.0.try_recv().await?.map(|told| told.payload().to_owned()))
    }
}

/// Tells all processes that listen, this one among them. Never in a transaction that writes: at its commit it would
/// take a lock that all others of the kind wait for.
pub async fn notify(db: &mut PgConnection, text: &str) -> Result<()> {
    sqlx::query!("select pg_notify($1, $2)", CHANNEL, text).execute(db).await?;
    Ok(())
}

/// A game that somebody follows.
pub struct FollowedGame {
    /// Which.
    pub id: GameId,
    /// How far its log was told to go.
    pub told: i32,
    /// How far it goes.
    pub seq: i32,
    /// For a game of a private group, how far the log of the group goes.
    pub private: Option<i32>,
}

/// Those of these games whose log does not end where it was told to, and all that are private.
pub async fn games_to_look_at(
    db: &mut PgConnection,
    ids: &[Uuid],
    told: &[i32],
) -> Result<Vec<FollowedGame>> {
    let rows = sqlx::query!(
        r#"select g.id, known.told as "told!", g.seq, case when pg.private then pg.seq end as private
           from unnest($1::uuid[], $2::integer[]) as known (id, told)
           join game g on g.id = known.id left join play_group pg on pg.id = g.group_id
           where g.seq <> known.told or pg.private"#,
        ids,
        told
    )
    .fetch_all(db)
    .await?;
    let game = rows.into_iter().map(|row| FollowedGame {
        id: row.id.into(),
        told: row.told,
        seq: row.seq,
        private: row.private,
    });
    Ok(game.collect())
}

/// Those of these groups whose log does not end where it was told to, with that and how far it goes.
pub async fn groups_elsewhere(
    db: &mut PgConnection,
    ids: &[Uuid],
    told: &[i32],
) -> Result<Vec<(GroupId, i32, i32)>> {
    let rows = sqlx::query!(
        r#"select pg.id, known.told as "told!", pg.seq from unnest($1::uuid[], $2::integer[]) as known (id, told)
           join play_group pg on pg.id = known.id where pg.seq <> known.told"#,
        ids,
        told
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.told, row.seq)).collect())
}

/// Those of these sessions and personal tokens that go on no more.
pub async fn credentials_that_ended(db: &mut PgConnection, ids: &[Uuid]) -> Result<Vec<Uuid>> {
    sqlx::query_scalar!(
        r#"select c.id as "id!" from unnest($1::uuid[]) as c (id)
           where not exists (select from personal_token t where t.id = c.id)
             and not exists (select from session s
                             where s.id = c.id and (s.revoked_at is null or s.revoked_at > now()))"#,
        ids
    )
    .fetch_all(db)
    .await
}

/// Those of these tickets that wait no more.
pub async fn tickets_that_wait_no_more(db: &mut PgConnection, ids: &[Uuid]) -> Result<Vec<TicketId>> {
    let ids = sqlx::query_scalar!("select id from ticket where id = any($1) and status <> 'waiting'", ids)
        .fetch_all(db)
        .await?;
    Ok(ids.into_iter().map(TicketId::from).collect())
}

/// For each of these players a text that changes with its newest games, its open ticket, its groups, and what they play.
pub async fn marks_of_players(db: &mut PgConnection, ids: &[Uuid]) -> Result<Vec<(PlayerId, String)>> {
    let rows = sqlx::query!(
        r#"select p.id as "id!",
                  md5(concat_ws(' ',
                      array(select s.game_id from seat s where s.player_id = p.id order by s.game_id desc limit 5),
                      (select row(t.id, t.status) from ticket t where t.player_id = p.id and t.open),
                      array(select row(pg.id, pg.seq)
                            from group_member m join play_group pg on pg.id = m.group_id
                            where m.player_id = p.id order by pg.id))) as "mark!"
           from unnest($1::uuid[]) as p (id)"#,
        ids
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.mark)).collect())
}
