-- Accounts: what turns a guest into a player who can come back from anywhere, and what belongs to one player alone.

-- Credentials. They are apart from player, because they go when the player goes, and nothing that shows players reads them.
create table account (
    player_id uuid primary key constraint account_player references player,
    username text not null,
    canonical text not null constraint account_username_unique unique,
    password text not null,
    created_at timestamptz not null default now(),
    password_changed_at timestamptz not null default clock_timestamp()
);
comment on column account.username is 'as it is shown to its owner';
comment on column account.canonical is 'what two usernames that look alike have in common';
comment on column account.password is 'argon2id, with its salt and parameters in the string (PHC)';

create table recovery_code (
    hash bytea primary key constraint recovery_code_hash_length check (octet_length(hash) = 32),
    player_id uuid not null constraint recovery_code_player references player
);
create index recovery_code_by_player on recovery_code (player_id);
comment on table recovery_code is 'codes that have not been used: each sets a new password once';

alter table session add column label text not null default '' constraint session_label_length check (char_length(label) <= 80);
alter table session add column last_used_at timestamptz not null default now();
comment on column session.label is 'what the device calls itself';
comment on column session.last_used_at is 'when its tokens were last renewed';
comment on column session.revoked_at is
    'since when its access tokens are refused, however long they are good; once it is set, its refresh tokens are worthless. In the future where a guest has registered, who goes on with another session';
alter table session add column of_account boolean not null default false;
comment on column session.of_account is 'whether it ends by itself when it is old or idle: those of guests do not';
-- Access tokens of sessions that have just ended are refused although they are still good by themselves.
create index session_just_ended on session (revoked_at) where revoked_at is not null;
create index session_by_use on session (last_used_at) where of_account and revoked_at is null;
create index session_by_age on session (created_at) where of_account and revoked_at is null;
create index refresh_token_by_session on refresh_token (session_id);

-- Tokens for programs, which do less than their owner may.
create table personal_token (
    id uuid primary key,
    player_id uuid not null constraint personal_token_player references player,
    name text not null constraint personal_token_name_length check (char_length(name) between 1 and 60),
    hash bytea not null constraint personal_token_hash_unique unique constraint personal_token_hash_length check (octet_length(hash) = 32),
    scopes text[] not null,
    created_at timestamptz not null default now(),
    last_used_at timestamptz,
    expires_at timestamptz
);
create index personal_token_by_player on personal_token (player_id, id);
comment on column personal_token.last_used_at is 'to the minute';
comment on table personal_token is 'a token that is revoked is removed';

create table block (
    player_id uuid not null constraint block_player references player,
    blocked_id uuid not null constraint block_blocked references player,
    created_at timestamptz not null default now(),
    primary key (player_id, blocked_id),
    constraint block_somebody_else check (player_id <> blocked_id)
);
create index block_by_blocked on block (blocked_id);
comment on table block is 'players whom a player does not want to meet';

alter table player add column preferences json not null default '{}';
comment on column player.preferences is 'a small object, kept as it was written for the clients of the player; nothing here looks into it';

alter table ticket add column with_bots boolean not null default false;
comment on column ticket.with_bots is 'whether a person is willing to meet bots; bots meet one another anyhow';

-- What belongs to one player is told to that player, and goes with the player; and to remove a player the database looks
-- for what still points there.
create index ticket_by_player on ticket (player_id, id);
create index opponent_by_opponent on opponent (opponent_id);
-- Guests who have not been heard of for long are looked for in the order of their making.
create index player_guest on player (id) where kind = 'guest';
