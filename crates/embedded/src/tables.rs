//! What a snapshot is made of: *elements*, each of which says what changed since the one before, and a part of the tables of RAM.
//!
//! The parts go around the tables: the blocks, the map's pages, and the changes of the map in the order of logical pages. So all
//! elements since the tables were begun anew, in order, make the tables whole, and no element is larger than a few pages.
//!
//! An element has, in this order: what the layer knows beside its tables; its open blocks; the free blocks that may be opened
//! next; the blocks that were written since the element before; how many pages of others are still valid; where the logical
//! pages and the pages of the map are that changed; and its part. Records are saved and taken by the same code, and none
//! crosses the end of a page.
//!
//! ```text
//!  0..    records
//! -12..-4 the number of the element (40 bits), of how many pages it is, and which of them this is (12 bits each)
//! -4..    a checksum of all before, and of the chip's shape
//! ```

use super::{
    Before, Error, Ftl, Geometry, Nand, NandError, bisync,
    blocks::{Block, MOST_PAGES, State},
    header::{checksum, is_whole},
    log::{LANES, NOWHERE, Open},
    memory::map_pages,
    policy::{Placement, Victim},
    snapshot::{ANNOUNCED, INDEX_BITS, MARKS},
};

/// The number of the element, of its page, and a checksum, at the end of each page.
const TRAILER: usize = 12;
/// No record is longer.
const LONGEST: usize = 9;
/// Words beside the tables.
const SCALARS: usize = 16 + MARKS;
const FIRST_MARK: usize = 16;
/// Which scalar says where the oldest element begins that is needed.
const WINDOW: usize = 13;
const ROLL: usize = 14;
const NOTES: usize = 15;
/// Bytes of an element without notes and without its part of the tables, and of a note.
const FIXED: usize = 4 * (SCALARS + 3 * LANES + ANNOUNCED) + LONGEST * (LANES + ANNOUNCED);
const NOTE: usize = CHANGE + VALID;
const CHANGE: usize = 7;
const VALID: usize = 5;
const BLOCK: usize = size_of::<Block>();
const WORD: usize = 4;
/// Of a change that a page of the map has by now; and in place of a logical page behind the last change.
const IN_MAP: u32 = 0xff_fffc;
const END: u32 = 0xff_ffff;
/// Of the number of a page of the map.
const IS_MAP: u8 = 1;

/// What is done with the records.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Count,
    Save,
    Take,
}

/// Records on their way to the chip, or back.
pub(crate) struct Pass {
    what: Use,
    /// Where they begin on the chip, if they are read; their pages, and their number: 0 until the first page says them.
    first: u32,
    pub(crate) count: u32,
    pub(crate) number: u64,
    /// Pages done, and bytes of the next one.
    page: u32,
    at: usize,
}

impl Pass {
    pub(crate) const fn to_save(count: u32) -> Self {
        Self { what: Use::Save, first: NOWHERE, count, number: 0, page: 0, at: 0 }
    }

    pub(crate) const fn to_take(first: u32) -> Self {
        Self { what: Use::Take, first, count: 0, number: 0, page: 0, at: usize::MAX / 2 }
    }
}

/// Bytes of a page for records.
const fn room_of(shape: &Geometry) -> usize {
    (shape.page_size as usize).saturating_sub(TRAILER)
}

/// Pages that the tables take, without changes of the map, were they saved at once.
pub(crate) const fn pages_of_tables(shape: &Geometry, logical_pages: u32) -> u32 {
    let map = map_pages(shape.page_size, logical_pages) as usize;
    let bytes = FIXED + BLOCK * shape.blocks as usize + WORD * map;
    // No page is as short as that.
    bytes.div_ceil(1 + room_of(shape).saturating_sub(LONGEST)) as u32
}

/// Pages of an element without notes that has room for a record of the tables.
pub(crate) const fn least_pages_of_element(shape: &Geometry) -> u32 {
    (FIXED + LONGEST).div_ceil(1 + room_of(shape).saturating_sub(LONGEST)) as u32
}

/// Pages of an element of so many notes, for which the elements that go once around the tables take no more pages than that.
pub(crate) fn pages_of_element(
    shape: &Geometry,
    logical_pages: u32,
    changes: usize,
    notes: usize,
    most: u32,
) -> Option<u32> {
    let map = map_pages(shape.page_size, logical_pages) as usize;
    let tables = BLOCK * shape.blocks as usize + WORD * map + CHANGE * (changes + 1);
    let room = room_of(shape).saturating_sub(LONGEST);
    (1..=most).find(|&pages| {
        let part = (pages as usize * room).saturating_sub(FIXED + NOTE * notes);
        part > LONGEST && tables.div_ceil(part) as u32 * pages <= most
    })
}

#[bisync]
impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Where the part of the tables ends that an element of so many pages has.
    pub(crate) async fn end_of_part(&mut self, count: u32) -> Result<u32, Error> {
        let (from, mut pass) = (self.snapshots.roll, Pass::to_save(count));
        pass.what = Use::Count;
        self.pass(&mut pass).await?;
        Ok(core::mem::replace(&mut self.snapshots.roll, from))
    }

    /// Where the oldest element begins that one which is read needs.
    pub(crate) async fn window_of(&mut self, mut pass: Pass) -> Result<u32, Error> {
        let mut scalars = [0; SCALARS];
        for scalar in &mut scalars {
            self.exchange_word(&mut pass, scalar).await?;
        }
        Ok(scalars[WINDOW])
    }

    /// Counts the records of an element, saves them, or takes them. [`Error::WornOut`] if a program failed,
    /// [`Error::Unreadable`] if a page is not what was saved.
    pub(crate) async fn pass(&mut self, pass: &mut Pass) -> Result<(), Error> {
        let is_taking = pass.what == Use::Take;
        let mut scalars = self.scalars();
        for scalar in &mut scalars {
            self.exchange_word(pass, scalar).await?;
        }
        if is_taking {
            if self.logical_pages != scalars[0] {
                self.set_size(scalars[0])?;
            }
            self.set_scalars(&scalars);
        }
        for lane in 0..LANES {
            let Some(&Open { mut block, mut previous, next, cut }) = self.open.get(lane) else {
                continue;
            };
            let mut pages = u32::from(next) | u32::from(cut) << 16;
            for word in [&mut block, &mut previous, &mut pages] {
                self.exchange_word(pass, word).await?;
            }
            if let Some(open) = self.open.get_mut(lane) {
                *open = Open { block, previous, next: pages as u16, cut: (pages >> 16) as u16 };
            }
        }
        for index in 0..ANNOUNCED {
            let mut block = self.snapshots.announced[index];
            self.exchange_word(pass, &mut block).await?;
            self.snapshots.announced[index] = block;
        }
        for index in 0..LANES + ANNOUNCED {
            let mut bytes = [0; 9];
            let (block, _) = self.snapshots.tail[index];
            bytes[..3].copy_from_slice(&block.to_le_bytes()[..3]);
            bytes[3..].copy_from_slice(&self.blocks[block as usize].to_bytes());
            self.exchange(pass, &mut bytes).await?;
            let [a, b, c, of_block @ ..] = bytes;
            if is_taking {
                self.take_block(u32::from_le_bytes([a, b, c, 0]), of_block);
            }
        }
        for index in 0..scalars[NOTES] {
            self.exchange_note(pass, index as usize).await?;
        }
        self.exchange_part(pass).await?;
        while pass.what == Use::Save && pass.page < pass.count {
            self.turn(pass).await?;
        }
        Ok(())
    }

    /// Something that changed: how many pages of the block are valid where it was, and where it is.
    async fn exchange_note(&mut self, pass: &mut Pass, index: usize) -> Result<(), Error> {
        let (mut block, mut number, mut at, mut kind) = (END, END, IN_MAP, 0);
        if pass.what != Use::Take
            && let Some(recent) = self.cache.recent(index)
        {
            (block, number) = (recent.block, recent.number);
            (at, kind) = if recent.is_map {
                (self.directory[number as usize], IS_MAP)
            } else {
                (self.cache.get(number).unwrap_or(IN_MAP), 0)
            };
        }
        let ([a, b, c, _], [d, e, ..]) =
            (block.to_le_bytes(), self.blocks[block as usize].valid().to_le_bytes());
        let mut bytes = [a, b, c, d, e];
        self.exchange(pass, &mut bytes).await?;
        let [a, b, c, d, e] = bytes;
        if pass.what == Use::Take
            && let Some(home) = self.blocks.get_mut(u32::from_le_bytes([a, b, c, 0]) as usize)
        {
            let valid = u32::from(u16::from_le_bytes([d, e]));
            home.set_valid(valid.min(MOST_PAGES));
        }
        let (number, at, kind) = self.exchange_change(pass, number, at, kind).await?;
        if pass.what != Use::Take || at == IN_MAP {
            return Ok(());
        }
        if kind == IS_MAP {
            if number >= self.logical_pages.div_ceil(self.entries()) {
                return Err(Error::Unreadable(0));
            }
            self.directory[number as usize] = at;
            // It has all changes that were made before.
            let first = number * self.map_entries;
            self.cache.remove(first, first + self.map_entries);
            return Ok(());
        }
        self.take_change(number, at)
    }

    /// The part of the tables that is the turn of this element: as much as its pages have room for.
    async fn exchange_part(&mut self, pass: &mut Pass) -> Result<(), Error> {
        let (blocks, map) = (self.shape.blocks, self.logical_pages.div_ceil(self.entries()));
        let room = room_of(&self.shape);
        let mut position = self.snapshots.roll;
        let has_room = |pass: &Pass, bytes| {
            // A page that is read is turned when it begins, one that is saved when it ends.
            let pages = pass.page + u32::from(pass.what != Use::Take);
            pass.at + bytes <= room || pages < pass.count
        };
        while position < blocks && has_room(pass, BLOCK) {
            let mut bytes = self.blocks[position as usize].to_bytes();
            self.exchange(pass, &mut bytes).await?;
            if pass.what == Use::Take {
                self.take_block(position, bytes);
            }
            position += 1;
        }
        while (blocks..blocks + map).contains(&position) && has_room(pass, WORD) {
            let page = (position - blocks) as usize;
            let mut at = self.directory[page];
            self.exchange_word(pass, &mut at).await?;
            self.directory[page] = at;
            position += 1;
        }
        while position >= blocks + map && has_room(pass, CHANGE) {
            let from = position - blocks - map;
            let next = if pass.what == Use::Take { None } else { self.cache.first_from(from) };
            let lpn = next.unwrap_or(END);
            let at = self.cache.get(lpn).unwrap_or(0);
            let (lpn, at, _) = self.exchange_change(pass, lpn, at, 0).await?;
            if pass.what == Use::Take {
                // There are no others between.
                self.cache.remove(from, lpn);
                if lpn != END {
                    self.take_change(lpn, at)?;
                }
            }
            position = if lpn == END { 0 } else { blocks + map + lpn + 1 };
        }
        self.snapshots.roll = position;
        Ok(())
    }

    fn take_block(&mut self, block: u32, bytes: [u8; BLOCK]) {
        // A block that failed and was not marked is not written again.
        if let Some(home) = self.blocks.get_mut(block as usize)
            && !home.is_retired()
            && home.state() != State::Failing
        {
            *home = Block::from_bytes(bytes);
        }
    }

    fn take_change(&mut self, lpn: u32, at: u32) -> Result<(), Error> {
        if lpn >= self.logical_pages || self.cache.is_full() && self.cache.get(lpn).is_none() {
            // RAM was larger.
            return Err(Error::Unreadable(0));
        }
        self.cache.set(lpn, at);
        Ok(())
    }

    async fn exchange_change(
        &mut self,
        pass: &mut Pass,
        number: u32,
        at: u32,
        kind: u8,
    ) -> Result<(u32, u32, u8), Error> {
        let ([a, b, c, _], [d, e, f, _]) = (number.to_le_bytes(), at.to_le_bytes());
        let mut bytes = [a, b, c, d, e, f, kind];
        self.exchange(pass, &mut bytes).await?;
        let [a, b, c, d, e, f, kind] = bytes;
        Ok((u32::from_le_bytes([a, b, c, 0]), u32::from_le_bytes([d, e, f, 0]), kind))
    }

    async fn exchange_word(&mut self, pass: &mut Pass, word: &mut u32) -> Result<(), Error> {
        let mut bytes = word.to_le_bytes();
        self.exchange(pass, &mut bytes).await?;
        *word = u32::from_le_bytes(bytes);
        Ok(())
    }

    /// A record, which is in one page.
    async fn exchange(&mut self, pass: &mut Pass, record: &mut [u8]) -> Result<(), Error> {
        if pass.at.saturating_add(record.len()) > room_of(&self.shape) {
            self.turn(pass).await?;
        }
        let there = self.buffer.iter_mut().skip(pass.at).zip(record.iter_mut());
        match pass.what {
            Use::Count => {}
            Use::Save => there.for_each(|(there, here)| *there = *here),
            Use::Take => there.for_each(|(there, here)| *here = *there),
        }
        pass.at += record.len();
        Ok(())
    }

    /// Programs the page that is full, or reads the next one.
    async fn turn(&mut self, pass: &mut Pass) -> Result<(), Error> {
        let room = room_of(&self.shape);
        match pass.what {
            Use::Count => {}
            Use::Save => {
                let what = self.snapshots.number << 24 | u64::from(pass.count << 12 | pass.page);
                let to = self.buffer.iter_mut().skip(room);
                to.zip(what.to_le_bytes()).for_each(|(to, byte)| *to = byte);
                if let Some((before, check)) = self.buffer.split_last_chunk_mut() {
                    *check = checksum(before, &self.shape).to_le_bytes();
                }
                match self.program_snapshot_page(pass.count << INDEX_BITS | pass.page).await {
                    Err(NandError::Device) => return Err(Error::Device),
                    Err(_) => return Err(Error::WornOut),
                    Ok(()) => {}
                }
            }
            Use::Take => {
                if !self.is_readable(pass.first + pass.page).await?
                    || !is_whole(&self.buffer, &self.shape)
                {
                    return Err(Error::Unreadable(0));
                }
                let what = self.buffer.get(room..).and_then(|end| end.first_chunk());
                let what = u64::from_le_bytes(what.copied().unwrap_or_default());
                let (number, count) = (what >> 24, (what >> 12) as u32 & 0xfff);
                if pass.page == 0 {
                    (pass.number, pass.count) = (number, count);
                }
                let page = what as u32 & 0xfff;
                let is_next = page == pass.page && page < count;
                if !is_next || (number, count) != (pass.number, pass.count) {
                    return Err(Error::Unreadable(0));
                }
            }
        }
        (pass.page, pass.at) = (pass.page + 1, 0);
        Ok(())
    }

    /// What the layer knows beside its tables.
    fn scalars(&self) -> [u32; SCALARS] {
        let (before, is_map) = Before::pack(self.before, 0);
        let mut scalars = [0; SCALARS];
        scalars[..FIRST_MARK].copy_from_slice(&[
            self.logical_pages,
            self.spare_blocks,
            self.horizon as u32,
            (self.horizon >> 32) as u32,
            self.sequence as u32,
            (self.sequence >> 32) as u32,
            self.counts as u32,
            (self.counts >> 32) as u32,
            before | u32::from(is_map) << 31,
            self.after.unwrap_or(u32::MAX),
            self.last,
            self.yielded,
            self.unlevelled,
            self.snapshots.window,
            self.snapshots.roll,
            self.cache.notes() as u32,
        ]);
        scalars[FIRST_MARK..].copy_from_slice(&self.snapshots.marks);
        scalars
    }

    fn set_scalars(&mut self, scalars: &[u32; SCALARS]) {
        let long = |at: usize| u64::from(scalars[at]) | u64::from(scalars[at + 1]) << 32;
        self.spare_blocks = scalars[1];
        (self.horizon, self.sequence, self.counts) = (long(2), long(4), long(6));
        (self.before, _) = Before::unpack(scalars[8] & !(1 << 31), scalars[8] >> 31 > 0, 0);
        self.after = Some(scalars[9]).filter(|&after| after != u32::MAX);
        (self.last, self.yielded, self.unlevelled) = (scalars[10], scalars[11], scalars[12]);
        (self.snapshots.window, self.snapshots.roll) = (scalars[WINDOW], scalars[ROLL]);
        self.snapshots.marks.copy_from_slice(&scalars[FIRST_MARK..]);
    }
}
