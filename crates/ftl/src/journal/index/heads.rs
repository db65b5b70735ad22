//! The log of a layer that keeps no log: each of its blocks begins with a head, and holds nothing else.
//!
//! The demand-paged layer has all its records among the data. Its chips have the heads so that whoever opens
//! one finds its summary where that of every other kind of layer stands. They are written once.

use thermocline_flash::{BlockId, Flash, FlashError, Lpn, Oob};

use super::{
    record::{Complete, Head, Header, Kind, Page},
    summary::{Summary, stream_of},
};
use crate::{Format, MountError};

/// Blocks that heads take: one writable block is enough.
#[must_use]
pub const fn blocks_for_heads(blocks: u32) -> u32 {
    if blocks < 256 { 2 } else { 6 }
}

/// Erases all blocks of the log durably, so that nothing shows how the chip was formatted.
///
/// # Errors
/// [`MountError`], where the chip fails for another reason than a bad block.
pub fn erase_heads<C: Flash>(chip: &mut C) -> Result<(), MountError> {
    let geometry = *chip.geometry();
    for block in (geometry.data_blocks()..geometry.blocks()).map(BlockId) {
        match chip.is_bad(block) {
            true => {}
            false => retired(chip, block, |chip| chip.erase(block)).map(drop)?,
        }
    }
    Ok(chip.sync()?)
}

/// Erases the blocks of the log, and writes a head to each that is not bad.
///
/// # Errors
/// [`MountError`], where none can be written.
pub fn write_heads<C: Flash>(
    chip: &mut C,
    layer: u8,
    logical_pages: u32,
    Format { id, created }: Format,
) -> Result<Summary, MountError> {
    let geometry = *chip.geometry();
    let summary = Summary::of(&geometry, layer, logical_pages, created, id);
    let mut page = Page::new(geometry.page_size);
    let (complete, known) = (Complete::NONE, alloc::vec::Vec::new());
    let head = Head { summary, complete, known, before: 0, kept: None };
    page.head(&Header::plain(Kind::Head, 0), &head);
    page.set_place(1);
    let mut written = 0;
    for block in (geometry.data_blocks()..geometry.blocks()).map(BlockId) {
        if chip.is_bad(block) {
            continue;
        }
        let oob = Oob {
            lpn: Lpn::NONE,
            stream: stream_of(layer),
            sequence: written + 1,
            time: 0,
            note: Kind::Head as u16,
        };
        let at = geometry.ppn(block, geometry.header_pages);
        let done = retired(chip, block, |chip| {
            chip.erase(block).and_then(|()| chip.program(at, oob, page.bytes()))
        })?;
        written += u64::from(done);
    }
    match written {
        0 => Err(MountError::SystemBlocks { needed: 1, there: 0 }),
        _ => Ok(summary),
    }
}

/// Applies an operation to a block. If it fails, marks the block bad and returns false.
fn retired<C: Flash>(
    chip: &mut C,
    block: BlockId,
    act: impl FnOnce(&mut C) -> Result<(), FlashError>,
) -> Result<bool, FlashError> {
    match act(chip) {
        Ok(()) => Ok(true),
        Err(FlashError::ProgramFailed(_) | FlashError::EraseFailed(_)) => {
            chip.mark_bad(block).map(|()| false)
        }
        Err(FlashError::WornOut(_) | FlashError::BadBlock(_)) => Ok(false),
        Err(e) => Err(e),
    }
}
