//! The map: pages on the chip, and the changes that they do not have yet.
//!
//! A *sweep* writes the pages that have changes, in order and around, one whenever room is needed: the page whose
//! turn it is has gathered changes for a whole round, twice as many as the mean page has. What the end of a sweep
//! adds is the *horizon*: all changes before the sweep are on the chip by then, so a mount has to look for later
//! ones only.

use super::{
    Area, Content, Error, Ftl, Nand, NandError, Place, bisync,
    cache::{LOST, NONE, TRIMMED},
    error::device,
    header,
    memory::MAP_ENTRY,
    policy::{Placement, Victim},
};

/// The mount looks at one page in so many of the chip at most, about, or at so many for each change that RAM has room for.
const LOOKED_AT: u32 = 16;
const LOOKED_AT_A_CHANGE: u64 = 4;

#[bisync]
impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Where a logical page is, as far as RAM knows.
    #[must_use]
    pub fn place(&self, lpn: u32) -> Place {
        match self.cache.get(lpn) {
            Some(NONE | TRIMMED) => Place::Nowhere,
            Some(at) => Place::Page(at),
            None => match self.directory.get((lpn / self.entries()) as usize) {
                None | Some(&NONE) => Place::Nowhere,
                Some(&page) => Place::Mapped { page, offset: lpn % self.entries() * MAP_ENTRY },
            },
        }
    }

    /// Where a logical page is; [`LOST`] or more where it is nowhere.
    pub(crate) async fn locate(&mut self, lpn: u32) -> Result<u32, Error> {
        let at = match self.place(lpn) {
            Place::Nowhere => NONE,
            Place::Page(at) => at,
            Place::Mapped { page: LOST.., .. } => {
                return Err(Error::MapUnreadable(lpn / self.entries() * self.map_entries));
            }
            Place::Mapped { page, offset } => {
                let mut entry = [0; 4];
                self.counters.map_reads += 1;
                match self.nand.read(page, offset, &mut entry[..3]).await {
                    Ok(()) => {
                        self.note_corrected(page);
                        let at = self.checked(u32::from_le_bytes(entry));
                        // What an entry leads to says whether it is right; where it leads nowhere, the checksum says it.
                        if at <= LOST || self.is_whole_map_page(page).await? { at } else { LOST }
                    }
                    Err(NandError::Device) => return Err(Error::Device),
                    Err(_) => {
                        let first = lpn / self.entries() * self.map_entries;
                        return Err(Error::MapUnreadable(first));
                    }
                }
            }
        };
        Ok(at)
    }

    /// Whether a page of the map has its checksum.
    async fn is_whole_map_page(&mut self, page: u32) -> Result<bool, Error> {
        Ok(self.is_readable(page).await? && header::is_whole(&self.buffer, &self.shape))
    }

    /// An entry of the map, as it was read: whatever bits turned, it leads to no page that the chip does not have.
    fn checked(&self, entry: u32) -> u32 {
        let is_page = entry < self.shape.blocks * self.shape.pages;
        if is_page || entry == TRIMMED { entry } else { LOST }
    }

    /// Where the copy is that a new one replaces. Where the map cannot be read, that is unknown; and so it is where it leads to
    /// another logical page, of whose block one page less would be counted.
    pub(crate) async fn replaced(&mut self, lpn: u32) -> Result<u32, Error> {
        let at = match self.locate(lpn).await {
            Err(Error::MapUnreadable(_)) => LOST,
            done => done?,
        };
        if at >= LOST || self.cache.get(lpn).is_some() {
            return Ok(at);
        }
        let is_other = |area: Area| area.number != lpn || area.content == Content::Map;
        Ok(if self.known_area(at).await?.is_some_and(is_other) { LOST } else { at })
    }

    /// A logical page that was at `old` is at `at` now. There is room for the change.
    pub(crate) fn move_to(&mut self, lpn: u32, old: u32, at: u32) {
        if old < LOST {
            self.invalidate(old);
        }
        self.note(lpn, false, old);
        self.cache.set(lpn, at);
    }

    /// Sees to it that one more change finds room.
    pub(crate) async fn make_room_for_a_change(&mut self) -> Result<(), Error> {
        // Where the power comes and goes, most numbers are those that were left out; what pages are left is for cleaning.
        let is_far = self.sequence.saturating_sub(self.horizon) > self.most_looked_at();
        if is_far && !self.is_short() {
            self.sweep().await?;
        }
        while self.cache.is_full() {
            self.sweep().await?;
        }
        Ok(())
    }

    /// Writes so many pages of the map, one after another, where RAM has no room for another change and the chip has room
    /// for them. Nothing has to be done before a write; but where a page of the map has to wait for a sync, the sync does for
    /// all of them.
    ///
    /// # Errors
    /// [`Error::WornOut`], [`Error::MapUnreadable`], [`Error::Device`].
    pub async fn sweep_ahead(&mut self, pages: u32) -> Result<(), Error> {
        self.enter();
        let done = self.sweep_ahead_entered(pages).await;
        self.exit();
        done
    }

    async fn sweep_ahead_entered(&mut self, pages: u32) -> Result<(), Error> {
        if !self.cache.is_full() {
            return Ok(());
        }
        self.make_room().await?;
        // Beside the free blocks that cleaning counts on.
        let needed = self.watermarks().1 + pages.div_ceil(self.pages());
        let mut looks = 4 * pages.max(self.shape.pages);
        while self.free < needed && looks > 0 {
            match self.clean_a_page().await {
                Ok(_) => looks -= 1,
                Err(Error::WornOut) => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        if self.free >= needed {
            for _ in 0..pages {
                self.sweep().await?;
            }
        }
        Ok(())
    }

    /// Writes a page of the map, the next that has changes: what stands beside it tells of all that was done before it.
    ///
    /// # Errors
    /// [`Error::WornOut`], [`Error::MapUnreadable`], [`Error::Device`].
    pub async fn write_next_map_page(&mut self) -> Result<(), Error> {
        self.enter();
        let done = self.write_next_map_page_entered().await;
        self.exit();
        done
    }

    async fn write_next_map_page_entered(&mut self) -> Result<(), Error> {
        self.make_room().await?;
        let next = self.cache.first_from(self.sweep * self.map_entries);
        let next = next.or_else(|| self.cache.first_from(0));
        self.write_map_page(next.map_or(0, |lpn| lpn / self.entries())).await
    }

    /// Programs after which a sweep goes on though there is room: what bounds a mount.
    fn most_looked_at(&self) -> u64 {
        let pages = (self.shape.blocks * self.shape.pages / LOOKED_AT).max(4 * self.shape.pages);
        u64::from(pages).max(self.cache.capacity() as u64 * LOOKED_AT_A_CHANGE)
    }

    /// Writes the next page of the map that has changes, or ends the sweep.
    pub(crate) async fn sweep(&mut self) -> Result<(), Error> {
        match self.cache.first_from(self.sweep * self.map_entries) {
            Some(lpn) => {
                let page = lpn / self.entries();
                self.write_map_page(page).await?;
                self.sweep = page + 1;
                Ok(())
            }
            None => self.end_sweep().await,
        }
    }

    /// Writes the pages of the map with trims, or lost pages, that no page on the chip says.
    pub(crate) async fn record_trims(&mut self) -> Result<(), Error> {
        let mut from = 0;
        while let Some(lpn) = self.cache.first_trim(from) {
            let page = lpn / self.entries();
            self.write_map_page(page).await?;
            from = (page + 1) * self.map_entries;
        }
        Ok(())
    }

    /// Every page of the map had its turn: the changes from before the sweep are on the chip.
    pub(crate) async fn end_sweep(&mut self) -> Result<(), Error> {
        self.nand.sync().await.map_err(device)?;
        self.horizon = self.sweep_began;
        self.sweep_began = self.sequence;
        self.sweep = 0;
        Ok(())
    }

    /// An entry of the page of the map that the buffer holds.
    pub(crate) fn entry(&self, index: u32) -> u32 {
        let entries = self.buffer.as_chunks::<{ MAP_ENTRY as usize }>().0;
        let [low, middle, high] = entries.get(index as usize).copied().unwrap_or([0xff; 3]);
        self.checked(u32::from_le_bytes([low, middle, high, 0]))
    }

    pub(crate) fn set_entry(&mut self, index: u32, at: u32) {
        let [low, middle, high, _] = at.to_le_bytes();
        let entries = self.buffer.as_chunks_mut::<{ MAP_ENTRY as usize }>().0;
        if let Some(entry) = entries.get_mut(index as usize) {
            *entry = [low, middle, high];
        }
    }

    /// Makes a page of the map in the buffer: as it is on the chip, with its changes.
    pub(crate) async fn gather_map_page(&mut self, page: u32) -> Result<(), Error> {
        let at = self.directory[page as usize];
        if at == NONE {
            self.fill_entries(TRIMMED);
            self.knows_of_trims = false;
        } else if at == LOST {
            self.fill_lost();
        } else {
            self.counters.map_reads += 1;
            match self.nand.read(at, 0, &mut self.buffer).await {
                Ok(()) if header::is_whole(&self.buffer, &self.shape) => {
                    self.knows_of_trims = header::knows_of_trims(&self.buffer);
                }
                Err(NandError::Device) => return Err(Error::Device),
                // No page of the map looks like that, but a bus that nobody drives.
                Ok(()) if self.buffer.iter().all(|&byte| byte == 0xff) => {
                    return Err(Error::Device);
                }
                // It could be read at the mount: what was before it counts.
                _ if at == self.newest && !self.is_sure => {
                    return Err(Error::Unreadable(page * self.map_entries));
                }
                // What only this page knew stays an error until it is written; a part of it that reads well is not believed either,
                // or what is counted of blocks would not be what is found.
                _ => {
                    self.directory[page as usize] = LOST;
                    self.is_map_hurt = true;
                    self.fill_lost();
                }
            }
        }
        let first = page * self.map_entries;
        for (lpn, at) in self.cache.range(first, first + self.map_entries) {
            self.knows_of_trims |= at >= LOST;
            let [low, middle, high, _] = at.to_le_bytes();
            let entries = self.buffer.as_chunks_mut::<{ MAP_ENTRY as usize }>().0;
            if let Some(entry) = entries.get_mut((lpn - first) as usize) {
                *entry = [low, middle, high];
            }
        }
        Ok(())
    }

    fn fill_lost(&mut self) {
        self.fill_entries(LOST);
        self.knows_of_trims = true;
    }

    fn fill_entries(&mut self, at: u32) {
        let [low, middle, high, _] = at.to_le_bytes();
        self.buffer.as_chunks_mut::<{ MAP_ENTRY as usize }>().0.fill([low, middle, high]);
    }

    /// A page of the map was written there, with all its changes.
    pub(crate) fn map_page_is_at(&mut self, page: u32, at: u32) {
        let old = core::mem::replace(&mut self.directory[page as usize], at);
        if old < LOST {
            self.invalidate(old);
        }
        self.note(page, true, old);
        let first = page * self.map_entries;
        self.cache.remove(first, first + self.map_entries);
    }

    /// The number of the program that wrote a page; 0 if that cannot be said. [`Error::Unreadable`] if what a mount found to be
    /// programmed last could be read a moment ago: what was before it counts.
    pub(crate) async fn sequence_of(&mut self, page: u32) -> Result<u64, Error> {
        match self.known_area(page).await? {
            Some(area) => Ok(area.sequence),
            None if page == self.newest && !self.is_sure => Err(Error::Unreadable(0)),
            None => Ok(0),
        }
    }

    /// The same of a page that this look at the chip found. [`Error::Unreadable`] if it cannot be read any more: the next look
    /// finds what the chip holds then.
    pub(crate) async fn sequence_of_found(&mut self, page: u32) -> Result<u64, Error> {
        match self.sequence_of(page).await? {
            0 if !self.nand.is_cached() => Err(Error::Unreadable(0)),
            sequence => Ok(sequence),
        }
    }
}
