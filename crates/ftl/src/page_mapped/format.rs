//! Making an empty device of a chip, whatever it holds.

use alloc::{boxed::Box, collections::VecDeque, vec::Vec};

use thermocline_flash::{BlockId, Chip, Flash, FlashError, Geometry, Lpn, Retrying};
use thermocline_policy::{placement::Placement, victim::Victim};

use super::{
    banks::Banks,
    config::{Config, Format},
    core::PageMapped,
    mount::MountError,
    parts::Parts,
};
use crate::journal::{
    Journal, Log,
    durability::Durability,
    index::{
        size::system_blocks_for,
        summary::{LEAST_PAGE, PAGE_MAPPED, Summary},
    },
};

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Erases all blocks that are neither blank nor bad, writes the summary, and mounts the empty
    /// device. The caller syncs the chip if the result must last.
    ///
    /// # Errors
    /// [`MountError`].
    pub fn format(
        chip: C,
        placement: P,
        victim: impl FnMut(u32) -> Box<dyn Victim>,
        config: Config,
        format: Format,
    ) -> Result<Self, MountError> {
        let mut chip = Retrying::new(chip);
        let geometry = *chip.geometry();
        let log = erase_all(&mut chip, config.logical_pages)?;
        let Format { created, id } = format;
        let summary = Summary::of(&geometry, PAGE_MAPPED, config.logical_pages, created, id);
        let banks = Banks::new(&chip, placement.streams(), victim, &config, true)
            .map_err(|_| MountError::no_space(&geometry, config.logical_pages))?;
        let mut parts = Parts::new(chip, placement, config, banks);
        parts.durability = Durability::formatted();
        let mut journal = Journal::formatted(summary, log, &geometry);
        journal.begin(parts.any())?;
        parts.journal = Some(journal);
        Ok(Self::of(parts))
    }
}

/// Erases all blocks that are neither blank nor bad, for a format. Returns the empty log.
pub(crate) fn erase_all<C: Flash>(chip: &mut C, logical_pages: u32) -> Result<Log, MountError> {
    let geometry = *chip.geometry();
    fits(&geometry, logical_pages)?;
    let first = geometry.data_blocks();
    // The log first, and for good: a chip whose formatting was cut off is not formatted. Its newest block comes last, for it
    // says which others there must be.
    let mut log: Vec<BlockId> = (first..geometry.blocks()).map(BlockId).collect();
    log.sort_by_key(|&block| {
        let head = chip.read_oob(geometry.ppn(block, geometry.header_pages)).ok().flatten();
        head.filter(|oob| oob.lpn == Lpn::NONE).map_or(0, |oob| oob.sequence)
    });
    let newest = log.split_off(log.len().saturating_sub(1));
    for blocks in [log, newest, (0..first).map(BlockId).collect()] {
        let mut has_erased = false;
        for block in blocks {
            if !chip.is_bad(block) && !is_blank(chip, block)? {
                erase(chip, block)?;
                has_erased = true;
            }
        }
        if has_erased {
            chip.sync()?;
        }
    }
    let free: VecDeque<BlockId> =
        (first..geometry.blocks()).map(BlockId).filter(|&block| !chip.is_bad(block)).collect();
    Ok(Log::new(free))
}

/// Whether a chip of that shape can be formatted.
fn fits(geometry: &Geometry, logical_pages: u32) -> Result<(), MountError> {
    if geometry.page_size < LEAST_PAGE || geometry.data_pages_per_block() < 2 {
        return Err(MountError::TooSmall);
    }
    let needed = system_blocks_for(geometry, logical_pages);
    if geometry.system_blocks < needed {
        return Err(MountError::SystemBlocks { needed, there: geometry.system_blocks });
    }
    Ok(())
}

fn is_blank<C: Flash>(chip: &mut C, block: BlockId) -> Result<bool, FlashError> {
    let geometry = *chip.geometry();
    for page in geometry.header_pages..geometry.pages_per_block {
        match chip.read_oob(geometry.ppn(block, page)) {
            Ok(None) => {}
            Ok(Some(_)) | Err(FlashError::Unreadable(_)) => return Ok(false),
            Err(e) => return Err(e),
        }
    }
    Ok(true)
}

/// Erases a block, or marks it as bad.
fn erase<C: Flash>(chip: &mut C, block: BlockId) -> Result<(), FlashError> {
    match chip.erase(block) {
        Ok(()) | Err(FlashError::WornOut(_) | FlashError::BadBlock(_)) => Ok(()),
        Err(FlashError::EraseFailed(_)) => chip.mark_bad(block),
        Err(e) => Err(e),
    }
}
