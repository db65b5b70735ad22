//! The newest complete checkpoint of a log without a readable head.
//!
//! Problem. Only heads and clean records say which checkpoint is complete. Without one, every record in the log
//! counts, so no block of it can be written, and a chip that was in use cannot be repaired. Idea. The pages of a
//! checkpoint are numbered and state what they cover, so a missing one shows. A block of the log begins only
//! when everything before it is durable, so a checkpoint that ends before the newest block is complete.

use thermocline_flash::{Flash, FlashError};

use super::FoundLog;
use crate::journal::index::{
    find::log_pages,
    record::{Complete, Header, Kind},
};

/// A checkpoint, as far as its pages were found one after another.
#[derive(Clone, Copy)]
struct Walk {
    is: Complete,
    /// Up to where its pages are about logical pages that are absent, blocks, and the map.
    absent: u32,
    blocks: u32,
    map: u32,
}

impl Walk {
    /// Goes on with a page; false if that is not the next one.
    fn take(&mut self, header: &Header) -> bool {
        if header.checkpoint != self.is.checkpoint || header.number > self.is.pages {
            return false;
        }
        // A page whose program failed may be there twice.
        if header.number < self.is.pages {
            return true;
        }
        self.is.pages += 1;
        let up_to = match header.kind {
            Kind::AbsentRuns | Kind::AbsentBits => &mut self.absent,
            Kind::Blocks => &mut self.blocks,
            Kind::Map => &mut self.map,
            _ => return true,
        };
        let follows = *up_to == header.first;
        *up_to = header.first + header.count;
        follows
    }
}

impl FoundLog {
    /// Finds the newest complete checkpoint. One that only lists absent pages serves if none has a
    /// map.
    pub(super) fn infer_complete<C: Flash>(&mut self, chip: &mut C) -> Result<(), FlashError> {
        let Some(newest) = self.blocks.last().map(|used| used.turn) else { return Ok(()) };
        let (logical, blocks) = (self.summary.logical_pages, self.geometry.data_blocks());
        let mut walk: Option<Walk> = None;
        let (mut whole, mut bare) = (Complete::NONE, Complete::NONE);
        for used in self.blocks.clone() {
            if used.turn == newest {
                break;
            }
            for at in log_pages(self.geometry, used.block) {
                let Some((header, _)) = self.read(chip, at, Some(used.turn))? else { continue };
                if header.checkpoint == 0 || matches!(header.kind, Kind::Head | Kind::Clean) {
                    continue;
                }
                let begins = header.number == 0;
                if begins && walk.is_none_or(|walk| walk.is.checkpoint != header.checkpoint) {
                    let checkpoint = header.checkpoint;
                    let is = Complete { checkpoint, pages: 0, turn: used.turn, has_map: false };
                    walk = Some(Walk { is, absent: 0, blocks: 0, map: 0 });
                }
                let Some(mut on) = walk else { continue };
                let goes_on = on.take(&header);
                walk = goes_on.then_some(on);
                if goes_on && on.map == logical && on.blocks == blocks && on.absent == logical {
                    whole = Complete { has_map: true, ..on.is };
                } else if goes_on && on.absent == logical && on.blocks == 0 {
                    bare = on.is;
                }
            }
        }
        self.complete = if whole.has_map { whole } else { bare };
        self.from = self.complete.turn;
        Ok(())
    }
}
