//! `thermocline measured import`: makes a measurement from the output of tools.

use thermocline_measured::{Options, import};

use super::{bad, open, write};
use crate::{args::measured::ImportArgs, console::Console, exit::Failure};

/// Reads the printouts and writes the measurement.
pub fn run(args: &ImportArgs, console: Console) -> Result<(), Failure> {
    let output = open(&args.target)?;
    let options = Options { every: args.every.map(|ns| ns as f64 / 1e9) };
    let imported = import(&args.files, &options).map_err(|e| bad(&e))?;
    write(&imported, &args.target, output, console)
}
