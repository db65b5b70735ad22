//! Snapshots: at a checkpoint the tables of RAM go to the chip, and the next mount reads them and looks at nothing else.
//!
//! A chip of [`LEAST_BLOCKS`] or more keeps its first blocks for them, where the store leaves room. Each page of a snapshot
//! says which page of how many it is; the last program of these blocks decides:
//!
//! * If it is the last page of a snapshot, nothing on the chip changed since: a mount takes the snapshot.
//! * Before anything else is programmed or erased, a page behind the snapshot says that it is out of date. Where it is, or
//!   anything here cannot be read, a mount [looks at the chip](crate::mount) as if there were no snapshots.
//!
//! A block begins with a page that holds nothing but a number. The block with the greatest is the newest, and none but it
//! counts. It is never the one that is erased: what an erase that was cut off leaves of an older snapshot is older than it.

use crate::{
    AREA, Area, Before, Content, Error, Found, Ftl, Geometry, Nand, NandError,
    blocks::{Block, State},
    ftl::device,
    header::{checksum, is_whole},
    log::{EARLY, LANES, NOWHERE, Open},
    memory::map_pages,
    policy::{Placement, Victim},
};

/// Blocks that are kept for snapshots. Of two that alternate one may go bad.
pub(crate) const SNAPSHOT_BLOCKS: u32 = 3;
/// Of a smaller chip a mount reads little as it is.
pub(crate) const LEAST_BLOCKS: u32 = 256;
/// The number of the snapshot, of its page, and a checksum, at the end of each page.
const TRAILER: usize = 12;
/// Pages left behind a snapshot, one of which says that it is out of date: another one may have been touched.
const BEHIND: u32 = 2;
/// Bits of a page's number that say which of the snapshot it is. Those before them say of how many.
const INDEX_BITS: u32 = 9;
/// Of three records none is longer.
const LONGEST: usize = 6;
/// Words beside the tables: what the layer knows, and its open blocks.
const SCALARS: usize = 13;
const WORDS: usize = SCALARS + 3 * LANES;

/// What is known of the snapshots on the chip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshots {
    /// Blocks that are kept for them, from the first one on.
    pub(crate) blocks: u32,
    /// The block of the newest, and the page that is programmed next there.
    pub(crate) block: u32,
    next: u32,
    /// The number of the newest; 0 where there are none.
    pub(crate) number: u64,
    /// A mount may take the newest: a page must say that it is out of date before anything changes.
    is_believed: bool,
    /// The newest is what RAM holds.
    is_saved: bool,
    /// Blocks whose first page cannot be read, as bits.
    torn: u8,
}

impl Snapshots {
    pub(crate) const NONE: Self = Self {
        blocks: 0,
        block: NOWHERE,
        next: 0,
        number: 0,
        is_believed: false,
        is_saved: false,
        torn: 0,
    };
}

/// The tables on their way to the chip, or back.
struct Pass {
    is_saving: bool,
    /// Where the snapshot begins on the chip, if it is read; and its pages.
    first: u32,
    count: u32,
    /// Pages done, and bytes of the next one.
    page: u32,
    at: usize,
}

/// Pages of a snapshot.
const fn pages_of_snapshot(shape: &Geometry, logical_pages: u32) -> u32 {
    let map = map_pages(shape.page_size, logical_pages) as usize;
    let bytes = 4 * WORDS + size_of::<Block>() * shape.blocks as usize + 4 * map;
    // A record is in one page.
    // No page is as short as that.
    let room = (shape.page_size as usize).saturating_sub(TRAILER + LONGEST);
    bytes.div_ceil(1 + room) as u32
}

/// Whether a page of a block is the last one of a snapshot in it.
const fn is_end(area: &Area, page: u32) -> bool {
    let (index, count) = (area.number & ((1 << INDEX_BITS) - 1), area.number >> INDEX_BITS);
    matches!(area.content, Content::Snapshot) && index + 1 == count && count <= page
}

/// Whether blocks of a chip can be kept for snapshots.
pub(crate) const fn fits(shape: &Geometry, logical_pages: u32) -> bool {
    shape.blocks >= LEAST_BLOCKS
        && 1 + pages_of_snapshot(shape, logical_pages) + BEHIND <= shape.pages
}

impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Finds the newest snapshot, and takes it if it is not out of date.
    pub(crate) fn mount_snapshot(&mut self) -> Result<bool, Error> {
        self.snapshots = Snapshots::NONE;
        if !self.nand.keeps_snapshots() {
            return Ok(false);
        }
        self.find_snapshots()?;
        let Snapshots { is_believed, torn, .. } = self.snapshots;
        if !is_believed || torn > 0 {
            return Ok(false);
        }
        self.forget();
        // It says itself how many pages it has.
        let last = self.snapshots.block * self.shape.pages + self.snapshots.next - BEHIND;
        let Some(Area { number, .. }) = self.known_area(last)? else { return Ok(false) };
        let count = number >> INDEX_BITS;
        let first = (last + 1).saturating_sub(count);
        let mut pass = Pass { is_saving: false, first, count, page: 0, at: usize::MAX / 2 };
        match self.pass(&mut pass) {
            Err(Error::Unreadable(_)) => return Ok(false),
            done => done?,
        }
        self.snapshots.is_saved = true;
        Ok(true)
    }

    /// Finds the newest snapshot, by the first page of each block that may hold any, and by the last page of the newest block.
    pub(crate) fn find_snapshots(&mut self) -> Result<(), Error> {
        self.snapshots = Snapshots::NONE;
        if self.shape.blocks < LEAST_BLOCKS {
            return Ok(());
        }
        let mut found = Snapshots::NONE;
        for block in 0..SNAPSHOT_BLOCKS {
            match self.first_of_snapshot_block(block)? {
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
            return Ok(());
        }
        found.blocks = SNAPSHOT_BLOCKS;
        let first = found.block * self.shape.pages;
        for page in (0..self.shape.pages).rev() {
            match self.area(first + page)? {
                Found::Blank => continue,
                Found::Page(area) => {
                    found.number = area.sequence.max(found.number);
                    found.is_believed = is_end(&area, page);
                }
                // It may be any of those that fit into the block.
                Found::Torn => found.number += u64::from(self.shape.pages),
            }
            // The page behind may have been touched.
            found.next = page + BEHIND;
            break;
        }
        self.snapshots = found;
        Ok(())
    }

    /// What stands beside the first page of one of these blocks; nothing if it is bad.
    fn first_of_snapshot_block(&mut self, block: u32) -> Result<Option<Found>, Error> {
        if self.nand.is_bad(block).map_err(device)? {
            self.blocks[block as usize].retire();
        }
        let is_good = !self.blocks[block as usize].is_retired();
        Ok(if is_good { Some(self.area(block * self.shape.pages)?) } else { None })
    }

    /// What blocks are kept for snapshots is not written, nor cleaned. Where this driver takes none, one that another left is found
    /// by now: it is out of date before anything changes.
    pub(crate) fn reserve_snapshot_blocks(&mut self) -> Result<(), Error> {
        if self.snapshots.blocks > 0 && !self.nand.keeps_snapshots() {
            self.find_snapshots()?;
            self.snapshots.blocks = SNAPSHOT_BLOCKS;
        }
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

    /// Whether RAM holds what the newest snapshot says.
    pub(crate) fn is_snapshot(&self) -> bool {
        self.snapshots.is_saved && self.cache.is_empty()
    }

    /// Writes a snapshot, where blocks are kept for it. Everything else is on the chip already.
    pub(crate) fn save_snapshot(&mut self) -> Result<(), Error> {
        let is_settled = self.is_settled && !self.is_map_hurt && self.newest == NOWHERE;
        if self.snapshots.blocks == 0
            || !self.nand.keeps_snapshots()
            || !is_settled
            || self.before.is_none()
            || self.is_snapshot()
        {
            return Ok(());
        }
        let count = pages_of_snapshot(&self.shape, self.logical_pages);
        // A block whose first page cannot be read is erased as soon as another one is newer than all that it may hold.
        let torn = core::mem::take(&mut self.snapshots.torn);
        let Snapshots { block, next, .. } = self.snapshots;
        let has_room = block != NOWHERE && next + count + BEHIND <= self.shape.pages;
        if (!has_room || torn > 0) && !self.open_snapshot_block()? {
            return Ok(());
        }
        self.snapshots.number += 1;
        match self.pass(&mut Pass { is_saving: true, first: NOWHERE, count, page: 0, at: 0 }) {
            Err(Error::WornOut) => {
                self.retire_snapshot_block(self.snapshots.block)?;
                return self.supersede_snapshot();
            }
            done => done?,
        }
        self.nand.sync().map_err(device)?;
        self.snapshots.is_saved = true;
        for block in (0..SNAPSHOT_BLOCKS).filter(|block| torn >> block & 1 == 1) {
            // It may be the one that was opened, or have failed then.
            if block != self.snapshots.block && self.is_snapshot_block(block) {
                self.erase_snapshot_block(block)?;
            }
        }
        Ok(())
    }

    /// Before anything is programmed or erased: no mount takes the snapshot any more.
    pub(crate) fn outdate_snapshot(&mut self) -> Result<(), Error> {
        self.snapshots.is_saved = false;
        if !self.snapshots.is_believed {
            return Ok(());
        }
        let Snapshots { block, next, .. } = self.snapshots;
        if next < self.shape.pages && !self.blocks[block as usize].is_retired() {
            match self.program_snapshot_page(0) {
                Ok(()) => {
                    self.snapshots.is_believed = false;
                    return self.nand.sync().map_err(device);
                }
                Err(NandError::Device) => return Err(Error::Device),
                Err(_) => self.retire_snapshot_block(block)?,
            }
        }
        self.supersede_snapshot()
    }

    /// Where nothing can be said behind the newest snapshot, another block is newer; or, if there is none, this one is erased.
    fn supersede_snapshot(&mut self) -> Result<(), Error> {
        let Snapshots { block, next, .. } = self.snapshots;
        if self.open_snapshot_block()? {
            return Ok(());
        }
        if !self.nand.is_bad(block).map_err(device)?
            && !self.erase_snapshot_block(block)?
            && !self.nand.is_bad(block).map_err(device)?
        {
            // The chip took neither the erase nor the mark.
            for page in (0..next.min(self.shape.pages)).rev() {
                match self.area(block * self.shape.pages + page)? {
                    Found::Blank => {}
                    Found::Page(area) if is_end(&area, page) => return Err(Error::WornOut),
                    _ => break,
                }
            }
        }
        (self.snapshots.block, self.snapshots.is_believed) = (NOWHERE, false);
        Ok(())
    }

    /// Makes another block the newest, the oldest one whose first page can be read; false if there is none.
    pub(crate) fn open_snapshot_block(&mut self) -> Result<bool, Error> {
        loop {
            let mut oldest = (u64::MAX, NOWHERE);
            for block in 0..SNAPSHOT_BLOCKS {
                if block == self.snapshots.block {
                    continue;
                }
                let number = match self.first_of_snapshot_block(block)? {
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
            if !self.erase_snapshot_block(block)? {
                continue;
            }
            // Beyond all that a block may hold whose first page cannot be read.
            self.snapshots.number += u64::from(self.shape.pages);
            match self.program_beside(block, 0, 0) {
                Ok(()) => {
                    (self.snapshots.block, self.snapshots.next) = (block, 1);
                    self.snapshots.is_believed = false;
                    return self.nand.sync().map_err(device).map(|()| true);
                }
                Err(NandError::Device) => return Err(Error::Device),
                Err(_) => self.retire_snapshot_block(block)?,
            }
        }
    }

    /// Erases one of these blocks; false if it failed, and is bad from then on.
    fn erase_snapshot_block(&mut self, block: u32) -> Result<bool, Error> {
        match self.nand.erase(block) {
            Ok(()) => {
                if let Some(home) = self.blocks.get_mut(block as usize) {
                    home.erases = home.erases.saturating_add(1);
                }
                self.counters.erases += 1;
                self.nand.sync().map_err(device)?;
                Ok(true)
            }
            Err(NandError::Device) => Err(Error::Device),
            Err(_) => self.retire_snapshot_block(block).map(|()| false),
        }
    }

    fn retire_snapshot_block(&mut self, block: u32) -> Result<(), Error> {
        self.counters.failed_blocks += 1;
        if let Some(home) = self.blocks.get_mut(block as usize) {
            home.retire();
        }
        self.nand.mark_bad(block).map_err(device)
    }

    /// Programs the next page of the newest block with what the buffer holds.
    fn program_snapshot_page(&mut self, number: u32) -> Result<(), NandError> {
        let Snapshots { block, next, .. } = self.snapshots;
        // Whatever comes of it, the page is used up, and what is there may be the end of a snapshot.
        self.snapshots.next += 1;
        self.snapshots.is_believed = true;
        self.program_beside(block, next, number)
    }

    /// Programs a page of these blocks with what the buffer holds, and a number: which page of how many it is; 0 for none.
    fn program_beside(&mut self, block: u32, page: u32, number: u32) -> Result<(), NandError> {
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
        self.nand.program(block * self.shape.pages + page, &self.buffer, &area)
    }

    /// Saves the tables of RAM, or takes them from the newest snapshot: one record after another, in the same order.
    /// [`Error::WornOut`] if a program failed, [`Error::Unreadable`] if a page is not what was saved.
    fn pass(&mut self, pass: &mut Pass) -> Result<(), Error> {
        let mut scalars = self.scalars();
        for scalar in &mut scalars {
            self.exchange_word(pass, scalar)?;
        }
        if !pass.is_saving {
            self.set_size(scalars[0])?;
        }
        for lane in 0..LANES {
            let Some(&Open { mut block, mut previous, next, cut }) = self.open.get(lane) else {
                continue;
            };
            let mut pages = u32::from(next) | u32::from(cut) << 16;
            for word in [&mut block, &mut previous, &mut pages] {
                self.exchange_word(pass, word)?;
            }
            if let Some(open) = self.open.get_mut(lane) {
                *open = Open { block, previous, next: pages as u16, cut: (pages >> 16) as u16 };
            }
        }
        for block in 0..self.shape.blocks {
            let mut bytes = self.blocks[block as usize].to_bytes();
            self.exchange(pass, &mut bytes)?;
            let home = &mut self.blocks[block as usize];
            // A block that failed and was not marked is not written again.
            if !pass.is_saving && !home.is_retired() && home.state() != State::Failing {
                *home = Block::from_bytes(bytes);
            }
        }
        for page in 0..map_pages(self.shape.page_size, self.logical_pages) {
            let mut at = self.directory[page as usize];
            self.exchange_word(pass, &mut at)?;
            self.directory[page as usize] = at;
        }
        if !pass.is_saving {
            self.set_scalars(&scalars);
        }
        while pass.is_saving && pass.page < pass.count {
            self.turn(pass)?;
        }
        Ok(())
    }

    fn exchange_word(&mut self, pass: &mut Pass, word: &mut u32) -> Result<(), Error> {
        let mut bytes = word.to_le_bytes();
        self.exchange(pass, &mut bytes)?;
        *word = u32::from_le_bytes(bytes);
        Ok(())
    }

    /// A record, which is in one page.
    fn exchange(&mut self, pass: &mut Pass, record: &mut [u8]) -> Result<(), Error> {
        if pass.at + record.len() > self.room_of_snapshot_page() {
            self.turn(pass)?;
        }
        for (there, here) in self.buffer.iter_mut().skip(pass.at).zip(record.iter_mut()) {
            if pass.is_saving {
                *there = *here;
            } else {
                *here = *there;
            }
        }
        pass.at += record.len();
        Ok(())
    }

    fn room_of_snapshot_page(&self) -> usize {
        (self.shape.page_size as usize).saturating_sub(TRAILER)
    }

    /// Programs the page that is full, or reads the next one.
    fn turn(&mut self, pass: &mut Pass) -> Result<(), Error> {
        let trailer = (self.snapshots.number << 16 | u64::from(pass.page & 0xffff)).to_le_bytes();
        let room = self.room_of_snapshot_page();
        if pass.is_saving {
            let to = self.buffer.iter_mut().skip(room);
            to.zip(trailer).for_each(|(to, byte)| *to = byte);
            if let Some((before, check)) = self.buffer.split_last_chunk_mut() {
                *check = checksum(before, &self.shape).to_le_bytes();
            }
            match self.program_snapshot_page(pass.count << INDEX_BITS | pass.page) {
                Err(NandError::Device) => return Err(Error::Device),
                Err(_) => return Err(Error::WornOut),
                Ok(()) => {}
            }
        } else {
            let is_it = self.is_readable(pass.first + pass.page)?
                && is_whole(&self.buffer, &self.shape)
                && self.buffer.iter().skip(room).zip(trailer).all(|(&a, b)| a == b);
            if !is_it {
                return Err(Error::Unreadable(0));
            }
        }
        (pass.page, pass.at) = (pass.page + 1, 0);
        Ok(())
    }

    /// What the layer knows beside its tables.
    fn scalars(&self) -> [u32; SCALARS] {
        let (before, is_map) = Before::pack(self.before, 0);
        [
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
            self.free,
            self.yielded,
            self.unlevelled,
        ]
    }

    fn set_scalars(&mut self, scalars: &[u32; SCALARS]) {
        let long = |at: usize| u64::from(scalars[at]) | u64::from(scalars[at + 1]) << 32;
        self.spare_blocks = scalars[1];
        (self.horizon, self.sequence, self.counts) = (long(2), long(4), long(6));
        self.left_out_from = self.counts;
        self.sweep_began = self.counts;
        (self.before, _) = Before::unpack(scalars[8] & !(1 << 31), scalars[8] >> 31 > 0, 0);
        self.after = Some(scalars[9]).filter(|&after| after != u32::MAX);
        (self.free, self.yielded, self.unlevelled) = (scalars[10], scalars[11], scalars[12]);
        self.fresh = EARLY * self.shape.pages;
    }
}
