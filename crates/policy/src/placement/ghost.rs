//! A ghost: a small device without data that simulates a rule on a sample of the pages.
//!
//! It has its own map, blocks and index, and cleans like the layer by default: one block at a time,
//! when the host needs a block and would otherwise use the reserve. Its victims are those of
//! [`victim::Survival`]: greedy ones, weighed where the placement weighs blocks. Its copies predict
//! those of a rule before the device follows it.

use alloc::{collections::VecDeque, vec, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use super::{Cleaning, Place, Placement};
use crate::{BlockTable, Context, trigger::Watermarks, victim};

/// No page.
const NONE: u32 = u32::MAX;

/// An open block.
#[derive(Clone, Copy, Debug)]
struct Open {
    block: BlockId,
    /// Pages programmed, and how many of them the table has counted.
    next: u32,
    counted: u32,
}

impl Open {
    /// No block. Marked full, so that a block is opened first.
    const fn none(pages: u32) -> Self {
        Self { block: BlockId::NONE, next: pages, counted: pages }
    }
}

/// A placement that a ghost can follow. It keeps no state in the layer, and sends all survivors of a
/// victim to one stream.
pub(super) trait Simulated: Placement<Page = ()> {
    /// The stream of a page that the host is about to write with this handle.
    fn place(&mut self, lpn: Lpn, old: Option<Place>, handle: u8) -> u8;

    /// The stream of the survivors of the block that is being cleaned.
    fn copied(&self) -> u8;

    /// Whether it places by hints.
    fn uses_hints(&self) -> bool;
}

/// A small simulated device.
#[derive(Clone, Debug)]
pub(super) struct Ghost<P> {
    pub(super) own: P,
    /// Pages in a block, as a power of 2.
    shift: u32,
    blocks: BlockTable,
    /// Location of each logical page, and owner of each physical page.
    map: Vec<u32>,
    owners: Vec<u32>,
    free: VecDeque<BlockId>,
    open: Vec<Open>,
    mapped: u32,
    /// Pages copied, decayed with the evidence.
    pub(super) copies: u64,
}

impl<P: Simulated> Ghost<P> {
    /// An empty ghost of this shape that follows `own`. The number of pages in a block is a power
    /// of 2.
    pub(super) fn new(
        own: P,
        &Context { logical_pages, pages_per_block, blocks, .. }: &Context,
    ) -> Self {
        Self {
            shift: pages_per_block.ilog2(),
            blocks: BlockTable::new(blocks, pages_per_block, &victim::Survival),
            map: vec![NONE; logical_pages as usize],
            owners: vec![NONE; (blocks * pages_per_block) as usize],
            free: (0..blocks).map(BlockId).collect(),
            open: vec![Open::none(pages_per_block); usize::from(own.streams())],
            mapped: 0,
            copies: 0,
            own,
        }
    }

    fn pages(&self) -> u32 {
        1 << self.shift
    }

    fn block_of(&self, at: u32) -> BlockId {
        BlockId(at >> self.shift)
    }

    fn lies(&self, page: u32) -> Option<u32> {
        Some(self.map[page as usize]).filter(|&at| at != NONE)
    }

    /// Fills a page before the run.
    pub(super) fn fill(&mut self, page: u32) {
        if self.lies(page).is_none() {
            self.program(page, 0);
            self.own.filled(&mut (), Lpn(page), 0);
        }
    }

    /// Simulates a host write.
    pub(super) fn write(&mut self, page: u32, handle: u8) {
        let lpn = Lpn(page);
        let old = self.lies(page).map(|at| {
            let block = self.block_of(at);
            let stream = self.blocks.block(block).stream;
            let next = self.open[usize::from(stream)].next;
            Place { bank: 0, block, stream, page: at & (self.pages() - 1), next }
        });
        let stream = self.own.place(lpn, old, handle);
        self.program(page, usize::from(stream));
        self.own.written(&mut (), lpn, 0);
    }

    /// Simulates a trim.
    pub(super) fn trim(&mut self, page: u32) {
        if let Some(at) = self.lies(page) {
            self.blocks.invalidate(self.block_of(at), 0);
            self.map[page as usize] = NONE;
            self.mapped -= 1;
            self.own.trimmed((), Lpn(page));
        }
    }

    fn program(&mut self, page: u32, stream: usize) {
        if self.open[stream].next == self.pages() {
            self.make_room(stream);
        }
        let at = self.append(page, stream);
        self.open[stream].counted += 1;
        self.blocks.wrote(self.block_of(at), 0);
        match self.lies(page) {
            Some(old) => self.blocks.invalidate(self.block_of(old), 0),
            None => self.mapped += 1,
        }
        self.map[page as usize] = at;
    }

    /// Appends a page to a stream's open block; returns its physical page.
    fn append(&mut self, page: u32, stream: usize) -> u32 {
        let open = &mut self.open[stream];
        let at = (open.block.0 << self.shift) + open.next;
        open.next += 1;
        self.owners[at as usize] = page;
        at
    }

    /// Makes room for a host write to a stream, and keeps the reserve.
    fn make_room(&mut self, stream: usize) {
        let enough = Watermarks::default().low as usize;
        self.close_unused(stream);
        loop {
            let is_full = self.open[stream].next == self.pages();
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

    /// Cleans a victim; false if there is none.
    fn clean(&mut self) -> bool {
        let Some(victim) = self.blocks.choose(0, &mut self.own, &mut victim::Survival, 0) else {
            return false;
        };
        let block = *self.blocks.block(victim);
        self.own.cleaning(&Cleaning {
            bank: 0,
            block: victim,
            valid: block.valid,
            pages: self.pages(),
            stream: block.stream,
            mapped: self.mapped,
            capacity: self.map.len() as u32,
            now: 0,
        });
        self.copies += u64::from(block.valid);
        let stream = usize::from(self.own.copied());
        for at in victim.0 << self.shift..(victim.0 + 1) << self.shift {
            let page = self.owners[at as usize];
            if page == NONE || self.map[page as usize] != at {
                continue;
            }
            if self.open[stream].next == self.pages() {
                self.count_copied(stream);
                self.open_next(stream);
            }
            self.map[page as usize] = self.append(page, stream);
        }
        self.count_copied(stream);
        self.blocks.withdraw(victim);
        self.blocks.erased(victim);
        self.free.push_back(victim);
        true
    }

    /// Counts in the table the survivors that were appended to a stream's open block.
    fn count_copied(&mut self, stream: usize) {
        let open = &mut self.open[stream];
        self.blocks.copied(open.block, open.next - open.counted, 0, 0);
        open.counted = open.next;
    }

    fn open_next(&mut self, stream: usize) {
        let block =
            self.free.pop_front().expect("the reserve has a block for a victim's survivors");
        self.close(stream);
        self.blocks.open(block, stream as u8, 0);
        self.own.opened(0, block, stream as u8, 0);
        self.open[stream] = Open { block, next: 0, counted: 0 };
    }

    fn close(&mut self, stream: usize) {
        let Open { block, .. } =
            core::mem::replace(&mut self.open[stream], Open::none(1 << self.shift));
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

    /// Checks that every page is in one place, that valid counts are right, and that each block has
    /// one use.
    #[cfg(test)]
    pub(super) fn check(&self) {
        use crate::State;
        let mut valid = vec![0; self.blocks.blocks().len()];
        for (page, &at) in (0_u32..).zip(&self.map).filter(|&(_, &at)| at != NONE) {
            assert_eq!(self.owners[at as usize], page, "at {at}");
            valid[self.block_of(at).index()] += 1;
        }
        assert_eq!(valid.iter().sum::<u32>(), self.mapped);
        for (n, block) in self.blocks.blocks().iter().enumerate() {
            let is_free = self.free.contains(&BlockId(n as u32));
            let is_open = self.open.iter().any(|open| open.block.0 == n as u32);
            assert_eq!(
                (is_free, is_open),
                (block.state == State::Free, block.state == State::Open)
            );
            assert!(is_free || block.valid == valid[n], "block {n}: {block:?}, not {}", valid[n]);
        }
        assert!(self.free.len() >= Watermarks::default().reserve as usize);
    }
}
