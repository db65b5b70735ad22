//! Formatting and mounting: updates in place in the [format](crate::index) of the page-mapped layer.
//!
//! Every page has a fixed place, so the areas only show which pages are there. After a clean unmount the
//! checkpoint is enough; otherwise all areas are read. A page of a recorded rewrite that is not found is lost:
//! power failed between the erase and its program, or the page was damaged since.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Lpn, Ppn, Retrying};

use super::{InPlace, notes};
use crate::{
    Format, Mount, MountError, Recovery,
    journal::{
        Journal, LOST,
        durability::Durability,
        index::{
            record::Record,
            summary::{IN_PLACE, Summary},
        },
        watermark::program_number,
    },
    page_mapped::{
        format::erase_all,
        mount::{FoundLog, GoingOn, Pages, check_summary, summary_of},
    },
};

impl<C: Condition> InPlace<C> {
    /// Erases all blocks that are not blank, writes the summary, and mounts the empty device. The caller
    /// syncs the chip if the result must last.
    ///
    /// # Errors
    /// [`MountError`], also where one of the blocks that the pages need is bad.
    pub fn format(mut chip: C, logical_pages: u32, format: Format) -> Result<Self, MountError> {
        let geometry = *chip.geometry();
        let log = erase_all(&mut chip, logical_pages)?;
        let Format { created, id } = format;
        let summary = Summary::of(&geometry, IN_PLACE, logical_pages, created, id);
        let mut layer = Self::new(chip, logical_pages)
            .map_err(|_| MountError::no_space(&geometry, logical_pages))?;
        layer.durability = Durability::formatted();
        layer.lost = vec![false; logical_pages as usize];
        layer.journal = Some(Journal::formatted(summary, log, &geometry));
        layer.with_journal(|journal, layer| journal.begin(layer))?;
        Ok(layer)
    }

    /// Mounts a formatted chip. Only reads; the first change writes that the chip is in use.
    ///
    /// # Errors
    /// [`MountError`].
    pub fn mount(
        mut chip: C,
        logical_pages: u32,
        how: Mount,
    ) -> Result<(Self, Recovery), MountError> {
        let summary = summary_of(&mut chip)?;
        Self::mount_as(chip, logical_pages, summary, how)
    }

    /// Mounts a chip without a readable head of the index log, from its pages alone. The next unmount
    /// writes heads again. Trims and rewrites recorded in a lost part of the log are forgotten.
    ///
    /// # Errors
    /// [`MountError`].
    pub fn salvage(
        chip: C,
        logical_pages: u32,
        Format { id, created }: Format,
    ) -> Result<(Self, Recovery), MountError> {
        let summary = Summary::of(chip.geometry(), IN_PLACE, logical_pages, created, id);
        Self::mount_as(chip, logical_pages, summary, Mount::Repair)
    }

    fn mount_as(
        chip: C,
        logical_pages: u32,
        summary: Summary,
        how: Mount,
    ) -> Result<(Self, Recovery), MountError> {
        let geometry = *chip.geometry();
        check_summary(&summary, &geometry, IN_PLACE, logical_pages)?;
        let mut layer = Self::empty(Retrying::new(chip), logical_pages);
        if layer.needed_blocks() > geometry.data_blocks() {
            return Err(MountError::no_space(&geometry, logical_pages));
        }
        layer.lost = vec![false; logical_pages as usize];
        let mut found = FoundLog::find(&mut layer.chip, &summary)?;
        let mut recovery = Recovery::default();
        if how == Mount::Quick && found.clean.is_some() {
            let pages = Pages::find(&mut layer.chip, &mut found, how, &[], &mut recovery)?;
            if found.clean.is_some() && recovery.used_checkpoint {
                return layer.made_of(found, pages, &[], summary, recovery, how);
            }
            // Something was written after the end.
            (found, recovery) = (FoundLog::find(&mut layer.chip, &summary)?, Recovery::default());
        }
        let how = if how == Mount::Quick { Mount::FromPages } else { how };
        let rewritten = layer.rewritten(&mut found)?;
        let pages = Pages::find(&mut layer.chip, &mut found, how, &[], &mut recovery)?;
        layer.made_of(found, pages, &rewritten, summary, recovery, how)
    }

    /// Logical pages that held data when their block was rewritten, as the log says, and since then too.
    fn rewritten(&mut self, found: &mut FoundLog) -> Result<Vec<bool>, FlashError> {
        let mut rewritten = vec![false; self.mapped.len()];
        found.for_each(&mut self.chip, |_, _, _, record| {
            let (runs, to) = match &record {
                Record::Rewritten(runs) => (runs, true),
                Record::Trims(runs) => (runs, false),
                _ => return Ok(()),
            };
            for &(first, count) in runs {
                let pages = rewritten.iter_mut().skip(first as usize);
                pages.take(count as usize).for_each(|page| *page = to);
            }
            Ok(())
        })?;
        Ok(rewritten)
    }

    /// Builds the layer from what was found.
    fn made_of(
        mut self,
        found: FoundLog,
        mut pages: Pages,
        rewritten: &[bool],
        summary: Summary,
        mut recovery: Recovery,
        how: Mount,
    ) -> Result<(Self, Recovery), MountError> {
        let is_clean = found.clean.is_some();
        let bad: Vec<BlockId> =
            (0..self.needed_blocks()).map(BlockId).filter(|&b| self.chip.is_bad(b)).collect();
        for &block in &bad {
            self.read_bad(block, &found, &mut pages)?;
        }
        for lpn in (0..self.mapped.len() as u32).map(Lpn) {
            self.take(lpn, &found, &pages, rewritten, &recovery)?;
        }
        let GoingOn { durability, mut journal, is_exhausted } =
            GoingOn::after(&self.chip, found, &pages, summary, how, &mut recovery)?;
        (self.durability, self.log_is_exhausted) = (durability, is_exhausted);
        for (block, entry) in (0..self.needed_blocks()).map(BlockId).zip(&pages.blocks) {
            recovery.newest_time = recovery.newest_time.max(entry.newest_time);
            if entry.programmed == 0 {
                continue;
            }
            journal.found(block, *entry, entry.programmed == self.pages);
            // After a crash a block is not programmed on: it is rewritten.
            let end = if is_clean { entry.programmed } else { self.pages };
            let first = (block.0 * self.pages) as usize;
            self.programmed[first..first + end as usize].fill(true);
        }
        let lost = (0..).map(Lpn).zip(&self.lost).filter(|(_, lost)| **lost);
        recovery.lost = lost.map(|(lpn, _)| lpn).collect();
        recovery.rolled_back.retain(|lpn| !self.lost[lpn.index()]);
        recovery.pages_found = self.mapped.iter().filter(|mapped| **mapped).count() as u32;
        self.needs_attention = journal.says_clean();
        self.journal = Some(journal);
        if is_exhausted || !bad.is_empty() {
            self.stop();
        }
        Ok((self, recovery))
    }

    /// A page is where it has to be, or it is lost, or it holds nothing.
    fn take(
        &mut self,
        lpn: Lpn,
        found: &FoundLog,
        pages: &Pages,
        rewritten: &[bool],
        recovery: &Recovery,
    ) -> Result<(), FlashError> {
        let (block, page) = self.place(lpn);
        let (at, there) = (self.ppn(block, page), pages.map[lpn.index()]);
        if there == at && pages.notes[lpn.index()] == notes::DATA {
            self.mapped[lpn.index()] = true;
            self.programmed[lpn.index()] = true;
            self.valid[block.index()] += 1;
            return Ok(());
        }
        self.lost[lpn.index()] = match there {
            Ppn::NONE if rewritten.get(lpn.index()) == Some(&true) => {
                recovery.rolled_back.contains(&lpn) || !self.is_there(lpn, at, found)?
            }
            Ppn::NONE => false,
            LOST => true,
            _ => there != at || pages.notes[lpn.index()] == notes::LOST,
        };
        Ok(())
    }

    /// Whether a page, which holds no data, was written back with its block.
    fn is_there(&mut self, lpn: Lpn, at: Ppn, found: &FoundLog) -> Result<bool, FlashError> {
        match self.chip.read_oob(at) {
            Ok(Some(oob)) => Ok(oob.lpn == lpn && !found.has_failed(program_number(oob.sequence))),
            Ok(None) | Err(FlashError::Unreadable(_)) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// A mount skips bad blocks; one whose erase failed still holds its data.
    fn read_bad(
        &mut self,
        block: BlockId,
        found: &FoundLog,
        pages: &mut Pages,
    ) -> Result<(), FlashError> {
        for lpn in (block.0 * self.pages..).map(Lpn).take(self.pages_of(block) as usize) {
            let at = self.ppn(block, self.place(lpn).1);
            match self.chip.read_oob(at) {
                Ok(Some(oob)) => pages.take_from_bad(found, at, oob),
                Ok(None) | Err(FlashError::Unreadable(_)) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}
