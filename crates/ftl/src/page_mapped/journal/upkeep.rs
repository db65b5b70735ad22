//! The journal at work: trims, the record that the layer is in use, steps of the checkpoint, syncs.
//!
//! What always holds:
//! * a block is erased only after the log has recorded every trim before it, so an older copy of a
//!   trimmed page never comes back by the erase;
//! * while the log ends with the record that all is written (`is_clean`), nothing is changed but one page,
//!   which shows itself beside its predecessor;
//! * a free block is opened only while as many free blocks as the reserve has are ones whose erase is
//!   durable.

use alloc::{boxed::Box, vec::Vec};

use thermocline_flash::{BlockId, Chip, Geometry, Lpn, Oob};

use super::{checkpoint, log::Log, survey::Surveys, trims::PendingTrims, writer::Writer};
use crate::{
    FtlError,
    page_mapped::{
        banks::Banks,
        index::{
            record::{BlockEntry, Complete, Header, Kind, most_erased},
            size::checkpoint_pages,
            summary::Summary,
        },
        parts::Parts,
    },
};

/// A device writes its checkpoint this many times while it opens all its blocks once.
const CHECKPOINTS: u64 = 8;
/// Pages of a checkpoint written with each page of trims, so that trims alone never fill the log.
const WITH_TRIMS: u32 = 2;

/// What a layer keeps to write the index log.
pub(in crate::page_mapped) struct Journal {
    writer: Writer,
    trims: PendingTrims,
    surveys: Surveys,
    /// Whether the log ends with the record that all is written.
    is_clean: bool,
    /// Whether the tables were made from the pages alone: the checkpoint that there is may be wrong.
    is_rebuilt: bool,
    /// Whether checkpoints wait: a page of the host is between two attempts to program it, and a
    /// checkpoint would miss the first.
    is_paused: bool,
    /// Blocks of each bank's free list, its first ones, whose erase is durable.
    durable_free: Vec<usize>,
    /// Pages of checkpoints owed, in parts of a data block.
    owed: u64,
}

impl Journal {
    /// Of a chip that is being formatted, all blocks of whose log are erased.
    pub(in crate::page_mapped) fn formatted(
        summary: Summary,
        log: Log,
        geometry: &Geometry,
    ) -> Box<Self> {
        Self::new(Writer::new(summary, log, Complete::NONE, 0), geometry)
    }

    /// Of a chip that is being mounted, with its newest complete checkpoint and the number of the last
    /// one begun.
    pub(in crate::page_mapped) fn mounted(
        summary: Summary,
        log: Log,
        geometry: &Geometry,
        (complete, numbered): (Complete, u32),
        (is_clean, is_rebuilt): (bool, bool),
        base: u64,
    ) -> Box<Self> {
        let writer = Writer::new(summary, log, complete, numbered);
        let mut journal = Self::new(writer, geometry);
        (journal.is_clean, journal.is_rebuilt) = (is_clean, is_rebuilt);
        journal.surveys.set_base(base);
        journal
    }

    fn new(writer: Writer, geometry: &Geometry) -> Box<Self> {
        Box::new(Self {
            writer,
            trims: PendingTrims::new(geometry.page_size),
            surveys: Surveys::new(geometry.data_blocks()),
            is_clean: false,
            is_rebuilt: false,
            is_paused: false,
            durable_free: Vec::new(),
            owed: 0,
        })
    }

    /// Bytes of it.
    pub(in crate::page_mapped) const fn memory(&self) -> usize {
        size_of::<Self>() + self.surveys.memory() + self.trims.memory() + self.writer.memory()
    }

    /// Whether the log ends with the record that all is written: the next change has to be recorded.
    pub(in crate::page_mapped) const fn is_clean(&self) -> bool {
        self.is_clean
    }

    /// A mount knows what the areas of a block say.
    pub(in crate::page_mapped) fn found(
        &mut self,
        block: BlockId,
        entry: BlockEntry,
        is_full: bool,
    ) {
        self.surveys.found(block, entry, is_full);
    }

    /// Whether the out-of-band area of a page names that logical page, and was programmed after the last
    /// erase of its block.
    #[inline]
    pub(in crate::page_mapped) fn may_hold(&self, block: BlockId, lpn: Lpn, oob: &Oob) -> bool {
        self.surveys.may_hold(block, lpn, oob)
    }

    /// Whether a block was there at the mount and this is the first question.
    pub(in crate::page_mapped) fn look_once(&mut self, block: BlockId) -> bool {
        self.surveys.look_once(block)
    }

    /// A mount has found the free blocks: every erase is durable.
    pub(in crate::page_mapped) fn free_is_durable(&mut self, banks: &Banks) {
        self.durable_free = banks.iter().map(|bank| bank.free_blocks()).collect();
    }

    /// Whether checkpoints have to wait.
    pub(in crate::page_mapped) const fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Begins the first block of the log.
    pub(in crate::page_mapped) fn begin<C: Chip>(
        &mut self,
        parts: &mut Parts<C>,
    ) -> Result<(), FtlError> {
        self.writer.begin_block(parts)
    }

    /// A page holds no data any more: the log has to record that before a sync, or an erase.
    #[cold]
    pub(in crate::page_mapped) fn trimmed<C: Chip>(
        &mut self,
        parts: &mut Parts<C>,
        lpn: Lpn,
        now: u64,
    ) -> Result<(), FtlError> {
        self.writer.set_time(now);
        // It holds no data any more, whatever fails now: what could not be written waits.
        if !self.trims.is_full_for(lpn) {
            self.trims.add(lpn);
            return self.record_use(parts);
        }
        let written = self.record_use(parts).and_then(|()| self.write_trims(parts));
        self.trims.add(lpn);
        written
    }

    /// A page was dropped where no error can be returned: the runs get longer, until the erase that is
    /// about to come writes them.
    #[cold]
    pub(in crate::page_mapped) fn dropped(&mut self, lpn: Lpn) {
        self.trims.add(lpn);
    }

    /// Writes the trims that the log has no record of, and as much of a checkpoint as is due for that.
    fn write_trims<C: Chip>(&mut self, parts: &mut Parts<C>) -> Result<(), FtlError> {
        let before = self.writer.log().programs();
        self.trims.write(&mut self.writer, parts)?;
        for _ in before..self.writer.log().programs() {
            self.keep_room(parts)?;
            for _ in 0..WITH_TRIMS {
                self.checkpoint_step(parts)?;
            }
        }
        Ok(())
    }

    fn checkpoint_step<C: Chip>(&mut self, parts: &mut Parts<C>) -> Result<(), FtlError> {
        if self.is_paused {
            return Ok(());
        }
        checkpoint::step(&mut self.writer, &mut self.trims, &mut self.surveys, parts)
    }

    fn keep_room<C: Chip>(&mut self, parts: &mut Parts<C>) -> Result<(), FtlError> {
        checkpoint::keep_room(&mut self.writer, &mut self.trims, &mut self.surveys, parts)
    }

    /// Before anything is changed after a clean mount, the log records that the layer is in use. That is
    /// durable before the second change is, and the first shows itself beside its page.
    fn record_use<C: Chip>(&mut self, parts: &mut Parts<C>) -> Result<(), FtlError> {
        if !self.is_clean {
            return Ok(());
        }
        self.writer.append(parts, Kind::InUse, |parts, page| {
            let header = Header::plain(Kind::InUse, parts.durability.programs());
            page.in_use(&header, parts.durability.known_before());
        })?;
        parts.chip.sync()?;
        self.is_clean = false;
        Ok(())
    }

    /// Something is about to be changed, or one page was.
    #[cold]
    pub(in crate::page_mapped) fn before_change<C: Chip>(
        &mut self,
        parts: &mut Parts<C>,
        now: u64,
    ) -> Result<(), FtlError> {
        self.writer.set_time(now);
        self.record_use(parts)
    }

    /// A block of data is about to be opened for the host: as much of the checkpoint is written as is
    /// due for each.
    #[cold]
    pub(in crate::page_mapped) fn keep_pace<C: Chip>(
        &mut self,
        parts: &mut Parts<C>,
        now: u64,
    ) -> Result<(), FtlError> {
        self.before_change(parts, now)?;
        let geometry = *parts.chip.geometry();
        let pages = checkpoint_pages(&geometry, parts.config.logical_pages);
        self.owed += CHECKPOINTS * u64::from(pages);
        while self.owed >= u64::from(geometry.blocks()) {
            self.owed -= u64::from(geometry.blocks());
            self.keep_room(parts)?;
            self.checkpoint_step(parts)?;
        }
        Ok(())
    }

    /// A free block is about to be opened. Erases that are not durable yet could all be undone by a loss of
    /// power while the blocks opened since are full: nothing could be cleaned then.
    #[cold]
    pub(in crate::page_mapped) fn before_open<C: Chip>(
        &mut self,
        parts: &mut Parts<C>,
        bank: usize,
    ) -> Result<(), FtlError> {
        let durable = self.durable_free.get(bank).copied().unwrap_or(0);
        let needs_more = durable <= parts.banks.reserve();
        if needs_more && parts.banks[bank].free_blocks() > durable {
            parts.chip.sync()?;
            parts.durability.synced(parts.durability.programs());
            self.free_is_durable(&parts.banks);
        }
        if let Some(durable) = self.durable_free.get_mut(bank) {
            *durable = durable.saturating_sub(1);
        }
        Ok(())
    }

    /// A block of data is about to be erased: older copies of trimmed pages must not come back by that,
    /// and what a mount learned from pages must not be lost.
    #[cold]
    pub(in crate::page_mapped) fn before_erase<C: Chip>(
        &mut self,
        parts: &mut Parts<C>,
        block: BlockId,
    ) -> Result<(), FtlError> {
        self.record_use(parts)?;
        if parts.durability.is_unrecorded() {
            self.record_watermark(parts)?;
        }
        self.write_trims(parts)?;
        self.tell_erased(parts, block)?;
        self.surveys.erased(block, parts.durability.programs());
        Ok(())
    }

    /// Records the numbers of a block's pages before they are erased: a mount that does not find them knows
    /// then that nothing is missing. The checkpoint has those of blocks that were full when it was begun.
    fn tell_erased<C: Chip>(
        &mut self,
        parts: &mut Parts<C>,
        block: BlockId,
    ) -> Result<(), FtlError> {
        self.surveys.completed(self.writer.complete());
        let numbers = self.surveys.numbers_to_tell(&mut parts.chip, block)?;
        for numbers in numbers.chunks(most_erased(parts.chip.geometry().page_size)) {
            self.writer.append(parts, Kind::Erased, |parts, page| {
                page.erased(&Header::plain(Kind::Erased, parts.durability.programs()), numbers);
            })?;
            self.keep_room(parts)?;
            self.checkpoint_step(parts)?;
        }
        Ok(())
    }

    /// Records the watermark in the log, where nothing was programmed since the last sync that could
    /// carry it. False if there is nothing to record, or something was recorded a moment ago.
    pub(in crate::page_mapped) fn record_watermark_if_due<C: Chip>(
        &mut self,
        parts: &mut Parts<C>,
        now: u64,
    ) -> Result<bool, FtlError> {
        let is_due = parts.durability.is_record_due(now);
        if !is_due || self.is_clean || parts.failures.is_read_only() {
            return Ok(false);
        }
        self.writer.set_time(now);
        self.keep_room(parts)?;
        self.record_watermark(parts)?;
        parts.durability.recorded_at(now);
        Ok(true)
    }

    fn record_watermark<C: Chip>(&mut self, parts: &mut Parts<C>) -> Result<(), FtlError> {
        if parts.durability.is_suppressed() {
            // What was programmed before a failure is among what is known, and may not be durable yet.
            parts.chip.sync()?;
        }
        self.writer.append(parts, Kind::InUse, |parts, page| {
            let header = Header::plain(Kind::InUse, parts.durability.programs());
            page.in_use(&header, &parts.durability.known());
        })?;
        parts.durability.watermark_recorded();
        Ok(())
    }

    /// What [`settle`](crate::Upkeep::settle) does.
    pub(in crate::page_mapped) fn settle<C: Chip>(
        &mut self,
        parts: &mut Parts<C>,
        now: u64,
    ) -> Result<(), FtlError> {
        self.writer.set_time(now);
        if !self.trims.is_empty() {
            self.record_use(parts)?;
        }
        self.write_trims(parts)
    }

    /// What [`unmount`](crate::Upkeep::unmount) does: a checkpoint of how things are now, all of it synced,
    /// and then the record that nothing was changed after it.
    pub(in crate::page_mapped) fn close<C: Chip>(
        &mut self,
        parts: &mut Parts<C>,
        now: u64,
    ) -> Result<(), FtlError> {
        if self.is_rebuilt {
            self.before_change(parts, now)?;
        }
        if self.is_clean {
            return Ok(());
        }
        self.writer.set_time(now);
        self.write_trims(parts)?;
        self.writer.drop_checkpoint();
        let (writer, trims, surveys) = (&mut self.writer, &mut self.trims, &mut self.surveys);
        let written = checkpoint::write_whole(writer, trims, surveys, parts, true)?;
        parts.chip.sync()?;
        self.writer.append(parts, Kind::Clean, |parts, page| {
            let (sequence, checkpoint) = (parts.durability.programs(), written.checkpoint);
            let header = Header { checkpoint, ..Header::plain(Kind::Clean, sequence) };
            page.clean(&header, &written, &parts.durability.known_now());
        })?;
        (self.is_clean, self.is_rebuilt) = (true, false);
        Ok(())
    }
}
