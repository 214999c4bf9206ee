-- What the moves of a finished two-player game of Kalah were worth, computed once.
create table review (
    game_id uuid primary key constraint review_game references game,
    margins smallint[] not null,
    best smallint[] not null,
    created_at timestamptz not null default now()
);
comment on column review.margins is 'before the first move and after each: what seat 0 would have more in its store at the end than seat 1 under best play; null where that was not found in time';
comment on column review.best is 'by move: a pit that keeps the margin before it; null where none was found in time';
comment on column review.created_at is 'when it was computed; how much is known depends on the searches of that day';
