//! The tables of pages: the map, its reverse, and the marks of pages inferred to be garbage.
//!
//! Invariants:
//! * the map gives the physical page of a logical page's newest data, with a bit set if it is
//!   *marked*; the reverse map gives the logical page of that physical page;
//! * `mapped` pages have an unmarked entry, `marked` pages a marked one.
//!
//! *Marks* (FSAF, §4 of the thesis). Problem. An inference that a page is garbage may be wrong; then its
//! data are needed again. Idea. A bit of the map entry marks the page: the entry still locates the data but
//! equals no physical page number, so a search for current data skips it. Consequence. A mark takes no
//! memory, a host write does not look at it, and garbage collection and swaps skip a marked page without a
//! test for it. A marked page is garbage in every count. When its block is erased it is *dropped*: it holds
//! no data from then on. Until then it is readable, and can become current again in place.

use alloc::{format, string::String, vec, vec::Vec};

use thermocline_flash::{BlockId, Geometry, Lpn, Ppn, prefetch};

use thermocline_policy::placement::Kept;

use super::{open_block::Target, words::Words};
use crate::shape::Shape;
use crate::{
    AHEAD, Holds,
    journal::{LOST, holds},
};

/// The bit of a table entry that marks the page.
const MARK: u32 = 1 << 31;

/// Table entries from this on lead to no current data. On a chip whose page numbers need all
/// bits, those are the absent and the lost ones only, and no page can be marked.
fn first_marked(geometry: &Geometry) -> u32 {
    // The last two numbers stay for "none" and "lost" with their bit set, too.
    let numbers = u64::from(geometry.blocks()) << geometry.page_bits();
    if numbers < u64::from(MARK) - 1 { MARK } else { LOST.0 }
}

/// Map, reverse map and marks.
pub(super) struct Tables {
    shape: Shape,
    /// The physical page of each logical page, marked where it is inferred to be garbage.
    map: Vec<Ppn>,
    /// The least entry that is marked or absent.
    first_marked: u32,
    /// The logical page programmed into each data page, current or not.
    owner: Vec<Lpn>,
    /// The placement's word for each data page.
    words: Words,
    /// Logical pages that hold current data.
    mapped: u32,
    /// Logical pages that are marked, and not dropped yet.
    marked: u32,
}

impl Tables {
    /// Nothing is mapped.
    pub(super) fn new(geometry: &Geometry, logical_pages: u32, kept: Kept) -> Self {
        let pages = geometry.blocks() as usize * geometry.data_pages_per_block() as usize;
        Self {
            shape: Shape::of(geometry),
            map: vec![Ppn::NONE; logical_pages as usize],
            first_marked: first_marked(geometry),
            owner: vec![Lpn(0); pages],
            words: Words::new(kept, pages),
            mapped: 0,
            marked: 0,
        }
    }

    /// Fills empty tables. Returns the mapped pages of each block, and the logical pages whose physical
    /// page another one has: they are lost.
    pub(super) fn recovered(&mut self, mut map: Vec<Ppn>, blocks: usize) -> (Vec<u32>, Vec<Lpn>) {
        debug_assert!(self.mapped == 0 && map.len() == self.map.len());
        let mut valid = vec![0_u32; blocks];
        for (lpn, &at) in (0..).map(Lpn).zip(&map) {
            if at.0 < LOST.0 {
                valid[self.shape.block_of(at).index()] += 1;
                self.owner[self.shape.slot_of(at)] = lpn;
                self.mapped += 1;
            }
        }
        let mut displaced = Vec::new();
        for (lpn, at) in (0..).map(Lpn).zip(&mut map) {
            if at.0 < LOST.0 && self.owner[self.shape.slot_of(*at)] != lpn {
                valid[self.shape.block_of(*at).index()] -= 1;
                self.mapped -= 1;
                *at = LOST;
                displaced.push(lpn);
            }
        }
        self.map = map;
        (valid, displaced)
    }

    #[inline(always)]
    pub(super) const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Number of logical pages.
    #[inline(always)]
    pub(super) const fn len(&self) -> usize {
        self.map.len()
    }

    /// Logical pages that hold current data.
    pub(super) const fn mapped(&self) -> u32 {
        self.mapped
    }

    /// Bytes of the tables.
    pub(super) const fn memory(&self) -> usize {
        self.map.capacity() * size_of::<Ppn>()
            + self.owner.capacity() * size_of::<Lpn>()
            + self.words.memory()
    }

    /// The table entry of a page: where its data are, marked or not; [`Ppn::NONE`] without data.
    #[inline(always)]
    pub(super) fn entry(&self, lpn: Lpn) -> Ppn {
        self.map[lpn.index()]
    }

    /// Whether a page holds no data.
    pub(super) fn is_absent(&self, lpn: Lpn) -> bool {
        self.entry(lpn) == Ppn::NONE
    }

    /// Whether a table entry leads to current data.
    #[inline(always)]
    pub(super) const fn is_current(&self, entry: Ppn) -> bool {
        entry.0 < self.first_marked
    }

    /// Where the current data of a page are. No page beyond the device has any.
    #[inline(always)]
    pub(super) fn current(&self, lpn: Lpn) -> Option<Ppn> {
        self.map.get(lpn.index()).copied().filter(|&entry| self.is_current(entry))
    }

    /// Where the data are that a table entry leads to, marked or not.
    #[inline(always)]
    pub(super) const fn data_at(&self, entry: Ppn) -> Ppn {
        if self.is_current(entry) {
            entry
        } else if entry.0 >= LOST.0 {
            Ppn::NONE
        } else {
            Ppn(entry.0 & !MARK)
        }
    }

    /// Whether a page held data that are nowhere to be found.
    pub(super) fn is_lost(&self, lpn: Lpn) -> bool {
        self.entry(lpn) == LOST
    }

    /// The state of a page; `Nothing` beyond the device.
    pub(super) fn holds(&self, lpn: Lpn) -> Holds {
        holds(self.map.get(lpn.index()).copied().unwrap_or(Ppn::NONE))
    }

    /// Where the data of a page are, marked or not; [`Ppn::NONE`] without data.
    #[inline(always)]
    pub(super) fn data(&self, lpn: Lpn) -> Ppn {
        self.data_at(self.entry(lpn))
    }

    /// Asks for the cache line of a page's entry.
    #[inline(always)]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.map, lpn.index());
    }

    /// The place of data in a table of data pages; beyond it without data.
    #[inline(always)]
    const fn slot_of_data(&self, at: Ppn) -> usize {
        if at.0 == Ppn::NONE.0 { usize::MAX } else { self.shape.slot_of(at) }
    }

    /// The word of the data that a table entry leads to.
    #[inline(always)]
    pub(super) fn word_at(&self, kept: Kept, entry: Ppn) -> u64 {
        self.words.get(kept, self.slot_of_data(self.data_at(entry)))
    }

    /// The word of a page.
    #[inline(always)]
    pub(super) fn word(&self, kept: Kept, lpn: Lpn) -> u64 {
        self.word_at(kept, self.entry(lpn))
    }

    /// The placement keeps another word of a page that holds data.
    #[inline(always)]
    pub(super) fn set_word(&mut self, kept: Kept, lpn: Lpn, word: u64) {
        let slot = self.slot_of_data(self.data(lpn));
        if slot != usize::MAX {
            self.words.set(kept, slot, word);
        }
    }

    /// Asks for the cache line of the word of data.
    #[inline(always)]
    pub(super) fn prefetch_word(&self, at: Ppn) {
        self.words.prefetch(self.shape.slot_of(at));
    }

    /// The logical pages programmed into a block, current or not, by physical page.
    pub(super) fn owners(&self, block: BlockId) -> &[Lpn] {
        &self.owner[self.shape.first_slot(block)..][..self.shape.pages() as usize]
    }

    /// Whether the reverse map leads from a physical page back to a logical one.
    pub(super) fn is_owner(&self, lpn: Lpn, at: Ppn) -> bool {
        self.owner[self.shape.slot_of(at)] == lpn
    }

    /// The current pages of a block, in physical order.
    pub(super) fn current_pages(&self, block: BlockId) -> impl Iterator<Item = Lpn> {
        let first = self.shape.data_page(block, 0).0;
        let owners = (first..).map(Ppn).zip(self.owners(block));
        owners.filter(|&(at, &lpn)| self.entry(lpn) == at).map(|(_, &lpn)| lpn)
    }

    /// Appends to lists the logical pages whose current data lie in `victim`, in physical order, and their words, where
    /// any are kept.
    pub(super) fn gather_survivors(
        &self,
        victim: BlockId,
        survivors: &mut Vec<Lpn>,
        words: &mut Vec<u64>,
    ) {
        let (owners, start) = (self.owners(victim), survivors.len());
        let (end, first) = (start + owners.len(), self.shape.first_slot(victim));
        let from = self.shape.data_page(victim, 0).0;
        survivors.resize(end, Lpn(0));
        if !matches!(self.words, Words::Nothing) {
            words.resize(end, 0);
        }
        let (map, lpns) = (&self.map[..], &mut survivors[start..]);
        let gathered = words.get_mut(start..).unwrap_or(&mut []);
        let found = match &self.words {
            Words::Nothing => gather::<false, u32>(map, owners, from, &[], lpns, gathered),
            Words::Bytes(kept) => {
                gather::<true, u8>(map, owners, from, &kept[first..], lpns, gathered)
            }
            Words::Narrow(kept) => {
                gather::<true, u32>(map, owners, from, &kept[first..], lpns, gathered)
            }
            Words::Wide(kept) => {
                gather::<true, u64>(map, owners, from, &kept[first..], lpns, gathered)
            }
        };
        survivors.truncate(start + found);
        words.truncate(start + found);
    }

    /// The host is about to have new data of a page mapped. Returns where the current ones are, for
    /// their block to lose a valid page; without any the page counts as mapped from now on.
    #[inline(always)]
    pub(super) fn supersede(&mut self, lpn: Lpn) -> Option<Ppn> {
        let old = self.entry(lpn);
        if self.is_current(old) {
            return Some(old);
        }
        self.mapped += 1;
        self.marked -= u32::from(old.0 < LOST.0);
        None
    }

    /// The newest data of a page are there from now on, with that word; the page counts as mapped already.
    #[inline(always)]
    pub(super) fn point(&mut self, kept: Kept, lpn: Lpn, word: u64, to: Target) {
        debug_assert_eq!(self.shape.slot_of(to.at), to.slot, "{lpn:?} goes to {:?}", to.at);
        self.owner[to.slot] = lpn;
        self.words.set(kept, to.slot, word);
        self.map[lpn.index()] = to.at;
    }

    /// The tables for as long as nothing but host writes changes them.
    #[inline(always)]
    pub(super) const fn rows(&mut self) -> Rows<'_> {
        Rows {
            map: self.map.as_mut_slice(),
            owner: self.owner.as_mut_slice(),
            words: &mut self.words,
            shape: self.shape,
            first_marked: self.first_marked,
            mapped: &mut self.mapped,
            marked: &mut self.marked,
        }
    }

    /// The words of pages side by side from `to` on.
    #[inline(always)]
    pub(super) fn set_words(&mut self, kept: Kept, words: &[u64], to: Target) {
        self.words.set_run(kept, to.slot, words);
    }

    /// Maps pages to consecutive physical pages from `to` on; all are counted as mapped already.
    #[inline(always)]
    pub(super) fn point_run(&mut self, lpns: &[Lpn], to: Target) {
        debug_assert_eq!(self.shape.slot_of(to.at), to.slot, "a run goes to {:?}", to.at);
        self.owner[to.slot..][..lpns.len()].copy_from_slice(lpns);
        for (&lpn, at) in lpns.iter().zip(to.at.0..) {
            self.map[lpn.index()] = Ppn(at);
        }
    }

    /// A page holds no data any more. Returns its entry, which is [`Ppn::NONE`] where it held none.
    pub(super) fn remove(&mut self, lpn: Lpn) -> Ppn {
        let entry = core::mem::replace(&mut self.map[lpn.index()], Ppn::NONE);
        if self.is_current(entry) {
            self.mapped -= 1;
        } else {
            self.marked -= u32::from(entry.0 < LOST.0);
        }
        entry
    }

    /// Marks a page. Returns where its data are; nothing if it holds none, is marked already, or marks
    /// find no room in the entry.
    pub(super) fn mark(&mut self, lpn: Lpn) -> Option<Ppn> {
        let at = self.entry(lpn);
        if !self.is_current(at) || self.first_marked != MARK {
            return None;
        }
        self.map[lpn.index()] = Ppn(at.0 | MARK);
        self.mapped -= 1;
        self.marked += 1;
        Some(at)
    }

    /// Makes a marked page current again. Returns where its data are; nothing if it is not marked, or
    /// was dropped.
    pub(super) fn unmark(&mut self, lpn: Lpn) -> Option<Ppn> {
        let entry = self.entry(lpn);
        let at = self.data_at(entry);
        if at == entry || entry.0 >= LOST.0 {
            return None;
        }
        self.map[lpn.index()] = at;
        self.mapped += 1;
        self.marked -= 1;
        Some(at)
    }

    /// Takes away the entry of a marked page. Returns it and where the data are; nothing if the page is
    /// not marked.
    pub(super) fn take_marked(&mut self, lpn: Lpn) -> Option<(Ppn, Ppn)> {
        let entry = self.entry(lpn);
        if entry.0 >= LOST.0 || self.is_current(entry) {
            return None;
        }
        self.remove(lpn);
        Some((entry, self.data_at(entry)))
    }

    /// Gives a page back an entry that was [taken away](Self::take_marked), its data being there still.
    pub(super) fn put_marked(&mut self, lpn: Lpn, entry: Ppn) {
        debug_assert!(self.is_absent(lpn) && !self.is_current(entry));
        self.map[lpn.index()] = entry;
        self.marked += 1;
    }

    /// A block is about to be erased: its marked pages are gone. Calls `dropped` for each, with its word.
    pub(super) fn drop_marked(
        &mut self,
        kept: Kept,
        block: BlockId,
        mut dropped: impl FnMut(Lpn, u64),
    ) {
        if self.marked == 0 {
            return;
        }
        let (first, first_slot) =
            (self.shape.data_page(block, 0).0 | MARK, self.shape.first_slot(block));
        for page in 0..self.shape.pages() {
            let lpn = self.owner[first_slot + page as usize];
            if self.map[lpn.index()] == Ppn(first + page) {
                self.remove(lpn);
                dropped(lpn, self.words.get(kept, first_slot + page as usize));
            }
        }
    }

    /// Counts again, and calls `visit` for each page with data: where they are, and whether they are current.
    pub(super) fn check(
        &self,
        mut visit: impl FnMut(Lpn, Ppn, bool) -> Result<(), String>,
    ) -> Result<(), String> {
        let (mut mapped, mut marked) = (0, 0);
        for (lpn, &entry) in (0..).map(Lpn).zip(&self.map) {
            let at = self.data_at(entry);
            if at == Ppn::NONE {
                continue;
            }
            *(if at == entry { &mut mapped } else { &mut marked }) += 1;
            visit(lpn, at, at == entry)?;
            let owner = self.owner[self.shape.slot_of(at)];
            if owner != lpn {
                return Err(format!("{lpn:?} is mapped to {at:?}, which belongs to {owner:?}"));
            }
        }
        if mapped != self.mapped {
            return Err(format!("{mapped} pages are mapped, {} were counted", self.mapped));
        }
        if marked != self.marked {
            return Err(format!("{marked} pages are marked, {} were counted", self.marked));
        }
        Ok(())
    }
}

/// Copies to `lpns` the logical pages whose current data are in a block, whose data pages begin at `first`, and to
/// `words` their words, if wanted. Returns their number.
///
/// Whether a page survived is unpredictable, so there is no branch on it. Each kind has its own function: the loop
/// needs all registers.
#[inline(never)]
fn gather<const WORDS: bool, W: Copy + Into<u64>>(
    map: &[Ppn],
    owners: &[Lpn],
    first: u32,
    kept: &[W],
    lpns: &mut [Lpn],
    words: &mut [u64],
) -> usize {
    let words = if WORDS { &mut words[..lpns.len()] } else { words };
    for &lpn in &owners[..AHEAD.min(owners.len())] {
        prefetch(map, lpn.index());
    }
    let mut found = 0;
    let mut look = |at: u32, lpn: Lpn, word: u64| {
        lpns[found] = lpn;
        if WORDS {
            words[found] = word;
        }
        found += usize::from(map[lpn.index()].0 == at);
    };
    // All pages but the last ones ask for the entry of another.
    let coming = owners.get(AHEAD..).unwrap_or(&[]);
    let (body, end) = owners.split_at(coming.len());
    let mut at = first;
    if WORDS {
        let (kept, kept_end) = kept[..owners.len()].split_at(coming.len());
        for ((&lpn, next), &word) in body.iter().zip(coming).zip(kept) {
            prefetch(map, next.index());
            look(at, lpn, word.into());
            at += 1;
        }
        for (&lpn, &word) in end.iter().zip(kept_end) {
            look(at, lpn, word.into());
            at += 1;
        }
        return found;
    }
    for (&lpn, next) in body.iter().zip(coming) {
        prefetch(map, next.index());
        look(at, lpn, 0);
        at += 1;
    }
    for &lpn in end {
        look(at, lpn, 0);
        at += 1;
    }
    found
}

/// The tables during a run of host writes. Each write has its fields at hand; the compiler would reload those
/// of [`Tables`] after every store.
pub(super) struct Rows<'a> {
    map: &'a mut [Ppn],
    owner: &'a mut [Lpn],
    words: &'a mut Words,
    shape: Shape,
    first_marked: u32,
    mapped: &'a mut u32,
    marked: &'a mut u32,
}

impl Rows<'_> {
    #[inline(always)]
    pub(super) const fn shape(&self) -> Shape {
        self.shape
    }

    /// Asks for the cache line of a page's entry.
    #[inline(always)]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        prefetch(self.map, lpn.index());
    }

    /// The table entry of a page; no page beyond the device has one.
    #[inline(always)]
    pub(super) fn entry(&self, lpn: Lpn) -> Option<Ppn> {
        self.map.get(lpn.index()).copied()
    }

    /// Whether a table entry leads to current data.
    #[inline(always)]
    pub(super) const fn is_current(&self, entry: Ppn) -> bool {
        entry.0 < self.first_marked
    }

    /// Where the current data of a page are. No page beyond the device has any.
    #[inline(always)]
    pub(super) fn current(&self, lpn: Lpn) -> Option<Ppn> {
        self.entry(lpn).filter(|&entry| self.is_current(entry))
    }

    /// Where the data are that a table entry leads to, marked or not.
    #[inline(always)]
    pub(super) fn data_at(&self, entry: Ppn) -> Option<Ppn> {
        if self.is_current(entry) {
            Some(entry)
        } else {
            (entry.0 < LOST.0).then_some(Ppn(entry.0 & !MARK))
        }
    }

    /// Asks for the cache line of the word of data.
    #[inline(always)]
    pub(super) fn prefetch_word(&self, at: Ppn) {
        self.words.prefetch(self.shape.slot_of(at));
    }

    /// The word of the data that a table entry leads to.
    #[inline(always)]
    pub(super) fn word_at(&self, kept: Kept, entry: Ppn) -> u64 {
        self.data_at(entry).map_or(0, |at| self.words.get(kept, self.shape.slot_of(at)))
    }

    /// The word of a page that is being programmed.
    #[inline(always)]
    pub(super) fn set_word(&mut self, kept: Kept, to: Target, word: u64) {
        self.words.set(kept, to.slot, word);
    }

    /// The newest data of a page, which `entry` led to, are in another physical page from now on.
    #[inline(always)]
    pub(super) fn point(&mut self, lpn: Lpn, entry: Ppn, to: Target) {
        self.owner[to.slot] = lpn;
        self.map[lpn.index()] = to.at;
        if !self.is_current(entry) {
            *self.mapped += 1;
            *self.marked -= u32::from(entry.0 < LOST.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_need_a_bit_that_no_page_number_does() {
        let geometry = |blocks_per_bank| Geometry {
            banks: 1,
            channels: 1,
            blocks_per_bank,
            pages_per_block: 64,
            page_size: 4096,
            oob_size: 0,
            header_pages: 0,
            system_blocks: 0,
        };
        let most = geometry((1 << 25) - 1);
        assert_eq!(first_marked(&most), MARK);
        let last = most.ppn(BlockId(most.blocks() - 1), most.pages_per_block - 1);
        assert!(last.0 < MARK && last.0 | MARK < LOST.0);
        assert_eq!(first_marked(&geometry(1 << 25)), LOST.0);
    }
}
