//! Slots in the order of stamps, for ages that do not follow the order of opening.
//!
//! Problem. The [tree](super::tree) bounds the costs below a node because neighbours have similar
//! ages. The age of the youngest data is unrelated to the order of opening where survivors are
//! sorted or separated: a block opened last may hold the oldest data of all. The bounds are then
//! loose, and a search visits a share of all blocks.
//!
//! Idea. A stamp is constant once its block is full, so the block gets its slot then, at the
//! position of its stamp. Slots form *segments*, one for each lowest node of the tree, with gaps
//! between blocks (a packed-memory array). A full segment shares with its neighbours: the narrowest
//! window around it that is sparse enough is spread evenly. Wider windows must be sparser. Most
//! stamps are the greatest so far and are appended, which moves nothing.
//!
//! Consequence. An insertion moves the square of a logarithm of blocks at worst, and mostly those
//! of one segment. The order inside a segment does not matter to the tree.
//!
//! Memory: 12 bytes a block for the slots, 1.5 for the segments.

use alloc::vec::Vec;
use core::ops::Range;

use super::{
    columns::Columns,
    tree::{FANOUT, NO_BLOCK, Tree},
};

/// Blocks in a segment after spreading.
const SPREAD: usize = 10;
/// Blocks in the last segment when the next one is begun.
const APPENDED: usize = 12;

#[derive(Clone, Debug)]
pub(super) struct Order {
    /// For each segment in use: a lower bound of its stamps and an upper bound of all earlier ones.
    firsts: Vec<u64>,
    /// Blocks on their way to other segments.
    moving: Vec<u32>,
}

impl Order {
    pub(super) const fn new() -> Self {
        Self { firsts: Vec::new(), moving: Vec::new() }
    }

    /// Number of slots for this number of blocks: all spread, plus each appended once more.
    pub(super) const fn slots(blocks: usize) -> usize {
        (blocks.div_ceil(SPREAD) + blocks.div_ceil(APPENDED) + 2) * FANOUT
    }

    /// Assigns a slot to a block. Updates the tree only for other blocks that moved between
    /// segments.
    pub(super) fn insert(&mut self, block: u32, columns: &mut Columns, tree: &mut Tree) {
        let stamp = columns.stamps[block as usize];
        loop {
            let segment = self.segment_of(stamp, columns);
            let (mut blocks, count) = members(segment, columns);
            if count == FANOUT {
                self.make_room(segment, columns, tree);
                continue;
            }
            let before =
                blocks[..count].partition_point(|&other| columns.stamps[other as usize] <= stamp);
            blocks.copy_within(before..count, before + 1);
            blocks[before] = block;
            put(segment, &blocks[..=count], columns);
            self.firsts[segment] = self.firsts[segment].min(stamp);
            return;
        }
    }

    /// The segment for a stamp; the next one if the stamp is the greatest and the last segment has
    /// been filled.
    fn segment_of(&mut self, stamp: u64, columns: &Columns) -> usize {
        let segment = self.firsts.partition_point(|&first| first <= stamp);
        let Some(last) = segment.checked_sub(1) else {
            if self.firsts.is_empty() {
                self.firsts.push(stamp);
            }
            return 0;
        };
        if segment == self.firsts.len() && segment * FANOUT < columns.slots.len() {
            let (blocks, count) = members(last, columns);
            let greatest = blocks[..count].last().map(|&block| columns.stamps[block as usize]);
            if count >= APPENDED && greatest <= Some(stamp) {
                self.firsts.push(stamp);
                return segment;
            }
        }
        last
    }

    /// Spreads the blocks of the narrowest sufficiently sparse window around a full segment; all
    /// blocks if there is none.
    #[cold]
    fn make_room(&mut self, segment: usize, columns: &mut Columns, tree: &mut Tree) {
        let used = self.firsts.len();
        let heights = usize::BITS - used.leading_zeros();
        for height in 1..heights {
            let from = segment >> height << height;
            let window = from..(from + (1 << height)).min(used);
            let count = columns.slots[window.start * FANOUT..window.end * FANOUT]
                .iter()
                .filter(|&&block| block != NO_BLOCK)
                .count();
            // The limit falls from nearly full to the density after spreading.
            let slack = (FANOUT - 1 - SPREAD) as u32 * height / heights;
            if count <= window.len() * (FANOUT - 1 - slack as usize) {
                return self.spread(window, columns, tree);
            }
        }
        let blocks = columns.slots[..used * FANOUT].iter().filter(|&&block| block != NO_BLOCK);
        let needed = blocks.count().div_ceil(SPREAD);
        // Surplus segments are emptied and are available for appending.
        self.firsts.resize(used.max(needed), u64::MAX);
        self.spread_into(0..used.max(needed), needed, columns, tree);
        self.firsts.truncate(needed);
    }

    fn spread(&mut self, window: Range<usize>, columns: &mut Columns, tree: &mut Tree) {
        let segments = window.len();
        self.spread_into(window, segments, columns, tree);
    }

    /// Moves the blocks of a window evenly into its first `segments` segments.
    fn spread_into(
        &mut self,
        window: Range<usize>,
        segments: usize,
        columns: &mut Columns,
        tree: &mut Tree,
    ) {
        let slots = &columns.slots[window.start * FANOUT..window.end * FANOUT];
        self.moving.clear();
        self.moving.extend(slots.iter().filter(|&&block| block != NO_BLOCK));
        let count = self.moving.len();
        let mut last = self.firsts[window.start];
        for (i, segment) in window.clone().enumerate() {
            let (from, to) = (i.min(segments), (i + 1).min(segments));
            let own = &self.moving[count * from / segments..count * to / segments];
            put(segment, own, columns);
            self.firsts[segment] = own.first().map_or(last, |&b| columns.stamps[b as usize]);
            last = own.last().map_or(last, |&b| columns.stamps[b as usize]);
        }
        tree.refold(window, columns);
    }
}

/// The blocks of a segment, and their number.
fn members(segment: usize, columns: &Columns) -> ([u32; FANOUT], usize) {
    let mut blocks = [NO_BLOCK; FANOUT];
    let mut count = 0;
    for &block in &columns.slots[segment * FANOUT..(segment + 1) * FANOUT] {
        if block != NO_BLOCK {
            blocks[count] = block;
            count += 1;
        }
    }
    (blocks, count)
}

/// Replaces the blocks of a segment.
fn put(segment: usize, blocks: &[u32], columns: &mut Columns) {
    let first = segment * FANOUT;
    let slots = &mut columns.slots[first..first + FANOUT];
    slots.fill(NO_BLOCK);
    slots[..blocks.len()].copy_from_slice(blocks);
    for (slot, &block) in (first..).zip(blocks) {
        columns.blocks[block as usize].slot = slot as u32;
    }
}
