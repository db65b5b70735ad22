//! The cached mapping table: entries of the map by segmented LRU (DFTL paper, §3.2; Karedla et al. 1994).
//!
//! A new entry is *probationary*. An entry that is used again is *protected*. Where the protected segment is
//! full, its least recently used entry is probationary again. The least recently used probationary entry
//! leaves the table.

use thermocline_flash::Lpn;

/// No slot.
const NONE: u32 = u32::MAX;

/// The heads of the two rings; they hold no entry.
const PROBATIONARY: u32 = 0;
const PROTECTED: u32 = 1;

/// Two rings of slots in a vector.
pub(super) struct Table {
    slots: Vec<Slot>,
    /// The slot of each logical page.
    slot_of: Vec<u32>,
    free: Vec<u32>,
    /// Entries of the protected segment, and the most that it holds.
    protected: u32,
    most_protected: u32,
}

#[derive(Clone, Copy)]
struct Slot {
    lpn: Lpn,
    older: u32,
    newer: u32,
    is_protected: bool,
    is_dirty: bool,
}

impl Table {
    /// An empty table of `entries` entries, at least one.
    pub(super) fn new(entries: u32, most_protected: u32, logical_pages: u32) -> Self {
        let slot = |at| Slot {
            lpn: Lpn::NONE,
            older: at,
            newer: at,
            is_protected: false,
            is_dirty: false,
        };
        Self {
            slots: (0..entries + 2).map(slot).collect(),
            slot_of: vec![NONE; logical_pages as usize],
            free: (2..entries + 2).rev().collect(),
            protected: 0,
            most_protected: most_protected.min(entries),
        }
    }

    /// Uses an entry; false if the table does not hold it.
    pub(super) fn touch(&mut self, lpn: Lpn) -> bool {
        let slot = self.slot_of[lpn.index()];
        if slot == NONE {
            return false;
        }
        self.unlink(slot);
        self.link(PROTECTED, slot);
        if self.protected > self.most_protected {
            let oldest = self.slots[PROTECTED as usize].newer;
            self.unlink(oldest);
            self.link(PROBATIONARY, oldest);
        }
        true
    }

    /// Removes the entry that leaves next, if the table is full. The second value is true if it was changed.
    pub(super) fn evict(&mut self) -> Option<(Lpn, bool)> {
        if !self.free.is_empty() {
            return None;
        }
        let ring = [PROBATIONARY, PROTECTED]
            .into_iter()
            .find(|ring| self.slots[*ring as usize].newer != *ring)?;
        let slot = self.slots[ring as usize].newer;
        self.unlink(slot);
        self.free.push(slot);
        let Slot { lpn, is_dirty, .. } = self.slots[slot as usize];
        self.slot_of[lpn.index()] = NONE;
        Some((lpn, is_dirty))
    }

    /// Adds an entry that it does not hold. It must not be full.
    pub(super) fn add(&mut self, lpn: Lpn) {
        let slot = self.free.pop().expect("a free slot, since an entry was evicted");
        self.slot_of[lpn.index()] = slot;
        (self.slots[slot as usize].lpn, self.slots[slot as usize].is_dirty) = (lpn, false);
        self.link(PROBATIONARY, slot);
    }

    /// Marks an entry as changed, or as written back; false if the table does not hold it.
    pub(super) fn set_dirty(&mut self, lpn: Lpn, is_dirty: bool) -> bool {
        let slot = self.slot_of[lpn.index()];
        if slot == NONE {
            return false;
        }
        self.slots[slot as usize].is_dirty = is_dirty;
        true
    }

    /// Makes an entry the newest of a segment.
    fn link(&mut self, ring: u32, slot: u32) {
        let newest = self.slots[ring as usize].older;
        self.slots[newest as usize].newer = slot;
        let of = &mut self.slots[slot as usize];
        (of.older, of.newer, of.is_protected) = (newest, ring, ring == PROTECTED);
        self.slots[ring as usize].older = slot;
        self.protected += u32::from(ring == PROTECTED);
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { older, newer, is_protected, .. } = self.slots[slot as usize];
        self.slots[older as usize].newer = newer;
        self.slots[newer as usize].older = older;
        self.protected -= u32::from(is_protected);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use thermocline_testing::Draws;

    use super::*;

    /// Held against two plain queues.
    #[test]
    fn entries_leave_in_the_order_of_two_queues() {
        for most_protected in [0, 3, 5] {
            let mut table = Table::new(5, most_protected, 12);
            let (mut probationary, mut protected) = (VecDeque::new(), VecDeque::new());
            let mut dirty = [false; 12];
            let mut draws = Draws(1);
            for _ in 0..4000 {
                let page = draws.below(12);
                let lpn = Lpn(page);
                let held = protected
                    .iter()
                    .position(|held| *held == page)
                    .map(|at| protected.remove(at))
                    .or_else(|| {
                        let at = probationary.iter().position(|held| *held == page)?;
                        Some(probationary.remove(at))
                    });
                assert_eq!(table.touch(lpn), held.is_some());
                if held.is_some() {
                    protected.push_back(page);
                    if protected.len() > most_protected as usize {
                        probationary.extend(protected.pop_front());
                    }
                } else {
                    let evicted = table.evict();
                    let expected = if probationary.len() + protected.len() == 5 {
                        probationary.pop_front().or_else(|| protected.pop_front())
                    } else {
                        None
                    };
                    assert_eq!(evicted, expected.map(|page| (Lpn(page), dirty[page as usize])));
                    table.add(lpn);
                    probationary.push_back(page);
                    dirty[page as usize] = false;
                }
                if draws.one_in(2) {
                    dirty[page as usize] = draws.one_in(2);
                    assert!(table.set_dirty(lpn, dirty[page as usize]));
                }
            }
        }
    }
}
