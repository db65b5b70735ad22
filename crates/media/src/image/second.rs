//! Second copies: the areas of all blocks and the pages of the index log are stored twice.
//!
//! A sector of areas describes sixteen pages, and a page of the log more. A sector that cannot be read, or reads
//! as other data, would lose all of them. A second copy therefore lies at the other end of the file. It is
//! written in the same batch. Each copy carries checksums. Of two valid records the one with the greater sequence is
//! the newer: a power failure may have kept one of the two writes.

use thermocline_flash::{BlockId, Flash, FlashError, Kind};

use super::{
    Image, checksum,
    layout::Layout,
    record::{self, Beside, Record, segment},
    store::Store,
    syncing::medium,
};

/// Takes the better of two copies of a block's areas, record by record.
pub(super) fn merge(layout: &Layout, block: BlockId, first: &mut [u8], second: &[u8]) {
    let first = first.as_chunks_mut::<{ record::BYTES }>().0;
    let second = second.as_chunks::<{ record::BYTES }>().0;
    if layout.kind == Kind::Nor && !segment::is_one(&first[0]) {
        first[0] = second[0];
    }
    for page in 0..layout.geometry.pages_per_block {
        let Some(at) = layout.record_of(page).map(|at| at / record::BYTES) else { continue };
        let place = layout.geometry.ppn(block, page);
        let rank = |record: &Record| match record::decode(layout.kind, place, record) {
            // In the block of a NOR chip the first one stays: no bit of it can be set.
            Beside::Holds(..) if layout.kind == Kind::Nor => (2, 0),
            Beside::Holds(oob, _) => (2, oob.sequence),
            Beside::Blank => (1, 0),
            // A power failure does not cause this: a record lies within a sector.
            Beside::Torn => (0, 0),
        };
        if first[at] != second[at] && rank(&second[at]) > rank(&first[at]) {
            first[at] = second[at];
        }
    }
}

impl Image {
    /// Reads the second copy of a page's payload. Whether there is one, and it is the right one.
    #[cold]
    pub(super) fn read_second(
        &mut self,
        (block, page): (BlockId, u32),
        sum: u32,
        into: &mut [u8],
    ) -> bool {
        let at = self.layout.second_payload_of(block, page);
        at.is_some_and(|at| self.store.read_at(into, at).is_ok() && checksum(into) == sum)
    }

    /// Restores each damaged copy from the other one if that is valid. Returns the repairs in words.
    pub(super) fn mend_copies(&mut self) -> Result<Vec<String>, FlashError> {
        let (mut areas, mut pages) = (0, 0);
        let geometry = *self.geometry();
        for block in (0..geometry.blocks()).map(BlockId) {
            let slot = self.load(block)?;
            areas += u32::from(self.areas.mend(slot, &*self.store).map_err(medium)?);
        }
        let mut payload = vec![0; geometry.page_size as usize];
        let log = geometry.data_blocks()..geometry.blocks();
        let log =
            log.flat_map(|block| (0..geometry.pages_per_block).map(move |page| (block, page)));
        for (block, page) in log.map(|(block, page)| (BlockId(block), page)) {
            let slot = self.load(block)?;
            let Beside::Holds(_, sum) = self.areas.beside(slot, page) else { continue };
            let Some(second) = self.layout.second_payload_of(block, page) else { continue };
            let places = [self.layout.payload_of(block, page), second];
            let is_whole = places.map(|at| {
                self.store.read_at(&mut payload, at).is_ok() && checksum(&payload) == sum
            });
            let (from, to) = match is_whole {
                [true, false] => (places[0], places[1]),
                [false, true] => (places[1], places[0]),
                _ => continue,
            };
            self.store.read_at(&mut payload, from).map_err(medium)?;
            self.store.write_at(&payload, to).map_err(medium)?;
            pages += 1;
        }
        if areas + pages > 0 {
            self.waiting.wrote();
        }
        let words = |count, what| {
            (count > 0).then(|| format!("{what}: {count} had one whole copy, and have two again"))
        };
        let areas = words(areas, "blocks whose out-of-band areas had two copies that differed");
        Ok(areas.into_iter().chain(words(pages, "pages of the index log")).collect())
    }
}
