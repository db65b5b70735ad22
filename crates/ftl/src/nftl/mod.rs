//! NFTL: block mapping with primary and replacement blocks (Ban 1999; the thesis of Mylavarapu 2008
//! on SLAC and FSAF runs on it, and `[9]` there is its source).
//!
//! Problem. A table of pages costs memory; a table of blocks cannot take an update. Idea. A
//! *virtual block* of consecutive logical pages has a *primary* block, with each page at its own
//! offset, and for updates a *replacement* block, written in the order of the updates. Consequence.
//! When the replacement is full, or blocks run out, the pair is *folded*: the newest pages go to a
//! new primary and both old blocks are erased.
//!
//! Invariants, after every call:
//! * `map[lpn]` is the physical page of the newest data of `lpn`, in one of its virtual block's two
//!   blocks. A real device finds it by reading out-of-band areas; here it is kept in memory, and
//!   folds are charged those reads;
//! * a virtual block's live count is the number of its pages that are mapped and not marked dead;
//! * every block is free, a primary, a replacement, waiting to be erased, or unusable;
//! * unless blocks wore out, one block is free, so that a pair can be folded; and while fewer than
//!   two are free, there is a pair. So a device has at most two virtual blocks fewer than blocks.
//!
//! On chips that demand page order inside a block, a write goes to the primary only if its offset is
//! the next page; any other counts as an overwrite. A primary is then taken when it is first
//! programmed, so a virtual block may have a replacement alone. A fold leaves no gaps: the pages of
//! a folded primary are in the order of their offsets, not at them.

use alloc::{boxed::Box, vec, vec::Vec};

use thermocline_flash::{BlockId, Condition, Flash, Lpn, Ppn, Retrying};

use crate::{
    Counters, FtlError,
    journal::{Journal, LOST, durability::Durability},
    page_mapped::mount::LastPage,
};
use bits::Bits;
use free::FreeList;
use heaps::NOBODY;
use levels::Levels;
use pairs::{Index, Pair};
use wear::Wear;

mod bits;
mod check;
mod collect;
mod config;
mod fold;
mod free;
mod generations;
mod heaps;
mod journaled;
mod layer;
mod leveling;
mod levels;
mod look;
mod mount;
mod pairs;
mod release;
mod roles;
mod wear;
mod write;

pub use config::{Choice, Config};
pub use levels::RESERVE;

/// A block-mapped translation layer with primary and replacement blocks.
pub struct Nftl<C> {
    chip: Retrying<C>,
    config: Config,
    /// The physical page of each logical page.
    map: Vec<Ppn>,
    /// Logical pages that are mapped and inferred to be garbage.
    dead: Bits,
    /// Pages of primaries that are programmed, by offset; kept where the chip demands no order.
    programmed: Bits,
    /// By virtual block.
    pairs: Vec<Pair>,
    index: Index,
    /// The virtual block that each block belongs to.
    owner: Vec<u32>,
    free: FreeList,
    wear: Option<Wear>,
    levels: Levels,
    counters: Counters,
    /// Whether the chip failed without remedy here: a program, or the read of a page to copy.
    /// Unfinished work is dropped; every page can be read.
    is_read_only: bool,
    /// The numbers of programs.
    durability: Durability,
    /// Writes the index log, where the chip keeps data.
    journal: Option<Box<Journal>>,
    /// Blocks without data that wait for their erase, in order.
    litter: Vec<BlockId>,
    /// Blocks in which a program failed: they are marked bad, not erased.
    failing: Vec<BlockId>,
    /// The page that was programmed last before the mount, where it may fade.
    last: Option<LastPage>,
    /// Whether the next write has something to do first: see `attend`.
    needs_attention: bool,
    /// Whether waiting blocks are the sources of copies that are not proved durable.
    unproved: bool,
    /// Whether given-up targets are among the waiting blocks.
    gave_up: bool,
    /// Whether blocks of pure garbage were erased since the last sync.
    dropped_since_sync: bool,
    /// No block is left for the index log.
    log_is_exhausted: bool,
    /// The clock at the last operation.
    now: u64,
    /// Pages programmed and not live, on the whole device.
    dead_pages: u64,
    /// Blocks that hold data or can hold some.
    usable: u32,
    /// Blocks that are free at any time, unless some wear out.
    least_free: u32,
    /// Whether a block was erased since wear was looked at.
    erased: bool,
    /// Offsets of the pages that are being moved.
    survivors: Vec<u32>,
    in_order: bool,
    pages: u32,
    header: u32,
}

impl<C: Condition> Nftl<C> {
    /// A layer over an erased chip.
    ///
    /// # Errors
    /// [`FtlError::NoSpace`] if the chip has fewer than two usable blocks more than `logical_pages`
    /// take.
    pub fn new(chip: C, config: Config) -> Result<Self, FtlError> {
        let mut layer = Self::empty(Retrying::new(chip), config);
        if layer.pairs.len() as u64 + u64::from(RESERVE) > u64::from(layer.usable) {
            return Err(FtlError::NoSpace);
        }
        for block in (0..layer.owner.len() as u32).map(BlockId) {
            if layer.is_usable(block) {
                layer.add_free(block);
            }
        }
        Ok(layer)
    }

    /// Tables over a chip none of whose blocks is known to be free yet.
    fn empty(chip: Retrying<C>, config: Config) -> Self {
        let geometry = *chip.geometry();
        let pages = geometry.data_pages_per_block();
        let virtual_blocks = config.logical_pages.div_ceil(pages);
        let data = (0..geometry.data_blocks()).map(BlockId);
        let usable = data.filter(|&b| !chip.is_bad(b)).count() as u32;
        let blocks = geometry.blocks() as usize;
        let in_order = chip.in_order();
        let places = if in_order { 0 } else { virtual_blocks as usize * pages as usize };
        Self {
            map: vec![Ppn::NONE; config.logical_pages as usize],
            dead: Bits::new(config.logical_pages as usize),
            programmed: Bits::new(places),
            pairs: vec![Pair::EMPTY; virtual_blocks as usize],
            index: Index::new(virtual_blocks, pages, config.choice, config.leaves_dead_blocks()),
            owner: vec![NOBODY; blocks],
            free: FreeList::new(blocks, config.free_order),
            wear: config.wear_gap.map(|gap| Wear::new(blocks, gap)),
            levels: Levels::new(&config, usable, pages, false),
            counters: Counters::default(),
            is_read_only: false,
            durability: Durability::default(),
            journal: None,
            litter: Vec::with_capacity(2),
            failing: Vec::new(),
            last: None,
            needs_attention: false,
            unproved: false,
            gave_up: false,
            dropped_since_sync: false,
            log_is_exhausted: false,
            now: 0,
            dead_pages: 0,
            usable,
            least_free: RESERVE - 1,
            erased: false,
            survivors: Vec::with_capacity(pages as usize),
            in_order,
            pages,
            header: geometry.header_pages,
            chip,
            config,
        }
    }

    /// Erased blocks that hold nothing.
    #[must_use]
    pub const fn free_blocks(&self) -> u32 {
        self.free.len()
    }

    /// Virtual blocks with both a primary and a replacement; counts them all.
    #[must_use]
    pub fn pairs(&self) -> u32 {
        self.pairs.iter().filter(|pair| pair.blocks() == 2).count() as u32
    }

    /// Pages programmed whose data are superseded, trimmed or inferred to be garbage.
    #[must_use]
    pub const fn dead_pages(&self) -> u64 {
        self.dead_pages
    }

    /// The chip, with everything on it.
    #[must_use]
    pub fn into_chip(self) -> C {
        self.chip.into_inner()
    }

    const fn used_blocks(&self) -> u32 {
        self.usable - self.free.len()
    }

    fn is_usable(&self, block: BlockId) -> bool {
        block.0 < self.chip.geometry().data_blocks() && !self.chip.is_bad(block)
    }

    fn set_usable(&mut self, usable: u32) {
        self.usable = usable;
        self.levels = Levels::new(&self.config, usable, self.pages, self.journal.is_some());
    }

    /// The store on the chip keeps data from now on, which leaves another block free.
    fn set_journal(&mut self, journal: Box<Journal>) {
        self.journal = Some(journal);
        self.set_usable(self.usable);
    }

    /// An erased block is there to be taken.
    fn add_free(&mut self, block: BlockId) {
        self.free.push_back(block);
        if let Some(wear) = &mut self.wear {
            wear.add(block, self.chip.erase_count(block));
        }
    }

    #[inline(always)]
    fn ppn(&self, block: BlockId, page: u32) -> Ppn {
        self.chip.geometry().ppn(block, self.header + page)
    }

    /// Logical pages of a virtual block: the last one may have fewer than a block has.
    fn pages_of(&self, v: u32) -> u32 {
        self.pages.min(self.config.logical_pages - v * self.pages)
    }

    /// Changes a virtual block, and with it the index and the count of dead pages.
    #[inline]
    fn change(&mut self, v: u32, by: impl FnOnce(&mut Pair)) {
        let pair = &mut self.pairs[v as usize];
        let before = *pair;
        by(pair);
        self.dead_pages = self.dead_pages + u64::from(pair.dead()) - u64::from(before.dead());
        self.index.changed(v, &before, pair);
    }

    #[inline(always)]
    const fn is_there(at: Ppn) -> bool {
        at.0 < LOST.0
    }

    #[inline(always)]
    fn check_range(&self, lpn: Lpn) -> Result<(), FtlError> {
        if lpn.0 < self.config.logical_pages { Ok(()) } else { Err(FtlError::OutOfRange(lpn)) }
    }
}
