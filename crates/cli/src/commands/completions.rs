//! `thermocline completions`: scripts for shells.

use crate::{
    args::{self, catalogue::CompletionsArgs},
    exit::Failure,
    output::Output,
};

/// Prints the script.
pub fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(), "thermocline", &mut script);
    Output::open(None)?.put(&script)
}
