//! `thermocline trace`: look at traces, convert them, make them.

mod convert;
mod formats;
mod generate;
mod info;
mod split;
mod target;

use crate::{args::trace::TraceCommand, console::Console, exit::Failure};

/// Runs a subcommand.
pub fn run(command: &TraceCommand, console: Console) -> Result<(), Failure> {
    match command {
        TraceCommand::Info(args) => info::run(args, console),
        TraceCommand::Convert(args) => convert::run(args, console),
        TraceCommand::Split(args) => split::run(args, console),
        TraceCommand::Generate(args) => generate::run(args, console),
        TraceCommand::Formats(args) => formats::run(args),
    }
}
