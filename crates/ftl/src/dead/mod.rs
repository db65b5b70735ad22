//! Dead data found by watching a file system's own records (FSAF, §4 of the thesis).

mod config;

pub use config::{Config, Guards};

use alloc::{string::String, vec::Vec};

use thermocline_flash::{BlockId, Lpn, Ppn, Timing};

use crate::{Counters, DeadDataCounters, FtlError, Layer};

/// A layer that watches what the host writes and tells the layer below which pages are dead.
pub struct Watched<L> {
    inner: L,
    config: Config,
    counters: DeadDataCounters,
}

impl<L: Layer> Watched<L> {
    /// Watches `inner`, and looks at once for file systems that are already there.
    pub fn new(inner: L, config: Config) -> Self {
        Self { inner, config, counters: DeadDataCounters::default() }
    }

    /// The layer below.
    pub const fn inner(&self) -> &L {
        &self.inner
    }

    /// The layer below, left to itself again.
    pub fn into_inner(self) -> L {
        self.inner
    }

    /// What it was made with.
    pub const fn config(&self) -> &Config {
        &self.config
    }
}

impl<L: Layer> Layer for Watched<L> {
    type Chip = L::Chip;

    fn chip(&self) -> &L::Chip {
        self.inner.chip()
    }

    fn chip_mut(&mut self) -> &mut L::Chip {
        self.inner.chip_mut()
    }

    fn counters(&self) -> &Counters {
        self.inner.counters()
    }

    fn logical_pages(&self) -> u32 {
        self.inner.logical_pages()
    }

    fn fill(&mut self, lpn: Lpn, read_only: bool, now: u64) -> Result<(), FtlError> {
        self.inner.fill(lpn, read_only, now)
    }

    fn filled(&mut self, now: u64) -> Result<(), FtlError> {
        self.inner.filled(now)
    }

    #[inline]
    fn write(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        self.inner.write(lpn, data, now)
    }

    #[inline]
    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.inner.read(lpn, into)
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.inner.trim(lpn, now)
    }

    fn mark_dead(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.inner.mark_dead(lpn, now)
    }

    fn revive(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.inner.revive(lpn, now)
    }

    fn dead_data(&self) -> Option<DeadDataCounters> {
        Some(self.counters)
    }

    fn idle_step_ns(&self, timing: &Timing) -> u64 {
        self.inner.idle_step_ns(timing)
    }

    fn clean_in_idle_time(&mut self, now: u64) -> Result<bool, FtlError> {
        self.inner.clean_in_idle_time(now)
    }

    fn choices(&self) -> Vec<(&'static str, u64)> {
        self.inner.choices()
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        self.inner.locate(lpn)
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.inner.erases(block)
    }

    fn valid_pages(&self, block: BlockId) -> u32 {
        self.inner.valid_pages(block)
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        self.inner.prefetch(lpn);
    }

    #[inline(always)]
    fn prefetch_more(&self, lpn: Lpn) {
        self.inner.prefetch_more(lpn);
    }

    fn check(&self) -> Result<(), String> {
        self.inner.check()
    }
}
