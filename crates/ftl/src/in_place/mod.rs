//! Updates in place: what flash is like without a translation layer (CAT paper, Figure 1).
//!
//! Logical page `l` lives in page `l mod B` of block `l div B`. A page that was programmed since its
//! block was erased cannot be programmed again, so an update reads the block into a buffer, erases
//! it and writes all of it back. As in the papers' times, reading into the buffer is not charged.
//!
//! A chip that keeps data gets no better treatment, since this is the baseline: **a loss of power between
//! the erase and the last page written back loses the rest of the block**, flushed pages too. Three rules
//! make such a page an error after the next mount, never zeros or older data:
//! * before the erase the [index log](crate::index) records which logical pages are rewritten (`rewrite`);
//! * a page that holds no data is written back with a note that says so, and so is a lost one ([`notes`]);
//! * a page of a recorded rewrite that is not there at the mount is lost (`mount`).
//!
//! There are no spare blocks: once a block fails, the store is read-only.

use alloc::{boxed::Box, vec, vec::Vec};

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Lpn, Oob, Ppn, Retrying};

use crate::{
    Counters, FtlError,
    journal::{Journal, durability::Durability},
};

mod journaled;
mod layer;
mod mount;
mod rewrite;

/// The note in a page's out-of-band area.
mod notes {
    /// It holds data.
    pub(super) const DATA: u16 = 0;
    /// It holds none: it was written back with its block.
    pub(super) const ABSENT: u16 = 1;
    /// Its data were lost before it was written back.
    pub(super) const LOST: u16 = 2;
}

/// The in-place baseline.
pub struct InPlace<C> {
    chip: Retrying<C>,
    mapped: Vec<bool>,
    /// Pages programmed since the erase of their block, by logical page.
    programmed: Vec<bool>,
    valid: Vec<u32>,
    counters: Counters,
    pages: u32,
    /// The numbers of programs.
    durability: Durability,
    /// Writes the index log, where the chip keeps data.
    journal: Option<Box<Journal>>,
    /// Lost logical pages, where the chip keeps data: reading one is an error.
    lost: Vec<bool>,
    /// The content of the block that is rewritten, where the chip keeps data.
    buffer: Vec<u8>,
    /// A rewriting that the system below interrupted.
    rewriting: Option<Rewriting>,
    /// The chip takes no more writes.
    is_read_only: bool,
    /// No block is left for the index log.
    log_is_exhausted: bool,
    /// Whether the next write has something to do first: see `attend`.
    needs_attention: bool,
    /// The clock at the last operation.
    now: u64,
}

/// A block that was erased and is being written back.
#[derive(Clone, Copy, Debug)]
struct Rewriting {
    block: BlockId,
    /// The first page that is not written back.
    next: u32,
    /// The program of a page failed.
    has_failed: bool,
}

impl<C: Condition> InPlace<C> {
    /// A layer over an erased chip.
    ///
    /// # Errors
    /// [`FtlError::NoSpace`] if the chip has fewer data pages, or a bad block among those needed.
    pub fn new(chip: C, logical_pages: u32) -> Result<Self, FtlError> {
        let layer = Self::empty(Retrying::new(chip), logical_pages);
        let needed = layer.needed_blocks();
        if needed > layer.chip.geometry().data_blocks()
            || (0..needed).any(|b| layer.chip.is_bad(BlockId(b)))
        {
            return Err(FtlError::NoSpace);
        }
        Ok(layer)
    }

    fn empty(chip: Retrying<C>, logical_pages: u32) -> Self {
        let geometry = chip.geometry();
        let pages = geometry.data_pages_per_block();
        let needed = logical_pages.div_ceil(pages);
        Self {
            mapped: vec![false; logical_pages as usize],
            programmed: vec![false; needed as usize * pages as usize],
            valid: vec![0; geometry.blocks() as usize],
            counters: Counters::default(),
            pages,
            durability: Durability::default(),
            journal: None,
            lost: Vec::new(),
            buffer: Vec::new(),
            rewriting: None,
            is_read_only: false,
            log_is_exhausted: false,
            needs_attention: false,
            now: 0,
            chip,
        }
    }

    const fn needed_blocks(&self) -> u32 {
        self.programmed.len() as u32 / self.pages
    }

    fn place(&self, lpn: Lpn) -> (BlockId, u32) {
        (BlockId(lpn.0 / self.pages), lpn.0 % self.pages)
    }

    fn ppn(&self, block: BlockId, page: u32) -> Ppn {
        let geometry = self.chip.geometry();
        geometry.ppn(block, geometry.header_pages + page)
    }

    fn oob(&mut self, lpn: Lpn, note: u16) -> Oob {
        Oob { lpn, stream: 0, sequence: self.durability.next(), time: self.now, note }
    }

    fn check_range(&self, lpn: Lpn) -> Result<(), FtlError> {
        if lpn.index() < self.mapped.len() { Ok(()) } else { Err(FtlError::OutOfRange(lpn)) }
    }

    fn put(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        self.now = now;
        let (block, page) = self.place(lpn);
        // Where pages before it are blank, the chip may want them first.
        let follows = page == 0 || !self.chip.in_order() || self.programmed[lpn.index() - 1];
        if self.programmed[lpn.index()] || !follows {
            match self.journal {
                Some(_) => self.rewrite_kept(lpn, data)?,
                None => self.rewrite(block)?,
            }
        } else {
            self.program_first(lpn, data)?;
        }
        if !core::mem::replace(&mut self.mapped[lpn.index()], true) {
            self.valid[block.index()] += 1;
        }
        Ok(())
    }

    /// Programs a page of which nothing was programmed since the erase of its block.
    fn program_first(&mut self, lpn: Lpn, data: &[u8]) -> Result<(), FtlError> {
        let (block, page) = self.place(lpn);
        if page == 0 && self.journal.is_some() {
            self.keep_pace()?;
        }
        let (to, oob) = (self.ppn(block, page), self.oob(lpn, notes::DATA));
        match self.chip.program(to, oob, data) {
            Ok(()) => {}
            Err(failed) if self.journal.is_some() => {
                return self.not_programmed(lpn, data, failed);
            }
            Err(failed) => return Err(failed.into()),
        }
        self.programmed[lpn.index()] = true;
        if let Some(lost) = self.lost.get_mut(lpn.index()) {
            *lost = false;
        }
        Ok(())
    }

    /// Erases a block and writes all of it back, on a chip that keeps no data.
    fn rewrite(&mut self, block: BlockId) -> Result<(), FtlError> {
        match self.chip.erase(block) {
            Ok(()) => {}
            Err(FlashError::WornOut(_)) => {
                self.counters.retired += 1;
                return Err(FtlError::NoSpace);
            }
            // Worn out earlier; its data can still be read.
            Err(FlashError::BadBlock(_)) => return Err(FtlError::NoSpace),
            Err(e) => return Err(e.into()),
        }
        let first = block.0 * self.pages;
        for page in 0..self.pages {
            let lpn = Lpn(first + page);
            let (to, oob) = (self.ppn(block, page), self.oob(lpn, notes::DATA));
            self.chip.program(to, oob, &[])?;
            self.programmed[lpn.index()] = true;
        }
        self.count_rewrite(block, self.pages);
        Ok(())
    }

    /// Counts an erase and the `pages` written back.
    fn count_rewrite(&mut self, block: BlockId, pages: u32) {
        self.counters.erases += 1;
        self.counters.copies += u64::from(pages) - 1;
        self.counters.cleaning_runs += 1;
        self.counters.victims += 1;
        self.counters.victims_valid += u64::from(self.valid[block.index()]);
    }
}
