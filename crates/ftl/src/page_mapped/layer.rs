//! A page-mapped layer: the parts wired together.

use alloc::boxed::Box;

use thermocline_flash::{Chip, Condition, FlashError, Lpn, Oob, Ppn, Retrying};
use thermocline_policy::{
    BlockView,
    placement::Placement,
    trigger::{Pacing, Trigger},
    victim::Victim,
};

use super::{
    append::{PageWrite, stream_of},
    banks::Banks,
    cleaner::Cleaner,
    config::Config,
    core::PageMapped,
    pacing::Worst,
    parts::Parts,
    worded::Worded,
};
use crate::FtlError;

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// A layer over an erased chip; `victim` builds the policy of each bank.
    ///
    /// # Errors
    /// [`FtlError::NoSpace`] if a bank has not enough usable blocks for its share of
    /// `logical_pages`, the reserve and one open block a stream.
    pub fn new(
        chip: C,
        placement: P,
        victim: impl FnMut(u32) -> Box<dyn Victim>,
        config: Config,
    ) -> Result<Self, FtlError> {
        let chip = Retrying::new(chip);
        let banks = Banks::new(&chip, placement.streams(), victim, &config, true)?;
        Ok(Self::of(Parts::new(chip, placement, config, banks)))
    }

    /// The layer of parts that agree.
    pub(super) fn of(mut parts: Parts<C, P>) -> Self {
        // What sorts survivors needs all of a victim at once.
        let sorts = parts.placement.traits().sorts;
        let is_paced = parts.config.pacing != Pacing::Off && !sorts;
        let has_steps = is_paced || parts.config.idle_free > 0 && !sorts;
        let in_steps = if has_steps { parts.banks.len() } else { 0 };
        let cleaner = Cleaner::new(parts.tables.shape().pages(), in_steps);
        let takes_least = parts.placement.own_victims().is_none()
            && parts.banks.iter().all(|bank| bank.takes_least_valid());
        let worst = Worst::of(takes_least);
        let mut layer = Self { parts, cleaner, follows_up: false, is_paced, worst };
        layer.set_follow_up();
        layer
    }

    /// The lookup table of a bank.
    #[must_use]
    pub fn blocks(&self, bank: u32) -> &BlockView {
        self.parts.banks[bank as usize].blocks()
    }

    /// Free pages of the whole device: those of free blocks and the room left in open ones.
    #[must_use]
    pub fn free_pages(&self) -> u64 {
        self.parts.banks.iter().map(|bank| bank.free_pages()).sum()
    }

    /// Blocks on the free list of the bank that has the fewest.
    #[must_use]
    pub fn least_free_blocks(&self) -> u32 {
        self.parts.banks.iter().map(|bank| bank.free_blocks() as u32).min().unwrap_or(0)
    }

    /// The chip, once the layer is of no more use.
    #[must_use]
    pub fn into_chip(self) -> C {
        self.parts.chip.into_inner()
    }

    /// Bytes of the tables of pages and of the journal, without the tables of blocks and of
    /// policies.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.parts.tables.memory()
            + self.parts.journal.as_ref().map_or(0, |journal| journal.memory())
    }

    /// The host writes a page that it will never update; kept apart where the layer is set so.
    pub(super) fn write_apart(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        self.check_writable(lpn, now)?;
        self.parts.counters.host_writes += 1;
        let stream = if self.parts.config.read_only_separation {
            self.parts.banks.read_only_stream()
        } else {
            stream_of(&mut self.parts, lpn, now)
        };
        let bank = self.assign(lpn, stream);
        self.write_to(bank, stream, lpn, data, now)
    }

    /// The host writes a page.
    #[inline(always)]
    pub(super) fn write_page(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        self.check_writable(lpn, now)?;
        self.parts.counters.host_writes += 1;
        let stream = stream_of(&mut self.parts, lpn, now);
        let bank = self.assign(lpn, stream);
        self.write_to(bank, stream, lpn, data, now)
    }

    #[inline(always)]
    pub(super) fn write_to(
        &mut self,
        bank: usize,
        stream: u8,
        lpn: Lpn,
        data: &[u8],
        now: u64,
    ) -> Result<(), FtlError> {
        let write = PageWrite { lpn, stream, data, now };
        self.append(bank, write, |placement, word| placement.written_word(lpn, word, now))?;
        if self.follows_up {
            self.follow_up(lpn, bank, now)?;
        }
        Ok(())
    }

    /// Reads a page, and checks by its area that it is that page. False if it holds no data.
    pub(super) fn read_page(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        let Parts { chip, tables, counters, journal, .. } = &mut self.parts;
        let at = tables.data(lpn);
        if at == Ppn::NONE {
            into.fill(0);
            return if tables.is_lost(lpn) { Err(FtlError::Lost(lpn)) } else { Ok(false) };
        }
        debug_assert!(tables.is_owner(lpn, at), "{lpn:?} is read from {at:?}");
        if let Some(oob) = chip.read_with_oob(at, into)?
            && let Some(journal) = journal
            && !journal.may_hold(tables.shape().block_of(at), lpn, &oob)
        {
            into.fill(0);
            counters.misplaced += 1;
            return Err(FlashError::Unreadable(at).into());
        }
        Ok(true)
    }

    /// The number of pages from `first` on, at most `most`, that are adjacent in one block; 1 for a page
    /// without data.
    pub(super) fn side_by_side(&self, first: Lpn, most: u32) -> u32 {
        let tables = &self.parts.tables;
        let place = |lpn: u32| match self.check_range(Lpn(lpn)) {
            Ok(()) => tables.data(Lpn(lpn)),
            Err(_) => Ppn::NONE,
        };
        let start = place(first.0);
        if start == Ppn::NONE {
            return 1;
        }
        let block = tables.shape().block_of(start);
        let follows = |pages: &u32| {
            let at = Ppn(start.0 + pages);
            place(first.0 + pages) == at && tables.shape().block_of(at) == block
        };
        (1..most).take_while(follows).last().map_or(1, |last| last + 1)
    }

    /// Reads adjacent pages, and checks by their areas that they are those pages.
    pub(super) fn read_side_by_side(
        &mut self,
        first: Lpn,
        into: &mut [u8],
    ) -> Result<(), (Lpn, FtlError)> {
        let Parts { chip, tables, counters, journal, .. } = &mut self.parts;
        let (journal, start) = (journal.as_deref(), tables.data(first));
        let block = tables.shape().block_of(start);
        let lpn_of = |page: Ppn| Lpn(first.0 + (page.0 - start.0));
        let mut seen = |page: Ppn, oob: Option<Oob>| {
            let may_hold = |oob: Oob| {
                journal.is_none_or(|journal| journal.may_hold(block, lpn_of(page), &oob))
            };
            let is_it = oob.is_none_or(may_hold);
            counters.misplaced += u64::from(!is_it);
            is_it
        };
        chip.read_run(start, into, &mut seen).map_err(|(page, e)| (lpn_of(page), e.into()))
    }

    /// A page is written before the run.
    pub(super) fn fill_page(
        &mut self,
        lpn: Lpn,
        read_only: bool,
        now: u64,
    ) -> Result<(), FtlError> {
        self.check_writable(lpn, now)?;
        self.parts.counters.fills += 1;
        let read_only = read_only && self.parts.config.read_only_separation;
        let stream = if read_only { self.parts.banks.read_only_stream() } else { 0 };
        let bank = self.assign(lpn, stream);
        self.before_change(now)?;
        let write = PageWrite { lpn, stream, data: &[], now };
        self.append(bank, write, |placement, _| placement.filled_word(lpn, now))
    }

    #[inline(always)]
    pub(super) fn assign(&mut self, lpn: Lpn, stream: u8) -> usize {
        let Parts { chip, placement, tables, banks, counters, .. } = &mut self.parts;
        banks.assign(chip, placement, tables, counters, lpn, stream)
    }

    #[inline(always)]
    pub(super) fn check_range(&self, lpn: Lpn) -> Result<(), FtlError> {
        if lpn.index() < self.parts.tables.len() { Ok(()) } else { Err(FtlError::OutOfRange(lpn)) }
    }

    /// One comparison checks that the page exists and that the layer takes writes.
    #[inline(always)]
    pub(super) fn check_writable(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        if lpn.0 < self.parts.failures.writable() {
            return Ok(());
        }
        self.refuse(lpn, now)
    }

    /// The work of some policies after each host page write.
    fn follow_up(&mut self, lpn: Lpn, bank: usize, now: u64) -> Result<(), FtlError> {
        self.parts.banks[bank].watch(lpn);
        self.before_change(now)?;
        if self.is_paced() {
            return self.pace(bank, 1, now);
        }
        if self.is_lent() {
            self.keep_reserve(bank, now)?;
        }
        if self.parts.config.trigger == Trigger::Eager {
            self.clean_eagerly(bank, now)?;
        }
        Ok(())
    }

    /// Something is about to be changed, or one page was: the log records it.
    fn before_change(&mut self, now: u64) -> Result<(), FtlError> {
        if self.parts.journal.is_some() {
            self.parts.any().record(|journal, parts| journal.before_change(parts, now))?;
            self.set_follow_up();
        }
        Ok(())
    }

    /// Sets whether a page write has work after it: for a policy, or because the next write is the first
    /// after a clean mount.
    pub(super) fn set_follow_up(&mut self) {
        self.follows_up = self.is_paced
            || self.is_lent()
            || self.parts.config.trigger == Trigger::Eager
            || self.parts.banks.iter().any(|bank| bank.watches())
            || self.parts.journal.as_ref().is_some_and(|journal| journal.says_clean());
    }
}
