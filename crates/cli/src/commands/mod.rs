//! One file a subcommand.

mod compare;
mod completions;
mod devices;
mod diff;
mod identify;
mod keys;
mod man;
mod measured;
mod policies;
mod predict;
mod record;
mod reproduce;
mod run;
mod store;
mod sweep;
mod trace;
mod tune;
mod watch;
mod workloads;

use crate::{
    args::{Cli, Command},
    console::Console,
    exit::Failure,
};

/// Runs a command.
pub fn run(cli: Cli) -> Result<(), Failure> {
    let console = Console::new(cli.quiet, cli.no_progress);
    match cli.command {
        Command::Run(args) => run::run(*args, console),
        Command::Compare(args) => compare::run(*args, console),
        Command::Sweep(args) => sweep::run(*args, console),
        Command::Tune(args) => tune::run(*args, console),
        Command::Watch(args) => watch::run(&args, console),
        Command::Reproduce(args) => reproduce::run(*args, console),
        Command::Trace(args) => trace::run(&args, console),
        Command::Record(args) => record::run(&args, console),
        Command::Measured(args) => measured::run(&args, console),
        Command::Identify(args) => identify::run(&args, console),
        Command::Predict(args) => predict::run(*args, console),
        Command::Format(args) => store::format::run(&args),
        Command::Serve(args) => store::serve::run(&args, cli.quiet),
        Command::Check(args) => store::check::run(&args, console),
        Command::Repair(args) => store::repair::run(&args, console),
        Command::Stat(args) => store::stat::run(&args),
        Command::Ctl(args) => store::ctl::run(&args),
        Command::Top(args) => store::top::run(&args),
        Command::Backup(args) => store::copy::backup(&args, console),
        Command::Export(args) => store::copy::export(&args, console),
        Command::Import(args) => store::copy::import(&args, console),
        Command::Grow(args) => store::copy::grow(&args, console),
        Command::Dump(args) => store::dump::run(&args),
        Command::Policies(args) => policies::run(&args),
        Command::Devices(args) => devices::run(&args),
        Command::Workloads(args) => workloads::run(&args),
        Command::Keys(args) => keys::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
