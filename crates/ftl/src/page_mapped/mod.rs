//! The page-mapped log: the Flash Memory Server of the CAT paper (§4) and of today's disks.
//!
//! Problem. A page cannot be programmed twice. Idea. A write goes to the next page of an open
//! block and the translation table remembers where; the old copy becomes garbage. Consequence.
//! Blocks fill with garbage, and when few are free one is *cleaned* (see `cleaning`).
//!
//! What always holds, after every call:
//! * `map[lpn]` is the physical page of the newest data of `lpn`, with a bit set if those are inferred to
//!   be garbage (see `marks`), and `owner` of that page is `lpn`;
//! * a block's valid count is the number of logical pages mapped into it without that bit;
//! * every block is free, open for one stream, closed, condemned (see `retire`), or unusable;
//! * in every bank, free blocks and room in open blocks hold at least `reserve` blocks of pages, so
//!   the survivors of one victim always find room. Where the chip fails, see `retire`.
//!
//! A bank is a device of its own with its table, free list, open blocks and victims. Tables of
//! pages and the placement are common to all; `banks` says which bank a page goes to.

use alloc::{boxed::Box, collections::VecDeque, string::String, vec, vec::Vec};

use thermocline_flash::{BlockId, Chip, Geometry, Lpn, Oob, Ppn, Timing, prefetch};
use thermocline_policy::{
    Candidates,
    bank::BankAssignment,
    placement::{Place, Placement},
    trigger::{Trigger, Watermarks},
    victim::Victim,
    wear::WearLeveling,
};

use crate::{Counters, DeadPages, EndOfLife, FtlError, Inspect, Layer, PageIo, Upkeep};

mod banks;
mod check;
mod cleaning;
mod format;
pub mod index;
mod lasting;
mod marks;
mod mount;
mod retire;
mod scrub;
mod swap;

pub use format::Format;
pub use mount::{Mount, MountError, Recovery};

/// Pages written after which a victim policy that watches is told.
const WATCHED: usize = 256;

/// How a page-mapped layer is set up, beside its policies.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Logical pages it exports.
    pub logical_pages: u32,
    /// Which bank a page goes to.
    pub bank_assignment: BankAssignment,
    /// What makes cleaning start.
    pub trigger: Trigger,
    /// The numbers of free blocks, in each bank, at which it starts and stops.
    pub watermarks: Watermarks,
    /// Blocks cleaned at once, where the placement sorts survivors: those of all are sorted
    /// together.
    pub batch: u32,
    /// Free blocks in each bank that are made in idle time; none beyond the watermarks if 0.
    pub idle_free: u32,
    /// Pages written as read-only go to blocks of their own.
    pub read_only_separation: bool,
    /// What moves for the sake of even wear.
    pub wear_leveling: WearLeveling,
}

impl Config {
    /// Cleaning only when out of space, one block at a time; nothing else switched on.
    #[must_use]
    pub fn new(logical_pages: u32) -> Self {
        Self {
            logical_pages,
            bank_assignment: BankAssignment::Static,
            trigger: Trigger::Lazy,
            watermarks: Watermarks::default(),
            batch: 1,
            idle_free: 0,
            read_only_separation: false,
            wear_leveling: WearLeveling::None,
        }
    }
}

/// A page-mapped translation layer.
pub struct PageMapped<C, P> {
    chip: C,
    placement: P,
    config: Config,
    /// Translation table: the physical page of each logical page, marked where it is inferred to be
    /// garbage.
    map: Vec<Ppn>,
    /// The least entry that is marked or absent.
    first_marked: u32,
    /// Reverse of it: the logical page programmed into each data page, current or not.
    owner: Vec<Lpn>,
    banks: Vec<Bank>,
    /// Survivors of the victims being cleaned, where they stand in line to be moved.
    survivors: Vec<Lpn>,
    /// Blocks being cleaned together.
    batch: Vec<BlockId>,
    counters: Counters,
    /// What the chip's failures left to be done.
    failures: retire::Failures,
    /// Logical pages below this number may be written: all of them, or none once the chip is worn out.
    writable: u32,
    /// Pages programmed so far, for whatever reason.
    programs: u64,
    /// Whether the next page says up to where everything lasts (see `lasting`).
    says: bool,
    /// Whether something is to be done after a page write.
    follows_up: bool,
    /// Logical pages that hold current data.
    mapped: u32,
    /// Logical pages that are marked, and not dropped yet.
    marked: u32,
    /// Data pages in blocks that can be used, less the reserve.
    capacity: u32,
    pages: u32,
    header: u32,
    /// Bits of a physical page number that name the page in its block.
    page_bits: u32,
    blocks_per_bank: u32,
    /// What lasts beside the data pages; nothing in the simulator.
    index: index::Slot,
}

/// A bank: a small device of its own that cleans by itself.
struct Bank {
    /// Lookup table and the index of victims.
    blocks: Candidates,
    victim: Box<dyn Victim>,
    /// Erased blocks, first in, first out.
    free: VecDeque<BlockId>,
    /// The open block of each stream; the last stream is the read-only one.
    open: Vec<Open>,
    wear: swap::ByErases,
    /// Whether the victim policy wants to know what is written, and what it was not told yet.
    watches: bool,
    watched: Vec<Lpn>,
    /// Pages that hold current data, and blocks erased; kept where banks are chosen by them.
    live: u32,
    erases: u64,
    /// When a page was assigned to it last, in page writes.
    assigned: u64,
    /// Most pages of current data it may hold.
    most_live: u32,
    /// Blocks that can be used: neither bad, nor the layer's own, nor kept for data that cannot be read.
    usable: u32,
}

impl Bank {
    /// Free pages: those of free blocks and the room left in open ones.
    fn free_pages(&self) -> u64 {
        let room: u64 = self.open.iter().map(|open| u64::from(open.room())).sum();
        self.free.len() as u64 * u64::from(self.blocks.pages()) + room
    }

    /// The table learns of the survivors of `victim` that a stream's open block took.
    fn count_copied(&mut self, stream: usize, victim: BlockId, now: u64) {
        let open = &mut self.open[stream];
        let copied = open.next - core::mem::replace(&mut open.counted, open.next);
        self.blocks.copied(open.block, copied, victim, now);
    }

    /// Tells the victim policy what was written since it was told last.
    #[cold]
    #[inline(never)]
    fn tell_watcher(&mut self) {
        self.victim.watch(&self.watched);
        self.watched.clear();
    }
}

/// A stream's open block: the next page to program.
#[derive(Clone, Copy, Debug)]
struct Open {
    block: BlockId,
    /// Data pages programmed so far.
    next: u32,
    /// Those that the table knows of, during a cleaning.
    counted: u32,
    pages: u32,
    /// Physical page of the first data page.
    first: Ppn,
    /// Its place in `owner`.
    first_owner: usize,
}

impl Open {
    const fn none(pages: u32) -> Self {
        Self {
            block: BlockId::NONE,
            next: pages,
            counted: pages,
            pages,
            first: Ppn::NONE,
            first_owner: 0,
        }
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

/// Blocks of a bank that are not the index log's, bad or not.
fn blocks_of_data(geometry: &Geometry, bank: u32) -> u32 {
    let first = bank * geometry.blocks_per_bank;
    geometry.data_blocks().saturating_sub(first).min(geometry.blocks_per_bank)
}

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// A layer over an erased chip; `victim` builds the policy of each bank.
    ///
    /// # Errors
    /// [`FtlError::NoSpace`] if a bank has not enough usable blocks for its share of
    /// `logical_pages`, the reserve and one open block a stream.
    pub fn new(
        chip: C,
        placement: P,
        victim: impl FnMut(u32) -> Box<dyn Victim>,
        config: Config,
    ) -> Result<Self, FtlError> {
        Self::built(chip, placement, victim, config, true)
    }

    /// The same, where `counts_bad` is false with room for what a chip without bad blocks would hold: a
    /// chip that lost more of them since it was formatted can still be read.
    fn built(
        chip: C,
        placement: P,
        mut victim: impl FnMut(u32) -> Box<dyn Victim>,
        config: Config,
        counts_bad: bool,
    ) -> Result<Self, FtlError> {
        let geometry = *chip.geometry();
        let pages = geometry.data_pages_per_block();
        // Garbage in open blocks cannot be cleaned: without a block of spare space for each of them
        // their garbage would eat the reserve, and survivors would find no room.
        let open = u32::from(placement.streams()) + u32::from(config.read_only_separation);
        let spare = open.saturating_mul(pages);
        let mut banks = Vec::with_capacity(geometry.banks as usize);
        let (mut capacity, mut most) = (0_u32, 0_u64);
        for bank in 0..geometry.banks {
            let first = bank * geometry.blocks_per_bank;
            let victim = victim(bank);
            let mut blocks = Candidates::of_bank(first, geometry.blocks_per_bank, pages, &*victim);
            let mut free = VecDeque::with_capacity(geometry.blocks_per_bank as usize);
            for block in (first..first + geometry.blocks_per_bank).map(BlockId) {
                blocks.set_erases(block, chip.erase_count(block));
                if block.0 >= geometry.data_blocks() || chip.is_bad(block) {
                    blocks.retire(block);
                } else {
                    free.push_back(block);
                }
            }
            let usable = free.len() as u32;
            let data = usable.saturating_sub(config.watermarks.reserve) * pages;
            let share = config.bank_assignment.share(config.logical_pages, bank, geometry.banks);
            let most_live = data.saturating_sub(spare);
            let bad = if counts_bad { 0 } else { blocks_of_data(&geometry, bank) - usable };
            if config.watermarks.reserve == 0 || most_live + bad * pages < share {
                return Err(FtlError::NoSpace);
            }
            capacity += data;
            most += u64::from(most_live + bad * pages);
            banks.push(Bank {
                blocks,
                watches: victim.watches(),
                watched: Vec::with_capacity(if victim.watches() { WATCHED } else { 0 }),
                victim,
                free,
                open: vec![Open::none(pages); usize::from(placement.streams()) + 1],
                wear: swap::ByErases::default(),
                live: 0,
                erases: 0,
                assigned: 0,
                most_live,
                usable,
            });
        }
        if most < u64::from(config.logical_pages) {
            return Err(FtlError::NoSpace);
        }
        Ok(Self {
            chip,
            placement,
            follows_up: config.trigger == Trigger::Eager || banks.iter().any(|bank| bank.watches),
            config,
            map: vec![Ppn::NONE; config.logical_pages as usize],
            first_marked: marks::first_marked(&geometry),
            owner: vec![Lpn(0); geometry.blocks() as usize * pages as usize],
            banks,
            survivors: Vec::with_capacity(pages as usize),
            batch: Vec::new(),
            counters: Counters::default(),
            failures: retire::Failures::default(),
            writable: config.logical_pages,
            programs: 0,
            says: false,
            mapped: 0,
            marked: 0,
            capacity,
            pages,
            header: geometry.header_pages,
            page_bits: geometry.page_bits(),
            blocks_per_bank: geometry.blocks_per_bank,
            index: None,
        })
    }

    /// The lookup table of a bank.
    #[must_use]
    pub fn blocks(&self, bank: u32) -> &Candidates {
        &self.banks[bank as usize].blocks
    }

    /// Free pages of the whole device: those of free blocks and the room left in open ones.
    #[must_use]
    pub fn free_pages(&self) -> u64 {
        self.banks.iter().map(Bank::free_pages).sum()
    }

    /// Blocks on the free list of the bank that has the fewest.
    #[must_use]
    pub fn least_free_blocks(&self) -> u32 {
        self.banks.iter().map(|bank| bank.free.len() as u32).min().unwrap_or(0)
    }

    /// The chip, once the layer is of no more use.
    #[must_use]
    pub fn into_chip(self) -> C {
        self.chip
    }

    /// Bytes of the tables of pages and of what is kept for the index log; those of blocks and of
    /// policies come on top.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.map.capacity() * size_of::<Ppn>()
            + self.owner.capacity() * size_of::<Lpn>()
            + self.index.as_ref().map_or(0, |index| index.memory())
    }

    fn read_only_stream(&self) -> u8 {
        (self.banks[0].open.len() - 1) as u8
    }

    /// The block of a physical page.
    #[inline(always)]
    const fn block_of(&self, at: Ppn) -> BlockId {
        BlockId(at.0 >> self.page_bits)
    }

    /// The bank a block lies in.
    #[inline(always)]
    fn bank_of(&self, block: BlockId) -> usize {
        // Most devices have one, and a division is slow.
        if self.banks.len() == 1 { 0 } else { (block.0 / self.blocks_per_bank) as usize }
    }

    fn block(&self, block: BlockId) -> &thermocline_policy::Block {
        self.banks[self.bank_of(block)].blocks.block(block)
    }

    /// The host writes a page that it will never update; kept apart where the layer is set so.
    ///
    /// # Errors
    /// [`FtlError`].
    pub fn write_read_only(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        if !self.config.read_only_separation {
            return self.write(lpn, data, now);
        }
        self.check_writable(lpn, now)?;
        self.counters.host_writes += 1;
        let stream = self.read_only_stream();
        let bank = self.assign(lpn, stream);
        self.append(lpn, bank, stream, data, now)?;
        self.placement.written(lpn, now);
        if self.follows_up {
            self.follow_up(lpn, bank, now)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn check_range(&self, lpn: Lpn) -> Result<(), FtlError> {
        if lpn.index() < self.map.len() { Ok(()) } else { Err(FtlError::OutOfRange(lpn)) }
    }

    /// One comparison says that the page is there and that the chip still takes writes.
    #[inline(always)]
    fn check_writable(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        if lpn.0 < self.writable { Ok(()) } else { self.refuse(lpn, now) }
    }

    /// Writes new data of `lpn` to the open block of `stream`; cleans first if it must.
    #[inline(always)]
    fn append(
        &mut self,
        lpn: Lpn,
        bank: usize,
        stream: u8,
        data: &[u8],
        now: u64,
    ) -> Result<(), FtlError> {
        let s = usize::from(stream);
        if self.banks[bank].open[s].is_full() {
            self.make_room_for(lpn, bank, stream, now)?;
        }
        let (at, owner) = self.banks[bank].open[s].take();
        let oob = self.oob(lpn, stream, now);
        let (at, owner) = match self.chip.program(at, oob, data) {
            Ok(()) => (at, owner),
            Err(failed) => self.program_elsewhere(lpn, bank, stream, data, failed, now)?,
        };
        // Nothing was changed so far: until the page is programmed the old copy is the current one.
        // After allocation: cleaning may just have moved the old copy (CAT paper, Figure 3).
        let old = self.map[lpn.index()];
        if self.is_current(old) {
            self.invalidate(lpn, old, now);
        } else {
            self.mapped += 1;
            self.marked -= u32::from(old != Ppn::NONE);
        }
        let home = &mut self.banks[bank];
        let block = home.open[s].block;
        home.blocks.wrote(block, now);
        home.live += 1;
        if P::KNOWS_HOT && self.placement.is_hot(lpn) {
            home.blocks.warm(block, 1);
        }
        self.owner[owner] = lpn;
        self.map[lpn.index()] = at;
        Ok(())
    }

    /// What is programmed beside the next page.
    #[inline(always)]
    fn oob(&mut self, lpn: Lpn, stream: u8, now: u64) -> Oob {
        self.programs += 1;
        let note = self.placement.note(lpn);
        let sequence = if self.says { self.number_with_word() } else { self.programs };
        Oob { lpn, stream, sequence, time: now, note }
    }

    /// The copy of `lpn` at `old` is no longer current.
    #[inline(always)]
    fn invalidate(&mut self, lpn: Lpn, old: Ppn, now: u64) {
        let block = self.block_of(old);
        let bank = self.bank_of(block);
        let home = &mut self.banks[bank];
        home.live -= 1;
        if P::KNOWS_HOT && self.placement.is_hot(lpn) {
            home.blocks.warm(block, -1);
        }
        home.blocks.invalidate(block, now);
    }

    /// The temperature of a page with data changed where it lies.
    fn warm(&mut self, lpn: Lpn, by: i32) {
        let at = self.map[lpn.index()];
        if self.is_current(at) {
            let block = self.block_of(at);
            let bank = self.bank_of(block);
            self.banks[bank].blocks.warm(block, by);
        }
    }

    /// The stream of a page the host writes.
    #[inline(always)]
    fn stream_of(&mut self, lpn: Lpn, now: u64) -> u8 {
        if P::LOCATES {
            let old = self.place(lpn);
            return self.placement.host_over(lpn, old, now);
        }
        if !P::KNOWS_HOT {
            return self.placement.host(lpn, now);
        }
        let was_hot = self.placement.is_hot(lpn);
        let stream = self.placement.host(lpn, now);
        if self.placement.is_hot(lpn) != was_hot {
            self.warm(lpn, if was_hot { -1 } else { 1 });
        }
        if let Some(cooled) = self.placement.cooled() {
            self.warm(cooled, -1);
        }
        stream
    }

    /// What some policies want done after each page write of the host.
    fn follow_up(&mut self, lpn: Lpn, bank: usize, now: u64) -> Result<(), FtlError> {
        let home = &mut self.banks[bank];
        if home.watches {
            home.watched.push(lpn);
            if home.watched.len() == WATCHED {
                home.tell_watcher();
            }
        }
        if self.index.is_some() {
            self.awaken(now)?;
        }
        if self.config.trigger == Trigger::Eager {
            self.clean_eagerly(bank, now)?;
        }
        Ok(())
    }

    /// Where the newest data of a page lie.
    #[inline(always)]
    fn place(&self, lpn: Lpn) -> Option<Place> {
        let at = self.data_at(self.map[lpn.index()]);
        if at == Ppn::NONE {
            return None;
        }
        let geometry = self.chip.geometry();
        let block = geometry.block_of(at);
        let bank = self.bank_of(block);
        let stream = self.banks[bank].blocks.block(block).stream;
        let page = geometry.page_of(at) - self.header;
        let next = self.banks[bank].open[usize::from(stream)].next;
        Some(Place { bank: bank as u32, block, stream, page, next })
    }

    /// Closes a stream's open block and opens the free block that waited longest.
    fn open_next(&mut self, bank: usize, stream: u8, now: u64) -> Result<(), FtlError> {
        if self.index.is_some() {
            self.before_open(bank)?;
        }
        let home = &mut self.banks[bank];
        let block = home.free.pop_front().ok_or(FtlError::NoSpace)?;
        let old = home.open[usize::from(stream)];
        if old.block != BlockId::NONE {
            self.close(bank, old.block);
        }
        let home = &mut self.banks[bank];
        home.blocks.open(block, stream, now);
        self.placement.opened(bank as u32, block, stream, now);
        home.open[usize::from(stream)] = Open {
            block,
            next: 0,
            counted: 0,
            pages: self.pages,
            first: self.chip.geometry().ppn(block, self.header),
            first_owner: block.index() * self.pages as usize,
        };
        self.repeat_lasting();
        Ok(())
    }

    fn close(&mut self, bank: usize, block: BlockId) {
        let home = &mut self.banks[bank];
        home.blocks.closing(block, &*home.victim);
        let stream = home.blocks.block(block).stream;
        self.placement.closing(bank as u32, block, stream, &mut home.blocks);
        home.blocks.closed(block);
        home.wear.closed(block, home.blocks.block(block).erases);
    }
}

impl<C: Chip, P: Placement> PageIo for PageMapped<C, P> {
    fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }

    fn fill(&mut self, lpn: Lpn, read_only: bool, now: u64) -> Result<(), FtlError> {
        self.check_writable(lpn, now)?;
        self.counters.fills += 1;
        let read_only = read_only && self.config.read_only_separation;
        let stream = if read_only { self.read_only_stream() } else { 0 };
        let bank = self.assign(lpn, stream);
        if self.index.is_some() {
            self.awaken(now)?;
        }
        self.append(lpn, bank, stream, &[], now)?;
        self.placement.filled(lpn, now);
        Ok(())
    }

    #[inline(always)]
    fn write(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        self.check_writable(lpn, now)?;
        self.counters.host_writes += 1;
        let stream = self.stream_of(lpn, now);
        let bank = self.assign(lpn, stream);
        self.append(lpn, bank, stream, data, now)?;
        self.placement.written(lpn, now);
        if self.follows_up {
            self.follow_up(lpn, bank, now)?;
        }
        Ok(())
    }

    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        let at = self.data_at(self.map[lpn.index()]);
        if at == Ppn::NONE {
            into.fill(0);
            return Ok(false);
        }
        self.chip.read_programmed(at, into)?;
        self.counters.host_reads += 1;
        Ok(true)
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.check_writable(lpn, now)?;
        let at = core::mem::replace(&mut self.map[lpn.index()], Ppn::NONE);
        if at == Ppn::NONE {
            return Ok(false);
        }
        if self.is_current(at) {
            self.invalidate(lpn, at, now);
            self.mapped -= 1;
        } else {
            self.marked -= 1;
        }
        self.placement.trimmed(lpn);
        self.counters.trims += 1;
        if self.index.is_some() {
            self.note_trim(lpn, now)?;
        }
        Ok(true)
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.map, lpn.index());
        self.placement.prefetch(lpn);
    }

    #[inline(always)]
    fn prefetch_more(&self, lpn: Lpn) {
        if let Some(&at) = self.map.get(lpn.index())
            && self.is_current(at)
        {
            let block = self.block_of(at);
            self.banks[self.bank_of(block)].blocks.prefetch(block);
        }
    }
}

impl<C: Chip, P: Placement> Upkeep for PageMapped<C, P> {
    fn filled(&mut self, now: u64) -> Result<(), FtlError> {
        for bank in 0..self.banks.len() {
            for stream in 0..self.placement.streams() {
                if self.banks[bank].open[usize::from(stream)].block == BlockId::NONE {
                    self.open_next(bank, stream, now)?;
                }
            }
        }
        Ok(())
    }

    fn idle_step_ns(&self, timing: &Timing) -> u64 {
        self.longest_cleaning_ns(timing)
    }

    fn clean_in_idle_time(&mut self, now: u64) -> Result<bool, FtlError> {
        if self.scrub_once(now)? { Ok(true) } else { self.clean_ahead(now) }
    }

    fn scrub(&mut self, now: u64) -> Result<bool, FtlError> {
        Ok(self.scrub_once(now)? || self.tell_lasting(now)?)
    }

    fn settle(&mut self, now: u64) -> Result<(), FtlError> {
        self.settle_index(now)
    }

    fn last_program(&self) -> u64 {
        self.programs
    }

    fn synced(&mut self, last_program: u64) {
        self.note_lasting(last_program);
    }

    fn unmount(&mut self, now: u64) -> Result<(), FtlError> {
        self.close_index(now)
    }
}

impl<C: Chip, P: Placement> Inspect for PageMapped<C, P> {
    #[inline(always)]
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn choices(&self) -> Vec<(&'static str, u64)> {
        let mut all: Vec<(&'static str, u64)> = Vec::new();
        for (rule, blocks) in self.banks.iter().flat_map(|bank| bank.victim.choices()) {
            match all.iter_mut().find(|(name, _)| *name == rule) {
                Some((_, sum)) => *sum += blocks,
                None => all.push((rule, blocks)),
            }
        }
        all
    }

    fn free_blocks(&self) -> Option<u32> {
        Some(self.banks.iter().map(|bank| bank.free.len() as u32).sum())
    }

    fn spare_blocks(&self) -> Option<u32> {
        Some(self.blocks_to_spare())
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        self.ended()
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        self.map.get(lpn.index()).map_or(Ppn::NONE, |&entry| self.data_at(entry))
    }

    fn erases(&self, block: BlockId) -> u32 {
        if self.index.is_some() { self.chip.erase_count(block) } else { self.block(block).erases }
    }

    fn valid_pages(&self, block: BlockId) -> u32 {
        self.block(block).valid
    }

    fn check(&self) -> Result<(), String> {
        self.check_all()
    }
}

impl<C: Chip, P: Placement> DeadPages for PageMapped<C, P> {
    fn mark_dead(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        Ok(self.mark(lpn, now))
    }

    fn revive(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        Ok(self.restore(lpn, now))
    }
}

impl<C: Chip, P: Placement> Layer for PageMapped<C, P> {
    type Chip = C;

    #[inline(always)]
    fn chip(&self) -> &C {
        &self.chip
    }

    #[inline(always)]
    fn chip_mut(&mut self) -> &mut C {
        &mut self.chip
    }

    fn upkeep(&mut self) -> &mut dyn Upkeep {
        self
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }

    fn dead_pages(&mut self) -> Option<&mut dyn DeadPages> {
        Some(self)
    }
}
