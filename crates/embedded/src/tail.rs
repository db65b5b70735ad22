//! Keeping snapshots up while the store is written, and finding at a mount what was programmed since the last of them.
//!
//! What is programmed behind an [element](crate::tables) is the *tail* of the log. RAM notes what changes by it. When there is
//! no room for another note, the next element says all of it, and the tail begins anew. So a mount reads some elements and
//! the areas of the tail, however large the chip is.
//!
//! The invariant: *while a mount would take the snapshots, all programs behind them are in the blocks of the tail, and none of
//! these was erased.* Whatever would break it ([`open_block`](Ftl::open_block), [`erase`](Ftl::erase), a block that fails)
//! writes an element before, or says that the snapshots are out of date.
//!
//! A mount treats the tail as it does a [whole chip](crate::mount): the same code tells what a cut may have touched. What the
//! snapshots know it does not look for: pages from before the tail that cannot be read any more are errors when they are read,
//! and nothing older takes their place. Where a page of the map is lost in the tail, or RAM has no room for what is found, the
//! mount looks at the whole chip.

use super::{
    Area, Content, Error, Found, Ftl, Nand, bisync,
    blocks::State,
    cache::{LOST, NONE, Recent},
    log::NOWHERE,
    policy::{Placement, Victim},
    snapshot::{ANNOUNCED, BEHIND, INDEX_BITS, MARKS},
    survey::Scan,
    tables::{Pass, least_pages_of_element, pages_of_element},
};

/// Notes of changes, and of all slots of RAM for changes one in so many; fewer than the last would cost an element too often.
const MOST_NOTES: usize = 96;
const SLOTS_A_NOTE: usize = 10;
const LEAST_NOTES: usize = 24;
/// Notes for each page of an element.
const NOTES_A_PAGE: u32 = 24;
/// Notes after which there is another element as long as the tables are not whole.
const FEW_NOTES: usize = 8;
/// Blank pages one after another of which the last one is behind all that were programmed.
const BLANK: u32 = 6;
/// Programs after which snapshots that are out of date are written anew.
const ANEW: u64 = 32;

#[bisync]
impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// How many changes are noted, once it is known what RAM has to hold.
    pub(crate) fn size_notes(&mut self) {
        let slots = self.cache.slots();
        let pages = self.logical_pages.div_ceil(self.entries()) as usize;
        let room = (slots / SLOTS_A_NOTE).min(MOST_NOTES).min(slots.saturating_sub(2 * pages));
        // One block is erased while two others, at least, hold once and a third around the tables.
        let most = self.shape.pages.saturating_sub(1 + BEHIND) * 2 * 3 / 4;
        let is_possible = self.snapshots.blocks > 0 && self.takes_snapshots();
        let (mut best, mut pages) = (0, least_pages_of_element(&self.shape));
        for notes in (LEAST_NOTES..=room).rev().step_by(8).filter(|_| is_possible) {
            let logical_pages = self.logical_pages;
            let Some(count) = pages_of_element(&self.shape, logical_pages, slots, notes, most)
            else {
                continue;
            };
            let is_cheap = count * NOTES_A_PAGE <= notes as u32;
            if is_cheap && (best == 0 || count * (best as u32) < pages * notes as u32) {
                (best, pages) = (notes, count);
            }
        }
        self.snapshots.pages = pages;
        self.cache.keep_notes(best);
    }

    /// Programs for snapshots in one write at most: an element whose time has come and one that comes before it, each in a block of
    /// its own.
    pub(crate) fn longest_save(&self) -> u32 {
        if self.cache.room() > 0 { 2 * (self.snapshots.pages + 1) } else { 0 }
    }

    /// Notes a change; where there is no room for it, snapshots are out of date.
    pub(crate) fn note(&mut self, number: u32, is_map: bool, old: u32) {
        if self.snapshots.is_kept_up {
            let block = if old < LOST { old / self.pages() } else { NOWHERE };
            self.snapshots.is_kept_up = self.cache.note(Recent { number, is_map, block });
        }
    }

    /// Whether what RAM holds can be saved: nothing is doubtful, and the buffer is free.
    pub(crate) fn can_save(&self) -> bool {
        self.snapshots.blocks > 0
            && self.takes_snapshots()
            && self.is_mounted
            && self.is_settled
            && !self.is_map_hurt
            && self.newest == NOWHERE
            && self.before.is_some()
            && !self.snapshots.is_busy
            && self.open.iter().all(|open| open.cut == 0)
    }

    /// Before something is programmed: sees to it that there is room to note it, and a block to open that a mount looks at.
    pub(crate) async fn keep_up(&mut self) -> Result<(), Error> {
        let room = self.cache.room();
        if room == 0 {
            return Ok(());
        }
        let is_early = self.fresh > 0;
        if !self.snapshots.is_kept_up {
            // Early after a mount soon, and at once: the power may not last.
            let programs = self.counters.programs() - self.snapshots.since;
            return match is_early {
                true if programs >= ANEW / 4 => self.save_all().await,
                false if programs >= ANEW => self.save_element(false).await,
                _ => Ok(()),
            };
        }
        // Where the power comes and goes, a mount may find more, and needs a block before anything can be saved.
        let (most, least) = if is_early { (room - room / 4, 2) } else { (room, 1) };
        let (notes, announced) = (self.cache.notes(), self.announced_left());
        let is_due = notes >= most
            || announced < least && self.free > announced
            || self.snapshots.window == NOWHERE && notes >= FEW_NOTES;
        if is_due { self.save_element(true).await } else { Ok(()) }
    }

    /// Free blocks that are left to be opened before the next element.
    pub(crate) fn announced_left(&self) -> u32 {
        let announced = self.snapshots.announced.iter();
        announced.filter(|&&block| self.blocks[block as usize].is_free()).count() as u32
    }

    /// Writes an element before its time, if snapshots are kept up and nothing is doubtful.
    pub(crate) async fn save_early(&mut self) -> Result<(), Error> {
        if self.snapshots.is_kept_up { self.save_element(true).await } else { Ok(()) }
    }

    /// An element begins in a page, and its part of the tables begins where the last one ended. From the one on that passed a mark
    /// the time before, elements go once around: a mount needs no older ones.
    pub(crate) fn pass_marks(&mut self, begin: u32, end: u32) {
        let first = self.shape.blocks + self.logical_pages.div_ceil(self.entries());
        let from = self.snapshots.roll;
        for index in 0..MARKS {
            let mark = match index as u32 {
                0 => 0,
                index => first + self.logical_pages / (MARKS as u32 - 1) * (index - 1),
            };
            // What begins at 0 ends there where it goes all around.
            if from <= mark && (mark < end || end == 0) {
                let before = core::mem::replace(&mut self.snapshots.marks[index], begin);
                if before != NOWHERE {
                    self.snapshots.window = before;
                }
            }
        }
        if end == 0 && self.snapshots.marks[0] != NOWHERE {
            self.snapshots.window = self.snapshots.marks[0];
        }
    }

    /// Before a block of the tail is erased: what it said is saved, or the snapshots are out of date.
    pub(crate) async fn let_go(&mut self, block: u32) -> Result<(), Error> {
        let is_of_tail = |this: &Self| this.is_written(block) && this.tail_from(block).is_some();
        if is_of_tail(self) {
            self.save_early().await?;
        }
        if !self.snapshots.is_kept_up || is_of_tail(self) {
            return self.outdate_snapshot().await;
        }
        self.snapshots.is_saved = false;
        Ok(())
    }

    /// Says which free blocks may be opened before the next element: those that would be opened first.
    pub(crate) fn announce(&mut self) {
        for index in 0..ANNOUNCED {
            let chosen = self.snapshots.announced;
            let free = self.blocks.iter().zip(0_u32..).filter(|(block, number)| {
                block.is_free() && !chosen.iter().take(index).any(|known| known == number)
            });
            let best = free.min_by_key(|(block, _)| (block.rank(), block.erases));
            self.snapshots.announced[index] = best.map_or(NOWHERE, |(_, block)| block);
        }
    }

    /// The snapshots say all: the tail begins here.
    pub(crate) fn begin_tail(&mut self) {
        self.snapshots.floor = self.counts;
        self.cache.forget_notes();
        let open = self.open.iter().map(|open| {
            let has_room = u32::from(open.next) < self.shape.pages;
            if has_room { (open.block, open.next) } else { (NOWHERE, 0) }
        });
        let announced = self.snapshots.announced.iter().map(|&block| (block, 0));
        for (to, from) in self.snapshots.tail.iter_mut().zip(open.chain(announced)) {
            *to = from;
        }
        self.snapshots.is_kept_up = self.cache.room() > 0;
    }

    /// The page of a block from which on programs of the tail may be.
    pub(crate) fn tail_from(&self, block: u32) -> Option<u32> {
        let mut tail = self.snapshots.tail.iter();
        tail.find(|(known, _)| *known == block).map(|(_, from)| (*from).into())
    }

    /// A page of a block behind all that were programmed from `start` on: so many blank ones are never left out.
    pub(crate) async fn end_of_tail(&mut self, block: u32, start: u32) -> Result<u32, Error> {
        let mut end = start;
        while end < self.shape.pages {
            let window = end..(end + BLANK).min(self.shape.pages);
            let mut is_blank = true;
            for page in window.clone().rev() {
                if self.area(block * self.shape.pages + page).await? != Found::Blank {
                    is_blank = false;
                    break;
                }
            }
            if is_blank {
                break;
            }
            end = window.end;
        }
        Ok(end)
    }

    /// Whether a page is where the tail is.
    fn is_in_tail(&self, at: u32) -> bool {
        at < LOST && self.tail_from(at / self.pages()).is_some_and(|from| from <= at % self.pages())
    }

    /// The number of the program of a page that this look at the chip knows: of one before the tail a number that is not less.
    pub(crate) async fn sequence_of_known(&mut self, at: u32, scan: &Scan) -> Result<u64, Error> {
        if scan.is_tail && !self.is_in_tail(at) {
            return Ok(scan.floor);
        }
        self.sequence_of_found(at).await
    }

    /// Takes the elements that make the tables whole. False if one of them is not what it should be.
    pub(crate) async fn take_snapshots(&mut self) -> Result<bool, Error> {
        match self.take_until(self.snapshots.last).await {
            Err(Error::Device) => return Err(Error::Device),
            Err(_) | Ok(false) => return Ok(false),
            Ok(true) => {}
        }
        self.begin_tail();
        for block in self.blocks.iter_mut().filter(|block| block.state() == State::Open) {
            block.set_state(State::Closed);
        }
        // These were free, whether or not an element said so; what the power cut off may have touched them.
        for block in self.snapshots.announced {
            if let Some(home) = self.blocks.get_mut(block as usize)
                && home.state() != State::Bad
            {
                home.set_state(State::Stale);
                home.set_valid(0);
            }
        }
        self.free = self.blocks.iter().filter(|block| block.is_free()).count() as u32;
        Ok(true)
    }

    async fn take_until(&mut self, last: u32) -> Result<bool, Error> {
        let Some(Area { number, sequence, .. }) = self.known_area(last).await? else {
            return Ok(false);
        };
        let count = number >> INDEX_BITS;
        let Some(begin) = (last + 1).checked_sub(count) else { return Ok(false) };
        let pages = self.shape.pages.max(1);
        let mut page = self.window_of(Pass::to_take(begin)).await?;
        // Their numbers follow each other: none is missing.
        let mut expected = None;
        while page <= last || page / pages != last / pages {
            if !self.is_snapshot_block(page / pages) {
                return Ok(false);
            }
            let mut pass = Pass::to_take(page);
            match self.pass(&mut pass).await {
                // A page that a loss of power may have touched was left out, and so are those at the end of a block.
                Err(Error::Unreadable(_)) if self.area(page).await? == Found::Blank => {
                    page += 1;
                }
                done => {
                    done?;
                    if expected.is_some_and(|number| number != pass.number) {
                        return Ok(false);
                    }
                    expected = Some(pass.number + 1);
                    page += pass.count;
                }
            }
            if page.is_multiple_of(pages) {
                // Behind the end of a block the next newer one goes on.
                let first = self.first_of_snapshot_block(page / pages - 1).await?;
                let Some(Found::Page(Area { sequence, .. })) = first else { return Ok(false) };
                let Some((number, block)) = self.snapshot_block_beside(sequence, true).await?
                else {
                    return Ok(false);
                };
                (page, expected) = (block * pages + 1, Some(number + 1));
            }
        }
        Ok(page == last + 1 && expected == Some(sequence + 1))
    }

    /// Which of the announced blocks were opened since.
    pub(crate) async fn find_blocks_of_tail(&mut self, scan: &mut Scan) -> Result<(), Error> {
        (scan.floor, scan.newest) = (self.snapshots.floor, self.snapshots.floor);
        scan.seen = self.sequence;
        // The last program before was done: the next one need not say so.
        (self.newest, self.before) = (self.last, None);
        for block in self.snapshots.announced {
            if block >= self.shape.blocks || !self.blocks[block as usize].is_free() {
                continue;
            }
            match self.first_area(block).await? {
                (Some(area), _) if area.sequence > scan.floor => {
                    self.free -= 1;
                    self.found_block(block, &area);
                    if area.after.is_none() {
                        self.blocks[block as usize].erases = area.erases.min(0xffff) as u16;
                    }
                }
                (None, torn @ 1..) => {
                    scan.torn += torn;
                    self.free -= 1;
                    self.blocks[block as usize].keep(0);
                    scan.is_cut = true;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A logical page was written in the tail, and nothing newer is known of it.
    pub(crate) async fn change_in_tail(
        &mut self,
        lpn: u32,
        page: u32,
        scan: &mut Scan,
    ) -> Result<(), Error> {
        if self.cache.is_full() && self.cache.get(lpn).is_none() {
            scan.gives_up = true;
            return Ok(());
        }
        // What a page of the map in the tail leads to is counted all at once.
        let map_page = self.directory[(lpn / self.entries()) as usize];
        let mut old = NONE;
        if !self.is_in_tail(map_page) {
            old = self.replaced(lpn).await?;
            self.count(page);
        }
        self.move_to(lpn, old, page);
        Ok(())
    }

    /// A page of the map was written in the tail: what it has is no change any more.
    #[inline(never)]
    pub(crate) async fn map_page_in_tail(
        &mut self,
        page: u32,
        area: &Area,
        scan: &mut Scan,
    ) -> Result<(), Error> {
        let Area { number, sequence, .. } = *area;
        if number >= self.logical_pages.div_ceil(self.entries()) {
            return Ok(());
        }
        let old = self.directory[number as usize];
        if self.is_in_tail(old) {
            if self.sequence_of_found(old).await? >= sequence {
                return Ok(());
            }
        } else if old < LOST && !self.is_map_page(old, number).await? {
            // It was erased since: what it led to is not known.
            scan.recounts = true;
        } else {
            self.gather_map_page(number).await?;
            self.each_gathered(number, |this, at| this.invalidate(at));
            scan.gives_up |= self.is_map_hurt;
        }
        if old < LOST {
            self.invalidate(old);
        }
        self.count(page);
        self.directory[number as usize] = page;
        let first = number * self.map_entries;
        self.cache.remove(first, first + self.map_entries);
        self.note(number, true, NONE);
        Ok(())
    }

    /// Whether that page of the map is there, and whole.
    async fn is_map_page(&mut self, at: u32, number: u32) -> Result<bool, Error> {
        let area = self.known_area(at).await?;
        let is_it = |area: &Area| area.content == Content::Map && area.number == number;
        Ok(area.is_some_and(|area| is_it(&area)) && self.is_whole(at).await?)
    }

    /// Counts what the pages of the map in the tail lead to.
    pub(crate) async fn count_tail(&mut self) -> Result<(), Error> {
        for page in 0..self.logical_pages.div_ceil(self.entries()) {
            if self.is_in_tail(self.directory[page as usize]) {
                self.gather_map_page(page).await?;
                self.each_gathered(page, Self::count);
            }
        }
        Ok(())
    }

    /// Tells where the page of the map that the buffer holds leads.
    pub(crate) fn each_gathered(&mut self, page: u32, mut tell: impl FnMut(&mut Self, u32)) {
        let first = page * self.map_entries;
        for index in 0..self.map_entries.min(self.logical_pages - first) {
            let at = self.entry(index);
            if at < LOST {
                tell(self, at);
            }
        }
    }

    /// Whether nothing was programmed behind the snapshots, as far as can be seen.
    pub(crate) const fn is_tail_empty(&self, scan: &Scan) -> bool {
        scan.is_tail && scan.newest == scan.floor
    }
}
