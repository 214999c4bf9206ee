-- Who is connected, and where. Both tables are unlogged: nothing in them is worth more than a few seconds, and after a
-- crash of the database, which empties them, every process finds that its row is gone and writes all of it anew.

-- The server processes that are there.
create unlogged table process (
    id uuid primary key,
    at timestamptz not null
) with (fillfactor = 10);
comment on table process is 'the server processes: whoever has not beaten for five seconds counts for nothing, and is removed by the others after half a minute';
comment on column process.at is 'when it last beat, about once a second';

-- No reference to player: that would lock the player's row, and these rows go when the streams end.
create unlogged table connected (
    player_id uuid,
    process_id uuid constraint connected_process references process on delete cascade,
    primary key (player_id, process_id)
);
comment on table connected is 'players who have at least one stream open at a process, or had one a few seconds ago';
create index connected_by_process on connected (process_id);
