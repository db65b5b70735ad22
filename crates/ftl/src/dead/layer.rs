//! What a host sees of the wrapper: the layer below.

use alloc::{string::String, vec::Vec};
use core::ops::Range;

use thermocline_flash::{BlockId, Lpn, Ppn, Timing};

use super::{Watched, volume::Volume};
use crate::{Counters, DeadDataCounters, EndOfLife, FtlError, Layer};

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
        self.inner.fill(lpn, read_only, now)?;
        if lpn.0 < self.watched_pages {
            let page = self.shape.of(lpn);
            if self.is_decisive(&page) {
                return self.records_written(lpn, &page, None, false, now);
            }
            for volume in &mut self.volumes {
                volume.data_written(&page);
            }
        }
        Ok(())
    }

    fn filled(&mut self, now: u64) -> Result<(), FtlError> {
        self.inner.filled(now)
    }

    #[inline]
    fn write(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        if lpn.0 < self.watched_pages {
            return self.write_watched(lpn, data, now);
        }
        self.inner.write(lpn, data, now)
    }

    #[inline]
    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.inner.read(lpn, into)
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        let held = self.inner.trim(lpn, now)?;
        // Beyond what is watched nothing is known either.
        if lpn.0 < self.watched_pages {
            self.trimmed(lpn, now)?;
        }
        Ok(held)
    }

    fn mark_dead(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.inner.mark_dead(lpn, now)
    }

    fn revive(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.inner.revive(lpn, now)
    }

    fn dead_data(&self) -> Option<DeadDataCounters> {
        let ranges = self.tables.capacity() + self.off.capacity();
        let volumes = self.volumes.iter().map(Volume::memory).sum::<usize>()
            + self.volumes.capacity() * size_of::<Volume>();
        let memory =
            self.old.memory() + self.buffer.memory() + ranges * size_of::<Range<u64>>() + volumes;
        Some(DeadDataCounters { memory_bytes: memory as u64, ..self.counters })
    }

    fn idle_step_ns(&self, timing: &Timing) -> u64 {
        self.inner.idle_step_ns(timing)
    }

    fn clean_in_idle_time(&mut self, now: u64) -> Result<bool, FtlError> {
        self.inner.clean_in_idle_time(now)
    }

    fn scrub(&mut self, now: u64) -> Result<bool, FtlError> {
        self.inner.scrub(now)
    }

    fn settle(&mut self, now: u64) -> Result<(), FtlError> {
        self.inner.settle(now)
    }

    fn unmount(&mut self, now: u64) -> Result<(), FtlError> {
        self.inner.unmount(now)
    }

    fn free_blocks(&self) -> Option<u32> {
        self.inner.free_blocks()
    }

    fn last_program(&self) -> u64 {
        self.inner.last_program()
    }

    fn synced(&mut self, last_program: u64) {
        self.inner.synced(last_program);
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        self.inner.end_of_life()
    }

    fn spare_blocks(&self) -> Option<u32> {
        self.inner.spare_blocks()
    }

    fn is_read_only(&self) -> bool {
        self.inner.is_read_only()
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
