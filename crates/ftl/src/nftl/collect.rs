//! When pairs are folded: when few blocks are free, in idle time, and ahead of either where whole
//! blocks are dead.

use thermocline_flash::Condition;

use super::Nftl;
use crate::FtlError;

impl<C: Condition> Nftl<C> {
    /// Collects garbage if few blocks are free: folds the best pairs until enough are, or until no
    /// pair is left (spec §2.5). Virtual blocks of which nothing is live go first.
    pub(super) fn collect(&mut self, now: u64) -> Result<(), FtlError> {
        if self.free.len() >= self.levels.start {
            return Ok(());
        }
        let mut folded = false;
        while self.free.len() < self.levels.stop {
            if let Some(v) = self.dead_for_collection() {
                self.drop_whole(v)?;
            } else if let Some(v) = self.index.best(now)
                && self.free.len() > 0
            {
                self.fold(v, None)?;
                folded = true;
            } else {
                break;
            }
        }
        self.counters.cleaning_runs += u64::from(folded);
        Ok(())
    }

    /// The virtual block of which nothing is live that a collection erases first: any, unless those of one
    /// block are left to reclamation. Both blocks of a pair are always given back, so that a fold finds room.
    fn dead_for_collection(&self) -> Option<u32> {
        match self.config.leaves_dead_blocks() {
            true => self.index.dead_pair(),
            false => self.index.wholly_dead(),
        }
    }

    /// Folds one pair with enough dead pages, or with any where space is short, or erases a virtual
    /// block of which nothing is live.
    pub(super) fn clean_one_ahead(&mut self) -> Result<bool, FtlError> {
        let wanted = match self.config.idle_dead_pages {
            0 if self.config.reclaim.is_none() => return Ok(false),
            0 => 0,
            _ if self.free.len() < self.levels.short => 1,
            wanted => wanted,
        };
        let pair = self.index.most_dead().filter(|&(_, dead)| wanted > 0 && dead >= wanted);
        if let Some(v) = self.index.wholly_dead() {
            self.drop_whole(v)?;
        } else if let Some((v, _)) = pair
            && self.free.len() > 0
        {
            self.fold(v, None)?;
        } else {
            return Ok(false);
        }
        self.counters.idle_victims += 1;
        Ok(true)
    }

    /// Erases virtual blocks of which nothing is live, the lowest first, when there is much dead data
    /// and few blocks are free (proactive reclamation: thesis §4.2.3, spec §4.7).
    pub(super) fn reclaim_ahead(&mut self) -> Result<(), FtlError> {
        let Some(limits) = self.levels.reclaim else { return Ok(()) };
        if self.dead_pages <= limits.dead || self.used_blocks() < limits.used {
            return Ok(());
        }
        let before = self.counters.reclaimed;
        while self.dead_pages > limits.target
            && self.counters.reclaimed - before < limits.blocks
            && let Some(v) = self.index.wholly_dead()
        {
            self.drop_whole(v)?;
        }
        Ok(())
    }
}
