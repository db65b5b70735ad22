//! The front of a drive: a layer around the log.
//!
//! A *write buffer* holds pages in RAM. A write of a page in the buffer replaces it, and a read of it needs no flash.
//! Pages leave it for the *SLC cache*, if there is one, and then for the log. Fills bypass both, because their data are
//! old when the run begins.
//!
//! The counters are those of the log, as the host sees them: pages in the buffer were written and not programmed, and
//! pages that the cache folds were copied.

mod buffer;
mod cache;
mod refuse;

use thermocline_flash::{BlockId, BufferOrder, CountingChip, Lpn, Ppn, Timing};
use thermocline_ftl::{
    BankState, BlockState, BufferCounters, CacheCounters, Counters, DeadDataCounters, DeadPages,
    EndOfLife, FtlError, Holds, Inspect, Layer, PageIo, PageState, PageWork, TableCounters, Upkeep,
};

use self::{buffer::Buffer, cache::Cache};
use crate::{SimError, engine::Driven, job::Job, setup::Setup};

/// A layer behind a write buffer, an SLC cache, or both.
pub(crate) struct Front<'a> {
    log: &'a mut dyn Driven,
    buffer: Option<(BufferOrder, Buffer)>,
    buffered: BufferCounters,
    cache: Option<Cache>,
    /// Reads of the host that the cache answered.
    cache_reads: u64,
    /// Pages that the host trimmed while the log did not hold them.
    trims: u64,
    /// Those of the log, as the host sees them.
    counters: Counters,
    /// The longest step in idle time.
    idle_step_ns: u64,
}

impl<'a> Front<'a> {
    /// Puts in front of a layer what its device has there, if it has anything.
    pub(crate) fn of(
        log: &'a mut dyn Driven,
        job: &Job<'_>,
        setup: &Setup,
    ) -> Result<Option<Self>, SimError> {
        let profile = &setup.plan.device.profile;
        let logical = log.logical_pages();
        if profile.write_buffer.is_none() && profile.slc_cache.is_none() {
            return Ok(None);
        }
        refuse::impossible(log, job, setup)?;
        let pages = |bytes: u64| (bytes / u64::from(profile.geometry.page_size)) as u32;
        let cache = profile.slc_cache;
        let cache = cache.map(|cache| Cache::new(cache, setup.cached_blocks, profile, logical));
        let fold_ns = cache.as_ref().map_or(0, |cache| cache.step_ns(&profile.timing));
        Ok(Some(Self {
            idle_step_ns: log.upkeep().idle_step_ns(&profile.timing).max(fold_ns),
            counters: *log.inspect().counters(),
            log,
            buffer: profile
                .write_buffer
                .map(|buffer| (buffer.order, Buffer::new(pages(buffer.bytes), logical))),
            buffered: BufferCounters::default(),
            cache,
            cache_reads: 0,
            trims: 0,
        }))
    }

    /// Writes a page behind the buffer.
    fn pass(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        match &mut self.cache {
            Some(cache) => cache.write(self.log, lpn, now),
            None => self.log.write(lpn, &[], now),
        }
    }

    /// Passes the oldest page of the buffer on; false if there is none.
    fn drain(&mut self, now: u64) -> Result<bool, FtlError> {
        let oldest = self.buffer.as_ref().and_then(|(_, buffer)| buffer.oldest());
        let Some(lpn) = oldest else { return Ok(false) };
        self.pass(lpn, now)?;
        self.drop_buffered(lpn);
        Ok(true)
    }

    fn accept(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        let Some((order, buffer)) = &mut self.buffer else { return self.pass(lpn, now) };
        if buffer.holds(lpn) {
            self.buffered.coalesced += 1;
            if *order == BufferOrder::Lru {
                buffer.renew(lpn);
            }
        } else {
            if buffer.is_full() && self.drain(now)? {
                self.buffered.evictions += 1;
            }
            if let Some((_, buffer)) = &mut self.buffer {
                buffer.add(lpn);
            }
        }
        self.buffered.writes += 1;
        Ok(())
    }

    fn is_buffered(&self, lpn: Lpn) -> bool {
        self.buffer.as_ref().is_some_and(|(_, buffer)| buffer.holds(lpn))
    }

    fn is_cached(&self, lpn: Lpn) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.holds(lpn))
    }

    fn drop_buffered(&mut self, lpn: Lpn) {
        if let Some((_, buffer)) = &mut self.buffer {
            buffer.remove(lpn);
        }
    }

    fn flush(&mut self, now: u64) -> Result<(), FtlError> {
        while self.drain(now)? {
            self.buffered.flushed += 1;
        }
        Ok(())
    }

    fn answer(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        if self.is_buffered(lpn) {
            self.buffered.read_hits += 1;
        } else if let Some(cache) = &self.cache
            && cache.holds(lpn)
        {
            cache.read(self.log, lpn)?;
            self.cache_reads += 1;
        } else {
            return self.log.read(lpn, into);
        }
        into.fill(0);
        Ok(true)
    }

    fn discard(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        let in_log = self.log.trim(lpn, now)?;
        let (buffered, cached) = (self.is_buffered(lpn), self.is_cached(lpn));
        if buffered {
            self.drop_buffered(lpn);
            self.buffered.trimmed += 1;
        }
        if let Some(cache) = self.cache.as_mut().filter(|_| cached) {
            cache.trim(lpn);
        }
        let held = in_log || buffered || cached;
        self.trims += u64::from(held && !in_log);
        Ok(held)
    }

    fn work(&mut self, now: u64) -> Result<bool, FtlError> {
        let folded = match &mut self.cache {
            Some(cache) => cache.fold_in_idle_time(self.log, now)?,
            None => false,
        };
        Ok(folded || self.log.upkeep().clean_in_idle_time(now)?)
    }

    /// Brings the counters up to date after an operation.
    fn counted<T>(&mut self, done: T) -> T {
        let log = self.log.inspect().counters();
        let BufferCounters { writes, evictions, flushed, read_hits, .. } = self.buffered;
        let drained = evictions + flushed;
        let cached = self.cache.as_ref().map(Cache::did).copied().unwrap_or_default();
        // The log counts pages that bypassed the cache and folded pages as host writes.
        let passed = log.host_writes + cached.writes - cached.folded;
        self.counters = Counters {
            host_writes: passed - drained + writes,
            buffered: writes,
            drained,
            host_reads: log.host_reads + read_hits + self.cache_reads,
            trims: log.trims + self.trims,
            copies: log.copies + cached.folded,
            erases: log.erases + cached.erases,
            // With a cache, pages are marked for it alone.
            dead_left: if self.cache.is_some() { 0 } else { log.dead_left },
            ..*log
        };
        done
    }
}

impl PageIo for Front<'_> {
    fn logical_pages(&self) -> u32 {
        self.log.logical_pages()
    }

    fn fill(&mut self, lpn: Lpn, read_only: bool, now: u64) -> Result<(), FtlError> {
        let done = self.log.fill(lpn, read_only, now);
        self.counted(done)
    }

    fn write(&mut self, lpn: Lpn, _data: &[u8], now: u64) -> Result<(), FtlError> {
        if lpn.0 >= self.logical_pages() {
            return Err(FtlError::OutOfRange(lpn));
        }
        let done = self.accept(lpn, now);
        self.counted(done)
    }

    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        let done = self.answer(lpn, into);
        self.counted(done)
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        let done = self.discard(lpn, now);
        self.counted(done)
    }
}

impl Upkeep for Front<'_> {
    fn filled(&mut self, now: u64) -> Result<(), FtlError> {
        self.log.upkeep().filled(now)
    }

    fn begin_statistics(&mut self) {
        self.log.upkeep().begin_statistics();
    }

    fn idle_step_ns(&self, timing: &Timing) -> u64 {
        let _ = timing;
        self.idle_step_ns
    }

    fn clean_in_idle_time(&mut self, now: u64) -> Result<bool, FtlError> {
        let done = self.work(now);
        self.counted(done)
    }

    /// Passes on all that the buffer holds.
    fn settle(&mut self, now: u64) -> Result<(), FtlError> {
        let done = self.flush(now);
        self.counted(done)
    }
}

impl Inspect for Front<'_> {
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn write_buffer(&self) -> Option<BufferCounters> {
        let (_, buffer) = self.buffer.as_ref()?;
        Some(BufferCounters { left: buffer.pages() as u64, ..self.buffered })
    }

    fn slc_cache(&self) -> Option<CacheCounters> {
        self.cache.as_ref().map(Cache::counters)
    }

    fn holds(&self, lpn: Lpn) -> Holds {
        let in_front = self.is_buffered(lpn) || self.is_cached(lpn);
        if in_front { Holds::Data } else { self.log.inspect().holds(lpn) }
    }

    fn choices(&self) -> Vec<(&'static str, u64)> {
        self.log.inspect().choices()
    }

    fn report(&self) -> Vec<(&'static str, String)> {
        self.log.inspect().report()
    }

    fn free_blocks(&self) -> Option<u32> {
        self.log.inspect().free_blocks()
    }

    fn mapped_pages(&self) -> Option<u32> {
        self.log.inspect().mapped_pages()
    }

    fn banks(&self) -> Vec<BankState> {
        self.log.inspect().banks()
    }

    fn page_work(&self) -> Option<PageWork> {
        self.log.inspect().page_work()
    }

    fn mapping_table(&self) -> Option<TableCounters> {
        self.log.inspect().mapping_table()
    }

    fn spare_blocks(&self) -> Option<u32> {
        self.log.inspect().spare_blocks()
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        self.log.inspect().end_of_life()
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        self.log.inspect().locate(lpn)
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
        self.cache.as_ref().map_or(Ok(()), Cache::check)?;
        self.log.inspect().check()
    }
}

impl Layer for Front<'_> {
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

    fn dead_pages(&mut self) -> Option<&mut dyn DeadPages> {
        self.log.dead_pages()
    }

    fn dead_data(&self) -> Option<DeadDataCounters> {
        self.log.dead_data()
    }
}
