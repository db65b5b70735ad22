//! How a chip is, in the manner of `zpool status`.

use std::ops::Range;

use serde::Serialize;
use thermocline_flash::{BlockId, Condition, Flash};
use thermocline_ftl::{BankState, EndOfLife, Mount, Recovery};
use thermocline_media::{Medium, Place};

use crate::{
    Access, AnyLayer, AssemblyError,
    chips::{self, Chip},
};

/// How a chip is.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The chip, as it was named.
    pub image: String,
    /// The name of its device.
    pub device: String,
    /// The identifier it was formatted with.
    pub id: String,
    /// The version of the format.
    pub format_version: u16,
    /// The kind of layer.
    pub layer: &'static str,
    /// The state, in a few words.
    pub state: &'static str,
    /// The remedy.
    pub action: &'static str,
    /// Damage of the medium's own data beside the chip's pages, in words.
    pub ailments: Vec<String>,
    /// Bytes that the store exports.
    pub exported_bytes: u64,
    /// Exported pages.
    pub logical_pages: u32,
    /// Bytes of a page.
    pub page_size: u32,
    /// Logical pages that hold data.
    pub pages_with_data: u32,
    /// Erase blocks of the chip.
    pub blocks: u32,
    /// Those of the index log.
    pub index_blocks: u32,
    /// Those that are free.
    pub free_blocks: u32,
    /// Those that are bad.
    pub bad_blocks: u32,
    /// Pages of the chip that cannot be read.
    pub unreadable_pages: u64,
    /// Blocks that may fail before the chip takes no more writes, with the policy that it is served with
    /// by default; none where that policy does not fit.
    pub spare_blocks: Option<u32>,
    /// Its wear.
    pub wear: Wear,
    /// Its banks.
    pub banks: Vec<BankStatus>,
}

/// How a bank is.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BankStatus {
    /// Free blocks of it.
    pub free_blocks: u32,
    /// Valid pages of it.
    pub current_pages: u32,
    /// Its wear.
    pub wear: Wear,
}

/// Erase counts of blocks that can be used.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Wear {
    /// Their mean.
    pub mean: f64,
    /// The least.
    pub min: u32,
    /// The most.
    pub max: u32,
    /// Rated P/E cycles of the device.
    pub endurance: u32,
}

/// Looks at a chip, and changes nothing.
///
/// # Errors
/// [`AssemblyError`], where it cannot be mounted.
pub fn status(place: &Place) -> Result<Status, AssemblyError> {
    let served = as_served(place)?;
    let opened = chips::open(place, &Access::read_only())?;
    let (summary, profile) = (opened.summary, opened.device.profile.clone());
    let (layer, recovery) = opened.mount(Mount::Quick)?;
    let geometry = *layer.chip().geometry();
    let (state, action) = state(&layer, &recovery, served);
    Ok(Status {
        image: place.to_string(),
        device: profile.name,
        id: summary.id.iter().map(|byte| format!("{byte:02x}")).collect(),
        format_version: summary.version,
        layer: chips::kind_of(summary.layer).name(),
        state,
        action,
        ailments: layer.chip().ailments(),
        exported_bytes: u64::from(summary.logical_pages) * u64::from(geometry.page_size),
        logical_pages: summary.logical_pages,
        page_size: geometry.page_size,
        pages_with_data: recovery.pages_found,
        blocks: geometry.blocks(),
        index_blocks: geometry.system_blocks,
        free_blocks: layer.inspect().free_blocks().unwrap_or(0),
        bad_blocks: layer.chip().health().bad_blocks,
        unreadable_pages: recovery.unreadable_pages,
        spare_blocks: served.map(|served| served.spare_blocks),
        wear: Wear::of(layer.chip(), 0..geometry.blocks(), profile.rules.endurance),
        banks: banks(&layer, profile.rules.endurance),
    })
}

fn banks(layer: &AnyLayer<Chip>, endurance: u32) -> Vec<BankStatus> {
    let each = layer.chip().geometry().blocks_per_bank;
    let of = |(number, bank): (u32, BankState)| BankStatus {
        free_blocks: bank.free_blocks,
        current_pages: bank.current_pages,
        wear: Wear::of(layer.chip(), number * each..(number + 1) * each, endurance),
    };
    (0..).zip(layer.inspect().banks()).map(of).collect()
}

/// The state and its remedy.
fn state(
    layer: &AnyLayer<Chip>,
    recovery: &Recovery,
    served: Option<AsServed>,
) -> (&'static str, &'static str) {
    const COPY: &str = "copy the data to another chip; this one can only be read";
    if layer.inspect().end_of_life() == Some(EndOfLife::IndexLog) {
        ("read-only: the blocks of the index log are used up", COPY)
    } else if layer.inspect().is_read_only() || served.is_some_and(|served| served.is_over) {
        ("read-only: worn out", COPY)
    } else if !layer.chip().ailments().is_empty() {
        (
            "damaged",
            "run `thermocline check`, then `thermocline repair`: it mends what there are two copies of",
        )
    } else if !recovery.clean && recovery.lost.is_empty() {
        ("in use or crashed", "none: the next mount recovers all that was flushed")
    } else if recovery.unreadable_pages > 0 || !recovery.lost.is_empty() {
        ("has pages that cannot be read", "run `thermocline check` to see whether data are lost")
    } else {
        ("unmounted in order", "none; `thermocline check` reads and verifies all data")
    }
}

impl Wear {
    fn of(chip: &Chip, blocks: Range<u32>, endurance: u32) -> Self {
        let used = blocks.map(BlockId).filter(|&block| !chip.is_bad(block));
        let erases: Vec<u32> = used.map(|block| chip.erase_count(block)).collect();
        Self {
            mean: erases.iter().copied().map(f64::from).sum::<f64>() / erases.len().max(1) as f64,
            min: erases.iter().copied().min().unwrap_or(0),
            max: erases.iter().copied().max().unwrap_or(0),
            endurance,
        }
    }
}

/// How a chip would do, served as by default.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsServed {
    /// It takes no more writes.
    is_over: bool,
    /// Blocks that may fail before that.
    pub(crate) spare_blocks: u32,
}

/// How a chip would do, served as by default; none where that policy does not fit on it.
pub(crate) fn as_served(place: &Place) -> Result<Option<AsServed>, AssemblyError> {
    let opened = chips::open(place, &Access::read_only())?;
    let policy = chips::served(opened.kind());
    let mounted = opened.mount_by(policy, Mount::Quick);
    Ok(mounted.ok().map(|(layer, _)| AsServed {
        is_over: layer.inspect().is_read_only(),
        spare_blocks: layer.inspect().spare_blocks().unwrap_or(0),
    }))
}
