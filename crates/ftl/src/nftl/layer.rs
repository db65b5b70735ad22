//! NFTL as a layer.

use alloc::string::String;

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Lpn, Ppn, Timing, prefetch};

use super::{Nftl, RESERVE, heaps::NOBODY};
use crate::{
    BlockState, BlockUse, Counters, DeadPages, EndOfLife, FtlError, Holds, Inspect, Layer, PageIo,
    Upkeep, journal::holds,
};

impl<C: Condition> Nftl<C> {
    #[inline(always)]
    fn check_writable(&mut self) -> Result<(), FtlError> {
        if self.needs_attention { self.attend() } else { Ok(()) }
    }

    /// The first failure without a remedy is returned as it is; nothing is written after it.
    #[inline(always)]
    fn stop_at_failure<T>(&mut self, done: Result<T, FtlError>) -> Result<T, FtlError> {
        if let Err(FtlError::Flash(
            FlashError::ProgramFailed(_) | FlashError::BadBlock(_) | FlashError::Unreadable(_),
        )) = done
            && self.journal.is_none()
        {
            self.stop();
        }
        done
    }
}

impl<C: Condition> PageIo for Nftl<C> {
    fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }

    fn fill(&mut self, lpn: Lpn, _read_only: bool, now: u64) -> Result<(), FtlError> {
        self.check_writable()?;
        let done = self.put(lpn, &[], now).and_then(|()| {
            self.counters.fills += 1;
            self.level()
        });
        self.stop_at_failure(done)
    }

    #[inline]
    fn write(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        self.check_writable()?;
        let done = self.put(lpn, data, now).and_then(|()| {
            self.counters.host_writes += 1;
            self.reclaim_ahead()?;
            self.level()
        });
        self.stop_at_failure(done)
    }

    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        let at = self.map[lpn.index()];
        let holds_data = self.read_from(lpn, at, into)?;
        self.counters.host_reads += u64::from(holds_data);
        Ok(holds_data)
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        self.check_writable()?;
        let old = core::mem::replace(&mut self.map[lpn.index()], Ppn::NONE);
        if old == Ppn::NONE {
            return Ok(false);
        }
        if !self.dead.clear(lpn.index()) && Self::is_there(old) {
            self.change(lpn.0 / self.pages, |pair| pair.live -= 1);
        }
        self.counters.trims += 1;
        self.with_journal(|journal, layer| journal.trimmed(layer, lpn, now))?;
        Ok(true)
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.map, lpn.index());
        prefetch(&self.pairs, (lpn.0 / self.pages) as usize);
    }
}

impl<C: Condition> Upkeep for Nftl<C> {
    /// The longest fold (thesis §4.1.1): both blocks' out-of-band areas, a block of copies, two
    /// erases.
    fn idle_step_ns(&self, timing: &Timing) -> u64 {
        let pages = u64::from(self.pages);
        2 * pages * timing.oob_read_ns + pages * timing.copy_ns + 2 * timing.erase()
    }

    fn clean_in_idle_time(&mut self, _now: u64) -> Result<bool, FtlError> {
        if self.is_read_only || self.check_writable().is_err() {
            return Ok(false);
        }
        let done = self.clean_one_ahead();
        self.stop_at_failure(done)
    }

    fn scrub(&mut self, now: u64) -> Result<bool, FtlError> {
        let mut done = false;
        self.with_journal(|journal, layer| {
            done = journal.record_watermark_if_due(layer, now)?;
            Ok(())
        })?;
        Ok(done)
    }

    fn verify(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        self.read_from(lpn, self.map[lpn.index()], into)
    }

    fn settle(&mut self, now: u64) -> Result<(), FtlError> {
        self.attend_to_last()?;
        self.with_journal(|journal, layer| journal.settle(layer, now))
    }

    fn last_program(&self) -> u64 {
        self.durability.programs()
    }

    fn synced(&mut self, last_program: u64) {
        self.durability.synced(last_program);
    }

    /// Erases waiting blocks first, so that every block has one role.
    fn unmount(&mut self, now: u64) -> Result<(), FtlError> {
        self.attend_to_last()?;
        if !self.litter.is_empty() && !self.is_read_only {
            self.clear_litter()?;
        }
        self.with_journal(|journal, layer| journal.close(layer, now))?;
        self.needs_attention = true;
        Ok(())
    }
}

impl<C: Condition> Inspect for Nftl<C> {
    #[inline(always)]
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        if self.log_is_exhausted {
            return Some(EndOfLife::IndexLog);
        }
        self.is_read_only.then_some(EndOfLife::Blocks)
    }

    fn free_blocks(&self) -> Option<u32> {
        Some(self.free.len())
    }

    /// Counts them.
    fn mapped_pages(&self) -> Option<u32> {
        Some(self.map.iter().filter(|&&at| Self::is_there(at)).count() as u32)
    }

    fn spare_blocks(&self) -> Option<u32> {
        let needed = self.pairs.len() as u32 + RESERVE;
        Some(if self.is_read_only { 0 } else { self.usable.saturating_sub(needed) })
    }

    fn holds(&self, lpn: Lpn) -> Holds {
        holds(self.map.get(lpn.index()).copied().unwrap_or(Ppn::NONE))
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        let at = self.map.get(lpn.index()).copied();
        at.filter(|&at| Self::is_there(at)).unwrap_or(Ppn::NONE)
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.chip.erase_count(block)
    }

    /// Counts them.
    fn valid_pages(&self, block: BlockId) -> u32 {
        let v = self.owner[block.index()];
        if v == NOBODY {
            return 0;
        }
        let first = v * self.pages;
        let lpns = (first..first + self.pages_of(v)).map(Lpn);
        let is_here = |lpn: &Lpn| {
            let at = self.map[lpn.index()];
            Self::is_there(at)
                && self.chip.geometry().block_of(at) == block
                && !self.dead.is_set(lpn.index())
        };
        lpns.filter(is_here).count() as u32
    }

    /// Primaries are stream 0, replacements stream 1.
    fn block_states(&self, first: BlockId, into: &mut [BlockState]) {
        let data_blocks = self.chip.geometry().data_blocks();
        for (block, state) in (first.0..).map(BlockId).zip(into) {
            let v = self.owner[block.index()];
            let pair = (v != NOBODY).then(|| self.pairs[v as usize]);
            let (used, stream) = match pair {
                Some(pair) if pair.replacement == block => (pair.replacement_used, 1),
                Some(pair) => (pair.primary_used, 0),
                None => (0, 0),
            };
            *state = BlockState {
                used: match pair {
                    Some(_) if used < self.pages => BlockUse::Open,
                    Some(_) => BlockUse::Full,
                    None if self.chip.is_bad(block) => BlockUse::Bad,
                    None if block.0 >= data_blocks => BlockUse::Records,
                    None if self.litter.contains(&block) => BlockUse::Condemned,
                    None => BlockUse::Free,
                },
                stream,
                valid: self.valid_pages(block),
                erases: self.erases(block),
            };
        }
    }

    fn check(&self) -> Result<(), String> {
        self.check_all()
    }
}

impl<C: Condition> DeadPages for Nftl<C> {
    fn mark_dead(&mut self, lpn: Lpn, _now: u64) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        if !Self::is_there(self.map[lpn.index()]) || self.dead.is_set(lpn.index()) {
            return Ok(false);
        }
        self.dead.set(lpn.index());
        self.change(lpn.0 / self.pages, |pair| pair.live -= 1);
        Ok(true)
    }

    fn revive(&mut self, lpn: Lpn, _now: u64) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        if !self.dead.clear(lpn.index()) {
            return Ok(false);
        }
        self.change(lpn.0 / self.pages, |pair| pair.live += 1);
        Ok(true)
    }
}

impl<C: Condition> Layer for Nftl<C> {
    type Chip = C;

    #[inline(always)]
    fn chip(&self) -> &C {
        self.chip.get()
    }

    #[inline(always)]
    fn chip_mut(&mut self) -> &mut C {
        self.chip.get_mut()
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
