//! The wrapper as a layer: its own I/O, and the upkeep and inspection of the layer below.

use core::ops::Range;

use thermocline_flash::{Lpn, Ppn};
use thermocline_ftl::{DeadDataCounters, DeadPages, FtlError, Inspect, Layer, PageIo, Upkeep};

use crate::{volume::Volume, watched::Watched};

impl<L: Layer + ?Sized> PageIo for Watched<L> {
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

    #[inline]
    fn write(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        if lpn.0 < self.watched_pages {
            return self.write_watched(lpn, Some(data), now);
        }
        self.inner.write(lpn, data, now)
    }

    #[inline]
    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.inner.read(lpn, into)
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        let held = self.inner.trim(lpn, now)?;
        // Trims beyond the watched range do not matter.
        if lpn.0 < self.watched_pages {
            self.trimmed(lpn, now)?;
        }
        Ok(held)
    }

    fn zero(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        if lpn.0 < self.watched_pages {
            return self.write_watched(lpn, None, now);
        }
        self.inner.zero(lpn, now)
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        self.inner.prefetch(lpn);
    }

    #[inline(always)]
    fn prefetch_more(&self, lpn: Lpn) {
        self.inner.prefetch_more(lpn);
    }
}

impl<L: Layer + ?Sized> Layer for Watched<L> {
    type Chip = L::Chip;

    fn chip(&self) -> &L::Chip {
        self.inner.chip()
    }

    fn chip_mut(&mut self) -> &mut L::Chip {
        self.inner.chip_mut()
    }

    fn find(&mut self, lpn: Lpn) -> Ppn {
        self.inner.find(lpn)
    }

    fn upkeep(&mut self) -> &mut dyn Upkeep {
        self.inner.upkeep()
    }

    fn inspect(&self) -> &dyn Inspect {
        self.inner.inspect()
    }

    fn dead_pages(&mut self) -> Option<&mut dyn DeadPages> {
        self.inner.dead_pages()
    }

    fn dead_data(&self) -> Option<DeadDataCounters> {
        let ranges = self.tables.capacity() + self.off.capacity();
        let volumes = self.volumes.iter().map(Volume::memory).sum::<usize>()
            + self.volumes.capacity() * size_of::<Volume>();
        let memory =
            self.old.memory() + self.buffer.memory() + ranges * size_of::<Range<u64>>() + volumes;
        Some(DeadDataCounters { memory_bytes: memory as u64, ..self.counters })
    }
}
