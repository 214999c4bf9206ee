//! Mancala Server: a REST service for Kalah and Basic Mancala, for two to four players.
//!
//! The map, from the pure middle outwards; a test enforces who may import whom:
pub mod account; // names, tokens
pub mod budget; // how many requests of which class
pub mod commands; // what the command line does
pub mod config; // what a flag or the environment can set
pub mod cpu; // computer players
pub mod embedded; // the private PostgreSQL
pub mod engine; // the rules of both games, pure
#[cfg(test)]
mod fuzzing; // for tests: what strangers might send
pub mod http; // routes, wire types, errors
pub mod ids; // one newtype per id
pub mod matching; // who plays whom in ranked games, pure
pub mod options; // local rules as asked and as they take effect
pub mod pool; // pools of ratings
pub mod proxies; // which proxies are believed
pub mod rating; // the rating formulas, pure
pub mod server; // puts the parts together and runs them
pub mod service; // use cases; all transactions
pub mod store; // all SQL
pub mod telemetry; // logs and metrics
pub mod texts; // the games told in three languages
pub mod tls; // a certificate and its key
pub mod worker; // background loops
