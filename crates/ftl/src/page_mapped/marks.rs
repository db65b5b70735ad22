//! Pages inferred to be garbage, though the host did not say so (FSAF, §4 of the thesis).
//!
//! Problem. The inference may be wrong, and then the page is wanted back. Idea. A bit of the table
//! entry says that the page is *marked*: the entry still leads to the data, but equals the number of
//! no physical page, so whoever looks for current data passes over it. Consequence. A mark takes no
//! memory and a host write no look at it; cleaning and swaps leave a marked page behind without
//! being told.
//!
//! A marked page is garbage in every count: its block's valid pages, its bank's, and those mapped.
//! When its block is erased it is *dropped*: it holds no data from then on. Until then it is
//! readable, and [reviving](PageMapped::restore) it makes it current where it lies.
//!
//! No page is programmed for a revival, so the reserve is what it was, and there are never more
//! current pages than logical ones, which is what a bank's share of the space is made for. Only where
//! banks are chosen dynamically may a bank hold more than that share, if it took other pages while
//! some of its own were marked. Another bank then holds as much less and takes the host's writes,
//! until the full one is within its share again.
//!
//! Placements hear nothing of marks and revivals: what they know of a page serves again if it lives.
//! A dropped page is trimmed to them.

use thermocline_flash::{BlockId, Chip, Geometry, Lpn, Ppn};
use thermocline_policy::{State, placement::Placement};

use super::PageMapped;
use crate::FtlError;

/// The bit of a table entry that marks the page.
const MARK: u32 = 1 << 31;

/// Table entries from this on lead to no current data. On a chip whose page numbers need all
/// bits, those are the absent ones only, and no page can be marked.
pub(super) fn first_marked(geometry: &Geometry) -> u32 {
    // The last number stays for "none" with its bit set, too.
    let numbers = u64::from(geometry.blocks()) << geometry.page_bits();
    if numbers < u64::from(MARK) { MARK } else { Ppn::NONE.0 }
}

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Whether a table entry leads to current data.
    #[inline(always)]
    pub(super) const fn is_current(&self, entry: Ppn) -> bool {
        entry.0 < self.first_marked
    }

    /// Where the data are that a table entry leads to, marked or not.
    #[inline(always)]
    pub(super) fn data_at(&self, entry: Ppn) -> Ppn {
        if self.is_current(entry) || entry == Ppn::NONE { entry } else { Ppn(entry.0 & !MARK) }
    }

    /// Marks a page; false if it holds no data, is marked, or marks find no room in the table.
    pub(super) fn mark(&mut self, lpn: Lpn, now: u64) -> bool {
        let at = self.map[lpn.index()];
        if !self.is_current(at) || self.first_marked != MARK {
            return false;
        }
        self.map[lpn.index()] = Ppn(at.0 | MARK);
        self.invalidate(lpn, at, now);
        self.mapped -= 1;
        self.marked += 1;
        true
    }

    /// Makes a marked page current again; false if it is not marked, or dropped already.
    pub(super) fn restore(&mut self, lpn: Lpn, now: u64) -> bool {
        let entry = self.map[lpn.index()];
        let at = self.data_at(entry);
        if at == entry {
            return false;
        }
        self.map[lpn.index()] = at;
        let block = self.block_of(at);
        let bank = self.bank_of(block);
        let home = &mut self.banks[bank];
        home.blocks.revalidate(block, now);
        if P::KNOWS_HOT && self.placement.is_hot(lpn) {
            home.blocks.warm(block, 1);
        }
        home.live += 1;
        self.mapped += 1;
        self.marked -= 1;
        true
    }

    /// The host is about to write a page and its stream has no room. If the page is marked, cleaning
    /// needs not drop the old copy, which is wanted again only if there is no room.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room_for(
        &mut self,
        lpn: Lpn,
        bank: usize,
        stream: u8,
        now: u64,
    ) -> Result<(), FtlError> {
        let entry = self.map[lpn.index()];
        if entry == Ppn::NONE || self.is_current(entry) {
            return self.make_room(bank, stream, now);
        }
        let block = self.block_of(self.data_at(entry));
        let erases = self.block(block).erases;
        self.map[lpn.index()] = Ppn::NONE;
        self.marked -= 1;
        // The log may say that it is gone, and then it is.
        self.note_dropped(lpn);
        let made = self.make_room(bank, stream, now);
        let after = self.block(block);
        let is_kept = after.erases == erases && after.state != State::Unusable;
        if made.is_err() && is_kept && self.index.is_none() {
            self.map[lpn.index()] = entry;
            self.marked += 1;
        }
        made
    }

    /// A block is about to be erased: its marked pages are gone.
    pub(super) fn drop_marked(&mut self, block: BlockId) {
        if self.marked == 0 {
            return;
        }
        let pages = self.pages as usize;
        let first = self.chip.geometry().ppn(block, self.header).0 | MARK;
        for page in 0..self.pages {
            let lpn = self.owner[block.index() * pages + page as usize];
            if self.map[lpn.index()] == Ppn(first + page) {
                self.map[lpn.index()] = Ppn::NONE;
                self.marked -= 1;
                self.counters.dead_left += 1;
                self.placement.trimmed(lpn);
                self.note_dropped(lpn);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_need_a_bit_that_no_page_number_does() {
        let geometry = |blocks_per_bank| Geometry {
            banks: 1,
            channels: 1,
            blocks_per_bank,
            pages_per_block: 64,
            page_size: 4096,
            oob_size: 0,
            header_pages: 0,
            system_blocks: 0,
        };
        let most = geometry((1 << 25) - 1);
        assert_eq!(first_marked(&most), MARK);
        let last = most.ppn(BlockId(most.blocks() - 1), most.pages_per_block - 1);
        assert!(last.0 < MARK && last.0 | MARK != Ppn::NONE.0);
        assert_eq!(first_marked(&geometry(1 << 25)), Ppn::NONE.0);
    }
}
