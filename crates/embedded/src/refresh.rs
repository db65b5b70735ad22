//! Pages that the chip had to correct much, moved before it no longer can: bits turn by and by, and by reads of other pages
//! of the block.
//!
//! Whatever is read says so ([`Nand::corrected`]). A page of data that the host reads is moved at once, any other before the
//! next change. What nobody reads is found by [`scrub`](Ftl::scrub).

use crate::{
    Error, Ftl, Nand, NandError,
    clean::Moved,
    log::NOWHERE,
    policy::{Placement, Victim},
};

impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// After a page was read well: whether it should be moved. One is kept in mind; others are found when they are read again.
    pub(crate) fn note_corrected(&mut self, page: u32) {
        let limit = self.nand.refresh_from();
        if limit > 0 && self.tired == NOWHERE && self.nand.corrected() >= limit {
            self.tired = page;
        }
    }

    /// Moves the page that was kept in mind, if anything leads to it still.
    pub(crate) fn refresh(&mut self) -> Result<(), Error> {
        let page = core::mem::replace(&mut self.tired, NOWHERE);
        if page == NOWHERE {
            return Ok(());
        }
        match self.move_page(page, None) {
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
    pub fn scrub(&mut self, pages: u32) -> Result<u32, Error> {
        let end = self.shape.blocks * self.shape.pages;
        let mut left = pages;
        while left > 0 && self.scrubbed < end {
            let page = self.scrubbed;
            if self.blocks[(page / self.pages()) as usize].valid() == 0 {
                self.scrubbed = (page / self.pages() + 1) * self.shape.pages;
                continue;
            }
            match self.nand.read(page, 0, &mut self.buffer) {
                Ok(()) => self.note_corrected(page),
                Err(NandError::Device) => return Err(Error::Device),
                // It is too late: reading it is an error, if anything leads to it.
                Err(_) => {}
            }
            self.scrubbed = page + 1;
            if self.tired != NOWHERE {
                self.make_room()?;
            }
            left -= 1;
        }
        if self.scrubbed >= end {
            self.scrubbed = 0;
        }
        Ok(self.scrubbed)
    }
}
