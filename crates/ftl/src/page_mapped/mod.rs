//! The page-mapped log: the Flash Memory Server of the CAT paper (§4) and of today's disks.
//!
//! Problem. A page cannot be programmed twice. Idea. A write goes to the next page of an open
//! block and the translation table remembers where; the old copy becomes garbage. Consequence.
//! Blocks fill with garbage, and when few are free one is *cleaned* (see `cleaning`).
//!
//! What always holds, after every call:
//! * `map[lpn]` is the physical page of the newest data of `lpn`, and `owner` of that page is `lpn`;
//! * a block's valid count is the number of logical pages mapped into it;
//! * every block is free, open for one stream, closed, or unusable;
//! * free blocks and room in open blocks hold at least `reserve` blocks of pages, so the survivors
//!   of one victim always find room.

use alloc::{boxed::Box, collections::VecDeque, format, string::String, vec, vec::Vec};

use thermocline_flash::{BlockId, Flash, Lpn, Oob, Ppn, prefetch};
use thermocline_policy::{
    Candidates, State,
    placement::{Place, Placement},
    trigger::Watermarks,
    victim::Victim,
    wear::WearLeveling,
};

use crate::{Counters, FtlError, Layer};

mod cleaning;
mod swap;

/// Pages written after which a victim policy that watches is told.
const WATCHED: usize = 256;

/// How a page-mapped layer is set up, beside its policies.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Logical pages it exports.
    pub logical_pages: u32,
    /// When cleaning starts and stops.
    pub watermarks: Watermarks,
    /// Pages written as read-only go to blocks of their own.
    pub read_only_separation: bool,
    /// What moves for the sake of even wear.
    pub wear_leveling: WearLeveling,
}

/// A page-mapped translation layer.
pub struct PageMapped<C, P> {
    chip: C,
    placement: P,
    victim: Box<dyn Victim>,
    config: Config,
    /// Translation table: the physical page of each logical page.
    map: Vec<Ppn>,
    /// Reverse of it: the logical page programmed into each data page, current or not.
    owner: Vec<Lpn>,
    /// Lookup table and the index of victims.
    blocks: Candidates,
    /// Erased blocks, first in, first out.
    free: VecDeque<BlockId>,
    /// The open block of each stream; the last stream is the read-only one.
    open: Vec<Open>,
    /// Survivors of the victim, where the placement sorts them.
    survivors: Vec<Lpn>,
    wear: swap::ByErases,
    /// Whether the victim policy wants to know what is written, and what it was not told yet.
    watches: bool,
    watched: Vec<Lpn>,
    counters: Counters,
    /// Logical pages that hold data.
    mapped: u32,
    /// Data pages in blocks that can be used, less the reserve.
    capacity: u32,
    pages: u32,
    header: u32,
}

/// A stream's open block: the next page to program.
#[derive(Clone, Copy, Debug)]
struct Open {
    block: BlockId,
    /// Data pages programmed so far.
    next: u32,
    pages: u32,
    /// Physical page of the first data page.
    first: Ppn,
    /// Its place in `owner`.
    first_owner: usize,
}

impl Open {
    const fn none(pages: u32) -> Self {
        Self { block: BlockId::NONE, next: pages, pages, first: Ppn::NONE, first_owner: 0 }
    }

    #[inline(always)]
    const fn is_full(&self) -> bool {
        self.next == self.pages
    }

    const fn room(&self) -> u32 {
        self.pages - self.next
    }

    /// The next page, and its place in `owner`.
    #[inline(always)]
    fn take(&mut self) -> (Ppn, usize) {
        let at = (Ppn(self.first.0 + self.next), self.first_owner + self.next as usize);
        self.next += 1;
        at
    }
}

impl<C: Flash, P: Placement> PageMapped<C, P> {
    /// A layer over an erased chip.
    ///
    /// # Errors
    /// [`FtlError::NoSpace`] if the chip has not enough usable blocks for `logical_pages`, the
    /// reserve and one open block a stream.
    pub fn new(
        chip: C,
        placement: P,
        victim: Box<dyn Victim>,
        config: Config,
    ) -> Result<Self, FtlError> {
        let geometry = *chip.geometry();
        let pages = geometry.data_pages_per_block();
        let mut blocks = Candidates::new(geometry.blocks(), pages, &*victim);
        let mut free = VecDeque::with_capacity(geometry.blocks() as usize);
        for block in (0..geometry.blocks()).map(BlockId) {
            blocks.set_erases(block, chip.erase_count(block));
            if block.0 >= geometry.data_blocks() || chip.is_bad(block) {
                blocks.retire(block);
            } else {
                free.push_back(block);
            }
        }
        let usable = free.len() as u32;
        let capacity = usable.saturating_sub(config.watermarks.reserve) * pages;
        // Garbage in open blocks cannot be cleaned: without a block of spare space for each of them
        // their garbage would eat the reserve, and survivors would find no room.
        let open = u32::from(placement.streams()) + u32::from(config.read_only_separation);
        let spare = open.saturating_mul(pages);
        if config.watermarks.reserve == 0 || capacity < config.logical_pages.saturating_add(spare) {
            return Err(FtlError::NoSpace);
        }
        let streams = usize::from(placement.streams()) + 1;
        Ok(Self {
            chip,
            placement,
            watches: victim.watches(),
            watched: Vec::with_capacity(WATCHED),
            victim,
            config,
            map: vec![Ppn::NONE; config.logical_pages as usize],
            owner: vec![Lpn(0); geometry.blocks() as usize * pages as usize],
            blocks,
            free,
            open: vec![Open::none(pages); streams],
            survivors: Vec::with_capacity(pages as usize),
            wear: swap::ByErases::default(),
            counters: Counters::default(),
            mapped: 0,
            capacity,
            pages,
            header: geometry.header_pages,
        })
    }

    /// How many blocks each rule of the victim policy chose, where it has several.
    #[must_use]
    pub fn choices(&self) -> Vec<(&'static str, u64)> {
        self.victim.choices()
    }

    /// The lookup table.
    #[must_use]
    pub fn blocks(&self) -> &Candidates {
        &self.blocks
    }

    /// Free pages: those of free blocks and the room left in open ones.
    #[must_use]
    pub fn free_pages(&self) -> u64 {
        let room: u64 = self.open.iter().map(|open| u64::from(open.room())).sum();
        self.free.len() as u64 * u64::from(self.pages) + room
    }

    /// Blocks on the free list.
    #[must_use]
    pub fn free_blocks(&self) -> u32 {
        self.free.len() as u32
    }

    fn read_only_stream(&self) -> u8 {
        (self.open.len() - 1) as u8
    }

    /// The host writes a page that it will never update; kept apart where the layer is set so.
    ///
    /// # Errors
    /// [`FtlError`].
    pub fn write_read_only(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        if !self.config.read_only_separation {
            return self.write(lpn, now);
        }
        self.check_range(lpn)?;
        self.counters.host_writes += 1;
        self.append(lpn, self.read_only_stream(), now)?;
        self.placement.written(lpn, now);
        Ok(())
    }

    #[inline(always)]
    fn check_range(&self, lpn: Lpn) -> Result<(), FtlError> {
        if lpn.index() < self.map.len() { Ok(()) } else { Err(FtlError::OutOfRange(lpn)) }
    }

    /// Writes new data of `lpn` to the open block of `stream`; cleans first if it must.
    #[inline(always)]
    fn append(&mut self, lpn: Lpn, stream: u8, now: u64) -> Result<(), FtlError> {
        let s = usize::from(stream);
        if self.open[s].is_full() {
            self.make_room(stream, now)?;
        }
        // After allocation: cleaning may just have moved the old copy (CAT paper, Figure 3).
        let old = self.map[lpn.index()];
        if old == Ppn::NONE {
            self.mapped += 1;
        } else {
            self.blocks.invalidate(self.chip.geometry().block_of(old), now);
        }
        let open = &mut self.open[s];
        let (at, owner) = open.take();
        self.blocks.wrote(open.block, now);
        self.owner[owner] = lpn;
        self.map[lpn.index()] = at;
        self.chip.program(at, Oob { lpn, stream }, &[])?;
        Ok(())
    }

    /// Where the current copy of a page lies.
    #[inline(always)]
    fn place(&self, lpn: Lpn) -> Option<Place> {
        let at = self.map[lpn.index()];
        if at == Ppn::NONE {
            return None;
        }
        let geometry = self.chip.geometry();
        let block = geometry.block_of(at);
        let stream = self.blocks.block(block).stream;
        let next = self.open[usize::from(stream)].next;
        Some(Place { bank: 0, block, stream, page: geometry.page_of(at) - self.header, next })
    }

    /// Tells the victim policy what was written since it was told last.
    #[cold]
    #[inline(never)]
    fn tell_watcher(&mut self) {
        self.victim.watch(&self.watched);
        self.watched.clear();
    }

    /// Closes a stream's open block and opens the free block that waited longest.
    fn open_next(&mut self, stream: u8, now: u64) -> Result<(), FtlError> {
        let block = self.free.pop_front().ok_or(FtlError::NoSpace)?;
        let old = self.open[usize::from(stream)];
        if old.block != BlockId::NONE {
            self.close(old.block);
        }
        self.blocks.open(block, stream, now);
        self.placement.opened(0, block, stream, now);
        self.open[usize::from(stream)] = Open {
            block,
            next: 0,
            pages: self.pages,
            first: self.chip.geometry().ppn(block, self.header),
            first_owner: block.index() * self.pages as usize,
        };
        Ok(())
    }

    fn close(&mut self, block: BlockId) {
        self.blocks.closing(block, &*self.victim);
        let stream = self.blocks.block(block).stream;
        self.placement.closing(0, block, stream, &mut self.blocks);
        self.blocks.closed(block);
        self.wear.closed(block, self.blocks.block(block).erases);
    }
}

impl<C: Flash, P: Placement> Layer for PageMapped<C, P> {
    type Chip = C;

    #[inline(always)]
    fn chip(&self) -> &C {
        &self.chip
    }

    #[inline(always)]
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }

    fn fill(&mut self, lpn: Lpn, read_only: bool, now: u64) -> Result<(), FtlError> {
        self.check_range(lpn)?;
        self.counters.fills += 1;
        let read_only = read_only && self.config.read_only_separation;
        self.append(lpn, if read_only { self.read_only_stream() } else { 0 }, now)?;
        self.placement.filled(lpn, now);
        Ok(())
    }

    fn filled(&mut self, now: u64) -> Result<(), FtlError> {
        for stream in 0..self.placement.streams() {
            if self.open[usize::from(stream)].block == BlockId::NONE {
                self.open_next(stream, now)?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn write(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        self.check_range(lpn)?;
        self.counters.host_writes += 1;
        let stream = if P::LOCATES {
            let old = self.place(lpn);
            self.placement.host_over(lpn, old, now)
        } else {
            self.placement.host(lpn, now)
        };
        self.append(lpn, stream, now)?;
        self.placement.written(lpn, now);
        if self.watches {
            self.watched.push(lpn);
            if self.watched.len() == WATCHED {
                self.tell_watcher();
            }
        }
        Ok(())
    }

    fn read(&mut self, lpn: Lpn) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        let at = self.map[lpn.index()];
        if at == Ppn::NONE {
            return Ok(false);
        }
        self.chip.read(at, &mut [])?;
        self.counters.host_reads += 1;
        Ok(true)
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        let at = core::mem::replace(&mut self.map[lpn.index()], Ppn::NONE);
        if at == Ppn::NONE {
            return Ok(false);
        }
        self.blocks.invalidate(self.chip.geometry().block_of(at), now);
        self.placement.trimmed(lpn);
        self.mapped -= 1;
        self.counters.trims += 1;
        Ok(true)
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        self.map.get(lpn.index()).copied().unwrap_or(Ppn::NONE)
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.blocks.block(block).erases
    }

    fn valid_pages(&self, block: BlockId) -> u32 {
        self.blocks.block(block).valid
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.map, lpn.index());
        self.placement.prefetch(lpn);
    }

    #[inline(always)]
    fn prefetch_more(&self, lpn: Lpn) {
        if let Some(&at) = self.map.get(lpn.index())
            && at != Ppn::NONE
        {
            self.blocks.prefetch(self.chip.geometry().block_of(at));
        }
    }

    fn check(&self) -> Result<(), String> {
        let geometry = self.chip.geometry();
        let mut valid = vec![0_u32; self.blocks.len() as usize];
        let mut mapped = 0;
        for (lpn, &at) in (0..).map(Lpn).zip(&self.map) {
            if at == Ppn::NONE {
                continue;
            }
            mapped += 1;
            let block = geometry.block_of(at);
            valid[block.index()] += 1;
            let page = geometry.page_of(at) - self.header;
            let owner = self.owner[block.index() * self.pages as usize + page as usize];
            if owner != lpn {
                return Err(format!("{lpn:?} is mapped to {at:?}, which belongs to {owner:?}"));
            }
            if let Some(open) = self.open.iter().find(|o| o.block == block)
                && page >= open.next
            {
                return Err(format!("{lpn:?} is mapped to {at:?}, which was not programmed"));
            }
        }
        if mapped != self.mapped {
            return Err(format!("{mapped} pages are mapped, {} were counted", self.mapped));
        }
        let mut free = 0;
        for (block, (counted, info)) in
            (0..).map(BlockId).zip(valid.iter().zip(self.blocks.blocks()))
        {
            if *counted != info.valid {
                return Err(format!("{block:?} has {counted} valid pages, {} counted", info.valid));
            }
            if matches!(info.state, State::Free | State::Unusable) && *counted != 0 {
                return Err(format!("{block:?} is {:?} and holds data", info.state));
            }
            if info.erases != self.chip.erase_count(block) {
                return Err(format!("{block:?}: erase counts of layer and chip differ"));
            }
            free += usize::from(info.state == State::Free);
            let is_open = self.open.iter().any(|o| o.block == block);
            if is_open != (info.state == State::Open) {
                return Err(format!("{block:?} is {:?} and {is_open} of open", info.state));
            }
        }
        if free != self.free.len() {
            return Err(format!("{free} blocks are free, {} listed", self.free.len()));
        }
        let reserve = u64::from(self.config.watermarks.reserve) * u64::from(self.pages);
        if self.counters.retired == 0 && self.free_pages() < reserve {
            return Err(format!("{} free pages, fewer than the reserve", self.free_pages()));
        }
        Ok(())
    }
}
