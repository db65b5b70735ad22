//! Pages that the chip had to correct much, moved before it no longer can: bits turn by and by, and by reads of other pages
//! of the block.
//!
//! Reads turn bits of other pages of the block before anybody reads those: where there is memory for it, reads are counted by
//! block ([`count_reads`](Ftl::count_reads)), and the block is cleaned after so many.
//!
//! Whatever is read says so ([`Nand::corrected`]). A page of data that the host reads is moved at once, any other before the
//! next change. What nobody reads is found by [`scrub`](Ftl::scrub).

use core::mem::replace;

use super::{
    Error, Ftl, Nand, NandError, Slots, bisync,
    blocks::State,
    clean::Moved,
    log::NOWHERE,
    policy::{Placement, Victim},
};

/// Reads of each block since it was erased or the store was mounted, and after how many it is cleaned.
pub(crate) struct Reads<'a> {
    counts: Slots<'a, u16>,
    most: u16,
    /// A block that should be cleaned.
    disturbed: u32,
}

impl Reads<'_> {
    pub(crate) fn none() -> Self {
        Self { counts: (&mut []).into(), most: 0, disturbed: NOWHERE }
    }

    pub(crate) fn forget(&mut self) {
        self.counts.fill(0);
        self.disturbed = NOWHERE;
    }

    pub(crate) fn erased(&mut self, block: u32) {
        if let Some(count) = self.counts.get_mut(block as usize) {
            *count = 0;
        }
    }

    /// Whether the block was read so often that it should be cleaned.
    fn count(&mut self, block: u32) -> bool {
        self.counts.get_mut(block as usize).is_some_and(|count| {
            *count = count.saturating_add(1);
            *count >= self.most
        })
    }
}

#[bisync]
impl<'a, N: Nand, V: Victim, P: Placement> Ftl<'a, N, V, P> {
    /// Counts reads of each block from now on, in as much memory as one count a block takes, and cleans a block after `most` of
    /// them, of pages whole or in part, whatever for: some ten thousand on a chip of two bits a cell, a hundred thousand on one
    /// of one bit; its data sheet says it. Counts are lost with the power.
    pub fn count_reads(&mut self, counts: impl Into<Slots<'a, u16>>, most: u16) {
        self.reads = Reads { counts: counts.into(), most: most.max(1), disturbed: NOWHERE };
        self.reads.forget();
    }

    /// Whether something is to be done for what was read.
    pub(crate) fn is_worn_by_reads(&self) -> bool {
        self.tired != NOWHERE || self.reads.disturbed != NOWHERE || self.is_refreshing()
    }

    /// After a page was read well: whether it should be moved. One is kept in mind; others are found when they are read again.
    pub(crate) fn note_corrected(&mut self, page: u32) {
        let block = page / self.pages();
        if self.reads.count(block) && self.blocks[block as usize].state() == State::Closed {
            self.reads.disturbed = block;
        }
        let (limit, corrected) = (self.nand.refresh_from(), self.nand.corrected());
        if corrected > 0 {
            self.counters.corrected_reads = self.counters.corrected_reads.saturating_add(1);
            self.counters.most_corrected = self.counters.most_corrected.max(corrected);
        }
        if limit > 0 && self.tired == NOWHERE && corrected >= limit {
            self.tired = page;
        }
    }

    /// Moves the page that was kept in mind, if anything leads to it still, and begins to clean a block that was read often.
    pub(crate) async fn refresh(&mut self) -> Result<(), Error> {
        if self.reads.disturbed != NOWHERE && !self.is_cleaning() {
            let block = replace(&mut self.reads.disturbed, NOWHERE);
            if self.blocks[block as usize].state() == State::Closed {
                self.begin(block, true);
            }
        }
        let page = replace(&mut self.tired, NOWHERE);
        if page == NOWHERE {
            return Ok(());
        }
        match self.move_page(page).await {
            // It was read a moment ago; where it cannot be now, reading it says so.
            Err(Error::Unreadable(_)) => Ok(()),
            done => {
                self.counters.refreshed += u32::from(done? == Moved::Yes);
                Ok(())
            }
        }
    }

    /// Reads the next so many pages of the chip, and moves those of which it corrected so many bits that they should be: for
    /// when nothing else is to be done, some pages at a time, so that all pages are read every few weeks. Where every read
    /// of a page turns bits of its neighbours, this says so as well.
    ///
    /// Returns the page that comes next; 0 where a round is over.
    ///
    /// # Errors
    /// [`Error::WornOut`], [`Error::MapUnreadable`], [`Error::Device`].
    pub async fn scrub(&mut self, pages: u32) -> Result<u32, Error> {
        self.enter();
        let done = self.scrub_entered(pages).await;
        self.exit();
        done
    }

    async fn scrub_entered(&mut self, pages: u32) -> Result<u32, Error> {
        let end = self.shape.blocks * self.shape.pages;
        let mut left = pages;
        while left > 0 && self.scrubbed < end {
            let page = self.scrubbed;
            if self.blocks[(page / self.pages()) as usize].valid() == 0 {
                self.scrubbed = (page / self.pages() + 1) * self.shape.pages;
                continue;
            }
            match self.nand.read(page, 0, &mut self.buffer).await {
                Ok(()) => self.note_corrected(page),
                Err(NandError::Device) => return Err(Error::Device),
                // It is too late: reading it is an error, if anything leads to it.
                Err(_) => {}
            }
            self.scrubbed = page + 1;
            if self.is_worn_by_reads() {
                self.make_room().await?;
            }
            left -= 1;
        }
        if self.scrubbed >= end {
            self.scrubbed = 0;
        }
        Ok(self.scrubbed)
    }
}
