//! Garbage collection: choose a victim, move its survivors, erase it; one block at a time (CAT
//! paper, §2), or a batch whose survivors are sorted together (LFS).
//!
//! Invariants between two operations: every block left in the batch is withdrawn, holds no
//! current page, and waits for its erase. Blocks are left only if the system below the chip failed.
//! A [victim that is cleaned in steps](Partial) holds data and is not in the batch.

use alloc::vec::Vec;

use thermocline_flash::{BlockId, Chip, Flash, Lpn, SimulatedTime, Timing};
use thermocline_policy::{
    placement::{Cleaning, Placement},
    wear::WearLeveling,
};

use super::{
    erasing::erase,
    partial::Partial,
    parts::Parts,
    retire::{keep, mark_retired, recount},
    survivors::{Sorter, Source, Streams, Survivors, move_survivors},
    swap::swap_with_least_erased,
};
use crate::FtlError;

/// The victims being cleaned together, and their survivors.
pub(super) struct Cleaner {
    /// Survivors, where they stand in line to be moved, and their words, where the placement has any kept.
    pub(super) survivors: Vec<Lpn>,
    pub(super) words: Vec<u64>,
    pub(super) sorter: Sorter,
    /// Victims that are withdrawn and not erased yet; beside the first, all of a cleaning.
    batch: Vec<BlockId>,
    /// The victim of each bank that is cleaned in steps; no banks where none is.
    pub(super) partial: Vec<Partial>,
}

impl Cleaner {
    /// For blocks of `pages` pages, and `in_steps` banks that may clean victims in steps.
    pub(super) fn new(pages: u32, in_steps: usize) -> Self {
        Self {
            partial: (0..in_steps).map(|_| Partial::none(pages)).collect(),
            survivors: Vec::with_capacity(pages as usize),
            words: Vec::new(),
            sorter: Sorter::new(pages),
            batch: Vec::new(),
        }
    }

    /// Blocks that are withdrawn and not erased.
    pub(super) fn withdrawn(&self) -> &[BlockId] {
        &self.batch
    }

    /// Whether victims may be cleaned in steps.
    pub(super) const fn has_steps(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Whether the victim of any bank is partly cleaned.
    pub(super) fn is_begun(&self) -> bool {
        self.partial.iter().any(Partial::is_some)
    }

    /// The victim of a bank that is cleaned in steps.
    #[inline(always)]
    pub(super) fn partial(&self, bank: usize) -> Option<&Partial> {
        self.partial.get(bank).filter(|partial| partial.is_some())
    }

    /// Pages that the host may write to a bank until one pays.
    #[inline(always)]
    pub(super) fn unpaid(&self, bank: usize) -> u32 {
        self.partial.get(bank).map_or(1, Partial::unpaid)
    }

    /// Cleans one block, a batch, or the rest of a victim; false if no block is worth it.
    pub(super) fn clean<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        bank: usize,
        cleaned: &mut bool,
        now: u64,
    ) -> Result<bool, FtlError> {
        if !self.batch.is_empty() {
            self.erase_withdrawn(parts, now)?;
        }
        if parts.failures.is_frozen() {
            return Ok(false);
        }
        if self.partial(bank).is_some() {
            let done = self.finish(parts, bank, now);
            return gave(parts, done);
        }
        let least = least_garbage(parts, bank);
        let Some(victim) = choose(parts, bank, least, 0, now) else { return Ok(false) };
        parts.banks[bank].answered(true);
        parts.counters.cleaning_runs += u64::from(!core::mem::replace(cleaned, true));
        let done = self.clean_block(parts, bank, victim, Some(least), now);
        gave(parts, done)
    }

    /// Cleans the block with the fewest valid pages instead of the victim policy's choice, which does
    /// not fit into the room that failures left. Scans all blocks of the bank.
    pub(super) fn clean_least_valid<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        bank: usize,
        now: u64,
    ) -> Result<bool, FtlError> {
        if !self.batch.is_empty() {
            self.erase_withdrawn(parts, now)?;
        }
        if self.partial(bank).is_some() {
            self.finish(parts, bank, now)?;
            return Ok(true);
        }
        let home = &parts.banks[bank];
        let (blocks, room) = (home.blocks(), home.free_pages());
        let victim = (0..blocks.len())
            .map(|n| blocks.nth(n))
            .filter(|&block| blocks.has_garbage(block))
            .map(|block| (blocks.block(block).valid, block))
            .min()
            .filter(|&(valid, _)| u64::from(valid) <= room);
        let Some((_, victim)) = victim else { return Ok(false) };
        match self.clean_block(parts, bank, victim, None, now) {
            Err(FtlError::NoSpace) => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// Cleans a block, and with it others that have `least` garbage, where a batch is sorted.
    fn clean_block<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        bank: usize,
        victim: BlockId,
        least: Option<u32>,
        now: u64,
    ) -> Result<(), FtlError> {
        parts.any().record(|journal, parts| journal.before_change(parts, now))?;
        let lost = parts.counters.pages_lost;
        let streams = self.list(parts, bank, victim, least, now);
        let from = Source { bank, victim, now };
        let moved = self.move_listed(parts, from, streams);
        self.emptied(parts, from, moved, lost)
    }

    /// Lists the survivors of a victim, and those of others that have `least` garbage where a batch is sorted; where
    /// they go.
    #[inline(never)]
    pub(super) fn list<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        bank: usize,
        victim: BlockId,
        least: Option<u32>,
        now: u64,
    ) -> Streams {
        self.survivors.clear();
        self.words.clear();
        self.begin(parts, bank, victim, now);
        let stream = parts.banks.read_only_stream();
        if parts.banks[bank].block(victim).stream == stream {
            Streams::One(stream)
        } else {
            if parts.placement.traits().sorts
                && let Some(least) = least
            {
                self.add_to_batch(parts, bank, victim, least, now);
            }
            self.sorter.ask(&mut parts.placement, &mut self.survivors, &mut self.words, now)
        }
    }

    /// Moves the survivors that are listed.
    #[inline(never)]
    pub(super) fn move_listed<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        from: Source,
        streams: Streams,
    ) -> Result<(), FtlError> {
        let survivors = Survivors { lpns: &self.survivors, words: &mut self.words };
        move_survivors(parts, &mut self.sorter, survivors, from, streams)
    }

    /// Survivors were moved: erases their victims.
    #[inline(always)]
    pub(super) fn emptied<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        from: Source,
        moved: Result<(), FtlError>,
        lost: u64,
    ) -> Result<(), FtlError> {
        let Source { bank, victim, now } = from;
        if moved.is_err() || parts.counters.pages_lost != lost {
            // The placement has decided on pages that stay where they are, too.
            for (&lpn, &word) in self.survivors.iter().zip(&self.words) {
                parts.set_word(lpn, word);
            }
            return self.not_emptied(parts, from, moved);
        }
        // All are out of the tables before any is erased: wear levelling must not choose them.
        self.batch.insert(0, victim);
        for &moved in &self.batch {
            parts.banks[bank].withdraw(moved);
        }
        self.erase_withdrawn(parts, now)
    }

    /// A victim was chosen: counts it, notifies the placement, lists its survivors.
    fn begin<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        bank: usize,
        victim: BlockId,
        now: u64,
    ) {
        let block = *parts.banks[bank].block(victim);
        parts.counters.victims += 1;
        parts.counters.victims_valid += u64::from(block.valid);
        parts.counters.copies += u64::from(block.valid);
        parts.placement.cleaning(&Cleaning {
            bank: bank as u32,
            block: victim,
            valid: block.valid,
            pages: parts.tables.shape().pages(),
            stream: block.stream,
            mapped: parts.tables.mapped(),
            capacity: parts.banks.capacity(),
            now,
        });
        if parts.placement.traits().scans && block.valid > 0 {
            parts.chip.hotness_scan();
        }
        let before = self.survivors.len();
        parts.tables.gather_survivors(victim, &mut self.survivors, &mut self.words);
        debug_assert_eq!(self.survivors.len() - before, block.valid as usize, "{victim:?}");
        withhold(parts, victim, &mut self.survivors, &mut self.words, before);
    }

    /// Chooses more victims, so that the survivors of several blocks are sorted together (LFS).
    fn add_to_batch<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        bank: usize,
        first: BlockId,
        least: u32,
        now: u64,
    ) {
        for _ in 1..parts.config.batch {
            // Out of the index, so that the next choice is another one.
            let last = self.batch.last().copied().unwrap_or(first);
            parts.banks[bank].set_aside(last);
            let Some(next) = choose(parts, bank, least, self.survivors.len(), now) else { break };
            let home = &mut parts.banks[bank];
            let is_read_only = home.block(next).stream == home.read_only_stream();
            home.answered(!is_read_only);
            if is_read_only {
                break;
            }
            self.batch.push(next);
            self.begin(parts, bank, next, now);
        }
    }

    /// Victims were cleaned, but not all of their pages are elsewhere now: some could not be read, or an
    /// error ended it.
    #[cold]
    #[inline(never)]
    fn not_emptied<C: Chip>(
        &mut self,
        parts: &mut Parts<C>,
        Source { bank, victim, now }: Source,
        moved: Result<(), FtlError>,
    ) -> Result<(), FtlError> {
        parts.failures.happened();
        let mut victims = core::mem::take(&mut self.batch);
        victims.insert(0, victim);
        for &block in &victims {
            recount(parts, bank, block, now);
        }
        if moved.is_err() {
            // They are candidates as before; placements with queues have removed them.
            for &block in &victims {
                parts.banks[bank].reenter(&mut parts.placement, block);
            }
            return moved;
        }
        for block in victims {
            if parts.banks[bank].block(block).valid > 0 {
                keep(parts, bank, block);
            } else {
                parts.banks[bank].withdraw(block);
                self.batch.push(block);
            }
        }
        self.erase_withdrawn(parts, now)
    }

    /// Moves the current pages of a block that was not chosen to others of its stream; what cannot be
    /// read stays.
    pub(super) fn move_all<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        block: BlockId,
        now: u64,
    ) -> Result<(), FtlError> {
        parts.any().record(|journal, parts| journal.before_change(parts, now))?;
        let bank = parts.banks.bank_of(block);
        let stream = parts.banks[bank].block(block).stream;
        self.survivors.clear();
        self.words.clear();
        parts.tables.gather_survivors(block, &mut self.survivors, &mut self.words);
        parts.counters.copies += self.survivors.len() as u64;
        withhold(parts, block, &mut self.survivors, &mut self.words, 0);
        let from = Source { bank, victim: block, now };
        let moved = self.move_listed(parts, from, Streams::One(stream));
        recount(parts, bank, block, now);
        moved
    }

    /// Withdraws an empty block for its erase.
    pub(super) fn withdraw<C, P>(&mut self, parts: &mut Parts<C, P>, block: BlockId) {
        let bank = parts.banks.bank_of(block);
        parts.banks[bank].withdraw(block);
        self.batch.push(block);
    }

    /// Erases the withdrawn blocks and puts them on the free list. Where the system below the chip fails
    /// some stay for the next time.
    pub(super) fn erase_withdrawn<C: Chip>(
        &mut self,
        parts: &mut Parts<C>,
        now: u64,
    ) -> Result<(), FtlError> {
        while !self.batch.is_empty() {
            let block = self.batch.remove(0);
            if erase(parts, &mut self.batch, block)?
                && !swap_with_least_erased(parts, &mut self.batch, block, now)?
            {
                let bank = parts.banks.bank_of(block);
                parts.banks[bank].push_free(block);
            }
        }
        mark_retired(parts)
    }
}

/// Removes from the list, from `before` on, pages that a block from before the mount does not really
/// hold: the data there belong to another page or are older. Such a page stays where it is, and reading
/// it is an error.
#[inline(always)]
fn withhold<C: Chip, P>(
    parts: &mut Parts<C, P>,
    block: BlockId,
    survivors: &mut Vec<Lpn>,
    words: &mut Vec<u64>,
    before: usize,
) {
    let Parts { chip, tables, counters, journal, .. } = parts;
    if let Some(journal) = journal
        && journal.look_once(block)
    {
        let mut kept = before;
        for i in before..survivors.len() {
            let lpn = survivors[i];
            let is_foreign = match chip.read_oob(tables.entry(lpn)) {
                Ok(Some(oob)) => !journal.may_hold(block, lpn, &oob),
                Ok(None) => true,
                // The copy will fail by itself.
                Err(_) => false,
            };
            survivors[kept] = lpn;
            if let Some(&word) = words.get(i) {
                words[kept] = word;
            }
            kept += usize::from(!is_foreign);
        }
        let foreign = (survivors.len() - kept) as u64;
        counters.misplaced += foreign;
        counters.pages_lost += foreign;
        counters.copies -= foreign;
        survivors.truncate(kept);
        words.truncate(kept);
    }
}

/// The least garbage that makes a block of a bank worth cleaning now.
pub(super) fn least_garbage<C, P>(parts: &Parts<C, P>, bank: usize) -> u32 {
    let (config, free) = (&parts.config, parts.banks[bank].free_blocks() as u32);
    config.trigger.least_garbage(&config.watermarks, free, parts.tables.shape().pages())
}

/// Whether cleaning gave anything.
pub(super) fn gave<C, P>(
    parts: &Parts<C, P>,
    done: Result<(), FtlError>,
) -> Result<bool, FtlError> {
    match done {
        // Programs failed until even the reserve was gone, or too many blocks were.
        Err(FtlError::NoSpace | FtlError::ReadOnly) if parts.failures.any() => Ok(false),
        done => done.map(|()| true),
    }
}

/// The victim policy's choice, if it has that much garbage and its survivors would find room
/// after `pages` others.
pub(super) fn choose<C>(
    parts: &mut Parts<C>,
    bank: usize,
    garbage: u32,
    pages: usize,
    now: u64,
) -> Option<BlockId> {
    let home = &mut parts.banks[bank];
    let victim = home.choose(&mut parts.placement, now)?;
    let valid = home.block(victim).valid;
    // Blocks may have worn out until even the reserve is gone.
    let fits = u64::from(valid) + pages as u64 <= home.free_pages();
    if fits && parts.tables.shape().pages() - valid >= garbage {
        return Some(victim);
    }
    home.answered(false);
    None
}

/// The longest that cleaning once can take: the survivors of each victim and its erase, and after
/// each erase perhaps a swap, which moves a block and erases it.
pub(super) fn longest_cleaning_ns<C: Chip>(parts: &Parts<C>, timing: &Timing) -> u64 {
    let Parts { config, tables, placement, .. } = parts;
    let pages = tables.shape().pages();
    let emptying = u64::from(pages) * timing.copy_ns + timing.erase();
    let scan = if placement.traits().scans { timing.hotness_scan_ns } else { 0 };
    let swaps = matches!(config.wear_leveling, WearLeveling::Swap(_));
    let swap = if swaps { emptying } else { 0 };
    let victims = if placement.traits().sorts { config.batch.max(1) } else { 1 };
    u64::from(victims) * (scan + emptying + swap)
}
