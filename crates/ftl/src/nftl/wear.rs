//! Static wear levelling: data that lie still are moved so that their block wears like the others.
//!
//! After a request that erased, if the most and the least erased blocks lie further apart than the
//! gap, the lowest of the least erased blocks in use gives its live pages to the most erased free
//! block, in the same role, and is erased. One move for each request. Where only free blocks are
//! that young nothing moves: they will be written soon.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Flash};

use super::{Nftl, roles};
use crate::FtlError;

/// The least of a key for each block: a tournament in which each node holds the lesser of the two
/// below it. A change is carried up one path.
#[derive(Clone, Debug)]
struct Least {
    /// The root is at 1, the key of block `b` at `blocks + b`.
    keys: Vec<u64>,
    blocks: usize,
}

impl Least {
    const ABSENT: u64 = u64::MAX;

    fn new(blocks: usize) -> Self {
        let blocks = blocks.next_power_of_two();
        Self { keys: vec![Self::ABSENT; 2 * blocks], blocks }
    }

    fn set(&mut self, block: BlockId, key: u64) {
        let mut at = self.blocks + block.index();
        self.keys[at] = key;
        while at > 1 {
            at /= 2;
            let least = self.keys[2 * at].min(self.keys[2 * at + 1]);
            if self.keys[at] == least {
                return;
            }
            self.keys[at] = least;
        }
    }

    fn remove(&mut self, block: BlockId) {
        self.set(block, Self::ABSENT);
    }

    /// The high and the low half of the least key.
    fn get(&self) -> Option<(u32, BlockId)> {
        let key = self.keys[1];
        (key != Self::ABSENT).then_some(((key >> 32) as u32, BlockId(key as u32)))
    }
}

/// Erase counts of all blocks that can be used, by the four questions that levelling asks.
#[derive(Clone, Debug)]
pub(super) struct Wear {
    /// The most by which erase counts may differ.
    gap: u32,
    least_erased: Least,
    most_erased: Least,
    least_erased_in_use: Least,
    most_erased_free: Least,
}

const fn rising(erases: u32, block: BlockId) -> u64 {
    (erases as u64) << 32 | block.0 as u64
}

const fn falling(erases: u32, block: BlockId) -> u64 {
    rising(!erases, block)
}

impl Wear {
    pub(super) fn new(blocks: usize, gap: u32) -> Self {
        let none = Least::new(blocks);
        Self {
            gap,
            least_erased: none.clone(),
            most_erased: none.clone(),
            least_erased_in_use: none.clone(),
            most_erased_free: none,
        }
    }

    /// A block is free, erased that many times.
    pub(super) fn freed(&mut self, block: BlockId, erases: u32) {
        self.least_erased.set(block, rising(erases, block));
        self.most_erased.set(block, falling(erases, block));
        self.least_erased_in_use.remove(block);
        self.most_erased_free.set(block, falling(erases, block));
    }

    /// A block came into use.
    pub(super) fn taken(&mut self, block: BlockId, erases: u32) {
        self.least_erased.set(block, rising(erases, block));
        self.most_erased.set(block, falling(erases, block));
        self.most_erased_free.remove(block);
        self.least_erased_in_use.set(block, rising(erases, block));
    }

    /// A block can be used no more.
    pub(super) fn retired(&mut self, block: BlockId) {
        self.least_erased.remove(block);
        self.most_erased.remove(block);
        self.least_erased_in_use.remove(block);
        self.most_erased_free.remove(block);
    }

    /// The block to be moved and the block that takes its data, if that is due.
    fn due(&self) -> Option<(BlockId, BlockId)> {
        let (least, _) = self.least_erased.get()?;
        let (most, _) = self.most_erased.get()?;
        let (in_use, block) = self.least_erased_in_use.get()?;
        let (_, worn) = self.most_erased_free.get()?;
        (!most - least > self.gap && in_use == least).then_some((block, worn))
    }
}

impl<C: Flash> Nftl<C> {
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
