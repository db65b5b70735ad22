//! Cleaning: a block's valid pages are copied, and the block is erased; a page at a time, as the log is written.
//!
//! RAM knows how many pages of a block are valid, not which. The area of a page names the logical page, and the map
//! says whether it is still there.

use crate::{
    Area, Content, Error, Found, Ftl, Nand,
    blocks::State,
    log::{MAP_STREAM, Payload},
    policy::{Candidate, Placement, Victim, Worth},
};

/// The block that is being cleaned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cleaning {
    block: u32,
    /// Pages looked at.
    next: u32,
    /// Pages copied, and pages of the map written, before.
    programs: u64,
}

/// The mean of what blocks yield is over so many, about.
pub(crate) const MEAN: u32 = 16;

/// Every so many erases the block erased least is cleaned, if it is so many erases behind.
const LEVEL_EVERY: u32 = 32;
const LEVEL_BEYOND: u16 = 64;

impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Sees to it that the host's next page finds room. The work is spread: each program since the last call pays for
    /// as many pages to look at as blocks yield one page from in the mean, and for more if free blocks are few. Only
    /// at the last of them does the host wait for a whole block.
    pub(crate) fn make_room(&mut self) -> Result<(), Error> {
        let owed = core::mem::take(&mut self.owed);
        let (floor, enough) = self.watermarks();
        if self.cleaning.is_none() && self.free >= enough {
            return Ok(());
        }
        let missing = enough.saturating_sub(self.free);
        let price = (self.shape.pages * MEAN).div_ceil(self.yielded);
        let mut steps = (owed * price * (2 + missing)).div_ceil(2);
        let mut blocks = 0;
        while steps > 0 && (self.cleaning.is_some() || self.free < enough) || self.free < floor {
            if blocks > 2 * self.shape.blocks {
                // No garbage comes out of it.
                return Err(Error::WornOut);
            }
            blocks += u32::from(self.clean_a_page()?);
            steps = steps.saturating_sub(1);
        }
        // What cleaning itself programmed is in what blocks yield.
        self.owed = 0;
        Ok(())
    }

    /// Cleans a block at once.
    pub(crate) fn clean_whole(&mut self, block: u32) -> Result<(), Error> {
        self.cleaning = Some(Cleaning { block, next: 0, programs: self.programs_of_cleaning() });
        while !self.clean_a_page()? {}
        Ok(())
    }

    /// Looks at the next page of the block that is being cleaned. True if the block is done.
    pub(crate) fn clean_a_page(&mut self) -> Result<bool, Error> {
        let cleaning = match self.cleaning {
            Some(cleaning) => cleaning,
            None => {
                let block = self.choose()?;
                self.counters.victims += 1;
                let valid = self.blocks[block as usize].valid();
                self.counters.victims_valid += u64::from(valid);
                Cleaning { block, next: 0, programs: self.programs_of_cleaning() }
            }
        };
        self.cleaning = Some(cleaning);
        let Cleaning { block, next, .. } = cleaning;
        if next == self.shape.pages || self.blocks[block as usize].valid() == 0 {
            self.cleaning = None;
            let programs = self.programs_of_cleaning() - cleaning.programs;
            let yielded = u64::from(self.shape.pages).saturating_sub(programs) as u32;
            self.yielded = (self.yielded - self.yielded / MEAN + yielded).max(MEAN);
            return self.finish(block).map(|()| true);
        }
        self.clean_page(block * self.shape.pages + next)?;
        self.cleaning = Some(Cleaning { next: next + 1, ..cleaning });
        Ok(false)
    }

    fn programs_of_cleaning(&self) -> u64 {
        self.counters.copies + self.counters.map_writes
    }

    /// Moves a page, if it is valid.
    fn clean_page(&mut self, page: u32) -> Result<(), Error> {
        let Found::Page(Area { content, number, .. }) = self.area(page)? else { return Ok(()) };
        match content {
            Content::Data(_) if number < self.logical_pages => {
                self.make_room_for_a_change()?;
                if self.locate(number)? != page {
                    return Ok(());
                }
                let stream = self.blocks[(page / self.shape.pages) as usize].stream();
                let stream = self.placement.survivor(stream).min(self.placement.streams() - 1);
                let content = Content::Data(stream);
                match self.append(usize::from(stream), content, number, Payload::Copy(page)) {
                    Ok(to) => {
                        self.move_to(number, page, to);
                        self.counters.copies += 1;
                    }
                    // It stays where it is, and its block with it: reading it is an error.
                    Err(Error::Unreadable(_)) => self.counters.lost += 1,
                    Err(e) => return Err(e),
                }
            }
            // With the changes that it has: they cost nothing.
            Content::Map if self.directory.get(number as usize) == Some(&page) => {
                self.write_map_page(number)?;
            }
            Content::Data(_) | Content::Map => {}
        }
        Ok(())
    }

    /// All pages of a block were looked at.
    fn finish(&mut self, block: u32) -> Result<(), Error> {
        let home = &mut self.blocks[block as usize];
        if home.valid() > 0 {
            home.set_state(State::Kept);
            return Ok(());
        }
        // Where the chip still leads to a page that was trimmed, the page must stay.
        self.record_trims()?;
        let home = self.blocks[block as usize];
        if home.state() == State::Failing { self.retire(block) } else { self.erase(block) }
    }

    /// The block to clean next: one that failed; or for the sake of even wear the one erased least; or the policy's
    /// choice. A look at each block takes no RAM, and a tenth of the time of the erase that follows: some ten
    /// thousand cycles for a thousand blocks.
    fn choose(&mut self) -> Result<u32, Error> {
        let (now, step, pages) = (self.stamp(), self.step(), self.shape.pages);
        let mut best: Option<(Worth, u32)> = None;
        let mut least: Option<(u16, u32)> = None;
        let mut most = 0;
        for (block, number) in self.blocks.iter().zip(0_u32..) {
            match block.state() {
                State::Failing => return Ok(number),
                State::Closed => {}
                // The pages that could not be read were written again.
                State::Kept if block.valid() == 0 => return Ok(number),
                _ => continue,
            }
            most = most.max(block.erases);
            if least.is_none_or(|(erases, _)| block.erases < erases) {
                least = Some((block.erases, number));
            }
            let valid = block.valid();
            if valid >= pages {
                continue;
            }
            let age = u64::from(now.wrapping_sub(block.opened)) << step;
            let worth = self.victim.worth(&Candidate { valid, pages, age, erases: block.erases });
            if best.is_none_or(|(other, _)| worth.is_more_than(other)) {
                best = Some((worth, number));
            }
        }
        if self.unlevelled >= LEVEL_EVERY
            && self.free >= self.watermarks().0
            && let Some((erases, block)) = least
        {
            self.unlevelled = 0;
            if most - erases > LEVEL_BEYOND {
                return Ok(block);
            }
        }
        best.map(|(_, block)| block).ok_or(Error::WornOut)
    }

    /// Whether a block holds pages of the map.
    pub(crate) fn is_map_block(&self, block: u32) -> bool {
        usize::from(self.blocks[block as usize].stream()) == MAP_STREAM
    }
}
