//! Static wear levelling: data that lie still are moved so that their block wears like the others.
//!
//! After a request that erased, if the most and the least erased blocks lie further apart than the
//! gap, the lowest of the least erased blocks in use gives its live pages to the most erased free
//! block, in the same role, and is erased. One move for each request. Where only free blocks are
//! that young nothing moves: they will be written soon.

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
        let v = self.owner[young.index()];
        let is_primary = self.pairs[v as usize].primary == young;
        self.list_survivors(v, Some(young));
        let offsets = core::mem::take(&mut self.survivors);
        let moved = offsets.len() as u32;
        let target = if moved > 0 { worn } else { BlockId::NONE };
        if moved > 0 {
            self.take(worn, v);
            let role = roles::MOVED | if is_primary { roles::PRIMARY } else { roles::REPLACEMENT };
            self.copy_to(worn, v, &offsets, role, None)?;
        }
        if is_primary {
            self.note_primary(v, &offsets);
        }
        self.survivors = offsets;
        self.change(v, |pair| {
            if is_primary {
                (pair.primary, pair.primary_used) = (target, moved);
            } else {
                (pair.replacement, pair.replacement_used) = (target, moved);
            }
        });
        self.counters.swap_copies += u64::from(moved);
        let before = self.counters.erases;
        self.erase(young)?;
        self.counters.swap_erases += self.counters.erases - before;
        Ok(())
    }
}
