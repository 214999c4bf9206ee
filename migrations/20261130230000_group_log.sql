-- Groups get a log with the habits of a game's: events numbered from 1, which replay to the group.
create type group_event_kind as enum ('created', 'joined', 'left', 'settings', 'game');

alter table play_group add column seq integer not null default 0;
comment on column play_group.seq is 'the number of events in the log; the only cursor there is';

-- Every statement that changes a group or its members adds the event that says so.
create table group_event (
    group_id uuid not null constraint group_event_group references play_group,
    seq integer not null constraint group_event_counts_from_1 check (seq > 0),
    at timestamptz not null default clock_timestamp(),
    kind group_event_kind not null,
    member_id uuid,
    position bigint,
    player_id uuid constraint group_event_player references player,
    level text,
    host_id uuid,
    settings jsonb,
    game_id uuid constraint group_event_game references game,
    primary key (group_id, seq),
    constraint group_event_begins_with_created check ((kind = 'created') = (seq = 1)),
    constraint group_event_member check (
        case when kind = 'created' then true else (member_id is not null) = (kind in ('joined', 'left')) end),
    constraint group_event_person_or_computer check (
        num_nonnulls(player_id, level) = num_nonnulls(member_id)
        and num_nonnulls(position) = num_nonnulls(member_id)),
    constraint group_event_host check (host_id is null or member_id is not null),
    constraint group_event_settings check ((settings is not null) = (kind in ('created', 'settings'))),
    constraint group_event_game_began check ((game_id is not null) = (kind = 'game'))
);
create index group_event_by_player on group_event (player_id, group_id, seq) where player_id is not null;
comment on table group_event is 'the log of groups; players are named by id only, so that their names are always those of now';
comment on column group_event.at is 'by the clock when the group was locked, so that times never run against the order of events';
comment on column group_event.kind is 'created: with its settings and, unless the log was begun later, its first member; joined, left: a member; settings: all of them, as they are from then on; game: the next one began';
comment on column group_event.member_id is 'group_member.id of who came or went; the row there goes with the member';
comment on column group_event.position is 'group_member.position of the same';
comment on column group_event.host_id is 'the member that became the host by this event';
comment on column group_event.settings is 'variant, options as they were asked for, and private, after the event';

-- Groups that are there already: nobody has written down what happened to them, but a log that gives their present state
-- can be told. Ids hold the milliseconds of their making, so it is known when the present members came.
with member as (
    select m.*, greatest(g.created_at, max(to_timestamp(
               ('x' || left(replace(m.id::text, '-', ''), 12))::bit(48)::bigint / 1000.0))
               over (partition by m.group_id order by m.position)) as at
    from group_member m join play_group g on g.id = m.group_id
), event as (
    select id as group_id, 0 as rank, created_at as at, 'created' as kind, null::uuid as member_id, null::bigint as position,
           null::uuid as player_id, null::text as level, null::uuid as host_id,
           jsonb_build_object('variant', variant, 'options', options, 'private', private) as settings, null::uuid as game_id
    from play_group
    union all
    select group_id, 1, at, 'joined', id, position, player_id, level, case when host then id end, null, null from member
    union all
    select g.id, 1, greatest(g.created_at, n.created_at), 'game', null, null, null, null, null, null, n.id
    from play_group g join game n on n.id = g.game_id
)
insert into group_event (group_id, seq, at, kind, member_id, position, player_id, level, host_id, settings, game_id)
select group_id, row_number() over (partition by group_id order by rank, at, position), at, kind::group_event_kind,
       member_id, position, player_id, level, host_id, settings, game_id
from event;

update play_group g set seq = (select count(*) from group_event e where e.group_id = g.id);
