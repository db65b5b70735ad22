//! A wrapper that marks writes to given regions as read-only data. The operator names the regions, since hosts
//! have no command for it.

use std::ops::Range;

use thermocline_flash::{Lpn, Ppn};
use thermocline_ftl::{DeadDataCounters, DeadPages, FtlError, Inspect, Layer, PageIo, Upkeep};

use crate::AnyLayer;

/// The layer around.
pub(crate) struct Apart<C> {
    pub(crate) inner: AnyLayer<C>,
    /// Logical pages that are written once and then read.
    pub(crate) regions: Vec<Range<u32>>,
}

impl<C> PageIo for Apart<C> {
    fn logical_pages(&self) -> u32 {
        self.inner.logical_pages()
    }

    fn fill(&mut self, lpn: Lpn, read_only: bool, now: u64) -> Result<(), FtlError> {
        self.inner.fill(lpn, read_only, now)
    }

    fn write(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        if self.regions.iter().any(|region| region.contains(&lpn.0)) {
            return self.inner.write_read_only(lpn, data, now);
        }
        self.inner.write(lpn, data, now)
    }

    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.inner.read(lpn, into)
    }

    fn read_run(
        &mut self,
        first: Lpn,
        into: &mut [u8],
        page: usize,
    ) -> Result<(), (Lpn, FtlError)> {
        self.inner.read_run(first, into, page)
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.inner.trim(lpn, now)
    }

    fn zero(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        self.inner.zero(lpn, now)
    }
}

impl<C> Layer for Apart<C> {
    type Chip = C;

    fn chip(&self) -> &C {
        self.inner.chip()
    }

    fn chip_mut(&mut self) -> &mut C {
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
        self.inner.dead_data()
    }
}
