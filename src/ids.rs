//! Identifiers: one transparent newtype per thing, so that a game's id can never be taken for a group's.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize, sqlx::Type, utoipa::ToSchema,
        )]
        #[serde(transparent)]
        #[sqlx(transparent)]
        #[schema(value_type = uuid::Uuid)]
        pub struct $name(uuid::Uuid);

        impl $name {
            /// A new id (UUIDv7): ids sort by the time of their making.
            #[expect(clippy::new_without_default, reason = "two calls give two values, which no Default should")]
            pub fn new() -> Self {
                Self(uuid::Uuid::now_v7())
            }

            /// The bare UUID.
            pub fn uuid(self) -> uuid::Uuid {
                self.0
            }
        }

        impl From<uuid::Uuid> for $name {
            fn from(id: uuid::Uuid) -> Self {
                Self(id)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A person (guest or account), for ever.
    PlayerId
);
id!(
    /// A signed-in device.
    SessionId
);
id!(
    /// A token that a program has.
    PersonalTokenId
);
id!(
    /// A game.
    GameId
);
id!(
    /// A group of players.
    GroupId
);
id!(
    /// A place in a group, held by a person or a computer.
    MemberId
);
id!(
    /// A wish for a ranked game.
    TicketId
);
