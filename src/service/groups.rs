//! Groups: people who play one game after another with the same local rules.

use rand::RngExt;
use sqlx::PgConnection;

use super::games::{Setup, random_seed, rng_of};
use super::moves::visible;
use super::starter::{LastStarter, next_starter};
use super::{Error, IdempotencyKey, Result, Service, Topic, claim};
use crate::cpu::Level;
use crate::engine::Variant;
use crate::ids::{GameId, GroupId, MemberId, PlayerId};
use crate::options::{Asked, Options};
use crate::store::{self, GroupRow, GroupSettings, Holder, StoredGame};

/// Most members of a group: as many as a game has seats.
const MAX_MEMBERS: usize = 4;

/// Letters of a code that nobody takes for another letter or a digit.
const CODE_LETTERS: &[u8] = b"ABCDEFGHJKMNPQRSTUVWXYZ";
const CODE_LENGTH: usize = 8;

/// What the host changes; `None` leaves a setting as it is.
#[derive(Default)]
pub struct GroupChange {
    /// What it plays.
    pub variant: Option<Variant>,
    /// All local rules anew.
    pub options: Option<Asked>,
    /// Whether only members see it and its games.
    pub private: Option<bool>,
}

impl Service {
    /// Makes a group with `player` as its host.
    ///
    /// # Errors
    /// Local rules that no game would allow, or a reused idempotency key.
    pub async fn create_group(
        &self,
        player: PlayerId,
        new: GroupSettings,
        key: Option<&IdempotencyKey>,
    ) -> Result<GroupRow> {
        new.options.check(new.variant)?;
        let id = GroupId::new();
        let mut tx = self.database.begin().await?;
        if let Some(earlier) = claim(&mut tx, player, "create_group", key, id.uuid()).await? {
            return visible_group(&mut tx, earlier.into(), Some(player)).await;
        }
        if !store::hold_players(&mut tx, &[player]).await? {
            return Err(Error::PlayerNotFound);
        }
        // 23^8 codes: that two groups draw the same one hardly happens, and then the request fails as a whole.
        store::insert_group(&mut tx, id, &random_code(), &new, player).await?;
        let group = visible_group(&mut tx, id, Some(player)).await?;
        tx.commit().await?;
        self.news.tell(Topic::Player(player), 0);
        Ok(group)
    }

    /// A group as `viewer` sees it.
    ///
    /// # Errors
    /// `GroupNotFound`, also for a private group of others.
    pub async fn group(&self, viewer: Option<PlayerId>, id: GroupId) -> Result<GroupRow> {
        visible_group(&mut *self.database.connection().await?, id, viewer).await
    }

    /// Joins the group that has this code. A member who joins again changes nothing.
    ///
    /// # Errors
    /// `CodeNotFound`, also when a member has blocked the player; `GroupFull`, or `GroupPlaying`.
    pub async fn join_group(&self, player: PlayerId, code: &str) -> Result<GroupRow> {
        let code = code.trim().to_ascii_uppercase();
        // What cannot be a code is not looked for: PostgreSQL refuses a text with a NUL.
        if code.bytes().any(|byte| !byte.is_ascii_alphabetic()) {
            return Err(Error::CodeNotFound);
        }
        let mut tx = self.database.begin().await?;
        let id = store::group_of_code(&mut tx, &code).await?.ok_or(Error::CodeNotFound)?;
        store::lock_group(&mut tx, id).await?;
        let group = store::group(&mut tx, id).await?.ok_or(Error::CodeNotFound)?;
        if group.member(player).is_some() {
            return Ok(group);
        }
        let members: Vec<PlayerId> =
            group.members.iter().filter_map(|m| Some(m.holder.person()?.id)).collect();
        // Before anything else is told of the group: who is blocked there is told what a wrong code is told.
        if store::is_blocked_by(&mut tx, player, &members).await? {
            return Err(Error::CodeNotFound);
        }
        if group.playing {
            return Err(Error::GroupPlaying);
        }
        if group.members.len() >= MAX_MEMBERS {
            return Err(Error::GroupFull);
        }
        if !store::hold_players(&mut tx, &[player]).await? {
            return Err(Error::PlayerNotFound);
        }
        // Whoever comes into a group that everybody has left leads it.
        let host = !group.members.iter().any(|m| m.host);
        store::add_member(&mut tx, id, Holder::Person(player), host).await?;
        let group = store::group(&mut tx, id).await?.ok_or(Error::CodeNotFound)?;
        tx.commit().await?;
        self.tell_group(&group);
        self.news.tell(Topic::Player(player), 0);
        Ok(group)
    }

    /// Leaves a group; the next person in the order of joining becomes the host if the host leaves. A running game
    /// is not touched: its seat stays the player's.
    ///
    /// # Errors
    /// `GroupNotFound` or `NotMember`.
    pub async fn leave_group(&self, player: PlayerId, id: GroupId) -> Result<()> {
        let mut tx = self.database.begin().await?;
        let group = locked_group(&mut tx, player, id).await?;
        let member = group.member(player).ok_or(Error::NotMember)?;
        let heir = group.members.iter().find(|m| m.id != member.id && m.holder.person().is_some());
        let heir = heir.filter(|_| member.host).map(|heir| heir.id);
        store::remove_member(&mut tx, member.id, heir).await?;
        tx.commit().await?;
        self.tell_group(&group);
        self.news.tell(Topic::Player(player), 0);
        Ok(())
    }

    /// Changes what the group plays from the next game on, and who sees it. A change to what it is already is none.
    ///
    /// # Errors
    /// `GroupNotFound`, `NotMember`, `NotHost`, or local rules that no game would allow.
    pub async fn change_group(&self, player: PlayerId, id: GroupId, change: GroupChange) -> Result<GroupRow> {
        let mut tx = self.database.begin().await?;
        let group = hosted_group(&mut tx, player, id).await?;
        let settings = GroupSettings {
            variant: change.variant.unwrap_or(group.settings.variant),
            options: change.options.unwrap_or_else(|| group.settings.options.clone()),
            private: change.private.unwrap_or(group.settings.private),
        };
        settings.options.check(settings.variant)?;
        if settings == group.settings {
            return Ok(group);
        }
        store::update_group(&mut tx, id, &settings).await?;
        let group = visible_group(&mut tx, id, Some(player)).await?;
        tx.commit().await?;
        self.tell_group(&group);
        Ok(group)
    }

    /// Gives a place in the group to a computer.
    ///
    /// # Errors
    /// `GroupNotFound`, `NotMember`, `NotHost`, `GroupPlaying` or `GroupFull`.
    pub async fn add_computer(&self, player: PlayerId, id: GroupId, level: Level) -> Result<GroupRow> {
        let mut tx = self.database.begin().await?;
        let group = hosted_group(&mut tx, player, id).await?;
        if group.playing {
            return Err(Error::GroupPlaying);
        }
        if group.members.len() >= MAX_MEMBERS {
            return Err(Error::GroupFull);
        }
        store::add_member(&mut tx, id, Holder::Computer(level), false).await?;
        let group = visible_group(&mut tx, id, Some(player)).await?;
        tx.commit().await?;
        self.tell_group(&group);
        Ok(group)
    }

    /// Takes a computer's place in the group away.
    ///
    /// # Errors
    /// `GroupNotFound`, `NotMember`, `NotHost`, `GroupPlaying` or `MemberNotFound`.
    pub async fn remove_computer(&self, player: PlayerId, id: GroupId, member: MemberId) -> Result<GroupRow> {
        let mut tx = self.database.begin().await?;
        let group = hosted_group(&mut tx, player, id).await?;
        if group.playing {
            return Err(Error::GroupPlaying);
        }
        if !group.members.iter().any(|m| m.id == member && m.holder.person().is_none()) {
            return Err(Error::MemberNotFound);
        }
        store::remove_member(&mut tx, member, None).await?;
        let group = visible_group(&mut tx, id, Some(player)).await?;
        tx.commit().await?;
        self.tell_group(&group);
        Ok(group)
    }

    /// Starts the group's next game with its present members in the order in which they joined.
    ///
    /// # Errors
    /// `GroupNotFound`, `NotMember`, `NotHost`, `GroupPlaying`, `TooFewMembers`, or local rules that do not fit the
    /// number of members.
    pub async fn start_group_game(
        &self,
        player: PlayerId,
        id: GroupId,
        key: Option<&IdempotencyKey>,
    ) -> Result<StoredGame> {
        let game = GameId::new();
        let mut tx = self.database.begin().await?;
        let operation = format!("create_group_game {id}");
        if let Some(earlier) = claim(&mut tx, player, &operation, key, game.uuid()).await? {
            return visible(&mut tx, earlier.into(), Some(player)).await;
        }
        let group = hosted_group(&mut tx, player, id).await?;
        if group.playing {
            return Err(Error::GroupPlaying);
        }
        let players =
            u8::try_from(group.members.len()).ok().filter(|n| *n >= 2).ok_or(Error::TooFewMembers)?;
        let options = Options::effective(group.settings.variant, players, &group.settings.options)?;
        let seed = random_seed();
        let seats: Vec<_> = group.members.iter().map(|m| (m.holder.clone(), Some(m.position))).collect();
        let members: Vec<_> = seats.iter().map(|(_, member)| *member).collect();
        let starter = match group.game {
            Some(last) => {
                let last = store::starter(&mut tx, last).await?;
                let last = LastStarter { seat: last.0, member: last.1 };
                next_starter(options.rotate_starter(), last, &members)
            }
            None => rng_of(seed).random_range(0..seats.len()),
        };
        let setup = Setup {
            group: Some(id),
            rematch_of: None,
            options: &options,
            seed,
            starter,
            seats: &seats,
            ratings: &[],
        };
        self.insert_game(&mut tx, game, &setup).await?;
        store::set_game(&mut tx, id, game).await?;
        let started = visible(&mut tx, game, Some(player)).await?;
        tx.commit().await?;
        self.begun(&started);
        Ok(started)
    }
}

impl Service {
    /// Tells whoever follows a group, or its running game, that something about it has changed.
    fn tell_group(&self, group: &GroupRow) {
        self.news.tell(Topic::Group(group.id), 0);
        if let Some(game) = group.game.filter(|_| group.playing) {
            self.news.tell(Topic::Sight(game), 0);
        }
    }
}

/// The group, if there is one that `viewer` may see.
pub(super) async fn visible_group(
    db: &mut PgConnection,
    id: GroupId,
    viewer: Option<PlayerId>,
) -> Result<GroupRow> {
    store::group(db, id)
        .await?
        .filter(|group| {
            !group.settings.private || viewer.is_some_and(|player| group.member(player).is_some())
        })
        .ok_or(Error::GroupNotFound)
}

/// The group, locked, so that changes of one group take turns.
async fn locked_group(db: &mut PgConnection, player: PlayerId, id: GroupId) -> Result<GroupRow> {
    store::lock_group(db, id).await?;
    visible_group(db, id, Some(player)).await
}

/// The group, locked, if `player` is its host.
async fn hosted_group(db: &mut PgConnection, player: PlayerId, id: GroupId) -> Result<GroupRow> {
    let group = locked_group(db, player, id).await?;
    match group.member(player) {
        Some(member) if member.host => Ok(group),
        Some(_) => Err(Error::NotHost),
        None => Err(Error::NotMember),
    }
}

fn random_code() -> String {
    let mut rng = rand::rng();
    (0..CODE_LENGTH).map(|_| char::from(CODE_LETTERS[rng.random_range(0..CODE_LETTERS.len())])).collect()
}
