//! Which blocks of a virtual block hold its data at a mount, by their out-of-band areas.
//!
//! A fold copies all live pages into a new block. Before its sources are erased the chip is synced, and
//! the log records that the copies and every earlier trim are durable. So there are two kinds of targets:
//!
//! * the number of its last page is known to be durable: everything older is garbage, and a missing
//!   page of it is damage;
//! * it is not: the sources exist and hold everything flushed. The target is *given up*, with everything
//!   programmed into its virtual block later, none of which was flushed.
//!
//! A move is a fold of one of the two blocks. Each page of a target has the number of pages that
//! follow it, so any page gives the end of the target.
//!
//! Given-up blocks are erased newest first, and the erases are synced before anything is programmed: data
//! that a mount has shown stay, wherever power fails again. Blocks are compared by their newest pages,
//! since an erase that was half undone may have brought older ones back.

use alloc::vec::Vec;

use thermocline_flash::{BlockId, Condition, FlashError};

use super::{
    Nftl,
    look::{Page, look},
    roles,
};
use crate::{journal::watermark::program_number, page_mapped::mount::FoundLog};

/// The pages of a fold or a move in its target.
#[derive(Clone, Copy, Debug)]
struct Copied {
    is_move: bool,
    /// The least number among those that can be read.
    begin: u64,
    /// The number of the last of all.
    end: u64,
}

/// The areas of a block, summed up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) block: BlockId,
    pub(super) virtual_block: u32,
    pub(super) is_replacement: bool,
    /// The number of its newest page.
    last: u64,
    /// Pages up to the last that is not blank.
    pub(super) end: u32,
    /// Whether it holds pages that cannot be read, or that are not its own: it is not written on.
    pub(super) is_torn: bool,
    copied: Option<Copied>,
}

/// The blocks of a chip, sorted by use.
#[derive(Default)]
pub(super) struct Sorted {
    /// The blocks of virtual blocks.
    pub(super) kept: Vec<Seen>,
    /// Blocks without current data, in the order of their erases.
    pub(super) litter: Vec<BlockId>,
}

impl<C: Condition> Nftl<C> {
    /// Reads the areas of a block; `None` if it is blank or unreadable. Sets `programmed` if it is not
    /// blank.
    pub(super) fn survey_block(
        &mut self,
        found: &FoundLog,
        block: BlockId,
        programmed: &mut bool,
        mut each: impl FnMut(u64),
    ) -> Result<Option<Seen>, FlashError> {
        let mut pages = Vec::new();
        let (mut end, mut is_torn) = (0, false);
        for page in 0..self.pages {
            let at = self.ppn(block, page);
            match look(&mut self.chip, at)? {
                Page::Blank => continue,
                Page::Torn => is_torn = true,
                Page::Holds(oob) => {
                    each(oob.sequence);
                    let number = program_number(oob.sequence);
                    let is_ours = oob.lpn.0 < self.config.logical_pages && oob.stream <= roles::ALL;
                    if is_ours && !found.has_failed(number) {
                        pages.push((number, oob));
                    } else {
                        is_torn = true;
                    }
                }
            }
            end = page + 1;
        }
        *programmed = end > 0;
        let Some(&(last, newest)) = pages.iter().max_by_key(|(number, _)| *number) else {
            return Ok(None);
        };
        let virtual_block = newest.lpn.0 / self.pages;
        let is_replacement = newest.stream & roles::REPLACEMENT != 0;
        let before = pages.len();
        pages.retain(|(_, oob)| {
            oob.lpn.0 / self.pages == virtual_block
                && (oob.stream & roles::REPLACEMENT != 0) == is_replacement
        });
        is_torn |= pages.len() < before;
        let mut copied: Option<Copied> = None;
        for (number, oob) in pages {
            if oob.stream & (roles::FOLDED | roles::MOVED) == 0 {
                continue;
            }
            let this = Copied {
                is_move: oob.stream & roles::MOVED != 0,
                begin: number,
                end: number + u64::from(oob.note),
            };
            copied = Some(match copied {
                Some(other) if other.end > this.end => other,
                Some(other) if other.end == this.end => {
                    Copied { begin: this.begin.min(other.begin), ..other }
                }
                _ => this,
            });
        }
        Ok(Some(Seen { block, virtual_block, is_replacement, last, end, is_torn, copied }))
    }
}

/// Decides what counts of the blocks of a virtual block.
pub(super) fn sort_blocks(found: &FoundLog, mut blocks: Vec<Seen>, sorted: &mut Sorted) {
    blocks.sort_by_key(|seen| seen.last);
    sort_targets(found, &mut blocks, sorted, false);
    sort_targets(found, &mut blocks, sorted, true);
    // Only damage leaves two in one role: the newest counts.
    for role in [false, true] {
        let mut ours = blocks.iter().filter(|seen| seen.is_replacement == role);
        let newest = ours.next_back().map(|seen| seen.block);
        let is_older = |seen: &Seen| seen.is_replacement == role && Some(seen.block) != newest;
        sorted.litter.extend(blocks.iter().filter(|s| is_older(s)).map(|seen| seen.block));
        blocks.retain(|seen| !is_older(seen));
    }
    sorted.kept.extend(blocks);
}

/// Goes through the targets of folds, or of moves, from the newest on.
fn sort_targets(found: &FoundLog, blocks: &mut Vec<Seen>, sorted: &mut Sorted, moves: bool) {
    let copied = |seen: &Seen| seen.copied.filter(|copied| copied.is_move == moves);
    let mut targets: Vec<(Copied, Seen)> =
        blocks.iter().filter_map(|seen| copied(seen).map(|copied| (copied, *seen))).collect();
    targets.sort_by_key(|(copied, _)| u64::MAX - copied.begin);
    let mut given_up = Vec::new();
    for (copied, target) in targets {
        let same = |seen: &Seen| !moves || seen.is_replacement == target.is_replacement;
        let is_older = |seen: &Seen| same(seen) && seen.last < copied.begin;
        let is_there = blocks.iter().any(|seen| seen.block == target.block);
        if !is_there || !blocks.iter().any(is_older) {
            continue;
        }
        let (out, list) = if found.is_known(copied.end) {
            (true, &mut sorted.litter)
        } else {
            (false, &mut given_up)
        };
        let goes = |seen: &Seen| same(seen) && (seen.last < copied.begin) == out;
        // Newest first.
        list.extend(blocks.iter().rev().filter(|seen| goes(seen)).map(|seen| seen.block));
        blocks.retain(|seen| !goes(seen));
    }
    sorted.litter.splice(0..0, given_up);
}
