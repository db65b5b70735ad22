//! A page write of the host.

use thermocline_flash::{BlockId, Condition, Lpn, Ppn};

use super::{Nftl, RESERVE, roles};
use crate::FtlError;

impl<C: Condition> Nftl<C> {
    /// Writes a page (spec §2.3): into the primary if its place there is free, else behind what the
    /// replacement holds; a full replacement is folded and the page goes into the new primary.
    #[inline]
    pub(super) fn put(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        self.check_range(lpn)?;
        self.collect(now)?;
        let (v, offset) = (lpn.0 / self.pages, lpn.0 % self.pages);
        let pair = self.pairs[v as usize];
        let goes_into_primary = if self.in_order {
            pair.primary_used == offset
        } else {
            !self.programmed.is_set(lpn.index())
        };
        if !goes_into_primary && pair.replacement_used == self.pages {
            return self.fold_with(lpn, data, now);
        }
        let (mut block, page, role) = if goes_into_primary {
            (pair.primary, offset, roles::PRIMARY)
        } else {
            (pair.replacement, pair.replacement_used, roles::REPLACEMENT)
        };
        if block == BlockId::NONE {
            block = self.take_for_host(v)?;
        }
        let at = self.ppn(block, page);
        let oob = self.oob(lpn, role);
        self.chip.program(at, oob, data)?;
        let was_live = self.now_at(lpn, at);
        self.change(v, |pair| {
            if goes_into_primary {
                pair.primary = block;
                pair.primary_used += 1;
            } else {
                pair.replacement = block;
                pair.replacement_used += 1;
            }
            pair.live += u32::from(!was_live);
            pair.last_write = now;
        });
        if goes_into_primary && !self.in_order {
            self.programmed.set(lpn.index());
        }
        Ok(())
    }

    /// The newest data of a page are elsewhere now; whether it was live before.
    #[inline]
    fn now_at(&mut self, lpn: Lpn, at: Ppn) -> bool {
        let was_dead = self.dead.clear(lpn.index());
        let old = core::mem::replace(&mut self.map[lpn.index()], at);
        old != Ppn::NONE && !was_dead
    }

    /// The replacement is full: the page goes into the new primary.
    #[cold]
    fn fold_with(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        let (v, offset) = (lpn.0 / self.pages, lpn.0 % self.pages);
        self.fold(v, Some((offset, data)))?;
        self.dead.clear(lpn.index());
        self.counters.forced_folds += 1;
        self.change(v, |pair| pair.last_write = now);
        Ok(())
    }

    /// A block for the host: never the last free one, which the next fold needs.
    #[cold]
    fn take_for_host(&mut self, v: u32) -> Result<BlockId, FtlError> {
        let first = self.free.first().filter(|_| self.free.len() >= RESERVE);
        let block = first.ok_or(FtlError::NoSpace)?;
        self.take(block, v);
        Ok(block)
    }
}
