//! The out-of-band areas of the blocks at hand, in memory.
//!
//! Programs go to a few open blocks, recovery and cleaning through one block after the other: so
//! the areas of some blocks are kept, each read by one call. On NOR they are written through; on
//! NAND they differ from the file by the records of the block's run, which are written with it.

use std::{io, ops::Range};

use thermocline_flash::{BlockId, Kind};

use super::{
    layout::Layout,
    record::{self, Beside, Record},
    runs::Runs,
    second,
    store::Store,
    unread::Unread,
};

/// Memory for areas, in bytes, if that is more than [`LEAST_SLOTS`] take; the system gives it as it is used.
const MEMORY: usize = 8 << 20;
const LEAST_SLOTS: usize = 16;
/// Bytes of areas that are read at once.
const AHEAD: usize = 64 << 10;
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Areas {
    layout: Layout,
    /// The block in each slot, or [`NONE`].
    blocks: Vec<u32>,
    /// The slot that a block was in last. It is there still if the slot says so.
    slots: Vec<u32>,
    /// The page behind the last one of the block that is not blank.
    nexts: Vec<u32>,
    bytes: Vec<u8>,
    /// Of each page of a slot, on NOR: its record is blank, but its payload is not.
    debris: Vec<bool>,
    /// Of each slot: its copies differ, or the disk cannot read all of them. They are written whole then,
    /// which mends a disk.
    differ: Vec<bool>,
    /// Of each slot: the disk cannot read all of one of them.
    holes: Vec<bool>,
    /// A bit a block: its copies were found to be equal, and nothing has failed since.
    agreed: Vec<u64>,
    /// What the disk could not read.
    pub unread: Unread,
    /// The slot to be given away next.
    hand: usize,
    /// Where payload is read to or written from that nobody keeps.
    scratch: Vec<u8>,
}

impl Areas {
    pub(super) fn new(layout: Layout, unread: Unread) -> Self {
        Self { unread, ..Self::sized(layout, (MEMORY / layout.areas_bytes).max(LEAST_SLOTS)) }
    }

    /// Of so many blocks at most.
    pub(super) fn sized(layout: Layout, fits: usize) -> Self {
        let slots = fits.min(layout.geometry.blocks() as usize);
        let is_nor = layout.kind == Kind::Nor;
        let pages = layout.geometry.pages_per_block as usize;
        Self {
            blocks: vec![NONE; slots],
            slots: vec![0; layout.geometry.blocks() as usize],
            nexts: vec![0; slots],
            bytes: vec![0; slots * layout.areas_bytes],
            debris: vec![false; if is_nor { slots * pages } else { 0 }],
            differ: vec![false; slots],
            holes: vec![false; slots],
            agreed: vec![0; layout.geometry.blocks().div_ceil(64) as usize],
            unread: Unread::default(),
            hand: 0,
            scratch: Vec::new(),
            layout,
        }
    }

    /// The slot of a block that is at hand.
    #[inline]
    pub(super) fn find(&self, block: BlockId) -> Option<usize> {
        let slot = *self.slots.get(block.index())? as usize;
        (self.blocks[slot] == block.0).then_some(slot)
    }

    fn put(&mut self, slot: usize, block: u32) {
        self.blocks[slot] = block;
        self.slots[block as usize] = slot as u32;
    }

    /// The slot of a block, read if it is not at hand.
    #[inline]
    pub(super) fn load(
        &mut self,
        block: BlockId,
        runs: &Runs,
        store: &dyn Store,
    ) -> io::Result<usize> {
        if let Some(slot) = self.find(block) {
            return Ok(slot);
        }
        self.fetch(block, runs, store)
    }

    #[cold]
    fn fetch(&mut self, block: BlockId, runs: &Runs, store: &dyn Store) -> io::Result<usize> {
        let count = self.ahead(block);
        let slot = self.hand;
        self.hand = (slot + count) % self.blocks.len();
        self.blocks[slot..slot + count].fill(NONE);
        let length = self.layout.areas_bytes;
        self.read_both(block, slot, count, store)?;
        if self.layout.kind == Kind::Nor {
            // What is beside a page is read as of its block.
            self.put(slot, block.0);
            if let Err(error) = self.look_for_debris(block, slot, store) {
                self.blocks[slot] = NONE;
                return Err(error);
            }
        }
        let pages = self.layout.geometry.pages_per_block;
        for (slot, block) in (slot..slot + count).zip(block.0..) {
            self.put(slot, block);
            let used = (0..pages).rev().find(|&page| self.beside(slot, page) != Beside::Blank);
            let bytes = &mut self.bytes[slot * length..][..length];
            let waits = runs.cover(BlockId(block), bytes).unwrap_or(0);
            self.nexts[slot] = used.map_or(0, |page| page + 1).max(waits);
        }
        Ok(slot)
    }

    /// Reads both copies of the areas of some blocks. Of each record the better one is taken.
    fn read_both(
        &mut self,
        first: BlockId,
        slot: usize,
        count: usize,
        store: &dyn Store,
    ) -> io::Result<()> {
        let length = self.layout.areas_bytes;
        let mut second = std::mem::take(&mut self.scratch);
        second.resize(count * length, 0);
        let bytes = &mut self.bytes[slot * length..][..count * length];
        // NOR's first ones lie in their blocks, and are read one by one.
        let holes = self.unread.read_around(store, bytes, self.layout.areas_of(first))?;
        let others =
            self.unread.read_around(store, &mut second, self.layout.second_areas_of(first))?;
        let blocks = (first.0..).zip(slot..slot + count).zip(second.chunks_exact(length));
        for (number, ((block, slot), second)) in blocks.enumerate() {
            let here = number * length..(number + 1) * length;
            let is_in = |hole: &Range<usize>| hole.start < here.end && hole.end > here.start;
            let has_hole = holes.iter().chain(&others).any(is_in);
            let bytes = &mut self.bytes[slot * length..][..length];
            let differ = has_hole || bytes != second;
            if differ {
                second::merge(&self.layout, BlockId(block), bytes, second);
            }
            (self.differ[slot], self.holes[slot]) = (differ, has_hole);
            self.set_agreed(BlockId(block), !differ);
        }
        self.scratch = second;
        Ok(())
    }

    fn set_agreed(&mut self, block: BlockId, agree: bool) {
        let word = &mut self.agreed[block.index() / 64];
        *word = *word & !(1 << (block.0 % 64)) | u64::from(agree) << (block.0 % 64);
    }

    fn agree(&self, block: BlockId) -> bool {
        self.agreed[block.index() / 64] >> (block.0 % 64) & 1 != 0
    }

    /// Of how many blocks the areas are read at once: of several where the block before was read last,
    /// for that is how recovery reads.
    fn ahead(&self, block: BlockId) -> usize {
        let follows = block.0.checked_sub(1).is_some_and(|before| {
            let newest = (self.hand + self.blocks.len() - 1) % self.blocks.len();
            self.blocks[newest] == before
        });
        if !follows || self.layout.kind == Kind::Nor {
            return 1;
        }
        let left = (self.layout.geometry.blocks() - block.0) as usize;
        let count = left.min(AHEAD / self.layout.areas_bytes).min(self.blocks.len() - self.hand);
        // No block may be in two slots.
        let mut coming = (block.0..block.0 + count as u32).map(BlockId);
        if coming.any(|block| self.find(block).is_some()) { 1 } else { count.max(1) }
    }

    /// Finds the pages of a NOR block that have no record and yet not only ones: they were being
    /// programmed, or the block erased, when the power failed. Only an erase helps.
    fn look_for_debris(
        &mut self,
        block: BlockId,
        slot: usize,
        store: &dyn Store,
    ) -> io::Result<()> {
        let geometry = self.layout.geometry;
        let (pages, header) = (geometry.pages_per_block, geometry.header_pages);
        let size = geometry.page_size as usize;
        let mut payload = std::mem::take(&mut self.scratch);
        payload.resize(size, 0);
        for page in 0..pages {
            let flag = slot * pages as usize + page as usize;
            self.debris[flag] = false;
            if page >= header && self.beside(slot, page) == Beside::Blank {
                let at = self.layout.payload_of(block, page);
                let holes = self.unread.read_around(store, &mut payload, at)?;
                self.debris[flag] = !holes.is_empty() || payload.iter().any(|&byte| byte != 0xff);
            }
        }
        self.scratch = payload;
        Ok(())
    }

    /// The page behind the last one of the block that is not blank.
    pub(super) fn next(&self, slot: usize) -> u32 {
        self.nexts[slot]
    }

    fn record(&self, slot: usize, at: usize) -> &Record {
        let bytes = &self.bytes[slot * self.layout.areas_bytes + at..];
        bytes.first_chunk().expect("areas are whole records")
    }

    fn record_mut(&mut self, slot: usize, at: usize) -> &mut Record {
        let bytes = &mut self.bytes[slot * self.layout.areas_bytes + at..];
        bytes.first_chunk_mut().expect("areas are whole records")
    }

    /// What stands beside a page.
    #[inline]
    pub(super) fn beside(&self, slot: usize, page: u32) -> Beside {
        let Some(at) = self.layout.record_of(page) else { return Beside::Blank };
        let place = self.layout.geometry.ppn(BlockId(self.blocks[slot]), page);
        let found = record::decode(self.layout.kind, place, self.record(slot, at));
        let flag = slot * self.layout.geometry.pages_per_block as usize + page as usize;
        if found == Beside::Blank && self.debris.get(flag).is_some_and(|&debris| debris) {
            return Beside::Torn;
        }
        found
    }

    /// What stands beside a page of a block that need not be at hand, nor will be.
    pub(super) fn peek(
        &mut self,
        block: BlockId,
        page: u32,
        runs: &Runs,
        store: &dyn Store,
    ) -> io::Result<Beside> {
        let place = self.layout.geometry.ppn(block, page);
        if let Some(record) = runs.record(block, page) {
            return Ok(record::decode(self.layout.kind, place, record));
        }
        // Where all areas have a place none is read twice.
        let all_fit = self.blocks.len() == self.slots.len();
        let is_one_record = store.unit() <= record::BYTES && self.layout.kind == Kind::Nand;
        if is_one_record && !all_fit && self.agree(block) && self.find(block).is_none() {
            let Some(at) = self.layout.record_of(page) else { return Ok(Beside::Blank) };
            let mut record = [0; record::BYTES];
            let read = store.read_at(&mut record, self.layout.areas_of(block) + at as u64);
            let found = record::decode(self.layout.kind, place, &record);
            if read.is_ok() && matches!(found, Beside::Holds(..)) {
                return Ok(found);
            }
        }
        // Both copies, where the first one alone may not be right.
        let slot = self.load(block, runs, store)?;
        Ok(self.beside(slot, page))
    }

    /// Notes the record of a page, which is blank and has one. It is not written yet.
    pub(super) fn note(&mut self, slot: usize, page: u32, record: &Record) {
        let Some(at) = self.layout.record_of(page) else { return };
        *self.record_mut(slot, at) = *record;
        self.nexts[slot] = self.nexts[slot].max(page + 1);
    }

    /// Writes the records of some pages, at least one, that all have one.
    pub(super) fn write_records(
        &mut self,
        slot: usize,
        pages: Range<u32>,
        store: &dyn Store,
    ) -> io::Result<()> {
        let last = pages.end - 1;
        let place = self.layout.record_of(pages.start).zip(self.layout.record_of(last));
        let Some((from, last)) = place else { return Ok(()) };
        self.write(slot, from, last + record::BYTES, store)
    }

    /// Programs further bits of a NOR block: of its header (`page` is `None`) or of a record. Whatever
    /// the change wants, bits are only cleared.
    pub(super) fn clear_bits(
        &mut self,
        slot: usize,
        page: Option<u32>,
        store: &dyn Store,
        change: impl FnOnce(&mut Record),
    ) -> io::Result<()> {
        let Some(at) = page.map_or(Some(0), |page| self.layout.record_of(page)) else {
            return Ok(());
        };
        let old = *self.record(slot, at);
        let mut new = old;
        change(&mut new);
        for (new, old) in new.iter_mut().zip(old) {
            *new &= old;
        }
        if new == old {
            return Ok(());
        }
        *self.record_mut(slot, at) = new;
        self.write(slot, at, at + record::BYTES, store)
    }

    /// The record of a page, or the header of a NOR block, as it stands.
    pub(super) fn raw(&self, slot: usize, page: Option<u32>) -> Option<&Record> {
        let at = page.map_or(Some(0), |page| self.layout.record_of(page))?;
        Some(self.record(slot, at))
    }

    /// Blanks the areas of a block: of NOR the whole block, and `header` stands in it then.
    pub(super) fn blank(
        &mut self,
        block: BlockId,
        header: &Record,
        runs: &Runs,
        store: &dyn Store,
    ) -> io::Result<()> {
        if self.layout.kind == Kind::Nor {
            self.forget(block);
            let length = self.layout.geometry.block_size() as usize;
            self.scratch.clear();
            self.scratch.resize(length, 0xff);
            self.scratch[..record::BYTES].copy_from_slice(header);
            store.write_at(&self.scratch, self.layout.areas_of(block))?;
            let second = &self.scratch[..self.layout.areas_bytes];
            return store.write_at(second, self.layout.second_areas_of(block));
        }
        let slot = self.load(block, runs, store)?;
        // Torn records behind the last page are none: there is nothing but records.
        let end = self.nexts[slot] as usize * record::BYTES;
        self.nexts[slot] = 0;
        // A record that only one copy has may come up behind them later.
        if end == 0 && !self.differ[slot] {
            return Ok(());
        }
        let length = self.layout.areas_bytes;
        self.bytes[slot * length..][..end].fill(0xff);
        self.write(slot, 0, end, store)
    }

    /// Writes a range of a slot to both copies, as much more of it as the file demands.
    fn write(&mut self, slot: usize, from: usize, to: usize, store: &dyn Store) -> io::Result<()> {
        let unit = store.unit();
        let (all, part) =
            (0..self.layout.areas_bytes, from / unit * unit..to.next_multiple_of(unit));
        let range = if self.differ[slot] { all.clone() } else { part.clone() };
        // Bits of NOR are not set without an erase, but where a disk has to be mended.
        let is_nor = self.layout.kind == Kind::Nor;
        let first = if is_nor && !self.holes[slot] { part } else { range.clone() };
        self.differ[slot] &= first != range;
        self.holes[slot] = false;
        let block = BlockId(self.blocks[slot]);
        let bytes = &self.bytes[slot * self.layout.areas_bytes..][all];
        let done = store
            .write_at(&bytes[first.clone()], self.layout.areas_of(block) + first.start as u64)
            .and_then(|()| {
                let at = self.layout.second_areas_of(block) + range.start as u64;
                store.write_at(&bytes[range], at)
            });
        if done.is_err() {
            // Only the file knows what it took.
            self.blocks[slot] = NONE;
            self.set_agreed(block, false);
        }
        done
    }

    /// Writes both copies of a slot anew where they differ. Whether they did.
    pub(super) fn mend(&mut self, slot: usize, store: &dyn Store) -> io::Result<bool> {
        let differ = self.differ[slot];
        if differ {
            self.write(slot, 0, self.layout.areas_bytes, store)?;
        }
        Ok(differ)
    }

    /// Nothing that is known holds any longer.
    pub(super) fn forget_all(&mut self) {
        self.blocks.fill(NONE);
    }

    /// What is known of a block holds no longer.
    pub(super) fn forget(&mut self, block: BlockId) {
        if let Some(slot) = self.find(block) {
            self.blocks[slot] = NONE;
        }
    }
}
