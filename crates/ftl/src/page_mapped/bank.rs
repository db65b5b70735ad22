//! A bank: collects its own garbage.
//!
//! Invariants:
//! * every block is free, open for one stream, closed, set aside or lent, condemned, or unusable; the
//!   free list has exactly the free blocks, the open list the open ones;
//! * a block's valid count is the number of unmarked pages mapped into it, except while its survivors
//!   are being moved; `live` is the sum of the valid counts;
//! * the victim index has exactly the closed blocks.
//!
//! Only the methods here change the table of blocks.

use alloc::{boxed::Box, collections::VecDeque, vec, vec::Vec};

use thermocline_flash::{BlockId, Chip, Lpn, Ppn};
use thermocline_policy::{
    Block, BlockTable, BlockView, State,
    placement::{Entry, Place, Streams},
    victim::Victim,
};

use super::{
    bank_writes::BankWrites,
    by_erases::ByErases,
    open_block::{OpenBlock, Target},
};
use crate::FtlError;
use crate::shape::Shape;

/// Pages written after which a victim policy that watches gets them.
const WATCHED: usize = 256;

/// Blocks, free list, open blocks and victims of a bank.
pub(super) struct Bank {
    number: u32,
    shape: Shape,
    /// Table of blocks and the index of victims.
    blocks: BlockTable,
    victim: Box<dyn Victim>,
    /// Erased blocks, first in, first out.
    free: VecDeque<BlockId>,
    /// The open block of each stream; the last stream is the read-only one.
    open: Vec<OpenBlock>,
    by_erases: ByErases,
    /// Whether the victim policy watches writes, and the writes it has not got yet.
    watches: bool,
    watched: Vec<Lpn>,
    /// Pages that hold current data.
    live: u32,
    /// Blocks erased.
    erases: u64,
    /// When a page was assigned to it last, in page writes.
    assigned: u64,
}

impl Bank {
    /// A bank of an erased chip with open blocks for `streams` streams of the placement.
    pub(super) fn new<C: Chip>(
        chip: &C,
        number: u32,
        victim: Box<dyn Victim>,
        streams: u8,
    ) -> Self {
        let geometry = chip.geometry();
        let (first, count) = (number * geometry.blocks_per_bank, geometry.blocks_per_bank);
        let shape = Shape::of(geometry);
        let mut blocks = BlockTable::of_bank(first, count, shape.pages(), &*victim);
        let mut free = VecDeque::with_capacity(count as usize);
        for block in (first..first + count).map(BlockId) {
            blocks.set_erases(block, chip.erase_count(block));
            if block.0 >= geometry.data_blocks() || chip.is_bad(block) {
                blocks.retire(block);
            } else {
                free.push_back(block);
            }
        }
        Self {
            number,
            shape,
            blocks,
            watches: victim.watches(),
            watched: Vec::with_capacity(if victim.watches() { WATCHED } else { 0 }),
            victim,
            free,
            open: vec![OpenBlock::none(shape.pages()); usize::from(streams) + 1],
            by_erases: ByErases::default(),
            live: 0,
            erases: 0,
            assigned: 0,
        }
    }

    // State.

    /// The table of blocks.
    #[inline(always)]
    pub(super) fn blocks(&self) -> &BlockView {
        &self.blocks
    }

    #[inline(always)]
    pub(super) fn block(&self, block: BlockId) -> &Block {
        self.blocks.block(block)
    }

    /// Blocks on the free list.
    #[inline(always)]
    pub(super) fn free_blocks(&self) -> usize {
        self.free.len()
    }

    /// The free list, the block that waited longest first.
    pub(super) fn free_list(&self) -> impl Iterator<Item = BlockId> {
        self.free.iter().copied()
    }

    /// The open block of a stream.
    #[inline(always)]
    pub(super) fn open(&self, stream: usize) -> &OpenBlock {
        &self.open[stream]
    }

    /// The open blocks of all streams, by stream.
    pub(super) fn open_blocks(&self) -> &[OpenBlock] {
        &self.open
    }

    /// The place of a page's data, as a placement sees it.
    #[inline(always)]
    pub(super) fn place(&self, at: Ppn) -> Place {
        let block = self.shape.block_of(at);
        let stream = self.block(block).stream;
        let next = self.open(usize::from(stream)).programmed();
        Place { bank: self.number, block, stream, page: self.shape.page_of(at), next }
    }

    /// The stream that a block is open for.
    pub(super) fn stream_of(&self, block: BlockId) -> Option<usize> {
        self.open.iter().position(|open| open.block() == block)
    }

    pub(super) fn read_only_stream(&self) -> u8 {
        (self.open.len() - 1) as u8
    }

    /// Free pages, and streams that have an open block.
    #[inline(always)]
    pub(super) fn free_and_open(&self) -> (u64, u64) {
        let (mut room, mut open) = (0, 0);
        for stream in &self.open {
            room += u64::from(stream.room());
            open += u64::from(stream.block() != BlockId::NONE);
        }
        (self.free.len() as u64 * u64::from(self.shape.pages()) + room, open)
    }

    /// Free pages: those of free blocks and the room left in open ones.
    pub(super) fn free_pages(&self) -> u64 {
        let room: u64 = self.open.iter().map(|open| u64::from(open.room())).sum();
        self.free.len() as u64 * u64::from(self.shape.pages()) + room
    }

    /// The stream of the placement's with the most room in its open block, if one has any.
    pub(super) fn roomiest(&self) -> Option<u8> {
        let streams = (0..).zip(&self.open[..usize::from(self.read_only_stream())]);
        let rooms = streams.map(|(stream, open)| (open.room(), core::cmp::Reverse(stream)));
        rooms.max().filter(|&(room, _)| room > 0).map(|(_, stream)| stream.0)
    }

    pub(super) const fn live(&self) -> u32 {
        self.live
    }

    /// Blocks erased.
    pub(super) const fn erases(&self) -> u64 {
        self.erases
    }

    /// When a page was assigned to it last, in page writes.
    pub(super) const fn last_assigned(&self) -> u64 {
        self.assigned
    }

    /// A page was assigned to it.
    pub(super) const fn assigned(&mut self, writes: u64) {
        self.assigned = writes;
    }

    /// Whether the victim policy takes the block with the least valid pages.
    pub(super) fn takes_least_valid(&self) -> bool {
        self.victim.takes_least_valid()
    }

    pub(super) const fn watches(&self) -> bool {
        self.watches
    }

    pub(super) fn choices(&self) -> Vec<(&'static str, u64)> {
        self.victim.choices()
    }

    // Host writes.

    /// The next page of a stream's open block.
    #[inline(always)]
    pub(super) fn take(&mut self, stream: usize) -> Target {
        self.open[stream].take()
    }

    /// The same, or nothing if the block is full.
    #[inline(always)]
    pub(super) fn take_if_room(&mut self, stream: usize) -> Option<Target> {
        let open = &mut self.open[stream];
        if open.is_full() { None } else { Some(open.take()) }
    }

    /// Takes up to `most` next pages of a stream's open block. Returns the first and the number
    /// taken.
    #[inline(always)]
    pub(super) fn take_run(&mut self, stream: usize, most: usize) -> (Target, u32) {
        self.open[stream].take_run(most)
    }

    /// The pages taken last from a stream's open block were not programmed.
    pub(super) fn untake_all(&mut self, stream: usize, pages: u32) {
        for _ in 0..pages {
            self.open[stream].untake();
        }
    }

    /// The bank during a run of host writes, which alone change it meanwhile. The caller passes its
    /// shape.
    #[inline(always)]
    pub(super) fn writes(&mut self, shape: Shape) -> BankWrites<'_> {
        let Self { number, blocks, open, live, .. } = self;
        BankWrites { number: *number, shape, blocks: blocks.writes(), open, live }
    }

    /// The page taken last from a stream's open block was programmed with new data. Returns the block.
    #[inline(always)]
    pub(super) fn wrote(&mut self, stream: usize, now: u64) -> BlockId {
        self.writes(self.shape).wrote(stream, 1, now)
    }

    /// A page of a block is no longer current.
    #[inline(always)]
    pub(super) fn invalidate(&mut self, block: BlockId, now: u64) {
        self.writes(self.shape).invalidate_in(block, now);
    }

    /// A page of a block that was inferred to be garbage is current after all.
    pub(super) fn revalidate(&mut self, block: BlockId, now: u64) {
        self.blocks.revalidate(block, now);
        self.live += 1;
    }

    /// `by` more pages of a block are hot, or fewer.
    #[inline(always)]
    pub(super) fn warm(&mut self, block: BlockId, by: i32) {
        self.blocks.warm(block, by);
    }

    /// Asks for the cache lines that invalidating a page of `block` will need.
    #[inline(always)]
    pub(super) fn prefetch(&self, block: BlockId) {
        self.blocks.prefetch(block);
    }

    /// The host wrote a page here; a victim policy that watches gets it in time.
    #[inline(always)]
    pub(super) fn watch(&mut self, lpn: Lpn) {
        if self.watches {
            self.watched.push(lpn);
            if self.watched.len() == WATCHED {
                self.pass_on_watched();
            }
        }
    }

    /// As `watch`, for pages in the order of their writes.
    #[inline(always)]
    pub(super) fn watch_all(&mut self, lpns: impl Iterator<Item = Lpn>) {
        if self.watches {
            lpns.for_each(|lpn| self.watch(lpn));
        }
    }

    #[cold]
    #[inline(never)]
    fn pass_on_watched(&mut self) {
        self.victim.watch(&self.watched);
        self.watched.clear();
    }

    // How blocks are lent.

    /// Lends the free block that waited longest.
    pub(super) fn lend(&mut self) -> Option<BlockId> {
        let block = self.free.pop_front()?;
        self.blocks.lend(block);
        Some(block)
    }

    /// Takes back a lent block with its present erase count.
    pub(super) fn take_back(&mut self, block: BlockId, erases: u32) {
        self.blocks.take_back(block, erases);
        self.free.push_back(block);
    }

    // How blocks are opened and closed.

    /// Closes a stream's open block and opens the free block that waited longest.
    pub(super) fn open_next(
        &mut self,
        placement: &mut dyn Streams,
        stream: u8,
        now: u64,
    ) -> Result<(), FtlError> {
        let block = self.free.pop_front().ok_or(FtlError::NoSpace)?;
        self.close_open(placement, usize::from(stream));
        self.blocks.open(block, stream, now);
        placement.opened(self.number, block, stream, now);
        self.open[usize::from(stream)] = OpenBlock::of(&self.shape, block, 0);
        Ok(())
    }

    /// Closes the open blocks of streams that are not in use, but for one stream: while they are open they cannot be
    /// cleaned. Not to be called while survivors are moved.
    pub(super) fn close_unused(&mut self, placement: &mut dyn Streams, but: u8) {
        for stream in (0..self.read_only_stream()).filter(|&stream| stream != but) {
            let is_open = self.open[usize::from(stream)].block() != BlockId::NONE;
            if is_open && !placement.is_used(stream) {
                self.close_open(placement, usize::from(stream));
            }
        }
    }

    /// Closes a stream's open block, if there is one, be it full or not.
    pub(super) fn close_open(&mut self, placement: &mut dyn Streams, stream: usize) {
        let none = OpenBlock::none(self.shape.pages());
        let open = core::mem::replace(&mut self.open[stream], none);
        if open.block() != BlockId::NONE {
            self.close(placement, open.block());
        }
    }

    /// A block that is no stream's open block any more enters the index.
    pub(super) fn close(&mut self, placement: &mut dyn Streams, block: BlockId) {
        let stream = self.blocks.block(block).stream;
        let entry = placement.closing(self.number, block, stream);
        self.blocks.close(block, &*self.victim, entry);
        self.by_erases.closed(block, self.blocks.block(block).erases);
    }

    /// The page taken last from a stream's open block was not programmed.
    pub(super) fn untake(&mut self, stream: usize) -> Ppn {
        self.open[stream].untake()
    }

    /// Nothing more is programmed into a stream's open block.
    pub(super) fn fill(&mut self, stream: usize) {
        self.open[stream].fill();
    }

    // How survivors are moved.

    /// The victim that the policies choose, be it worth cleaning or not.
    pub(super) fn choose(&mut self, placement: &mut dyn Streams, now: u64) -> Option<BlockId> {
        if self.watches {
            self.pass_on_watched();
        }
        let victim = self.blocks.choose(self.number, placement, &mut *self.victim, now)?;
        debug_assert!(self.blocks.has_garbage(victim), "{victim:?} has no garbage");
        Some(victim)
    }

    /// The victim policy's choice is cleaned, or refused.
    pub(super) fn answered(&mut self, cleaned: bool) {
        self.victim.answered(cleaned);
    }

    /// Survivors are about to be moved into open blocks.
    pub(super) fn begin_copying(&mut self) {
        for open in &mut self.open {
            open.all_counted();
        }
    }

    /// Whether it matters when the host wrote the survivors that are being copied.
    #[inline(always)]
    pub(super) fn dates_copies(&self) -> bool {
        self.blocks.ages_by_data()
    }

    /// The host wrote the youngest of the copies that a stream's open block took last at this time.
    pub(super) fn date(&mut self, stream: usize, youngest: u64) {
        self.open[stream].date(youngest);
    }

    /// The table learns of the survivors of `victim` that a stream's open block took. Where the placement does not know
    /// when the host wrote them, they count as old as `victim`.
    #[inline]
    pub(super) fn count_copied(&mut self, stream: usize, victim: BlockId, now: u64) {
        let open = &mut self.open[stream];
        let copied = open.count();
        if copied == 0 {
            return;
        }
        let youngest = open.take_youngest();
        let youngest = youngest.unwrap_or_else(|| self.blocks.stamp(victim));
        self.blocks.copied(open.block(), copied, youngest, now);
    }

    /// As `count_copied`, for all streams.
    pub(super) fn count_all_copied(&mut self, victim: BlockId, now: u64) {
        for stream in 0..self.open.len() {
            self.count_copied(stream, victim, now);
        }
    }

    /// Sets the valid and the hot pages of a block after some were moved.
    pub(super) fn recount(&mut self, block: BlockId, valid: u32, hot: u32, now: u64) {
        if let Some(before) = self.blocks.hot(block) {
            self.blocks.warm(block, hot as i32 - before as i32);
        }
        // The pages moved are current elsewhere: `live` stays.
        while self.blocks.block(block).valid > valid {
            self.blocks.invalidate(block, now);
        }
    }

    /// Counts pages moved out of a victim that is cleaned in steps, and the hot ones among them.
    #[inline(always)]
    pub(super) fn moved_out(&mut self, victim: BlockId, pages: u32, hot: u32, now: u64) {
        if hot > 0 {
            self.blocks.warm(victim, -(hot as i32));
        }
        self.blocks.moved_out(victim, pages, now);
    }

    // How blocks leave the index and come back.

    /// Takes a closed block out of the index for a while.
    pub(super) fn set_aside(&mut self, block: BlockId) {
        self.blocks.set_aside(block);
    }

    /// Takes a victim that will be cleaned in steps.
    pub(super) fn begin_emptying(&mut self, block: BlockId) {
        self.by_erases.left(block, self.blocks.block(block).erases);
        self.blocks.begin_emptying(block);
    }

    /// Makes a block whose cleaning failed a candidate again, and announces it to the placement.
    pub(super) fn reenter(&mut self, placement: &mut dyn Streams, block: BlockId) {
        let &Block { stream, state, erases, .. } = self.blocks.block(block);
        let entry = placement.closing(self.number, block, stream);
        self.blocks.reenter(block, entry);
        if state == State::Emptying {
            self.by_erases.closed(block, erases);
        }
    }

    /// Condemns a closed block: it takes no writes before it is emptied.
    pub(super) fn condemn(&mut self, block: BlockId) {
        self.by_erases.left(block, self.blocks.block(block).erases);
        self.blocks.condemn(block);
    }

    /// All pages of a block were moved: it is unusable until it is erased.
    pub(super) fn withdraw(&mut self, block: BlockId) {
        self.by_erases.left(block, self.blocks.block(block).erases);
        self.blocks.withdraw(block);
    }

    /// Frees a withdrawn block after its erase. `erases` is the chip's own count, if it may differ.
    pub(super) fn erased(&mut self, block: BlockId, erases: Option<u32>) {
        self.erases += 1;
        self.blocks.erased(block);
        if let Some(erases) = erases {
            self.blocks.set_erases(block, erases);
        }
    }

    /// An erased block goes to the end of the free list.
    pub(super) fn push_free(&mut self, block: BlockId) {
        debug_assert_eq!(self.blocks.block(block).state, State::Free, "{block:?} becomes free");
        self.free.push_back(block);
    }

    // How data are swapped into a worn block.

    /// The closed block erased least, with its erases.
    pub(super) fn least_erased(&mut self) -> Option<(u32, BlockId)> {
        self.by_erases.least(&self.blocks)
    }

    /// An erased block is opened to take the data of another one; no stream writes it.
    pub(super) fn open_in_place_of(&mut self, fresh: BlockId, worn: BlockId) {
        let stream = self.blocks.block(fresh).stream;
        self.blocks.open(worn, stream, self.blocks.stamp(fresh));
    }

    /// `moved` pages of `fresh` are in `worn`.
    pub(super) fn copied_in_place(&mut self, fresh: BlockId, worn: BlockId, moved: u32) {
        let stamp = self.blocks.stamp(fresh);
        self.blocks.copied(worn, moved, stamp, stamp);
    }

    /// All of `fresh` that can be read is in `worn`, which takes its place in the index.
    pub(super) fn replace(&mut self, placement: &mut dyn Streams, fresh: BlockId, worn: BlockId) {
        if let Some(own) = placement.own_victims() {
            own.replaced(self.number, fresh, worn);
        }
        self.blocks.close(worn, &*self.victim, Entry::Indexed);
        self.by_erases.closed(worn, self.blocks.block(worn).erases);
    }

    // How a mount fills it.

    /// Only some blocks of the free list are blank.
    pub(super) fn retain_free(&mut self, is_blank: impl Fn(BlockId) -> bool) {
        self.free.retain(|&block| is_blank(block));
    }

    /// Enters a block with data: `valid` valid pages, the newest written at the given time.
    pub(super) fn recovered(
        &mut self,
        placement: &mut dyn Streams,
        (block, stream): (BlockId, u8),
        valid: u32,
        newest: u64,
    ) {
        self.live += valid;
        self.blocks.recovered(block, stream, valid, newest);
        placement.opened(self.number, block, stream, newest);
    }

    /// Makes a recovered block the open block of its stream, with `programmed` pages programmed.
    pub(super) fn resume(&mut self, block: BlockId, programmed: u32) {
        let stream = usize::from(self.blocks.block(block).stream);
        self.open[stream] = OpenBlock::of(&self.shape, block, programmed);
    }
}
