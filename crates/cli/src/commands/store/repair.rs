//! `thermocline repair`: the tables rebuilt from the pages, and a fresh checkpoint.

use serde::Serialize;
use thermocline_flash::Flash;
use thermocline_ftl::{Layer, Mount};
use thermocline_sim::SimError;

use crate::{
    args::store::ChipArgs,
    chips::{self, Access},
    exit::Failure,
    output::Output,
    print::{json, number, table::Pairs},
};

/// What was done.
#[derive(Debug, Serialize)]
struct Repaired {
    image: String,
    areas_read: u64,
    pages_with_data: u32,
    unreadable_pages: u64,
}

/// Repairs, and says what was found.
pub fn run(args: &ChipArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let failed = |e: &dyn std::fmt::Display| SimError::Failed(format!("{}: {e}", args.chip));
    let opened = chips::open(&args.chip, &Access::default())?;
    let (mut layer, recovery) = chips::mount(opened, Mount::FromPages)?;
    layer.check().map_err(|e| failed(&e))?;
    layer.unmount(recovery.newest_time.saturating_add(1)).map_err(|e| failed(&e))?;
    layer.chip_mut().sync().map_err(|e| failed(&e))?;
    let repaired = Repaired {
        image: args.chip.to_string(),
        areas_read: recovery.areas_read,
        pages_with_data: recovery.pages_found,
        unreadable_pages: recovery.unreadable_pages,
    };
    if args.json {
        return json::print(&repaired, output);
    }
    let mut pairs = Pairs::new(&output);
    pairs.group(&repaired.image);
    pairs.add("out-of-band areas read", number::grouped(repaired.areas_read));
    pairs.add("logical pages with data", number::grouped(repaired.pages_with_data.into()));
    pairs.add("pages that cannot be read", number::grouped(repaired.unreadable_pages));
    let text =
        pairs.finish() + "The tables were rebuilt from the pages; a checkpoint was written.\n";
    output.put_styled(&text)
}
