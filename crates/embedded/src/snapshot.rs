//! Blocks that are kept for snapshots: what RAM knows goes there, so that a mount need not look for it.
//!
//! A chip of [`LEAST_BLOCKS`] or more keeps its first blocks for them, where the store leaves room. What is saved there are
//! [elements](crate::tables): a mount takes the last ones, which make the tables of RAM whole, if the last page of these blocks
//! is the end of one, and looks on the chip for what was programmed since alone ([`tail`](crate::tail)).
//!
//! * What may be programmed before the next element is known from the last one: the blocks that were open, and a few that were
//!   free. Before anything else is, and before what was programmed since is erased, there is another element; or, where none
//!   can be written, a page that says that all of this is out of date.
//! * Where it is, or anything here cannot be read, a mount [looks at the chip](crate::mount) as if there were no snapshots.
//!
//! A block begins with a page that holds nothing but a number. The block with the greatest is the newest, and none but it
//! counts. It is never the one that is erased: what an erase that was cut off leaves of an older snapshot is older than it.

use super::{
    AREA, Area, Content, Error, Found, Ftl, Geometry, Nand, NandError, bisync,
    blocks::State,
    error::device,
    log::{LANES, NOWHERE},
    policy::{Placement, Victim},
    tables::{Pass, pages_of_tables},
};

/// Blocks that are kept for snapshots: two that hold them and one that is erased, and one in so many of the chip, as they are
/// erased more often than others.
const LEAST_KEPT: u32 = 3;
const BLOCKS_A_KEPT: u32 = 384;
/// Of a smaller chip a mount reads little as it is.
pub(crate) const LEAST_BLOCKS: u32 = 256;
/// Pages left behind what was saved, one of which says that it is out of date: another one may have been touched.
pub(crate) const BEHIND: u32 = 2;
/// Bits of a page's number that say which of an element it is. Those before them say of how many.
pub(crate) const INDEX_BITS: u32 = 9;
/// Free blocks that may be opened before the next element.
pub(crate) const ANNOUNCED: usize = 4;
/// Of the first page of a block: elements go on there that begin in another block. 0 where none of them counts any more.
const GOES_ON: u32 = 1;
/// Erases of a block, and marks, that fail one after another.
const MOST_TRIES: u32 = 8;
/// Places in the tables of which it is known where the last element begins that passed them.
pub(crate) const MARKS: usize = 4;

/// What is known of the snapshots on the chip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshots {
    /// Blocks that are kept for them, from the first one on.
    pub(crate) blocks: u32,
    /// The block of the newest, and the page that is programmed next there.
    pub(crate) block: u32,
    pub(crate) next: u32,
    /// The number of the newest; 0 where there are none.
    pub(crate) number: u64,
    /// A mount may take them: they are kept up, or a page must say that they are out of date before anything changes.
    pub(crate) is_believed: bool,
    /// They are kept up: what changed since is in the blocks of the tail, and noted in RAM.
    pub(crate) is_kept_up: bool,
    /// RAM holds what they say.
    pub(crate) is_saved: bool,
    /// The buffer holds what is about to be programmed.
    pub(crate) is_busy: bool,
    /// Blocks whose first page cannot be read, as bits.
    pub(crate) torn: u32,
    /// The last page of the last element.
    pub(crate) last: u32,
    /// Where the next element's part of the tables begins.
    pub(crate) roll: u32,
    /// The pages where elements begin that passed the [marks](crate::tail), and the one from which on the tables are whole.
    pub(crate) marks: [u32; MARKS],
    pub(crate) window: u32,
    /// Pages of an element.
    pub(crate) pages: u32,
    /// The number of the last program that they know of.
    pub(crate) floor: u64,
    /// Free blocks that may be opened then.
    pub(crate) announced: [u32; ANNOUNCED],
    /// Blocks where programs behind that one may be, and the pages from which on: those that were open, and the announced ones.
    pub(crate) tail: [(u32, u16); LANES + ANNOUNCED],
    /// Programs since the mount when they were last tried to be kept up in vain.
    pub(crate) since: u64,
}

impl Snapshots {
    pub(crate) const NONE: Self = Self {
        blocks: 0,
        block: NOWHERE,
        next: 0,
        number: 0,
        is_believed: false,
        is_kept_up: false,
        is_saved: false,
        is_busy: false,
        torn: 0,
        last: NOWHERE,
        roll: 0,
        marks: [NOWHERE; MARKS],
        window: NOWHERE,
        pages: 1,
        floor: 0,
        announced: [NOWHERE; ANNOUNCED],
        tail: [(NOWHERE, 0); LANES + ANNOUNCED],
        since: 0,
    };
}

/// Whether a page of a block is the last one of an element in it.
const fn is_end(area: &Area, page: u32) -> bool {
    let (index, count) = (area.number & ((1 << INDEX_BITS) - 1), area.number >> INDEX_BITS);
    matches!(area.content, Content::Snapshot) && index + 1 == count && count <= page
}

/// Blocks of a chip that are kept for snapshots.
pub(crate) const fn kept_blocks(shape: &Geometry) -> u32 {
    match shape.blocks / BLOCKS_A_KEPT {
        kept @ LEAST_KEPT..u32::BITS => kept,
        u32::BITS.. => u32::BITS,
        _ => LEAST_KEPT,
    }
}

/// Whether blocks of a chip can be kept for snapshots.
pub(crate) const fn fits(shape: &Geometry, logical_pages: u32) -> bool {
    shape.blocks >= LEAST_BLOCKS
        && 1 + pages_of_tables(shape, logical_pages) + BEHIND <= shape.pages
}

#[bisync]
impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Whether this driver of this chip keeps snapshots: one whose operations return before they are done would have to wait for
    /// each of them.
    pub(crate) fn takes_snapshots(&self) -> bool {
        self.nand.keeps_snapshots() && !self.nand.is_cached()
    }

    /// Finds the newest snapshot, by the first page of each block that may hold any, and by the last page of the newest block.
    pub(crate) async fn find_snapshots(&mut self) -> Result<(), Error> {
        self.snapshots = Snapshots::NONE;
        if self.shape.blocks < LEAST_BLOCKS {
            return Ok(());
        }
        let mut found = Snapshots::NONE;
        for block in 0..kept_blocks(&self.shape) {
            match self.first_of_snapshot_block(block).await? {
                Some(Found::Page(Area { content: Content::Snapshot, sequence, .. }))
                    if sequence > found.number =>
                {
                    (found.block, found.number) = (block, sequence);
                }
                Some(Found::Torn) => found.torn |= 1 << block,
                _ => {}
            }
        }
        if found.number == 0 {
            // Blocks of data, perhaps.
            self.snapshots.torn = found.torn;
            return Ok(());
        }
        found.blocks = kept_blocks(&self.shape);
        let mut page = self.last_of_snapshot_block(found.block).await?;
        found.next = page % self.pages() + BEHIND;
        let mut last = self.area(page).await?;
        if let Found::Page(Area { number: GOES_ON, .. }) = last
            && let Some((_, before)) = self.snapshot_block_beside(found.number, false).await?
        {
            // The block was opened for an element that was not begun.
            page = self.last_of_snapshot_block(before).await?;
            last = self.area(page).await?;
        }
        match last {
            Found::Page(area) => {
                found.number = area.sequence.max(found.number);
                found.is_believed = is_end(&area, page % self.pages());
                found.is_saved = found.is_believed;
            }
            // It may be any of those that fit into the block, and the end of an element that another mount can read.
            _ => {
                found.number += u64::from(self.shape.pages);
                found.is_believed = true;
            }
        }
        found.last = page;
        found.is_believed |= found.torn > 0;
        self.snapshots = found;
        Ok(())
    }

    /// Where the page that would be programmed next is not blank, though its area is, nothing more is programmed into its block.
    pub(crate) async fn leave_touched_page(&mut self) -> Result<(), Error> {
        let Snapshots { block, next, .. } = self.snapshots;
        if block != NOWHERE
            && next < self.shape.pages
            && !self.is_untouched(block * self.shape.pages + next).await?
        {
            // No two pages with blank areas are ever left out.
            self.snapshots.next = self.shape.pages;
        }
        Ok(())
    }

    /// The last page of a block that is not blank. Behind a loss of power one page is left out, and never two.
    async fn last_of_snapshot_block(&mut self, block: u32) -> Result<u32, Error> {
        let first = block * self.shape.pages;
        let (mut page, mut end) = (0, self.shape.pages);
        while end - page > 1 {
            let middle = page.midpoint(end);
            if self.area(first + middle).await? != Found::Blank {
                page = middle;
            } else if middle + 1 < end && self.area(first + middle + 1).await? != Found::Blank {
                page = middle + 1;
            } else {
                end = middle;
            }
        }
        Ok(first + page)
    }

    /// The block that was opened next after that number, or last before it, and the number of its first page.
    pub(crate) async fn snapshot_block_beside(
        &mut self,
        number: u64,
        is_after: bool,
    ) -> Result<Option<(u64, u32)>, Error> {
        let mut beside: Option<(u64, u32)> = None;
        for block in 0..kept_blocks(&self.shape) {
            let Some(Found::Page(Area { content: Content::Snapshot, sequence, .. })) =
                self.first_of_snapshot_block(block).await?
            else {
                continue;
            };
            let is_there = if is_after { sequence > number } else { sequence < number };
            let is_nearer =
                |(other, _): (u64, u32)| sequence.abs_diff(number) < other.abs_diff(number);
            if is_there && beside.is_none_or(is_nearer) {
                beside = Some((sequence, block));
            }
        }
        Ok(beside)
    }

    /// What stands beside the first page of one of these blocks; nothing if it is bad.
    pub(crate) async fn first_of_snapshot_block(
        &mut self,
        block: u32,
    ) -> Result<Option<Found>, Error> {
        if self.nand.is_bad(block).await.map_err(device)? {
            self.blocks[block as usize].retire();
        }
        let is_good = !self.blocks[block as usize].is_retired();
        Ok(if is_good { Some(self.area(block * self.shape.pages).await?) } else { None })
    }

    /// What blocks are kept for snapshots is not written, nor cleaned. Where this driver takes none, one that another left is found
    /// by now: it is out of date before anything changes.
    pub(crate) async fn reserve_snapshot_blocks(&mut self) -> Result<(), Error> {
        if self.snapshots.blocks > 0 && !self.takes_snapshots() {
            self.find_snapshots().await?;
            self.snapshots.blocks = kept_blocks(&self.shape);
            self.snapshots.next = self.shape.pages;
        }
        self.snapshots.is_believed |= self.snapshots.blocks > 0 && self.snapshots.torn > 0;
        for block in 0..self.snapshots.blocks {
            let home = &mut self.blocks[block as usize];
            if !home.is_retired() && home.state() != State::Bad {
                self.free -= u32::from(home.is_free());
                home.set_state(State::Bad);
                home.opened = 0;
            }
        }
        Ok(())
    }

    /// Whether a block is kept for snapshots, and good.
    pub(crate) fn is_snapshot_block(&self, block: u32) -> bool {
        block < self.snapshots.blocks && !self.blocks[block as usize].is_retired()
    }

    /// Whether RAM holds what snapshots say, and no changes of the map.
    pub(crate) fn is_snapshot(&self) -> bool {
        self.snapshots.is_saved && self.snapshots.window != NOWHERE && self.cache.is_empty()
    }

    /// Saves all of the tables, where blocks are kept for them: the next mount reads little more than these.
    pub(crate) async fn save_all(&mut self) -> Result<(), Error> {
        let mut is_next = self.snapshots.is_kept_up;
        // No element from before goes once around from where it began; the window holds until these do.
        (self.snapshots.roll, self.snapshots.marks) = (0, [NOWHERE; MARKS]);
        loop {
            let number = self.snapshots.number;
            self.save_element(is_next).await?;
            let is_done = self.snapshots.roll == 0;
            if is_done || !self.snapshots.is_saved || self.snapshots.number == number {
                return Ok(());
            }
            is_next = true;
        }
    }

    /// Writes an element: the next one, or one with which the tables begin anew.
    pub(crate) async fn save_element(&mut self, is_next: bool) -> Result<(), Error> {
        self.snapshots.since = self.counters.programs();
        if !self.can_save() {
            return Ok(());
        }
        self.snapshots.is_kept_up = false;
        if !is_next {
            (self.snapshots.roll, self.snapshots.window) = (0, NOWHERE);
            self.snapshots.marks = [NOWHERE; MARKS];
            self.snapshots.tail = Snapshots::NONE.tail;
            self.cache.forget_notes();
        }
        let Snapshots { block, next, torn, pages: count, .. } = self.snapshots;
        let has_room = block != NOWHERE && next + count + BEHIND <= self.shape.pages;
        if 1 + count + BEHIND > self.shape.pages
            || (!has_room || torn > 0)
                && !self.open_snapshot_block(if is_next { GOES_ON } else { 0 }).await?
        {
            return Ok(());
        }
        self.announce();
        let begin = self.snapshots.block * self.shape.pages + self.snapshots.next;
        let end = self.end_of_part(count).await?;
        self.pass_marks(begin, end);
        self.snapshots.number += 1;
        match self.pass(&mut Pass::to_save(count)).await {
            Err(Error::WornOut) => {
                self.retire_snapshot_block(self.snapshots.block).await?;
                return self.supersede_snapshot().await;
            }
            done => done?,
        }
        self.nand.sync().await.map_err(device)?;
        self.snapshots.is_saved = true;
        self.begin_tail();
        self.erase_torn().await
    }

    /// Erases blocks whose first page cannot be read, as soon as another one is newer than all that they may hold.
    async fn erase_torn(&mut self) -> Result<(), Error> {
        let torn = core::mem::take(&mut self.snapshots.torn);
        for block in (0..kept_blocks(&self.shape)).filter(|block| torn >> block & 1 == 1) {
            // It may be the one that was opened, or have failed then.
            if block != self.snapshots.block && self.is_snapshot_block(block) {
                self.erase_snapshot_block(block).await?;
            }
        }
        Ok(())
    }

    /// Before anything is programmed or erased that snapshots do not foresee: no mount takes them any more.
    pub(crate) async fn outdate_snapshot(&mut self) -> Result<(), Error> {
        (self.snapshots.is_saved, self.snapshots.is_kept_up) = (false, false);
        if !self.snapshots.is_believed {
            return Ok(());
        }
        self.snapshots.since = self.counters.programs();
        let Snapshots { block, next, torn, .. } = self.snapshots;
        // A block whose first page cannot be read now may be the newest to another mount.
        if torn == 0 && next < self.shape.pages && !self.blocks[block as usize].is_retired() {
            match self.program_snapshot_page(0).await {
                Ok(()) => {
                    self.snapshots.is_believed = false;
                    return self.nand.sync().await.map_err(device);
                }
                Err(NandError::Device) => return Err(Error::Device),
                Err(_) => self.retire_snapshot_block(block).await?,
            }
        }
        self.supersede_snapshot().await
    }

    /// Where nothing can be said behind the newest snapshot, another block is newer; or, if there is none, none of them is left
    /// that a mount would take.
    async fn supersede_snapshot(&mut self) -> Result<(), Error> {
        if self.open_snapshot_block(0).await? {
            return self.erase_torn().await;
        }
        for block in 0..kept_blocks(&self.shape) {
            let mut tries = 0;
            while self.is_taken(block).await? {
                // A chip that takes neither the erase nor the mark may take it the next time.
                if tries == MOST_TRIES {
                    return Err(Error::WornOut);
                }
                tries += 1;
                self.erase_snapshot_block(block).await?;
            }
        }
        (self.snapshots.block, self.snapshots.is_believed) = (NOWHERE, false);
        Ok(())
    }

    /// Whether a mount takes what is in a block, if it is the newest.
    async fn is_taken(&mut self, block: u32) -> Result<bool, Error> {
        if self.nand.is_bad(block).await.map_err(device)? {
            return Ok(false);
        }
        for page in (1..self.shape.pages).rev() {
            match self.area(block * self.shape.pages + page).await? {
                Found::Blank => {}
                Found::Page(area) => return Ok(is_end(&area, page)),
                Found::Torn => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Makes another block the newest, the oldest one whose first page can be read; false if there is none.
    pub(crate) async fn open_snapshot_block(&mut self, number: u32) -> Result<bool, Error> {
        loop {
            let mut oldest = (u64::MAX, NOWHERE);
            for block in 0..kept_blocks(&self.shape) {
                if block == self.snapshots.block {
                    continue;
                }
                let number = match self.first_of_snapshot_block(block).await? {
                    Some(Found::Page(area)) => area.sequence,
                    Some(Found::Blank) => 0,
                    Some(Found::Torn) => u64::MAX - 1,
                    None => continue,
                };
                oldest = oldest.min((number, block));
            }
            let (_, block) = oldest;
            if block == NOWHERE {
                return Ok(false);
            }
            let is_gone = |page: u32| page / self.shape.pages.max(1) == block;
            for mark in self.snapshots.marks.iter_mut().chain([&mut self.snapshots.window]) {
                if is_gone(*mark) {
                    *mark = NOWHERE;
                }
            }
            if !self.erase_snapshot_block(block).await? {
                continue;
            }
            // Beyond all that a block may hold whose first page cannot be read, and that was opened behind this one.
            self.snapshots.number += 3 * u64::from(self.shape.pages);
            match self.program_beside(block, 0, number).await {
                Ok(()) => {
                    (self.snapshots.block, self.snapshots.next) = (block, 1);
                    // Where elements go on there, a mount takes those before.
                    self.snapshots.is_believed &= number == GOES_ON;
                    return self.nand.sync().await.map_err(device).map(|()| true);
                }
                Err(NandError::Device) => return Err(Error::Device),
                Err(_) => self.retire_snapshot_block(block).await?,
            }
        }
    }

    /// Erases one of these blocks; false if it failed, and is bad from then on.
    async fn erase_snapshot_block(&mut self, block: u32) -> Result<bool, Error> {
        match self.nand.erase(block).await {
            Ok(()) => {
                if let Some(home) = self.blocks.get_mut(block as usize) {
                    home.erases = home.erases.saturating_add(1);
                }
                self.counters.erases += 1;
                self.nand.sync().await.map_err(device)?;
                Ok(true)
            }
            Err(NandError::Device) => Err(Error::Device),
            Err(_) => self.retire_snapshot_block(block).await.map(|()| false),
        }
    }

    async fn retire_snapshot_block(&mut self, block: u32) -> Result<(), Error> {
        self.counters.failed_blocks += 1;
        if let Some(home) = self.blocks.get_mut(block as usize) {
            home.retire();
        }
        self.nand.mark_bad(block).await.map_err(device)
    }

    /// Programs the next page of the newest block with what the buffer holds.
    pub(crate) async fn program_snapshot_page(&mut self, number: u32) -> Result<(), NandError> {
        let Snapshots { block, next, .. } = self.snapshots;
        // Whatever comes of it, the page is used up, and what is there may be the end of a snapshot.
        self.snapshots.next += 1;
        self.snapshots.is_believed = true;
        let done = self.program_beside(block, next, number).await;
        if done == Err(NandError::Device) {
            // It may be blank, and so may be the one before: no two blank pages are ever left out.
            self.snapshots.next = self.shape.pages;
        }
        done
    }

    /// Programs a page of these blocks with what the buffer holds, and a number: which page of how many it is; 0 for none.
    async fn program_beside(
        &mut self,
        block: u32,
        page: u32,
        number: u32,
    ) -> Result<(), NandError> {
        let mut area = [0; AREA];
        Area {
            content: Content::Snapshot,
            erases: u32::from(self.blocks[block as usize].erases),
            number,
            after: None,
            sequence: self.snapshots.number,
            before: None,
            void: 0,
            ones: false,
        }
        .encode_into(&mut area);
        self.counters.map_writes += 1;
        self.nand.program(block * self.shape.pages + page, &self.buffer, &area).await
    }
}
