//! The service through HTTP, against a real PostgreSQL: one database and one server for each test.

mod harness;
mod moves;
