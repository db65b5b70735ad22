//! `thermocline stat`: how a chip is, in the manner of `zpool status`.

use serde::Serialize;
use thermocline_flash::{BlockId, Condition, Flash};
use thermocline_ftl::{EndOfLife, Mount};
use thermocline_media::Medium;
use thermocline_sim::units;

use crate::{
    args::store::ChipArgs,
    chips::{self, Access},
    exit::Failure,
    output::Output,
    print::{json, number, table::Pairs},
};

/// How a chip is.
#[derive(Debug, Serialize)]
struct Status {
    image: String,
    device: String,
    id: String,
    format_version: u16,
    /// What is the matter, in a word.
    state: &'static str,
    /// What to do.
    action: &'static str,
    exported_bytes: u64,
    logical_pages: u32,
    page_size: u32,
    pages_with_data: u32,
    blocks: u32,
    index_blocks: u32,
    free_blocks: u32,
    bad_blocks: u32,
    unreadable_pages: u64,
    /// Blocks that may fail before the chip takes no more writes, with the policy that `serve` takes by
    /// default; none where that policy does not fit.
    spare_blocks: Option<u32>,
    wear: Wear,
}

/// Erase counts of blocks that can be used.
#[derive(Debug, Serialize)]
struct Wear {
    mean: f64,
    min: u32,
    max: u32,
    endurance: u32,
}

/// Looks, and tells.
pub fn run(args: &ChipArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let access = Access { read_only: true, ..Access::default() };
    let served = chips::as_served(&args.chip)?;
    let opened = chips::open(&args.chip, &access)?;
    let (summary, profile) = (opened.summary, opened.device.profile.clone());
    let (layer, recovery) = chips::mount(opened, Mount::Quick)?;
    let geometry = *layer.chip().geometry();
    let used = (0..geometry.blocks()).map(BlockId).filter(|&block| !layer.chip().is_bad(block));
    let erases: Vec<u32> = used.map(|block| layer.chip().erase_count(block)).collect();
    let health = layer.chip().health();
    let (state, action) = match () {
        () if layer.inspect().end_of_life() == Some(EndOfLife::IndexLog) => (
            "read-only: the blocks of the index log are used up",
            "copy the data to another chip; this one can only be read",
        ),
        () if layer.inspect().is_read_only() || served.is_some_and(|served| served.is_over) => {
            ("read-only: worn out", "copy the data to another chip; this one can only be read")
        }
        () if !recovery.clean => {
            ("in use or crashed", "none: the next mount recovers all that was flushed")
        }
        () if recovery.unreadable_pages > 0 => (
            "has pages that cannot be read",
            "run `thermocline check` to see whether data are lost",
        ),
        () => ("unmounted in order", "none; `thermocline check` reads and verifies all data"),
    };
    let status = Status {
        image: args.chip.to_string(),
        device: profile.name,
        id: summary.id.iter().map(|byte| format!("{byte:02x}")).collect(),
        format_version: summary.version,
        state,
        action,
        exported_bytes: u64::from(summary.logical_pages) * u64::from(geometry.page_size),
        logical_pages: summary.logical_pages,
        page_size: geometry.page_size,
        pages_with_data: recovery.pages_found,
        blocks: geometry.blocks(),
        index_blocks: geometry.system_blocks,
        free_blocks: layer.inspect().free_blocks().unwrap_or(0),
        bad_blocks: health.bad_blocks,
        unreadable_pages: recovery.unreadable_pages,
        spare_blocks: served.map(|served| served.spare_blocks),
        wear: Wear {
            mean: erases.iter().copied().map(f64::from).sum::<f64>() / erases.len().max(1) as f64,
            min: erases.iter().copied().min().unwrap_or(0),
            max: erases.iter().copied().max().unwrap_or(0),
            endurance: profile.rules.endurance,
        },
    };
    if args.json { json::print(&status, output) } else { show(&status, output) }
}

/// How many blocks may fail.
pub fn spare_text(spare_blocks: Option<u32>) -> String {
    spare_blocks.map_or_else(
        || format!("the default policy, {}, does not fit", chips::SERVED),
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
    pairs.add("exported", units::show_size(status.exported_bytes));
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
