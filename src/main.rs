//! The command line; everything it does is in the library.

use std::process::ExitCode;

use clap::Parser;
use mancala_server::commands;
use mancala_server::config::CommandLine;

fn main() -> ExitCode {
    commands::run(CommandLine::parse())
}
