# What is done often, by name. `just` lists it.

default:
    @just --list

# Serve on the private database.
run:
    cargo run --release

# Everything that CI checks first.
check:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings

test:
    cargo test

# A hundred times as many changed inputs for each parser as the tests try, and other ones.
fuzz:
    PROPTEST_CASES=200000 PROPTEST_RNG_SEED=$(date +%s) cargo test --lib -- fuzz tls

# Back up a database while games are played on it, restore it, audit it.
backup:
    cargo build
    .ci/backup.sh

# Look for tokens and passwords in everything that any crate logs during the tests.
secrets:
    .ci/secrets-in-logs.sh

# Sowings and searched positions per second, each against a reference.
bench:
    cargo bench --bench perft --bench search

# The matches of ranked play against somebody who knows the future, and how long a round of pairing takes.
matchmaking:
    cargo bench --bench matchmaking

# Whether the time of signing in tells which usernames there are.
sign-in:
    cargo bench --bench sign_in

# Each level against the one below, for hours; see benches/ladder.rs for less.
ladder:
    cargo bench --bench ladder

# Write the OpenAPI document anew.
openapi:
    cargo run --quiet -- openapi > openapi/openapi.json
    cargo run --quiet -- openapi --v3.0 > openapi/openapi-3.0.json

# Check the queries against DATABASE_URL (a migrated database) and write .sqlx anew.
sqlx:
    rm -rf .sqlx && mkdir .sqlx && touch src/lib.rs src/store/*.rs
    SQLX_OFFLINE=false SQLX_OFFLINE_DIR="$PWD/.sqlx" cargo check --all-targets
