//! What the layer does for its log while it works: trims, the sign that it is in use, steps of the
//! checkpoint.

use thermocline_flash::{BlockId, Chip, Lpn, Ppn};
use thermocline_policy::placement::Placement;

use super::{
    Index,
    record::{Head, Header, Kind, Page},
    summary,
};
use crate::{FtlError, page_mapped::PageMapped};

/// A device writes its checkpoint this many times while it opens all its blocks once.
const CHECKPOINTS: u64 = 8;
/// Pages of a checkpoint written with each page of trims, so that trims alone never fill the log.
const WITH_TRIMS: u32 = 2;

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Does something with the index, if there is one, and with the rest of the layer.
    pub(in crate::page_mapped) fn with_index(
        &mut self,
        act: impl FnOnce(&mut Self, &mut Index) -> Result<(), FtlError>,
    ) -> Result<(), FtlError> {
        let Some(mut index) = self.index.take() else { return Ok(()) };
        let done = act(self, &mut index);
        self.index = Some(index);
        done
    }

    /// Writes a page to the log; a new block first, if the last one is full.
    pub(in crate::page_mapped) fn log(
        &mut self,
        index: &mut Index,
        kind: Kind,
        mut fill: impl FnMut(&mut Self, &mut Index, &mut Page),
    ) -> Result<(), FtlError> {
        let mut page = Page::new(self.chip.geometry().page_size);
        core::mem::swap(&mut page, &mut index.page);
        let done = (|| {
            loop {
                if index.log.is_full(self.chip.geometry().pages_per_block) {
                    self.begin_log_block(index, &mut page)?;
                }
                fill(self, index, &mut page);
                if index.log.append(&mut self.chip, &page, kind, index.time)? {
                    self.counters.index_programs += 1;
                    return Ok(());
                }
            }
        })();
        core::mem::swap(&mut page, &mut index.page);
        done
    }

    /// Begins a block of the log, which proves that all before is on the chip: a checkpoint that was
    /// written to its end is complete, and what the log had before it is needed no more.
    fn begin_log_block(&mut self, index: &mut Index, page: &mut Page) -> Result<(), FtlError> {
        let complete = index.finished().unwrap_or(index.complete);
        let known = index.known_up_to(self.programs);
        let head = Head { summary: index.summary, complete, known };
        let begun = index.log.begin_block(&mut self.chip, page, self.programs, &head, index.time);
        if begun == Err(FtlError::ReadOnly) {
            self.log_is_used_up();
        }
        begun?;
        self.counters.index_programs += 1;
        index.known = head.known;
        index.word.all_told(self.programs);
        if index.finished().is_some() {
            index.complete = complete;
            index.drop_writing();
            index.log.release(&self.chip, complete.turn);
        }
        Ok(())
    }

    /// The same where a checkpoint has just been written.
    pub(in crate::page_mapped) fn begin_log_block_now(
        &mut self,
        index: &mut Index,
    ) -> Result<(), FtlError> {
        let mut page = Page::new(self.chip.geometry().page_size);
        core::mem::swap(&mut page, &mut index.page);
        let done = self.begin_log_block(index, &mut page);
        core::mem::swap(&mut page, &mut index.page);
        done
    }

    /// A page holds no data any more: the log has to say so before a sync, or an erase.
    #[cold]
    pub(in crate::page_mapped) fn note_trim(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        self.with_index(|layer, index| {
            index.time = now;
            // It holds no data any more, whatever fails now: what could not be written waits.
            if index.note_trim(lpn) {
                return layer.wake(index);
            }
            let written = layer.wake(index).and_then(|()| layer.write_trims(index));
            super::record::add_to_runs(&mut index.pending, lpn);
            written
        })
    }

    /// Pages were dropped or forgotten where an error cannot be told: the notes get longer, until the
    /// erase that is about to come writes them.
    #[cold]
    pub(in crate::page_mapped) fn note_dropped(&mut self, lpn: Lpn) {
        if let Some(index) = &mut self.index {
            super::record::add_to_runs(&mut index.pending, lpn);
        }
    }

    /// The last program failed.
    #[cold]
    pub(in crate::page_mapped) fn distrust_last(&mut self) {
        self.says = false;
        if let Some(index) = &mut self.index {
            index.distrust(self.programs);
        }
    }

    /// Whether checkpoints have to wait.
    #[cold]
    pub(in crate::page_mapped) fn hush_index(&mut self, quiet: bool) {
        if let Some(index) = &mut self.index {
            index.quiet = quiet;
        }
    }

    /// Writes the trims that the log does not tell of yet, and as much of a checkpoint as is due for
    /// that.
    pub(super) fn write_trims(&mut self, index: &mut Index) -> Result<(), FtlError> {
        let before = index.log.programs;
        self.write_trims_alone(index)?;
        for _ in before..index.log.programs {
            self.keep_log_room(index)?;
            for _ in 0..WITH_TRIMS {
                self.checkpoint_step(index)?;
            }
        }
        Ok(())
    }

    /// Writes the trims that the log does not tell of yet.
    pub(super) fn write_trims_alone(&mut self, index: &mut Index) -> Result<(), FtlError> {
        while !index.pending.is_empty() {
            // What holds data again has a newer copy, which lasts as soon as anything is erased.
            let mut runs = alloc::vec::Vec::with_capacity(index.most_pending);
            let mut rest = alloc::vec::Vec::with_capacity(index.most_pending);
            for (first, length) in index.pending.drain(..) {
                for lpn in (first..first + length).map(Lpn) {
                    if self.map[lpn.index()] == Ppn::NONE {
                        let full = runs.len() == index.most_pending;
                        let joins = runs.last().is_some_and(|(f, n)| f + n == lpn.0);
                        let to = if full && !joins { &mut rest } else { &mut runs };
                        super::record::add_to_runs(to, lpn);
                    }
                }
            }
            index.pending = rest;
            if runs.is_empty() {
                return Ok(());
            }
            let told = self.log(index, Kind::Trims, |layer, _, page| {
                page.runs(&Header::plain(Kind::Trims, layer.programs), &runs);
            });
            if told.is_err() {
                // Whoever asks for a flush the next time gets it with them.
                runs.append(&mut index.pending);
                index.pending = runs;
                return told;
            }
        }
        Ok(())
    }

    /// Before anything is changed after a clean mount, the log says that it is not clean any more. That
    /// lasts before the second change does, and the first shows itself beside its page.
    pub(super) fn wake(&mut self, index: &mut Index) -> Result<(), FtlError> {
        if !index.asleep {
            return Ok(());
        }
        self.log(index, Kind::InUse, |layer, index, page| {
            page.in_use(&Header::plain(Kind::InUse, layer.programs), &index.known);
        })?;
        self.chip.sync()?;
        index.asleep = false;
        Ok(())
    }

    /// Something is about to be changed, or one page was.
    #[cold]
    pub(in crate::page_mapped) fn awaken(&mut self, now: u64) -> Result<(), FtlError> {
        self.with_index(|layer, index| {
            index.time = now;
            layer.wake(index)
        })?;
        self.follows_up = self.wants_follow_up();
        Ok(())
    }

    /// A block of data is about to be opened for the host: as much of the checkpoint is written as is
    /// due for each.
    #[cold]
    pub(in crate::page_mapped) fn keep_index(&mut self, now: u64) -> Result<(), FtlError> {
        self.with_index(|layer, index| {
            index.time = now;
            layer.wake(index)?;
            let geometry = *layer.chip.geometry();
            let pages = summary::checkpoint_pages(&geometry, layer.config.logical_pages);
            index.owed += CHECKPOINTS * u64::from(pages);
            while index.owed >= u64::from(geometry.blocks()) {
                index.owed -= u64::from(geometry.blocks());
                layer.keep_log_room(index)?;
                layer.checkpoint_step(index)?;
            }
            Ok(())
        })
    }

    /// A free block is about to be opened. Erases that do not last yet could all be undone by a loss of power
    /// while the blocks opened since are full: nothing could be cleaned then. So as many free blocks as the
    /// reserve has are ones whose erase lasts.
    #[cold]
    pub(in crate::page_mapped) fn before_open(&mut self, bank: usize) -> Result<(), FtlError> {
        let mut synced = None;
        self.with_index(|layer, index| {
            let reserve = layer.config.watermarks.reserve as usize;
            let lasting = index.lasting.get(bank).copied().unwrap_or(0);
            if lasting <= reserve && layer.banks[bank].free.len() > lasting {
                layer.chip.sync()?;
                synced = Some(layer.programs);
                index.lasting = layer.banks.iter().map(|bank| bank.free.len()).collect();
            }
            if let Some(lasting) = index.lasting.get_mut(bank) {
                *lasting = lasting.saturating_sub(1);
            }
            Ok(())
        })?;
        if let Some(programs) = synced {
            self.note_lasting(programs);
        }
        Ok(())
    }

    /// A block of data is about to be erased: older copies of trimmed pages must not come back by that.
    #[cold]
    pub(in crate::page_mapped) fn before_erase(&mut self, block: BlockId) -> Result<(), FtlError> {
        self.with_index(|layer, index| {
            layer.wake(index)?;
            layer.pay_word(index)?;
            layer.write_trims(index)?;
            index.erased(block);
            Ok(())
        })
    }

    /// What [`settle`](crate::Layer::settle) does.
    pub(in crate::page_mapped) fn settle_index(&mut self, now: u64) -> Result<(), FtlError> {
        self.with_index(|layer, index| {
            index.time = now;
            if !index.pending.is_empty() {
                layer.wake(index)?;
            }
            layer.write_trims(index)
        })
    }

    /// What [`unmount`](crate::Layer::unmount) does: a checkpoint of how things are now, all of it synced,
    /// and then the word that nothing was changed after it.
    pub(in crate::page_mapped) fn close_index(&mut self, now: u64) -> Result<(), FtlError> {
        if self.index.as_ref().is_some_and(|index| index.is_rebuilt) {
            self.awaken(now)?;
        }
        self.with_index(|layer, index| {
            if index.asleep {
                return Ok(());
            }
            index.time = now;
            layer.write_trims(index)?;
            index.drop_writing();
            let written = layer.write_checkpoint(index, true)?;
            layer.chip.sync()?;
            layer.log(index, Kind::Clean, |layer, index, page| {
                let checkpoint = written.checkpoint;
                let header = Header { checkpoint, ..Header::plain(Kind::Clean, layer.programs) };
                page.clean(&header, &written, &index.known_up_to(layer.programs));
            })?;
            index.asleep = true;
            index.is_rebuilt = false;
            Ok(())
        })?;
        self.follows_up = self.wants_follow_up();
        Ok(())
    }

    /// What is to be done after a page write, if anything: said by policies, or because the next write is
    /// the first.
    pub(in crate::page_mapped) fn wants_follow_up(&self) -> bool {
        self.config.trigger == thermocline_policy::trigger::Trigger::Eager
            || self.banks.iter().any(|bank| bank.watches)
            || self.index.as_ref().is_some_and(|index| index.asleep)
    }
}
