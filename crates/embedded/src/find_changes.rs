//! Finding the changes of the map that were lost with the RAM.

use core::ops::Range;

use super::{
    Area, Before, Content, Error, Ftl, Nand, bisync,
    blocks::{NO_END, State},
    cache::{LOST, NONE},
    find_lost::Witnesses,
    log::{LANES, NOWHERE, Payload},
    policy::{Placement, Victim},
    survey::{Entry, Scan, Survey},
};

#[bisync]
impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// The number behind which areas of data may tell changes of the map that no page of the map has.
    fn looks_behind(&self) -> u64 {
        if self.is_map_hurt && self.misses_map_page() { 0 } else { self.horizon }
    }

    /// Whether of a page of the map there is no copy.
    pub(crate) fn misses_map_page(&self) -> bool {
        let pages = self.logical_pages.div_ceil(self.entries()) as usize;
        self.directory.iter().take(pages).any(|&at| at == NONE)
    }

    /// The changes of the map that only the areas of data tell, if RAM has room for them.
    pub(crate) async fn find_changes(&mut self, scan: &mut Scan) -> Result<(), Error> {
        let mut to = self.logical_pages;
        self.note_map_numbers(scan).await?;
        let is_full = self.find_changes_between(0, &mut to, scan).await?;
        scan.noted = 0;
        scan.is_full = is_full || to < self.logical_pages;
        Ok(())
    }

    /// Reads the numbers of the map's pages, which each page of data is held against, into the layer's buffer, as far as it goes.
    pub(crate) async fn note_map_numbers(&mut self, scan: &mut Scan) -> Result<(), Error> {
        scan.noted = 0;
        if self.nand.is_cached() || scan.is_tail {
            return Ok(());
        }
        let pages = self.logical_pages.div_ceil(self.entries());
        for page in 0..pages.min(self.shape.page_size / 2) {
            let at = self.directory[page as usize];
            let number = if at < LOST { self.sequence_of_found(at).await? } else { 0 };
            let behind = number.saturating_sub(self.horizon).min(0xffff) as u16;
            if let Some(noted) = self.buffer.as_chunks_mut::<2>().0.get_mut(page as usize) {
                *noted = behind.to_le_bytes();
            }
            scan.noted = page + 1;
        }
        Ok(())
    }

    /// The number of a page of the map that is at `at`, or the horizon, if that is greater.
    pub(crate) async fn number_of_map_page(
        &mut self,
        page: u32,
        at: u32,
        scan: &Scan,
    ) -> Result<u64, Error> {
        if page < scan.noted
            && let Some(noted) = self.buffer.as_chunks::<2>().0.get(page as usize)
            && let behind @ ..=0xfffe = u16::from_le_bytes(*noted)
        {
            return Ok(self.horizon + u64::from(behind));
        }
        Ok(self.sequence_of_known(at, scan).await?.max(self.horizon))
    }

    /// Those of some logical pages, of fewer where there are too many; true if of one page of the map there are too many.
    async fn find_changes_between(
        &mut self,
        from: u32,
        to: &mut u32,
        scan: &mut Scan,
    ) -> Result<bool, Error> {
        let (horizon, mut full, mut torn) = (self.looks_behind(), false, 0);
        for block in 0..self.shape.blocks {
            if !self.is_written(block) || !self.ends_behind(block, horizon, scan).await? {
                continue;
            }
            let mut survey = Survey::of(block);
            while self.surveyed(&mut survey, scan).await? {
                match &survey.entry {
                    Entry::Counts(area) => {
                        full |= self.consider_change(survey.at, area, scan, from, to).await?;
                    }
                    Entry::Torn => torn += 1,
                    Entry::Never(_) => {}
                }
            }
            // The last page of a block may be one that was cut off, or one that was done and is lost since.
            torn += usize::from(survey.is_cut);
        }
        // Areas tell what a page of the map said if all can be read but that of the page itself.
        let known = scan.told.iter().filter(|told| **told > 0).count();
        if torn > if self.nand.is_cached() { 0 } else { known } {
            for told in core::mem::take(&mut scan.told) {
                if let Some(page) = told.checked_sub(1) {
                    self.directory[page as usize] = LOST;
                    let first = page * self.map_entries;
                    self.cache.remove(first, first + self.map_entries);
                }
            }
        }
        if self.nand.is_cached() && core::mem::take(&mut scan.is_hurt) {
            self.find_lost_changes(from..*to, scan).await?;
        }
        Ok(full)
    }

    /// Pages of data that were synced, and cannot be read now: no older copies take their place.
    async fn find_lost_changes(&mut self, among: Range<u32>, scan: &mut Scan) -> Result<(), Error> {
        let horizon = self.looks_behind();
        for block in 0..self.shape.blocks {
            if !self.is_written(block) || !self.ends_behind(block, horizon, scan).await? {
                continue;
            }
            let mut survey = Survey::of(block);
            while self.surveyed(&mut survey, scan).await? {
                let Entry::Counts(Area { content: Content::Data(_), number, sequence, .. }) =
                    survey.entry
                else {
                    continue;
                };
                let is_lost = among.contains(&number) && self.nand.lasts(sequence);
                if is_lost && !self.is_whole(survey.at).await? {
                    self.consider_lost(number, sequence, scan).await?;
                }
            }
        }
        Ok(())
    }

    /// There are more changes than there is room for: RAM had more before, or the chip lost pages of the map that were not synced.
    /// They are found part by part, and written, behind the page that was programmed last.
    pub(crate) async fn write_changes(&mut self, scan: &mut Scan) -> Result<(), Error> {
        self.reopen(scan).await?;
        self.count_numbers(scan);
        let newest = self.newest;
        match if newest == NOWHERE { None } else { self.known_area(newest).await? } {
            Some(Area { content: Content::Data(stream), number, .. }) => {
                let stream = stream.min(self.placement.streams() - 1);
                let copy = Payload::Copy(newest);
                self.append(usize::from(stream), Content::Data(stream), number, copy).await?;
                self.invalidate(newest);
            }
            Some(Area { number, .. }) => self.write_changes_of(number, scan).await?,
            None if newest == NOWHERE => {}
            None => return Err(Error::Unreadable(0)),
        }
        let mut from = 0;
        while from < self.logical_pages {
            let mut to = self.logical_pages;
            // Not by the sweep, whose end would say that no change is missing any more.
            if self.find_changes_between(from, &mut to, scan).await? {
                self.write_changes_of(from / self.entries(), scan).await?;
            }
            while let Some(lpn) = self.cache.first_from(0) {
                self.write_map_page(lpn / self.entries()).await?;
            }
            from = to;
        }
        for lane in 0..LANES {
            if self.has_pages(lane, 0) {
                let block = self.open[lane].block as usize;
                self.blocks[block].set_state(State::Open);
            }
        }
        self.newest = NOWHERE;
        Ok(())
    }

    async fn write_changes_of(&mut self, page: u32, scan: &mut Scan) -> Result<(), Error> {
        self.find_changes_of(page, scan).await?;
        self.write_gathered(page).await
    }

    /// Makes a page of the map in the buffer, with changes that RAM has no room for.
    pub(crate) async fn find_changes_of(
        &mut self,
        page: u32,
        scan: &mut Scan,
    ) -> Result<(), Error> {
        let first = page * self.map_entries;
        self.cache.remove(first, first + self.map_entries);
        self.gather_map_page(page).await?;
        let since = self.map_has(page, scan).await?;
        for block in 0..self.shape.blocks {
            if !self.is_written(block) || !self.ends_behind(block, since, scan).await? {
                continue;
            }
            let mut survey = Survey::of(block);
            while self.surveyed(&mut survey, scan).await? {
                let Entry::Counts(area) = &survey.entry else { continue };
                let index = area.number.wrapping_sub(first);
                let is_data = matches!(area.content, Content::Data(_));
                if !is_data || index >= self.map_entries || area.sequence <= since {
                    continue;
                }
                // Where the map led, another logical page may be by now.
                let known = self.entry(index);
                let found = if known < LOST { self.known_area(known).await? } else { None };
                let is_newer = found.is_some_and(|other| {
                    other.number == area.number && other.sequence > area.sequence
                });
                if !is_newer {
                    self.set_entry(index, survey.at);
                }
            }
        }
        if self.nand.is_cached() || !scan.is_damaged {
            return Ok(());
        }
        let mut witnesses = Witnesses::new();
        while self.witness(&mut witnesses, scan).await? {
            let Witnesses { before, sequence, .. } = witnesses;
            let Some(Before::Data(lpn)) = before else { continue };
            let index = lpn.wrapping_sub(first);
            if index >= self.map_entries || sequence <= since {
                continue;
            }
            let known = self.entry(index);
            if known != LOST && (known > LOST || self.sequence_of(known).await? < sequence) {
                self.set_entry(index, LOST);
                self.knows_of_trims = true;
            }
        }
        Ok(())
    }

    /// A change of the map, if nothing newer is known of that logical page. True if there is no room for it.
    async fn consider_change(
        &mut self,
        page: u32,
        area: &Area,
        scan: &mut Scan,
        from: u32,
        to: &mut u32,
    ) -> Result<bool, Error> {
        let lpn = area.number;
        let is_data = matches!(area.content, Content::Data(_));
        if !is_data || !(from..*to).contains(&lpn) || !self.is_change(page, area, scan).await? {
            return Ok(false);
        }
        if self.nand.is_cached() && !self.is_whole(page).await? {
            let block = (page / self.pages()) as usize;
            self.blocks[block].keep(NO_END);
            scan.is_hurt = true;
            return Ok(false);
        }
        if scan.is_tail {
            return self.change_in_tail(lpn, page, scan).await.map(|()| false);
        }
        if self.cache.is_full() && self.cache.get(lpn).is_none() {
            *to = self.cache.middle() / self.entries() * self.map_entries;
            *to = (*to).max(from + self.map_entries);
            self.cache.remove(*to, u32::MAX);
            if lpn >= *to {
                return Ok(false);
            }
            if self.cache.is_full() {
                return Ok(true);
            }
        }
        self.cache.set(lpn, page);
        Ok(false)
    }

    /// The number up to which a page of the map has all changes of its own.
    async fn map_has(&mut self, page: u32, scan: &Scan) -> Result<u64, Error> {
        Ok(match self.directory[page as usize] {
            NONE if self.is_map_hurt => 0,
            NONE => self.horizon.max(scan.floor),
            LOST => {
                let lost = scan.lost_maps.iter().find(|(lost, until)| *lost == page && *until > 0);
                lost.map_or(u64::MAX, |(_, until)| *until)
            }
            at => self.number_of_map_page(page, at, scan).await?,
        })
    }

    /// Whether no page of the map has a change, and no change is known that is newer.
    async fn is_change(&mut self, page: u32, area: &Area, scan: &mut Scan) -> Result<bool, Error> {
        if area.sequence <= self.map_has(area.number / self.entries(), scan).await? {
            return Ok(false);
        }
        match self.cache.get(area.number) {
            Some(other) if other < LOST => {
                let known = self.sequence_of_known(other, scan).await?;
                // It could be read a moment ago.
                scan.is_damaged |= known == 0;
                Ok(known < area.sequence
                    || known == area.sequence && self.is_twin(other, page).await?)
            }
            _ => Ok(true),
        }
    }
}
