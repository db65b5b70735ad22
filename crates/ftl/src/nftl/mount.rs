//! Formatting and mounting: NFTL in the [format](crate::index) of the page-mapped layer.
//!
//! Pages, areas and the index log are as there, so the same code finds lost, rolled-back and missing
//! pages. In an area `stream` has the block's role and the origin of the page, and `note` the number of
//! pages of its fold or move that follow ([`roles`](super::roles)). Only the assignment of blocks to
//! virtual blocks is NFTL's own: it follows from the areas (see `generations`). After a clean unmount the
//! mount takes the checkpoint and reads one area of each block; otherwise it reads all areas twice.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Lpn, Retrying};

use super::{
    Config, Nftl, RESERVE,
    generations::{Seen, Sorted, sort_blocks},
    heaps::NOBODY,
    pairs::Pair,
};
use crate::{
    Format, Mount, MountError, Recovery,
    journal::{
        Journal, LOST,
        durability::Durability,
        index::summary::{NFTL, Summary},
        watermark::EPOCH,
    },
    page_mapped::{
        format::erase_all,
        mount::{FoundLog, GoingOn, Pages, check_summary, summary_of},
    },
};

impl<C: Condition> Nftl<C> {
    /// Erases all blocks that are neither blank nor bad, writes the summary, and mounts the empty
    /// device. The caller syncs the chip if the result must last.
    ///
    /// # Errors
    /// [`MountError`].
    pub fn format(mut chip: C, config: Config, format: Format) -> Result<Self, MountError> {
        let (geometry, logical_pages) = (*chip.geometry(), config.logical_pages);
        let log = erase_all(&mut chip, logical_pages)?;
        let Format { created, id } = format;
        let summary = Summary::of(&geometry, NFTL, logical_pages, created, id);
        let mut layer =
            Self::new(chip, config).map_err(|_| MountError::no_space(&geometry, logical_pages))?;
        layer.durability = Durability::formatted();
        layer.set_journal(Journal::formatted(summary, log, &geometry));
        layer.with_journal(|journal, layer| journal.begin(layer))?;
        Ok(layer)
    }

    /// Mounts a formatted chip. Only reads; the first change writes that the chip is in use.
    ///
    /// # Errors
    /// [`MountError`].
    pub fn mount(mut chip: C, config: Config, how: Mount) -> Result<(Self, Recovery), MountError> {
        let summary = summary_of(&mut chip)?;
        Self::mount_as(chip, config, summary, how)
    }

    /// Mounts a chip without a readable head of the index log, from its pages alone. The next
    /// unmount writes heads again. Trims recorded in a lost part of the log are forgotten.
    ///
    /// # Errors
    /// [`MountError`].
    pub fn salvage(
        chip: C,
        config: Config,
        Format { id, created }: Format,
    ) -> Result<(Self, Recovery), MountError> {
        let summary = Summary::of(chip.geometry(), NFTL, config.logical_pages, created, id);
        Self::mount_as(chip, config, summary, Mount::Repair)
    }

    fn mount_as(
        chip: C,
        config: Config,
        summary: Summary,
        how: Mount,
    ) -> Result<(Self, Recovery), MountError> {
        let geometry = *chip.geometry();
        check_summary(&summary, &geometry, NFTL, config.logical_pages)?;
        let mut layer = Self::empty(Retrying::new(chip), config);
        if layer.pairs.len() as u64 + u64::from(RESERVE) > u64::from(geometry.data_blocks()) {
            return Err(MountError::no_space(&geometry, layer.config.logical_pages));
        }
        let mut found = FoundLog::find(&mut layer.chip, &summary)?;
        let mut recovery = Recovery::default();
        if how == Mount::Quick && found.clean.is_some() {
            let pages = Pages::find(&mut layer.chip, &mut found, how, &[], &mut recovery)?;
            if found.clean.is_some()
                && recovery.used_checkpoint
                && let Some(sorted) = layer.sort_by_table(&found, &pages)?
            {
                return layer.made_of(found, pages, sorted, summary, recovery, how);
            }
            // Something was written after the clean record, or blocks contradict each other.
            (found, recovery) = (FoundLog::find(&mut layer.chip, &summary)?, Recovery::default());
        }
        let how = if how == Mount::Quick { Mount::FromPages } else { how };
        found.for_each(&mut layer.chip, |_, _, _, _| Ok(()))?;
        let (sorted, learned) = layer.sort_by_areas(&mut found)?;
        let mut ignored = vec![false; layer.owner.len()];
        sorted.litter.iter().for_each(|block| ignored[block.index()] = true);
        let mut pages = Pages::find(&mut layer.chip, &mut found, how, &ignored, &mut recovery)?;
        pages.unrecorded |= learned;
        layer.made_of(found, pages, sorted, summary, recovery, how)
    }

    /// Sorts blocks after a clean unmount, by the checkpoint's table and one area each. `None` if a
    /// block shows no role, or two show the same.
    fn sort_by_table(
        &mut self,
        found: &FoundLog,
        pages: &Pages,
    ) -> Result<Option<Sorted>, FlashError> {
        let mut sorted = Sorted::default();
        let mut seen = vec![false; 2 * self.pairs.len()];
        for (block, entry) in (0..).map(BlockId).zip(&pages.blocks) {
            if entry.programmed == 0 || self.chip.is_bad(block) {
                continue;
            }
            let Some(is) = self.survey_block(found, block, &mut false, |_| {})? else {
                return Ok(None);
            };
            let at = 2 * is.virtual_block as usize + usize::from(is.is_replacement);
            if core::mem::replace(&mut seen[at], true) {
                return Ok(None);
            }
            sorted.kept.push(is);
        }
        Ok(Some(sorted))
    }

    /// Sorts blocks by all areas. Also returns whether pages carried watermarks that the log lacks.
    fn sort_by_areas(&mut self, found: &mut FoundLog) -> Result<(Sorted, bool), FlashError> {
        let (mut sorted, mut all) = (Sorted::default(), Vec::new());
        let mut watermarks = Vec::new();
        let mut unreadable = Vec::new();
        for block in (0..self.owner.len() as u32).map(BlockId) {
            if !self.is_usable(block) {
                continue;
            }
            let mut is_programmed = false;
            let note = |sequence| note_watermark(&mut watermarks, sequence);
            match self.survey_block(found, block, &mut is_programmed, note)? {
                Some(seen) => all.push(seen),
                None if is_programmed => unreadable.push(block),
                None => {}
            }
        }
        let learned = found.learn_watermarks(&watermarks);
        all.sort_by_key(|seen| seen.virtual_block);
        for blocks in all.chunk_by(|a, b| a.virtual_block == b.virtual_block) {
            sort_blocks(found, blocks.to_vec(), &mut sorted);
        }
        sorted.litter.extend(unreadable);
        Ok((sorted, learned))
    }

    /// Builds the layer from what was found.
    fn made_of(
        mut self,
        found: FoundLog,
        pages: Pages,
        sorted: Sorted,
        summary: Summary,
        mut recovery: Recovery,
        how: Mount,
    ) -> Result<(Self, Recovery), MountError> {
        let GoingOn { durability, mut journal, is_exhausted } =
            GoingOn::after(&self.chip, found, &pages, summary, how, &mut recovery)?;
        (self.durability, self.log_is_exhausted) = (durability, is_exhausted);
        for (block, entry) in (0..).map(BlockId).zip(&pages.blocks) {
            if entry.programmed > 0 {
                journal.found(block, *entry, entry.programmed == self.pages);
            }
        }
        self.take_blocks(&sorted);
        self.map.clone_from(&pages.map);
        self.check_map(&sorted, &mut recovery);
        recovery.pages_found = self.map.iter().filter(|&&at| Self::is_there(at)).count() as u32;
        self.litter = sorted.litter;
        self.least_free = self.least_free.min(self.free.len() + self.litter.len() as u32);
        self.gave_up = !self.litter.is_empty();
        self.last = pages.last;
        self.needs_attention =
            journal.says_clean() || !self.litter.is_empty() || self.chip.may_fade();
        self.set_journal(journal);
        self.judge();
        if self.log_is_exhausted {
            self.stop();
        }
        Ok((self, recovery))
    }

    /// Blocks that are kept belong to their virtual blocks; others are free, or wait to be erased.
    fn take_blocks(&mut self, sorted: &Sorted) {
        for seen in &sorted.kept {
            self.owner[seen.block.index()] = seen.virtual_block;
            self.take_block(seen);
        }
        for &block in &sorted.litter {
            self.is_in_use(block);
        }
        for block in (0..self.owner.len() as u32).map(BlockId) {
            let is_used = self.owner[block.index()] != NOBODY || sorted.litter.contains(&block);
            if self.is_usable(block) && !is_used {
                self.add_free(block);
            }
        }
    }

    /// Wear levelling learns of a block with data.
    fn is_in_use(&mut self, block: BlockId) {
        if let Some(wear) = &mut self.wear {
            let erases = self.chip.erase_count(block);
            wear.add(block, erases);
            wear.taken(block, erases);
        }
    }

    fn take_block(&mut self, &Seen { block, virtual_block: v, is_replacement, .. }: &Seen) {
        self.is_in_use(block);
        self.change(v, |pair| {
            if is_replacement {
                (pair.replacement, pair.replacement_used) = (block, 1);
            } else {
                (pair.primary, pair.primary_used) = (block, 1);
            }
        });
    }

    /// Entries of the map lead to blocks of their virtual block, or the page is lost.
    fn check_map(&mut self, sorted: &Sorted, recovery: &mut Recovery) {
        let geometry = *self.chip.geometry();
        let (map, pairs) = (&mut self.map, &self.pairs);
        for (lpn, at) in (0..).map(Lpn).zip(&mut *map) {
            let pair = &pairs[(lpn.0 / self.pages) as usize];
            let block = geometry.block_of(*at);
            if at.0 < LOST.0 && block != pair.primary && block != pair.replacement {
                *at = LOST;
                recovery.lost.push(lpn);
            }
        }
        recovery.lost.sort_unstable();
        recovery.lost.dedup();
        for seen in &sorted.kept {
            self.settle_block(seen, recovery);
        }
        for v in 0..self.pairs.len() as u32 {
            let first = (v * self.pages) as usize;
            let entries = &self.map[first..first + self.pages_of(v) as usize];
            let live = entries.iter().filter(|&&at| Self::is_there(at)).count() as u32;
            self.change(v, |pair| pair.live = live);
        }
    }

    /// How far a block is programmed, and where.
    fn settle_block(&mut self, seen: &Seen, recovery: &mut Recovery) {
        let &Seen { block, virtual_block: v, is_replacement, .. } = seen;
        let has_places = !is_replacement && !self.in_order;
        if seen.is_torn && (has_places || !recovery.clean) {
            return self.close_block(v, !is_replacement);
        }
        if has_places {
            let first = v as usize * self.pages as usize;
            for page in 0..self.pages {
                let at = self.ppn(block, page);
                if matches!(self.chip.read_oob(at), Ok(None)) {
                    continue;
                }
                self.programmed.set(first + page as usize);
            }
        }
        // A page that the checkpoint has may have an area that looks blank now: that is damage.
        let mut used = if has_places { 0 } else { seen.end };
        for lpn in v * self.pages..v * self.pages + self.pages_of(v) {
            let at = self.map[lpn as usize];
            if Self::is_there(at) && self.chip.geometry().block_of(at) == block {
                used = used.max(self.chip.geometry().page_of(at) - self.header + 1);
                if has_places {
                    self.programmed.set(lpn as usize);
                }
            }
        }
        if has_places {
            let first = v * self.pages;
            let places = first..first + self.pages;
            used = places.filter(|&at| self.programmed.is_set(at as usize)).count() as u32;
        }
        self.change(v, |pair: &mut Pair| {
            *(if is_replacement { &mut pair.replacement_used } else { &mut pair.primary_used }) =
                used;
        });
    }
}

/// Keeps the watermark that a page carries, if it is the greatest of its epoch.
fn note_watermark(watermarks: &mut Vec<u64>, sequence: u64) {
    use crate::journal::watermark::watermark;
    let Some(durable) = watermark(sequence) else { return };
    match watermarks.iter_mut().find(|greatest| **greatest / EPOCH == durable / EPOCH) {
        Some(greatest) => *greatest = durable.max(*greatest),
        None => watermarks.push(durable),
    }
}
