//! Finding the map: what each block is, and the newest copy of each page of the map.

use super::{
    Area, Before, Content, Error, Found, Ftl, Misfit, Nand,
    area::WITH_TRIMS,
    bisync,
    blocks::{NO_END, State},
    cache::{LOST, NONE},
    error::device,
    find_lost::Witnesses,
    format::BEGUN,
    header::{self, Header},
    log::{MAP_STREAM, NOWHERE},
    policy::{Placement, Victim},
    snapshot::kept_blocks,
    survey::{Entry, Scan, Survey},
};

/// Ends of blocks of the map that cannot be read, at most; all others are found by what stands behind them.
const ENDS: usize = 4;

/// What a look at the pages of the map finds.
#[derive(Default)]
struct MapScan {
    /// The number of the newest that is whole.
    newest: u64,
    /// There are some that are not whole.
    is_other: bool,
    /// Some are torn.
    is_torn: bool,
    /// The area of some can be read, and the page cannot.
    is_hurt: bool,
    /// Programs before this one were synced: a sync comes before a page of the map that is programmed after data.
    synced: u64,
    /// The number of the last one that counts.
    last: u64,
    /// The numbers of the last ones that count before ends of blocks that cannot be read.
    ends: [u64; ENDS],
}

#[bisync]
impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// What each block is, by its first page that can be read.
    pub(crate) async fn find_blocks(&mut self, scan: &mut Scan) -> Result<(), Error> {
        let (mut known, mut erases) = (0_u32, 0_u32);
        for block in 0..self.shape.blocks {
            if self.blocks[block as usize].is_retired()
                || self.nand.is_bad(block).await.map_err(device)?
                || self.is_snapshot_block(block)
            {
                continue;
            }
            let is_failing = self.blocks[block as usize].state() == State::Failing;
            let last = self.end_of_block(block).await?;
            let found = if last.is_some() { (last, 0) } else { self.first_area(block).await? };
            match found {
                (None, _) if is_failing => {}
                (None, 0) => {
                    self.blocks[block as usize].set_state(State::Stale);
                    self.free += 1;
                }
                (None, torn) => {
                    scan.torn += torn;
                    self.blocks[block as usize].keep(0);
                }
                (Some(area), _) if area.content == Content::Map && area.number == BEGUN => {
                    return Err(Error::NotFormatted);
                }
                // No part of the log: a driver that takes no snapshots finds those of another here.
                (Some(area), _) if area.content == Content::Snapshot => {}
                (Some(area), _) => {
                    self.found_block(block, &area);
                    let home = &mut self.blocks[block as usize];
                    // Until they are counted: that the last page said this.
                    home.set_valid(u32::from(last.is_some()));
                    home.erases = area.erases.min(0xffff) as u16;
                    if area.after.is_none() {
                        known += 1;
                        // Too little, where more than 65,536 blocks were erased as often as can be counted.
                        erases = erases.saturating_add(home.erases.into());
                    }
                    scan.greatest = scan.greatest.max(area.sequence);
                }
            }
        }
        scan.knows_ends = true;
        // Nothing on the chip says how often a free block was erased, or one of the map.
        let mean = (erases / known.max(1)) as u16;
        for block in self.blocks.iter_mut() {
            if block.state() == State::Stale || block.erases == 0 {
                block.erases = mean;
            }
        }
        Ok(())
    }

    /// A block is one in which that stands beside a page.
    pub(crate) fn found_block(&mut self, block: u32, area: &Area) {
        let stream = match area.content {
            Content::Data(stream) => stream,
            _ => MAP_STREAM as u8,
        };
        let step = self.step();
        let home = &mut self.blocks[block as usize];
        if home.state() != State::Failing {
            home.set_state(State::Closed);
        }
        home.set_stream(stream);
        home.opened = (area.sequence >> step) as u16;
    }

    /// What stands beside the last page of a block that is written to its end, where one look can tell it.
    async fn end_of_block(&mut self, block: u32) -> Result<Option<Area>, Error> {
        if self.nand.is_cached() {
            return Ok(None);
        }
        Ok(match self.area((block + 1) * self.shape.pages - 1).await? {
            Found::Page(area) => Some(area),
            _ => None,
        })
    }

    /// The first area of a block that can be read, and how many before it cannot.
    pub(crate) async fn first_area(&mut self, block: u32) -> Result<(Option<Area>, u64), Error> {
        let mut torn = 0;
        for page in 0..self.shape.pages {
            match self.area(block * self.shape.pages + page).await? {
                Found::Page(area) => return Ok((Some(area), torn)),
                // What was programmed after a page that is blank now was not synced, and nobody relies on it.
                Found::Blank if page == 0 => break,
                Found::Blank => {}
                Found::Torn => torn += 1,
            }
        }
        Ok((None, torn))
    }

    /// The newest copy of each page of the map.
    #[inline(never)]
    pub(crate) async fn find_map(&mut self, scan: &mut Scan) -> Result<(), Error> {
        let (mut end, mut oldest_cut) = (0, u64::MAX);
        let mut map = MapScan::default();
        for block in 0..self.shape.blocks {
            if !self.is_map_block_of(block, scan) {
                continue;
            }
            let mut last = 0;
            let mut survey = Survey::of(block);
            while self.surveyed(&mut survey, scan).await? {
                let Entry::Counts(area) = &survey.entry else { continue };
                if area.content != Content::Map {
                    continue;
                }
                last = area.sequence.max(last);
                if matches!(area.before, Some(Before::Data(_))) {
                    map.synced = map.synced.max(area.sequence);
                }
                if area.sequence > map.last {
                    map.last = area.sequence;
                    // Whether it knew of trims nothing says.
                    let after = Some(area.number | WITH_TRIMS);
                    self.after = after.filter(|_| !self.nand.is_cached());
                }
                if scan.is_tail {
                    self.map_page_in_tail(survey.at, area, scan).await?;
                } else {
                    self.consider_map_page(survey.at, area, &mut map).await?;
                }
            }
            end = end.max(survey.last);
            map.is_torn |= survey.is_torn;
            if survey.is_cut {
                oldest_cut = oldest_cut.min(survey.last);
                if let Some(free) = map.ends.iter_mut().min() {
                    *free = (*free).max(last);
                }
            }
        }
        if self.logical_pages == 0 {
            return Err(if map.is_other {
                Error::Shape(Misfit::OtherChip)
            } else {
                Error::NotFormatted
            });
        }
        if self.nand.is_cached() {
            // A loss of power cuts off what is written last. Any other page that cannot be read may have been the only one
            // with changes from behind the horizon: then all areas are looked at.
            let synced = map.synced.max(self.horizon + 1);
            if map.is_torn || oldest_cut < end {
                self.horizon = 0;
            }
            if map.is_hurt {
                self.find_hurt_map_pages(scan, synced).await?;
            }
        } else if map.is_torn || map.ends != [0; ENDS] {
            // Of the last page that a block of the map had only areas elsewhere can tell, and of the one at the end of the block before
            // nothing may say in the map that another one was written after it.
            scan.is_map_damaged = oldest_cut < end || map.is_torn;
            self.find_lost_map_pages(scan, &map).await?;
            // A page of the map of which there is no other copy may be one of those that cannot be read: areas tell it again.
            self.is_map_hurt |= !scan.is_tail && self.misses_map_page();
        }
        Ok(())
    }

    /// Whether pages of the map are looked for in a block.
    fn is_map_block_of(&self, block: u32, scan: &Scan) -> bool {
        self.is_written(block)
            && self.is_map_block(block)
            && (!scan.is_tail || self.tail_from(block).is_some())
    }

    /// Of two copies of a page of the map the newer counts, and of all of them the newest header.
    #[inline(never)]
    async fn consider_map_page(
        &mut self,
        page: u32,
        area: &Area,
        scan: &mut MapScan,
    ) -> Result<(), Error> {
        let Area { number, sequence, .. } = *area;
        if self.nand.is_cached() && !self.is_whole(page).await? {
            let block = (page / self.pages()) as usize;
            self.blocks[block].keep(NO_END);
            scan.is_hurt = true;
            return Ok(());
        }
        // Also of a page that cannot be read, before any other has said how many there are.
        let is_sized = self.logical_pages != 0;
        let most = self.directory.len() as u32;
        let pages = if is_sized { self.logical_pages.div_ceil(self.entries()) } else { most };
        if number < pages {
            let other = self.directory[number as usize];
            let known = match other {
                NONE => 0,
                other => self.sequence_of_found(other).await?,
            };
            // It could be read a moment ago: that it was newer, another one says.
            scan.is_torn |= other != NONE && known == 0;
            if known < sequence || known == sequence && self.is_twin(other, page).await? {
                self.directory[number as usize] = page;
            }
        }
        if is_sized && (number >= pages || sequence < scan.newest) {
            return Ok(());
        }
        if !self.is_readable(page).await? {
            return Ok(());
        }
        let Some(bytes) = self.buffer.last_chunk() else { return Ok(()) };
        let header = match Header::decode(bytes) {
            Ok(header) => header,
            Err(Error::NotFormatted) => return Ok(()),
            Err(e) => return Err(e),
        };
        if !header::is_whole(&self.buffer, &self.shape) {
            scan.is_other = true;
            return Ok(());
        }
        if !is_sized {
            self.set_size(header.logical_pages)?;
            self.spare_blocks = header.spare_blocks;
            self.snapshots.blocks = if header.has_snapshots { kept_blocks(&self.shape) } else { 0 };
            self.size_notes();
        }
        scan.newest = sequence;
        self.horizon = header.horizon;
        Ok(())
    }

    /// Pages of the map whose areas can be read alone, on a chip that may lose what was not synced. Those that were synced are
    /// lost; of others the copies before count, and what areas tell behind them.
    async fn find_hurt_map_pages(&mut self, scan: &mut Scan, synced: u64) -> Result<(), Error> {
        // What pages of data say of programs that last.
        for block in 0..self.shape.blocks {
            if self.is_written(block) {
                let mut survey = Survey::of(block);
                while self.surveyed(&mut survey, scan).await? {}
            }
        }
        for block in 0..self.shape.blocks {
            if !self.is_written(block) || !self.is_map_block(block) {
                continue;
            }
            let mut survey = Survey::of(block);
            while self.surveyed(&mut survey, scan).await? {
                if let Entry::Counts(area) = &survey.entry
                    && area.content == Content::Map
                {
                    self.consider_hurt(area, scan, synced).await?;
                }
            }
        }
        if scan.lost_maps == [(0, 0); 4] && scan.told == [0; 4] {
            return Ok(());
        }
        // Where nothing of a page of the map was ever trimmed or lost, areas tell all that it said.
        let mut witnesses = Witnesses::new();
        while self.witness(&mut witnesses, scan).await? {
            let Witnesses { before, sequence, .. } = witnesses;
            let Some(Before::Map(after)) = before else { continue };
            let page = after % WITH_TRIMS;
            let trims = after & WITH_TRIMS != 0;
            let is_lost = scan.lost_maps.contains(&(page, sequence));
            if is_lost && !trims {
                self.tell_map_page(page, scan);
            } else if trims && scan.told.contains(&(page + 1)) {
                scan.told.iter_mut().filter(|told| **told == page + 1).for_each(|told| *told = 0);
                self.lose(page, sequence, scan);
            }
        }
        Ok(())
    }

    /// A page of the map whose area can be read, if the page is one that cannot.
    async fn consider_hurt(
        &mut self,
        area: &Area,
        scan: &mut Scan,
        synced: u64,
    ) -> Result<(), Error> {
        let Area { number, sequence, .. } = *area;
        if number >= self.logical_pages.div_ceil(self.entries()) {
            return Ok(());
        }
        let known = self.directory[number as usize];
        if known < LOST && self.sequence_of(known).await? >= sequence {
            return Ok(());
        }
        (self.is_map_hurt, self.horizon) = (true, 0);
        let was_synced = sequence < synced || known == LOST || self.nand.lasts(sequence);
        if was_synced || known == NONE && !self.tell_map_page(number, scan) {
            self.lose(number, sequence, scan);
        }
        Ok(())
    }

    /// Areas are to tell again what a page of the map said; false if there are too many.
    fn tell_map_page(&mut self, page: u32, scan: &mut Scan) -> bool {
        let told = scan.told.iter_mut().find(|told| **told == 0 || **told == page + 1);
        if let Some(told) = told {
            *told = page + 1;
            self.directory[page as usize] = NONE;
            return true;
        }
        false
    }

    /// What a page of the map said is lost, up to that program.
    fn lose(&mut self, page: u32, until: u64, scan: &mut Scan) {
        self.directory[page as usize] = LOST;
        let is_known = |(known, until): &(u32, u64)| *known == page && *until > 0;
        let mut maps = scan.lost_maps.iter_mut();
        match maps.find(|map| is_known(map)) {
            Some((_, known)) => *known = until.max(*known),
            None => {
                // Where there is no room for it, no change of it is believed.
                if let Some(free) = scan.lost_maps.iter_mut().find(|(_, until)| *until == 0) {
                    *free = (page, until);
                }
            }
        }
    }

    /// Pages of the map that cannot be read, as the next ones say.
    #[inline(never)]
    async fn find_lost_map_pages(&mut self, scan: &mut Scan, map: &MapScan) -> Result<(), Error> {
        for block in 0..self.shape.blocks {
            if !self.is_map_block_of(block, scan) {
                continue;
            }
            // What the page below may be, and the number of the one that says so.
            let mut expected = (None, 0);
            let mut is_torn = false;
            let mut survey = Survey::of(block);
            while self.surveyed(&mut survey, scan).await? {
                match &survey.entry {
                    Entry::Torn => is_torn = true,
                    Entry::Counts(area) if area.content == Content::Map => {
                        // What was written right before the one above came behind this one.
                        if core::mem::take(&mut is_torn)
                            && let (Some(after), sequence) = expected
                        {
                            self.lose_map_page(after, area.sequence, sequence, scan).await?;
                        }
                        expected = (area.after, area.sequence);
                    }
                    _ => {}
                }
            }
            if is_torn {
                self.miss_map_page(expected, scan).await?;
            }
            // It may have been the end of another block, if what stands before that is newer than any copy.
            let (Some(after), sequence) = expected else { continue };
            for end in map.ends {
                if 0 < end && end < sequence {
                    self.lose_map_page(after, end, sequence, scan).await?;
                }
            }
        }
        Ok(())
    }

    /// Below a page of the map that was written after that one another cannot be read. It is that one, unless there is a copy that
    /// no other page of the map was written after.
    async fn miss_map_page(
        &mut self,
        (after, sequence): (Option<u32>, u64),
        scan: &mut Scan,
    ) -> Result<(), Error> {
        match after {
            Some(after) if self.last_of_block(after % WITH_TRIMS, NOWHERE).await? == LOST => {
                self.lose_map_page(after, sequence, sequence, scan).await
            }
            _ => Ok(()),
        }
    }

    /// A page of the map that is lost, unless a copy is as new as that. If it knew of no trims, areas tell all that it said.
    pub(crate) async fn lose_map_page(
        &mut self,
        after: u32,
        newer: u64,
        until: u64,
        scan: &mut Scan,
    ) -> Result<(), Error> {
        let page = after % WITH_TRIMS;
        let Some(&at) = self.directory.get(page as usize) else { return Ok(()) };
        if page >= self.logical_pages.div_ceil(self.entries()) {
            return Ok(());
        }
        if at == LOST {
            // Of all copies that are lost the newest counts.
            let mut maps = scan.lost_maps.iter_mut();
            if let Some((_, known)) = maps.find(|(lost, known)| *lost == page && *known > 0) {
                *known = until.max(*known);
            }
            return Ok(());
        }
        if newer <= scan.floor || at != NONE && self.sequence_of_known(at, scan).await? >= newer {
            return Ok(());
        }
        if scan.is_tail {
            scan.gives_up = true;
            return Ok(());
        }
        self.is_map_hurt = true;
        if after & WITH_TRIMS == 0 && self.tell_map_page(page, scan) {
            return Ok(());
        }
        self.lose(page, until, scan);
        Ok(())
    }
}
