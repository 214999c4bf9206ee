//! Why a use case did not happen. Nothing has changed when one of these comes back.

use crate::account::{PasswordError, TokenError};
use crate::engine::SowError;
use crate::ids::{GameId, TicketId};
use crate::options::OptionsError;
use crate::store::{self, StoredGame};

/// Why a use case did not happen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database failed: our fault, whatever it was.
    #[error("database: {0}")]
    Database(#[source] sqlx::Error),
    /// A local rule that cannot be.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// No such game, or not one that the caller may see.
    #[error("no such game")]
    GameNotFound,
    /// No such group, or not one that the caller may see.
    #[error("no such group")]
    GroupNotFound,
    /// No group has this code.
    #[error("no group has this code")]
    CodeNotFound,
    /// The group has no such computer member.
    #[error("the group has no such computer member")]
    MemberNotFound,
    /// The player does not exist any more.
    #[error("no such player")]
    PlayerNotFound,
    /// The player is not blocked.
    #[error("you have not blocked this player")]
    BlockNotFound,
    /// Nobody can block themselves.
    #[error("you cannot block yourself")]
    OwnPlayer,
    /// There is an end to how many players one can block.
    #[error("you have blocked {most} players, which is as many as one can")]
    TooManyBlocks {
        /// How many that is.
        most: i64,
    },
    /// What is asked for is for accounts.
    #[error("this needs an account: register first")]
    AccountNeeded,
    /// A bot says so before its first ranked game.
    #[error("you have been in a ranked game: a bot says that it is one before the first")]
    BotTooLate,
    /// Accounts prove that they are there by their password.
    #[error("this needs the password of your account")]
    PasswordNeeded,
    /// Acting in a game needs a seat in it.
    #[error("you have no seat in this game")]
    NotSeated,
    /// Neither a seat nor the group: who is there is not the viewer's to know.
    #[error("who is there is told to those seated and to the members of the game's group")]
    Outsider,
    /// Acting in a group needs membership.
    #[error("you are not a member of this group")]
    NotMember,
    /// Only the host decides that.
    #[error("only the host of the group can do that")]
    NotHost,
    /// The pit cannot be sown.
    #[error(transparent)]
    Sow(#[from] SowError),
    /// The game does not stand as the caller thought; here is how it stands.
    #[error("{conflict}")]
    Conflict {
        /// In which way.
        conflict: Conflict,
        /// The game as it is now.
        game: Box<StoredGame>,
    },
    /// The group has four members.
    #[error("the group is full: four members at most")]
    GroupFull,
    /// A game of the group is running.
    #[error("a game of the group is running; wait until it has ended")]
    GroupPlaying,
    /// A game needs two to four members.
    #[error("a game needs two to four members")]
    TooFewMembers,
    /// The people of the game are no longer the members of its group.
    #[error("the members of the group have changed since this game; start the group's next game instead")]
    GroupChanged,
    /// Rematches are for games that have ended by the rules.
    #[error("the game has not ended yet")]
    NotOver,
    /// Ranked games have no rematch.
    #[error("ranked games have no rematch; new opponents come from the queue")]
    RankedRematch,
    /// A player has one ticket at a time.
    #[error("you are waiting for a ranked game already")]
    TicketOpen {
        /// The one that is open.
        ticket: TicketId,
    },
    /// A player is in one ranked game at a time.
    #[error("your ranked game {game} is still running")]
    InRankedGame {
        /// Which one.
        game: GameId,
    },
    /// The player let games begin without them.
    #[error("after games that began without you there is a pause; try again in {seconds} s")]
    Cooldown {
        /// How long it lasts yet.
        seconds: u64,
    },
    /// No such ticket, or not the caller's.
    #[error("no such ticket")]
    TicketNotFound,
    /// There is a game for the ticket.
    #[error("the ticket has been matched: game {game} has begun")]
    TicketMatched {
        /// Which one.
        game: GameId,
    },
    /// The key was used with another body.
    #[error("this Idempotency-Key was used with another body")]
    IdempotencyKeyReused,
    /// Not a refresh token of ours, or its session has ended.
    #[error("the refresh token is not valid")]
    RefreshInvalid,
    /// The token had been used before: its session has been ended, since one of the two users stole it.
    #[error("the refresh token had been used before; its session has been ended")]
    RefreshReused,
    /// There is an account with this username, or one that looks like it.
    #[error("this username is taken, or looks like one that is")]
    UsernameTaken,
    /// The caller has an account.
    #[error("you have an account already")]
    AlreadyRegistered,
    /// A password that cannot be set.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// No account has this username with this password, or with this recovery code: which of them is not told.
    #[error("the username is unknown, or what should prove it is wrong")]
    WrongCredentials,
    /// The caller's password is another.
    #[error("the password is wrong")]
    WrongPassword,
    /// The caller is a guest with something to lose.
    #[error(
        "as a guest you have a seat in a running game, a group, a ticket or a rating, which no account gets: register \
         instead, or repeat this with \"leave_guest\": true"
    )]
    GuestWouldBeLost,
    /// So many passwords wait to be hashed that this one cannot.
    #[error("too many are signing in; try again in {seconds} s")]
    SignInBusy {
        /// When to try again.
        seconds: u64,
    },
    /// Hashing has failed: our fault.
    #[error("hashing a password failed")]
    HashingFailed,
    /// No such session of the caller.
    #[error("you have no such session")]
    SessionNotFound,
    /// The access token is not good.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The player has as many personal tokens as one may have.
    #[error("a player has at most twenty personal tokens; delete one first")]
    TooManyTokens,
    /// No such personal token, or not the caller's.
    #[error("no such personal token")]
    TokenNotFound,
    /// The position is that of a ranked game which the caller is playing, or the game is ranked: no help there.
    #[error("this is a ranked game that is being played: there is no help in it")]
    Ranked,
    /// Only ranked games change ratings.
    #[error("this game is not ranked: it changes no ratings")]
    NotRanked,
    /// The game is none that can be reviewed.
    #[error("only finished games of Kalah between two players have a review")]
    NotReviewable,
    /// So much waits to be thought about that this would not be answered in time.
    #[error("the computer has too much to think about; try again in {seconds} s")]
    ThinkingBusy {
        /// When to try again.
        seconds: u64,
    },
    /// A search has failed: our fault, which has been logged.
    #[error("the search failed")]
    ThinkingFailed,
    /// So many others act on this game that no write held.
    #[error("too many changes of this game at once; try again")]
    Busy,
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match store::broken_constraint(&error) {
            // A good token can outlive its player.
            Some(
                "idempotency_player"
                | "group_event_player"
                | "group_member_player"
                | "seat_player"
                | "ticket_player",
            ) => Self::PlayerNotFound,
            Some("account_username_unique") => Self::UsernameTaken,
            _ => Self::Database(error),
        }
    }
}

/// In which way a game does not stand as the caller thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// A move has been made since the state that the caller looked at.
    #[error("the game has moved on since the state that you looked at")]
    Stale,
    /// The turn is somebody else's.
    #[error("it is not your turn")]
    NotYourTurn,
    /// The game has ended.
    #[error("the game is over")]
    GameOver,
    /// The clock or the computer has made this very move for the caller.
    #[error("this very move has been made for you, by the clock or the computer")]
    TurnPlayedForYou,
    /// The seat has left the board and has its place.
    #[error("your seat already has its place")]
    AlreadyPlaced,
}

impl Conflict {
    pub(super) fn with(self, game: StoredGame) -> Error {
        Error::Conflict { conflict: self, game: Box::new(game) }
    }
}
