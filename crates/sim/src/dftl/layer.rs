//! DFTL as a layer around a page-mapped one.

use std::ops::Range;

use thermocline_flash::{BlockId, CountingChip, Lpn, Ppn};
use thermocline_ftl::{
    BankState, BlockState, Counters, EndOfLife, FtlError, Holds, Inspect, Layer, PageIo,
    PageMapped, PageState, TableCounters, Upkeep,
};
use thermocline_policy::dftl::WriteBack;

use super::{
    placement::{MapApart, Moved},
    table::Table,
};

/// A page-mapped layer whose last logical pages are translation pages.
pub(super) struct Dftl {
    pub(super) log: PageMapped<CountingChip, MapApart>,
    pub(super) table: Table,
    pub(super) moved: Moved,
    pub(super) writes: WriteBack,
    /// Logical pages of the host; the first translation page.
    pub(super) logical_pages: u32,
    /// Entries of a translation page.
    pub(super) entries: u32,
    pub(super) did: TableCounters,
    /// Those of the log, as the host sees them.
    pub(super) counters: Counters,
    /// The time of the last write or trim: reads, which may write translation pages, have none.
    pub(super) now: u64,
    /// Programs and reads of translation pages.
    pub(super) map_programs: u64,
    pub(super) map_reads: u64,
}

impl Dftl {
    const fn translation_page(&self, lpn: Lpn) -> Lpn {
        Lpn(self.logical_pages + lpn.0 / self.entries)
    }

    /// The pages whose entries a translation page holds, by its first.
    fn entries_from(&self, first: u32) -> Range<u32> {
        first..(first + self.entries).min(self.logical_pages)
    }

    /// Finds the entry of a page, and loads it if the table does not hold it.
    fn look_up(&mut self, lpn: Lpn) -> Result<(), FtlError> {
        if lpn.0 >= self.logical_pages {
            return Err(FtlError::OutOfRange(lpn));
        }
        self.did.lookups += 1;
        if self.table.touch(lpn) {
            self.did.hits += 1;
            return Ok(());
        }
        if let Some((evicted, is_dirty)) = self.table.evict() {
            self.did.evictions += 1;
            if is_dirty {
                self.did.dirty_evictions += 1;
                self.write_back(evicted)?;
            }
        }
        self.read_translation_page(self.translation_page(lpn))?;
        self.table.add(lpn);
        self.update_moved()
    }

    /// Writes the translation page of an entry that left the table.
    fn write_back(&mut self, evicted: Lpn) -> Result<(), FtlError> {
        let page = self.translation_page(evicted);
        if self.writes == WriteBack::Page {
            let first = evicted.0 / self.entries * self.entries;
            for lpn in self.entries_from(first) {
                self.table.set_dirty(Lpn(lpn), false);
            }
        }
        self.rewrite(page)
    }

    /// Reads a translation page, and writes it with changes.
    fn rewrite(&mut self, page: Lpn) -> Result<(), FtlError> {
        self.read_translation_page(page)?;
        self.map_programs += 1;
        self.log.write(page, &[], self.now).inspect_err(|_| self.map_programs -= 1)
    }

    /// Reads a translation page, if it was ever written.
    fn read_translation_page(&mut self, page: Lpn) -> Result<(), FtlError> {
        self.map_reads += u64::from(self.log.read(page, &mut [])?);
        Ok(())
    }

    /// Updates the map after data pages were moved: in the table where it holds their entries (lazy copying), else in
    /// their translation pages, each once for a victim (batch updates; DFTL paper, §3.3).
    fn update_moved(&mut self) -> Result<(), FtlError> {
        loop {
            let victims = self.moved.take();
            if victims.is_empty() {
                return Ok(());
            }
            for mut lpns in victims {
                lpns.retain(|&lpn| !self.table.set_dirty(lpn, true));
                let mut pages: Vec<Lpn> =
                    lpns.iter().map(|&lpn| self.translation_page(lpn)).collect();
                pages.sort_unstable();
                pages.dedup();
                for page in pages {
                    self.did.gc_programs += 1;
                    self.rewrite(page)?;
                }
            }
        }
    }

    fn write_data(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        self.now = now;
        self.look_up(lpn)?;
        self.log.write(lpn, &[], now)?;
        self.table.set_dirty(lpn, true);
        self.update_moved()
    }

    fn read_data(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.look_up(lpn)?;
        self.log.read(lpn, into)
    }

    fn trim_data(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.now = now;
        self.look_up(lpn)?;
        let held = self.log.trim(lpn, now)?;
        if held {
            self.table.set_dirty(lpn, true);
        }
        Ok(held)
    }

    /// Brings the counters up to date after an operation.
    fn counted<T>(&mut self, done: T) -> T {
        let log = self.log.inspect().counters();
        self.counters = Counters {
            host_writes: log.host_writes - self.map_programs,
            host_reads: log.host_reads - self.map_reads,
            map_programs: self.map_programs,
            map_reads: self.map_reads,
            ..*log
        };
        done
    }
}

impl PageIo for Dftl {
    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn fill(&mut self, lpn: Lpn, read_only: bool, now: u64) -> Result<(), FtlError> {
        let done = self.log.fill(lpn, read_only, now);
        self.counted(done)
    }

    fn write(&mut self, lpn: Lpn, _: &[u8], now: u64) -> Result<(), FtlError> {
        let done = self.write_data(lpn, now);
        self.counted(done)
    }

    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        let done = self.read_data(lpn, into);
        self.counted(done)
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        let done = self.trim_data(lpn, now);
        self.counted(done)
    }
}

impl Upkeep for Dftl {
    /// The translation pages of the fill belong to it.
    fn filled(&mut self, now: u64) -> Result<(), FtlError> {
        let all = self.log.logical_pages();
        let holds = |lpn| self.log.inspect().holds(Lpn(lpn)) == Holds::Data;
        let used: Vec<u32> = (self.logical_pages..all)
            .zip((0..self.logical_pages).step_by(self.entries as usize))
            .filter(|&(_, first)| self.entries_from(first).any(holds))
            .map(|(page, _)| page)
            .collect();
        for page in used {
            self.log.fill(Lpn(page), false, now)?;
        }
        self.moved.take();
        let done = self.log.upkeep().filled(now);
        self.counted(done)
    }
}

impl Inspect for Dftl {
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn mapping_table(&self) -> Option<TableCounters> {
        Some(self.did)
    }

    fn free_blocks(&self) -> Option<u32> {
        self.log.inspect().free_blocks()
    }

    fn banks(&self) -> Vec<BankState> {
        self.log.inspect().banks()
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        self.log.inspect().end_of_life()
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        self.log.inspect().locate(lpn)
    }

    fn holds(&self, lpn: Lpn) -> Holds {
        self.log.inspect().holds(lpn)
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.log.inspect().erases(block)
    }

    fn valid_pages(&self, block: BlockId) -> u32 {
        self.log.inspect().valid_pages(block)
    }

    fn block_states(&self, first: BlockId, into: &mut [BlockState]) {
        self.log.inspect().block_states(first, into);
    }

    fn page_states(&self, block: BlockId) -> Vec<PageState> {
        self.log.inspect().page_states(block)
    }

    fn check(&self) -> Result<(), String> {
        self.log.inspect().check()
    }
}

impl Layer for Dftl {
    type Chip = CountingChip;

    fn chip(&self) -> &CountingChip {
        self.log.chip()
    }

    fn chip_mut(&mut self) -> &mut CountingChip {
        self.log.chip_mut()
    }

    fn upkeep(&mut self) -> &mut dyn Upkeep {
        self
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}
