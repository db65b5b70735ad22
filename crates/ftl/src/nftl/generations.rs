//! Which of the blocks of a virtual block hold its data after a mount, as the areas beside their pages say.
//!
//! A fold copies into a new block all that is live, and erases its sources only after the last page. So a
//! target that is not *whole* stands beside its sources, which hold all that counts, and a whole one makes
//! everything older garbage; a move does the same for one of the two blocks. Whether a target is whole its
//! pages say themselves: each has the number of pages that follow it, and the first is marked. A loss of
//! power may have taken any part of what was not synced, so the payload of each page that is not known to
//! have lasted is read.
//!
//! * A target whose last number is known to have lasted is never given up: pages of it that are missing
//!   are damage.
//! * With a target that is given up goes all that was programmed into its virtual block later, of which
//!   nothing was flushed. It is erased newest first: what a mount has shown stays as it is, wherever power
//!   fails again.
//! * Blocks are compared by their newest pages: an erase that was half undone may have brought older ones
//!   back.

use alloc::vec::Vec;

use thermocline_flash::{BlockId, Condition, FlashError, Ppn};

use super::{
    Nftl,
    look::{Page, look},
    roles,
};
use crate::page_mapped::{mount::FoundLog, watermark::program_number};

/// The pages of a fold or a move in its target.
#[derive(Clone, Copy, Debug)]
struct Copied {
    is_move: bool,
    /// The least number among them, and whether that is the first of all.
    begin: u64,
    has_first: bool,
    /// The number of the last of all.
    end: u64,
    /// How many can be read.
    there: u64,
}

/// What the areas of a block say of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) block: BlockId,
    pub(super) virtual_block: u32,
    pub(super) is_replacement: bool,
    /// The number of its newest page.
    last: u64,
    /// Pages up to the last that is not blank, and how many are not.
    pub(super) end: u32,
    pub(super) programmed: u32,
    /// Whether it holds pages that cannot be read, or that are not its own: it is not written on.
    pub(super) is_torn: bool,
    copied: Option<Copied>,
}

/// What becomes of the blocks of a chip.
#[derive(Default)]
pub(super) struct Sorted {
    /// The blocks of virtual blocks.
    pub(super) kept: Vec<Seen>,
    /// Those that hold nothing that counts, in the order in which they are to be erased.
    pub(super) litter: Vec<BlockId>,
    /// Blocks all of whose live pages stand in a newer one: a page that is not there was dropped.
    pub(super) superseded: Vec<BlockId>,
}

/// What is known of a target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// All its pages are there.
    Whole,
    /// All its pages were there: those that are missing are damaged.
    Damaged,
    /// It was cut off.
    CutOff,
}

impl<C: Condition> Nftl<C> {
    /// Reads the areas of a block; nothing if it is blank or nothing of it can be read. `programmed` is set
    /// if it is not blank.
    pub(super) fn survey_block(
        &mut self,
        found: &FoundLog,
        block: BlockId,
        programmed: &mut bool,
        mut each: impl FnMut(u64),
    ) -> Result<Option<Seen>, FlashError> {
        let mut pages = Vec::new();
        let (mut end, mut count, mut is_torn) = (0, 0, false);
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
            (end, count) = (page + 1, count + 1);
        }
        *programmed = count > 0;
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
                has_first: oob.stream & roles::FIRST != 0,
                end: number + u64::from(oob.note),
                there: 1,
            };
            copied = Some(match copied {
                Some(other) if other.end > this.end => other,
                Some(other) if other.end == this.end => Copied {
                    begin: this.begin.min(other.begin),
                    has_first: this.has_first || other.has_first,
                    there: other.there + 1,
                    ..other
                },
                _ => this,
            });
        }
        let programmed = count;
        Ok(Some(Seen {
            block,
            virtual_block,
            is_replacement,
            last,
            end,
            programmed,
            is_torn,
            copied,
        }))
    }

    /// Decides what counts of the blocks of a virtual block.
    pub(super) fn sort_blocks(
        &mut self,
        found: &FoundLog,
        mut blocks: Vec<Seen>,
        sorted: &mut Sorted,
    ) -> Result<(), FlashError> {
        blocks.sort_by_key(|seen| seen.last);
        self.sort_targets(found, &mut blocks, sorted, false)?;
        self.sort_targets(found, &mut blocks, sorted, true)?;
        // Only damage leaves two in one role: the newest counts.
        for role in [false, true] {
            while let [older, _, ..] =
                blocks.iter().filter(|b| b.is_replacement == role).collect::<Vec<_>>()[..]
            {
                let older = older.block;
                sorted.litter.push(older);
                blocks.retain(|seen| seen.block != older);
            }
        }
        sorted.kept.extend(blocks);
        Ok(())
    }

    /// Goes through the targets of folds, or of moves, from the newest on.
    fn sort_targets(
        &mut self,
        found: &FoundLog,
        blocks: &mut Vec<Seen>,
        sorted: &mut Sorted,
        moves: bool,
    ) -> Result<(), FlashError> {
        let is_target = |seen: &Seen| seen.copied.filter(|copied| copied.is_move == moves);
        let mut targets: Vec<(Copied, Seen)> =
            blocks.iter().filter_map(|seen| is_target(seen).map(|c| (c, *seen))).collect();
        targets.sort_by_key(|(copied, _)| u64::MAX - copied.begin);
        let mut given_up = Vec::new();
        for (copied, target) in targets {
            let same = |seen: &Seen| !moves || seen.is_replacement == target.is_replacement;
            let is_older = |seen: &Seen| same(seen) && seen.last < copied.begin;
            if !blocks.iter().any(is_older) || !blocks.iter().any(|s| s.block == target.block) {
                continue;
            }
            let is = self.state_of(found, &target, &copied)?;
            if is == Target::CutOff {
                // Newest first.
                let newer = blocks.iter().rev().filter(|s| same(s) && s.last >= copied.begin);
                given_up.extend(newer.map(|seen| seen.block));
                blocks.retain(|s| !same(s) || s.last < copied.begin);
                continue;
            }
            let older = blocks.iter().filter(|seen| is_older(seen)).map(|seen| seen.block);
            let older: Vec<BlockId> = older.collect();
            blocks.retain(|seen| !is_older(seen));
            if is == Target::Whole {
                sorted.superseded.extend(&older);
            }
            sorted.litter.extend(older);
        }
        // What stands beside those may be newer than they are.
        sorted.litter.splice(0..0, given_up);
        Ok(())
    }

    fn state_of(
        &mut self,
        found: &FoundLog,
        target: &Seen,
        copied: &Copied,
    ) -> Result<Target, FlashError> {
        let all = copied.end - copied.begin + 1;
        let is_complete = copied.has_first && copied.there == all;
        if found.is_known(copied.end) {
            return Ok(if is_complete { Target::Whole } else { Target::Damaged });
        }
        if !is_complete {
            return Ok(Target::CutOff);
        }
        for page in 0..self.pages {
            let at: Ppn = self.ppn(target.block, page);
            if let Page::Holds(oob) = look(&mut self.chip, at)?
                && (copied.begin..=copied.end).contains(&program_number(oob.sequence))
            {
                match self.chip.read(at, &mut []) {
                    Ok(()) => {}
                    Err(FlashError::Unreadable(_)) => return Ok(Target::CutOff),
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(Target::Whole)
    }
}
