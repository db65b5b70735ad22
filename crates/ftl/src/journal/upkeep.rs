//! The journal at work: trims, the record that the layer is in use, steps of the checkpoint, syncs.
//!
//! Invariants:
//! * a block is erased only after the log has recorded every trim before it, so an older copy of a
//!   trimmed page never comes back by the erase;
//! * while the log ends with the clean record (`says_clean`), nothing changes but one page, which a mount
//!   finds beside its predecessor.

use alloc::{boxed::Box, vec::Vec};
use core::ops::Range;

use thermocline_flash::{BlockId, Flash, Geometry, Lpn, Oob};

use super::{
    checkpoint, journaled::Journaled, log::Log, survey::Surveys, trims::PendingTrims,
    writer::Writer,
};
use crate::{
    FtlError,
    journal::index::{
        record::{BlockEntry, Complete, Header, Kind, add_to_runs, most_erased, most_runs},
        size::checkpoint_pages,
        summary::Summary,
    },
};

/// A device writes its checkpoint this many times while it opens all its blocks once.
const CHECKPOINTS: u64 = 8;
/// Pages of a checkpoint written with each page of trims, so that trims alone never fill the log.
const WITH_TRIMS: u32 = 2;

/// State for writing the index log.
pub(crate) struct Journal {
    writer: Writer,
    trims: PendingTrims,
    surveys: Surveys,
    /// Whether the log ends with the record that all is written.
    says_clean: bool,
    /// Whether, besides, nothing was changed after that record.
    is_clean: bool,
    /// Whether the tables were made from the pages alone: the checkpoint that there is may be wrong.
    is_rebuilt: bool,
    /// Whether checkpoints wait: a host page is between two attempts to program it, or may fade where it is.
    is_paused: bool,
    /// Pages of checkpoints owed, in parts of a data block.
    owed: u64,
}

impl Journal {
    /// Of a chip that is being formatted, all blocks of whose log are erased.
    pub(crate) fn formatted(summary: Summary, log: Log, geometry: &Geometry) -> Box<Self> {
        Self::new(Writer::new(summary, log, Complete::NONE, 0), geometry)
    }

    /// Of a chip that is being mounted, with its newest complete checkpoint and the number of the last
    /// one begun.
    pub(crate) fn mounted(
        summary: Summary,
        log: Log,
        geometry: &Geometry,
        (complete, numbered): (Complete, u32),
        (says_clean, is_clean): (bool, bool),
        (is_rebuilt, may_fade): (bool, bool),
        base: u64,
    ) -> Box<Self> {
        let writer = Writer::new(summary, log, complete, numbered);
        let mut journal = Self::new(writer, geometry);
        (journal.says_clean, journal.is_clean) = (says_clean, is_clean);
        journal.is_rebuilt = is_rebuilt;
        if may_fade {
            journal.writer.last_may_fade();
        }
        journal.surveys.set_base(base);
        journal
    }

    fn new(writer: Writer, geometry: &Geometry) -> Box<Self> {
        Box::new(Self {
            writer,
            trims: PendingTrims::new(geometry.page_size),
            surveys: Surveys::new(geometry.data_blocks()),
            says_clean: false,
            is_clean: false,
            is_rebuilt: false,
            is_paused: false,
            owed: 0,
        })
    }

    /// Bytes of it.
    pub(crate) const fn memory(&self) -> usize {
        size_of::<Self>() + self.surveys.memory() + self.trims.memory() + self.writer.memory()
    }

    /// Makes the last record from before the mount durable.
    pub(crate) fn secure<L: Journaled + ?Sized>(&mut self, layer: &mut L) -> Result<(), FtlError> {
        if !self.writer.may_last_fade() || self.writer.secure(layer)? {
            return Ok(());
        }
        self.writer.drop_checkpoint();
        self.write_whole(layer)?;
        self.writer.last_is_told();
        self.keep_room(layer)
    }

    /// Whether the log ends with the record that all is written: the next change has to be recorded.
    pub(crate) const fn says_clean(&self) -> bool {
        self.says_clean
    }

    /// Takes the entry of a block whose areas a mount has read.
    pub(crate) fn found(&mut self, block: BlockId, entry: BlockEntry, is_full: bool) {
        self.surveys.found(block, entry, is_full);
    }

    /// Whether the out-of-band area of a page names that logical page, and was programmed after the last
    /// erase of its block.
    #[inline]
    pub(crate) fn may_hold(&self, block: BlockId, lpn: Lpn, oob: &Oob) -> bool {
        self.surveys.may_hold(block, lpn, oob)
    }

    /// Whether a block was there at the mount and this is the first question.
    pub(crate) fn look_once(&mut self, block: BlockId) -> bool {
        self.surveys.look_once(block)
    }

    /// The least number that a program of a block may have, after its last erase.
    pub(crate) fn least(&self, block: BlockId) -> u64 {
        self.surveys.least(block)
    }

    /// Whether no checkpoint may say where pages are.
    pub(crate) const fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Begins the first block of the log.
    pub(crate) fn begin<L: Journaled + ?Sized>(&mut self, layer: &mut L) -> Result<(), FtlError> {
        self.writer.begin_block(layer)
    }

    /// A page holds no data any more: the log has to record that before a sync, or an erase.
    #[cold]
    pub(crate) fn trimmed<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
        lpn: Lpn,
        now: u64,
    ) -> Result<(), FtlError> {
        self.writer.set_time(now);
        // It holds no data any more, whatever fails now: what could not be written waits.
        if !self.trims.is_full_for(lpn) {
            self.trims.add(lpn);
            return self.record_use(layer);
        }
        let written = self.record_use(layer).and_then(|()| self.write_trims(layer));
        self.trims.add(lpn);
        written
    }

    /// A page was dropped where no error can be returned: the runs get longer, until the erase that is
    /// about to come writes them.
    #[cold]
    pub(crate) fn dropped(&mut self, lpn: Lpn) {
        self.trims.add(lpn);
    }

    /// Writes the trims that the log has no record of, and as much of a checkpoint as is due for that.
    fn write_trims<L: Journaled + ?Sized>(&mut self, layer: &mut L) -> Result<(), FtlError> {
        if !self.trims.is_empty() {
            self.keep_room(layer)?;
        }
        let before = self.writer.log().programs();
        self.trims.write(&mut self.writer, layer)?;
        for _ in before..self.writer.log().programs() {
            self.keep_room(layer)?;
            for _ in 0..WITH_TRIMS {
                self.checkpoint_step(layer)?;
            }
        }
        Ok(())
    }

    fn checkpoint_step<L: Journaled + ?Sized>(&mut self, layer: &mut L) -> Result<(), FtlError> {
        if self.is_paused {
            return Ok(());
        }
        checkpoint::step(&mut self.writer, &mut self.trims, &mut self.surveys, layer)
    }

    fn keep_room<L: Journaled + ?Sized>(&mut self, layer: &mut L) -> Result<(), FtlError> {
        let Self { writer, trims, surveys, is_paused, .. } = self;
        checkpoint::keep_room(writer, trims, surveys, layer, !*is_paused)
    }

    fn write_whole<L: Journaled + ?Sized>(&mut self, layer: &mut L) -> Result<Complete, FtlError> {
        let Self { writer, surveys, is_paused, .. } = self;
        checkpoint::write_whole(writer, surveys, layer, !*is_paused)
    }

    /// Before anything is changed after a clean end, the log records that the layer is in use. That is
    /// durable before the second change is, and the first shows itself beside its page. Should power fail before the record
    /// it is made in the next life: that page may be damaged, and no other would be looked for.
    fn record_use<L: Journaled + ?Sized>(&mut self, layer: &mut L) -> Result<(), FtlError> {
        self.secure(layer)?;
        if !self.says_clean {
            return Ok(());
        }
        self.writer.append(layer, Kind::InUse, |layer, page| {
            let header = Header::plain(Kind::InUse, layer.durability().programs());
            page.in_use(&header, layer.durability().known_before());
        })?;
        layer.chip_mut().sync()?;
        (self.says_clean, self.is_clean) = (false, false);
        Ok(())
    }

    /// Something is about to be changed, or one page was.
    #[cold]
    pub(crate) fn before_change<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
        now: u64,
    ) -> Result<(), FtlError> {
        self.writer.set_time(now);
        self.record_use(layer)
    }

    /// A block of data is about to be opened for the host: as much of the checkpoint is written as is
    /// due for each.
    #[cold]
    pub(crate) fn keep_pace<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
        now: u64,
    ) -> Result<(), FtlError> {
        self.before_change(layer, now)?;
        let geometry = *layer.chip().geometry();
        let pages = checkpoint_pages(&geometry, layer.logical_pages());
        self.owed += CHECKPOINTS * u64::from(pages);
        while self.owed >= u64::from(geometry.blocks()) {
            self.owed -= u64::from(geometry.blocks());
            self.keep_room(layer)?;
            self.checkpoint_step(layer)?;
        }
        Ok(())
    }

    /// Called before a data block is erased: the erase must neither bring back older copies of trimmed
    /// pages nor lose what a mount learned from pages.
    #[cold]
    pub(crate) fn before_erase<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
        block: BlockId,
    ) -> Result<(), FtlError> {
        self.record_use(layer)?;
        if layer.durability().is_unrecorded() {
            self.record_watermark(layer)?;
        }
        self.write_trims(layer)?;
        self.tell_erased(layer, block)?;
        self.surveys.erased(block, layer.durability().programs());
        Ok(())
    }

    /// Called before a block is erased and written back with these logical pages, which are nowhere else
    /// meanwhile. The log records which of them hold data, and the watermark: the pages that carry it are
    /// erased.
    #[cold]
    pub(crate) fn before_rewrite<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
        block: BlockId,
        lpns: Range<u32>,
    ) -> Result<(), FtlError> {
        self.record_use(layer)?;
        if layer.durability().is_unrecorded() || layer.durability().is_ahead_of_log() {
            self.record_watermark(layer)?;
        }
        self.write_trims(layer)?;
        self.tell_erased(layer, block)?;
        // Not between the record and the erase: a checkpoint could take the record's place.
        self.keep_room(layer)?;
        let mut runs = Vec::new();
        for lpn in lpns.map(Lpn).filter(|&lpn| !layer.is_absent(lpn)) {
            add_to_runs(&mut runs, lpn);
        }
        for runs in runs.chunks(most_runs(layer.chip().geometry().page_size)) {
            self.writer.append(layer, Kind::Rewritten, |layer, page| {
                page.runs(&Header::plain(Kind::Rewritten, layer.durability().programs()), runs);
            })?;
        }
        self.surveys.erased(block, layer.durability().programs());
        Ok(())
    }

    /// Records the numbers of a block's pages before they are erased: a mount that does not find them knows
    /// then that nothing is missing. The checkpoint has those of blocks that were full when it was begun.
    fn tell_erased<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
        block: BlockId,
    ) -> Result<(), FtlError> {
        self.surveys.completed(self.writer.complete());
        let numbers = self.surveys.numbers_to_tell(layer.chip_mut(), block)?;
        for numbers in numbers.chunks(most_erased(layer.chip().geometry().page_size)) {
            self.keep_room(layer)?;
            self.writer.append(layer, Kind::Erased, |layer, page| {
                page.erased(&Header::plain(Kind::Erased, layer.durability().programs()), numbers);
            })?;
            self.checkpoint_step(layer)?;
        }
        Ok(())
    }

    /// Records the watermark in the log, where nothing was programmed since the last sync that could
    /// carry it. False if there is nothing to record, or something was recorded a moment ago.
    pub(crate) fn record_watermark_if_due<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
        now: u64,
    ) -> Result<bool, FtlError> {
        let is_due = layer.durability().is_record_due(now);
        if !is_due || self.is_clean || layer.is_over() {
            return Ok(false);
        }
        self.before_change(layer, now)?;
        self.keep_room(layer)?;
        self.record_watermark(layer)?;
        layer.durability_mut().recorded_at(now);
        Ok(true)
    }

    fn record_watermark<L: Journaled + ?Sized>(&mut self, layer: &mut L) -> Result<(), FtlError> {
        if layer.durability().is_suppressed() {
            // Programs from before a failure are in the known intervals and may not be durable yet.
            layer.chip_mut().sync()?;
        }
        self.writer.append(layer, Kind::InUse, |layer, page| {
            let header = Header::plain(Kind::InUse, layer.durability().programs());
            page.in_use(&header, &layer.durability().known());
        })?;
        layer.durability_mut().watermark_recorded();
        Ok(())
    }

    /// Makes all that was programmed last, and records that.
    #[cold]
    pub(crate) fn record_sync<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
    ) -> Result<(), FtlError> {
        layer.chip_mut().sync()?;
        let programs = layer.durability().programs();
        layer.durability_mut().synced(programs);
        self.keep_room(layer)?;
        self.record_watermark(layer)
    }

    /// The block of data that cannot be read is about to be erased: a checkpoint has the pages as lost
    /// before, so that no older copy passes for them.
    #[cold]
    pub(crate) fn record_losses<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
    ) -> Result<(), FtlError> {
        self.record_use(layer)?;
        self.writer.drop_checkpoint();
        self.write_whole(layer)?;
        self.keep_room(layer)
    }

    /// See [`settle`](crate::Upkeep::settle).
    pub(crate) fn settle<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
        now: u64,
    ) -> Result<(), FtlError> {
        self.writer.set_time(now);
        if !self.trims.is_empty() {
            self.record_use(layer)?;
        }
        if !self.is_clean {
            self.secure(layer)?;
        }
        self.write_trims(layer)
    }

    /// See [`unmount`](crate::Upkeep::unmount): writes and syncs a checkpoint of the present state, then
    /// the record that nothing changed after it.
    pub(crate) fn close<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
        now: u64,
    ) -> Result<(), FtlError> {
        if self.is_rebuilt {
            self.before_change(layer, now)?;
        }
        if self.is_clean {
            return Ok(());
        }
        self.writer.set_time(now);
        self.secure(layer)?;
        self.write_trims(layer)?;
        self.writer.drop_checkpoint();
        let written = self.write_whole(layer)?;
        layer.chip_mut().sync()?;
        self.writer.append(layer, Kind::Clean, |layer, page| {
            let (sequence, checkpoint) = (layer.durability().programs(), written.checkpoint);
            let header = Header { checkpoint, ..Header::plain(Kind::Clean, sequence) };
            page.clean(&header, &written, &layer.durability().known_now());
        })?;
        (self.says_clean, self.is_clean, self.is_rebuilt) = (true, true, false);
        Ok(())
    }
}
