//! The block table: how often each block was erased, and which are bad.
//!
//! It is kept in memory whole, 4 bytes a block. On the file it lies in groups of 1,016 blocks, each
//! with a checksum and two slots. A change goes to the slot that is *not* the newest, and only once a
//! sync has made the newest last: whatever a loss of power tears, the other slot is whole. Nothing
//! else depends on the table: what a page holds, its area says.
//!
//! | bytes of a slot | |
//! |---|---|
//! | 0..4 | CRC-32C of the rest |
//! | 4..8 | number of the group |
//! | 8..16 | version: of two whole slots the greater is the newer |
//! | 16..32 | zeros |
//! | 32.. | a number a block: erase count, and bit 31 for a bad block |

use std::io;

use thermocline_flash::BlockId;

use super::{
    checksum,
    error::Damage,
    layout::{GROUP_BLOCKS, Layout, PAGE},
    store::Store,
    unread::Unread,
};

const BAD: u32 = 1 << 31;
/// Groups that may be lost where most are.
const MOST_LOST: usize = 64;
const HEADER: usize = PAGE - 4 * GROUP_BLOCKS as usize;

#[derive(Debug)]
pub(super) struct Table {
    /// Of each block: erase count and [`BAD`].
    entries: Vec<u32>,
    groups: Vec<Group>,
    /// Groups that differ from what the file says, each once.
    dirty: Vec<u32>,
    bad: u32,
    /// Groups of which a slot cannot be read.
    unread: Vec<u32>,
    page: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    version: u64,
    /// The slot that has it.
    slot: u32,
    /// A sync begun after this many has made that slot last, once it is over.
    written: u64,
    is_dirty: bool,
}

impl Table {
    /// The table of a new chip.
    pub(super) fn new(layout: &Layout, bad: &[BlockId]) -> Self {
        let mut entries = vec![0; layout.geometry.blocks() as usize];
        for block in bad {
            if let Some(entry) = entries.get_mut(block.index()) {
                *entry = BAD;
            }
        }
        let group = Group { version: 0, slot: 1, written: 0, is_dirty: true };
        let groups = vec![group; layout.groups as usize];
        let bad = entries.iter().filter(|&&entry| entry & BAD != 0).count() as u32;
        let dirty = (0..layout.groups).collect();
        Self { entries, groups, dirty, bad, unread: Vec::new(), page: vec![0; PAGE] }
    }

    /// Reads the table. A group of which no slot is whole, which no loss of power brings about, has
    /// the others' mean erase count, and no bad blocks: those will fail again, and be marked again. Memory
    /// is taken group by group, as the file has it.
    pub(super) fn read(
        store: &dyn Store,
        layout: &Layout,
        unread: &mut Unread,
    ) -> Result<(Self, u32), Damage> {
        let (mut entries, mut groups) = (Vec::new(), Vec::new());
        let (mut lost, mut holes) = (Vec::new(), Vec::new());
        let mut slots = vec![0; 2 * PAGE];
        for number in 0..layout.groups {
            let read = unread.read_around(store, &mut slots, layout.group(number, 0));
            if !read.map_err(Damage::when("read the block table"))?.is_empty() {
                holes.push(number);
            }
            let versions = slots.chunks_exact(PAGE).map(|slot| version(slot, number));
            let newest = (0..2).zip(versions).filter_map(|(slot, version)| Some((version?, slot)));
            let newest = newest.max();
            let (version, slot) = newest.unwrap_or((0, 1));
            if newest.is_none() {
                lost.push(number);
                if lost.len() > MOST_LOST && 2 * lost.len() > groups.len() {
                    return Err(Damage::Table { seen: number + 1, lost: lost.len() });
                }
            }
            groups.push(Group { version, slot, written: 0, is_dirty: newest.is_none() });
            let left = layout.geometry.blocks() - number * GROUP_BLOCKS;
            let page = &slots[slot as usize * PAGE..][HEADER..PAGE];
            let numbers = page.chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            let numbers = numbers.map(|number| if newest.is_some() { number } else { 0 });
            entries.extend(numbers.take(left as usize));
        }
        let bad = entries.iter().filter(|&&entry| entry & BAD != 0).count() as u32;
        let page = vec![0; PAGE];
        let mut table = Self { entries, groups, dirty: lost, bad, unread: holes, page };
        let sum: u64 = table.entries.iter().map(|&entry| u64::from(entry & !BAD)).sum();
        let lost = table.dirty.clone();
        let gone: usize = lost.iter().map(|&number| table.entries_of(number).len()).sum();
        let left = table.entries.len() - gone;
        for &number in &lost {
            table.entries_of(number).fill((sum / left.max(1) as u64) as u32);
        }
        Ok((table, lost.len() as u32))
    }

    fn entries_of(&mut self, group: u32) -> &mut [u32] {
        let first = (group * GROUP_BLOCKS) as usize;
        let end = (first + GROUP_BLOCKS as usize).min(self.entries.len());
        &mut self.entries[first..end]
    }

    #[inline]
    pub(super) fn is_bad(&self, block: BlockId) -> bool {
        self.entries.get(block.index()).is_none_or(|entry| entry & BAD != 0)
    }

    pub(super) const fn bad_blocks(&self) -> u32 {
        self.bad
    }

    pub(super) fn erases(&self, block: BlockId) -> u32 {
        self.entries.get(block.index()).map_or(0, |entry| entry & !BAD)
    }

    /// Counts an erase.
    pub(super) fn erased(&mut self, block: BlockId) {
        let entry = &mut self.entries[block.index()];
        // A count that would run into the bad bit stays where it is.
        *entry += u32::from(*entry & !BAD != !BAD);
        self.touch(block);
    }

    pub(super) fn mark_bad(&mut self, block: BlockId) {
        let entry = &mut self.entries[block.index()];
        self.bad += u32::from(*entry & BAD == 0);
        *entry |= BAD;
        self.touch(block);
    }

    fn touch(&mut self, block: BlockId) {
        let number = block.0 / GROUP_BLOCKS;
        let group = &mut self.groups[number as usize];
        if !group.is_dirty {
            group.is_dirty = true;
            self.dirty.push(number);
        }
    }

    /// Groups of which a slot cannot be read are written anew, into it.
    pub(super) fn renew_unread(&mut self) -> Vec<u32> {
        let unread = std::mem::take(&mut self.unread);
        unread.iter().for_each(|&group| self.touch(BlockId(group * GROUP_BLOCKS)));
        unread
    }

    /// Whether the file has another opinion.
    pub(super) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Writes what changed, as far as it may: `now` syncs were begun, and everything that was written
    /// before the one numbered `lasting` was begun lasts.
    pub(super) fn write(
        &mut self,
        store: &dyn Store,
        layout: &Layout,
        now: u64,
        lasting: u64,
    ) -> io::Result<()> {
        let mut failed = Ok(());
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.retain(|&number| {
            let group = self.groups[number as usize];
            if group.written >= lasting || failed.is_err() {
                return true;
            }
            failed = self.write_group(store, layout, number, now);
            failed.is_err()
        });
        self.dirty = dirty;
        failed
    }

    /// Writes a new table, of which nothing is on the file yet: both slots, for nobody relies on
    /// either before the header is there.
    pub(super) fn write_new(&mut self, store: &dyn Store, layout: &Layout) -> io::Result<()> {
        for number in 0..layout.groups {
            self.write_group(store, layout, number, 0)?;
            self.write_group(store, layout, number, 0)?;
        }
        self.dirty.clear();
        Ok(())
    }

    fn write_group(
        &mut self,
        store: &dyn Store,
        layout: &Layout,
        number: u32,
        now: u64,
    ) -> io::Result<()> {
        let Group { version, slot, .. } = self.groups[number as usize];
        let (version, slot) = (version + 1, 1 - slot);
        let mut page = std::mem::take(&mut self.page);
        page.fill(0);
        page[4..8].copy_from_slice(&number.to_le_bytes());
        page[8..16].copy_from_slice(&version.to_le_bytes());
        for (bytes, entry) in page[HEADER..].chunks_exact_mut(4).zip(self.entries_of(number)) {
            bytes.copy_from_slice(&entry.to_le_bytes());
        }
        let sum = checksum(&page[4..]);
        page[..4].copy_from_slice(&sum.to_le_bytes());
        let done = store.write_at(&page, layout.group(number, slot));
        self.page = page;
        // A slot that was not written whole is not the newest, and may be written again at once.
        done?;
        self.groups[number as usize] = Group { version, slot, written: now, is_dirty: false };
        Ok(())
    }
}

/// The version of a slot that is whole.
fn version(slot: &[u8], group: u32) -> Option<u64> {
    let number =
        |at: usize| u32::from_le_bytes([slot[at], slot[at + 1], slot[at + 2], slot[at + 3]]);
    if checksum(&slot[4..]) != number(0) || number(4) != group {
        return None;
    }
    let version = u64::from(number(8)) | u64::from(number(12)) << 32;
    // Nobody has written so often.
    (version < 1 << 63).then_some(version)
}
