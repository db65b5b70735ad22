//! What every operation works on: the chip, the policy, and the types that keep the promises.
//!
//! Each part keeps its own invariants behind its methods. What two of them promise together is here:
//! a bank's valid counts follow the map.

use thermocline_flash::{Chip, Flash, Lpn, Oob, Ppn, Retrying};
use thermocline_policy::placement::{PageState, Placement};

use super::{
    banks::Banks, config::Config, durability::Durability, failures::Failures, open_block::Target,
    tables::Tables, worded::Worded,
};
use crate::Counters;

/// The parts of a layer beside its journal and its cleaner.
pub(super) struct Parts<C, P: ?Sized = dyn Worded> {
    pub(super) chip: Retrying<C>,
    pub(super) config: Config,
    pub(super) tables: Tables,
    pub(super) banks: Banks,
    pub(super) durability: Durability,
    pub(super) failures: Failures,
    pub(super) counters: Counters,
    pub(super) placement: P,
}

impl<C: Chip, P: Placement> Parts<C, P> {
    /// The parts of an erased chip, without a journal.
    pub(super) fn new(chip: Retrying<C>, placement: P, config: Config, banks: Banks) -> Self {
        Self {
            tables: Tables::new(chip.geometry(), config.logical_pages, P::Page::KEPT),
            banks,
            durability: Durability::default(),
            failures: Failures::new(config.logical_pages),
            counters: Counters::default(),
            chip,
            placement,
            config,
        }
    }

    /// The same, whatever the placement: for what is compiled once for all.
    #[inline(always)]
    pub(super) fn any(&mut self) -> &mut Parts<C> {
        self
    }
}

impl<C: Chip, P: Worded + ?Sized> Parts<C, P> {
    /// What is programmed beside the next page, which has that word.
    #[inline(always)]
    pub(super) fn oob(&mut self, lpn: Lpn, word: u64, stream: u8, now: u64) -> Oob {
        let sequence = self.durability.next();
        Oob { lpn, stream, sequence, time: now, note: self.placement.saved(lpn, word) }
    }

    /// The word of a page; 0 where none are kept.
    #[inline(always)]
    pub(super) fn word(&self, lpn: Lpn) -> u64 {
        let kept = self.placement.kept();
        if kept.is_any() { self.tables.word(kept, lpn) } else { 0 }
    }

    /// The placement keeps another word of a page that holds data.
    #[inline(always)]
    pub(super) fn set_word(&mut self, lpn: Lpn, word: u64) {
        let kept = self.placement.kept();
        if kept.is_any() {
            self.tables.set_word(kept, lpn, word);
        }
    }

    /// The newest data of a page are there from now on, with that word.
    #[inline(always)]
    pub(super) fn point(&mut self, lpn: Lpn, word: u64, to: Target) {
        self.tables.point(self.placement.kept(), lpn, word, to);
    }

    /// The copy of `lpn` at `old` is no longer current.
    #[inline(always)]
    pub(super) fn invalidate(&mut self, lpn: Lpn, old: Ppn, now: u64) {
        let block = self.tables.shape().block_of(old);
        let bank = self.banks.bank_of(block);
        let home = &mut self.banks[bank];
        if self.placement.is_hot(lpn) {
            home.warm(block, -1);
        }
        home.invalidate(block, now);
    }

    /// The temperature of a page with data changed where it lies.
    pub(super) fn warm(&mut self, lpn: Lpn, by: i32) {
        if let Some(at) = self.tables.current(lpn) {
            let block = self.tables.shape().block_of(at);
            let bank = self.banks.bank_of(block);
            self.banks[bank].warm(block, by);
        }
    }
}
