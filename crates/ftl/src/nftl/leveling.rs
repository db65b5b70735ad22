//! Static wear levelling: cold data are moved so that their block wears like the others.
//!
//! After a request that erased, if the erase counts differ by more than the gap, the lowest of the
//! least erased blocks in use gives its live pages to the most erased free block, in the same role,
//! and is erased: one move a request. If only free blocks have the least count nothing moves: they
//! will be written soon.

use thermocline_flash::{BlockId, Condition};

use super::{Nftl, roles, wear::Wear};
use crate::FtlError;

impl<C: Condition> Nftl<C> {
    /// One move, if something was erased since the last host write and that is due.
    pub(super) fn level(&mut self) -> Result<(), FtlError> {
        if !self.erased || self.wear.is_none() {
            return Ok(());
        }
        if let Some((young, worn)) = self.wear.as_ref().and_then(Wear::due) {
            self.make_room_in(young, worn)?;
        }
        self.erased = false;
        Ok(())
    }

    /// The live pages of `young` go to `worn`, which is free, and `young` is erased. Without live
    /// pages it is only erased.
    fn make_room_in(&mut self, young: BlockId, worn: BlockId) -> Result<(), FtlError> {
        self.keep_pace()?;
        let v = self.owner[young.index()];
        let is_primary = self.pairs[v as usize].primary == young;
        let role = roles::MOVED | if is_primary { roles::PRIMARY } else { roles::REPLACEMENT };
        // Where that block fails nothing is moved now.
        let first = |_: &Self, attempt| (attempt == 0).then_some(worn);
        let target = match self.move_to_new(v, Some(young), role, None, first) {
            Err(FtlError::NoSpace) => return Ok(()),
            moved => moved?,
        };
        let moved = if target == BlockId::NONE { 0 } else { self.survivors.len() as u32 };
        if moved == 0 {
            if is_primary {
                self.note_primary(v, &[]);
            }
            self.dropped_since_sync = true;
        }
        self.change(v, |pair| {
            if is_primary {
                (pair.primary, pair.primary_used) = (target, moved);
            } else {
                (pair.replacement, pair.replacement_used) = (target, moved);
            }
        });
        self.counters.swap_copies += u64::from(moved);
        self.unproved |= moved > 0;
        let before = self.counters.erases;
        self.release([young, BlockId::NONE])?;
        self.counters.swap_erases += self.counters.erases - before;
        Ok(())
    }
}
