//! An image on a store that loses, tears and reorders what was not synced.
//!
//! `THERMOCLINE_SEED=n` runs history `n` alone.

mod faults;
mod log;
mod marks;
mod runs;
mod volatile;

use thermocline_flash::{Geometry, Kind, Rules};

use super::Header;
use log::Log;

/// A chip of a few short blocks, each page several sectors.
struct Chip {
    kind: Kind,
    in_order: bool,
}

impl Chip {
    fn header(&self) -> Header {
        let is_nor = self.kind == Kind::Nor;
        let geometry = Geometry {
            banks: 1,
            channels: 1,
            blocks_per_bank: 10,
            pages_per_block: 20,
            page_size: 1024,
            oob_size: if is_nor { 0 } else { 64 },
            header_pages: u32::from(is_nor),
            system_blocks: 1,
        };
        let rules = Rules { in_order: self.in_order, endurance: 1000, initial_bad_blocks: 0 };
        Header { id: [7; 16], kind: self.kind, geometry, rules, profile: "test".into() }
    }
}

/// Histories, each with several losses of power and ends of the process.
fn histories(chip: &Chip, count: u64) {
    let only = std::env::var("THERMOCLINE_SEED").ok().and_then(|seed| seed.parse().ok());
    let (mut cuts, mut unreadable, mut came_back) = (0, 0, 0);
    for seed in only.map_or(0..count, |seed| seed..seed + 1) {
        let run = || {
            let mut log = Log::new(chip, seed);
            for _ in 0..6 {
                for _ in 0..log.draw.below(400) {
                    log.step();
                }
                let power = log.draw.percent(80);
                log.crash(power);
            }
            (log.cuts, log.unreadable, log.came_back)
        };
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        let Ok(seen) = run else { panic!("history {seed}; THERMOCLINE_SEED={seed} replays it") };
        (cuts, unreadable, came_back) = (cuts + seen.0, unreadable + seen.1, came_back + seen.2);
    }
    println!("{cuts} cuts, {unreadable} unreadable pages, {came_back} pages of erased blocks");
    if only.is_none() {
        // The histories must be such that something can go wrong.
        assert!(cuts > 3 * count && unreadable > cuts / 2 && came_back > cuts / 2);
    }
}

#[test]
fn nand_in_order_keeps_what_was_synced_whatever_a_loss_of_power_tears() {
    histories(&Chip { kind: Kind::Nand, in_order: true }, 600);
}

#[test]
fn nand_in_any_order_keeps_what_was_synced_whatever_a_loss_of_power_tears() {
    histories(&Chip { kind: Kind::Nand, in_order: false }, 300);
}

#[test]
fn nor_keeps_what_was_synced_whatever_a_loss_of_power_tears() {
    histories(&Chip { kind: Kind::Nor, in_order: false }, 300);
}
