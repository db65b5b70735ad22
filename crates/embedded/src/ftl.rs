//! The layer, as its user sees it.

use super::{
    Area, Before, CAN_BE_DROPPED, Content, Counters, Error, Found, Geometry, Memory, Nand,
    NandError, Part, Slots, Use,
    area::mend,
    bisync,
    blocks::{Block, State},
    cache::{Cache, LOST, NONE, TRIMMED},
    clean::{Cleaning, MEAN},
    config::{SPREAD, enough},
    error::{device, unreadable},
    header::Header,
    log::{LANES, MAP_STREAM, NOWHERE, Open, Payload},
    memory::entries_of_map_page,
    policy::{Placement, Victim},
    refresh::Reads,
    snapshot::Snapshots,
    total::Total,
};

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
    /// Logical pages when it was mounted last.
    pub(crate) mounted_pages: u32,
    /// Something was begun that is not over: if nothing is going on, its future was dropped.
    is_entered: bool,
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
    /// Programs that were counted before the mount, of which there may be another one: their low 32 bits.
    pub(crate) programs_before: u32,
}

#[bisync]
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
            mounted_pages: 0,
            is_entered: false,
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
            programs_before: 0,
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

    /// Begins what must not be left half-way.
    pub(crate) fn enter(&mut self) {
        self.notice_drop();
        if CAN_BE_DROPPED {
            self.is_entered = true;
        }
    }

    /// It is over, whatever came of it.
    pub(crate) fn exit(&mut self) {
        if CAN_BE_DROPPED {
            self.is_entered = false;
        }
    }

    /// What was given up half-way left RAM in any state, and the chip as a loss of power does: the store is mounted again.
    fn notice_drop(&mut self) {
        if CAN_BE_DROPPED && self.is_entered {
            (self.is_entered, self.is_mounted) = (false, false);
            self.logical_pages = self.mounted_pages;
        }
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
        // What was given up half-way may have been a mount.
        if CAN_BE_DROPPED && self.is_entered { self.mounted_pages } else { self.logical_pages }
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
    pub async fn read(&mut self, lpn: u32, into: &mut [u8]) -> Result<bool, Error> {
        self.notice_drop();
        self.check(lpn, into.len())?;
        if !self.is_mounted {
            self.remount().await?;
        }
        if self.is_of_the_newest(lpn) {
            // What is shown stays: data, or, by a page of the map, that there are none. A store that takes no more changes can
            // still be read.
            self.enter();
            let settled = self.settle_cut().await;
            self.exit();
            if settled == Err(Error::Device) {
                into.fill(0);
                return Err(Error::Device);
            }
        }
        let mut done = self.read_mapped(lpn, into).await;
        if matches!(done, Err(Error::Unreadable(_) | Error::MapUnreadable(_)))
            && self.is_of_the_newest(lpn)
        {
            self.remount().await?;
            done = self.read_mapped(lpn, into).await;
        }
        if !matches!(done, Ok(true)) {
            into.fill(0);
        }
        if self.is_worn_by_reads() {
            // What was read is right, whatever comes of this.
            self.enter();
            let _ = self.make_room().await;
            self.exit();
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

    /// What the page of the chip holds that the map names for a logical one.
    async fn read_mapped(&mut self, lpn: u32, into: &mut [u8]) -> Result<bool, Error> {
        let at = self.locate(lpn).await?;
        if at >= LOST {
            return if at == LOST { Err(Error::Unreadable(lpn)) } else { Ok(false) };
        }
        self.nand.read(at, 0, into).await.map_err(|e| unreadable(e, lpn))?;
        self.note_corrected(at);
        match self.known_area(at).await? {
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
    pub async fn write(&mut self, lpn: u32, data: &[u8]) -> Result<(), Error> {
        self.enter();
        let done = self.write_entered(lpn, data).await;
        self.exit();
        done
    }

    async fn write_entered(&mut self, lpn: u32, data: &[u8]) -> Result<(), Error> {
        self.check(lpn, data.len())?;
        self.make_room().await?;
        self.make_room_for_a_change().await?;
        // Cleaning may have moved it.
        let old = self.replaced(lpn).await?;
        let stream = self.placement.host(self.whereabouts(old)).min(self.placement.streams() - 1);
        let at = self
            .append(usize::from(stream), Content::Data(stream), lpn, Payload::Host(data))
            .await?;
        self.move_to(lpn, old, at);
        self.counters.host_writes += 1;
        Ok(())
    }

    /// The host does not need a page any more. That lasts after the next [`flush`](Self::flush). False if it held no data.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::WornOut`], [`Error::MapUnreadable`], [`Error::Device`].
    pub async fn trim(&mut self, lpn: u32) -> Result<bool, Error> {
        self.enter();
        let done = self.trim_entered(lpn).await;
        self.exit();
        done
    }

    async fn trim_entered(&mut self, lpn: u32) -> Result<bool, Error> {
        self.check(lpn, self.shape.page_size as usize)?;
        self.make_room().await?;
        self.make_room_for_a_change().await?;
        let old = self.replaced(lpn).await?;
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
    pub async fn flush(&mut self) -> Result<(), Error> {
        self.settle().await?;
        self.nand.sync().await.map_err(device)
    }

    /// Writes to the chip what only RAM knows of trims: a sync of the chip, by whoever has it in hand, then makes last
    /// what [`flush`](Self::flush) does.
    ///
    /// # Errors
    /// [`Error::WornOut`], [`Error::MapUnreadable`], [`Error::Device`].
    pub async fn settle(&mut self) -> Result<(), Error> {
        self.enter();
        let done = self.settle_entered().await;
        self.exit();
        done
    }

    async fn settle_entered(&mut self) -> Result<(), Error> {
        self.make_room().await?;
        self.record_trims().await
    }

    /// Tells every logical page that holds data, in order, and where. Reads each page of the map once.
    ///
    /// # Errors
    /// [`Error::MapUnreadable`], [`Error::Device`].
    pub async fn each_mapped(&mut self, mut seen: impl FnMut(u32, u32)) -> Result<(), Error> {
        self.each_entry(|lpn, at| {
            if at < LOST {
                seen(lpn, at);
            }
        })
        .await
    }

    /// Tells every logical page whose data are lost, in order: reading it is an error until it is written or trimmed.
    ///
    /// # Errors
    /// [`Error::MapUnreadable`], [`Error::Device`].
    pub async fn each_lost(&mut self, mut seen: impl FnMut(u32)) -> Result<(), Error> {
        self.each_entry(|lpn, at| {
            if at == LOST {
                seen(lpn);
            }
        })
        .await
    }

    async fn each_entry(&mut self, mut seen: impl FnMut(u32, u32)) -> Result<(), Error> {
        self.notice_drop();
        if !self.is_mounted && self.logical_pages > 0 {
            self.remount().await?;
        }
        for page in 0..self.logical_pages.div_ceil(self.entries()) {
            self.gather_map_page(page).await?;
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
    pub async fn checkpoint(&mut self) -> Result<(), Error> {
        self.enter();
        let done = self.checkpoint_entered().await;
        self.exit();
        done
    }

    async fn checkpoint_entered(&mut self) -> Result<(), Error> {
        if self.is_mounted && self.is_snapshot() {
            return Ok(());
        }
        self.make_room().await?;
        while !self.cache.is_empty() {
            self.sweep().await?;
            self.make_room().await?;
        }
        // Two ends of a sweep later all programs up to now lie behind the horizon; a page of the map says so.
        self.end_sweep().await?;
        self.end_sweep().await?;
        self.write_map_page(0).await?;
        self.nand.sync().await.map_err(device)?;
        self.save_all().await
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
    pub(crate) async fn known_area(&mut self, page: u32) -> Result<Option<Area>, Error> {
        let mut bytes = [0; crate::AREA];
        self.counters.area_reads += 1;
        match self.nand.read_area(page, &mut bytes).await {
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
    pub(crate) async fn area(&mut self, page: u32) -> Result<Found, Error> {
        let mut bytes = [0; crate::AREA];
        self.counters.area_reads += 1;
        match self.nand.read_area(page, &mut bytes).await {
            Ok(()) => Ok(Area::decode(&bytes)),
            Err(NandError::Device) => Err(Error::Device),
            Err(_) => Ok(Found::Torn),
        }
    }

    /// The next page of the map, with the header that says what the store is.
    pub(crate) async fn write_map_page(&mut self, page: u32) -> Result<(), Error> {
        self.keep_up().await?;
        self.gather_map_page(page).await?;
        self.write_gathered(page).await
    }

    /// The page of the map that the buffer holds.
    pub(crate) async fn write_gathered(&mut self, page: u32) -> Result<(), Error> {
        let header = Header {
            logical_pages: self.logical_pages,
            spare_blocks: self.spare_blocks,
            horizon: self.horizon,
            has_snapshots: self.snapshots.blocks > 0,
            knows_of_trims: self.knows_of_trims,
        };
        header.seal(&mut self.buffer, &self.shape);
        let at = self.append(MAP_STREAM, Content::Map, page, Payload::Buffer).await?;
        self.counters.map_writes += 1;
        self.map_page_is_at(page, at);
        Ok(())
    }
}
