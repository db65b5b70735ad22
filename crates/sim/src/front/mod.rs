//! What a drive has in front of its log: a layer around the layer.
//!
//! A *write buffer* holds pages in RAM. A write of a page that it holds replaces that page, and a read of it needs no
//! flash. Fills go past it, because their data are old when the run begins.
//!
//! Its counters are those of the inner layer, as the host sees them: pages that a buffer holds were written and not
//! programmed.

mod buffer;

use thermocline_assembly::show_pages;
use thermocline_flash::{BlockId, BufferOrder, CountingChip, Lpn, Ppn, Timing, WriteBuffer};
use thermocline_ftl::{
    BankState, BlockState, BufferCounters, Counters, DeadDataCounters, DeadPages, EndOfLife,
    FtlError, Holds, Inspect, Layer, PageIo, PageState, PageWork, Upkeep,
};
use thermocline_units::format_size;

use self::buffer::Buffer;
use crate::{SimError, engine::Driven, job::Job, setup::Setup};

/// A layer behind a write buffer.
pub(crate) struct Front<'a> {
    inner: &'a mut dyn Driven,
    order: BufferOrder,
    buffer: Buffer,
    buffered: BufferCounters,
    /// Pages that the host trimmed while only the buffer held them.
    trims: u64,
    /// Those of the inner layer, as the host sees them.
    counters: Counters,
    /// The longest step of the inner layer in idle time.
    idle_step_ns: u64,
}

impl<'a> Front<'a> {
    /// Puts in front of a layer what its device has there, if it has anything.
    pub(crate) fn of(
        inner: &'a mut dyn Driven,
        job: &Job<'_>,
        setup: &Setup,
    ) -> Result<Option<Self>, SimError> {
        let profile = &setup.plan.device.profile;
        let Some(WriteBuffer { order, bytes }) = profile.write_buffer else { return Ok(None) };
        let (page_size, logical) = (profile.geometry.page_size, inner.logical_pages());
        let refuse = |why: &str, remedy: &str| {
            Err(SimError::Usage(format!("‹write-buffer {}›: {why}; {remedy}", format_size(bytes))))
        };
        if job.policy.sees_future() {
            let why = "the oracle knows the writes of the host, not those that a buffer passes on";
            return refuse(why, "leave out the buffer or the oracle");
        }
        if setup.keeps_contents {
            let why = "the policy reads what the host writes, and a buffer holds no contents";
            return refuse(why, "leave out the buffer or ‹dead-data fsaf›");
        }
        let pages = bytes / u64::from(page_size);
        if pages == 0 || pages >= u64::from(logical) {
            return refuse(
                &format!(
                    "it would hold {} of the device's {}",
                    show_pages(pages, page_size),
                    show_pages(logical.into(), page_size)
                ),
                "give it at least a page, and fewer than the device has",
            );
        }
        Ok(Some(Self {
            idle_step_ns: inner.upkeep().idle_step_ns(&profile.timing),
            counters: *inner.inspect().counters(),
            inner,
            order,
            buffer: Buffer::new(pages as u32, logical),
            buffered: BufferCounters::default(),
            trims: 0,
        }))
    }

    /// Passes the oldest page on; false if there is none.
    fn drain(&mut self, now: u64) -> Result<bool, FtlError> {
        let Some(lpn) = self.buffer.oldest() else { return Ok(false) };
        self.inner.write(lpn, &[], now)?;
        self.buffer.remove(lpn);
        Ok(true)
    }

    fn accept(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        if self.buffer.holds(lpn) {
            self.buffered.coalesced += 1;
            if self.order == BufferOrder::Lru {
                self.buffer.renew(lpn);
            }
        } else {
            if self.buffer.is_full() && self.drain(now)? {
                self.buffered.evictions += 1;
            }
            self.buffer.add(lpn);
        }
        self.buffered.writes += 1;
        Ok(())
    }

    fn flush(&mut self, now: u64) -> Result<(), FtlError> {
        while self.drain(now)? {
            self.buffered.flushed += 1;
        }
        Ok(())
    }

    /// Brings the counters up to date after an operation.
    fn counted<T>(&mut self, done: T) -> T {
        let inner = self.inner.inspect().counters();
        let BufferCounters { writes, evictions, flushed, read_hits, .. } = self.buffered;
        let drained = evictions + flushed;
        self.counters = Counters {
            host_writes: inner.host_writes - drained + writes,
            buffered: writes,
            drained,
            host_reads: inner.host_reads + read_hits,
            trims: inner.trims + self.trims,
            ..*inner
        };
        done
    }
}

impl PageIo for Front<'_> {
    fn logical_pages(&self) -> u32 {
        self.inner.logical_pages()
    }

    fn fill(&mut self, lpn: Lpn, read_only: bool, now: u64) -> Result<(), FtlError> {
        let done = self.inner.fill(lpn, read_only, now);
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
        let done = if self.buffer.holds(lpn) {
            self.buffered.read_hits += 1;
            into.fill(0);
            Ok(true)
        } else {
            self.inner.read(lpn, into)
        };
        self.counted(done)
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        let mut done = self.inner.trim(lpn, now);
        if self.buffer.holds(lpn) {
            self.buffer.remove(lpn);
            self.buffered.trimmed += 1;
            self.trims += u64::from(done == Ok(false));
            done = done.map(|_| true);
        }
        self.counted(done)
    }
}

impl Upkeep for Front<'_> {
    fn filled(&mut self, now: u64) -> Result<(), FtlError> {
        self.inner.upkeep().filled(now)
    }

    fn begin_statistics(&mut self) {
        self.inner.upkeep().begin_statistics();
    }

    fn idle_step_ns(&self, timing: &Timing) -> u64 {
        let _ = timing;
        self.idle_step_ns
    }

    fn clean_in_idle_time(&mut self, now: u64) -> Result<bool, FtlError> {
        let done = self.inner.upkeep().clean_in_idle_time(now);
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
        Some(BufferCounters { left: self.buffer.pages() as u64, ..self.buffered })
    }

    fn holds(&self, lpn: Lpn) -> Holds {
        if self.buffer.holds(lpn) { Holds::Data } else { self.inner.inspect().holds(lpn) }
    }

    fn choices(&self) -> Vec<(&'static str, u64)> {
        self.inner.inspect().choices()
    }

    fn report(&self) -> Vec<(&'static str, String)> {
        self.inner.inspect().report()
    }

    fn free_blocks(&self) -> Option<u32> {
        self.inner.inspect().free_blocks()
    }

    fn mapped_pages(&self) -> Option<u32> {
        self.inner.inspect().mapped_pages()
    }

    fn banks(&self) -> Vec<BankState> {
        self.inner.inspect().banks()
    }

    fn page_work(&self) -> Option<PageWork> {
        self.inner.inspect().page_work()
    }

    fn spare_blocks(&self) -> Option<u32> {
        self.inner.inspect().spare_blocks()
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        self.inner.inspect().end_of_life()
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        self.inner.inspect().locate(lpn)
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.inner.inspect().erases(block)
    }

    fn valid_pages(&self, block: BlockId) -> u32 {
        self.inner.inspect().valid_pages(block)
    }

    fn block_states(&self, first: BlockId, into: &mut [BlockState]) {
        self.inner.inspect().block_states(first, into);
    }

    fn page_states(&self, block: BlockId) -> Vec<PageState> {
        self.inner.inspect().page_states(block)
    }

    fn check(&self) -> Result<(), String> {
        self.inner.inspect().check()
    }
}

impl Layer for Front<'_> {
    type Chip = CountingChip;

    fn chip(&self) -> &CountingChip {
        self.inner.chip()
    }

    fn chip_mut(&mut self) -> &mut CountingChip {
        self.inner.chip_mut()
    }

    fn upkeep(&mut self) -> &mut dyn Upkeep {
        self
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }

    fn dead_pages(&mut self) -> Option<&mut dyn DeadPages> {
        self.inner.dead_pages()
    }

    fn dead_data(&self) -> Option<DeadDataCounters> {
        self.inner.dead_data()
    }
}
