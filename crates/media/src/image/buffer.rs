//! How a page that may be programmed gets to the file: on NAND by way of a run, on NOR at once.

use thermocline_flash::{BlockId, FlashError, Kind, Oob, Ppn};

use super::{
    Image, checksum,
    record::{self, segment},
    store::Store,
    syncing::medium,
};

/// What a page is programmed with.
#[derive(Clone, Copy)]
pub(super) enum Content<'a> {
    /// These bytes; none are zeros.
    Given(&'a [u8]),
    /// What another page holds, which has this checksum.
    Of(Ppn, u32),
}

impl Image {
    /// Programs a page that may be programmed, in memory.
    pub(super) fn gather(
        &mut self,
        (block, page): (BlockId, u32),
        oob: &Oob,
        content: Content<'_>,
    ) -> Result<(), FlashError> {
        let at = self.run_for(block, page)?;
        let sum = match content {
            Content::Given(data) => {
                let room = self.runs.room(at);
                if data.is_empty() {
                    room.fill(0);
                } else {
                    room.copy_from_slice(data);
                }
                checksum(room)
            }
            Content::Of(from, sum) => {
                self.fetch_payload(at, from, sum)?;
                sum
            }
        };
        let place = self.header.geometry.ppn(block, page);
        let record = record::encode(self.header.kind, place, oob, sum);
        // The slot may have been given away to write a run.
        let slot = self.load(block)?;
        self.areas.note(slot, page, &record);
        self.runs.take(at, &record);
        if self.runs.is_full(at) {
            // This page was programmed all the same. That the run is stuck fails what comes next.
            let _ = self.write_out(at);
        }
        Ok(())
    }

    /// Reads a payload into the room of a run, and compares it with its checksum.
    fn fetch_payload(&mut self, at: usize, from: Ppn, sum: u32) -> Result<(), FlashError> {
        let geometry = &self.header.geometry;
        let (block, page) = (geometry.block_of(from), geometry.page_of(from));
        if self.runs.fill_from(at, block, page) {
            return Ok(());
        }
        let store = &*self.store;
        let room = self.runs.room(at);
        let read = if let Some(payload) = self.ahead.payload((block, page), &self.layout, store) {
            room.copy_from_slice(payload);
            Ok(())
        } else {
            store.read_at(room, self.layout.payload_of(block, page))
        };
        let read = read.map(|()| checksum(room) == sum);
        if matches!(read, Ok(true)) {
            return Ok(());
        }
        let mut page = std::mem::take(&mut self.page);
        let done = self.verify_or_second(from, read.map(drop), sum, &mut page);
        self.runs.room(at).copy_from_slice(&page);
        self.page = page;
        done
    }

    /// The run that takes this page next.
    fn run_for(&mut self, block: BlockId, page: u32) -> Result<usize, FlashError> {
        if self.runs.is_stuck {
            self.write_out_all()?;
        }
        let found = self.runs.find(block);
        if let Some(at) = found
            && self.runs.takes(at, page)
        {
            return Ok(at);
        }
        let at = found.unwrap_or_else(|| self.runs.spare());
        self.write_out(at)?;
        self.runs.begin(at, block, page, self.header.geometry.pages_per_block);
        Ok(at)
    }

    /// Writes a run to the file: the payloads, and then what says that they are there. A run that
    /// cannot be written stays.
    fn write_out(&mut self, at: usize) -> Result<(), FlashError> {
        let Some((block, pages, payload)) = self.runs.waits(at) else { return Ok(()) };
        let store = &*self.store;
        self.waiting.wrote();
        let write = || {
            store.write_payload(payload, self.layout.payload_of(block, pages.start))?;
            if let Some(second) = self.layout.second_payload_of(block, pages.start) {
                store.write_payload(payload, second)?;
            }
            let slot = self.areas.load(block, &self.runs, store)?;
            self.areas.write_records(slot, pages, store)
        };
        match write() {
            Ok(()) => self.runs.empty(at),
            Err(error) => {
                self.runs.is_stuck = true;
                return Err(medium(error));
            }
        }
        Ok(())
    }

    /// Writes all runs.
    pub(super) fn write_out_all(&mut self) -> Result<(), FlashError> {
        for at in self.runs.all() {
            self.write_out(at)?;
        }
        self.runs.is_stuck = false;
        Ok(())
    }

    /// A block is to be erased: what waits of it need not be written any more. Until the erase is
    /// carried out the block is as if some of it had not lasted.
    pub(super) fn forget_run(&mut self, block: BlockId) {
        if let Some(at) = self.runs.find(block) {
            self.runs.empty(at);
        }
        self.ahead.forget(block);
    }

    /// Writes a page of a NOR chip: the payload, and then what says that it is there.
    pub(super) fn write_through(
        &mut self,
        (block, page): (BlockId, u32),
        oob: &Oob,
        sum: u32,
        data: &[u8],
    ) -> Result<(), FlashError> {
        let slot = self.load(block)?;
        let store = &*self.store;
        self.waiting.wrote();
        let second = self.layout.second_payload_of(block, page);
        let mut places = [self.layout.payload_of(block, page)].into_iter().chain(second);
        if let Err(error) = places.try_for_each(|at| store.write_at(data, at)) {
            // What was written of it cannot be written over.
            self.areas.forget(block);
            return Err(medium(error));
        }
        if self.areas.raw(slot, None).is_some_and(|header| !segment::is_opened(header)) {
            let is_system = block.0 >= self.header.geometry.data_blocks();
            let open = |header: &mut record::Record| segment::open(header, oob, is_system);
            self.areas.clear_bits(slot, None, store, open).map_err(medium)?;
        }
        let place = self.header.geometry.ppn(block, page);
        let record = record::encode(Kind::Nor, place, oob, sum);
        self.areas.note(slot, page, &record);
        self.areas.write_records(slot, page..page + 1, store).map_err(medium)
    }
}

impl Drop for Image {
    /// Writes what waits, though it need not last. Who wants to know whether that went well has synced.
    fn drop(&mut self) {
        let _ = self.write_out_all();
    }
}
