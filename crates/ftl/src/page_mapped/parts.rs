//! The state of the layer: the chip, the policy, and the types that keep the invariants.
//!
//! Each part keeps its own invariants behind its methods. The one invariant across two parts is kept
//! here: a bank's valid counts follow the map.

use alloc::boxed::Box;

use thermocline_flash::{BlockId, Chip, Flash, Lpn, Oob, Ppn, Retrying};
use thermocline_policy::{
    State,
    placement::{PageState, Placement},
};

use super::{
    banks::Banks, config::Config, failures::Failures, mount::LastPage, open_block::Target,
    synced_free::SyncedFree, tables::Tables, worded::Worded,
};
use crate::{
    Counters, FtlError,
    journal::{Filled, Journal, Journaled, LOST, durability::Durability},
};

/// The parts of a layer beside its cleaner.
pub(super) struct Parts<C, P: ?Sized = dyn Worded> {
    pub(super) chip: Retrying<C>,
    pub(super) config: Config,
    pub(super) tables: Tables,
    pub(super) banks: Banks,
    pub(super) durability: Durability,
    pub(super) failures: Failures,
    pub(super) counters: Counters,
    /// The page that was programmed last before the mount, where it may fade.
    pub(super) last: Option<LastPage>,
    /// Writes the index log; `None` in the simulator.
    pub(super) journal: Option<Box<Journal>>,
    /// Blocks of each bank's free list whose erase a sync has followed.
    pub(super) synced_free: SyncedFree,
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
            last: None,
            journal: None,
            synced_free: SyncedFree::default(),
            chip,
            placement,
            config,
        }
    }

    /// The parts without the type of the placement, for code that is compiled once.
    #[inline(always)]
    pub(super) fn any(&mut self) -> &mut Parts<C> {
        self
    }
}

impl<C: Chip, P: Worded + ?Sized> Parts<C, P> {
    /// The out-of-band area of the next page, whose word is given.
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

    /// Changes the temperature of the block that holds the page.
    pub(super) fn warm(&mut self, lpn: Lpn, by: i32) {
        if let Some(at) = self.tables.current(lpn) {
            let block = self.tables.shape().block_of(at);
            let bank = self.banks.bank_of(block);
            self.banks[bank].warm(block, by);
        }
    }
}

impl<C: Chip> Parts<C> {
    /// Calls the journal, if there is one. Meanwhile the parts have none.
    #[inline(always)]
    pub(super) fn record<R: Default>(
        &mut self,
        what: impl FnOnce(&mut Journal, &mut Self) -> Result<R, FtlError>,
    ) -> Result<R, FtlError> {
        if self.journal.is_none() {
            return Ok(R::default());
        }
        self.record_in_journal(what)
    }

    #[cold]
    #[inline(never)]
    fn record_in_journal<R: Default>(
        &mut self,
        what: impl FnOnce(&mut Journal, &mut Self) -> Result<R, FtlError>,
    ) -> Result<R, FtlError> {
        let Some(mut journal) = self.journal.take() else { return Ok(R::default()) };
        let done = what(&mut journal, self);
        self.journal = Some(journal);
        done
    }
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
            State::Closed | State::Aside | State::Emptying | State::Condemned => Filled::Full,
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
