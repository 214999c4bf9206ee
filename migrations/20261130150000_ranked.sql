-- Ranked play: ratings, what changed them, and the queue for opponents.
create type pool as enum ('kalah-2', 'kalah-multi', 'basic-2', 'basic-multi');

-- A player's standing in a pool, from the first rated game on.
create table rating (
    player_id uuid not null constraint rating_player references player,
    pool pool not null,
    rating float8 not null default 1500,
    deviation float8 not null default 350,
    rated_at timestamptz not null default now(),
    changes integer not null default 0,
    games integer not null default 0,
    opponents integer not null default 0,
    start_balance integer not null default 0,
    listed_until timestamptz,
    primary key (player_id, pool)
) with (fillfactor = 80);
comment on column rating.rating is 'unrounded points';
comment on column rating.deviation is 'as it was at rated_at: what idle days add is reckoned when it is read';
comment on column rating.rated_at is 'the last rated game';
comment on column rating.changes is 'the number of the last change: rated games and season shifts';
comment on column rating.opponents is 'how many different players have been met in rated games';
comment on column rating.start_balance is 'first moves had less those to be expected, in twelfths: 12 for a first move, less 12/N for each game of N';
comment on column rating.listed_until is 'until when the leaderboard may show the player: 30 days after the last rated game, or sooner when the deviation becomes too great; null if that is too great already';
create index rating_leaderboard on rating (pool, rating desc, player_id desc)
    include (listed_until, opponents, games, deviation, rated_at) where listed_until is not null;
create index rating_pool on rating (pool);

-- What a rated game did to one of its players: everything from which it can be reckoned again.
create table rating_change (
    game_id uuid not null constraint rating_change_game references game,
    player_id uuid not null constraint rating_change_player references player,
    pool pool not null,
    number integer not null,
    seat smallint not null,
    place smallint not null,
    players smallint not null,
    at timestamptz not null default now(),
    rating_before float8 not null,
    deviation_before float8 not null,
    rating_after float8 not null,
    deviation_after float8 not null,
    expected float8 not null,
    formula smallint not null,
    primary key (game_id, player_id)
);
comment on column rating_change.number is 'counts the changes of the player''s rating in the pool from 1, season shifts included';
comment on column rating_change.deviation_before is 'live: idle days since the change before are in it';
comment on column rating_change.expected is 'mean score that was expected against the others, from 0 to 1';
create unique index rating_change_in_order on rating_change (player_id, pool, number);
create index rating_change_by_player on rating_change (player_id, at desc);

-- How often two players have met in rated games of a pool, from the view of the first.
create table opponent (
    player_id uuid not null constraint opponent_player references player,
    pool pool not null,
    opponent_id uuid not null constraint opponent_opponent references player,
    games integer not null,
    won integer not null,
    tied integer not null,
    primary key (player_id, pool, opponent_id)
) with (fillfactor = 80);
comment on column opponent.won is 'games in which the player had the better place';
comment on column opponent.tied is 'games in which they shared a place';

-- The monthly shift of a whole pool against deflation: one row for each month in which it was looked at.
create table season (
    pool pool not null,
    month date not null constraint season_month_begins check (extract(day from month) = 1),
    at timestamptz not null default now(),
    players integer not null,
    mean float8,
    shift float8 not null,
    primary key (pool, month)
);
comment on column season.players is 'how many had a live deviation of at most 75';
comment on column season.mean is 'their mean rating; null if there were none';
comment on column season.shift is 'points that were added to every rating of the pool; 0 if the mean was near enough to 1500';

create table season_change (
    pool pool not null,
    month date not null,
    player_id uuid not null constraint season_change_player references player,
    number integer not null,
    rating_before float8 not null,
    rating_after float8 not null,
    primary key (player_id, pool, number),
    constraint season_change_season foreign key (pool, month) references season,
    constraint season_change_once unique (pool, month, player_id)
);
comment on column season_change.number is 'as in rating_change';

-- A wish for a ranked game.
create type ticket_status as enum ('waiting', 'matched', 'cancelled', 'expired');
create table ticket (
    id uuid primary key,
    player_id uuid not null constraint ticket_player references player,
    variant variant not null,
    players smallint not null constraint ticket_players check (players between 2 and 4),
    turn_seconds smallint not null constraint ticket_turn_seconds check (turn_seconds in (30, 60)),
    max_gap smallint,
    status ticket_status not null default 'waiting',
    game_id uuid constraint ticket_game references game,
    open boolean not null default true,
    created_at timestamptz not null default now(),
    ended_at timestamptz,
    constraint ticket_matched_to_a_game check ((status = 'matched') = (game_id is not null))
) with (fillfactor = 70);
comment on column ticket.max_gap is 'the greatest difference of plain ratings to anyone in the game; null: none';
comment on column ticket.open is 'waiting, or matched to a game that is still running: a player has one at most';
comment on column ticket.ended_at is 'when it was matched, cancelled or expired';
create unique index ticket_one_open on ticket (player_id) where open;
create index ticket_waiting on ticket (variant, players, turn_seconds) where status = 'waiting';
create index ticket_matched on ticket (variant, players, turn_seconds, ended_at desc) where status = 'matched';
create index ticket_by_game on ticket (game_id) where game_id is not null;
create index ticket_by_age on ticket (created_at) where not open;

-- Players who let their very first turn of a ranked game run out.
create table no_show (
    game_id uuid not null constraint no_show_game references game,
    player_id uuid not null constraint no_show_player references player,
    at timestamptz not null default now(),
    until timestamptz not null,
    primary key (game_id, player_id)
);
comment on column no_show.until is 'the end of the player''s cooldown: no tickets before';
create index no_show_by_player on no_show (player_id, at desc);

-- Ratings as everybody in a ranked game is shown them: the receipts hold the exact ones.
alter table seat add column rating_before smallint;
alter table seat add column rating_after smallint;
alter table seat add column provisional boolean;
comment on column seat.rating_before is 'displayed rating when the game began, in ranked games; once it is rated, the one that was reckoned from';
comment on column seat.provisional is 'whether the newer of the two is provisional';
