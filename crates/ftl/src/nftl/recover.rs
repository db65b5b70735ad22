//! Rebuilds the tables from the chip alone, however the last run ended.
//!
//! The area of a page has its logical page, a sequence number that only rises, and its role (see
//! `roles`). Of two copies of a page the greater number is the newer.
//!
//! What may be unfinished, and how it is resolved:
//!
//! * *A host write.* Its page is torn, or complete and then the newest. A block with torn pages takes
//!   no more programs: it counts as full until it is folded. A block with torn pages and no readable
//!   one holds nothing and is erased.
//! * *A fold or a move.* The target's pages are marked as its copies, and the last one as the last.
//!   Sources are erased only after that one. So a target without a last page is *incomplete*: the
//!   sources still have all its pages, and it is erased. A target with a last page *replaces* its
//!   sources, the older blocks of its virtual block (of a move: in the same role), whose remains are
//!   erased, torn or not. A host page merged into the fold while it was written is old in the first
//!   case and new in the second.
//! * *An erase.* Of sources: as above. Of blocks without a live page: the remaining pages come back
//!   as superseded, dead or trimmed.
//! * *Recovery.* It writes nothing and erases only what it would erase again.
//!
//! A target with an unreadable last page and no older block is not incomplete, since its sources
//! would exist. Its own erase was interrupted, or the chip lost the page; it is kept.
//!
//! A loss of power loses dead marks and trims of pages that are still on the chip. A trimmed page,
//! or one dropped as dead, may come back with any of its earlier contents until it is written again.
//! Ages restart.

use alloc::{vec, vec::Vec};
use core::fmt;

use thermocline_flash::{BlockId, Condition, FlashError, Retrying};

use super::{
    Nftl,
    config::Config,
    look::{Page, look},
    pairs::Pair,
    roles,
};
use crate::FtlError;

/// Why there are no tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoverError {
    /// The chip failed.
    Ftl(FtlError),
    /// This block holds what this layer, so configured, did not write.
    Foreign(BlockId),
}

impl fmt::Display for RecoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ftl(e) => e.fmt(f),
            Self::Foreign(block) => write!(
                f,
                "erase block {block} was not written by this layer with as many logical pages"
            ),
        }
    }
}

impl core::error::Error for RecoverError {}

impl From<FlashError> for RecoverError {
    fn from(e: FlashError) -> Self {
        Self::Ftl(e.into())
    }
}

impl From<FtlError> for RecoverError {
    fn from(e: FtlError) -> Self {
        Self::Ftl(e)
    }
}

/// The out-of-band areas of a block, summed up.
#[derive(Clone, Copy, Debug)]
struct Found {
    block: BlockId,
    virtual_block: u32,
    is_replacement: bool,
    /// The least sequence number: when it was first programmed.
    first: u64,
    /// [`roles::FOLDED`] or [`roles::MOVED`] if that is where its pages came from.
    origin: u8,
    /// Whether the last page of that fold or move is there.
    is_complete: bool,
}

impl Found {
    /// Whether a fold or move into this block began with `other` as a source.
    const fn comes_after(&self, other: &Self) -> bool {
        other.first < self.first
            && match self.origin {
                roles::FOLDED => true,
                roles::MOVED => other.is_replacement == self.is_replacement,
                _ => false,
            }
    }
}

impl<C: Condition> Nftl<C> {
    /// A layer over a chip that a layer of the same kind and size has written, however that one
    /// ended. Every page whose write returned has its newest content; a page whose write was cut
    /// off has its old or its new content. Trims and marks of dead pages may be forgotten: such a
    /// page may come back with any of its earlier contents.
    ///
    /// Reads the out-of-band areas of all pages, and those of pages in use twice.
    ///
    /// # Errors
    /// [`RecoverError`]. Nothing on the chip is lost by trying again.
    pub fn recover(chip: C, config: Config) -> Result<Self, RecoverError> {
        let mut layer = Self::empty(Retrying::new(chip), config);
        let mut found = Vec::new();
        let mut unreadable = Vec::new();
        for block in (0..layer.owner.len() as u32).map(BlockId) {
            if layer.is_usable(block) {
                match layer.survey(block)? {
                    Survey::Blank => layer.add_free(block),
                    Survey::Unreadable => unreadable.push(block),
                    Survey::Found(it) => found.push(it),
                }
            }
        }
        found.sort_unstable_by_key(|it| (it.virtual_block, it.first));
        let mut newest = vec![0; layer.pages as usize];
        let mut obsolete = unreadable;
        for blocks in found.chunk_by(|a, b| a.virtual_block == b.virtual_block) {
            layer.adopt(blocks, &mut obsolete, &mut newest)?;
        }
        for block in obsolete {
            layer.is_in_use(block);
            layer.release([block, BlockId::NONE])?;
        }
        layer.least_free = layer.least_free.min(layer.free.len());
        Ok(layer)
    }

    /// Reads all out-of-band areas of a block.
    fn survey(&mut self, block: BlockId) -> Result<Survey, RecoverError> {
        let mut found: Option<Found> = None;
        let mut is_blank = true;
        for page in 0..self.pages {
            let at = self.ppn(block, page);
            let oob = match look(&mut self.chip, at)? {
                Page::Blank => continue,
                Page::Torn => {
                    is_blank = false;
                    continue;
                }
                Page::Holds(oob) => oob,
            };
            is_blank = false;
            let programs = self.durability.programs().max(oob.sequence);
            self.durability.set_programs(programs);
            if oob.lpn.0 >= self.config.logical_pages || oob.stream > roles::ALL {
                return Err(RecoverError::Foreign(block));
            }
            let virtual_block = oob.lpn.0 / self.pages;
            let is_replacement = oob.stream & roles::REPLACEMENT != 0;
            let it = found.get_or_insert(Found {
                block,
                virtual_block,
                is_replacement,
                first: oob.sequence,
                origin: 0,
                is_complete: false,
            });
            if (it.virtual_block, it.is_replacement) != (virtual_block, is_replacement) {
                return Err(RecoverError::Foreign(block));
            }
            it.first = it.first.min(oob.sequence);
            it.origin |= oob.stream & (roles::FOLDED | roles::MOVED);
            it.is_complete |= oob.stream & roles::LAST != 0;
        }
        Ok(match found {
            Some(found) => Survey::Found(found),
            None if is_blank => Survey::Blank,
            None => Survey::Unreadable,
        })
    }

    /// Decides which of the blocks of a virtual block hold its data, and takes them; the oldest comes
    /// first. The others are obsolete.
    fn adopt(
        &mut self,
        blocks: &[Found],
        obsolete: &mut Vec<BlockId>,
        newest: &mut [u64],
    ) -> Result<(), RecoverError> {
        let is_incomplete =
            |it: &Found| !it.is_complete && blocks.iter().any(|other| it.comes_after(other));
        let is_replaced =
            |it: &Found| blocks.iter().any(|other| other.is_complete && other.comes_after(it));
        let v = blocks[0].virtual_block;
        let mut pair = Pair::EMPTY;
        newest.fill(0);
        for it in blocks {
            if is_incomplete(it) || is_replaced(it) {
                obsolete.push(it.block);
                continue;
            }
            let used = self.read_in(it, newest)?;
            let place = if it.is_replacement {
                (&mut pair.replacement, &mut pair.replacement_used)
            } else {
                (&mut pair.primary, &mut pair.primary_used)
            };
            if *place.0 != BlockId::NONE {
                return Err(RecoverError::Foreign(it.block));
            }
            (*place.0, *place.1) = (it.block, used);
            self.owner[it.block.index()] = v;
            self.is_in_use(it.block);
        }
        pair.live = newest.iter().filter(|&&sequence| sequence > 0).count() as u32;
        self.change(v, |it| *it = pair);
        Ok(())
    }

    /// Wear levelling learns of a block with data.
    pub(super) fn is_in_use(&mut self, block: BlockId) {
        if let Some(wear) = &mut self.wear {
            let erases = self.chip.erase_count(block);
            wear.add(block, erases);
            wear.taken(block, erases);
        }
    }

    /// Maps the pages of a block that are newer than those known so far. Returns the number of its
    /// pages that cannot be programmed any more.
    fn read_in(&mut self, it: &Found, newest: &mut [u64]) -> Result<u32, RecoverError> {
        let keeps_places = !it.is_replacement && !self.in_order;
        let first = it.virtual_block * self.pages;
        let (mut used, mut end, mut is_torn) = (0, 0, false);
        for page in 0..self.pages {
            let at = self.ppn(it.block, page);
            let oob = match look(&mut self.chip, at)? {
                Page::Blank => continue,
                Page::Torn => {
                    is_torn = true;
                    continue;
                }
                Page::Holds(oob) => oob,
            };
            (used, end) = (used + 1, page + 1);
            let offset = oob.lpn.0 - first;
            if keeps_places {
                if offset != page {
                    return Err(RecoverError::Foreign(it.block));
                }
                self.programmed.set(oob.lpn.index());
            }
            if oob.sequence > newest[offset as usize] {
                newest[offset as usize] = oob.sequence;
                self.map[oob.lpn.index()] = self.ppn(it.block, page);
            }
        }
        if is_torn {
            if keeps_places {
                let places = first as usize..(first + self.pages) as usize;
                places.for_each(|place| self.programmed.set(place));
            }
            return Ok(self.pages);
        }
        Ok(if keeps_places { used } else { end })
    }
}

/// The kind of a block.
enum Survey {
    Blank,
    Unreadable,
    Found(Found),
}
