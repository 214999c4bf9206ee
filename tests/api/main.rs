//! The service through HTTP, against a real PostgreSQL: one database and one server for each test.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it should be")]

mod abandoned;
mod analysis;
mod audit;
mod away;
mod bad_fields;
mod bad_input;
mod bad_requests;
#[path = "../../src/fuzzing/changes.rs"]
mod changes;
mod clock;
mod clock_races;
mod computer;
mod conformance;
mod document;
mod ended;
mod fuzz;
mod groups;
mod habits;
mod harness;
mod hints;
mod idempotency;
mod identity;
mod leaderboards;
mod leases;
mod ledgers;
mod limits;
mod lists;
mod metrics;
mod moves;
mod no_shows;
mod operations;
mod outlook;
mod personal_tokens;
mod polling;
mod positions;
mod previews;
mod rated_games;
mod rated_races;
mod ratings;
mod records;
mod rematch;
mod resign_and_leave;
mod reviews;
mod round_trips;
mod scopes;
mod start;
mod statistics;
mod thinking;
mod tickets;
mod tokens;
mod transport;
mod turn_left;
mod variants;
mod visibility;
