//! Mancala Server: a REST service for Kalah and Basic Mancala, for two to four players.
//!
//! The map, from the pure middle outwards; a test enforces who may import whom:
pub mod engine; // the rules of both games, pure
