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

/// Those of these games whose log goes beyond the cursor given for each, and how far it goes; and all that are private,
/// which who follows them may not be allowed to any more.
pub async fn games_to_look_at(
    db: &mut PgConnection,
    ids: &[Uuid],
    cursors: &[i32],
) -> Result<Vec<(GameId, i32)>> {
    let rows = sqlx::query!(
        "select g.id, g.seq from unnest($1::uuid[], $2::integer[]) as known (id, seq)
         join game g on g.id = known.id left join play_group pg on pg.id = g.group_id
         where g.seq > known.seq or pg.private",
        ids,
        cursors
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.seq)).collect())
}

/// Those of these groups whose log goes beyond the cursor given for each, and how far it goes.
pub async fn groups_beyond(
    db: &mut PgConnection,
    ids: &[Uuid],
    cursors: &[i32],
) -> Result<Vec<(GroupId, i32)>> {
    let rows = sqlx::query!(
        "select pg.id, pg.seq from unnest($1::uuid[], $2::integer[]) as known (id, seq)
         join play_group pg on pg.id = known.id where pg.seq > known.seq",
        ids,
        cursors
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.seq)).collect())
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
