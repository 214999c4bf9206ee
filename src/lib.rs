//! Mancala Server: a REST service for Kalah and Basic Mancala, for two to four players.
//!
//! The map, from the pure middle outwards; a test enforces who may import whom:
pub mod cpu; // computer players
pub mod embedded; // the private PostgreSQL
pub mod engine; // the rules of both games, pure
