//! What the journal needs from a layer: where its pages are, how full its blocks are, and the chip.

use thermocline_flash::{BlockId, Flash, Lpn, Ppn};

use crate::{
    Counters,
    journal::{LOST, durability::Durability},
};

/// How far a block is programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// It is free, or cannot be used.
    Blank,
    /// Up to that data page at most, and more pages may follow.
    UpTo(u32),
    /// Nothing more is programmed before it is erased.
    Full,
}

/// A layer that keeps a journal.
pub(crate) trait Journaled {
    /// The chip below.
    type Chip: Flash;

    /// The chip.
    fn chip(&self) -> &Self::Chip;

    /// The chip, to be programmed.
    fn chip_mut(&mut self) -> &mut Self::Chip;

    /// Logical pages.
    fn logical_pages(&self) -> u32;

    /// Whether a logical page holds no data.
    fn is_absent(&self, lpn: Lpn) -> bool;

    /// Whether the data of a logical page are lost, or are nowhere on the chip just now.
    fn is_lost(&self, lpn: Lpn) -> bool {
        self.map_entry(lpn).0 == LOST
    }

    /// Where a logical page is and its note, as the map of a checkpoint has them.
    fn map_entry(&self, lpn: Lpn) -> (Ppn, u16);

    /// How far a block of data is programmed.
    fn filled(&self, block: BlockId) -> Filled;

    /// Whether the pages of each block are programmed in ascending order.
    fn in_order(&self) -> bool;

    /// The numbers of programs.
    fn durability(&self) -> &Durability;

    /// The numbers of programs, to be changed.
    fn durability_mut(&mut self) -> &mut Durability;

    /// The counters of the layer.
    fn counters_mut(&mut self) -> &mut Counters;

    /// Whether the layer takes no more writes.
    fn is_over(&self) -> bool;

    /// No block is left for the log: the layer takes no more writes.
    fn log_exhausted(&mut self);
}
