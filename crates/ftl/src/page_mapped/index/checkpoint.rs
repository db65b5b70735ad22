//! Checkpoints, written a page at a time.
//!
//! The order of the pages: what is absent, the table of blocks, the map. Each is as things are when it is
//! written; the host writes on in between. The table comes before the map, so a block that was full then
//! and is the same now holds what the map says it does. Complete is a checkpoint only when the next block
//! of the log begins: that proves that all its pages, and all data pages up to then, are on the chip.

use thermocline_flash::{BlockId, Chip, Flash, FlashError, Lpn, Ppn};
use thermocline_policy::{State, placement::Placement};

use super::{
    Index,
    record::{
        BLOCK_ENTRY, BlockEntry, Complete, HEADER, Header, Kind, MAP_ENTRY, add_to_runs, most_runs,
    },
    summary,
};
use crate::{
    FtlError,
    page_mapped::{PageMapped, lasting::number},
};

/// How far a checkpoint is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writing {
    /// The turn of the block that its first page is in; none before that.
    turn: Option<u64>,
    pages: u32,
    next: Next,
    has_map: bool,
}

/// The next page of a checkpoint begins with that logical page or block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Absent(u32),
    Blocks(u32),
    Map(u32),
    Nothing,
}

impl Index {
    /// The checkpoint that is written to its end, if it only needs to be proved.
    pub(super) fn finished(&self) -> Option<Complete> {
        let writing = self.writing.filter(|writing| writing.next == Next::Nothing)?;
        Some(Complete {
            checkpoint: self.numbered,
            pages: writing.pages,
            turn: writing.turn?,
            has_map: writing.has_map,
        })
    }

    /// Forgets the checkpoint being written: it is complete, or will never be.
    pub(super) fn drop_writing(&mut self) {
        self.writing = None;
    }
}

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Writes one page of the checkpoint, or proves one that is written; begins the next where there is
    /// none.
    pub(super) fn checkpoint_step(&mut self, index: &mut Index) -> Result<(), FtlError> {
        if index.quiet {
            return Ok(());
        }
        if index.finished().is_some() {
            return self.begin_log_block_now(index);
        }
        self.begin_checkpoint(index, true);
        self.checkpoint_page(index)
    }

    /// Writes a whole checkpoint at once, and proves it.
    pub(super) fn write_checkpoint(
        &mut self,
        index: &mut Index,
        has_map: bool,
    ) -> Result<Complete, FtlError> {
        self.begin_checkpoint(index, has_map);
        while index.finished().is_none() {
            self.checkpoint_page(index)?;
        }
        let written = index.finished().unwrap_or(Complete::NONE);
        self.begin_log_block_now(index)?;
        Ok(written)
    }

    /// Makes sure that a whole checkpoint finds room in the log: writes one at once where it would
    /// not for long.
    ///
    /// Steps keep pace with what else is written, so this is for a row of crashes, each of which
    /// leaves an unfinished checkpoint behind. Where not even a checkpoint fits, what is absent does.
    pub(in crate::page_mapped) fn keep_log_room(
        &mut self,
        index: &mut Index,
    ) -> Result<(), FtlError> {
        let geometry = *self.chip.geometry();
        let whole = summary::checkpoint_pages(&geometry, self.config.logical_pages);
        let spare = 2 * geometry.data_pages_per_block();
        let room = index.log.room(geometry.pages_per_block, geometry.header_pages);
        if room > whole + spare {
            return Ok(());
        }
        let written = index.writing.filter(|writing| writing.has_map).map_or(0, |w| w.pages);
        let has_map = whole.saturating_sub(written) + geometry.pages_per_block <= room;
        if !has_map {
            index.drop_writing();
        }
        self.write_checkpoint(index, has_map).map(|_| ())
    }

    fn begin_checkpoint(&mut self, index: &mut Index, has_map: bool) {
        if index.writing.is_none() {
            index.numbered += 1;
            index.writing = Some(Writing { turn: None, pages: 0, next: Next::Absent(0), has_map });
        }
    }

    fn checkpoint_page(&mut self, index: &mut Index) -> Result<(), FtlError> {
        // What a checkpoint says is absent, trims say too, should it never be complete.
        self.write_trims_alone(index)?;
        let Some(writing) = index.writing else { return Ok(()) };
        let logical = self.config.logical_pages;
        let (kind, first, count, after) = match writing.next {
            Next::Absent(first) => {
                let (kind, count) = self.absent_range(first);
                let rest = first + count < logical;
                let next = if writing.has_map { Next::Blocks(0) } else { Next::Nothing };
                (kind, first, count, if rest { Next::Absent(first + count) } else { next })
            }
            Next::Blocks(first) => {
                let blocks = self.chip.geometry().data_blocks();
                let count = (blocks - first).min(self.body() / BLOCK_ENTRY as u32);
                for block in (first..first + count).map(BlockId) {
                    self.look_at(index, block)?;
                }
                let rest = first + count < blocks;
                let next = if rest { Next::Blocks(first + count) } else { Next::Map(0) };
                (Kind::Blocks, first, count, next)
            }
            Next::Map(first) => {
                let short = (logical - first).min(self.body() / 4);
                let noted = self.has_notes(first, short);
                let long = (logical - first).min(self.body() / MAP_ENTRY as u32);
                let count = if noted { long } else { short };
                let rest = first + count < logical;
                (
                    Kind::Map,
                    first,
                    count,
                    if rest { Next::Map(first + count) } else { Next::Nothing },
                )
            }
            Next::Nothing => return Ok(()),
        };
        let noted = kind == Kind::Map && self.has_notes(first, count);
        self.log(index, kind, |layer, index, page| {
            let header = Header {
                kind,
                sequence: layer.programs,
                first,
                count,
                checkpoint: index.numbered,
                number: writing.pages,
            };
            let range = first..first + count;
            match kind {
                Kind::AbsentBits => page.bits(&header, |lpn| layer.is_absent(lpn)),
                Kind::AbsentRuns => {
                    let mut runs = alloc::vec::Vec::new();
                    for lpn in range.filter(|&lpn| layer.is_absent(lpn)) {
                        add_to_runs(&mut runs, Lpn(lpn));
                    }
                    page.runs(&header, &runs);
                }
                Kind::Blocks => {
                    let survey = |b: u32| index.surveys[b as usize].unwrap_or_default();
                    page.blocks(&header, range.map(survey));
                }
                _ => page.map(&header, noted, range.map(Lpn).map(|lpn| layer.map_entry(lpn))),
            }
        })?;
        let turn = writing.turn.or_else(|| index.log.used.back().map(|used| used.turn));
        index.writing = Some(Writing { turn, pages: writing.pages + 1, next: after, ..writing });
        if let Kind::Blocks = kind {
            // Blocks that are not full change without being erased.
            for block in (first..first + count).map(BlockId) {
                let state = self.block(block).state;
                if !matches!(state, State::Closed | State::Aside | State::Condemned) {
                    index.erased(block);
                }
            }
        }
        Ok(())
    }

    fn body(&self) -> u32 {
        self.chip.geometry().page_size - HEADER as u32
    }

    fn is_absent(&self, lpn: u32) -> bool {
        self.map[lpn as usize] == Ppn::NONE
    }

    fn map_entry(&self, lpn: Lpn) -> (Ppn, u16) {
        let at = self.data_at(self.map[lpn.index()]);
        (at, if at == Ppn::NONE { 0 } else { self.placement.note(lpn) })
    }

    fn has_notes(&self, first: u32, count: u32) -> bool {
        (first..first + count).any(|lpn| self.map_entry(Lpn(lpn)).1 != 0)
    }

    /// How a page tells of most pages from `first` on which are absent, and of how many.
    fn absent_range(&self, first: u32) -> (Kind, u32) {
        let (logical, most) =
            (self.config.logical_pages, most_runs(self.chip.geometry().page_size));
        let bits = (logical - first).min(8 * self.body());
        let (mut runs, mut inside) = (0, false);
        // No step looks at more than some pages of bits.
        let end = logical.min(first.saturating_add(4 * bits));
        for lpn in first..end {
            let absent = self.is_absent(lpn);
            if absent && !inside {
                if runs == most {
                    let count = lpn - first;
                    return if count >= bits {
                        (Kind::AbsentRuns, count)
                    } else {
                        (Kind::AbsentBits, bits)
                    };
                }
                runs += 1;
            }
            inside = absent;
        }
        (Kind::AbsentRuns, end - first)
    }

    /// Sees to it that it is known what the areas of a block say.
    fn look_at(&mut self, index: &mut Index, block: BlockId) -> Result<(), FtlError> {
        if index.surveys[block.index()].is_some() {
            return Ok(());
        }
        let info = *self.block(block);
        let survey = match info.state {
            State::Free | State::Unusable => BlockEntry::default(),
            State::Open | State::Closed | State::Aside | State::Condemned => {
                let open = self.banks[self.bank_of(block)].open.iter().find(|o| o.block == block);
                let end = open.map_or(self.pages, |open| open.next);
                survey(&mut self.chip, block, end)?
            }
        };
        index.surveys[block.index()] = Some(survey);
        Ok(())
    }
}

/// What the areas of a block say of which no data page from number `end` on is programmed.
pub(super) fn survey<C: Flash>(
    chip: &mut C,
    block: BlockId,
    end: u32,
) -> Result<BlockEntry, FlashError> {
    let geometry = *chip.geometry();
    let mut entry = BlockEntry::default();
    let mut look =
        |page: u32| match chip.read_oob(geometry.ppn(block, geometry.header_pages + page)) {
            Ok(oob) => Ok((oob.is_some(), oob)),
            Err(FlashError::Unreadable(_)) => Ok((true, None)),
            Err(e) => Err(e),
        };
    for page in 0..end {
        if let (_, Some(oob)) = look(page)? {
            (entry.first_sequence, entry.stream) = (number(oob.sequence), oob.stream);
            break;
        }
    }
    for page in (0..end).rev() {
        let (programmed, oob) = look(page)?;
        if programmed {
            entry.programmed = entry.programmed.max(page + 1);
        }
        if let Some(oob) = oob {
            entry.newest_time = oob.time;
            break;
        }
    }
    Ok(entry)
}
