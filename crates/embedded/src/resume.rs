//! Going on after a mount.
//!
//! A loss of power cuts off one program, or one erase. What it leaves must cost neither data nor, however often it comes,
//! room:
//!
//! * A mount writes nothing. It opens the blocks again that were open, behind the last page that was programmed, and leaves
//!   out the one after it, which the program that was cut off may have touched.
//! * Before the first change the page that was programmed last is written again: it may have been cut off, read well now, and
//!   fail later. Until that is done nothing is programmed or erased, so its predecessor is still there. What this mount
//!   found, and told a host, is from then on what every mount finds. Where the host reads that page, it is written again
//!   before.
//! * A page that was cut off and cannot be read must not come back either, should a later mount be able to read it: the next
//!   program in its block says that it never counts. Where there is none, as the block is full, the block is cleaned first.
//! * Numbers of programs go on behind those that programs may have that nobody can see. The first program after a mount says
//!   how many it left out, and they never count. Where the power fails again before all is settled, the next first program
//!   takes the place of the last one, and leaves out what that did.
//!
//! Room: free blocks are spent by opening them alone. While they are scarce all streams share one block, after they used
//! up what is blank in others, and the block with the fewest valid pages is cleaned. Let cuts waste any pages of the
//! blocks that are opened. Of a block with v valid pages that is cleaned either all are in the next block, and it is erased,
//! or they are in two, and the lesser of these has v/2 at most, and is cleaned next: after log2(v) blocks one program
//! empties a block. So cuts keep no more than log2(pages) + 1 blocks from the pool, whatever their number, and no write is
//! refused for want of blocks.

use crate::{
    Area, Before, Error, Ftl, Nand,
    blocks::State,
    clean::Moved,
    log::{LANES, MOST_VOID, NOWHERE},
    policy::{Placement, Victim},
};

/// Programs that a loss of power may hide: the one that was cut off, and those before it that failed.
const HIDDEN: u64 = 56;
/// How many more numbers are left out depends on how far the chip is programmed, so that two mounts one after the other, the
/// first of which left nothing that can be read, do not go on with the same number.
pub(crate) const ALSO_HIDDEN: u64 = 8;

impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Does before a change what a loss of power, or a chip that did not answer, left to be done.
    pub(crate) fn settle_cut(&mut self) -> Result<(), Error> {
        if self.is_settled {
            return Ok(());
        }
        match self.try_to_settle() {
            // The last page could be read at the mount, and now it cannot: what was before it counts.
            Err(Error::Unreadable(_)) => {
                self.remount()?;
                self.try_to_settle()?;
            }
            done => done?,
        }
        self.is_settled = true;
        Ok(())
    }

    fn try_to_settle(&mut self) -> Result<(), Error> {
        if self.seen > 0 && self.before.is_none() {
            self.leave_out_numbers();
        }
        for lane in 0..LANES {
            let is_cut = self.has_room(lane) && self.open[lane].cut > 0;
            if is_cut && (self.open[lane].cut <= MOST_VOID || self.is_first()) {
                self.void_cut(lane)?;
            } else if is_cut {
                self.leave(lane, State::Kept);
            }
        }
        if self.newest != NOWHERE {
            let block = self.newest / self.pages();
            // What the newest left out, if it was the first after a mount, this leaves out as well, and the newest itself: it
            // takes its place.
            if let Some(Before::First(left_out)) = self.before
                && let Some(Area { sequence, before: Some(Before::First(more)), .. }) =
                    self.known_area(self.newest)?
                && sequence + u64::from(left_out) == self.sequence
            {
                self.before = Some(Before::First(left_out.saturating_add(more).saturating_add(1)));
            }
            let own =
                (0..LANES).find(|&lane| self.open[lane].block == block && self.has_room(lane));
            if self.move_page(self.newest, own)? == Moved::Unknown {
                return Err(Error::Unreadable(0));
            }
            self.newest = NOWHERE;
        }
        let map_page = core::mem::replace(&mut self.cut_map, NOWHERE);
        if map_page != NOWHERE {
            self.write_map_page(map_page)?;
        }
        // What is erased must not come back: first those of which nothing is needed, directly behind the numbers left out.
        for is_needed in [false, true] {
            for block in 0..self.shape.blocks {
                let home = self.blocks[block as usize];
                if home.state() != State::Kept || !is_needed && home.valid() > 0 {
                    continue;
                }
                if self.is_first() {
                    self.write_map_page(0)?;
                }
                self.clean_whole(block)?;
            }
        }
        Ok(())
    }

    /// Leaves out the numbers that programs may have which nobody can see.
    pub(crate) fn leave_out_numbers(&mut self) {
        let next = self.seen.max(self.sequence) + HIDDEN;
        self.before = Some(Before::First((next - self.sequence).min(0xffff) as u16));
        (self.sequence, self.seen) = (next, 0);
    }

    /// Whether nothing was programmed since the mount.
    fn is_first(&self) -> bool {
        matches!(self.before, Some(Before::First(_)))
    }

    /// Programs a page into an open block whose last pages were cut off: one of that block, again.
    fn void_cut(&mut self, lane: usize) -> Result<(), Error> {
        let block = self.open[lane].block;
        let first = block * self.shape.pages;
        for page in (first..first + u32::from(self.open[lane].next)).rev() {
            match self.move_page(page, Some(lane)) {
                Ok(Moved::Yes) if self.open[lane].block != block || self.open[lane].cut == 0 => {
                    return Ok(());
                }
                // The block is left if the program failed.
                Err(Error::WornOut) if self.open[lane].block != block => return Ok(()),
                Ok(_) | Err(Error::Unreadable(_)) => {}
                Err(e) => return Err(e),
            }
        }
        // Nothing leads to any of its pages that can be read.
        self.open[lane].next = self.shape.pages as u16;
        self.blocks[block as usize].set_state(State::Kept);
        Ok(())
    }
}
