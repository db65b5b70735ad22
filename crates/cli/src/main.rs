//! The command `thermocline`: parsing, printing and exit codes around the simulator and the traces.

mod args;
mod commands;
mod console;
mod exit;
mod interrupt;
mod output;
mod pictures;
mod print;
mod progress;
mod watching;

use std::process::ExitCode;

use thermocline_sim::HugePages;

/// Translation tables of large devices are read at random.
#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

fn main() -> ExitCode {
    exit::guarded(|| {
        let cli = match args::parse() {
            Ok(cli) => cli,
            Err(refused) => return exit::refused(&refused),
        };
        // A server has its own way to stop.
        if !matches!(cli.command, args::Command::Serve(_)) {
            interrupt::install();
        }
        exit::of(commands::run(cli))
    })
}
