//! Going on after a mount, and after a program that the chip did not answer for.
//!
//! Such a program may be done, or not, or in part. What it leaves must cost neither data nor, however often it comes, room. The
//! rules are the same whether the power failed or the chip timed out:
//!
//! * A mount writes nothing. It opens the blocks again that were open, behind the last page that was programmed, and leaves
//!   out the one after it, which the program that was cut off may have touched. Where that was the first one after a doubtful
//!   one it is the one behind: a block in which a second program is doubtful is left.
//! * Before the first change the page that was programmed last is written again: it may have been cut off, read well now, and
//!   fail later. Until that is done nothing else is programmed or erased, so its predecessor is still there. What this mount
//!   found, and told a host, is from then on what every mount finds. Where the host reads that page, or one that it is the map
//!   of, it is written again before.
//! * A page that was cut off and cannot be read must not come back either, should a later mount be able to read it. The first
//!   program after a doubtful one leaves out all numbers that it may have, and they never count. That program, or a mark, goes
//!   behind the page in its block and says so there as well, for as long as the block is not erased. Where the block has no page
//!   left, it is cleaned before anything else. So that this is rare, the ends of blocks stay blank early after a mount.
//! * What says that the end of another block never counts outlives that end. It is the first program behind it, so its number is
//!   greater than those of the programs before the end that count. A block in which a first program has a greater number than
//!   the last one that counts of a block that was cut off and not erased yet is not erased. Of blocks that were cut off the one
//!   with the fewest valid pages is emptied first, and those that are empty are erased in the order in which they were cut off.
//! * Numbers that are left out begin behind the last program that counts, and end behind all that programs may have which nobody
//!   can see: the greatest that can be read, and as many more as there are torn pages. Where what the newest program left out may
//!   still be there, the next one takes its place, and leaves out that as well.
//!
//! The invariant that these rules keep, of a page that a cut may have touched: *at every mount from then on either the page
//! counts, and it or a copy of it counts for good; or an annuller of it counts; or its block is to be erased before it is
//! written.* A page counts if what stands beside it can be read, it is not the newest one that cannot be read as a whole, and
//! nothing annuls it. An annuller is a first program that leaves out its number and is left out by none itself, or a page of
//! its block that says so of pages before. To check a rule or a change, ask of each operation what it may take:
//!
//! * A program takes nothing, but may be cut off itself. It is doubtful until the next one is done, and no host relies on it
//!   before: the newest page is written again, or cannot be read and is annulled.
//! * Its number must be greater than those of all pages that can come back, or it could not annul them. A hidden page has at
//!   most the greatest number that can be read, and so many more as there are torn pages. This holds for as long as no torn page is
//!   erased before a greater number is on the chip: so the first program goes where a block is open, of whatever stream.
//! * An erase takes annullers. Those of pages in other blocks: the order of erasing above. Those of pages in the same block: an
//!   erase that is cut off may take the annuller, which stands behind, and leave the page. The mount then sees a block whose end is
//!   blank, and what it holds is older than what counts, unless nothing was written there since: this is the first of two
//!   gaps. The second is that where no open block has a page left, a block is erased before the first program. Copies of the newest
//!   page that were tried one after another may have one number then: of such twins the one that can be read counts.
//! * A mount takes nothing. What it sees may change while it looks, as pages fail: then it looks again from the beginning, and
//!   believes nothing of what it saw before.
//!
//! Room: free blocks are spent by opening them alone. While they are scarce all streams share one block, after they used
//! up what is blank in others, and the block with the fewest valid pages is cleaned. Let cuts waste any pages of the
//! blocks that are opened. Of a block with v valid pages that is cleaned either all are in the next block, and it is erased,
//! or they are in two, and the lesser of these has v/2 at most, and is cleaned next: after log2(v) blocks one program
//! empties a block. So cuts keep no more than log2(pages) + 1 blocks from the pool, whatever their number, and no write is
//! refused for want of blocks.

use super::{
    Area, Block, Content, Error, Found, Ftl, Nand, bisync,
    cache::{LOST, NONE},
    clean::Moved,
    log::{LANES, NOWHERE, SHARED},
    policy::{Placement, Victim},
};

#[bisync]
impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Does before a change what a loss of power, or a chip that did not answer, left to be done.
    pub(crate) async fn settle_cut(&mut self) -> Result<(), Error> {
        if !self.is_mounted && self.logical_pages > 0 {
            self.mount_again().await?;
        }
        while !self.is_settled {
            // What fails meanwhile is to be done again.
            self.is_settled = true;
            if let Err(e) = self.try_to_settle().await {
                self.is_settled = false;
                // The last page could be read at the mount, and now it cannot: what was before it counts.
                if !matches!(e, Error::Unreadable(_)) || self.is_sure {
                    return Err(e);
                }
                self.mount_again().await?;
            }
        }
        Ok(())
    }

    /// Whether room is short early after a mount: what the power may take back at once must bring it nearer to a free block.
    pub(crate) fn is_tight(&self) -> bool {
        self.is_short() && !self.nand.is_cached()
    }

    /// The same of any chip.
    pub(crate) fn is_short(&self) -> bool {
        self.fresh > 0 && self.free <= self.watermarks().0
    }

    async fn try_to_settle(&mut self) -> Result<(), Error> {
        if self.nand.is_cached() {
            // Before a sync says of what a loss of power cut off that it was done.
            self.settle_map().await?;
        }
        if self.newest != NOWHERE {
            let moved = self.move_page(self.newest).await;
            match moved {
                // What was done and cannot be read stays an error: nothing else on the chip says so.
                Ok(Moved::Unknown) | Err(Error::Unreadable(_)) if self.is_sure => {
                    if let Some(lpn) = self.cache.find_at(self.newest) {
                        self.write_map_page(lpn / self.entries()).await?;
                    }
                }
                Ok(Moved::Unknown) => return Err(Error::Unreadable(0)),
                done => drop(done?),
            }
            self.newest = NOWHERE;
        }
        for lane in 0..LANES {
            // The block is left if the program fails.
            while self.is_cut(lane) {
                match self.mark(lane).await {
                    Err(Error::WornOut) => {}
                    done => done?,
                }
            }
        }
        self.settle_map().await?;
        while self.before.is_none()
            && !self.nand.is_cached()
            && self.blocks.iter().any(|home| home.is_to_empty())
        {
            // Nothing is erased before a number is on the chip that is greater than all that are hidden.
            let lane = self.lane(SHARED).await?;
            match self.mark(lane).await {
                Err(Error::WornOut) => {}
                done => done?,
            }
        }
        // Blocks at whose ends something never counts. What costs least comes first, as the power may not last; a block that says
        // of another one what never counts there stays until that is erased.
        loop {
            let to_clean = |home: &Block| home.cut_from().is_some() && home.valid() > 0;
            let cut = self.blocks.iter().zip(0..).filter(|(home, _)| to_clean(home));
            let least = cut.map(|(home, block)| (home.valid(), block)).min();
            // None is erased before the one that was cut off first.
            let (_, first) = self.first_cut(NOWHERE).await?;
            let block = match least {
                Some((valid, block)) if valid < self.blocks[first as usize].valid() => block,
                _ => first,
            };
            if block == NOWHERE {
                break;
            }
            self.clean_whole(block).await?;
        }
        for block in 0..self.shape.blocks {
            if self.blocks[block as usize].is_to_empty() {
                self.clean_whole(block).await?;
            }
        }
        Ok(())
    }

    async fn settle_map(&mut self) -> Result<(), Error> {
        if core::mem::take(&mut self.is_map_hurt) {
            self.write_hurt_map_pages().await.inspect_err(|_| self.is_map_hurt = true)?;
        }
        Ok(())
    }

    /// Writes pages of the map that are lost, or that only areas told: what told it may be erased from then on.
    async fn write_hurt_map_pages(&mut self) -> Result<(), Error> {
        for page in 0..self.logical_pages.div_ceil(self.entries()) {
            let at = self.directory[page as usize];
            let first = page * self.map_entries;
            let is_told = self.cache.range(first, first + self.map_entries).next().is_some();
            if at == LOST || at == NONE && is_told {
                self.write_map_page(page).await?;
            }
        }
        for block in 0..if self.nand.is_cached() { self.shape.blocks } else { 0 } {
            if !self.is_written(block) || !self.is_map_block(block) {
                continue;
            }
            for at in block * self.shape.pages..(block + 1) * self.shape.pages {
                // A newer copy than the one that counts was cut off.
                if let Found::Page(Area { content: Content::Map, number, sequence, .. }) =
                    self.area(at).await?
                    && let Some(&known @ ..LOST) = self.directory.get(number as usize)
                    && self.sequence_of(known).await? < sequence
                {
                    self.write_map_page(number).await?;
                }
            }
        }
        Ok(())
    }
}
