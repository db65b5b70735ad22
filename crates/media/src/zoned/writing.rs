//! Programs: gathered in runs, written at the pointer; and zones that become full.

use std::io;

use thermocline_flash::{BlockId, FlashError, Kind as Chip, Oob, Ppn};

use super::{
    Zoned, error_number,
    format::{Head, Kind, put_entry},
};
use crate::record::{self, Beside};

/// Bytes of one write: the system does not divide so few, so they stay in order.
pub(super) const MOST_BYTES: usize = 128 << 10;
/// Fills what was cut off.
const FILLER: u8 = 0x55;
/// Runs at a time.
const MOST_RUNS: usize = 32;

/// Pages that were programmed one after the other, and wait to be written.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) block: BlockId,
    pub(super) first: u32,
    pub(super) bytes: Vec<u8>,
}

impl Run {
    /// A page that is in it.
    pub(super) fn page(&self, page: u32, size: usize) -> Option<&[u8]> {
        let at = page.checked_sub(self.first)? as usize * size;
        self.bytes.get(at..at + size)
    }
}

impl Zoned {
    /// Whether a page may be programmed now.
    pub(super) fn may_program(&mut self, to: Ppn) -> Result<(BlockId, u32), FlashError> {
        let (block, page) = self.at(to)?;
        self.may_change(block)?;
        if let Some(number) = self.failed {
            return Err(FlashError::Medium(number));
        }
        if self.block(block).is_waiting {
            // Nothing that is programmed there now may outlive what the erase came after.
            self.sync_once()?;
        }
        let is = self.block(block);
        let is_sealed = is.table.is_some_and(|pages| pages < self.layout.data && page >= pages);
        if is.is_stuck || is_sealed {
            self.health.failed_programs += 1;
            return Err(FlashError::ProgramFailed(to));
        }
        match page.cmp(&is.next) {
            std::cmp::Ordering::Less => Err(FlashError::NotErased(to)),
            std::cmp::Ordering::Equal => Ok((block, page)),
            std::cmp::Ordering::Greater => Err(FlashError::OutOfOrder(to)),
        }
    }

    /// A block that exists, is good, and may be changed.
    pub(super) fn may_change(&self, block: BlockId) -> Result<(), FlashError> {
        if block.0 >= self.geometry.blocks() {
            return Err(FlashError::OutOfRange);
        }
        if self.read_only {
            return Err(FlashError::Medium(libc::EROFS));
        }
        if self.block(block).is_bad { Err(FlashError::BadBlock(block)) } else { Ok(()) }
    }

    /// Programs a page that may be programmed, in memory. No data are zeros.
    pub(super) fn put(
        &mut self,
        (block, page): (BlockId, u32),
        oob: &Oob,
        data: &[u8],
        sum: Option<u32>,
    ) -> Result<(), FlashError> {
        if !self.block(block).is_active {
            self.make_place(Some(block))?;
            self.block_mut(block).is_active = true;
        }
        let run = self.run_for(block, page)?;
        let size = self.layout.page as usize;
        let begin = self.runs[run].bytes.len();
        let bytes = &mut self.runs[run].bytes;
        bytes.resize(begin + size, 0);
        if !data.is_empty() {
            bytes[begin..].copy_from_slice(data);
        }
        let sum = sum.unwrap_or_else(|| record::checksum(&bytes[begin..]));
        let is_full = bytes.len() + size > MOST_BYTES;
        let place = self.geometry.ppn(block, page);
        self.note_area(block, page, record::encode(Chip::Nand, place, oob, sum));
        self.clock += 1;
        let (clock, last) = (self.clock, self.layout.data);
        let is = self.block_mut(block);
        if is.next == is.logged {
            self.unlogged.push(block);
        }
        let is = self.block_mut(block);
        (is.next, is.used) = (page + 1, clock);
        // This page was programmed all the same. That a write failed fails what comes next.
        if page + 1 == last {
            let _ = self.write_table(block);
        } else if is_full {
            let _ = self.write_out(block);
        }
        Ok(())
    }

    fn run_for(&mut self, block: BlockId, page: u32) -> Result<usize, FlashError> {
        if let Some(at) = self.runs.iter().position(|run| run.block == block) {
            return Ok(at);
        }
        if self.runs.len() == MOST_RUNS {
            // The oldest.
            self.write_out(self.runs[0].block)?;
        }
        let bytes = Vec::with_capacity(MOST_BYTES);
        self.runs.push(Run { block, first: page, bytes });
        Ok(self.runs.len() - 1)
    }

    /// Writes the run of a block.
    pub(super) fn write_out(&mut self, block: BlockId) -> Result<(), FlashError> {
        if let Some(number) = self.failed {
            return Err(FlashError::Medium(number));
        }
        let Some(at) = self.runs.iter().position(|run| run.block == block) else { return Ok(()) };
        let run = self.runs.remove(at);
        let written = self.write_at_pointer(block, run.first, &run.bytes);
        if written.is_err() {
            // It can be read as long as it is here.
            self.runs.insert(at, run);
        }
        written.map_err(|error| self.fail(&error))
    }

    /// Writes all runs.
    pub(super) fn write_out_all(&mut self) -> Result<(), FlashError> {
        while let Some(run) = self.runs.first() {
            self.write_out(run.block)?;
        }
        Ok(())
    }

    /// Writes to a block from that page on, behind the pointer.
    fn write_at_pointer(&mut self, block: BlockId, page: u32, bytes: &[u8]) -> io::Result<()> {
        self.wrote();
        if self.block(block).pointer < self.layout.bytes(page) {
            let rest = self.rest_of_torn(block)?;
            self.write_behind(block, &rest)?;
        }
        self.write_behind(block, bytes)
    }

    fn write_behind(&mut self, block: BlockId, bytes: &[u8]) -> io::Result<()> {
        let is = &mut self.blocks[block.index()];
        for part in bytes.chunks(MOST_BYTES) {
            self.device.write_at(part, is.start + is.pointer)?;
            is.pointer += part.len() as u64;
        }
        Ok(())
    }

    /// What fills the page that the pointer is within, so that it cannot become what was to be programmed there.
    fn rest_of_torn(&self, block: BlockId) -> io::Result<Vec<u8>> {
        let is = self.block(block);
        let size = self.layout.page as usize;
        let page = (is.pointer / size as u64) as u32;
        let begin = (is.pointer % size as u64) as usize;
        let mut whole = vec![0; size];
        self.device.read_at(&mut whole, is.start + self.layout.bytes(page))?;
        let record = is.areas.as_deref().and_then(|areas| areas.get(page as usize)).copied();
        let place = self.geometry.ppn(block, page);
        let sum = match record.map(|record| record::decode(Chip::Nand, place, &record)) {
            Some(Beside::Holds(_, sum)) => Some(sum),
            _ => None,
        };
        for filler in [FILLER, !FILLER] {
            whole[begin..].fill(filler);
            if sum != Some(record::checksum(&whole)) {
                break;
            }
        }
        Ok(whole.split_off(begin))
    }

    /// Something was written that the next sync covers.
    pub(super) const fn wrote(&mut self) {
        self.covered_by = self.begun + 1;
    }

    /// A write failed: what was to be written does not last, whatever later syncs say.
    pub(super) fn fail(&mut self, error: &io::Error) -> FlashError {
        FlashError::Medium(*self.failed.get_or_insert(error_number(error)))
    }

    /// Writes the table of a zone whose pages are all programmed, which makes it full.
    fn write_table(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.write_out(block)?;
        let pages = self.layout.data;
        let mut bytes = self.table_of(block, pages);
        let is = self.block(block);
        bytes.resize((self.layout.capacity - is.pointer) as usize, 0);
        let written = self.write_at_pointer(block, pages, &bytes);
        written.map_err(|error| self.fail(&error))?;
        self.has_table(block, pages);
        Ok(())
    }

    /// Makes room for another active zone: the block that was idle longest gets its table where it is, and is
    /// finished. A layer may still have it open, if its stream is rarely written to: the next program of it fails,
    /// and the layer moves its data. The zone is as good as before, so [`mark_bad`](thermocline_flash::Flash::mark_bad)
    /// erases it.
    fn seal(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.write_out(block)?;
        let pages = self.block(block).next;
        let start = self.block(block).start;
        if pages < self.layout.data {
            let bytes = self.table_of(block, pages);
            let written = self.write_at_pointer(block, pages, &bytes);
            written.map_err(|error| self.fail(&error))?;
            self.device.finish(start).map_err(|error| self.fail(&error))?;
            self.has_table(block, pages);
            let (next, pointer) = (self.layout.data, self.layout.capacity);
            let is = self.block_mut(block);
            (is.next, is.pointer) = (next, pointer);
            return Ok(());
        }
        // Its table was cut off: what cannot be read of it must not become a table.
        let written = self.write_at_pointer(block, pages, &[]);
        written.map_err(|error| self.fail(&error))?;
        let rest = vec![FILLER; (self.layout.capacity - self.block(block).pointer) as usize];
        self.write_behind(block, &rest).map_err(|error| self.fail(&error))?;
        self.block_mut(block).is_active = false;
        Ok(())
    }

    fn has_table(&mut self, block: BlockId, pages: u32) {
        self.tables.forget(block, self.layout.table(self.layout.data));
        let is = self.block_mut(block);
        (is.is_active, is.table) = (false, Some(pages));
        self.tabled.push((block, self.covered_by));
    }

    /// The table of a block's first pages.
    fn table_of(&self, block: BlockId, pages: u32) -> Vec<u8> {
        let is = self.block(block);
        let size = self.layout.page as usize;
        let areas = is.areas.as_deref().unwrap_or_default();
        let areas = areas.get(..pages as usize).unwrap_or(areas);
        let mut bytes = vec![0; self.layout.table(pages) as usize * size];
        let parts = areas.chunks(self.layout.each());
        for (number, (table, areas)) in (0..).zip(bytes.chunks_exact_mut(size).zip(parts)) {
            for (at, area) in areas.iter().enumerate() {
                put_entry(table, at, area);
            }
            let head = Head {
                kind: Kind::Table,
                store: self.log.store,
                generation: is.erases.into(),
                number,
                count: block.0,
                zones: self.log.numbers,
                data: self.layout.data,
            };
            head.write(table);
        }
        bytes
    }

    /// Sees that another zone may become active, which is not one of `but`.
    pub(super) fn make_place(&mut self, but: Option<BlockId>) -> Result<(), FlashError> {
        let most = self.most_active();
        if most == 0 {
            return Ok(());
        }
        loop {
            let active = self.blocks.iter().filter(|block| block.is_active).count() as u32;
            if active + self.log.active() < most {
                return Ok(());
            }
            let idle = (0..self.geometry.blocks())
                .map(BlockId)
                .filter(|&block| Some(block) != but && self.block(block).is_active)
                .min_by_key(|&block| self.block(block).used);
            match idle {
                Some(block) => self.seal(block)?,
                None => return Ok(()),
            }
        }
    }
}
