-- Types instead of checks for what changes with every move: checks are read anew by every statement, a fifth of its cost.
create type variant as enum ('kalah', 'basic');
create type game_status as enum ('running', 'finished', 'aborted');
create type game_end as enum ('played', 'resigned', 'no_show', 'abandoned');
create type event_kind as enum ('move', 'resign', 'leave', 'return', 'abort');
create type event_by as enum ('player', 'computer', 'clock');

-- Who plays. A guest is a player without credentials other than its device's refresh token.
create table player (
    id uuid primary key,
    kind text not null constraint player_kind check (kind in ('guest', 'account', 'bot', 'deleted')),
    name text not null constraint player_name_length check (char_length(name) between 1 and 40),
    created_at timestamptz not null default now()
);

-- A device that is signed in. Revoking it makes all its refresh tokens worthless.
create table session (
    id uuid primary key,
    player_id uuid not null constraint session_player references player,
    created_at timestamptz not null default now(),
    revoked_at timestamptz
);
create index session_by_player on session (player_id);

-- The family of refresh tokens of a session: each is used once and names the one it replaced.
create table refresh_token (
    hash bytea primary key constraint refresh_token_hash_length check (octet_length(hash) = 32),
    session_id uuid not null constraint refresh_token_session references session,
    parent bytea,
    created_at timestamptz not null default now(),
    used_at timestamptz
);
create index refresh_token_by_parent on refresh_token (parent);
create index refresh_token_by_use on refresh_token (used_at) where used_at is not null;
comment on column refresh_token.hash is 'SHA-256 of the token; the token itself is never stored';
comment on column refresh_token.parent is 'hash of the token that this one replaced; two children of one parent mean that an answer was lost';

-- People (and computers) who play one game after another with the same local rules.
create table play_group (
    id uuid primary key,
    code text not null constraint play_group_code_unique unique,
    variant variant not null,
    options jsonb not null,
    private boolean not null default false,
    game_id uuid,
    created_at timestamptz not null default now()
);
comment on column play_group.options is 'local rules as they were asked for; each game holds the effective ones';
comment on column play_group.game_id is 'the running or last game';

create table group_member (
    id uuid primary key,
    group_id uuid not null constraint group_member_group references play_group,
    position bigint generated always as identity,
    player_id uuid constraint group_member_player references player,
    level text,
    host boolean not null default false,
    constraint group_member_once unique (group_id, player_id),
    constraint group_member_person_or_computer check ((player_id is null) <> (level is null)),
    constraint group_member_host_is_a_person check (not host or player_id is not null)
);
create unique index group_member_one_host on group_member (group_id) where host;
create index group_member_by_player on group_member (player_id) where player_id is not null;
comment on column group_member.position is 'the order of joining, which is the order of the seats';

-- A game: its rules, and a projection of its log so that nothing has to be replayed to answer.
create table game (
    id uuid primary key,
    group_id uuid constraint game_group references play_group,
    rematch_of uuid constraint game_rematch_once unique constraint game_rematch_of references game,
    variant variant not null,
    players smallint not null,
    options jsonb not null,
    ranked boolean not null,
    seed bigint not null,
    starter smallint not null,
    status game_status not null default 'running',
    end_reason game_end,
    seq integer not null default 0,
    board smallint[] not null,
    board_before smallint[],
    to_move smallint,
    left_board smallint[] not null default '{}',
    departed smallint[] not null default '{}',
    resigned smallint[] not null default '{}',
    places smallint[],
    computer_turn boolean not null,
    deadline timestamptz,
    created_at timestamptz not null default now(),
    ended_at timestamptz
) with (fillfactor = 85);
comment on column game.options is 'the effective local rules, after every fallback';
comment on column game.seed is 'makes the computer''s random choices repeatable';
comment on column game.seq is 'the number of events in the log; the only cursor there is';
comment on column game.board is 'stones along the circle: pits of seat 0, its store, pits of seat 1, its store, ...';
comment on column game.board_before is 'the board before the last move, so that its path can be told without a replay';
comment on column game.left_board is 'seats that left the board (Basic), in that order';
comment on column game.departed is 'seats that have resigned or are left, in order of departure';
comment on column game.resigned is 'those of departed that have resigned';
comment on column game.places is 'by seat, once the game has ended by the rules';
comment on column game.computer_turn is 'true while the computer has to play the seat to move; workers find their turns by it';
create index game_by_group on game (group_id, id desc) where group_id is not null;
create index game_running on game (id desc) where status = 'running';
create index game_aborted on game (id desc) where status = 'aborted';
create index game_computer_turn on game (id) where computer_turn;

create table seat (
    game_id uuid not null constraint seat_game references game,
    seat smallint not null constraint seat_number check (seat between 0 and 3),
    player_id uuid constraint seat_player references player,
    level text,
    member_position bigint,
    wants_rematch boolean not null default false,
    primary key (game_id, seat),
    constraint seat_person_or_computer check ((player_id is null) <> (level is null))
);
create unique index seat_by_player on seat (player_id, game_id) where player_id is not null;
comment on column seat.member_position is 'group_member.position of who sat here, by which the next game finds its starter';

-- The log, which is the record: replaying it with the game's options gives everything above. No foreign key:
-- events are only ever inserted by the statement that has just updated their game, and the check would lock that
-- row once more at every move.
create table game_event (
    game_id uuid not null,
    seq integer not null,
    at timestamptz not null default now(),
    kind event_kind not null,
    seat smallint,
    pit smallint,
    by event_by,
    primary key (game_id, seq)
);

-- Answers of creating requests, kept for a day so that a repeated request creates nothing twice.
create table idempotency (
    player_id uuid not null constraint idempotency_player references player,
    operation text not null,
    key text not null,
    body_hash bytea not null,
    result_id uuid not null,
    created_at timestamptz not null default now(),
    primary key (player_id, operation, key)
);
create index idempotency_by_age on idempotency (created_at);
