//! From what was found to the tables of the layer.

use alloc::vec::Vec;

use thermocline_flash::{BlockId, Chip, Lpn, Ppn};
use thermocline_policy::placement::Placement;

use super::{Recovery, data_pages, pages::Pages};
use crate::page_mapped::{Open, PageMapped, index::Index};

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Fills the tables of a layer whose blocks all count as free. Whether a block was closed that is not
    /// full.
    pub(super) fn take_tables(
        &mut self,
        pages: &mut Pages,
        index: &mut Index,
        recovery: &mut Recovery,
    ) -> bool {
        let mut closed_early = false;
        let geometry = *self.chip.geometry();
        let mut valid = alloc::vec![0_u32; pages.blocks.len()];
        for (lpn, &at) in (0..).map(Lpn).zip(&pages.map) {
            if at == Ppn::NONE {
                continue;
            }
            let block = geometry.block_of(at);
            let page = (geometry.page_of(at) - self.header) as usize;
            valid[block.index()] += 1;
            self.owner[block.index() * self.pages as usize + page] = lpn;
            self.mapped += 1;
        }
        self.map = core::mem::take(&mut pages.map);
        recovery.pages_found = self.mapped;

        // In the order in which they were opened; blocks of which nothing can be read come first.
        let mut order: Vec<BlockId> = (0..pages.blocks.len() as u32)
            .map(BlockId)
            .filter(|block| pages.blocks[block.index()].programmed > 0)
            .collect();
        order.sort_by_key(|block| (pages.blocks[block.index()].first_sequence, *block));
        let goes_on = self.choose_open(pages, &order, &valid, recovery.clean);

        for bank in &mut self.banks {
            bank.free.retain(|block| pages.blocks[block.index()].programmed == 0);
        }
        for &block in &order {
            let entry = pages.blocks[block.index()];
            recovery.newest_time = recovery.newest_time.max(entry.newest_time);
            let bank = self.bank_of(block);
            let stream = self.clamped(entry.stream);
            let home = &mut self.banks[bank];
            home.live += valid[block.index()];
            home.blocks.recovered(block, stream, valid[block.index()], entry.newest_time);
            self.placement.opened(bank as u32, block, stream, entry.newest_time);
            for (page, at) in data_pages(&geometry, block) {
                let lpn = self.owner[block.index() * self.pages as usize + page as usize];
                if self.map.get(lpn.index()) == Some(&at) {
                    let time = match pages.times[lpn.index()] {
                        0 => entry.newest_time,
                        time => time,
                    };
                    self.placement.recovered(lpn, entry.stream, pages.notes[lpn.index()], time);
                }
            }
            let full = entry.programmed == self.pages;
            index.surveys[block.index()] = full.then_some(entry);
            if goes_on.contains(&block) {
                self.banks[bank].open[usize::from(stream)] = Open {
                    block,
                    next: entry.programmed,
                    counted: entry.programmed,
                    pages: self.pages,
                    first: geometry.ppn(block, self.header),
                    first_owner: block.index() * self.pages as usize,
                };
            } else {
                self.close(bank, block);
                closed_early |= !full;
            }
        }
        if P::KNOWS_HOT {
            for lpn in (0..self.map.len() as u32).map(Lpn) {
                if self.placement.is_hot(lpn) {
                    self.warm(lpn, 1);
                }
            }
        }
        closed_early
    }

    /// The stream of this layer that a block of some stream belongs to.
    fn clamped(&self, stream: u8) -> u8 {
        if stream == self.read_only_stream() && self.config.read_only_separation {
            return stream;
        }
        stream.min(self.placement.streams() - 1)
    }

    /// The blocks that are written on: of each stream in each bank the newest that is not full. After a
    /// crash a block without data is closed instead, so that it can be cleaned.
    fn choose_open(
        &self,
        pages: &Pages,
        order: &[BlockId],
        valid: &[u32],
        clean: bool,
    ) -> Vec<BlockId> {
        let streams = self.banks[0].open.len();
        let mut newest: Vec<Option<BlockId>> = alloc::vec![None; self.banks.len() * streams];
        for &block in order {
            let entry = &pages.blocks[block.index()];
            let has_data = clean || valid[block.index()] > 0;
            if entry.programmed < self.pages && has_data {
                let stream = usize::from(self.clamped(entry.stream));
                newest[self.bank_of(block) * streams + stream] = Some(block);
            }
        }
        newest.into_iter().flatten().collect()
    }
}
