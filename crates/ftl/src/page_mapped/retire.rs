//! What the chip fails at: programs, erases, reads of pages that are to be moved; and the end of life.
//!
//! Problem. A program fails in the midst of a cleaning, while the block that it fails in holds pages
//! that were written before. Idea. The tables follow a program only when it has succeeded, so whatever
//! fails, the old copy is the current one until there is another. What is left to be done about the
//! block can wait: it is closed and *condemned*, and emptied at the next quiet moment (see `scrub`).
//! Consequence. Any error can be returned from anywhere, and failures during the handling of a failure
//! need no thought of their own.
//!
//! What becomes of a block:
//! * A program failed in it: it is condemned; once empty it is retired, which means marked bad on the
//!   chip, but only after a sync, for a mark may outlive a loss of power that the copies do not.
//! * Its erase failed: it was empty, and is retired at once.
//! * A page of it was to be moved and could not be read. The page is lost, but nobody may ever read an
//!   older copy or zeros in its place, not even after the next mount, so the page stays mapped and the
//!   block is kept, neither cleaned nor erased, until the host has written or trimmed what is lost.
//!
//! *End of life.* A bank has to hold its share of the logical pages, the reserve, and a block of garbage
//! for each open one (see [`PageMapped::new`]). Once the blocks left are too few for that, or, as can
//! happen where several programs fail at a time, nothing can be cleaned any more with the room that is
//! left, the layer is read-only, for good. From the first failure on the host never takes the reserve.

use alloc::{collections::VecDeque, format, string::String, vec::Vec};

use thermocline_flash::{BlockId, Chip, FlashError, Lpn, Ppn};
use thermocline_policy::{State, placement::Placement};

use super::{Bank, Open, PageMapped};
use crate::{EndOfLife, FtlError};

/// What is to be done about failures; empty as long as nothing fails.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// Blocks that hold data and will not be written any more. Few, so that looking at all of them once
    /// for each block that is opened costs little.
    pub(super) condemned: Vec<Condemned>,
    /// Blocks whose reads needed much correction, and how often they had been erased then.
    pub(super) ailing: VecDeque<(BlockId, u32)>,
    /// Retired blocks that the chip was not told of yet.
    pub(super) unmarked: Vec<BlockId>,
    /// Whether anything failed since the layer was built: there may be less than the reserve, and the
    /// host does not take what is left of it.
    pub(super) any: bool,
    /// Whether a crash cost more than the reserve, and nothing was done about it yet.
    pub(super) crowded: bool,
    /// Whether a write found no room for all the failures.
    exhausted: bool,
    /// Whether the index log has no block left to be written.
    log_used_up: bool,
    /// Whether programs went on failing after that: nothing is moved any more.
    pub(super) hopeless: bool,
}

impl Failures {
    /// Whether something is to be done before space is counted on.
    #[inline(always)]
    pub(super) const fn is_pending(&self) -> bool {
        !self.condemned.is_empty() || !self.unmarked.is_empty()
    }
}

/// A block that is not written any more and not empty yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condemned {
    pub(super) block: BlockId,
    pub(super) why: Why,
    /// All was moved but what cannot be read: it waits until the host has written or trimmed that.
    pub(super) waits: bool,
}

/// Why a block is condemned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// A program failed in it.
    ProgramFailed,
    /// Reading it needs much correction.
    Ails,
    /// It was cleaned, and a page of it could not be read.
    HoldsUnreadable,
}

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Why a page cannot be written; or it can, once a crash that cost the reserve is made up for.
    #[cold]
    pub(super) fn refuse(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        if lpn.index() >= self.map.len() {
            return Err(FtlError::OutOfRange(lpn));
        }
        if self.failures.log_used_up || !core::mem::take(&mut self.failures.crowded) {
            return Err(FtlError::ReadOnly);
        }
        self.judge();
        let made = (0..self.banks.len()).try_for_each(|bank| self.make_reserve(bank, now));
        if made.is_err() {
            self.failures.crowded = true;
            self.judge();
        }
        made
    }

    /// Cleans as much as the reserve of a bank lacks after a crash, before the host takes what room is
    /// left.
    fn make_reserve(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        let reserve = u64::from(self.config.watermarks.reserve) * u64::from(self.pages);
        while self.banks[bank].free_pages() < reserve {
            if !self.clean_what_fits(bank, now)? && !self.close_for_its_garbage(bank) {
                break;
            }
        }
        Ok(())
    }

    /// After a mount: the host may have to wait until there is the reserve again.
    pub(super) fn after_mount(&mut self, is_short: bool) {
        self.failures.any = is_short;
        let reserve = u64::from(self.config.watermarks.reserve) * u64::from(self.pages);
        self.failures.crowded = self.banks.iter().any(|bank| bank.free_pages() < reserve);
        self.judge();
        // A chip that is worn out may have less than the reserve.
        self.failures.any |= self.writable == 0;
    }

    /// A page of the host could not be programmed: tries other blocks of the stream. Returns the page
    /// that was programmed and its place in `owner`.
    #[cold]
    #[inline(never)]
    pub(super) fn program_elsewhere(
        &mut self,
        lpn: Lpn,
        bank: usize,
        stream: u8,
        data: &[u8],
        mut failed: FlashError,
        now: u64,
    ) -> Result<(Ppn, usize), FtlError> {
        let s = usize::from(stream);
        loop {
            self.may_try_again(bank, s, failed, None, now)?;
            self.hush_index(true);
            let made = self.make_room_for(lpn, bank, stream, now);
            self.hush_index(false);
            made?;
            let (at, owner) = self.banks[bank].open[s].take();
            let oob = self.oob(lpn, stream, now);
            match self.chip.program(at, oob, data) {
                Ok(()) => return Ok((at, owner)),
                Err(again) => failed = again,
            }
        }
    }

    /// A survivor of `victim` could not be copied: it goes to another block, or stays where it is if it
    /// cannot be read.
    #[cold]
    #[inline(never)]
    pub(super) fn copy_elsewhere(
        &mut self,
        bank: usize,
        victim: BlockId,
        lpn: Lpn,
        stream: usize,
        failed: FlashError,
        now: u64,
    ) -> Result<(), FtlError> {
        self.programs += 1; // the number of the copy that failed
        if self.may_try_again(bank, stream, failed, Some(victim), now)? {
            self.move_to_next(bank, victim, lpn, stream, now)?;
        }
        Ok(())
    }

    /// The last page taken from a stream's open block was not programmed. Whether to try again, in
    /// another block: not where the page to be copied from `victim` cannot be read.
    #[cold]
    pub(super) fn may_try_again(
        &mut self,
        bank: usize,
        stream: usize,
        failed: FlashError,
        victim: Option<BlockId>,
        now: u64,
    ) -> Result<bool, FtlError> {
        self.failures.any = true;
        self.distrust_last();
        let home = &mut self.banks[bank];
        home.open[stream].next -= 1;
        if let Some(victim) = victim {
            home.count_copied(stream, victim, now);
        }
        match failed {
            FlashError::ProgramFailed(_) | FlashError::BadBlock(_) => {
                self.counters.programs_failed += 1;
                self.failures.hopeless |= self.writable == 0;
                let block = self.banks[bank].open[stream].block;
                self.close_early(bank, stream);
                self.condemn(bank, block, Why::ProgramFailed);
                // A chip that programs nothing any more must not lose all its blocks to one write.
                if self.writable == 0 { Err(FtlError::ReadOnly) } else { Ok(true) }
            }
            FlashError::Unreadable(_) if victim.is_some() => {
                self.counters.pages_lost += 1;
                self.counters.copies -= 1;
                Ok(false)
            }
            FlashError::NoPower => Err(failed.into()),
            failed => {
                // It may have been programmed for all that.
                let open = &mut self.banks[bank].open[stream];
                let at = Ppn(open.first.0 + open.next);
                if !matches!(self.chip.read_oob(at), Ok(None)) {
                    (open.next, open.counted) = (open.pages, open.pages);
                }
                Err(failed.into())
            }
        }
    }

    /// Victims were cleaned, but not all of their pages are elsewhere now: some could not be read, or an
    /// error ended it.
    #[cold]
    #[inline(never)]
    pub(super) fn not_emptied(
        &mut self,
        bank: usize,
        victim: BlockId,
        moved: Result<(), FtlError>,
        now: u64,
    ) -> Result<(), FtlError> {
        self.failures.any = true;
        let mut victims = core::mem::take(&mut self.batch);
        victims.insert(0, victim);
        for &block in &victims {
            self.recount(bank, block, now);
        }
        let home = &mut self.banks[bank];
        if moved.is_err() {
            // They are candidates as before; placements with queues were told that they are gone.
            for &block in &victims {
                if home.blocks.block(block).state == State::Aside {
                    home.blocks.readmit(block);
                }
                let stream = home.blocks.block(block).stream;
                self.placement.closing(bank as u32, block, stream, &mut home.blocks);
            }
            return moved;
        }
        for block in victims {
            let home = &mut self.banks[bank];
            if home.blocks.block(block).valid > 0 {
                self.keep(bank, block);
            } else {
                home.wear.left(block, home.blocks.block(block).erases);
                home.blocks.withdraw(block);
                self.batch.push(block);
            }
        }
        self.erase_batch(now)
    }

    /// The table learns how many pages of a block are still current, after some were moved.
    #[cold]
    pub(super) fn recount(&mut self, bank: usize, block: BlockId, now: u64) {
        let owners = &self.owner[block.index() * self.pages as usize..][..self.pages as usize];
        let first = self.chip.geometry().ppn(block, self.header).0;
        let (mut valid, mut hot) = (0, 0);
        for (at, &lpn) in (first..).zip(owners) {
            if self.map[lpn.index()] == Ppn(at) {
                valid += 1;
                hot += i32::from(P::KNOWS_HOT && self.placement.is_hot(lpn));
            }
        }
        let blocks = &mut self.banks[bank].blocks;
        if let Some(before) = blocks.hot(block) {
            blocks.warm(block, hot - before as i32);
        }
        while blocks.block(block).valid > valid {
            blocks.invalidate(block, now);
        }
    }

    /// A swap into `worn`, just erased, failed after `moved` pages of `fresh`. What was moved stays
    /// there, unless a program failed: then it is condemned with them. True if the swap is over with.
    #[cold]
    pub(super) fn swap_failed(
        &mut self,
        bank: usize,
        fresh: BlockId,
        worn: BlockId,
        moved: u32,
        failed: FlashError,
        now: u64,
    ) -> Result<bool, FtlError> {
        self.failures.any = true;
        self.distrust_last();
        let blocks = &mut self.banks[bank].blocks;
        blocks.copied(worn, moved, fresh, blocks.stamp(fresh));
        self.close(bank, worn);
        self.recount(bank, fresh, now);
        self.counters.copies += u64::from(moved);
        self.counters.swap_copies += u64::from(moved);
        if !matches!(failed, FlashError::ProgramFailed(_) | FlashError::BadBlock(_)) {
            return Err(failed.into());
        }
        self.counters.programs_failed += 1;
        self.condemn(bank, worn, Why::ProgramFailed);
        Ok(true)
    }

    /// A withdrawn block was not erased. False if it is retired for it.
    #[cold]
    pub(super) fn not_erased(
        &mut self,
        bank: usize,
        block: BlockId,
        failed: FlashError,
    ) -> Result<bool, FtlError> {
        self.failures.any = true;
        match failed {
            FlashError::WornOut(_) | FlashError::EraseFailed(_) | FlashError::BadBlock(_) => {
                self.counters.erases_failed += 1;
                self.counters.retired += 1;
                self.failures.unmarked.push(block);
                self.resize(bank, |usable| usable - 1);
                Ok(false)
            }
            failed => {
                self.batch.insert(0, block);
                Err(failed.into())
            }
        }
    }

    /// Closes a stream's open block though it is not full.
    pub(super) fn close_early(&mut self, bank: usize, stream: usize) {
        let open = core::mem::replace(&mut self.banks[bank].open[stream], Open::none(self.pages));
        if open.block != BlockId::NONE {
            self.close(bank, open.block);
        }
    }

    /// A full block is to be emptied and not to be written before.
    pub(super) fn condemn(&mut self, bank: usize, block: BlockId, why: Why) {
        let home = &mut self.banks[bank];
        home.wear.left(block, home.blocks.block(block).erases);
        home.blocks.condemn(block);
        self.failures.condemned.push(Condemned { block, why, waits: false });
        if why == Why::ProgramFailed {
            self.counters.retired += 1;
            self.resize(bank, |usable| usable - 1);
        }
    }

    /// A full block is left with nothing but pages that cannot be read.
    pub(super) fn keep(&mut self, bank: usize, block: BlockId) {
        self.condemn(bank, block, Why::HoldsUnreadable);
        if let Some(last) = self.failures.condemned.last_mut() {
            last.waits = true;
        }
        self.resize(bank, |usable| usable - 1);
    }

    /// A bank has more or fewer blocks than before: what it can hold follows, and whether the layer
    /// still takes writes.
    #[cold]
    pub(super) fn resize(&mut self, bank: usize, change: impl FnOnce(u32) -> u32) {
        let reserve = self.config.watermarks.reserve;
        let open =
            u32::from(self.placement.streams()) + u32::from(self.config.read_only_separation);
        let home = &mut self.banks[bank];
        home.usable = change(home.usable);
        home.most_live = (home.usable.saturating_sub(reserve) * self.pages)
            .saturating_sub(open.saturating_mul(self.pages));
        let data = |bank: &Bank| bank.usable.saturating_sub(reserve) * self.pages;
        self.capacity = self.banks.iter().map(data).sum();
        self.judge();
    }

    /// Whether the banks can hold what the layer has promised decides whether it takes writes.
    fn judge(&mut self) {
        let logical = self.config.logical_pages;
        let banks = self.banks.len() as u32;
        let share = |bank| self.config.bank_assignment.share(logical, bank, banks);
        let is_short = (0..).zip(&self.banks).any(|(n, bank)| bank.most_live < share(n));
        let most: u64 = self.banks.iter().map(|bank| u64::from(bank.most_live)).sum();
        let is_worn = is_short || most < u64::from(logical) || self.failures.exhausted;
        let is_over = is_worn || self.failures.log_used_up;
        self.writable = if is_over || self.failures.crowded { 0 } else { logical };
    }

    /// The index log has no block left: no trim and no checkpoint can be written any more.
    #[cold]
    pub(super) fn log_is_used_up(&mut self) {
        self.failures.log_used_up = true;
        self.judge();
    }

    /// Why the layer takes no writes any more, if that is so.
    pub(super) fn ended(&self) -> Option<EndOfLife> {
        if self.failures.log_used_up {
            return Some(EndOfLife::IndexLog);
        }
        let is_over = self.writable < self.config.logical_pages && !self.failures.crowded;
        is_over.then_some(EndOfLife::Blocks)
    }

    /// Blocks that may fail, wherever they are, before the layer takes no writes any more.
    pub(super) fn blocks_to_spare(&self) -> u32 {
        if self.ended().is_some() {
            return 0;
        }
        let logical = self.config.logical_pages;
        let banks = self.banks.len() as u32;
        let share = |bank| self.config.bank_assignment.share(logical, bank, banks);
        let spare =
            |most: u64, needed: u32| most.saturating_sub(needed.into()) / u64::from(self.pages);
        let of_banks =
            (0..).zip(&self.banks).map(|(n, bank)| spare(bank.most_live.into(), share(n)));
        let most: u64 = self.banks.iter().map(|bank| u64::from(bank.most_live)).sum();
        of_banks.fold(spare(most, logical), u64::min) as u32
    }

    /// Cleaning gives a bank no more blocks. As long as nothing failed there is room for the host all
    /// the same; later the host gets what leaves the reserve as it is.
    #[cold]
    #[inline(never)]
    pub(super) fn do_without_cleaning(
        &mut self,
        bank: usize,
        stream: u8,
        now: u64,
    ) -> Result<(), FtlError> {
        let s = usize::from(stream);
        let reserve = u64::from(self.config.watermarks.reserve) * u64::from(self.pages);
        loop {
            let home = &self.banks[bank];
            let is_full = home.open[s].is_full();
            let has_room = !is_full || !home.free.is_empty();
            if !self.failures.any || has_room && home.free_pages() > reserve {
                return if is_full { self.open_next(bank, stream, now) } else { Ok(()) };
            }
            if self.failures.hopeless {
                return Err(FtlError::ReadOnly);
            }
            if is_full {
                // The garbage in it is wanted.
                self.close_early(bank, s);
            }
            if !self.clean_what_fits(bank, now)? && !self.close_for_its_garbage(bank) {
                self.failures.exhausted = true;
                self.judge();
                return Err(FtlError::ReadOnly);
            }
            self.tend(bank, now)?;
        }
    }

    /// Cleans the block with the least valid pages, whatever the victim policy says: its choice does
    /// not fit into what room the failures left. Looks at all blocks of the bank.
    fn clean_what_fits(&mut self, bank: usize, now: u64) -> Result<bool, FtlError> {
        if !self.batch.is_empty() {
            self.erase_batch(now)?;
        }
        let home = &self.banks[bank];
        let room = home.free_pages();
        let victim = (0..home.blocks.len())
            .map(|n| home.blocks.nth(n))
            .filter(|&block| home.blocks.has_garbage(block))
            .map(|block| (home.blocks.block(block).valid, block))
            .min()
            .filter(|&(valid, _)| u64::from(valid) <= room);
        let Some((_, victim)) = victim else { return Ok(false) };
        match self.clean_block(bank, victim, None, now) {
            Err(FtlError::NoSpace) => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// Closes the open block that has garbage and the least valid pages, if those find room elsewhere. After
    /// a crash what room there was may lie as garbage in open blocks.
    fn close_for_its_garbage(&mut self, bank: usize) -> bool {
        let home = &self.banks[bank];
        let free = home.free_pages();
        let least = (0..home.open.len())
            .filter(|&stream| home.open[stream].block != BlockId::NONE)
            .map(|stream| (home.blocks.block(home.open[stream].block).valid, stream))
            .filter(|&(valid, stream)| {
                let open = &home.open[stream];
                open.next > valid && u64::from(valid + open.room()) <= free
            })
            .min();
        if let Some((_, stream)) = least {
            self.close_early(bank, stream);
        }
        least.is_some()
    }

    /// Tells the chip of retired blocks. What was moved out of them lasts before the mark does.
    ///
    /// For a mount the mark is as good as an erase, so the log tells of trims before it.
    pub(super) fn mark_retired(&mut self) -> Result<(), FtlError> {
        while let Some(&block) = self.failures.unmarked.last() {
            if !self.chip.is_bad(block) {
                self.before_erase(block)?;
                self.chip.sync()?;
                self.chip.mark_bad(block)?;
            }
            self.failures.unmarked.pop();
        }
        Ok(())
    }

    /// What is known of failures, against a look at all blocks.
    pub(super) fn check_failures(&self) -> Result<(), String> {
        for bank in &self.banks {
            let waiting = |block: BlockId| {
                let mut entries = self.failures.condemned.iter();
                entries.any(|c| c.block == block && c.waits && c.why != Why::ProgramFailed)
            };
            let mut usable = 0;
            for block in (0..bank.blocks.len()).map(|n| bank.blocks.nth(n)) {
                let state = bank.blocks.block(block).state;
                let listed = self.failures.condemned.iter().filter(|c| c.block == block).count();
                if listed != usize::from(state == State::Condemned) {
                    return Err(format!("{block:?} is {state:?} and {listed} times condemned"));
                }
                let failed = |c: &Condemned| c.block == block && c.why == Why::ProgramFailed;
                let lost = self.failures.condemned.iter().any(failed) || waiting(block);
                let stays = state == State::Unusable && !self.batch.contains(&block);
                usable += u32::from(!stays && !lost);
            }
            if usable != bank.usable {
                return Err(format!("{usable} blocks can be used, {} were counted", bank.usable));
            }
        }
        Ok(())
    }
}
