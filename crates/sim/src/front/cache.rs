//! An SLC cache: blocks that hold one bit a cell.
//!
//! The host's pages go to the cache first, in the order in which they come. When it is full, or in idle time, its oldest
//! block is *folded*: its current pages are written to the log, and the block is erased. A *fixed* cache has blocks of
//! its own, beyond those of the log. A *dynamic* one borrows free blocks of the log. It gives them back when the log
//! would have to clean, and where it gets none, pages *bypass* it.
//!
//! The log's copy of a page in the cache is garbage. It is marked and not trimmed, so that the placement keeps the
//! page's state.

use std::collections::VecDeque;

use thermocline_flash::{
    BlockId, CacheSize, Flash, Geometry, Lpn, Oob, Ppn, Profile, SlcCache, Timing,
};
use thermocline_ftl::{CacheCounters, FtlError};

use crate::engine::Driven;

/// The cache. Each current page in it stands in `at`, and its block has it among its owners.
pub(super) struct Cache {
    size: CacheSize,
    geometry: Geometry,
    /// Times of a program.
    program: (u64, u64),
    /// Pages of a block.
    pages: u32,
    /// The most blocks that it has.
    most: usize,
    /// Where the pages in the cache are.
    at: Vec<Ppn>,
    /// Blocks in the order of their first program; the last may have room.
    filled: VecDeque<Filled>,
    /// Erased blocks of its own.
    free: Vec<BlockId>,
    /// Empty lists of owners, to be used again.
    lists: Vec<Vec<Lpn>>,
    did: CacheCounters,
}

/// A block with the logical pages that were written to it.
struct Filled {
    block: BlockId,
    owners: Vec<Lpn>,
}

impl Cache {
    /// An empty cache of a device, with at most `most` blocks.
    pub(super) fn new(cache: SlcCache, most: u32, profile: &Profile, logical_pages: u32) -> Self {
        let SlcCache { size, bits, .. } = cache;
        let Profile { geometry, timing, .. } = profile;
        let own = geometry.data_blocks()..geometry.data_blocks() + most;
        Self {
            size,
            geometry: *geometry,
            program: (timing.program_setup_ns, timing.program_ns / u64::from(bits)),
            pages: geometry.data_pages_per_block() / bits,
            most: most as usize,
            at: vec![Ppn::NONE; logical_pages as usize],
            filled: VecDeque::new(),
            free: match size {
                CacheSize::Fixed => own.rev().map(BlockId).collect(),
                CacheSize::Dynamic => Vec::new(),
            },
            lists: Vec::new(),
            did: CacheCounters::default(),
        }
    }

    pub(super) fn counters(&self) -> CacheCounters {
        let left = self.at.iter().filter(|at| **at != Ppn::NONE).count() as u64;
        CacheCounters { left, blocks: self.filled.len() as u64, ..self.did }
    }

    pub(super) const fn did(&self) -> &CacheCounters {
        &self.did
    }

    pub(super) fn holds(&self, lpn: Lpn) -> bool {
        self.at.get(lpn.index()).is_some_and(|at| *at != Ppn::NONE)
    }

    /// The longest step in idle time: a block is folded.
    pub(super) fn step_ns(&self, timing: &Timing) -> u64 {
        u64::from(self.pages) * (timing.read() + timing.program()) + timing.erase()
    }

    /// Writes a page to the cache, or to the log where the cache has no block.
    pub(super) fn write(
        &mut self,
        log: &mut dyn Driven,
        lpn: Lpn,
        now: u64,
    ) -> Result<(), FtlError> {
        self.at[lpn.index()] = Ppn::NONE;
        let borrows = self.size == CacheSize::Dynamic;
        while borrows && log.upkeep().wants_back() && self.fold(log, now)? {}
        if !self.has_room() && !self.open(log, now)? {
            log.write(lpn, &[], now)?;
            self.did.bypassed += 1;
            return Ok(());
        }
        let Some(last) = self.filled.back_mut() else { unreachable!("a block is open") };
        let page = self.geometry.header_pages + last.owners.len() as u32;
        let to = self.geometry.ppn(last.block, page);
        let oob = Oob { lpn, stream: 0, sequence: 0, time: now, note: 0 };
        log.chip_mut().with_programs_of(self.program, |chip| chip.program(to, oob, &[]))?;
        last.owners.push(lpn);
        self.at[lpn.index()] = to;
        self.did.writes += 1;
        if let Some(marks) = log.dead_pages() {
            marks.mark_dead(lpn, now)?;
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.filled.back().is_some_and(|last| last.owners.len() < self.pages as usize)
    }

    /// Opens a block, after folding the oldest if there is no other; false if there is none at all.
    fn open(&mut self, log: &mut dyn Driven, now: u64) -> Result<bool, FtlError> {
        let mut block = self.take(log);
        if block.is_none() && self.fold(log, now)? {
            block = self.take(log);
        }
        let Some(block) = block else { return Ok(false) };
        let owners = self.lists.pop().unwrap_or_else(|| Vec::with_capacity(self.pages as usize));
        self.filled.push_back(Filled { block, owners });
        self.did.most_blocks = self.did.most_blocks.max(self.filled.len() as u64);
        Ok(true)
    }

    fn take(&mut self, log: &mut dyn Driven) -> Option<BlockId> {
        match self.size {
            CacheSize::Fixed => self.free.pop(),
            CacheSize::Dynamic if self.filled.len() < self.most => log.upkeep().lend(),
            CacheSize::Dynamic => None,
        }
    }

    /// Folds the oldest block into the log; false if there is none.
    fn fold(&mut self, log: &mut dyn Driven, now: u64) -> Result<bool, FtlError> {
        let Some(Filled { block, mut owners }) = self.filled.pop_front() else { return Ok(false) };
        let first = self.geometry.ppn(block, self.geometry.header_pages);
        for (page, &lpn) in (first.0..).map(Ppn).zip(&owners) {
            if self.at[lpn.index()] == page {
                log.chip_mut().read(page, &mut [])?;
                log.write(lpn, &[], now)?;
                self.at[lpn.index()] = Ppn::NONE;
                self.did.folded += 1;
            }
        }
        owners.clear();
        self.lists.push(owners);
        log.chip_mut().erase(block)?;
        self.did.erases += 1;
        match self.size {
            CacheSize::Fixed => self.free.push(block),
            CacheSize::Dynamic => log.upkeep().take_back(block),
        }
        Ok(true)
    }

    /// Folds the oldest block in idle time, if it is full.
    pub(super) fn fold_in_idle_time(
        &mut self,
        log: &mut dyn Driven,
        now: u64,
    ) -> Result<bool, FtlError> {
        let is_full = |first: &Filled| first.owners.len() == self.pages as usize;
        if self.filled.front().is_some_and(is_full) { self.fold(log, now) } else { Ok(false) }
    }

    /// Reads a page that it holds.
    pub(super) fn read(&self, log: &mut dyn Driven, lpn: Lpn) -> Result<(), FtlError> {
        Ok(log.chip_mut().read(self.at[lpn.index()], &mut [])?)
    }

    /// Drops a page that it holds.
    pub(super) fn trim(&mut self, lpn: Lpn) {
        self.at[lpn.index()] = Ppn::NONE;
        self.did.trimmed += 1;
    }

    /// Counts the pages that it holds.
    pub(super) fn check(&self) -> Result<(), String> {
        let held = self.counters().left as usize;
        let current = |filled: &Filled| {
            let first = self.geometry.ppn(filled.block, self.geometry.header_pages).0;
            let pages = (first..).map(Ppn).zip(&filled.owners);
            pages.filter(|(page, lpn)| self.at[lpn.index()] == *page).count()
        };
        let owned: usize = self.filled.iter().map(current).sum();
        if held == owned {
            Ok(())
        } else {
            Err(format!("{held} pages are in the SLC cache, its blocks have {owned}"))
        }
    }
}
