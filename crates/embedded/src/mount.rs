//! Finding a store on its chip: by [snapshots](crate::snapshot) of what RAM knew and what was programmed [since](crate::tail); or,
//! where there are none, without a table of pages:
//!
//! 1. The area of each block's first page says what the block is. All pages of the map's blocks are looked at, and
//!    of each page of the map the newest copy counts ([`find_map`](crate::find_map)).
//! 2. The newest of them names the horizon. Data that were written after it, and after the page of the map that has
//!    them, are changes of the map that were lost with the RAM: they are found in the blocks that end behind it
//!    ([`find_changes`](crate::find_changes)).
//! 3. The page that was programmed last may have been cut off. If it cannot be read, all is found once more without it.
//!    Any other page that cannot be read was whole once: the map leads to it, and reading it is an error.
//! 4. Where even the area of a page cannot be read, another one says what it was: then that is an error, and no older copy
//!    takes its place ([`find_lost`](crate::find_lost)).
//! 5. Every page of the map is read once, to count the valid pages of each block.
//! 6. Blocks that were open are open again ([`resume`](crate::resume)).

use super::{
    Before, Content, Error, Found, Ftl, Memory, Nand, NandError,
    area::MOST_LEFT_OUT,
    bisync,
    blocks::{MOST_PAGES, NO_END, State},
    header,
    log::{EARLY, LANES, LEFT_OUT, NOWHERE, Open},
    policy::{Placement, Victim},
    snapshot::Snapshots,
    survey::Scan,
};

/// Looks at the chip at most: after each something is known that never counts.
const MOST_SCANS: u32 = 32;

/// Programs that a loss of power may hide beside those whose pages are torn: failed ones that left nothing.
const HIDDEN: u64 = 8;

#[bisync]
impl<'a, N: Nand, V: Victim, P: Placement> Ftl<'a, N, V, P> {
    /// Mounts the store of a chip, in whatever state a loss of power left it.
    ///
    /// # Errors
    /// [`Error::NotFormatted`], [`Error::Version`], [`Error::Shape`], [`Error::Memory`],
    /// [`Error::MapUnreadable`], [`Error::Device`].
    pub async fn mount(
        nand: N,
        memory: Memory<'a>,
        victim: V,
        placement: P,
    ) -> Result<Self, Error> {
        let mut ftl = Self::unmounted(nand, memory, victim, placement)?;
        ftl.remount().await?;
        Ok(ftl)
    }

    /// Mounts the store again: what the chip holds may be something else than was known.
    ///
    /// # Errors
    /// Those of [`mount`](Self::mount). After one every request mounts first.
    pub async fn remount(&mut self) -> Result<(), Error> {
        self.enter();
        let done = self.mount_again().await;
        self.exit();
        done
    }

    pub(crate) async fn mount_again(&mut self) -> Result<(), Error> {
        self.is_mounted = false;
        self.programs_before = self.counters.programs() as u32;
        let done = self.find_all().await;
        self.is_mounted = done.is_ok();
        if done.is_err() {
            // The next change, or read, tries it again.
            self.logical_pages = self.mounted_pages;
        }
        self.mounted_pages = self.logical_pages;
        done
    }

    async fn find_all(&mut self) -> Result<(), Error> {
        self.snapshots = Snapshots::NONE;
        if self.takes_snapshots() {
            self.find_snapshots().await?;
            self.leave_touched_page().await?;
            if self.snapshots.is_saved && self.snapshots.torn == 0 && self.find(true).await? {
                return Ok(());
            }
        }
        (self.snapshots.is_saved, self.snapshots.is_kept_up) = (false, false);
        self.snapshots.since = self.counters.programs();
        // What they hold may be what an erase left that was cut off: it is erased before it is written.
        self.snapshots.next = self.shape.pages;
        self.find(false).await.map(drop)
    }

    /// Finds all on the whole chip; or takes the snapshots, and finds what was programmed since: false if that cannot be told.
    async fn find(&mut self, is_tail: bool) -> Result<bool, Error> {
        let mut may_be_cut = true;
        let mut is_found = false;
        let mut scan = Scan::default();
        for _ in 0..MOST_SCANS {
            self.forget();
            scan.restart(is_tail);
            if is_tail && !self.take_snapshots().await? {
                return Ok(false);
            }
            match self.look(&mut scan).await {
                // A page could be read a moment ago, and it is not known yet what came after it.
                Err(Error::Unreadable(_)) => continue,
                Err(Error::Device) => return Err(Error::Device),
                Err(_) if is_tail => return Ok(false),
                done => done?,
            }
            if self.newest == NOWHERE {
                is_found = true;
                break;
            }
            let is_empty = self.is_tail_empty(&scan);
            self.is_sure = !may_be_cut || is_empty;
            let is_whole = is_empty || !scan.is_mark && self.is_whole(self.newest).await?;
            // A mark is written again, should the one that is there be another time than now.
            if scan.is_mark || !is_whole && may_be_cut && !self.nand.lasts(scan.newest) {
                scan.never.from = scan.newest;
                // Another program began when the one before it was done.
                may_be_cut = matches!(scan.before, None | Some(Before::First(_)));
                continue;
            }
            if scan.learn() {
                continue;
            }
            if !self.nand.is_cached() {
                match self.find_lost(&mut scan).await {
                    Err(Error::Unreadable(_)) => continue,
                    done => done?,
                }
            }
            if !is_whole {
                // It was done, and is lost.
                self.newest = NOWHERE;
            }
            if is_tail && (scan.gives_up || scan.is_full) {
                return Ok(false);
            }
            let counted = self.count_found(&mut scan).await;
            match counted {
                Err(Error::Unreadable(_)) => {}
                done => {
                    done?;
                    is_found = true;
                    break;
                }
            }
        }
        if is_tail && !is_found {
            return Ok(false);
        }
        // Where room is scarce, what was done for certain need not be written again.
        self.fresh = EARLY * self.shape.pages;
        if self.is_tight() && self.is_followed(self.newest).await? {
            self.newest = NOWHERE;
        }
        if !scan.is_full {
            self.reopen(&scan).await?;
        }
        self.is_settled = false;
        self.count_numbers(&mut scan);
        self.snapshots.is_saved &= self.is_tail_empty(&scan) && !scan.is_cut;
        Ok(true)
    }

    /// Counts what a look at the chip found; and where RAM has no room for it, writes it.
    async fn count_found(&mut self, scan: &mut Scan) -> Result<(), Error> {
        self.count_valid(scan).await?;
        self.free_blocks_again(scan).await?;
        if scan.is_full { self.write_changes(scan).await } else { Ok(()) }
    }

    /// The numbers that the next program leaves out.
    pub(crate) fn count_numbers(&mut self, scan: &mut Scan) {
        if self.before.is_none() {
            (self.counts, self.left_out_from) = (scan.newest, scan.newest);
            self.sequence = scan.seen.max(scan.newest) + scan.torn * LEFT_OUT + HIDDEN;
            scan.never.until = self.sequence;
            // Where the newest, which is written again, left out some for what is still there, the next one takes its place.
            if let Some(Before::First(left_out)) = scan.before
                && self.newest != NOWHERE
                && (scan.never.from > 0 || scan.is_cut || scan.void > 0)
            {
                let from = self.counts.saturating_sub(u64::from(left_out) * LEFT_OUT + 1);
                if self.sequence - from < MOST_LEFT_OUT * LEFT_OUT {
                    self.left_out_from = from;
                }
            }
        }
    }

    /// Finds what counts but for what is known never to.
    async fn look(&mut self, scan: &mut Scan) -> Result<(), Error> {
        if scan.is_tail {
            self.find_blocks_of_tail(scan).await?;
        } else {
            self.find_blocks(scan).await?;
        }
        self.find_map(scan).await?;
        self.reserve_snapshot_blocks().await?;
        self.find_changes(scan).await?;
        // Changes of the map from before now are on the chip at the end of the next sweep.
        self.sweep_began = scan.newest;
        Ok(())
    }

    /// Whether all of a page can be read.
    pub(crate) async fn is_whole(&mut self, page: u32) -> Result<bool, Error> {
        if !self.is_readable(page).await? {
            return Ok(false);
        }
        let is_blank = self.buffer.iter().all(|&byte| byte == 0xff);
        let Some(area) = self.known_area(page).await? else { return Ok(false) };
        let is_map = area.content == Content::Map;
        Ok(if is_map {
            header::is_whole(&self.buffer, &self.shape)
        } else {
            area.ones || !is_blank
        })
    }

    /// Whether a page can be read, into the buffer.
    pub(crate) async fn is_readable(&mut self, page: u32) -> Result<bool, Error> {
        match self.nand.read(page, 0, &mut self.buffer).await {
            Ok(()) => Ok(true),
            Err(NandError::Device) => Err(Error::Device),
            Err(_) => Ok(false),
        }
    }

    /// Whether a page can be read and is blank: a program that was cut off may leave its area blank, and its data not. The buffer
    /// holds it.
    pub(crate) async fn is_untouched(&mut self, page: u32) -> Result<bool, Error> {
        Ok(self.is_readable(page).await? && self.buffer.iter().all(|&byte| byte == 0xff))
    }

    /// What nothing leads to is free.
    async fn free_blocks_again(&mut self, scan: &Scan) -> Result<(), Error> {
        if self.is_map_hurt {
            // That what they hold is lost, nothing on the chip says yet.
            return Ok(());
        }
        for block in 0..self.shape.blocks {
            let home = self.blocks[block as usize];
            if home.state() == State::Closed
                && home.valid() == 0
                && (self.nand.is_cached() || !self.ends_behind(block, self.horizon, scan).await?)
            {
                self.blocks[block as usize].set_state(State::Stale);
                self.free += 1;
            }
        }
        Ok(())
    }

    /// Opens the blocks again that were open.
    pub(crate) async fn reopen(&mut self, scan: &Scan) -> Result<(), Error> {
        for lane in 0..LANES {
            let Open { block, .. } = self.open[lane];
            let Some(home) = self.blocks.get(block as usize) else { continue };
            // A block of the tail is not free yet, even if nothing in it is valid.
            if home.valid() == 0 && !scan.is_tail {
                self.open[lane] = Open::NONE;
                continue;
            }
            // What the newest says of pages before it, the next one says again.
            let (first, next) = (block * self.shape.pages, u32::from(self.open[lane].next));
            if scan.void > 0 && (first..first + next).contains(&self.newest) {
                let cut = first + next - self.newest + u32::from(scan.void);
                self.open[lane].cut = cut.min(255) as u16;
            }
            // The page behind the last one may have been touched.
            if !self.nand.is_cached() {
                self.leave_out(lane);
                // The first program after a doubtful one went one page further.
                while self.has_pages(lane, 0)
                    && !(self.is_blank(lane, 0).await? && self.is_blank(lane, 1).await?)
                {
                    self.leave_out(lane);
                }
            }
            if self.has_pages(lane, 0) {
                let step = self.step();
                let home = &mut self.blocks[block as usize];
                if home.state() == State::Kept {
                    home.opened = (scan.newest >> step) as u16;
                }
                home.set_state(State::Open);
            }
        }
        Ok(())
    }

    /// Whether another program was begun right behind a page: then this one was done.
    async fn is_followed(&mut self, page: u32) -> Result<bool, Error> {
        let is_last = page % self.pages() + 1 == self.pages();
        Ok(page != NOWHERE && !is_last && self.area(page + 1).await? != Found::Blank)
    }

    pub(crate) fn leave_out(&mut self, lane: usize) {
        let open = &mut self.open[lane];
        if u32::from(open.next) < self.shape.pages {
            open.next += 1;
            // Behind a page that counts, a blank one need not be told.
            open.cut += u16::from(open.cut > 0);
        }
        if open.cut > 0 && u32::from(open.next) == self.shape.pages {
            self.end(lane, State::Kept);
        }
    }

    /// Whether the next page of an open block, or the one `behind` it, was not programmed, not even in part.
    async fn is_blank(&mut self, lane: usize, behind: u32) -> Result<bool, Error> {
        let Open { block, next, .. } = self.open[lane];
        if !self.has_pages(lane, behind) {
            return Ok(true);
        }
        if self.is_readable(block * self.shape.pages + u32::from(next) + behind).await? {
            return Ok(self.buffer.iter().all(|&byte| byte == 0xff));
        }
        if behind == 0 {
            // What is there must never count.
            let cut = &mut self.open[lane].cut;
            *cut = (*cut).max(1);
        }
        Ok(false)
    }

    /// How many pages of each block are valid.
    async fn count_valid(&mut self, scan: &mut Scan) -> Result<(), Error> {
        if scan.is_tail && !scan.recounts {
            return self.count_tail().await;
        }
        if scan.is_full {
            self.cache.clear();
        }
        scan.knows_ends = false;
        for block in self.blocks.iter_mut() {
            block.set_valid(0);
        }
        for page in 0..self.logical_pages.div_ceil(self.entries()) {
            if scan.is_full {
                self.find_changes_of(page, scan).await?;
            } else {
                self.gather_map_page(page).await?;
            }
            self.each_gathered(page, Self::count);
            self.count(self.directory[page as usize]);
        }
        Ok(())
    }

    /// A page is valid.
    pub(crate) fn count(&mut self, at: u32) {
        let block = (at / self.pages()) as usize;
        let Some(block) = self.blocks.get_mut(block) else { return };
        if block.is_free() {
            // Its areas cannot be read: its pages are lost, but nothing is to be written over them.
            block.keep(NO_END);
            self.free -= 1;
        }
        // Entries that lead to pages of which the chip lost the successors make it more than a block has.
        block.set_valid((block.valid() + 1).min(MOST_PAGES));
    }
}
