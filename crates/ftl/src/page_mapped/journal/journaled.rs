//! What the journal asks of a layer: where its pages are, how full its blocks are, and the chip.

use thermocline_flash::{BlockId, Chip, Flash, Lpn, Ppn, Retrying};
use thermocline_policy::State;

use crate::{
    Counters,
    page_mapped::{durability::Durability, parts::Parts, tables::LOST},
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

    /// What the layer did.
    fn counters_mut(&mut self) -> &mut Counters;

    /// Whether the layer takes no more writes.
    fn is_over(&self) -> bool;

    /// No block is left for the log: the layer takes no more writes.
    fn log_exhausted(&mut self);
}

/// Once for all placements: it is called with one as a trait object.
impl<C: Chip> Journaled for Parts<C> {
    type Chip = Retrying<C>;

    fn chip(&self) -> &Retrying<C> {
        &self.chip
    }

    fn chip_mut(&mut self) -> &mut Retrying<C> {
        &mut self.chip
    }

    fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }

    fn is_absent(&self, lpn: Lpn) -> bool {
        self.tables.is_absent(lpn)
    }

    fn map_entry(&self, lpn: Lpn) -> (Ppn, u16) {
        if self.tables.is_lost(lpn) {
            return (LOST, 0);
        }
        let at = self.tables.data(lpn);
        (at, if at == Ppn::NONE { 0 } else { self.placement.saved(lpn, self.word(lpn)) })
    }

    fn filled(&self, block: BlockId) -> Filled {
        let bank = &self.banks[self.banks.bank_of(block)];
        match bank.block(block).state {
            State::Free | State::Unusable => Filled::Blank,
            State::Closed | State::Aside | State::Condemned => Filled::Full,
            State::Open => bank
                .stream_of(block)
                .map_or(Filled::Full, |stream| Filled::UpTo(bank.open(stream).programmed())),
        }
    }

    fn in_order(&self) -> bool {
        true
    }

    fn durability(&self) -> &Durability {
        &self.durability
    }

    fn durability_mut(&mut self) -> &mut Durability {
        &mut self.durability
    }

    fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn is_over(&self) -> bool {
        self.failures.is_read_only()
    }

    fn log_exhausted(&mut self) {
        self.failures.log_exhausted();
    }
}
