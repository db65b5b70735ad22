//! Updates in place: what flash is like without a translation layer (CAT paper, Figure 1).
//!
//! Logical page `l` lives in page `l mod B` of block `l div B`. A page that was programmed since its
//! block was erased cannot be programmed again, so an update reads the block into a buffer, erases
//! it and writes all of it back. As in the papers' times, reading into the buffer is not charged.
//! It is a yardstick for counts and times and keeps no contents.

use alloc::{format, string::String, vec, vec::Vec};

use thermocline_flash::{BlockId, Condition, FlashError, Lpn, Oob, Ppn};

use crate::{Counters, FtlError, Inspect, Layer, PageIo, Upkeep};

/// The in-place baseline.
pub struct InPlace<C> {
    chip: C,
    mapped: Vec<bool>,
    /// Pages programmed since the erase of their block, by logical page.
    programmed: Vec<bool>,
    valid: Vec<u32>,
    counters: Counters,
    pages: u32,
}

impl<C: Condition> InPlace<C> {
    /// A layer over an erased chip.
    ///
    /// # Errors
    /// [`FtlError::NoSpace`] if the chip has fewer data pages, or a bad block among those needed.
    pub fn new(chip: C, logical_pages: u32) -> Result<Self, FtlError> {
        let geometry = chip.geometry();
        let pages = geometry.data_pages_per_block();
        let needed = logical_pages.div_ceil(pages);
        if needed > geometry.data_blocks() || (0..needed).any(|b| chip.is_bad(BlockId(b))) {
            return Err(FtlError::NoSpace);
        }
        let blocks = geometry.blocks() as usize;
        Ok(Self {
            mapped: vec![false; logical_pages as usize],
            programmed: vec![false; needed as usize * pages as usize],
            valid: vec![0; blocks],
            counters: Counters::default(),
            pages,
            chip,
        })
    }

    fn place(&self, lpn: Lpn) -> (BlockId, u32) {
        (BlockId(lpn.0 / self.pages), lpn.0 % self.pages)
    }

    fn ppn(&self, block: BlockId, page: u32) -> Ppn {
        let geometry = self.chip.geometry();
        geometry.ppn(block, geometry.header_pages + page)
    }

    fn oob(&self, lpn: Lpn) -> Oob {
        let c = &self.counters;
        Oob { lpn, stream: 0, sequence: c.fills + c.host_writes + c.copies, time: 0, note: 0 }
    }

    fn check_range(&self, lpn: Lpn) -> Result<(), FtlError> {
        if lpn.index() < self.mapped.len() { Ok(()) } else { Err(FtlError::OutOfRange(lpn)) }
    }

    fn put(&mut self, lpn: Lpn) -> Result<(), FtlError> {
        let (block, page) = self.place(lpn);
        if self.programmed[lpn.index()] {
            self.rewrite(block)?;
        } else {
            match self.chip.program(self.ppn(block, page), self.oob(lpn), &[]) {
                Ok(()) => self.programmed[lpn.index()] = true,
                // Pages before it are blank, and the chip wants them first.
                Err(FlashError::OutOfOrder(_)) => self.rewrite(block)?,
                Err(e) => return Err(e.into()),
            }
        }
        if !core::mem::replace(&mut self.mapped[lpn.index()], true) {
            self.valid[block.index()] += 1;
        }
        Ok(())
    }

    /// Erases a block and writes all of it back.
    fn rewrite(&mut self, block: BlockId) -> Result<(), FtlError> {
        match self.chip.erase(block) {
            Ok(()) => {}
            Err(FlashError::WornOut(_)) => {
                self.counters.retired += 1;
                return Err(FtlError::NoSpace);
            }
            // It wore out before; what it holds can still be read.
            Err(FlashError::BadBlock(_)) => return Err(FtlError::NoSpace),
            Err(e) => return Err(e.into()),
        }
        self.counters.erases += 1;
        let first = block.0 * self.pages;
        for page in 0..self.pages {
            let lpn = Lpn(first + page);
            self.chip.program(self.ppn(block, page), self.oob(lpn), &[])?;
            self.programmed[lpn.index()] = true;
        }
        self.counters.copies += u64::from(self.pages) - 1;
        self.counters.cleaning_runs += 1;
        self.counters.victims += 1;
        self.counters.victims_valid += u64::from(self.valid[block.index()]);
        Ok(())
    }
}

impl<C: Condition> PageIo for InPlace<C> {
    fn logical_pages(&self) -> u32 {
        self.mapped.len() as u32
    }

    fn fill(&mut self, lpn: Lpn, _read_only: bool, _now: u64) -> Result<(), FtlError> {
        self.check_range(lpn)?;
        self.counters.fills += 1;
        self.put(lpn)
    }

    fn write(&mut self, lpn: Lpn, _data: &[u8], _now: u64) -> Result<(), FtlError> {
        self.check_range(lpn)?;
        self.counters.host_writes += 1;
        self.put(lpn)
    }

    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        if !self.mapped[lpn.index()] {
            into.fill(0);
            return Ok(false);
        }
        let (block, page) = self.place(lpn);
        self.chip.read(self.ppn(block, page), into)?;
        self.counters.host_reads += 1;
        Ok(true)
    }

    fn trim(&mut self, lpn: Lpn, _now: u64) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        if !core::mem::replace(&mut self.mapped[lpn.index()], false) {
            return Ok(false);
        }
        let (block, _) = self.place(lpn);
        self.valid[block.index()] -= 1;
        self.counters.trims += 1;
        Ok(true)
    }
}

impl<C: Condition> Upkeep for InPlace<C> {}

impl<C: Condition> Inspect for InPlace<C> {
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        match self.mapped.get(lpn.index()) {
            Some(true) => {
                let (block, page) = self.place(lpn);
                self.ppn(block, page)
            }
            _ => Ppn::NONE,
        }
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.chip.erase_count(block)
    }

    fn valid_pages(&self, block: BlockId) -> u32 {
        self.valid[block.index()]
    }

    fn check(&self) -> Result<(), String> {
        let mut valid = vec![0; self.valid.len()];
        for (lpn, _) in (0..).map(Lpn).zip(&self.mapped).filter(|(_, mapped)| **mapped) {
            valid[self.place(lpn).0.index()] += 1;
            if !self.programmed[lpn.index()] {
                return Err(format!("{lpn:?} is mapped to a page that was not programmed"));
            }
        }
        if valid == self.valid { Ok(()) } else { Err("valid counts differ from a recount".into()) }
    }
}

impl<C: Condition> Layer for InPlace<C> {
    type Chip = C;

    fn chip(&self) -> &C {
        &self.chip
    }

    fn chip_mut(&mut self) -> &mut C {
        &mut self.chip
    }

    fn upkeep(&mut self) -> &mut dyn Upkeep {
        self
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}
