//! The changes of the map that its pages on the chip do not have yet, in the order of logical pages.
//!
//! An array in order needs no more than six bytes a change, none of them empty, and gives a page of the map all
//! its changes at once. To make room for one moves half the array in the mean: of a thousand changes, which is what 16 KiB
//! have room for, some 75 µs of a Cortex-M4 at 100 MHz, where a program takes 200 µs and more.

use core::{cell::Cell, mem::replace};

use crate::Slots;

/// No physical page: the logical page holds no data.
pub(crate) const NONE: u32 = 0xff_ffff;
/// The same, and no page on the chip says so yet: a trim.
pub(crate) const TRIMMED: u32 = 0xff_fffe;
/// Nowhere as well, though the logical page may have held data: nothing on the chip tells where.
pub(crate) const LOST: u32 = 0xff_fffd;
/// Pages that numbers of 24 bits can name.
pub(crate) const MOST: u32 = LOST;

/// A change of the map: a logical page and where it is now. Their low halves, and what is left of both.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change([u16; 3]);

impl Change {
    /// Room for a change.
    pub const EMPTY: Self = Self([0; 3]);

    fn new(lpn: u32, at: u32) -> Self {
        Self([lpn as u16, at as u16, (lpn >> 16) as u16 | (at >> 16 << 8) as u16])
    }

    fn lpn(self) -> u32 {
        u32::from(self.0[0]) | u32::from(self.0[2] & 0xff) << 16
    }

    fn at(self) -> u32 {
        u32::from(self.0[1]) | u32::from(self.0[2] >> 8) << 16
    }
}

/// The changes, in order; and in the last of its slots what changed since the tables of RAM were last saved.
pub(crate) struct Cache<'a> {
    changes: Slots<'a, Change>,
    len: usize,
    /// Slots for what changed lately, and those that are used.
    room: usize,
    noted: usize,
}

/// In place of a block that holds one page less: what changed is a page of the map.
const OF_MAP: u32 = 1 << 23;

/// Something that changed: where a logical page is, or a page of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recent {
    pub(crate) number: u32,
    pub(crate) is_map: bool,
    /// The block that holds one valid page less; one that the chip does not have for none.
    pub(crate) block: u32,
}

impl<'a> Cache<'a> {
    pub(crate) fn new(changes: Slots<'a, Change>) -> Self {
        Self { changes, len: 0, room: 0, noted: 0 }
    }

    /// All slots.
    pub(crate) fn slots(&self) -> usize {
        self.changes.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.changes.len().saturating_sub(self.room)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len >= self.capacity()
    }

    pub(crate) fn clear(&mut self) {
        (self.len, self.noted) = (0, 0);
    }

    /// Keeps so many slots for what changed lately. Changes that lie there already are in nobody's way until they are fewer.
    pub(crate) fn keep_notes(&mut self, room: usize) {
        (self.room, self.noted) = (room, 0);
    }

    /// Slots for what changed lately.
    pub(crate) fn room(&self) -> usize {
        if self.len <= self.capacity() { self.room } else { 0 }
    }

    pub(crate) fn notes(&self) -> usize {
        self.noted
    }

    pub(crate) fn forget_notes(&mut self) {
        self.noted = 0;
    }

    /// What changed lately, in order.
    pub(crate) fn recent(&self, index: usize) -> Option<Recent> {
        let change = self.changes.get(self.capacity() + index).filter(|_| index < self.noted)?;
        let (number, at) = (change.lpn(), change.at());
        Some(Recent { number, is_map: at & OF_MAP > 0, block: at % OF_MAP })
    }

    /// False if there is no room to note it.
    pub(crate) fn note(&mut self, Recent { number, is_map, block }: Recent) -> bool {
        let at = block.min(OF_MAP - 1) | if is_map { OF_MAP } else { 0 };
        let first = self.capacity();
        if self.noted >= self.room() {
            return false;
        }
        let Some(slot) = self.changes.get_mut(first + self.noted) else { return false };
        *slot = Change::new(number, at);
        self.noted += 1;
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn used(&self) -> &[Change] {
        self.changes.get(..self.len).unwrap_or_default()
    }

    fn find(&self, lpn: u32) -> Result<usize, usize> {
        self.used().binary_search_by_key(&lpn, |change| change.lpn())
    }

    /// Where a logical page is, if that changed.
    pub(crate) fn get(&self, lpn: u32) -> Option<u32> {
        self.changes.get(self.find(lpn).ok()?).map(|change| change.at())
    }

    /// A logical page is there now. There is room, or the page is among the changes.
    pub(crate) fn set(&mut self, lpn: u32, at: u32) {
        let change = Change::new(lpn, at);
        match self.find(lpn) {
            Ok(i) => {
                if let Some(known) = self.changes.get_mut(i) {
                    *known = change;
                }
            }
            Err(i) => {
                debug_assert!(!self.is_full());
                if let Some(later @ [_, ..]) = self.changes.get_mut(i..=self.len) {
                    insert(later, change);
                    self.len += 1;
                }
            }
        }
    }

    /// The logical page that is there, if that changed.
    pub(crate) fn find_at(&self, at: u32) -> Option<u32> {
        self.used().iter().find(|change| change.at() == at).map(|change| change.lpn())
    }

    /// The first logical page from `lpn` on that changed.
    pub(crate) fn first_from(&self, lpn: u32) -> Option<u32> {
        let (Ok(i) | Err(i)) = self.find(lpn);
        self.used().get(i).map(|change| change.lpn())
    }

    /// The logical page in the middle of the changes.
    pub(crate) fn middle(&self) -> u32 {
        self.used().get(self.len / 2).map_or(0, |change| change.lpn())
    }

    /// The changes of a range of logical pages.
    pub(crate) fn range(&self, from: u32, to: u32) -> impl Iterator<Item = (u32, u32)> {
        let (Ok(first) | Err(first)) = self.find(from);
        let (Ok(end) | Err(end)) = self.find(to);
        let changes = self.changes.get(first..end).unwrap_or_default();
        changes.iter().map(|change| (change.lpn(), change.at()))
    }

    /// The chip has the changes of a range.
    pub(crate) fn remove(&mut self, from: u32, to: u32) {
        let (Ok(first) | Err(first)) = self.find(from);
        let (Ok(end) | Err(end)) = self.find(to);
        let gone = end.saturating_sub(first);
        if let Some(later) = self.changes.get_mut(first..self.len)
            && gone <= later.len()
        {
            take_out(later, gone);
            self.len -= gone;
        }
    }

    /// The first trim, or lost page, from `lpn` on that no page on the chip says.
    pub(crate) fn first_trim(&self, lpn: u32) -> Option<u32> {
        let (Ok(i) | Err(i)) = self.find(lpn);
        let mut later = self.used().iter().skip(i);
        later.find(|change| matches!(change.at(), TRIMMED | LOST)).map(|change| change.lpn())
    }
}

/// Whether many changes are moved as bytes. Beside a microcontroller `memmove` would take more room than all that is here, and
/// is no quicker.
const BY_BYTES: bool = cfg!(target_pointer_width = "64");

/// Puts a change before the others; the last one is lost.
fn insert(changes: &mut [Change], change: Change) {
    if BY_BYTES && let Some(moved) = changes.len().checked_sub(1) {
        changes.copy_within(..moved, 1);
        changes[0] = change;
    } else {
        changes.iter_mut().fold(change, |moved, slot| replace(slot, moved));
    }
}

/// Moves the others over the first ones.
fn take_out(changes: &mut [Change], gone: usize) {
    if BY_BYTES {
        changes.copy_within(gone.., 0);
    } else if gone > 0 {
        let changes = Cell::from_mut(changes).as_slice_of_cells();
        for (to, from) in changes.iter().zip(changes.iter().skip(gone)) {
            to.set(from.get());
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::{collections::BTreeMap, vec::Vec};

    use super::*;

    #[test]
    fn it_is_an_ordered_map() {
        let mut room = [Change::EMPTY; 20];
        let mut cache = Cache::new((&mut room).into());
        let mut model = BTreeMap::new();
        let mut draw = 1_u32;
        for _ in 0..5000 {
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let lpn = draw >> 26;
            if draw >> 8 & 7 == 0 {
                let from = lpn / 8 * 8;
                let removed: Vec<_> = model.range(from..from + 8).map(|(&l, &a)| (l, a)).collect();
                assert_eq!(cache.range(from, from + 8).collect::<Vec<_>>(), removed);
                cache.remove(from, from + 8);
                model.retain(|&l, _| !(from..from + 8).contains(&l));
            } else if !cache.is_full() || model.contains_key(&lpn) {
                cache.set(lpn, draw & 0xff_ffff);
                model.insert(lpn, draw & 0xff_ffff);
            }
            assert_eq!(cache.get(lpn), model.get(&lpn).copied());
            assert_eq!(cache.first_from(lpn), model.range(lpn..).next().map(|(&l, _)| l));
            assert_eq!((cache.is_empty(), cache.is_full()), (model.is_empty(), model.len() == 20));
        }
    }
}
