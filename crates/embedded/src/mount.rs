//! Finding a store on its chip: without a table of pages.
//!
//! 1. The area of each block's first page says what the block is. All pages of the map's blocks are looked at, and
//!    of each page of the map the newest copy that can be read counts.
//! 2. The newest of them names the horizon. Data that were written after it, and after the page of the map that has
//!    them, are changes of the map that were lost with the RAM: they are found in the blocks that end behind it.
//! 3. Every page of the map is read once, to count the valid pages of each block.
//! 4. Blocks with a page that cannot be read are cleaned: it may be readable another time, and what it says must not come
//!    back then. They are those that were open when the power failed.

use crate::{
    Area, Content, Error, Found, Ftl, Memory, Nand, NandError,
    blocks::State,
    cache::{NONE, TRIMMED},
    ftl::device,
    header::{self, Header},
    log::MAP_STREAM,
    memory::MAP_ENTRY,
    policy::{Placement, Victim},
};

impl<'a, N: Nand, V: Victim, P: Placement> Ftl<'a, N, V, P> {
    /// Mounts the store of a chip, in whatever state a loss of power left it.
    ///
    /// # Errors
    /// [`Error::NotFormatted`], [`Error::Version`], [`Error::Shape`], [`Error::Memory`],
    /// [`Error::MapUnreadable`], [`Error::Device`].
    pub fn mount(nand: N, memory: Memory<'a>, victim: V, placement: P) -> Result<Self, Error> {
        let mut ftl = Self::unmounted(nand, memory, victim, placement)?;
        ftl.remount()?;
        Ok(ftl)
    }

    /// Mounts the store again: what the chip holds may be something else than was known.
    ///
    /// # Errors
    /// Those of [`mount`](Self::mount). After one nothing of the store can be used.
    pub fn remount(&mut self) -> Result<(), Error> {
        self.forget();
        self.find_blocks()?;
        self.find_map()?;
        self.horizon_to_now();
        self.find_changes()?;
        self.count_valid()?;
        match self.clean_torn() {
            // It is read-only, and can be read.
            Ok(()) | Err(Error::WornOut) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Cleans the blocks with a page that cannot be read, which [`State::Kept`] marks until here.
    fn clean_torn(&mut self) -> Result<(), Error> {
        for block in 0..self.shape.blocks {
            if self.blocks[block as usize].state() == State::Kept {
                self.clean_whole(block)?;
            }
        }
        Ok(())
    }

    /// Whether a block holds pages that were written.
    fn is_written(&self, block: u32) -> bool {
        matches!(self.blocks[block as usize].state(), State::Closed | State::Kept)
    }

    /// Changes of the map from before now are on the chip at the end of the next sweep.
    fn horizon_to_now(&mut self) {
        self.sweep_began = self.sequence;
    }

    /// What each block is, by its first page that can be read.
    fn find_blocks(&mut self) -> Result<(), Error> {
        let (mut known, mut erases) = (0_u32, 0_u64);
        for block in 0..self.shape.blocks {
            if self.nand.is_bad(block).map_err(device)? {
                continue;
            }
            match self.first_area(block)? {
                (None, false) => {
                    self.blocks[block as usize].set_state(State::Stale);
                    self.free += 1;
                }
                (None, true) => self.blocks[block as usize].set_state(State::Kept),
                (Some(area), _) => {
                    let stream = match area.content {
                        Content::Data(stream) => stream,
                        Content::Map => MAP_STREAM as u8,
                    };
                    let home = &mut self.blocks[block as usize];
                    home.set_state(State::Closed);
                    home.set_stream(stream);
                    // Until they are counted, as many as there can be.
                    home.set_valid(self.shape.pages);
                    home.erases = area.erases.min(0xffff) as u16;
                    known += 1;
                    erases += u64::from(home.erases);
                    let step = self.step();
                    self.blocks[block as usize].opened = (area.sequence >> step) as u16;
                    self.sequence = self.sequence.max(area.sequence);
                }
            }
        }
        // Nothing on the chip says how often a free block was erased.
        let mean = (erases / u64::from(known.max(1))) as u16;
        for block in self.blocks.iter_mut().filter(|block| block.state() == State::Stale) {
            block.erases = mean;
        }
        Ok(())
    }

    /// The first area of a block that can be read, and whether one before it cannot.
    fn first_area(&mut self, block: u32) -> Result<(Option<Area>, bool), Error> {
        let mut torn = false;
        for page in 0..self.shape.pages {
            match self.area(block * self.shape.pages + page)? {
                Found::Page(area) => return Ok((Some(area), torn)),
                // What was programmed after a page that is blank now was not synced, and nobody relies on it.
                Found::Blank if page == 0 => break,
                Found::Blank => {}
                Found::Torn => torn = true,
            }
        }
        Ok((None, torn))
    }

    /// The newest copy of each page of the map.
    fn find_map(&mut self) -> Result<(), Error> {
        let (mut is_damaged, mut newest, mut oldest_end) = (false, 0, u64::MAX);
        for block in 0..self.shape.blocks {
            if !self.is_written(block) || !self.is_map_block(block) {
                continue;
            }
            // The number of the last page that can be read, and whether one after it cannot.
            let (mut last, mut is_torn) = (0, false);
            for page in block * self.shape.pages..(block + 1) * self.shape.pages {
                match self.consider_map_page(page)? {
                    None => is_torn = true,
                    Some(0) => {}
                    Some(sequence) => {
                        is_damaged |= is_torn;
                        last = last.max(sequence);
                    }
                }
                if is_torn {
                    self.blocks[block as usize].set_state(State::Kept);
                }
            }
            newest = newest.max(last);
            if is_torn {
                oldest_end = oldest_end.min(last);
            }
        }
        if self.logical_pages == 0 {
            return Err(Error::NotFormatted);
        }
        // A loss of power cuts off what is written last. Any other page that cannot be read may have been the only one
        // with changes from behind the horizon: then all areas are looked at.
        if (is_damaged || oldest_end < newest) && self.cache.capacity() >= self.map_entries as usize
        {
            self.horizon = 0;
        }
        Ok(())
    }

    /// Its sequence number, 0 if it is none of the map's; nothing if it cannot be read.
    fn consider_map_page(&mut self, page: u32) -> Result<Option<u64>, Error> {
        let Area { number, sequence, .. } = match self.area(page)? {
            Found::Page(area) if area.content == Content::Map => area,
            Found::Page(_) | Found::Blank => return Ok(Some(0)),
            Found::Torn => return Ok(None),
        };
        self.sequence = self.sequence.max(sequence);
        // All of the page must be readable.
        match self.nand.read(page, 0, &mut self.buffer) {
            Ok(()) => {}
            Err(NandError::Device) => return Err(Error::Device),
            Err(_) => return Ok(None),
        }
        let Some(bytes) = self.buffer.last_chunk() else { return Ok(Some(0)) };
        if !header::is_whole(&self.buffer, &self.shape) {
            return Ok(None);
        }
        let header = match Header::decode(bytes) {
            Ok(header) => header,
            Err(Error::NotFormatted) => return Ok(Some(0)),
            Err(e) => return Err(e),
        };
        if self.logical_pages == 0 {
            self.set_size(header.logical_pages)?;
            self.spare_blocks = header.spare_blocks;
        }
        if number * self.map_entries >= self.logical_pages {
            return Ok(Some(0));
        }
        self.horizon = self.horizon.max(header.horizon);
        let other = self.directory[number as usize];
        if other == NONE || self.sequence_of(other)? < sequence {
            self.directory[number as usize] = page;
        }
        Ok(Some(sequence))
    }

    /// The changes of the map that only the areas of data tell.
    fn find_changes(&mut self) -> Result<(), Error> {
        let (mut from, horizon) = (0, self.horizon);
        // More changes than there is room for are found where the chip lost pages of the map that were not synced:
        // they are found part by part, and written between.
        while from < self.logical_pages {
            let mut to = self.logical_pages;
            for block in 0..self.shape.blocks {
                if self.is_written(block)
                    && !self.is_map_block(block)
                    && self.last_sequence(block)? > horizon
                    && !self.find_changes_in(block, horizon, from, &mut to)?
                {
                    self.blocks[block as usize].set_state(State::Kept);
                }
            }
            if to < self.logical_pages {
                // Not by the sweep, whose end would say that no change is missing any more.
                while let Some(lpn) = self.cache.first_from(0) {
                    self.write_map_page(lpn / self.map_entries)?;
                }
            }
            from = to;
        }
        Ok(())
    }

    /// The number of the last program of a block; all of it if the last page cannot be read.
    fn last_sequence(&mut self, block: u32) -> Result<u64, Error> {
        match self.area((block + 1) * self.shape.pages - 1)? {
            Found::Page(area) => Ok(area.sequence),
            Found::Blank | Found::Torn => Ok(u64::MAX),
        }
    }

    /// False if a page cannot be read.
    fn find_changes_in(
        &mut self,
        block: u32,
        horizon: u64,
        from: u32,
        to: &mut u32,
    ) -> Result<bool, Error> {
        let mut readable = true;
        for page in block * self.shape.pages..(block + 1) * self.shape.pages {
            let area = match self.area(page)? {
                Found::Page(area) => area,
                Found::Blank => continue,
                Found::Torn => {
                    readable = false;
                    continue;
                }
            };
            let (Content::Data(_), lpn) = (area.content, area.number) else { continue };
            self.sequence = self.sequence.max(area.sequence);
            if area.sequence <= horizon || !(from..*to).contains(&lpn) || !self.is_newer(&area)? {
                continue;
            }
            match self.nand.read(page, 0, &mut self.buffer) {
                Ok(()) => {}
                Err(NandError::Device) => return Err(Error::Device),
                Err(_) => {
                    readable = false;
                    continue;
                }
            }
            if self.cache.is_full() && self.cache.get(lpn).is_none() {
                *to = self.cache.middle() / self.map_entries * self.map_entries;
                *to = (*to).max(from + self.map_entries);
                self.cache.remove(*to, u32::MAX);
                if lpn >= *to {
                    continue;
                }
                if self.cache.is_full() {
                    return Err(Error::Memory("changes: one of each entry of a page of the map"));
                }
            }
            self.cache.set(lpn, page);
        }
        Ok(readable)
    }

    /// Whether neither the map nor a change of it knows a newer copy than this one.
    fn is_newer(&mut self, area: &Area) -> Result<bool, Error> {
        let known = self.directory[(area.number / self.map_entries) as usize];
        if known != NONE && self.sequence_of(known)? > area.sequence {
            return Ok(false);
        }
        match self.cache.get(area.number) {
            Some(other) if other < TRIMMED => Ok(self.sequence_of(other)? < area.sequence),
            _ => Ok(true),
        }
    }

    /// How many pages of each block are valid.
    fn count_valid(&mut self) -> Result<(), Error> {
        for block in self.blocks.iter_mut() {
            block.set_valid(0);
        }
        for page in 0..self.logical_pages.div_ceil(self.map_entries) {
            self.gather_map_page(page)?;
            let first = page * self.map_entries;
            for lpn in first..(first + self.map_entries).min(self.logical_pages) {
                let offset = ((lpn - first) * MAP_ENTRY) as usize;
                let entry = &self.buffer[offset..offset + 3];
                self.count(u32::from_le_bytes([entry[0], entry[1], entry[2], 0]));
            }
            self.count(self.directory[page as usize]);
        }
        Ok(())
    }

    /// A page is valid.
    fn count(&mut self, at: u32) {
        let Some(block) = self.blocks.get_mut((at / self.shape.pages) as usize) else { return };
        if block.is_free() {
            // Its areas cannot be read: its pages are lost, but nothing is to be written over them.
            block.set_state(State::Kept);
            self.free -= 1;
        }
        block.set_valid((block.valid() + 1).min(self.shape.pages));
    }
}
