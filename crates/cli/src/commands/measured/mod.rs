//! `thermocline measured`: counters of real drives.

mod formats;
mod import;
mod record;

use std::path::Path;

use thermocline_measured::{Imported, MeasuredError};
use thermocline_sim::SimError;

use crate::{
    args::measured::{MeasuredCommand, TargetArgs},
    console::Console,
    exit::Failure,
    output::Output,
};

/// Runs a subcommand.
pub fn run(command: &MeasuredCommand, console: Console) -> Result<(), Failure> {
    match command {
        MeasuredCommand::Import(args) => import::run(args, console),
        MeasuredCommand::Record(args) => record::run(args, console),
        MeasuredCommand::Formats(args) => formats::run(args),
    }
}

/// A fault of an input.
pub fn bad(error: &MeasuredError) -> Failure {
    SimError::Input(error.to_string()).into()
}

/// Opens the target before the work.
fn open(target: &TargetArgs) -> Result<Output, Failure> {
    Output::open(target.output.as_deref())
}

/// Writes a measurement, and reports its content.
fn write(
    imported: &Imported,
    target: &TargetArgs,
    output: Output,
    console: Console,
) -> Result<(), Failure> {
    imported.notes.iter().for_each(|note| console.note(note));
    let measurement = &imported.measurement;
    let is_json =
        |path: &Path| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
    let text = match target.output.as_deref().is_some_and(is_json) {
        true => measurement.json(),
        false => measurement.csv(),
    };
    output.put(text.as_bytes())
}
