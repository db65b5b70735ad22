//! `thermocline stat`: how a chip is, in the manner of `zpool status`.

use thermocline_assembly::{Status, chips::SERVED, status};
use thermocline_units::show_size;

use crate::{
    args::store::ChipArgs,
    exit::Failure,
    output::Output,
    print::{json, number, table::Pairs},
};

/// Looks, and tells.
pub fn run(args: &ChipArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let status = status(&args.chip)?;
    if args.json { json::print(&status, output) } else { show(&status, output) }
}

/// How many blocks may fail.
pub fn spare_text(spare_blocks: Option<u32>) -> String {
    spare_blocks.map_or_else(
        || format!("the default policy, {}, does not fit", SERVED),
        |spare| number::counted(spare.into(), "block"),
    )
}

fn show(status: &Status, output: Output) -> Result<(), Failure> {
    let mut pairs = Pairs::new(&output);
    let grouped = |n: u32| number::grouped(n.into());
    pairs.group(&status.image);
    pairs.add("device", status.device.clone());
    pairs.add("id", status.id.clone());
    pairs.add("state", status.state);
    pairs.add("action", status.action);
    pairs.group("space");
    pairs.add("exported", show_size(status.exported_bytes));
    pairs.add("logical pages", grouped(status.logical_pages));
    pairs.add("of these, with data", grouped(status.pages_with_data));
    pairs.add("erase blocks", grouped(status.blocks));
    pairs.add("of these, free", grouped(status.free_blocks));
    pairs.add("of these, index log", grouped(status.index_blocks));
    pairs.group("wear");
    pairs.add(
        "erases of a block",
        format!(
            "{} mean, {} to {}, of {}",
            number::fixed(status.wear.mean, 1),
            grouped(status.wear.min),
            grouped(status.wear.max),
            grouped(status.wear.endurance)
        ),
    );
    pairs.group("errors");
    pairs.add("bad blocks", grouped(status.bad_blocks));
    pairs.add("may still fail before read-only", spare_text(status.spare_blocks));
    pairs.add("pages that cannot be read", number::grouped(status.unreadable_pages));
    output.put_styled(&pairs.finish())
}
