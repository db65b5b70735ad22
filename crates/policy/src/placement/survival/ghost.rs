//! A ghost: a small device without data that does with a sample of the pages what the whole does with all.
//!
//! It has a map, blocks and an index of its own, and cleans as the layer does by default: when the host needs a block
//! and the reserve would be touched, one block at a time. So it tells what a rule would copy, before the whole follows it.

use alloc::{collections::VecDeque, vec, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use super::Survival;
use crate::{
    BlockTable,
    placement::{Cleaning, Place, Placement},
    trigger::Watermarks,
    victim,
};

/// Pages in a ghost's block: with fewer they say little of larger ones.
pub(super) const PAGES: u32 = 32;
/// Blocks of a ghost at most: pages have numbers of 16 bits.
pub(super) const MOST_BLOCKS: u32 = (NONE as u32) / PAGES;
/// No page.
const NONE: u16 = u16::MAX;

/// A block that is being filled.
#[derive(Clone, Copy, Debug)]
struct Open {
    block: BlockId,
    /// Pages programmed, and those among them that the table has counted.
    next: u32,
    counted: u32,
}

/// No block: full, so that one is opened first.
const CLOSED: Open = Open { block: BlockId::NONE, next: PAGES, counted: PAGES };

/// A device in small.
#[derive(Clone, Debug)]
pub(super) struct Ghost {
    pub(super) own: Survival,
    blocks: BlockTable,
    /// Where each logical page lies, and whose each physical page is.
    map: Vec<u16>,
    owners: Vec<u16>,
    free: VecDeque<BlockId>,
    open: Vec<Open>,
    mapped: u32,
    /// Pages copied, faded with the evidence.
    pub(super) copies: u64,
}

impl Ghost {
    /// An empty one of so many blocks and logical pages, that does as `own` says.
    pub(super) fn new(own: Survival, blocks: u32, logical_pages: u32) -> Self {
        debug_assert!(blocks <= MOST_BLOCKS, "{blocks} blocks");
        Self {
            blocks: BlockTable::new(blocks, PAGES, &victim::Survival),
            map: vec![NONE; logical_pages as usize],
            owners: vec![NONE; (blocks * PAGES) as usize],
            free: (0..blocks).map(BlockId).collect(),
            open: vec![CLOSED; usize::from(own.streams())],
            mapped: 0,
            copies: 0,
            own,
        }
    }

    fn block_of(at: u16) -> BlockId {
        BlockId(u32::from(at) / PAGES)
    }

    fn lies(&self, page: u16) -> Option<u16> {
        Some(self.map[usize::from(page)]).filter(|&at| at != NONE)
    }

    /// A page was there before the run.
    pub(super) fn fill(&mut self, page: u16) {
        if self.lies(page).is_none() {
            self.program(page, 0);
            self.own.filled(Lpn(page.into()), 0);
        }
    }

    /// The host writes a page.
    pub(super) fn write(&mut self, page: u16) {
        let lpn = Lpn(page.into());
        let old = self.lies(page).map(|at| {
            let block = Self::block_of(at);
            let stream = self.blocks.block(block).stream;
            let next = self.open[usize::from(stream)].next;
            Place { bank: 0, block, stream, page: u32::from(at) % PAGES, next }
        });
        let stream = self.own.host_over(lpn, old, 0);
        self.program(page, usize::from(stream));
        self.own.written(lpn, 0);
    }

    /// A page holds no data any more.
    pub(super) fn trim(&mut self, page: u16) {
        if let Some(at) = self.lies(page) {
            self.blocks.invalidate(Self::block_of(at), 0);
            self.map[usize::from(page)] = NONE;
            self.mapped -= 1;
            self.own.trimmed(Lpn(page.into()));
        }
    }

    fn program(&mut self, page: u16, stream: usize) {
        if self.open[stream].next == PAGES {
            self.make_room(stream);
        }
        let at = self.append(page, stream);
        self.open[stream].counted += 1;
        self.blocks.wrote(Self::block_of(at), 0);
        match self.lies(page) {
            Some(old) => self.blocks.invalidate(Self::block_of(old), 0),
            None => self.mapped += 1,
        }
        self.map[usize::from(page)] = at;
    }

    /// The next page of a stream's open block is a page's.
    fn append(&mut self, page: u16, stream: usize) -> u16 {
        let open = &mut self.open[stream];
        let at = open.block.0 * PAGES + open.next;
        open.next += 1;
        self.owners[at as usize] = page;
        at as u16
    }

    /// Gives a stream room for what the host writes, and keeps the reserve.
    fn make_room(&mut self, stream: usize) {
        let enough = Watermarks::default().low as usize;
        self.close_unused(stream);
        loop {
            let is_full = self.open[stream].next == PAGES;
            // Cleaning may have opened a block for this stream.
            let needed = enough - usize::from(!is_full);
            if self.free.len() >= needed || !self.clean() {
                if is_full {
                    self.open_next(stream);
                }
                return;
            }
        }
    }

    /// Cleans the victim; false if there is none.
    fn clean(&mut self) -> bool {
        let Some(victim) = self.blocks.choose(0, &mut self.own, &mut victim::Survival, 0) else { return false };
        let block = *self.blocks.block(victim);
        self.own.cleaning(&Cleaning {
            bank: 0,
            block: victim,
            valid: block.valid,
            pages: PAGES,
            stream: block.stream,
            mapped: self.mapped,
            capacity: self.map.len() as u32,
            now: 0,
        });
        self.copies += u64::from(block.valid);
        let stream = usize::from(self.own.common_stream().unwrap_or(0));
        for at in victim.0 * PAGES..(victim.0 + 1) * PAGES {
            let page = self.owners[at as usize];
            if page == NONE || self.map[usize::from(page)] != at as u16 {
                continue;
            }
            if self.open[stream].next == PAGES {
                self.count_copied(stream, victim);
                self.open_next(stream);
            }
            self.map[usize::from(page)] = self.append(page, stream);
        }
        self.count_copied(stream, victim);
        self.blocks.withdraw(victim);
        self.blocks.erased(victim);
        self.free.push_back(victim);
        true
    }

    /// The table learns of the survivors of `victim` that a stream's open block took.
    fn count_copied(&mut self, stream: usize, victim: BlockId) {
        let open = &mut self.open[stream];
        self.blocks.copied(open.block, open.next - open.counted, victim, 0);
        open.counted = open.next;
    }

    fn open_next(&mut self, stream: usize) {
        let block = self.free.pop_front().expect("the reserve has a block for a victim's survivors");
        self.close(stream);
        self.blocks.open(block, stream as u8, 0);
        self.own.opened(0, block, stream as u8, 0);
        self.open[stream] = Open { block, next: 0, counted: 0 };
    }

    fn close(&mut self, stream: usize) {
        let Open { block, .. } = core::mem::replace(&mut self.open[stream], CLOSED);
        if block != BlockId::NONE {
            let entry = self.own.closing(0, block, stream as u8);
            self.blocks.close(block, &victim::Survival, entry);
        }
    }

    fn close_unused(&mut self, but: usize) {
        for stream in (0..self.open.len()).filter(|&stream| stream != but) {
            if self.open[stream].block != BlockId::NONE && !self.own.is_used(stream as u8) {
                self.close(stream);
            }
        }
    }
}
