//! The log: each stream writes the pages of its open block, one after another.

use crate::{
    AREA, Area, Before, Content, Error, Found, Ftl, Nand, NandError,
    blocks::{Block, State},
    cache::LOST,
    ftl::device,
    policy::{Old, Placement, Victim},
};

/// The block that all streams share while free blocks are scarce: of the map it holds pages as well as of data.
pub(crate) const SHARED: usize = crate::MAX_STREAMS;
/// The stream of the map's pages.
pub(crate) const MAP_STREAM: usize = SHARED + 1;
/// Blocks that are open at most.
pub(crate) const LANES: usize = MAP_STREAM + 1;
/// No block, or no page.
pub(crate) const NOWHERE: u32 = u32::MAX;
/// Free blocks that are left when no stream opens a block of its own any more.
pub(crate) const SCARCE: u32 = 2;
/// Pages at most that one program says never count; and the first one after a mount.
pub(crate) const MOST_VOID: u16 = 3;
pub(crate) const MOST_VOID_FIRST: u16 = 255;

/// The open block of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) block: u32,
    /// The block before.
    previous: u32,
    /// The page that is programmed next.
    pub(crate) next: u16,
    /// Pages right before it that were cut off: the next program says that they never count.
    pub(crate) cut: u16,
}

impl Open {
    pub(crate) const NONE: Self = Self::at(NOWHERE, 0, 0);

    pub(crate) const fn at(block: u32, next: u16, cut: u16) -> Self {
        Self { block, next, cut, previous: NOWHERE }
    }
}

/// What is programmed.
#[derive(Clone, Copy)]
pub(crate) enum Payload<'d> {
    Host(&'d [u8]),
    /// The layer's buffer.
    Buffer,
    /// What that page holds.
    Copy(u32),
}

impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Programs the next page of a stream. Where a program fails, the block is left for good and another one
    /// is taken.
    pub(crate) fn append(
        &mut self,
        stream: usize,
        content: Content,
        number: u32,
        payload: Payload<'_>,
    ) -> Result<u32, Error> {
        loop {
            let lane = self.lane(stream)?;
            let done = self.append_to(lane, content, number, payload);
            if done != Err(Error::WornOut) {
                return done;
            }
        }
    }

    /// Programs the next page of an open block. [`Error::WornOut`] if the program failed: the block is left.
    pub(crate) fn append_to(
        &mut self,
        lane: usize,
        content: Content,
        number: u32,
        payload: Payload<'_>,
    ) -> Result<u32, Error> {
        let lane = lane.min(LANES - 1);
        let Open { block, next, cut, .. } = self.open[lane];
        let to = block * self.shape.pages + u32::from(next);
        let content = match content {
            Content::Data(_) => Content::Data(lane.min(SHARED) as u8),
            Content::Map => Content::Map,
        };
        let data = match payload {
            Payload::Host(data) => data,
            _ => &self.buffer,
        };
        let ones = !matches!(payload, Payload::Copy(_)) && data.iter().all(|&byte| byte == 0xff);
        // A number is used for one program, whatever comes of it: the chip may have done what it reports as failed.
        self.sequence += 1;
        let mut area = [0; AREA];
        Area {
            content,
            erases: u32::from(self.blocks[block as usize].erases),
            number,
            sequence: self.sequence,
            before: self.before.take(),
            void: cut as u8,
            ones,
        }
        .encode_into(&mut area);
        let done = match payload {
            Payload::Host(data) => self.nand.program(to, data, &area),
            Payload::Buffer => self.nand.program(to, &self.buffer, &area),
            Payload::Copy(from) => self.nand.copy(from, to, &area, &mut self.buffer),
        };
        match done {
            Ok(()) => {
                self.owed += 1;
                self.before = Some(match content {
                    Content::Data(_) => Before::Data(number),
                    Content::Map => Before::Map(number),
                });
                let home = &mut self.blocks[block as usize];
                home.set_valid(home.valid() + 1);
                self.advance(lane, 0, State::Closed);
                Ok(to)
            }
            // Nothing was programmed.
            Err(NandError::Unreadable) => Err(Error::Unreadable(number)),
            Err(NandError::Failed) => {
                self.counters.failed_blocks += 1;
                self.leave(lane, State::Failing);
                Err(Error::WornOut)
            }
            // It may be programmed, or in part: it must never count.
            Err(NandError::Device) => {
                self.is_settled = false;
                self.advance(lane, cut + 1, State::Kept);
                Err(Error::Device)
            }
        }
    }

    /// The next page of an open block is used up; where it was the last one, the block is closed.
    fn advance(&mut self, lane: usize, cut: u16, state: State) {
        let open = &mut self.open[lane];
        open.next += 1;
        open.cut = cut;
        if cut > MOST_VOID {
            self.leave(lane, State::Kept);
        } else if u32::from(open.next) == self.shape.pages {
            self.blocks[open.block as usize].set_state(state);
        }
    }

    pub(crate) fn has_room(&self, lane: usize) -> bool {
        let has_room =
            |open: &Open| open.block != NOWHERE && u32::from(open.next) < self.shape.pages;
        self.open.get(lane).is_some_and(has_room)
    }

    /// The open block that the next page of a stream goes to. While free blocks are scarce that is any with room, and
    /// then one for all.
    fn lane(&mut self, stream: usize) -> Result<usize, Error> {
        if self.has_room(stream) {
            return Ok(stream);
        }
        let is_map = stream == MAP_STREAM;
        if is_map && self.has_room(SHARED) {
            return Ok(SHARED);
        }
        let is_scarce = self.free <= SCARCE;
        // A mount looks for pages of the map in the map's blocks and in the one that is shared: the fewer the better.
        let lanes = match is_map {
            true if is_scarce => SHARED..LANES,
            true => 0..0,
            false if is_scarce => 0..LANES,
            // Cleaning counts on the free blocks that are left, even if streams mix; soon after a mount it makes more at once.
            false if self.free <= self.watermarks().0 && !self.is_early() => 0..SHARED,
            false => 0..0,
        };
        for lane in lanes {
            if self.has_room(lane) {
                return Ok(lane);
            }
        }
        let lane = if is_scarce { SHARED } else { stream };
        self.open_block(lane).map(|()| lane)
    }

    /// Nothing more is programmed into the open block of a stream.
    pub(crate) fn leave(&mut self, stream: usize, state: State) {
        let open = core::mem::replace(&mut self.open[stream], Open::NONE);
        self.blocks[open.block as usize].set_state(state);
    }

    /// Opens a free block: of those that are blank the one erased least.
    fn open_block(&mut self, stream: usize) -> Result<(), Error> {
        let previous = self.open[stream].block;
        let block = loop {
            let free = self.blocks.iter().zip(0_u32..).filter(|(block, _)| block.is_free());
            let rank = |block: &Block| match block.state() {
                State::Blank => 0,
                State::Erased => 1,
                _ => 2,
            };
            let Some((_, block)) = free.min_by_key(|(block, _)| (rank(block), block.erases)) else {
                let mut blocks = self.blocks.iter().zip(0_u32..);
                let at_mount = self.newest != NOWHERE;
                let is_waste = |block: &Block| {
                    let is_useless = block.is_waste() || at_mount && block.valid() == 0;
                    block.state() == State::Kept && is_useless
                };
                let Some((_, block)) = blocks.find(|(block, _)| is_waste(block)) else {
                    return Err(Error::WornOut);
                };
                self.erase(block)?;
                continue;
            };
            match self.blocks[block as usize].state() {
                State::Blank => break block,
                // What a power cut left there may be anything.
                State::Stale => {
                    self.free -= 1;
                    if self.holds_predecessor(block)? {
                        self.blocks[block as usize].set_state(State::Kept);
                        continue;
                    }
                    self.erase(block)?;
                }
                _ => self.sync_erases()?,
            }
        };
        let opened = self.stamp();
        let home = &mut self.blocks[block as usize];
        home.set_state(State::Open);
        home.set_stream(stream as u8);
        home.set_valid(0);
        home.opened = opened;
        self.free -= 1;
        self.open[stream] = Open { previous, ..Open::at(block, 0, 0) };
        Ok(())
    }

    /// Whether a block holds what would count, should what a mount found as the newest page not be readable any more.
    fn holds_predecessor(&mut self, block: u32) -> Result<bool, Error> {
        if self.newest == NOWHERE {
            return Ok(false);
        }
        let Some(newest) = self.known_area(self.newest)? else { return Ok(true) };
        let is_map = newest.content == Content::Map;
        for page in 0..self.shape.pages {
            if let Found::Page(area) = self.area(block * self.shape.pages + page)?
                && area.number == newest.number
                && (area.content == Content::Map) == is_map
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Erases a block that holds nothing that is needed; a block that fails is bad from then on.
    pub(crate) fn erase(&mut self, block: u32) -> Result<(), Error> {
        let home = &mut self.blocks[block as usize];
        home.set_valid(0);
        self.reads.erased(block);
        match self.nand.erase(block) {
            Ok(()) => {
                home.erases = home.erases.saturating_add(1);
                home.set_state(State::Erased);
                self.counters.erases += 1;
                self.unlevelled += 1;
                self.free += 1;
                Ok(())
            }
            Err(NandError::Device) => {
                home.set_state(State::Stale);
                self.free += 1;
                Err(Error::Device)
            }
            Err(_) => {
                self.counters.failed_blocks += 1;
                self.retire(block)
            }
        }
    }

    /// A block is bad from now on.
    pub(crate) fn retire(&mut self, block: u32) -> Result<(), Error> {
        self.blocks[block as usize].set_state(State::Bad);
        self.nand.mark_bad(block).map_err(device)
    }

    /// Makes erases last: a block is not written before, or what it held could come back among what is written.
    fn sync_erases(&mut self) -> Result<(), Error> {
        self.nand.sync_erases().map_err(device)?;
        for block in self.blocks.iter_mut().filter(|block| block.state() == State::Erased) {
            block.set_state(State::Blank);
        }
        Ok(())
    }

    /// A page is not current any more.
    pub(crate) fn invalidate(&mut self, at: u32) {
        let block = (at / self.pages()) as usize;
        let block = &mut self.blocks[block];
        block.set_valid(block.valid().saturating_sub(1));
    }

    /// What the placement is told of the copy that a page replaces.
    pub(crate) fn whereabouts(&self, old: u32) -> Option<Old> {
        if old >= LOST {
            return None;
        }
        let (block, page) = (old / self.pages(), old % self.pages());
        let stream = self.blocks[block as usize].stream();
        let open = &self.open[usize::from(stream).min(MAP_STREAM)];
        let near = open.block == block || open.previous == block && u32::from(open.next) < page;
        Some(Old { stream, near })
    }

    /// Programs in a step of the log's clock: a hundredth of the chip, about, as a power of two.
    pub(crate) fn step(&self) -> u32 {
        (self.shape.blocks * self.shape.pages / 64).max(2).ilog2() - 1
    }

    /// The log's clock.
    pub(crate) fn stamp(&self) -> u16 {
        (self.sequence >> self.step()) as u16
    }
}
