//! The layer below as numbered sectors, read through its pages.

use alloc::vec::Vec;
use core::ops::Range;

use thermocline_flash::Lpn;

use thermocline_ftl::{DeadDataCounters, FtlError, Holds, Layer};

/// The mapping of sectors to pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Bytes of a sector.
    pub sector_size: usize,
    pub sectors_per_page: u32,
    /// Number of sectors of the device.
    pub sectors: u64,
}

impl Shape {
    pub fn page_size(&self) -> usize {
        self.sector_size * self.sectors_per_page as usize
    }

    /// The sectors of a page.
    #[inline]
    pub fn of(&self, lpn: Lpn) -> Range<u64> {
        let first = u64::from(lpn.0) * u64::from(self.sectors_per_page);
        first..first + u64::from(self.sectors_per_page)
    }

    /// The pages with any of `sectors`.
    pub fn pages(&self, sectors: &Range<u64>) -> Range<u32> {
        let per_page = u64::from(self.sectors_per_page);
        let end = sectors.end.min(self.sectors).div_ceil(per_page);
        (sectors.start / per_page) as u32..end as u32
    }
}

/// One page, cached while a write is examined.
#[derive(Debug, Default)]
pub(crate) struct PageBuffer {
    lpn: Option<Lpn>,
    bytes: Vec<u8>,
}

impl PageBuffer {
    pub fn forget(&mut self) {
        self.lpn = None;
    }

    /// Takes over data that were just written, so that they need not be read.
    pub fn hold(&mut self, lpn: Lpn, data: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(data);
        self.lpn = Some(lpn);
    }

    /// Ensures that the buffer holds a page as stored by the layer; false if it cannot be read.
    pub fn fetch<L: Layer + ?Sized>(
        &mut self,
        lpn: Lpn,
        page_size: usize,
        inner: &mut L,
        counters: &mut DeadDataCounters,
    ) -> bool {
        if self.lpn == Some(lpn) {
            return true;
        }
        self.lpn = None;
        self.bytes.clear();
        self.bytes.resize(page_size, 0);
        // A page without data reads as zeros, without a read of the chip.
        if inner.inspect().holds(lpn) != Holds::Nothing {
            counters.extra_reads += 1;
            if inner.read(lpn, &mut self.bytes).is_err() {
                return false;
            }
        }
        self.lpn = Some(lpn);
        true
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

/// Access to the layer below: reads sectors and marks pages dead.
pub(crate) struct Sectors<'a, L: ?Sized> {
    pub inner: &'a mut L,
    pub shape: Shape,
    pub buffer: &'a mut PageBuffer,
    pub counters: &'a mut DeadDataCounters,
    pub now: u64,
}

impl<L: Layer + ?Sized> Sectors<'_, L> {
    /// The current content of a sector. `None` if it is beyond the device or cannot be read.
    pub fn read(&mut self, sector: u64) -> Option<&[u8]> {
        if sector >= self.shape.sectors {
            return None;
        }
        let per_page = u64::from(self.shape.sectors_per_page);
        let lpn = Lpn((sector / per_page) as u32);
        if !self.buffer.fetch(lpn, self.shape.page_size(), self.inner, self.counters) {
            return None;
        }
        let at = (sector % per_page) as usize * self.shape.sector_size;
        self.buffer.bytes().get(at..at + self.shape.sector_size)
    }

    pub fn mark(&mut self, page: u32) -> Result<(), FtlError> {
        let Some(pages) = self.inner.dead_pages() else { return Ok(()) };
        if pages.mark_dead(Lpn(page), self.now)? {
            self.counters.sectors_marked += u64::from(self.shape.sectors_per_page);
        }
        Ok(())
    }

    pub fn revive(&mut self, page: u32) -> Result<(), FtlError> {
        let Some(pages) = self.inner.dead_pages() else { return Ok(()) };
        if pages.revive(Lpn(page), self.now)? {
            self.counters.sectors_revived += u64::from(self.shape.sectors_per_page);
        }
        Ok(())
    }
}

pub(crate) fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

/// A little-endian field of a sector. An offset beyond it yields zero, which no caller accepts.
pub(crate) fn le16(bytes: &[u8], at: usize) -> u16 {
    field(bytes, at).map_or(0, u16::from_le_bytes)
}

pub(crate) fn le32(bytes: &[u8], at: usize) -> u32 {
    field(bytes, at).map_or(0, u32::from_le_bytes)
}

pub(crate) fn le64(bytes: &[u8], at: usize) -> u64 {
    field(bytes, at).map_or(0, u64::from_le_bytes)
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Whether a bit of a bitmap's sector is set.
pub(crate) fn is_set(bits: &[u8], bit: u32) -> bool {
    bits[(bit / 8) as usize] >> (bit % 8) & 1 != 0
}

/// Whether all bits of `own`, which is in order, that a sector with the bits `here` has are set.
pub(crate) fn are_set(bits: &[u8], here: &Range<u32>, own: &[Range<u32>]) -> bool {
    let behind = own.partition_point(|range| range.end <= here.start);
    own[behind..].iter().take_while(|range| range.start < here.end).all(|range| {
        let mut common = range.start.max(here.start)..range.end.min(here.end);
        common.all(|bit| is_set(bits, bit - here.start))
    })
}

/// Whether a sector ends with the signature of boot sectors and partition tables.
pub(crate) fn is_signed(sector: &[u8]) -> bool {
    le16(sector, 510) == 0xaa55
}
