//! The layer, as its user sees it.

use crate::{
    Area, Before, Content, Error, Found, Geometry, Memory, Nand, NandError, Part, Slots,
    area::mend,
    blocks::{Block, State},
    cache::{Cache, LOST, NONE, TRIMMED},
    clean::{Cleaning, MEAN},
    header::Header,
    log::{LANES, MAP_STREAM, NOWHERE, Open, Payload},
    memory::{entries_of_map_page, map_pages},
    policy::{Placement, Victim},
    refresh::Reads,
    snapshot::Snapshots,
    total::Total,
};

/// How a store is made.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Logical pages. What the chip has beyond them makes cleaning cheap: 7 % is little, 15 % is good.
    pub logical_pages: u32,
    /// Blocks that may go bad before the store is read-only.
    pub spare_blocks: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { logical_pages: 0, spare_blocks: 2 }
    }
}

/// What a layer did since it was mounted or formatted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counters {
    /// Pages that the host wrote.
    pub host_writes: u64,
    /// Pages that cleaning moved.
    pub copies: u64,
    /// Pages of the map, and of snapshots, that were written.
    pub map_writes: u64,
    /// Reads of the map on the chip: of one entry, or a page.
    pub map_reads: u64,
    /// Areas that were read.
    pub area_reads: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks chosen to be cleaned.
    pub victims: u64,
    /// Valid pages of these, when they were chosen.
    pub victims_valid: u64,
    /// Blocks that failed.
    pub failed_blocks: u32,
    /// Pages that could not be moved, as they could not be read.
    pub lost: u32,
    /// Pages that were moved for the bits that the chip corrected.
    pub refreshed: u32,
    /// Reads of data in which it corrected some.
    pub corrected_reads: u32,
    /// The most that it corrected in one.
    pub most_corrected: u32,
}

impl Counters {
    /// Pages that were programmed.
    #[must_use]
    pub const fn programs(&self) -> u64 {
        self.host_writes + self.copies + self.map_writes
    }
}

/// A store on a chip.
pub struct Ftl<'a, N, V, P> {
    pub(crate) nand: N,
    pub(crate) victim: V,
    pub(crate) placement: P,
    pub(crate) shape: Geometry,
    pub(crate) logical_pages: u32,
    /// Logical pages of a page of the map.
    pub(crate) map_entries: u32,

    pub(crate) blocks: Total<Slots<'a, Block>, Block>,
    /// Where each page of the map is.
    pub(crate) directory: Total<Slots<'a, u32>, u32>,
    pub(crate) cache: Cache<'a>,
    pub(crate) buffer: Slots<'a, u8>,

    pub(crate) open: [Open; LANES],
    /// What the last program wrote, if it is known to be done.
    pub(crate) before: Option<Before>,
    /// What page of the map was written last, as the next one says ([`Area::after`]).
    pub(crate) after: Option<u32>,
    /// The greatest number that a program has, or may have.
    pub(crate) sequence: u64,
    /// The number of the last program that counts.
    pub(crate) counts: u64,
    /// The numbers behind this one are left out by the first program after a doubtful one.
    pub(crate) left_out_from: u64,
    /// The page that was programmed last since the mount.
    pub(crate) last: u32,
    /// The page to be written again before the next change: the one that a mount found to be programmed last, or the one before a
    /// program that is doubtful.
    pub(crate) newest: u32,
    /// Its program was done.
    pub(crate) is_sure: bool,
    /// Programs for which the last page of a block stays blank.
    pub(crate) fresh: u32,
    /// The page of the map that the buffer holds may say of a logical page that it was trimmed, or is lost: without it areas would
    /// tell of older data.
    pub(crate) knows_of_trims: bool,
    /// Pages of the map are lost, or known from areas alone: they are written again before the next change.
    pub(crate) is_map_hurt: bool,
    /// What the chip holds is known.
    pub(crate) is_mounted: bool,
    /// Whether nothing is left to be done before the next change ([`settle_cut`](Self::settle_cut)).
    pub(crate) is_settled: bool,
    /// A page that should be moved, for the bits that the chip corrected.
    pub(crate) tired: u32,
    /// Reads of each block, where they are counted.
    pub(crate) reads: Reads<'a>,
    /// The page that is scrubbed next.
    pub(crate) scrubbed: u32,
    /// Blocks that can be opened.
    pub(crate) free: u32,
    pub(crate) cleaning: Option<Cleaning>,
    /// Programs that no cleaning made up for yet.
    pub(crate) owed: u32,
    /// Pages that cleaning has yet to look at for programs before.
    pub(crate) due: u32,
    /// Programs of cleaning in one write, about.
    pub(crate) pace: u32,
    /// Pages that a block yields when it is cleaned, in the mean, times [`MEAN`].
    pub(crate) yielded: u32,
    /// Erases since the last block that was cleaned for the sake of even wear.
    pub(crate) unlevelled: u32,

    /// The page of the map from which the next one is written.
    pub(crate) sweep: u32,
    /// Programs when the sweep began.
    pub(crate) sweep_began: u64,
    /// All changes of the map up to this program are on the chip.
    pub(crate) horizon: u64,
    pub(crate) spare_blocks: u32,
    pub(crate) snapshots: Snapshots,
    pub(crate) counters: Counters,
}

impl<'a, N: Nand, V: Victim, P: Placement> Ftl<'a, N, V, P> {
    /// A layer that knows nothing of its chip yet: for whoever wants it back where [`remount`](Self::remount) or
    /// [`reformat`](Self::reformat), one of which comes next, fails. Until then it holds no page.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Memory`].
    pub fn unmounted(nand: N, memory: Memory<'a>, victim: V, placement: P) -> Result<Self, Error> {
        let shape = nand.geometry();
        shape.check()?;
        let Memory { blocks, mut directory, changes, page } = memory;
        let Some(mut blocks) = blocks.first(shape.blocks as usize) else {
            return Err(Error::Memory(Part::Blocks));
        };
        if changes.is_empty() {
            return Err(Error::Memory(Part::Changes));
        }
        let Some(buffer) = page.first(shape.page_size as usize) else {
            return Err(Error::Memory(Part::Page));
        };
        blocks.fill(Block::UNKNOWN);
        directory.fill(NONE);
        Ok(Self {
            nand,
            victim,
            placement,
            shape,
            logical_pages: 0,
            map_entries: entries_of_map_page(shape.page_size),
            blocks: Total::new(blocks, Block::UNKNOWN),
            directory: Total::new(directory, NONE),
            cache: Cache::new(changes),
            buffer,
            open: [Open::NONE; LANES],
            before: None,
            after: None,
            sequence: 0,
            counts: 0,
            left_out_from: 0,
            last: NOWHERE,
            newest: NOWHERE,
            is_sure: false,
            fresh: 0,
            knows_of_trims: false,
            is_map_hurt: false,
            is_mounted: false,
            is_settled: true,
            tired: NOWHERE,
            reads: Reads::none(),
            scrubbed: 0,
            free: 0,
            cleaning: None,
            owed: 0,
            due: 0,
            pace: 1,
            yielded: MEAN * shape.pages / 2,
            unlevelled: 0,
            sweep: 0,
            sweep_began: 0,
            horizon: 0,
            spare_blocks: 0,
            snapshots: Snapshots::NONE,
            counters: Counters::default(),
        })
    }

    /// Knows nothing of the chip any more. What was counted stays.
    pub(crate) fn forget(&mut self) {
        for block in self.blocks.iter_mut() {
            // A block that failed is not written again, whatever it holds, and whether or not the chip took the mark.
            match block.state() {
                State::Failing => {
                    *block = Block::UNKNOWN;
                    block.set_state(State::Failing);
                }
                _ if block.is_retired() => {}
                _ => *block = Block::UNKNOWN,
            }
        }
        self.directory.fill(NONE);
        self.cache.clear();
        self.open = [Open::NONE; LANES];
        (self.before, self.after) = (None, None);
        (self.is_settled, self.is_map_hurt) = (true, false);
        (self.newest, self.last, self.is_sure) = (NOWHERE, NOWHERE, false);
        (self.logical_pages, self.free) = (0, 0);
        (self.sequence, self.counts, self.left_out_from) = (0, 0, 0);
        (self.fresh, self.tired) = (0, NOWHERE);
        self.reads.forget();
        (self.cleaning, self.owed, self.due, self.unlevelled) = (None, 0, 0, 0);
        self.yielded = MEAN * self.shape.pages / 2;
        (self.sweep, self.sweep_began, self.horizon) = (0, 0, 0);
    }

    pub(crate) fn set_size(&mut self, logical_pages: u32) -> Result<(), Error> {
        self.check_memory(logical_pages)?;
        self.logical_pages = logical_pages;
        self.size_notes();
        Ok(())
    }

    /// Logical pages of the store.
    #[must_use]
    pub const fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// Bytes of a page.
    #[must_use]
    pub const fn page_size(&self) -> u32 {
        self.shape.page_size
    }

    /// What it did since it was mounted.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Valid pages of a block, those of the map included.
    #[must_use]
    pub fn valid_pages(&self, block: u32) -> u32 {
        self.blocks[block as usize].valid()
    }

    /// Pages of the map that are on the chip.
    #[must_use]
    pub fn map_pages(&self) -> u32 {
        self.directory.iter().filter(|&&page| page < LOST).count() as u32
    }

    /// Blocks that can be opened.
    #[must_use]
    pub const fn free_blocks(&self) -> u32 {
        self.free
    }

    /// What a block is used for, and the stream it was opened for.
    #[must_use]
    pub fn block_use(&self, block: u32) -> (Use, u8) {
        let is_of_snapshots = self.is_snapshot_block(block);
        let block = self.blocks[block as usize];
        let used = match block.state() {
            State::Bad if is_of_snapshots => Use::Snapshots,
            State::Bad => Use::Bad,
            State::Stale | State::Erased | State::Blank => Use::Free,
            State::Open => Use::Open,
            State::Closed => Use::Full,
            State::Failing | State::Kept => Use::Kept,
        };
        (used, block.stream())
    }

    /// Whether a mount would look for nothing: all of the map is on the chip, as after
    /// [`checkpoint`](Self::checkpoint).
    #[must_use]
    pub fn is_saved(&self) -> bool {
        // The page of the map that says so is a program more.
        self.cache.is_empty() && self.counts <= self.horizon + 1
    }

    /// Programs in the life of the store: the number of the last one.
    #[must_use]
    pub const fn programs(&self) -> u64 {
        self.counts
    }

    /// The chip.
    #[must_use]
    pub const fn nand(&self) -> &N {
        &self.nand
    }

    /// The chip: to set what the driver needs. Programs and erases are left to the layer.
    pub const fn nand_mut(&mut self) -> &mut N {
        &mut self.nand
    }

    /// The chip, and the end of the store in RAM: what was not flushed is as after a loss of power.
    pub fn into_nand(self) -> N {
        self.nand
    }

    /// Times that each block was erased, as far as it is known; the last word stands on the chip.
    pub fn erases(&self) -> impl Iterator<Item = u32> {
        self.blocks.iter().map(|block| u32::from(block.erases))
    }

    /// Reads a page. False if it holds no data, and then `into` is all zeros.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::WrongLength`], [`Error::Unreadable`], [`Error::Misplaced`],
    /// [`Error::MapUnreadable`], [`Error::Device`].
    pub fn read(&mut self, lpn: u32, into: &mut [u8]) -> Result<bool, Error> {
        self.check(lpn, into.len())?;
        if !self.is_mounted {
            self.remount()?;
        }
        if self.is_of_the_newest(lpn) {
            // What is shown stays: data, or, by a page of the map, that there are none. A store that takes no more changes can
            // still be read.
            if self.settle_cut() == Err(Error::Device) {
                into.fill(0);
                return Err(Error::Device);
            }
        }
        let mut done = self.locate(lpn).and_then(|at| self.read_page(lpn, at, into));
        if matches!(done, Err(Error::Unreadable(_) | Error::MapUnreadable(_)))
            && self.is_of_the_newest(lpn)
        {
            self.remount()?;
            done = self.locate(lpn).and_then(|at| self.read_page(lpn, at, into));
        }
        if !matches!(done, Ok(true)) {
            into.fill(0);
        }
        if self.is_worn_by_reads() {
            // What was read is right, whatever comes of this.
            let _ = self.make_room();
        }
        done
    }

    /// Whether a logical page is found by what was programmed last before the mount, and nothing was since. Where that could be
    /// read at the mount, and cannot now, what was before it counts.
    fn is_of_the_newest(&self, lpn: u32) -> bool {
        let map_page = self.directory[(lpn / self.entries()) as usize];
        self.newest != NOWHERE
            && !self.is_sure
            && (self.newest == map_page || self.cache.get(lpn) == Some(self.newest))
    }

    /// What a page of the chip holds, which the map names for a logical one.
    fn read_page(&mut self, lpn: u32, at: u32, into: &mut [u8]) -> Result<bool, Error> {
        if at >= LOST {
            return if at == LOST { Err(Error::Unreadable(lpn)) } else { Ok(false) };
        }
        self.nand.read(at, 0, into).map_err(|e| unreadable(e, lpn))?;
        self.note_corrected(at);
        match self.known_area(at)? {
            Some(Area { content: Content::Data(_), number, .. }) if number == lpn => Ok(true),
            Some(_) => Err(Error::Misplaced(lpn)),
            None => Err(Error::Unreadable(lpn)),
        }
    }

    /// Writes a page. Where the error is [`Error::Device`], it holds its old data or the new ones.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::WrongLength`], [`Error::WornOut`], [`Error::MapUnreadable`],
    /// [`Error::Device`].
    pub fn write(&mut self, lpn: u32, data: &[u8]) -> Result<(), Error> {
        self.check(lpn, data.len())?;
        self.make_room()?;
        self.make_room_for_a_change()?;
        // Cleaning may have moved it.
        let old = self.replaced(lpn)?;
        let stream = self.placement.host(self.whereabouts(old)).min(self.placement.streams() - 1);
        let at =
            self.append(usize::from(stream), Content::Data(stream), lpn, Payload::Host(data))?;
        self.move_to(lpn, old, at);
        self.counters.host_writes += 1;
        Ok(())
    }

    /// The host does not need a page any more. That lasts after the next [`flush`](Self::flush). False if it held no data.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::WornOut`], [`Error::MapUnreadable`], [`Error::Device`].
    pub fn trim(&mut self, lpn: u32) -> Result<bool, Error> {
        self.check(lpn, self.shape.page_size as usize)?;
        self.make_room()?;
        self.make_room_for_a_change()?;
        let old = self.replaced(lpn)?;
        if old >= TRIMMED {
            return Ok(false);
        }
        self.move_to(lpn, old, TRIMMED);
        Ok(true)
    }

    /// Waits until everything that was written and trimmed survives a loss of power.
    ///
    /// # Errors
    /// [`Error::WornOut`], [`Error::MapUnreadable`], [`Error::Device`].
    pub fn flush(&mut self) -> Result<(), Error> {
        self.settle()?;
        self.nand.sync().map_err(device)
    }

    /// Writes to the chip what only RAM knows of trims: a sync of the chip, by whoever has it in hand, then makes last
    /// what [`flush`](Self::flush) does.
    ///
    /// # Errors
    /// [`Error::WornOut`], [`Error::MapUnreadable`], [`Error::Device`].
    pub fn settle(&mut self) -> Result<(), Error> {
        self.make_room()?;
        self.record_trims()
    }

    /// Tells every logical page that holds data, in order, and where. Reads each page of the map once.
    ///
    /// # Errors
    /// [`Error::MapUnreadable`], [`Error::Device`].
    pub fn each_mapped(&mut self, mut seen: impl FnMut(u32, u32)) -> Result<(), Error> {
        self.each_entry(|lpn, at| {
            if at < LOST {
                seen(lpn, at);
            }
        })
    }

    /// Tells every logical page whose data are lost, in order: reading it is an error until it is written or trimmed.
    ///
    /// # Errors
    /// [`Error::MapUnreadable`], [`Error::Device`].
    pub fn each_lost(&mut self, mut seen: impl FnMut(u32)) -> Result<(), Error> {
        self.each_entry(|lpn, at| {
            if at == LOST {
                seen(lpn);
            }
        })
    }

    fn each_entry(&mut self, mut seen: impl FnMut(u32, u32)) -> Result<(), Error> {
        for page in 0..self.logical_pages.div_ceil(self.entries()) {
            self.gather_map_page(page)?;
            let first = page * self.map_entries;
            for index in 0..self.map_entries.min(self.logical_pages - first) {
                seen(first + index, self.entry(index));
            }
        }
        Ok(())
    }

    /// Writes all of the map, so that the next mount has nothing to look for; and where blocks are kept for
    /// [snapshots](Nand::keeps_snapshots), all tables of RAM, which the next mount reads. For an orderly stop.
    ///
    /// # Errors
    /// [`Error::WornOut`], [`Error::MapUnreadable`], [`Error::Device`].
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        if self.is_snapshot() {
            return Ok(());
        }
        self.make_room()?;
        while !self.cache.is_empty() {
            self.sweep()?;
            self.make_room()?;
        }
        // Two ends of a sweep later all programs up to now lie behind the horizon; a page of the map says so.
        self.end_sweep()?;
        self.end_sweep()?;
        self.write_map_page(0)?;
        self.nand.sync().map_err(device)?;
        self.save_all()
    }

    /// Free blocks below which the host waits for cleaning, and those below which cleaning goes along with writing.
    pub(crate) fn watermarks(&self) -> (u32, u32) {
        let enough = enough(self.logical_pages.div_ceil(self.entries()), self.shape.pages);
        (enough - SPREAD, enough)
    }

    /// Pages of a block: never 0.
    pub(crate) fn pages(&self) -> u32 {
        self.shape.pages.max(1)
    }

    /// Logical pages of a page of the map: never 0.
    pub(crate) fn entries(&self) -> u32 {
        self.map_entries.max(1)
    }

    fn check(&self, lpn: u32, length: usize) -> Result<(), Error> {
        if lpn >= self.logical_pages {
            return Err(Error::OutOfRange(lpn));
        }
        if length != self.shape.page_size as usize {
            return Err(Error::WrongLength(length));
        }
        Ok(())
    }

    /// What stands beside a page that the map names: a bit of it may have turned.
    pub(crate) fn known_area(&mut self, page: u32) -> Result<Option<Area>, Error> {
        let mut bytes = [0; crate::AREA];
        self.counters.area_reads += 1;
        match self.nand.read_area(page, &mut bytes) {
            Ok(()) => {
                mend(&mut bytes);
                match Area::decode(&bytes) {
                    Found::Page(area) => Ok(Some(area)),
                    _ => Ok(None),
                }
            }
            Err(NandError::Device) => Err(Error::Device),
            Err(_) => Ok(None),
        }
    }

    /// What stands beside a page.
    pub(crate) fn area(&mut self, page: u32) -> Result<Found, Error> {
        let mut bytes = [0; crate::AREA];
        self.counters.area_reads += 1;
        match self.nand.read_area(page, &mut bytes) {
            Ok(()) => Ok(Area::decode(&bytes)),
            Err(NandError::Device) => Err(Error::Device),
            Err(_) => Ok(Found::Torn),
        }
    }

    /// The next page of the map, with the header that says what the store is.
    pub(crate) fn write_map_page(&mut self, page: u32) -> Result<(), Error> {
        self.keep_up()?;
        self.gather_map_page(page)?;
        self.write_gathered(page)
    }

    /// The page of the map that the buffer holds.
    pub(crate) fn write_gathered(&mut self, page: u32) -> Result<(), Error> {
        let header = Header {
            logical_pages: self.logical_pages,
            spare_blocks: self.spare_blocks,
            horizon: self.horizon,
            has_snapshots: self.snapshots.blocks > 0,
            knows_of_trims: self.knows_of_trims,
        };
        header.seal(&mut self.buffer, &self.shape);
        let at = self.append(MAP_STREAM, Content::Map, page, Payload::Buffer)?;
        self.counters.map_writes += 1;
        self.map_page_is_at(page, at);
        Ok(())
    }
}

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Marked as bad.
    Bad,
    /// Holds nothing that is needed.
    Free,
    /// Being written.
    Open,
    /// Written, and cleaned some time.
    Full,
    /// A program of it failed, or it holds pages that cannot be read: it is not written any more.
    Kept,
    /// Kept for snapshots of the tables in RAM.
    Snapshots,
}

/// The most logical pages that can be stored on a chip of which so many blocks are bad, or may become so, by a
/// placement of so many streams. With all of them cleaning is dear.
#[must_use]
pub const fn most_logical_pages(shape: &Geometry, bad_blocks: u32, streams: u8) -> u32 {
    // Free blocks, an open one of each stream and of the map, and one that is all garbage.
    let all = shape.blocks.saturating_mul(shape.pages);
    let enough = enough(map_pages(shape.page_size, all), shape.pages);
    let taken = (enough + streams as u32 + 2).saturating_add(bad_blocks);
    let pages = shape.blocks.saturating_sub(taken) * shape.pages;
    let map = map_pages(shape.page_size, pages);
    let most = pages.saturating_sub(map + map / 4);
    // Greater numbers stand for other things than pages.
    if most < 0xff_0000 { most } else { 0xff_0000 }
}

/// Free blocks over which the work of cleaning is spread.
const SPREAD: u32 = 3;

/// Free blocks: one for the host's page, one for survivors, as many as all pages of the map take and one more for
/// what cleaning changes in it, and those that spread the work.
const fn enough(map_pages: u32, pages: u32) -> u32 {
    3 + map_pages.div_ceil(if pages == 0 { 1 } else { pages }) + SPREAD
}

/// Of an operation that can fail only where the chip does not answer.
pub(crate) fn device(_: NandError) -> Error {
    Error::Device
}

pub(crate) fn unreadable(error: NandError, lpn: u32) -> Error {
    if error == NandError::Device { Error::Device } else { Error::Unreadable(lpn) }
}
