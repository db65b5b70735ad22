//! `thermocline format`: a chip, and an empty store on it.

use thermocline_assembly::{FormatOptions, Formatted, format};
use thermocline_study::jobs;
use thermocline_units::show_size;

use super::stat;
use crate::{
    args::store::FormatArgs,
    exit::Failure,
    output::Output,
    print::{json, number, table::Pairs},
};

/// Formats a chip and prints the result.
pub fn run(args: &FormatArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let options = FormatOptions {
        device: jobs::device(&args.shape)?,
        over_provisioning: args.over_provisioning,
        layer: args.layer,
        preallocate: args.preallocate,
        force: args.force,
    };
    let made = format(&args.chip, &options)?;
    if args.json { json::print(&made, output) } else { show(&made, output) }
}

fn show(made: &Formatted, output: Output) -> Result<(), Failure> {
    let mut pairs = Pairs::new(&output);
    pairs.group(&made.image);
    pairs.add("device", made.device.clone());
    pairs.add("exported", show_size(made.exported_bytes));
    pairs.add("chip", show_size(made.chip_bytes));
    pairs.add("logical pages", number::grouped(made.logical_pages.into()));
    pairs.add("page", show_size(made.page_size.into()));
    pairs.add("erase blocks", number::grouped(made.blocks.into()));
    pairs.add("of these, index log", made.index_blocks.to_string());
    pairs.add("bad", made.bad_blocks.to_string());
    pairs.add("may fail before read-only", stat::spare_text(made.spare_blocks));
    if let Some(caution) = made.caution {
        pairs.add("caution", caution);
    }
    output.put_styled(&pairs.finish())
}
