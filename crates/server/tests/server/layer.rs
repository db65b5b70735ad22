//! A page-mapped layer over a chip in memory.

use thermocline_assembly::policy::Call;
use thermocline_flash::{Geometry, Rules};
use thermocline_ftl::{Config, PageMapped};
use thermocline_media::{Medium, Ram};
use thermocline_policy::{Context, placement::Sequential, victim};
use thermocline_server::AnyLayer;

/// A chip of `blocks` blocks of 64 pages of 4 KiB.
#[must_use]
pub fn geometry(blocks: u32) -> Geometry {
    Geometry {
        banks: 1,
        channels: 1,
        blocks_per_bank: blocks,
        pages_per_block: 64,
        page_size: 4096,
        oob_size: 32,
        header_pages: 0,
        system_blocks: 0,
    }
}

/// The rules of chips in memory here.
pub const RULES: Rules = Rules { in_order: true, endurance: 100_000, initial_bad_blocks: 0 };

/// That chip in memory.
#[must_use]
pub fn ram(blocks: u32) -> Box<dyn Medium> {
    Box::new(Ram::new(geometry(blocks), RULES))
}

/// A layer with `pages` logical pages; cleans ahead in idle time until `idle_free` blocks are free.
///
/// # Panics
/// If there is no such victim policy, or the chip is too small.
#[must_use]
pub fn page_mapped(chip: Box<dyn Medium>, policy: &str, pages: u32, idle_free: u32) -> AnyLayer {
    let geometry = *chip.geometry();
    let context = Context {
        logical_pages: pages,
        blocks: geometry.blocks(),
        pages_per_block: geometry.data_pages_per_block(),
        banks: geometry.banks,
        time_scale: 1e9,
        seed: 1,
        ..Context::smallest()
    };
    let call = Call::parse(policy).expect("it is a name with arguments");
    let entry = victim::find(&call.name).expect("there is such a victim policy");
    let victim = |_| (entry.build)(&call.args, &context).expect("its arguments are right");
    let config = Config { idle_free, ..Config::new(pages) };
    Box::new(PageMapped::new(chip, Sequential, victim, config).expect("the chip is large enough"))
}
