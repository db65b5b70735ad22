//! The layer of microcontrollers as a layer of the server.

use thermocline_embedded::{
    Area, Content, Error, Found, Ftl, Nand, NandError, Place, Use, map_pages,
    policy::{Placement, Victim},
};
use thermocline_flash::{BlockId, Chip, FlashError, Lpn, Ppn};
use thermocline_ftl::{
    BankState, BlockState, BlockUse, Counters, EndOfLife, FtlError, Holds, Inspect, Layer, PageIo,
    Recovery, Upkeep,
};

use super::{bits::Bits, nand::OnFlash};

/// Pages of the map in a batch: so small a share of all that each still gathers changes for most of a round, and so few
/// that the host does not wait long.
const BATCH_SHARE: u32 = 8;
const MOST_BATCH: u32 = 64;

/// The policies of a store.
pub(super) type Store<C> =
    Ftl<'static, OnFlash<C>, Box<dyn Victim + Send>, Box<dyn Placement + Send>>;

/// A store with its map on the chip.
pub(super) struct DemandPaged<C> {
    ftl: Store<C>,
    /// Logical pages that hold data: a bit each, so that hosts can ask for holes without a look at the chip.
    held: Bits,
    /// Those whose data are lost.
    lost: Bits,
    counters: Counters,
    host_reads: u64,
    trims: u64,
    fills: u64,
    /// Blocks that may go bad before too few are left.
    spare_blocks: u32,
    /// Pages of the map that are written at once, for one sync of the data before them.
    batch: u32,
    /// No block is left to be written.
    is_over: bool,
    /// A contradiction found in a scan of all areas.
    contradiction: Option<String>,
    /// The tables could not be rebuilt: every operation fails from then on.
    is_broken: bool,
}

impl<C: Chip> DemandPaged<C> {
    /// Of a store that was just formatted or mounted.
    pub(super) fn new(ftl: Store<C>, spare_blocks: u32) -> Result<Self, Error> {
        let mut layer = Self {
            held: Bits::new(ftl.logical_pages()),
            lost: Bits::new(ftl.logical_pages()),
            ftl,
            counters: Counters::default(),
            host_reads: 0,
            trims: 0,
            fills: 0,
            spare_blocks,
            batch: 1,
            is_over: false,
            contradiction: None,
            is_broken: false,
        };
        let map_pages = map_pages(layer.ftl.page_size(), layer.ftl.logical_pages());
        layer.batch = (map_pages / BATCH_SHARE).clamp(2, MOST_BATCH);
        layer.find_held()?;
        Ok(layer)
    }

    fn find_held(&mut self) -> Result<(), Error> {
        let Self { ftl, held, lost, .. } = self;
        held.clear();
        lost.clear();
        ftl.each_mapped(|lpn, _| held.set(lpn))?;
        ftl.each_lost(|lpn| lost.set(lpn))
    }

    /// The findings of the mount.
    pub(super) fn recovery(&self) -> Recovery {
        let nand = self.ftl.nand();
        Recovery {
            // Torn pages and pages that never counted are still on the chip.
            clean: self.ftl.is_saved(),
            used_checkpoint: true,
            areas_read: self.ftl.counters().area_reads,
            pages_found: self.held.count(),
            unreadable_pages: nand.unreadable.len() as u64,
            newest_time: nand.newest_time,
            ..Recovery::default()
        }
    }

    /// Scans all areas: no logical page has a newer copy than the one in the map.
    pub(super) fn audit(&mut self) -> Result<(), Error> {
        let mut mapped = vec![(u32::MAX, 0_u64); self.ftl.logical_pages() as usize];
        self.ftl.each_mapped(|lpn, at| mapped[lpn as usize].0 = at)?;
        let shape = self.ftl.nand().geometry();
        for entry in mapped.iter_mut().filter(|(at, _)| *at != u32::MAX) {
            entry.1 = match self.area(entry.0)? {
                Found::Page(area) => area.sequence,
                // Reading it is an error, and no contradiction.
                Found::Blank | Found::Torn => u64::MAX,
            };
        }
        let mut payload = vec![0; shape.page_size as usize];
        for page in 0..shape.blocks * shape.pages {
            let Found::Page(Area { content: Content::Data(_), number, sequence, .. }) =
                self.area(page)?
            else {
                continue;
            };
            let Some(&(at, known)) = mapped.get(number as usize) else { continue };
            if at == u32::MAX || at == page || sequence <= known {
                continue;
            }
            // A torn page is no copy.
            match self.ftl.nand_mut().read(page, 0, &mut payload) {
                Ok(()) => {}
                Err(NandError::Device) => return Err(Error::Device),
                Err(_) => continue,
            }
            let (at, newer) = (self.ftl.nand().ppn(at), self.ftl.nand().ppn(page));
            self.contradiction = Some(format!(
                "the map leads from logical page {number} to {at:?}, and {newer:?} is newer"
            ));
            return Ok(());
        }
        Ok(())
    }

    /// The area of a page; `Nothing` in a bad block or one that is erased before use: they may hold anything.
    fn area(&mut self, page: u32) -> Result<Found, Error> {
        let block = page / self.ftl.nand().geometry().pages;
        if matches!(self.ftl.block_use(block).0, Use::Bad | Use::Free | Use::Snapshots) {
            return Ok(Found::Blank);
        }
        let nand = self.ftl.nand_mut();
        let mut bytes = [0; thermocline_embedded::AREA];
        match nand.read_area(page, &mut bytes) {
            Ok(()) => Ok(Area::decode(&bytes)),
            Err(NandError::Device) => Err(Error::Device),
            Err(_) => Ok(Found::Torn),
        }
    }

    /// Called before a change by the host: repeats on the chip, by another mount, the writes that the first
    /// mount made in memory only.
    fn begin_to_change(&mut self, now: u64) -> Result<(), FtlError> {
        self.ftl.nand_mut().now = now;
        // A mount that failed is tried again: there may be room now.
        if self.is_broken || self.ftl.nand().is_draft() && self.ftl.nand_mut().end_draft() {
            let done = self.ftl.remount().and_then(|()| self.find_held());
            self.is_broken = done.is_err();
            return self.after(Lpn::NONE, done);
        }
        Ok(())
    }

    /// Converts the result of an operation, and updates the counters.
    fn after<T>(&mut self, lpn: Lpn, done: Result<T, Error>) -> Result<T, FtlError> {
        let did = self.ftl.counters();
        self.counters = Counters {
            host_writes: did.host_writes - self.fills,
            host_reads: self.host_reads,
            trims: self.trims,
            fills: self.fills,
            copies: did.copies,
            erases: did.erases,
            cleaning_runs: did.victims,
            victims: did.victims,
            victims_valid: did.victims_valid,
            retired: did.failed_blocks.into(),
            pages_lost: did.lost.into(),
            map_programs: did.map_writes,
            map_reads: did.map_reads,
            ..Counters::default()
        };
        let refused = self.ftl.nand().refused;
        done.map_err(|e| match e {
            Error::OutOfRange(_) => FtlError::OutOfRange(lpn),
            Error::WrongLength(bytes) => FtlError::Flash(FlashError::WrongLength(bytes)),
            Error::WornOut => {
                self.is_over = true;
                FtlError::ReadOnly
            }
            Error::Device => FtlError::Flash(refused.unwrap_or(FlashError::NoPower)),
            _ => FtlError::Lost(lpn),
        })
    }

    fn read_page(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        if lpn.0 < self.ftl.logical_pages() && self.holds(lpn) == Holds::Nothing {
            into.fill(0);
            return Ok(false);
        }
        let done = if self.is_broken { Err(Error::Device) } else { self.ftl.read(lpn.0, into) };
        self.after(lpn, done)
    }

    /// Makes the next mount find all of the map on the chip.
    pub(super) fn save(&mut self, now: u64) -> Result<(), FtlError> {
        self.begin_to_change(now)?;
        if self.ftl.is_saved() {
            return Ok(());
        }
        let done = self.ftl.checkpoint();
        self.after(Lpn::NONE, done)
    }
}

impl<C: Chip> PageIo for DemandPaged<C> {
    fn logical_pages(&self) -> u32 {
        self.ftl.logical_pages()
    }

    fn fill(&mut self, lpn: Lpn, _: bool, now: u64) -> Result<(), FtlError> {
        let page = vec![0; self.ftl.page_size() as usize];
        self.write(lpn, &page, now)?;
        self.fills += 1;
        self.counters.fills += 1;
        self.counters.host_writes -= 1;
        Ok(())
    }

    fn write(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        self.begin_to_change(now)?;
        let done = self.ftl.sweep_ahead(self.batch).and_then(|()| self.ftl.write(lpn.0, data));
        // Where the chip did not answer, it may be there.
        if matches!(done, Ok(()) | Err(Error::Device)) && lpn.0 < self.ftl.logical_pages() {
            self.held.set(lpn.0);
            self.lost.unset(lpn.0);
        }
        // Trims may have made room again.
        self.is_over &= done.is_err();
        self.after(lpn, done)
    }

    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        let done = if into.is_empty() {
            let mut page = vec![0; self.ftl.page_size() as usize];
            self.read_page(lpn, &mut page)
        } else {
            self.read_page(lpn, into)
        };
        if done == Ok(true) {
            self.host_reads += 1;
            self.counters.host_reads += 1;
        }
        done
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        if lpn.0 < self.ftl.logical_pages() && self.holds(lpn) == Holds::Nothing {
            return Ok(false);
        }
        self.begin_to_change(now)?;
        let done = self.ftl.trim(lpn.0);
        if let Ok(held) = done {
            self.held.unset(lpn.0);
            self.lost.unset(lpn.0);
            self.trims += u64::from(held);
        }
        self.after(lpn, done)
    }
}

impl<C: Chip> Upkeep for DemandPaged<C> {
    fn verify(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.read_page(lpn, into)
    }

    /// Records a sync without later programs by writing a map page.
    fn scrub(&mut self, now: u64) -> Result<bool, FtlError> {
        let is_nothing = self.is_over || self.is_broken || self.ftl.nand().is_draft();
        if is_nothing || !self.ftl.nand_mut().lasting.is_record_due(now) {
            return Ok(false);
        }
        self.ftl.nand_mut().now = now;
        let done = self.ftl.write_next_map_page();
        match self.after(Lpn::NONE, done) {
            Err(FtlError::ReadOnly) => Ok(false),
            done => done.map(|()| true),
        }
    }

    fn settle(&mut self, now: u64) -> Result<(), FtlError> {
        if self.ftl.nand().is_draft() {
            return Ok(());
        }
        self.begin_to_change(now)?;
        let done = self.ftl.settle();
        self.after(Lpn::NONE, done)
    }

    fn last_program(&self) -> u64 {
        self.ftl.programs()
    }

    fn synced(&mut self, last_program: u64) {
        self.ftl.nand_mut().lasting.synced(last_program);
    }

    fn unmount(&mut self, now: u64) -> Result<(), FtlError> {
        // Nothing was changed: the chip is as it was.
        if self.ftl.nand().is_draft() { Ok(()) } else { self.save(now) }
    }
}

impl<C: Chip> Inspect for DemandPaged<C> {
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn free_blocks(&self) -> Option<u32> {
        Some(self.ftl.free_blocks())
    }

    fn mapped_pages(&self) -> Option<u32> {
        Some(self.held.count())
    }

    fn banks(&self) -> Vec<BankState> {
        if self.chip().geometry().banks > 1 {
            return Vec::new();
        }
        vec![BankState {
            free_blocks: self.ftl.free_blocks(),
            current_pages: self.held.count(),
            erases: self.counters.erases,
            ..BankState::default()
        }]
    }

    fn spare_blocks(&self) -> Option<u32> {
        Some(self.spare_blocks.saturating_sub(self.ftl.counters().failed_blocks))
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        self.is_over.then_some(EndOfLife::Blocks)
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        match self.ftl.place(lpn.0) {
            Place::Page(at) => self.ftl.nand().ppn(at),
            Place::Nowhere | Place::Mapped { .. } => Ppn::NONE,
        }
    }

    /// Where nothing is known any more, a read says so.
    fn holds(&self, lpn: Lpn) -> Holds {
        match lpn.0 < self.ftl.logical_pages() {
            true if self.is_broken || self.held.has(lpn.0) => Holds::Data,
            true if self.lost.has(lpn.0) => Holds::Lost,
            _ => Holds::Nothing,
        }
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.chip().erase_count(block)
    }

    fn valid_pages(&self, block: BlockId) -> u32 {
        let is_data = block.0 < self.chip().geometry().data_blocks();
        if is_data { self.ftl.valid_pages(block.0) } else { 0 }
    }

    fn block_states(&self, first: BlockId, into: &mut [BlockState]) {
        let data_blocks = self.chip().geometry().data_blocks();
        for (block, state) in (first.0..).map(BlockId).zip(into) {
            let (used, stream) = if block.0 < data_blocks {
                let (used, stream) = self.ftl.block_use(block.0);
                let used = match used {
                    Use::Bad => BlockUse::Bad,
                    Use::Free => BlockUse::Free,
                    Use::Open => BlockUse::Open,
                    Use::Full => BlockUse::Full,
                    Use::Kept => BlockUse::Condemned,
                    Use::Snapshots => BlockUse::Records,
                };
                (used, stream)
            } else if self.chip().is_bad(block) {
                (BlockUse::Bad, 0)
            } else {
                (BlockUse::Records, 0)
            };
            let (valid, erases) = (self.valid_pages(block), self.erases(block));
            *state = BlockState { used, stream, valid, erases };
        }
    }

    /// Counts again what memory knows; [`audit`](DemandPaged::audit) held the chip against it.
    fn check(&self) -> Result<(), String> {
        if let Some(contradiction) = &self.contradiction {
            return Err(contradiction.clone());
        }
        let blocks = self.chip().geometry().data_blocks();
        let valid: u32 = (0..blocks).map(|block| self.ftl.valid_pages(block)).sum();
        let (held, map) = (self.held.recount(), self.ftl.map_pages());
        if held != self.held.count() {
            return Err(format!(
                "{held} logical pages hold data, and {} are counted",
                self.held.count()
            ));
        }
        if valid != held + map {
            return Err(format!(
                "{held} logical pages hold data, and the map has {map} pages, but {valid} pages of \
                 the chip are valid"
            ));
        }
        let free = (0..blocks).filter(|&block| self.ftl.block_use(block).0 == Use::Free).count();
        match free == self.ftl.free_blocks() as usize {
            true => Ok(()),
            false => {
                Err(format!("{free} blocks are free, and {} are counted", self.ftl.free_blocks()))
            }
        }
    }
}

impl<C: Chip> Layer for DemandPaged<C> {
    type Chip = C;

    fn chip(&self) -> &C {
        self.ftl.nand().chip.get()
    }

    fn chip_mut(&mut self) -> &mut C {
        self.ftl.nand_mut().chip.get_mut()
    }

    fn find(&mut self, lpn: Lpn) -> Ppn {
        let at = match self.ftl.place(lpn.0) {
            Place::Nowhere => return Ppn::NONE,
            Place::Page(at) => at,
            Place::Mapped { page, offset } => {
                let mut entry = [0; 4];
                if self.ftl.nand_mut().read(page, offset, &mut entry[..3]).is_err() {
                    return Ppn::NONE;
                }
                u32::from_le_bytes(entry)
            }
        };
        // No page, or a trim.
        if at >= 0xff_fffd { Ppn::NONE } else { self.ftl.nand().ppn(at) }
    }

    fn upkeep(&mut self) -> &mut dyn Upkeep {
        self
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}
