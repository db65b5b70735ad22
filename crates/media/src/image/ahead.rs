//! The survivors of a block, read together before they are copied one by one.
//!
//! Invariant: the window equals the file for each wanted page in it. A block with pages in a run is not read
//! ahead, and an erase drops its block from the window, so the file does not change underneath.

use std::ops::Range;

use thermocline_flash::BlockId;

use super::{layout::Layout, store::Store};

/// Bytes that are read ahead, if a page is not longer: they stay in the processor's cache.
const WINDOW: usize = 64 << 10;
const NONE: BlockId = BlockId(u32::MAX);

#[derive(Debug)]
pub(super) struct Ahead {
    block: BlockId,
    /// A bit a page of the block: it is about to be copied.
    wanted: Vec<u64>,
    /// The page after the last of those.
    end: u32,
    /// The pages of the window, those that are not wanted included.
    has: Range<u32>,
    window: Vec<u8>,
}

impl Ahead {
    pub(super) const fn new() -> Self {
        Self { block: NONE, wanted: Vec::new(), end: 0, has: 0..0, window: Vec::new() }
    }

    /// These pages of a block will be copied. Nothing is read yet.
    pub(super) fn expect(&mut self, block: BlockId, pages: impl Iterator<Item = u32>) {
        self.wanted.clear();
        (self.block, self.end, self.has) = (block, 0, 0..0);
        for page in pages {
            let word = page as usize / 64;
            if self.wanted.len() <= word {
                self.wanted.resize(word + 1, 0);
            }
            self.wanted[word] |= 1 << (page % 64);
            self.end = self.end.max(page + 1);
        }
    }

    fn wants(&self, page: u32) -> bool {
        self.wanted.get(page as usize / 64).is_some_and(|word| word >> (page % 64) & 1 != 0)
    }

    /// The payload of an expected page. `None` if the window cannot supply it.
    pub(super) fn payload(
        &mut self,
        (block, page): (BlockId, u32),
        layout: &Layout,
        store: &dyn Store,
    ) -> Option<&[u8]> {
        if self.block != block || !self.wants(page) {
            return None;
        }
        if !self.has.contains(&page) {
            // A window moves on. Pages in another order are read one by one.
            if page < self.has.end || self.fill(page, layout, store).is_err() {
                return None;
            }
        }
        let size = layout.geometry.page_size as usize;
        Some(&self.window[(page - self.has.start) as usize * size..][..size])
    }

    fn fill(&mut self, first: u32, layout: &Layout, store: &dyn Store) -> std::io::Result<()> {
        let size = layout.geometry.page_size as usize;
        let most = (WINDOW / size).max(1) as u32;
        let end = self.end.min(first.saturating_add(most));
        let bytes = (end - first) as usize * size;
        if self.window.len() < bytes {
            self.window.resize(bytes, 0);
        }
        let mut page = first;
        while page < end {
            let start = page;
            page += (start..end).take_while(|&page| self.wants(page)).count() as u32;
            let place = (start - first) as usize * size..(page - first) as usize * size;
            let into = &mut self.window[place];
            if let Err(error) = store.read_at(into, layout.payload_of(self.block, start)) {
                // One page may be at fault, so each is then read by itself.
                self.forget(self.block);
                return Err(error);
            }
            page += (page..end).take_while(|&page| !self.wants(page)).count() as u32;
        }
        self.has = first..end;
        Ok(())
    }

    /// Drops a block from the window.
    pub(super) fn forget(&mut self, block: BlockId) {
        if self.block == block {
            (self.block, self.has) = (NONE, 0..0);
        }
    }
}
