//! The page-mapped layer as a layer.

use alloc::{string::String, vec::Vec};

use thermocline_flash::{BlockId, Chip, Condition, Flash, Lpn, Ppn, Timing};
use thermocline_policy::{
    State,
    placement::{Ahead, Placement},
};

use super::{
    bank::Bank, check, cleaner::longest_cleaning_ns, core::PageMapped, opening::open_next,
    parts::Parts, worded::Worded, write_run::Run,
};
use crate::{
    BankState, BlockState, BlockUse, Counters, DeadPages, EndOfLife, FtlError, Holds, IdleStep,
    Inspect, Layer, PageIo, PageState, PageWork, Upkeep,
};

impl<C: Chip, P: Placement> PageIo for PageMapped<C, P> {
    fn logical_pages(&self) -> u32 {
        self.parts.config.logical_pages
    }

    fn write_read_only(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        self.write_apart(lpn, data, now)
    }

    fn fill(&mut self, lpn: Lpn, read_only: bool, now: u64) -> Result<(), FtlError> {
        self.fill_page(lpn, read_only, now)
    }

    #[inline(always)]
    fn write(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        self.write_page(lpn, data, now)
    }

    #[inline(always)]
    fn write_run(
        &mut self,
        count: usize,
        page: impl Fn(usize) -> Option<Lpn>,
        now: u64,
        step: u64,
    ) -> Result<usize, (usize, FtlError)> {
        self.write_pages(&Run { count, page, now, step })
    }

    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        let holds_data = self.read_page(lpn, into)?;
        self.parts.counters.host_reads += u64::from(holds_data);
        Ok(holds_data)
    }

    fn read_run(
        &mut self,
        first: Lpn,
        into: &mut [u8],
        page: usize,
    ) -> Result<(), (Lpn, FtlError)> {
        let (mut at, mut rest) = (first, into);
        while !rest.is_empty() {
            let most = (rest.len() / page).max(1) as u32;
            let pages = self.side_by_side(at, most);
            let (here, tail) = rest.split_at_mut((pages as usize * page).min(rest.len()));
            if pages == 1 {
                self.read(at, here).map_err(|e| (at, e))?;
            } else {
                self.read_side_by_side(at, here)?;
                self.parts.counters.host_reads += u64::from(pages);
            }
            (at, rest) = (Lpn(at.0 + pages), tail);
        }
        Ok(())
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.check_writable(lpn, now)?;
        let parts = &mut self.parts;
        let entry = parts.tables.remove(lpn);
        if entry == Ppn::NONE {
            return Ok(false);
        }
        if parts.tables.is_current(entry) {
            parts.invalidate(lpn, entry, now);
        }
        let word = parts.tables.word_at(parts.placement.kept(), entry);
        parts.placement.trimmed_word(lpn, word);
        parts.counters.trims += 1;
        parts.any().record(|journal, parts| journal.trimmed(parts, lpn, now))?;
        Ok(true)
    }

    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        self.parts.placement.ahead()
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        self.parts.tables.prefetch(lpn);
        self.parts.placement.prefetch(lpn);
    }

    #[inline(always)]
    fn prefetch_more(&self, lpn: Lpn) {
        if let Some(at) = self.parts.tables.current(lpn) {
            let block = self.parts.tables.shape().block_of(at);
            let bank = self.parts.banks.bank_of(block);
            self.parts.banks[bank].prefetch(block);
            if self.parts.placement.kept().is_any() {
                self.parts.tables.prefetch_word(at);
            }
        }
    }
}

impl<C: Chip, P: Placement> Upkeep for PageMapped<C, P> {
    fn filled(&mut self, now: u64) -> Result<(), FtlError> {
        let parts = &mut self.parts;
        for bank in 0..parts.banks.len() {
            for stream in 0..parts.placement.streams() {
                if parts.placement.is_used(stream)
                    && parts.banks[bank].open(usize::from(stream)).block() == BlockId::NONE
                {
                    open_next(parts, bank, stream, now)?;
                }
            }
        }
        Ok(())
    }

    fn begin_statistics(&mut self) {
        self.worst.begin();
    }

    fn idle_step_ns(&self, timing: &Timing) -> u64 {
        longest_cleaning_ns(&self.parts, timing)
    }

    fn clean_in_idle_time(&mut self, now: u64) -> Result<bool, FtlError> {
        let mut done = self.scrub_once(now);
        if done == Ok(false) {
            done = self.clean_ahead(now);
        }
        self.set_follow_up();
        done
    }

    fn step_in_idle_time(&mut self, now: u64) -> Result<IdleStep, FtlError> {
        let mut done = self.scrub_once(now).map(IdleStep::whole);
        if done == Ok(IdleStep::Nothing) {
            done = self.step_ahead(now);
        }
        self.set_follow_up();
        done
    }

    fn lend(&mut self) -> Option<BlockId> {
        let spare = kept_from_lending(&self.parts) + 1;
        let lender = self.parts.banks.iter_mut().find(|bank| bank.free_blocks() > spare)?;
        lender.lend()
    }

    fn take_back(&mut self, block: BlockId) {
        let (erases, banks) = (self.parts.chip.erase_count(block), &mut self.parts.banks);
        let bank = banks.bank_of(block);
        banks[bank].take_back(block, erases);
    }

    fn wants_back(&self) -> bool {
        let kept = kept_from_lending(&self.parts);
        self.parts.banks.iter().any(|bank| bank.free_blocks() <= kept)
    }

    fn scrub(&mut self, now: u64) -> Result<bool, FtlError> {
        let mut done = self.scrub_once(now);
        if done == Ok(false) {
            done = self
                .parts
                .any()
                .record(|journal, parts| journal.record_watermark_if_due(parts, now));
        }
        self.set_follow_up();
        done
    }

    fn verify(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.read_page(lpn, into)
    }

    fn settle(&mut self, now: u64) -> Result<(), FtlError> {
        self.secure_last(now)?;
        self.parts.any().record(|journal, parts| journal.settle(parts, now))
    }

    fn last_program(&self) -> u64 {
        self.parts.durability.programs()
    }

    fn wants_sync(&self) -> bool {
        self.parts.journal.is_some() && self.parts.synced_free.wants_sync(&self.parts.banks)
    }

    fn synced(&mut self, last_program: u64) {
        let Parts { durability, journal, synced_free, banks, .. } = &mut self.parts;
        durability.synced(last_program);
        if let Some(journal) = journal {
            synced_free.synced(banks, journal, last_program);
        }
    }

    fn unmount(&mut self, now: u64) -> Result<(), FtlError> {
        self.secure_last(now)?;
        self.parts.any().record(|journal, parts| journal.close(parts, now))?;
        self.set_follow_up();
        Ok(())
    }
}

/// Free blocks of a bank that are not lent: those without which it would clean, and one for each stream to open.
fn kept_from_lending<C: Chip, P: Placement>(parts: &Parts<C, P>) -> usize {
    parts.config.watermarks.high as usize + usize::from(parts.placement.streams())
}

impl<C: Chip, P: Placement> Inspect for PageMapped<C, P> {
    #[inline(always)]
    fn counters(&self) -> &Counters {
        &self.parts.counters
    }

    fn choices(&self) -> Vec<(&'static str, u64)> {
        let mut all: Vec<(&'static str, u64)> = Vec::new();
        for (rule, blocks) in self.parts.banks.iter().flat_map(|bank| bank.choices()) {
            match all.iter_mut().find(|(name, _)| *name == rule) {
                Some((_, sum)) => *sum += blocks,
                None => all.push((rule, blocks)),
            }
        }
        all
    }

    fn report(&self) -> Vec<(&'static str, String)> {
        self.parts.placement.report()
    }

    fn free_blocks(&self) -> Option<u32> {
        Some(self.parts.banks.iter().map(|bank| bank.free_blocks() as u32).sum())
    }

    fn mapped_pages(&self) -> Option<u32> {
        Some(self.parts.tables.mapped())
    }

    fn banks(&self) -> Vec<BankState> {
        let state = |(number, bank): (u32, &Bank)| {
            let mut state = BankState {
                free_blocks: bank.free_blocks() as u32,
                current_pages: bank.live(),
                erases: bank.erases(),
                ..BankState::default()
            };
            if self.parts.config.read_only_separation {
                let table = self.blocks(number);
                let blocks = (0..table.len()).map(|n| table.block(table.nth(n)));
                let holds_data = |is: State| !matches!(is, State::Free | State::Unusable);
                for block in blocks.filter(|b| b.stream == bank.read_only_stream()) {
                    if holds_data(block.state) {
                        state.read_only_blocks += 1;
                        state.read_only_pages += block.valid;
                    }
                }
            }
            state
        };
        (0..).zip(self.parts.banks.iter()).map(state).collect()
    }

    fn page_work(&self) -> Option<PageWork> {
        let bound = || self.most_operations();
        self.is_paced().then(|| PageWork { worst: self.worst.seen(), bound: bound() })
    }

    fn spare_blocks(&self) -> Option<u32> {
        let is_over = self.end_of_life().is_some();
        Some(if is_over { 0 } else { self.parts.banks.spare_blocks() })
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        self.parts.failures.end_of_life()
    }

    fn holds(&self, lpn: Lpn) -> Holds {
        self.parts.tables.holds(lpn)
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        if self.check_range(lpn).is_ok() { self.parts.tables.data(lpn) } else { Ppn::NONE }
    }

    fn erases(&self, block: BlockId) -> u32 {
        if self.parts.journal.is_some() {
            self.parts.chip.erase_count(block)
        } else {
            self.parts.banks.block(block).erases
        }
    }

    fn valid_pages(&self, block: BlockId) -> u32 {
        self.parts.banks.block(block).valid
    }

    fn block_states(&self, first: BlockId, into: &mut [BlockState]) {
        let (parts, data_blocks) = (&self.parts, self.parts.chip.geometry().data_blocks());
        for (block, state) in (first.0..).map(BlockId).zip(into) {
            let known = parts.banks.block(block);
            *state = BlockState {
                used: match known.state {
                    State::Free => BlockUse::Free,
                    State::Open => BlockUse::Open,
                    State::Closed | State::Aside | State::Emptying => BlockUse::Full,
                    State::Condemned => BlockUse::Condemned,
                    State::Unusable if parts.chip.is_bad(block) => BlockUse::Bad,
                    State::Unusable if block.0 >= data_blocks => BlockUse::Records,
                    // Withdrawn, and about to be erased.
                    State::Unusable => BlockUse::Full,
                },
                stream: known.stream,
                valid: known.valid,
                erases: self.erases(block),
            };
        }
    }

    fn page_states(&self, block: BlockId) -> Vec<PageState> {
        let (parts, shape) = (&self.parts, self.parts.tables.shape());
        let known = parts.banks.block(block);
        let written = match known.state {
            State::Free | State::Unusable => 0,
            State::Open => {
                let open = parts.banks[parts.banks.bank_of(block)].open(usize::from(known.stream));
                shape.pages() - open.room()
            }
            State::Closed | State::Aside | State::Emptying | State::Condemned => shape.pages(),
        };
        let first = shape.data_page(block, 0).0;
        let state = |(page, &lpn): (u32, &Lpn)| {
            if page >= written {
                PageState::Free
            } else if parts.tables.entry(lpn) == Ppn(first + page) {
                PageState::Valid(lpn)
            } else {
                PageState::Garbage(lpn)
            }
        };
        (0..).zip(parts.tables.owners(block)).map(state).collect()
    }

    fn check(&self) -> Result<(), String> {
        check::check(&self.parts, &self.cleaner)
    }
}

impl<C: Chip, P: Placement> DeadPages for PageMapped<C, P> {
    /// Placements are not notified of marks and revivals: a page keeps its history in case it is revived.
    fn mark_dead(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        let Some(at) = self.parts.tables.mark(lpn) else { return Ok(false) };
        self.parts.invalidate(lpn, at, now);
        Ok(true)
    }

    /// A revival programs no page, so the reserve does not change, and current pages never exceed logical
    /// pages, for which each bank's share of the space is sized. Only with dynamic bank assignment may a
    /// bank exceed its share, if it took other pages while some of its own were marked. Another bank then
    /// holds as much less and takes the host's writes until the full one is within its share again.
    fn revive(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        let parts = &mut self.parts;
        let Some(at) = parts.tables.unmark(lpn) else { return Ok(false) };
        let block = parts.tables.shape().block_of(at);
        let bank = parts.banks.bank_of(block);
        let home = &mut parts.banks[bank];
        home.revalidate(block, now);
        if parts.placement.is_hot(lpn) {
            home.warm(block, 1);
        }
        Ok(true)
    }
}

impl<C: Chip, P: Placement> Layer for PageMapped<C, P> {
    type Chip = C;

    #[inline(always)]
    fn chip(&self) -> &C {
        self.parts.chip.get()
    }

    #[inline(always)]
    fn chip_mut(&mut self) -> &mut C {
        self.parts.chip.get_mut()
    }

    fn upkeep(&mut self) -> &mut dyn Upkeep {
        self
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }

    fn dead_pages(&mut self) -> Option<&mut dyn DeadPages> {
        Some(self)
    }
}
