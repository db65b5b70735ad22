//! Recounts the tables.

use alloc::{format, string::String, vec, vec::Vec};

use thermocline_flash::{BlockId, Condition, Flash, Lpn, Ppn};

use super::{Nftl, heaps::NOBODY, pairs::Pair};

impl<C: Condition> Nftl<C> {
    pub(super) fn check_all(&self) -> Result<(), String> {
        let mut dead_pages = 0;
        for v in 0..self.pairs.len() as u32 {
            self.check_virtual_block(v).map_err(|e| format!("virtual block {v}: {e}"))?;
            dead_pages += u64::from(self.pairs[v as usize].dead());
        }
        if dead_pages != self.dead_pages {
            return Err(format!("{dead_pages} dead pages, {} were counted", self.dead_pages));
        }
        self.check_blocks()?;
        if let Some(wear) = &self.wear {
            let counted = |block: BlockId| (self.chip.erase_count(block), block);
            let all = (0..self.owner.len() as u32).map(BlockId);
            let used = all.filter(|b| self.owner[b.index()] != NOBODY || self.litter.contains(b));
            wear.check(used.map(counted), self.free.iter().map(counted), self.usable)?;
        }
        self.check_index()
    }

    fn check_virtual_block(&self, v: u32) -> Result<(), String> {
        let pair = &self.pairs[v as usize];
        let geometry = self.chip.geometry();
        let mut live = 0;
        let mut seen: Vec<Ppn> = Vec::new();
        for lpn in (v * self.pages..).take(self.pages_of(v) as usize).map(Lpn) {
            let at = self.map[lpn.index()];
            let is_dead = self.dead.is_set(lpn.index());
            if !Self::is_there(at) {
                if is_dead {
                    return Err(format!("{lpn:?} is marked dead and holds nothing"));
                }
                continue;
            }
            live += u32::from(!is_dead);
            let (block, page) = (geometry.block_of(at), geometry.page_of(at) - self.header);
            let programmed = if block == pair.replacement {
                page < pair.replacement_used
            } else if block != pair.primary {
                return Err(format!("{lpn:?} is mapped to {at:?}, in neither of its blocks"));
            } else if self.in_order {
                page < pair.primary_used
            } else {
                page == lpn.0 % self.pages && self.programmed.is_set(lpn.index())
            };
            if !programmed || seen.contains(&at) {
                return Err(format!("{lpn:?} is mapped to {at:?}, which is not its own"));
            }
            seen.push(at);
        }
        if live != pair.live {
            return Err(format!("{live} live pages, {} were counted", pair.live));
        }
        if !self.in_order {
            let first = v as usize * self.pages as usize;
            let offsets = first..first + self.pages as usize;
            let programmed = offsets.filter(|&at| self.programmed.is_set(at)).count();
            if programmed as u32 != pair.primary_used {
                return Err(format!("{programmed} pages programmed, not {}", pair.primary_used));
            }
        }
        for (block, used) in
            [(pair.primary, pair.primary_used), (pair.replacement, pair.replacement_used)]
        {
            if (block == BlockId::NONE) != (used == 0) || used > self.pages {
                return Err(format!("{block:?} has {used} pages programmed"));
            }
            if block != BlockId::NONE && self.owner[block.index()] != v {
                return Err(format!("{block:?} belongs to another"));
            }
        }
        Ok(())
    }

    fn check_blocks(&self) -> Result<(), String> {
        let mut free = vec![false; self.owner.len()];
        let mut listed = 0;
        for block in self.free.iter() {
            if core::mem::replace(&mut free[block.index()], true) || !self.is_usable(block) {
                return Err(format!("{block:?} is free twice or unusable"));
            }
            listed += 1;
        }
        let owned = self.owner.iter().filter(|&&v| v != NOBODY).count() as u32;
        let in_pairs: u32 = self.pairs.iter().map(Pair::blocks).sum();
        let waiting = self.litter.len() as u32;
        if (listed, owned) != (self.free.len(), in_pairs) || listed + owned + waiting != self.usable
        {
            return Err(format!(
                "{listed} free blocks, {owned} in use and {waiting} to be erased, of {} that are usable",
                self.usable
            ));
        }
        if self.litter.iter().any(|b| self.owner[b.index()] != NOBODY || free[b.index()]) {
            return Err("a block that is to be erased is free or in use".into());
        }
        if self.owner.iter().zip(&free).any(|(&v, &free)| free && v != NOBODY) {
            return Err("a block is free and in use".into());
        }
        if self.counters.retired == 0 && listed + waiting < self.least_free {
            return Err("no block is free for the next fold".into());
        }
        Ok(())
    }

    /// Compares the index with a scan of all pairs.
    fn check_index(&self) -> Result<(), String> {
        let all = || (0..).zip(&self.pairs).filter(|(_, pair)| pair.blocks() > 0);
        let dead = all().find(|(_, pair)| pair.live == 0).map(|(v, _)| v);
        if self.index.wholly_dead() != dead {
            return Err(format!("{dead:?} is the first wholly dead virtual block"));
        }
        let dead = all().find(|(_, pair)| pair.live == 0 && pair.blocks() == 2).map(|(v, _)| v);
        if self.config.leaves_dead_blocks() && self.index.dead_pair() != dead {
            return Err(format!("{dead:?} is the first wholly dead pair"));
        }
        let foldable = || all().filter(|(_, pair)| pair.blocks() == 2 && pair.live > 0);
        let most = foldable().map(|(_, pair)| pair.dead()).max();
        let first = most.and_then(|most| foldable().find(|(_, pair)| pair.dead() == most));
        if self.index.most_dead() != first.map(|(v, pair): (u32, &Pair)| (v, pair.dead())) {
            return Err(format!("{first:?} has most dead pages"));
        }
        Ok(())
    }
}
