//! Checkpoints, written a page at a time.
//!
//! The order of the pages: absent pages, the table of blocks, the map. Each page shows the tables at the
//! time it is written; host writes go on in between. The table precedes the map: a block that was full
//! then and has not changed since holds the pages that the map places in it.

use alloc::vec::Vec;

use thermocline_flash::{BlockId, Flash, Lpn};

use super::{
    journaled::Journaled,
    survey::Surveys,
    trims::PendingTrims,
    writer::{Next, Progress, Writer},
};
use crate::{
    FtlError,
    journal::index::{
        record::{
            BLOCK_ENTRY, Complete, HEADER, Header, Kind, MAP_ENTRY, Page, add_to_runs, most_runs,
        },
        size::checkpoint_pages,
    },
};

/// Checkpoints that may be cut off in a row: after that one without a map is written, which is short.
const MOST_UNFINISHED: u32 = 4;

/// Writes one page of the checkpoint, or proves a finished one; begins the next if there is none.
pub(super) fn step<L: Journaled + ?Sized>(
    writer: &mut Writer,
    trims: &mut PendingTrims,
    surveys: &mut Surveys,
    layer: &mut L,
) -> Result<(), FtlError> {
    if writer.finished().is_some() {
        return writer.begin_block(layer);
    }
    writer.begin_checkpoint(true);
    // Should the checkpoint never be complete, trims record the absent pages too.
    trims.write(writer, layer)?;
    write_page(writer, surveys, layer)
}

/// Writes a whole checkpoint at once, and proves it.
pub(super) fn write_whole<L: Journaled + ?Sized>(
    writer: &mut Writer,
    surveys: &mut Surveys,
    layer: &mut L,
    has_map: bool,
) -> Result<Complete, FtlError> {
    writer.begin_checkpoint(has_map);
    while writer.finished().is_none() {
        write_page(writer, surveys, layer)?;
    }
    let written = writer.finished().unwrap_or(Complete::NONE);
    writer.begin_block(layer)?;
    Ok(written)
}

/// Keeps room in the log for a whole checkpoint; writes one at once when room gets short. The absent pages of the
/// checkpoint cover trims that wait to be recorded; its map would show them only to a mount that reads the map. Call
/// this before writing a record that the log must keep: a block without such records is free again after a crash, so
/// there is room for a checkpoint after any number of interrupted ones.
///
/// Normally steps keep pace with the other records. This serves a series of crashes, each of which
/// leaves an unfinished checkpoint behind. If no whole checkpoint fits, or power never lasts long
/// enough for one, its absent pages alone are written.
pub(super) fn keep_room<L: Journaled + ?Sized>(
    writer: &mut Writer,
    trims: &PendingTrims,
    surveys: &mut Surveys,
    layer: &mut L,
    may_have_map: bool,
) -> Result<(), FtlError> {
    let geometry = *layer.chip().geometry();
    let whole = checkpoint_pages(&geometry, layer.logical_pages());
    let spare = 2 * geometry.data_pages_per_block();
    let room = writer.log().room(geometry.pages_per_block, geometry.header_pages);
    if room > whole + spare {
        return Ok(());
    }
    if !trims.is_empty() {
        writer.drop_checkpoint();
    }
    let written = writer.writing().filter(|(writing, _)| writing.has_map());
    let written = written.map_or(0, |(writing, _)| writing.pages());
    let fits = whole.saturating_sub(written) + geometry.pages_per_block <= room;
    let has_map = may_have_map && fits && writer.unfinished() <= MOST_UNFINISHED;
    if !has_map {
        writer.drop_checkpoint();
    }
    write_whole(writer, surveys, layer, has_map)?;
    // Records kept from now on must not survive without this checkpoint: they would take the room of the
    // next.
    let programs = layer.durability().programs();
    layer.chip_mut().sync()?;
    layer.durability_mut().synced(programs);
    Ok(())
}

/// The content of a page of a checkpoint, and where the next one continues.
struct Content {
    kind: Kind,
    first: u32,
    count: u32,
    after: Next,
    /// Whether entries of the map have notes.
    noted: bool,
}

fn write_page<L: Journaled + ?Sized>(
    writer: &mut Writer,
    surveys: &mut Surveys,
    layer: &mut L,
) -> Result<(), FtlError> {
    let Some((writing, checkpoint)) = writer.writing() else { return Ok(()) };
    let Some(content) = Content::of(&writing, layer) else { return Ok(()) };
    let blocks = || (content.first..content.first + content.count).map(BlockId);
    if content.kind == Kind::Blocks {
        if content.first == 0 {
            surveys.completed(writer.complete());
            surveys.begin_table(checkpoint, layer);
        }
        surveys.look_at(layer, blocks())?;
    }
    let appended = writer.append(layer, content.kind, |layer, page| {
        let header = Header {
            first: content.first,
            count: content.count,
            checkpoint,
            number: writing.pages(),
            ..Header::plain(content.kind, layer.durability().programs())
        };
        content.fill(&header, surveys, layer, page);
    });
    // Whether it was written or not: blocks that are not full go on.
    if content.kind == Kind::Blocks {
        surveys.keep_full(layer, blocks());
    }
    if appended.is_err() {
        // The page may be there for all that, and say less than the next of that number would.
        writer.drop_checkpoint();
        return appended;
    }
    writer.checkpoint_page_written(content.after);
    Ok(())
}

impl Content {
    /// Of the next page; nothing if the checkpoint is written to its end.
    fn of<L: Journaled + ?Sized>(writing: &Progress, layer: &L) -> Option<Self> {
        let geometry = layer.chip().geometry();
        let (logical, body) = (layer.logical_pages(), geometry.page_size - HEADER as u32);
        Some(match writing.next() {
            Next::Absent(first) => {
                let (kind, count) = absent_range(layer, first, geometry.page_size);
                let behind = if writing.has_map() { Next::Blocks(0) } else { lost_from(layer, 0) };
                let end = first + count;
                let after = if end < logical { Next::Absent(end) } else { behind };
                Self { kind, first, count, after, noted: false }
            }
            Next::Lost(first) => {
                let count = lost_range(layer, first, geometry.page_size);
                let after = lost_from(layer, first + count);
                Self { kind: Kind::Lost, first, count, after, noted: false }
            }
            Next::Blocks(first) => {
                let blocks = geometry.data_blocks();
                let count = (blocks - first).min((body - 8) / BLOCK_ENTRY as u32);
                let end = first + count;
                let after = if end < blocks { Next::Blocks(end) } else { Next::Map(0) };
                Self { kind: Kind::Blocks, first, count, after, noted: false }
            }
            Next::Map(first) => {
                let short = (logical - first).min(body / 4);
                let long = (logical - first).min(body / MAP_ENTRY as u32);
                let has_notes =
                    |count| (first..first + count).any(|lpn| layer.map_entry(Lpn(lpn)).1 != 0);
                let count = if has_notes(short) { long } else { short };
                let end = first + count;
                let after = if end < logical { Next::Map(end) } else { Next::Nothing };
                Self { kind: Kind::Map, first, count, after, noted: has_notes(count) }
            }
            Next::Nothing => return None,
        })
    }

    fn fill<L: Journaled + ?Sized>(
        &self,
        header: &Header,
        surveys: &Surveys,
        layer: &L,
        page: &mut Page,
    ) {
        let range = self.first..self.first + self.count;
        let is_absent = |lpn: u32| layer.is_absent(Lpn(lpn));
        let runs = |is_meant: &dyn Fn(Lpn) -> bool| {
            let mut runs = Vec::new();
            for lpn in range.clone().map(Lpn).filter(|&lpn| is_meant(lpn)) {
                add_to_runs(&mut runs, lpn);
            }
            runs
        };
        match self.kind {
            Kind::AbsentBits => page.bits(header, is_absent),
            Kind::AbsentRuns => page.runs(header, &runs(&|lpn| layer.is_absent(lpn))),
            Kind::Lost => page.runs(header, &runs(&|lpn| layer.is_lost(lpn))),
            Kind::Blocks => {
                let entries = range.map(|block| surveys.entry(BlockId(block)));
                page.blocks(header, surveys.base_of_table(), entries);
            }
            _ => page.map(header, self.noted, range.map(|lpn| layer.map_entry(Lpn(lpn)))),
        }
    }
}

/// The form in which one page of the log covers most logical pages from `first` on, and their
/// number.
fn absent_range<L: Journaled + ?Sized>(layer: &L, first: u32, page_size: u32) -> (Kind, u32) {
    let (logical, most) = (layer.logical_pages(), most_runs(page_size));
    let bits = (logical - first).min(8 * (page_size - HEADER as u32));
    let (mut runs, mut inside) = (0, false);
    // No step looks at more than some pages of bits.
    let end = logical.min(first.saturating_add(4 * bits));
    for lpn in first..end {
        let absent = layer.is_absent(Lpn(lpn));
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

/// The next page of a checkpoint without a map, about the first lost page from one on.
fn lost_from<L: Journaled + ?Sized>(layer: &L, first: u32) -> Next {
    let lost = (first..layer.logical_pages()).find(|&lpn| layer.is_lost(Lpn(lpn)));
    lost.map_or(Next::Nothing, Next::Lost)
}

/// The number of logical pages from `first` on whose runs of lost pages fit into one page of the log.
fn lost_range<L: Journaled + ?Sized>(layer: &L, first: u32, page_size: u32) -> u32 {
    let mut runs = Vec::new();
    for lpn in first..layer.logical_pages() {
        if layer.is_lost(Lpn(lpn)) {
            add_to_runs(&mut runs, Lpn(lpn));
        }
        if runs.len() > most_runs(page_size) {
            return lpn - first;
        }
    }
    layer.logical_pages() - first
}
