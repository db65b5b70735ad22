//! What stands beside a page: in memory while its zone has no lasting table, else in the table.

use thermocline_flash::{BlockId, Kind as Chip, Ppn};

use super::{
    Zoned,
    format::{self, Head, Kind},
};
use crate::record::{self, BYTES, Beside, Record};

/// Table blocks in memory: of 4 KiB each, they serve 2 GiB of pages.
const SLOTS: usize = 4096;

const NOTHING: Record = [0; BYTES];

/// Table blocks that were read.
#[derive(Debug)]
pub(super) struct Tables {
    /// Which block of which table, of which life of its zone; and its bytes, or none if it holds nothing valid.
    slots: Vec<Option<(Key, Bytes)>>,
}

type Key = (BlockId, u32, u32);
type Bytes = Option<Box<[u8]>>;

impl Tables {
    pub(super) fn new() -> Self {
        Self { slots: vec![None; SLOTS] }
    }

    /// A table was written: what was read there before is not there.
    pub(super) fn forget(&mut self, block: BlockId, blocks: u32) {
        for number in 0..blocks {
            let slot = &mut self.slots[slot_of(block, number)];
            if slot.as_ref().is_some_and(|((of, ..), _)| *of == block) {
                *slot = None;
            }
        }
    }
}

fn slot_of(block: BlockId, number: u32) -> usize {
    (block.index() * 31 + number as usize) % SLOTS
}

impl Zoned {
    /// What stands beside a page.
    pub(super) fn beside(&mut self, block: BlockId, page: u32) -> Beside {
        let is = self.block(block);
        if is.is_waiting || page >= is.next {
            return Beside::Blank;
        }
        if is.torn == Some(page) {
            return Beside::Torn;
        }
        let record = match &is.areas {
            Some(areas) => areas[page as usize],
            None => self.in_table(block, page),
        };
        if record == NOTHING {
            return Beside::Torn;
        }
        record::decode(Chip::Nand, self.geometry.ppn(block, page), &record)
    }

    fn in_table(&mut self, block: BlockId, page: u32) -> Record {
        let Some(pages) = self.block(block).table.filter(|pages| page < *pages) else {
            return NOTHING;
        };
        let each = self.layout.each() as u32;
        let number = page / each;
        let key = (block, number, self.block(block).erases);
        let slot = slot_of(block, number);
        if self.tables.slots[slot].as_ref().is_none_or(|(held, _)| *held != key) {
            let read = self.read_table_block(block, pages, number);
            self.tables.slots[slot] = Some((key, read));
        }
        let held = self.tables.slots[slot].as_ref().and_then(|(_, bytes)| bytes.as_ref());
        let entry = held.and_then(|held| format::entries_of(held).nth((page % each) as usize));
        entry.copied().unwrap_or(NOTHING)
    }

    /// A block of the table behind so many pages, if it is whole and of this life of the zone.
    pub(super) fn read_table_block(
        &self,
        block: BlockId,
        pages: u32,
        number: u32,
    ) -> Option<Box<[u8]>> {
        let is = self.block(block);
        let mut bytes = vec![0; self.layout.page as usize].into_boxed_slice();
        let at = is.start + self.layout.bytes(pages + number);
        if is.pointer < self.layout.bytes(pages + number + 1) {
            return None;
        }
        self.device.read_at(&mut bytes, at).ok()?;
        let head = Head::read(Kind::Table, &bytes)?;
        let is_it = head.store == self.log.store
            && head.generation == u64::from(is.erases)
            && (head.number, head.count) == (number, block.0);
        is_it.then_some(bytes)
    }

    /// The records of a full zone by its table, beside those that the log has; and whether the table is whole.
    pub(super) fn merge_table(&self, block: BlockId, areas: &mut [Record]) -> bool {
        let mut is_whole = true;
        for (number, areas) in (0..).zip(areas.chunks_mut(self.layout.each())) {
            let Some(bytes) = self.read_table_block(block, self.layout.data, number) else {
                is_whole = false;
                continue;
            };
            for (area, entry) in areas.iter_mut().zip(format::entries_of(&bytes)) {
                if *area == NOTHING {
                    *area = *entry;
                }
            }
        }
        is_whole
    }

    /// The record of a page that is being programmed.
    pub(super) fn note_area(&mut self, block: BlockId, page: u32, record: Record) {
        let pages = self.layout.data as usize;
        let is = self.block_mut(block);
        let areas = is.areas.get_or_insert_with(|| vec![NOTHING; pages].into_boxed_slice());
        areas[page as usize] = record;
    }

    /// The records of the log's part of a block that has no lasting table.
    pub(super) fn logged_areas(&self, block: BlockId) -> impl Iterator<Item = (Ppn, Record)> {
        let is = self.block(block);
        let areas = is.areas.as_deref().unwrap_or_default().iter();
        let areas = areas.take(is.logged as usize).zip(0..);
        areas
            .filter(|(area, _)| **area != NOTHING)
            .map(move |(area, page)| (self.geometry.ppn(block, page), *area))
    }
}
