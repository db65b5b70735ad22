//! Cleaning: a block's valid pages are copied, and the block is erased; a page at a time, as the log is written.
//!
//! RAM knows how many pages of a block are valid, not which. The area of a page names the logical page, and the map
//! says whether it is still there.

use super::{
    Area, Content, Error, Found, Ftl, Nand, bisync,
    blocks::State,
    cache::LOST,
    log::{Payload, SCARCE, SHARED},
    policy::{Candidate, Placement, Victim, Worth},
};

/// The block that is being cleaned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cleaning {
    pub(crate) block: u32,
    /// Pages looked at.
    next: u32,
    /// A page cannot be moved.
    stays: bool,
    /// The block was read often: it is cleaned though there is room, and whatever is asked for goes on with it.
    is_refresh: bool,
    /// Pages copied, and pages of the map written, before.
    programs: u64,
}

/// What came of a page that was to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    Yes,
    /// Nothing leads to it.
    No,
    /// Nothing says what it is.
    Unknown,
}

/// The mean of what blocks yield is over so many, about.
pub(crate) const MEAN: u32 = 16;

/// Programs since the mount, in blocks, from which on a block is erased as soon as it is cleaned, and its cleaning spread most.
const EARLY: u32 = 8;

/// Every so many erases the block erased least is cleaned, if it is so many erases behind.
const LEVEL_EVERY: u32 = 32;
const LEVEL_BEYOND: u16 = 64;

#[bisync]
impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Sees to it that the host's next page finds room. The work is spread: each program since the last call is paid for by
    /// as many pages to look at as blocks yield one page from in the mean, and by more if free blocks are few; but a call
    /// programs no more than the [pace](Self::pace), or twice as much while free blocks are so few that cleaning counts on
    /// all of them, and empties one block. What is left is for later calls. Only where no other block could be opened, and soon
    /// after a mount, the host waits for a whole one.
    pub(crate) async fn make_room(&mut self) -> Result<(), Error> {
        self.settle_cut().await?;
        self.keep_up().await?;
        self.refresh().await?;
        let owed = core::mem::take(&mut self.owed);
        let (floor, enough) = self.watermarks();
        if self.cleaning.is_none() && self.free >= enough {
            self.due = 0;
            return Ok(());
        }
        let missing = enough.saturating_sub(self.free);
        let price = (self.shape.pages * MEAN).div_ceil(self.yielded.max(1));
        self.due = self.due.saturating_add((owed * price * (2 + missing)).div_ceil(2));
        let began = self.programs_of_cleaning();
        // Where the power comes and goes, a write pays for a mount as well: what is to be done is done at once.
        let hurries = self.is_early();
        let least = if hurries { floor } else { SCARCE + 1 };
        let mut blocks = 0;
        while self.free < least
            || (blocks == 0 || hurries)
                && (self.cleaning.is_some() || self.free < enough)
                && (self.due > 0 || self.free < floor || self.is_refreshing())
                && self.programs_of_cleaning() - began
                    < u64::from(self.pace << u32::from(self.free < floor))
        {
            if blocks > 2 * self.shape.blocks {
                // No garbage comes out of it.
                return Err(Error::WornOut);
            }
            blocks += u32::from(self.clean_a_page().await?);
            self.due = self.due.saturating_sub(1);
        }
        // What cleaning itself programmed is in what blocks yield.
        self.owed = 0;
        Ok(())
    }

    /// The most pages that one write programs, as long as as many blocks are good as when this is asked, but for the first
    /// change after a mount and pages that are refreshed; and the writes of the first eight blocks after a mount do all that
    /// is due. It is a constant of the chip, the logical pages and the memory: twice what cleaning costs for a page where all
    /// logical pages hold data and the garbage is spread over all blocks, and a few for the page itself, the map and snapshots.
    #[must_use]
    pub fn longest_write(&self) -> u32 {
        let good = self.blocks.iter().filter(|block| block.state() != State::Bad).count() as u32;
        let open = u32::from(self.placement.streams()) + 2;
        let closed = good.saturating_sub(self.watermarks().1 + open) * self.shape.pages;
        let map = self.logical_pages.div_ceil(self.entries());
        2 * self.pace(closed, self.logical_pages + map) + 4 + self.longest_save()
    }

    /// Programs of cleaning for one of the host: as many as the block with the fewest valid pages takes for each page that it
    /// yields, where so many pages of those that can be cleaned are valid, and the pages of the map that are written for
    /// these copies, about.
    fn pace(&self, pages: u32, valid: u32) -> u32 {
        let ratio = pages / pages.saturating_sub(valid).max(1);
        let map = self.directory.len() as u32 * ratio / (self.cache.capacity() as u32).max(1);
        1 + (ratio + map).min(self.shape.pages)
    }

    /// Cleans a block at once.
    pub(crate) async fn clean_whole(&mut self, block: u32) -> Result<(), Error> {
        self.cleaning = Some(self.cleaning_of(block));
        while !self.clean_a_page().await? {}
        Ok(())
    }

    /// Cleans ahead, for when nothing else is to be done: looks at so many pages at most, each of which it may copy, until
    /// twice as many blocks are free as the store keeps. Blocks that yield less than half of what the last ones did are
    /// left. Writes that come then pay for no cleaning until these blocks are used up.
    ///
    /// False if nothing is left to do.
    ///
    /// # Errors
    /// [`Error::MapUnreadable`], [`Error::Device`].
    pub async fn clean(&mut self, pages: u32) -> Result<bool, Error> {
        self.enter();
        let done = self.clean_entered(pages).await;
        self.exit();
        done
    }

    async fn clean_entered(&mut self, pages: u32) -> Result<bool, Error> {
        self.settle_cut().await?;
        self.refresh().await?;
        let owed = self.owed;
        let done = self.clean_ahead(pages).await;
        // What cleaning itself programmed is paid for.
        self.owed = owed;
        done
    }

    async fn clean_ahead(&mut self, pages: u32) -> Result<bool, Error> {
        let enough = self.watermarks().1;
        for _ in 0..pages {
            if self.cleaning.is_none() {
                let block = match self.choose() {
                    Ok(block) if self.free < 2 * enough => block,
                    Ok(_) | Err(Error::WornOut) => return Ok(false),
                    Err(e) => return Err(e),
                };
                let yields = self.shape.pages.saturating_sub(self.blocks[block as usize].valid());
                if self.free >= enough && 2 * MEAN * yields < self.yielded {
                    return Ok(false);
                }
                self.begin(block, false);
            }
            self.clean_a_page().await?;
        }
        Ok(true)
    }

    fn cleaning_of(&self, block: u32) -> Cleaning {
        let programs = self.programs_of_cleaning();
        Cleaning { block, next: 0, stays: false, is_refresh: false, programs }
    }

    pub(crate) const fn is_cleaning(&self) -> bool {
        self.cleaning.is_some()
    }

    pub(crate) fn is_refreshing(&self) -> bool {
        self.cleaning.is_some_and(|cleaning| cleaning.is_refresh)
    }

    pub(crate) fn begin(&mut self, block: u32, is_refresh: bool) -> Cleaning {
        let cleaning = Cleaning { is_refresh, ..self.cleaning_of(block) };
        self.counters.victims += 1;
        self.counters.victims_valid += u64::from(self.blocks[block as usize].valid());
        self.cleaning = Some(cleaning);
        cleaning
    }

    /// Looks at the next page of the block that is being cleaned. True if the block is done.
    pub(crate) async fn clean_a_page(&mut self) -> Result<bool, Error> {
        let cleaning = match self.cleaning {
            Some(cleaning) => cleaning,
            None => {
                let block = self.choose()?;
                self.begin(block, false)
            }
        };
        let Cleaning { block, next, .. } = cleaning;
        if next == self.shape.pages || self.blocks[block as usize].valid() == 0 {
            // Where the chip still leads to a page that was trimmed, the page must stay.
            if let Some(lpn) = self.cache.first_trim(0) {
                return self.write_map_page(lpn / self.entries()).await.map(|()| false);
            }
            self.cleaning = None;
            let programs = self.programs_of_cleaning() - cleaning.programs;
            let yielded = u64::from(self.shape.pages).saturating_sub(programs) as u32;
            self.yielded = (self.yielded - self.yielded / MEAN + yielded).max(MEAN);
            return self.finish(block, cleaning.stays).await.map(|()| true);
        }
        let stays = cleaning.stays | self.clean_page(block * self.shape.pages + next).await?;
        self.cleaning = Some(Cleaning { next: next + 1, stays, ..cleaning });
        Ok(false)
    }

    pub(crate) fn is_early(&self) -> bool {
        let programs = self.counters.programs() as u32;
        programs.wrapping_sub(self.programs_before) < EARLY * self.shape.pages
    }

    fn programs_of_cleaning(&self) -> u64 {
        self.counters.copies + self.counters.map_writes
    }

    /// Moves a page, if it is valid. True if it must stay where it is, and its block with it: reading it is an error.
    async fn clean_page(&mut self, page: u32) -> Result<bool, Error> {
        match self.move_page(page).await {
            Err(Error::Unreadable(_)) => {
                self.counters.lost += 1;
                Ok(true)
            }
            Ok(Moved::Unknown) => Ok(true),
            done => done.map(|_| false),
        }
    }

    /// Writes a page again.
    pub(crate) async fn move_page(&mut self, page: u32) -> Result<Moved, Error> {
        let (content, number) = match self.area(page).await? {
            Found::Page(Area { content, number, .. }) => (content, number),
            Found::Blank => return Ok(Moved::No),
            Found::Torn => match self.known_area(page).await? {
                // Whether it is that, the map will say.
                Some(Area { content, number, .. }) => (content, number),
                None => return Ok(Moved::Unknown),
            },
        };
        match content {
            Content::Data(stream) if number < self.logical_pages => {
                if self.cache.get(number).is_none() {
                    self.make_room_for_a_change().await?;
                }
                match self.locate(number).await {
                    Ok(at) if at == page => {}
                    Ok(_) => return Ok(Moved::No),
                    // It is lost with its page of the map, which says so before the page is erased.
                    Err(Error::MapUnreadable(_)) => {
                        return self
                            .write_map_page(number / self.entries())
                            .await
                            .map(|()| Moved::No);
                    }
                    Err(e) => return Err(e),
                }
                let stream = self.placement.survivor(stream).min(self.placement.streams() - 1);
                let (content, copy) = (Content::Data(stream), Payload::Copy(page));
                let to = self.append(usize::from(stream), content, number, copy).await?;
                self.move_to(number, page, to);
                self.counters.copies += 1;
                Ok(Moved::Yes)
            }
            // With the changes that it has: they cost nothing.
            Content::Map if self.directory.get(number as usize) == Some(&page) => {
                self.write_map_page(number).await.map(|()| Moved::Yes)
            }
            Content::Data(_) | Content::Map | Content::Snapshot => Ok(Moved::No),
        }
    }

    /// All pages of a block were looked at.
    async fn finish(&mut self, block: u32, stays: bool) -> Result<(), Error> {
        let home = &mut self.blocks[block as usize];
        if stays && home.valid() > 0 {
            home.set_stays();
            return Ok(());
        }
        // Of a page of the map that could not be read nobody knows what it counted.
        home.set_valid(0);
        if home.state() == State::Kept && self.is_wanted(block).await? {
            // It is erased when nothing that it says of others is needed.
            return Ok(());
        }
        match self.blocks[block as usize].state() {
            State::Failing => self.retire(block).await,
            // Where the power comes and goes, what is erased before it is needed is erased again.
            State::Closed if self.is_early() => {
                self.blocks[block as usize].set_state(State::Stale);
                self.free += 1;
                Ok(())
            }
            _ => self.erase(block).await,
        }
    }

    /// Where a page of the map is, if that is in another block, and no page of the map behind it says so.
    pub(crate) async fn last_of_block(
        &mut self,
        map_page: u32,
        other_than: u32,
    ) -> Result<u32, Error> {
        let Some(&at @ ..LOST) = self.directory.get(map_page as usize) else { return Ok(LOST) };
        let block = at / self.pages();
        if block == other_than {
            return Ok(LOST);
        }
        let is_witnessed = at + 1 < (block + 1) * self.shape.pages
            && matches!(self.area(at + 1).await?, Found::Page(Area { after: Some(_), .. }));
        Ok(if is_witnessed { LOST } else { at })
    }

    /// The block to clean next: one that failed; or for the sake of even wear the one erased least; or the policy's
    /// choice. A look at each block takes no RAM, and a tenth of the time of the erase that follows: some ten
    /// thousand cycles for a thousand blocks.
    fn choose(&mut self) -> Result<u32, Error> {
        let (now, step, pages) = (self.stamp(), self.step(), self.shape.pages);
        let is_scarce = self.free <= SCARCE || self.is_tight();
        let mut best: Option<(Worth, u32)> = None;
        let mut least: Option<(u16, u32)> = None;
        let (mut most, mut count, mut all_valid) = (0, 0, 0);
        for (block, number) in self.blocks.iter().zip(0_u32..) {
            match block.state() {
                State::Failing if block.stays() && block.valid() > 0 => continue,
                State::Failing if !is_scarce => return Ok(number),
                State::Closed | State::Failing => {}
                // The pages that could not be read were written again.
                State::Kept if block.valid() == 0 => return Ok(number),
                _ => continue,
            }
            most = most.max(block.erases);
            count += pages;
            all_valid += block.valid();
            if least.is_none_or(|(erases, _)| block.erases < erases) {
                least = Some((block.erases, number));
            }
            let valid = block.valid();
            if valid >= pages {
                continue;
            }
            let age = u64::from(now.wrapping_sub(block.opened)) << step;
            let worth = if is_scarce {
                Worth { over: pages - valid, under: 1 }
            } else {
                self.victim.worth(&Candidate { valid, pages, age, erases: block.erases })
            };
            if best.is_none_or(|(other, _)| worth.is_more_than(other)) {
                best = Some((worth, number));
            }
        }
        self.pace = self.pace(count, all_valid);
        if self.unlevelled >= LEVEL_EVERY
            && self.free >= self.watermarks().0
            && let Some((erases, block)) = least
        {
            self.unlevelled = 0;
            if most - erases > LEVEL_BEYOND {
                return Ok(block);
            }
        }
        best.map(|(_, block)| block).ok_or(Error::WornOut)
    }

    /// Whether a block may hold pages of the map.
    pub(crate) fn is_map_block(&self, block: u32) -> bool {
        usize::from(self.blocks[block as usize].stream()) >= SHARED
    }
}
