//! Cleaning a victim in steps.

use alloc::vec::Vec;

use thermocline_flash::{Chip, Lpn};
use thermocline_policy::{placement::Placement, trigger::Pacing};

use super::{
    banks::Banks,
    cleaner::{Cleaner, choose, gave, least_garbage},
    config::Config,
    partial::{Partial, To},
    parts::Parts,
    retire::recount,
    survivors::{Source, Streams, Survivors, move_few, move_few_to_one},
    worded::Worded,
};
use crate::{FtlError, IdleStep};

/// The most pages that one turn raises the level by, where it has fallen behind.
pub(super) const MOST_RAISED: u64 = 2;

/// Copies that one host page makes for several, if each owes fewer, in blocks of `pages` pages. They take about as long
/// as an erase, for which one page waits anyway.
pub(super) fn lot(pages: u64) -> u64 {
    (pages / 4).clamp(1, 8)
}

impl Cleaner {
    /// Chooses a victim to clean in steps; false if no block is worth it.
    #[inline(never)]
    pub(super) fn begin_steps<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        bank: usize,
        now: u64,
    ) -> Result<bool, FtlError> {
        // The host finds room without asking for a block where survivors opened the last one.
        let (home, placement) = (&mut parts.banks[bank], &mut parts.placement);
        home.close_unused(placement, home.read_only_stream());
        let least = least_garbage(parts, bank);
        let Some(victim) = choose(parts, bank, least, 0, now) else { return Ok(false) };
        parts.banks[bank].answered(true);
        parts.counters.cleaning_runs += 1;
        parts.any().record(|journal, parts| journal.before_change(parts, now))?;
        let lost = parts.counters.pages_lost;
        let streams = self.list(parts, bank, victim, None, now);
        if parts.counters.pages_lost != lost {
            // Withheld pages must not be listed again.
            let from = Source { bank, victim, now };
            let moved = self.move_listed(parts, from, streams);
            let done = self.emptied(parts, from, moved, lost);
            return gave(parts, done);
        }
        parts.counters.copies -= self.survivors.len() as u64;
        for (&lpn, &word) in self.survivors.iter().zip(&self.words) {
            parts.set_word(lpn, word);
        }
        let to = match streams {
            Streams::One(stream) => To::One(stream),
            Streams::Each if self.sorter.at_once() => To::Known,
            Streams::Each => To::Ask,
        };
        let most = most_copies(&parts.banks, &parts.config, bank);
        self.partial[bank].begin(
            victim,
            parts.tables.shape().pages(),
            to,
            most,
            (&self.survivors, self.sorter.streams()),
        );
        parts.banks[bank].begin_emptying(victim);
        Ok(true)
    }

    /// Moves up to `most` survivors of the victim of a bank that is cleaned in steps.
    #[inline(always)]
    pub(super) fn step<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        bank: usize,
        most: u32,
        now: u64,
    ) -> Result<(), FtlError> {
        parts.any().record(|journal, parts| journal.before_change(parts, now))?;
        let partial = &mut self.partial[bank];
        let (victim, shape) = (partial.block(), *parts.tables.shape());
        let is_there = |parts: &Parts<C, P>, lpn| shape.block_of(parts.tables.entry(lpn)) == victim;
        let is_listed = partial.coming(most as usize).len() == most as usize
            && partial.coming(most as usize).iter().all(|&lpn| is_there(parts, lpn));
        if !is_listed {
            list_current(parts, partial, bank);
        }
        let lpns = partial.coming(most as usize);
        list_words(&mut self.words, parts, lpns);
        let hot = match parts.placement.hot_pages() {
            Some(pages) => lpns.iter().filter(|lpn| pages.is_hot(**lpn)).count() as u32,
            None => 0,
        };
        let (from, count, lost) =
            (Source { bank, victim, now }, lpns.len(), parts.counters.pages_lost);
        parts.counters.copies += count as u64;
        let survivors = Survivors { lpns, words: &mut self.words };
        let moved = match partial.to() {
            To::One(stream) => move_few_to_one(parts, survivors, from, stream),
            to => {
                self.sorter.assign_known(partial.coming_streams(), count);
                move_few(parts, &mut self.sorter, survivors, from, to == To::Known)
            }
        };
        partial.pass(count);
        // The next step will look at as many.
        partial.coming(count).iter().for_each(|&lpn| parts.tables.prefetch(lpn));
        if moved.is_ok() && parts.counters.pages_lost == lost {
            partial.moved_more(count as u32);
            parts.banks[bank].moved_out(victim, count as u32, hot, now);
            return Ok(());
        }
        self.not_stepped(parts, from, moved)
    }

    /// Chooses a victim that is to be cleaned in steps while the host asks for nothing.
    pub(super) fn begin_ahead<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        bank: usize,
        now: u64,
    ) -> Result<IdleStep, FtlError> {
        let done = !parts.failures.is_frozen() && self.begin_steps(parts, bank, now)?;
        Ok(self.came_to(bank, done))
    }

    /// Goes on with the victim of a bank that is cleaned in steps: moves one survivor or, where all are elsewhere,
    /// erases it.
    pub(super) fn go_on<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        bank: usize,
        now: u64,
    ) -> Result<IdleStep, FtlError> {
        if parts.failures.is_frozen() {
            return Ok(IdleStep::Nothing);
        }
        let is_empty = parts.banks[bank].block(self.partial[bank].block()).valid == 0;
        let done = if is_empty {
            self.end_steps(parts, bank, now)
        } else {
            self.step(parts, bank, 1, now)
        };
        let done = gave(parts, done)?;
        Ok(self.came_to(bank, done))
    }

    /// What came of a step in a bank, if it was `done`.
    fn came_to(&self, bank: usize, done: bool) -> IdleStep {
        if done && self.partial(bank).is_some() { IdleStep::Part } else { IdleStep::whole(done) }
    }

    /// Not all survivors of a step are elsewhere now.
    #[cold]
    #[inline(never)]
    fn not_stepped<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        Source { bank, victim, now }: Source,
        moved: Result<(), FtlError>,
    ) -> Result<(), FtlError> {
        parts.failures.happened();
        recount(parts, bank, victim, now);
        if moved.is_ok() {
            // What cannot be read is left when the rest is elsewhere.
            return self.finish(parts, bank, now);
        }
        self.partial[bank].end();
        parts.banks[bank].reenter(&mut parts.placement, victim);
        moved
    }

    /// Moves the rest of a bank's victim that is cleaned in steps, and erases it.
    #[cold]
    #[inline(never)]
    pub(super) fn finish<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        bank: usize,
        now: u64,
    ) -> Result<(), FtlError> {
        let victim = self.partial[bank].block();
        if parts.banks[bank].block(victim).valid == 0 {
            return self.end_steps(parts, bank, now);
        }
        parts.any().record(|journal, parts| journal.before_change(parts, now))?;
        let lost = parts.counters.pages_lost;
        let partial = &mut self.partial[bank];
        // Pages passed over may be current again.
        let own = parts.banks[bank].block(partial.block()).stream;
        partial.list_again(parts.tables.current_pages(partial.block()), own);
        let lpns = partial.coming(usize::MAX);
        self.survivors.clear();
        self.survivors.extend_from_slice(lpns);
        list_words(&mut self.words, parts, lpns);
        parts.counters.copies += lpns.len() as u64;
        self.sorter.assign_known(partial.coming_streams(), lpns.len());
        self.sorter.set_at_once(partial.to() == To::Known);
        let streams = match partial.to() {
            To::One(stream) => Streams::One(stream),
            To::Known | To::Ask => Streams::Each,
        };
        let from = Source { bank, victim: partial.block(), now };
        partial.end();
        let moved = self.move_listed(parts, from, streams);
        self.emptied(parts, from, moved, lost)
    }

    /// Erases the victim of a bank that was cleaned in steps, all of whose survivors are elsewhere.
    pub(super) fn end_steps<C: Chip, P: Placement>(
        &mut self,
        parts: &mut Parts<C, P>,
        bank: usize,
        now: u64,
    ) -> Result<(), FtlError> {
        let victim = self.partial[bank].block();
        self.partial[bank].end();
        self.withdraw(parts, victim);
        self.erase_withdrawn(parts, now)
    }
}

/// Lists the placement's words of pages, if it keeps any.
#[inline(always)]
fn list_words<C: Chip, P: Placement>(words: &mut Vec<u64>, parts: &Parts<C, P>, lpns: &[Lpn]) {
    let kept = parts.placement.kept();
    words.clear();
    if kept.is_any() {
        words.extend(lpns.iter().map(|&lpn| parts.tables.word(kept, lpn)));
    }
}

/// Keeps the current pages on a victim's list; if none is left, lists its survivors again, since pages marked at
/// the first listing may be current again.
#[cold]
#[inline(never)]
fn list_current<C: Chip, P: Placement>(parts: &Parts<C, P>, partial: &mut Partial, bank: usize) {
    let (tables, victim) = (&parts.tables, partial.block());
    partial.retain(|lpn| tables.shape().block_of(tables.entry(lpn)) == victim);
    if partial.coming(1).is_empty() {
        let own = parts.banks[bank].block(victim).stream;
        partial.list_again(tables.current_pages(victim), own);
    }
}

/// The most copies after one page of the host.
pub(super) fn most_copies(banks: &Banks, config: &Config, bank: usize) -> u64 {
    match config.pacing {
        Pacing::Most(most) => most.into(),
        Pacing::Off | Pacing::Paced => {
            copies_for(banks, config, bank, MOST_RAISED).max(lot(banks.pages().into()))
        }
    }
}

/// Copies that raise the level by `raised` pages, with victims as full as the mean full block of a full device:
/// copies of a second victim may follow those of the first.
pub(super) fn copies_for(banks: &Banks, config: &Config, bank: usize, raised: u64) -> u64 {
    let open = banks.open();
    let valid = banks.mean_valid(bank, config.watermarks.low + open + open.div_ceil(2));
    (raised * u64::from(valid)).div_ceil(u64::from(banks.pages() - valid)) + 1
}
