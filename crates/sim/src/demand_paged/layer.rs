//! Adapts the layer of microcontrollers to the simulator's layer trait.

use thermocline_embedded::{
    Area, Content, Error, Found, Ftl, Place,
    policy::{Placement, Victim},
};
use thermocline_flash::{BlockId, Condition, CountingChip, FlashError, Geometry, Lpn, Ppn};
use thermocline_ftl::{BankState, Counters, FtlError, Holds, Inspect, Layer, PageIo, Upkeep};

use super::chip::MapKeeping;

/// A store on a counting chip.
pub(super) struct DemandPaged<'a> {
    ftl: Ftl<
        'a,
        MapKeeping,
        &'a (dyn Victim + Send + 'static),
        &'a mut (dyn Placement + Send + 'static),
    >,
    counters: Counters,
    fills: u64,
    host_reads: u64,
    trims: u64,
    /// Buffer for pages with unspecified content.
    page: Box<[u8]>,
}

impl<'a> DemandPaged<'a> {
    pub(super) fn new(
        ftl: Ftl<
            'a,
            MapKeeping,
            &'a (dyn Victim + Send + 'static),
            &'a mut (dyn Placement + Send + 'static),
        >,
        geometry: Geometry,
    ) -> Self {
        Self {
            ftl,
            counters: Counters::default(),
            fills: 0,
            host_reads: 0,
            trims: 0,
            page: vec![0; geometry.page_size as usize].into(),
        }
    }

    /// Converts the result of an operation and updates the counters.
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
            map_programs: did.map_writes,
            map_reads: did.map_reads,
            ..Counters::default()
        };
        done.map_err(|e| match e {
            Error::OutOfRange(_) => FtlError::OutOfRange(lpn),
            Error::WornOut => FtlError::NoSpace,
            Error::Unreadable(_) | Error::Misplaced(_) | Error::MapUnreadable(_) => {
                FtlError::Lost(lpn)
            }
            _ => FtlError::Flash(FlashError::OutOfRange),
        })
    }

    fn locate(&self, lpn: u32) -> Option<u32> {
        let at = match self.ftl.place(lpn) {
            Place::Nowhere => return None,
            Place::Page(at) => at,
            Place::Mapped { page, offset } => self.ftl.nand().entry(page, offset),
        };
        (at < 0xff_fffd).then_some(at)
    }
}

impl PageIo for DemandPaged<'_> {
    fn logical_pages(&self) -> u32 {
        self.ftl.logical_pages()
    }

    fn fill(&mut self, lpn: Lpn, _: bool, _: u64) -> Result<(), FtlError> {
        let done = self.ftl.write(lpn.0, &self.page);
        self.fills += u64::from(done.is_ok());
        self.after(lpn, done)
    }

    fn write(&mut self, lpn: Lpn, _: &[u8], _: u64) -> Result<(), FtlError> {
        let done = self.ftl.write(lpn.0, &self.page);
        self.after(lpn, done)
    }

    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        into.fill(0);
        let done = self.ftl.read(lpn.0, &mut self.page);
        self.page.fill(0);
        self.host_reads += u64::from(done == Ok(true));
        self.after(lpn, done)
    }

    fn trim(&mut self, lpn: Lpn, _: u64) -> Result<bool, FtlError> {
        let done = self.ftl.trim(lpn.0);
        self.trims += u64::from(done == Ok(true));
        self.after(lpn, done)
    }
}

impl Upkeep for DemandPaged<'_> {
    fn settle(&mut self, _: u64) -> Result<(), FtlError> {
        let done = self.ftl.flush();
        self.after(Lpn::NONE, done)
    }
}

impl Inspect for DemandPaged<'_> {
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn free_blocks(&self) -> Option<u32> {
        Some(self.ftl.free_blocks())
    }

    fn banks(&self) -> Vec<BankState> {
        let current = (0..self.ftl.logical_pages()).filter(|&lpn| self.locate(lpn).is_some());
        vec![BankState {
            free_blocks: self.ftl.free_blocks(),
            current_pages: current.count() as u32,
            erases: self.counters.erases,
            ..BankState::default()
        }]
    }

    fn holds(&self, lpn: Lpn) -> Holds {
        if self.locate(lpn.0).is_some() { Holds::Data } else { Holds::Nothing }
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        self.locate(lpn.0).map_or(Ppn::NONE, |at| self.ftl.nand().ppn(at))
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.chip().erase_count(block)
    }

    fn valid_pages(&self, block: BlockId) -> u32 {
        let data_blocks = thermocline_flash::Flash::geometry(self.chip()).data_blocks();
        if block.0 < data_blocks { self.ftl.valid_pages(block.0) } else { 0 }
    }

    /// Recounts valid pages from the map and the out-of-band areas of the chip.
    fn check(&self) -> Result<(), String> {
        let nand = self.ftl.nand();
        let geometry = thermocline_flash::Flash::geometry(self.chip());
        let pages = geometry.data_pages_per_block();
        let mut valid = vec![0; geometry.data_blocks() as usize];
        let mut maps = std::collections::BTreeSet::new();
        for lpn in 0..self.ftl.logical_pages() {
            if let Place::Mapped { page, .. } = self.ftl.place(lpn)
                && maps.insert(page)
            {
                valid[(page / pages) as usize] += 1;
            }
            let Some(at) = self.locate(lpn) else { continue };
            valid[(at / pages) as usize] += 1;
            match nand.area_of(at) {
                Found::Page(Area { content: Content::Data(_), number, .. }) if number == lpn => {}
                found => {
                    return Err(format!("logical page {lpn} should be in page {at}: {found:?}"));
                }
            }
        }
        // A map page whose entries have all changed is also valid and is not counted above.
        let counted: u32 = valid.iter().sum();
        let told: u32 = (0..geometry.data_blocks()).map(|b| self.ftl.valid_pages(b)).sum();
        let all = self.ftl.map_pages();
        let hidden =
            all.checked_sub(maps.len() as u32).ok_or("more pages of the map than there are")?;
        for (block, &valid) in (0..).zip(&valid) {
            if self.ftl.valid_pages(block) < valid {
                return Err(format!(
                    "block {block} has {valid} valid pages, and {} are counted",
                    self.ftl.valid_pages(block)
                ));
            }
        }
        if told == counted + hidden {
            Ok(())
        } else {
            Err(format!("{counted} pages and {hidden} of the map are valid, {told} are counted"))
        }
    }
}

impl Layer for DemandPaged<'_> {
    type Chip = CountingChip;

    fn chip(&self) -> &CountingChip {
        &self.ftl.nand().chip
    }

    fn chip_mut(&mut self) -> &mut CountingChip {
        &mut self.ftl.nand_mut().chip
    }

    fn upkeep(&mut self) -> &mut dyn Upkeep {
        self
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}
