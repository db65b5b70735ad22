//! Pages that were programmed and are not on the file yet: of each open block a run of pages, which
//! goes to the file in one write, and its records in another.
//!
//! What was not synced may be lost, so a page may wait here until the next sync; and a page that is
//! copied or overwritten soon costs no call of the system. Only NAND has runs: on NOR a record is
//! several writes, and each must see the one before it.

use std::ops::Range;

use thermocline_flash::{BlockId, Kind};

use super::{
    layout::Layout,
    record::{self, Record},
};

/// Bytes of payload that are written at once, if a page is not longer.
const RUN: usize = 128 << 10;
/// Blocks that have a run at a time: with [`RUN`] this bounds the memory.
const COUNT: usize = 16;
const NONE: u32 = u32::MAX;

/// The runs of the open blocks, each block's at most one.
#[derive(Debug)]
pub(super) struct Runs {
    page_size: usize,
    /// Pages of a run.
    pages: u32,
    /// The block of each run, or [`NONE`].
    blocks: Vec<u32>,
    runs: Vec<Run>,
    /// Pages taken so far.
    clock: u64,
    /// A run could not be written. It is kept, and must be written before anything is taken.
    pub is_stuck: bool,
}

#[derive(Clone, Debug, Default)]
struct Run {
    /// Its pages in the block.
    first: u32,
    end: u32,
    /// Where it ends when it is full.
    limit: u32,
    /// The clock when it took its last page.
    used: u64,
    /// Payloads from `first` on; as long as a full run is, and empty until the first use.
    payload: Vec<u8>,
    /// Records from `first` on.
    records: Vec<Record>,
}

impl Runs {
    pub(super) fn new(layout: &Layout) -> Self {
        Self::sized(layout, RUN, COUNT)
    }

    /// So many runs of at most so many bytes of payload.
    pub(super) fn sized(layout: &Layout, bytes: usize, count: usize) -> Self {
        let page_size = layout.geometry.page_size as usize;
        let pages = (bytes / page_size).clamp(1, layout.geometry.pages_per_block as usize) as u32;
        Self {
            page_size,
            pages,
            blocks: vec![NONE; count],
            runs: vec![Run::default(); count],
            clock: 0,
            is_stuck: false,
        }
    }

    /// Whether a chip's pages wait in runs.
    pub(super) fn serve(kind: Kind) -> bool {
        kind == Kind::Nand
    }

    /// The run of a block.
    #[inline]
    pub(super) fn find(&self, block: BlockId) -> Option<usize> {
        self.blocks.iter().position(|&it| it == block.0)
    }

    /// A run for a block that has none: an empty one, else the one used least recently, which has to
    /// be written first.
    pub(super) fn spare(&self) -> usize {
        let empty = self.runs.iter().position(|run| run.first == run.end);
        empty.unwrap_or_else(|| {
            let used = self.runs.iter().enumerate().map(|(at, run)| (run.used, at));
            used.min().map_or(0, |(_, at)| at)
        })
    }

    /// Whether a page is the next one of a run that is not full.
    pub(super) fn takes(&self, at: usize, page: u32) -> bool {
        let run = &self.runs[at];
        run.end == page && run.end < run.limit
    }

    /// Whether a run has no more room.
    pub(super) fn is_full(&self, at: usize) -> bool {
        self.runs[at].end == self.runs[at].limit
    }

    /// Begins an empty run with that page of that block.
    pub(super) fn begin(&mut self, at: usize, block: BlockId, page: u32, in_block: u32) {
        self.blocks[at] = block.0;
        let run = &mut self.runs[at];
        (run.first, run.end) = (page, page);
        // After a short run the next ones begin at whole multiples again.
        run.limit = (page / self.pages + 1).saturating_mul(self.pages).min(in_block);
        run.records.clear();
        if run.payload.is_empty() {
            run.payload = vec![0; self.pages as usize * self.page_size];
        }
    }

    /// Where the payload of the page that a run takes next belongs.
    pub(super) fn room(&mut self, at: usize) -> &mut [u8] {
        let run = &mut self.runs[at];
        let place = (run.end - run.first) as usize * self.page_size;
        &mut run.payload[place..][..self.page_size]
    }

    /// Fills that room from a page that is in a run itself; false if it is in none.
    pub(super) fn fill_from(&mut self, at: usize, block: BlockId, page: u32) -> bool {
        let Some((from, place)) = self.place(block, page) else { return false };
        let size = self.page_size;
        let into = (self.runs[at].end - self.runs[at].first) as usize * size;
        if from == at {
            self.runs[at].payload.copy_within(place.clone(), into);
        } else if let Ok([from, to]) = self.runs.get_disjoint_mut([from, at]) {
            to.payload[into..][..size].copy_from_slice(&from.payload[place]);
        }
        true
    }

    /// Takes the page whose payload is in the room.
    pub(super) fn take(&mut self, at: usize, record: &Record) {
        self.clock += 1;
        let run = &mut self.runs[at];
        run.end += 1;
        run.used = self.clock;
        run.records.push(*record);
    }

    /// The run of a page, and the page's place in it.
    fn place(&self, block: BlockId, page: u32) -> Option<(usize, Range<usize>)> {
        let at = self.find(block)?;
        let run = &self.runs[at];
        if !(run.first..run.end).contains(&page) {
            return None;
        }
        let place = (page - run.first) as usize * self.page_size;
        Some((at, place..place + self.page_size))
    }

    /// The payload of a page that waits in a run.
    pub(super) fn payload(&self, block: BlockId, page: u32) -> Option<&[u8]> {
        let (at, place) = self.place(block, page)?;
        Some(&self.runs[at].payload[place])
    }

    /// The record of a page that waits in a run.
    pub(super) fn record(&self, block: BlockId, page: u32) -> Option<&Record> {
        let at = self.find(block)?;
        let run = &self.runs[at];
        run.records.get(page.checked_sub(run.first)? as usize)
    }

    /// Puts the records that wait over those of the file: a block's areas, and the page behind the
    /// last one.
    pub(super) fn cover(&self, block: BlockId, areas: &mut [u8]) -> Option<u32> {
        let run = &self.runs[self.find(block)?];
        let areas = areas.as_chunks_mut::<{ record::BYTES }>().0;
        areas[run.first as usize..run.end as usize].copy_from_slice(&run.records);
        (run.first < run.end).then_some(run.end)
    }

    /// What of a run has to be written: block, pages and payloads.
    pub(super) fn waits(&self, at: usize) -> Option<(BlockId, Range<u32>, &[u8])> {
        let run = &self.runs[at];
        let bytes = run.records.len() * self.page_size;
        (bytes != 0).then(|| (BlockId(self.blocks[at]), run.first..run.end, &run.payload[..bytes]))
    }

    /// All runs.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.runs.len()
    }

    /// A run is on the file, or nobody wants it any more.
    pub(super) fn empty(&mut self, at: usize) {
        self.blocks[at] = NONE;
        let run = &mut self.runs[at];
        (run.first, run.end, run.limit) = (0, 0, 0);
        run.records.clear();
    }
}
