//! Which problem it is when a use case did not happen.

use super::problem::{Failure, Instead, ProblemCode, code_of_sow};
use crate::account::TokenError;
use crate::service::{self, Conflict};

impl From<service::Error> for Failure {
    fn from(error: service::Error) -> Self {
        use service::Error as E;
        let code = match &error {
            E::Database(inner) => return Self::database(inner),
            E::Options(inner) => return Self::options("/options", inner),
            E::Sow(inner) => return Self::field(code_of_sow(*inner), "/pit", inner.to_string()),
            E::GameNotFound => ProblemCode::GameNotFound,
            E::GroupNotFound => ProblemCode::GroupNotFound,
            E::CodeNotFound => ProblemCode::CodeNotFound,
            E::MemberNotFound => ProblemCode::MemberNotFound,
            E::PlayerNotFound => ProblemCode::PlayerNotFound,
            E::BlockNotFound => ProblemCode::BlockNotFound,
            E::OwnPlayer => ProblemCode::InvalidParameter,
            E::TooManyBlocks { .. } => ProblemCode::TooManyBlocks,
            E::AccountNeeded => ProblemCode::AccountNeeded,
            E::BotTooLate => ProblemCode::BotTooLate,
            E::PasswordNeeded => {
                return Self::field(ProblemCode::InvalidValue, "/password", error.to_string());
            }
            E::NotSeated | E::Outsider => ProblemCode::NotSeated,
            E::NotMember => ProblemCode::NotMember,
            E::NotHost => ProblemCode::NotHost,
            E::GroupFull => ProblemCode::GroupFull,
            E::GroupPlaying => ProblemCode::GroupPlaying,
            E::TooFewMembers => ProblemCode::TooFewMembers,
            E::GroupChanged => ProblemCode::GroupChanged,
            E::NotOver => ProblemCode::GameNotOver,
            E::RankedRematch => ProblemCode::RankedRematch,
            E::TicketOpen { .. } => ProblemCode::TicketOpen,
            E::InRankedGame { .. } => ProblemCode::InRankedGame,
            E::TicketMatched { .. } => ProblemCode::TicketMatched,
            E::TicketNotFound => ProblemCode::TicketNotFound,
            E::Cooldown { seconds } => {
                return Self::new(ProblemCode::Cooldown, error.to_string()).retry_after(*seconds);
            }
            E::IdempotencyKeyReused => ProblemCode::IdempotencyKeyReused,
            E::RefreshInvalid => ProblemCode::RefreshInvalid,
            E::RefreshReused => ProblemCode::RefreshReused,
            E::Token(TokenError::Expired) => ProblemCode::TokenExpired,
            E::Token(TokenError::Invalid | TokenError::OtherStream | TokenError::Ended) => {
                ProblemCode::TokenInvalid
            }
            E::TooManyTokens => ProblemCode::TooManyTokens,
            E::TokenNotFound => ProblemCode::TokenNotFound,
            E::Ranked => ProblemCode::RankedGame,
            E::NotRanked => ProblemCode::NotRanked,
            E::NotReviewable => ProblemCode::NotReviewable,
            E::UsernameTaken => {
                return Self::field(ProblemCode::UsernameTaken, "/username", error.to_string());
            }
            E::AlreadyRegistered => ProblemCode::AlreadyRegistered,
            E::Password(inner) => return Self::password("/password", *inner),
            E::WrongCredentials => ProblemCode::WrongCredentials,
            E::WrongPassword => ProblemCode::WrongPassword,
            E::GuestWouldBeLost => ProblemCode::GuestWouldBeLost,
            E::SessionNotFound => ProblemCode::SessionNotFound,
            E::SignInBusy { seconds } => {
                return Self::new(ProblemCode::SignInBusy, error.to_string()).retry_after(*seconds);
            }
            E::ThinkingBusy { seconds } => {
                return Self::new(ProblemCode::ThinkingBusy, error.to_string()).retry_after(*seconds);
            }
            E::ThinkingFailed | E::HashingFailed => {
                return Self::new(ProblemCode::Internal, "the request could not be carried out");
            }
            E::Busy => ProblemCode::Busy,
            E::Conflict { conflict, .. } => match conflict {
                Conflict::Stale => ProblemCode::Stale,
                Conflict::NotYourTurn => ProblemCode::NotYourTurn,
                Conflict::GameOver => ProblemCode::GameOver,
                Conflict::TurnPlayedForYou => ProblemCode::TurnPlayedForYou,
                Conflict::AlreadyPlaced => ProblemCode::AlreadyPlaced,
            },
        };
        let mut failure = Self::new(code, error.to_string());
        match error {
            E::Conflict { game, .. } => failure.game = Some(game),
            E::TicketOpen { ticket } => failure.instead = Some(Instead::Ticket(ticket)),
            E::InRankedGame { game } | E::TicketMatched { game } => {
                failure.instead = Some(Instead::Game(game))
            }
            _ => {}
        }
        failure
    }
}

impl Failure {
    /// What went wrong where a body has both `password` and `new_password`, or only the latter.
    pub fn about_new_password(error: service::Error) -> Self {
        match error {
            service::Error::Password(inner) => Self::password("/new_password", inner),
            other => other.into(),
        }
    }

    /// The database's failure is logged here, once, and told to nobody. A database that cannot be reached is a
    /// matter of time, anything else is a fault of ours.
    fn database(error: &sqlx::Error) -> Self {
        tracing::error!(error.message = %error, error.kind = "database", "request failed");
        match error {
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) => {
                Self::new(ProblemCode::Unavailable, "the database cannot be reached; try again soon")
                    .retry_after(2)
            }
            sqlx::Error::Database(e) if e.code().is_some_and(|code| is_passing(&code)) => {
                Self::new(ProblemCode::Unavailable, "the database is busy; try again soon").retry_after(2)
            }
            _ => Self::new(ProblemCode::Internal, "the request could not be carried out"),
        }
    }
}

/// Whether a fault of the database is one of the moment: lost connections, too many of them, restarts, statements and
/// transactions that took too long, deadlocks, locks that could not be had.
fn is_passing(sqlstate: &str) -> bool {
    let classes = ["08", "40", "53", "57P"];
    classes.iter().any(|class| sqlstate.starts_with(class)) || ["57014", "25P03", "55P03"].contains(&sqlstate)
}
