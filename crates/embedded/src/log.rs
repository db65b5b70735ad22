//! The log: each stream writes the pages of its open block, one after another.

use crate::{
    Area, Content, Error, Ftl, Nand, NandError,
    blocks::{Block, State},
    cache::TRIMMED,
    ftl::device,
    policy::{Old, Placement, Victim},
};

/// The stream of the map's pages.
pub(crate) const MAP_STREAM: usize = crate::MAX_STREAMS;
/// No block.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The open block of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) block: u32,
    /// Pages programmed.
    next: u32,
    /// The block before.
    previous: u32,
}

impl Open {
    pub(crate) const NONE: Self = Self { block: NOWHERE, next: 0, previous: NOWHERE };
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
            if self.open[stream].block == NOWHERE || self.open[stream].next == self.shape.pages {
                self.open_block(stream)?;
            }
            let Open { block, next, .. } = self.open[stream];
            let to = block * self.shape.pages + next;
            let erases = u32::from(self.blocks[block as usize].erases);
            let area = Area { content, erases, number, sequence: self.sequence + 1 }.encode();
            let done = match payload {
                Payload::Host(data) => self.nand.program(to, data, &area),
                Payload::Buffer => self.nand.program(to, &self.buffer, &area),
                Payload::Copy(from) => self.nand.copy(from, to, &area, &mut self.buffer),
            };
            match done {
                Ok(()) => {
                    self.sequence += 1;
                    self.owed += 1;
                    self.open[stream].next += 1;
                    let block = &mut self.blocks[block as usize];
                    block.set_valid(block.valid() + 1);
                    return Ok(to);
                }
                // Nothing was programmed.
                Err(NandError::Unreadable) => return Err(Error::Unreadable(number)),
                Err(NandError::Failed) => {
                    self.counters.failed_blocks += 1;
                    self.leave(stream, State::Failing);
                }
                Err(NandError::Device) => {
                    self.leave(stream, State::Closed);
                    return Err(Error::Device);
                }
            }
        }
    }

    /// Nothing more is programmed into the open block of a stream.
    fn leave(&mut self, stream: usize, state: State) {
        let open = core::mem::replace(&mut self.open[stream], Open::NONE);
        self.blocks[open.block as usize].set_state(state);
    }

    /// Opens a free block: of those that are blank the one erased least.
    fn open_block(&mut self, stream: usize) -> Result<(), Error> {
        let full = self.open[stream].block;
        let block = loop {
            let free = self.blocks.iter().zip(0_u32..).filter(|(block, _)| block.is_free());
            let rank = |block: &Block| match block.state() {
                State::Blank => 0,
                State::Erased => 1,
                _ => 2,
            };
            let Some((_, block)) = free.min_by_key(|(block, _)| (rank(block), block.erases)) else {
                return Err(Error::WornOut);
            };
            match self.blocks[block as usize].state() {
                State::Blank => break block,
                // What a power cut left there may be anything.
                State::Stale => {
                    self.free -= 1;
                    self.erase(block)?;
                }
                _ => self.sync_erases()?,
            }
        };
        if full != NOWHERE {
            self.blocks[full as usize].set_state(State::Closed);
        }
        let opened = self.stamp();
        let home = &mut self.blocks[block as usize];
        home.set_state(State::Open);
        home.set_stream(stream as u8);
        home.set_valid(0);
        home.opened = opened;
        self.free -= 1;
        self.open[stream] = Open { block, next: 0, previous: full };
        Ok(())
    }

    /// Erases a block that holds nothing that is needed; a block that fails is bad from then on.
    pub(crate) fn erase(&mut self, block: u32) -> Result<(), Error> {
        let home = &mut self.blocks[block as usize];
        home.set_valid(0);
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
        let block = &mut self.blocks[(at / self.shape.pages) as usize];
        debug_assert!(block.valid() > 0, "page {at}");
        block.set_valid(block.valid().saturating_sub(1));
    }

    /// What the placement is told of the copy that a page replaces.
    pub(crate) fn whereabouts(&self, old: u32) -> Option<Old> {
        if old >= TRIMMED {
            return None;
        }
        let (block, page) = (old / self.shape.pages, old % self.shape.pages);
        let stream = self.blocks[block as usize].stream();
        let open = &self.open[usize::from(stream)];
        let near = open.block == block || open.previous == block && open.next < page;
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
