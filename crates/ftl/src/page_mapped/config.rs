//! How a page-mapped layer is set up, and what its chip is formatted as.

use thermocline_policy::{
    bank::BankAssignment,
    trigger::{Pacing, Trigger, Watermarks},
    wear::WearLeveling,
};

/// How a page-mapped layer is set up, beside its policies.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Logical pages it exports.
    pub logical_pages: u32,
    /// Which bank a page goes to.
    pub bank_assignment: BankAssignment,
    /// The trigger of garbage collection.
    pub trigger: Trigger,
    /// The numbers of free blocks, in each bank, at which it starts and stops.
    pub watermarks: Watermarks,
    /// Whether victims are cleaned in steps, and how long these may be. Placements that sort the survivors
    /// of whole victims clean them whole.
    pub pacing: Pacing,
    /// Blocks cleaned at once, where the placement sorts survivors: those of all are sorted
    /// together.
    pub batch: u32,
    /// Free blocks in each bank that are made in idle time; none beyond the watermarks if 0.
    pub idle_free: u32,
    /// Pages written as read-only go to blocks of their own.
    pub read_only_separation: bool,
    /// Wear levelling.
    pub wear_leveling: WearLeveling,
}

impl Config {
    /// Cleaning only when out of space, one block at a time; nothing else switched on.
    #[must_use]
    pub fn new(logical_pages: u32) -> Self {
        Self {
            logical_pages,
            bank_assignment: BankAssignment::Static,
            trigger: Trigger::Lazy,
            watermarks: Watermarks::default(),
            pacing: Pacing::Off,
            batch: 1,
            idle_free: 0,
            read_only_separation: false,
            wear_leveling: WearLeveling::None,
        }
    }
}

/// How a chip is formatted, beside its layer's configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Format {
    /// A number that no other chip has.
    pub id: [u8; 16],
    /// When, by the clock of whoever formats.
    pub created: u64,
}
