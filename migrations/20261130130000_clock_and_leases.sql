-- What has to happen in a running game without anybody asking for it: at most one row for each game, in a small table
-- of its own, so that finding and leasing this work costs `game` nothing. Rows are written by the statement that writes
-- the event which makes them due. No foreign key, for the reason given at game_event.
create type due_kind as enum ('computer', 'clock', 'away', 'abandon');

create table due (
    game_id uuid primary key,
    kind due_kind not null,
    at timestamptz not null,
    holder uuid,
    until timestamptz
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
comment on table due is 'what has to happen in a running game without anybody asking for it';
comment on column due.kind is 'computer: it has the turn; clock: a turn may run out; away: a player may count as left; abandon: a pause may end the game';
comment on column due.at is 'when it is due, or earlier: a turn that begins anew, or a player who is heard of, does not move it; whoever finds it due too early does';
comment on column due.holder is 'the process that is seeing to it';
comment on column due.until is 'when the lease of that process ends, unless renewed';
-- Longest waiting first.
create index due_computer on due (at) where kind = 'computer';
create index due_time on due (at) where kind <> 'computer';

alter table game add column turn_began timestamptz;
alter table game add column run_out smallint[] not null default '{}';
comment on column game.turn_began is 'when the present turn began: with a move, or when it came to the player, the computer or nobody at all';
comment on column game.run_out is 'seats whose last turn ran out of time: the next one that does marks them as left';
comment on column game.deadline is 'when the turn of a player who is present runs out; null while the computer has it or nobody is there';

-- One row, which every process beats about once a second: by it they know for how long none of them was there.
create table heartbeat (
    single boolean primary key default true constraint heartbeat_single check (single),
    at timestamptz not null,
    resumed_at timestamptz not null
) with (fillfactor = 10);
comment on column heartbeat.at is 'when any process last beat';
comment on column heartbeat.resumed_at is 'the end of the last time in which none did';
insert into heartbeat (at, resumed_at) values ('-infinity', '-infinity');

-- When a player was last heard of. Apart from player, because it is written every few seconds.
create table heard (
    player_id uuid primary key constraint heard_player references player,
    at timestamptz not null
) with (fillfactor = 50);
comment on column heard.at is 'the last request, or the last moment of a waiting one; written every few seconds';

-- Games that are running already: their turns begin now.
update game set turn_began = now() where status = 'running';
alter table game alter column turn_began set default now();

insert into due (game_id, kind, at)
select g.id, 'computer', now() from game g where g.status = 'running' and g.computer_turn;

insert into due (game_id, kind, at)
select g.id,
       (case when s.player_id is null or g.to_move = any(g.departed) then 'abandon'
             when g.deadline is not null then 'clock'
             else 'away' end)::due_kind,
       now()
from game g join seat s on s.game_id = g.id and s.seat = g.to_move
where g.status = 'running' and not g.computer_turn
  and (s.player_id is null or g.to_move = any(g.departed) or g.deadline is not null
       or (g.options ->> 'away_seconds' is not null
           and exists (select from seat o where o.game_id = g.id and o.seat <> g.to_move and o.player_id is not null
                                            and o.seat <> all(g.departed))));

update due set at = now() + interval '30 days' where kind = 'abandon';
update game set deadline = now() + make_interval(secs => (options ->> 'turn_seconds')::float8)
where id in (select game_id from due where kind = 'clock');
update game g set deadline = null
where g.deadline is not null and not exists (select from due d where d.game_id = g.id and d.kind = 'clock');
update due d set at = g.deadline + interval '1 second' from game g where g.id = d.game_id and d.kind = 'clock';

alter table game drop column computer_turn;
