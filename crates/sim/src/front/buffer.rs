//! The pages of a write buffer, in the order in which they leave.

use thermocline_flash::Lpn;

/// No slot.
const NONE: u32 = u32::MAX;

/// A ring of slots in a vector; slot 0 is its head and holds no page.
pub(super) struct Buffer {
    slots: Vec<Slot>,
    /// The slot of each logical page.
    slot_of: Vec<u32>,
    /// Slots that hold nothing.
    free: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Slot {
    lpn: Lpn,
    older: u32,
    newer: u32,
}

const HEAD: usize = 0;

impl Buffer {
    /// An empty buffer of `pages` pages.
    pub(super) fn new(pages: u32, logical_pages: u32) -> Self {
        let head = Slot { lpn: Lpn(0), older: 0, newer: 0 };
        Self {
            slots: vec![head; pages as usize + 1],
            slot_of: vec![NONE; logical_pages as usize],
            free: (1..=pages).rev().collect(),
        }
    }

    pub(super) const fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    pub(super) fn holds(&self, lpn: Lpn) -> bool {
        self.slot_of.get(lpn.index()).is_some_and(|slot| *slot != NONE)
    }

    pub(super) const fn pages(&self) -> usize {
        self.slots.len() - 1 - self.free.len()
    }

    /// The page that leaves next.
    pub(super) fn oldest(&self) -> Option<Lpn> {
        let oldest = self.slots[HEAD].newer as usize;
        (oldest != HEAD).then(|| self.slots[oldest].lpn)
    }

    /// Adds a page that it does not hold, as the newest. It must not be full.
    pub(super) fn add(&mut self, lpn: Lpn) {
        let slot = self.free.pop().expect("a free slot");
        self.slot_of[lpn.index()] = slot;
        self.slots[slot as usize].lpn = lpn;
        self.link(slot);
    }

    /// Makes a page that it holds the newest.
    pub(super) fn renew(&mut self, lpn: Lpn) {
        let slot = self.slot_of[lpn.index()];
        self.unlink(slot);
        self.link(slot);
    }

    /// Removes a page that it holds.
    pub(super) fn remove(&mut self, lpn: Lpn) {
        let slot = std::mem::replace(&mut self.slot_of[lpn.index()], NONE);
        self.unlink(slot);
        self.free.push(slot);
    }

    fn link(&mut self, slot: u32) {
        let newest = self.slots[HEAD].older;
        self.slots[newest as usize].newer = slot;
        let Slot { older, newer, .. } = &mut self.slots[slot as usize];
        (*older, *newer) = (newest, HEAD as u32);
        self.slots[HEAD].older = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { older, newer, .. } = self.slots[slot as usize];
        self.slots[older as usize].newer = newer;
        self.slots[newer as usize].older = older;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use thermocline_testing::Draws;

    use super::*;

    /// Held against a plain queue.
    #[test]
    fn pages_leave_in_the_order_of_a_queue() {
        let (mut buffer, mut queue) = (Buffer::new(5, 12), VecDeque::new());
        let mut draws = Draws(1);
        for _ in 0..2000 {
            let page = draws.below(12);
            let held = queue.iter().position(|held| *held == page);
            assert_eq!(buffer.holds(Lpn(page)), held.is_some());
            match held {
                Some(at) if draws.one_in(2) => {
                    buffer.renew(Lpn(page));
                    queue.remove(at);
                    queue.push_back(page);
                }
                Some(at) => {
                    buffer.remove(Lpn(page));
                    queue.remove(at);
                }
                None if queue.len() < 5 => {
                    buffer.add(Lpn(page));
                    queue.push_back(page);
                }
                None => assert!(buffer.is_full()),
            }
            assert_eq!(buffer.oldest(), queue.front().copied().map(Lpn));
            assert_eq!(buffer.pages(), queue.len());
        }
    }
}
