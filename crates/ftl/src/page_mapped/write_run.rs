//! Runs of host writes: decisions common to all pages are made once.
//!
//! If the placement has one stream for host writes, the chip programs a run at once and the tables follow;
//! otherwise each page is written by itself. Only a write that finds no room collects garbage, and it ends
//! the run.

use thermocline_flash::{Chip, Flash, FlashError, Lpn, Oob};
use thermocline_policy::{
    placement::{PageState, Placement, Write},
    trigger::Trigger,
};

use super::{
    append::{PageWrite, stream_of},
    core::PageMapped,
    parts::Parts,
    worded::Worded,
};
use crate::{AHEAD, AHEAD_MORE, FtlError, PageIo};

/// Pages by number, and when each is written.
pub(super) struct Run<F> {
    /// Pages to write.
    pub(super) count: usize,
    /// The pages, and those after them as far as they are known.
    pub(super) page: F,
    /// When the first is written.
    pub(super) now: u64,
    /// The duration of each.
    pub(super) step: u64,
}

impl<F: Fn(usize) -> Option<Lpn>> Run<F> {
    #[inline(always)]
    fn time(&self, i: usize) -> u64 {
        self.now + i as u64 * self.step
    }
}

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// See [`PageIo::write_run`].
    #[inline(always)]
    pub(super) fn write_pages<F: Fn(usize) -> Option<Lpn>>(
        &mut self,
        run: &Run<F>,
    ) -> Result<usize, (usize, FtlError)> {
        if self.parts.journal.is_some() || self.parts.failures.is_read_only() {
            return Ok(0);
        }
        let Parts { placement, banks, config, .. } = &self.parts;
        let cleans = config.trigger == Trigger::Eager || !self.is_paced() && self.is_lent();
        let is_plain = banks.len() == 1 && placement.hot_pages().is_none() && !cleans;
        if is_plain && self.is_paced() {
            return self.write_and_pay(run);
        }
        match placement.host_stream() {
            Some(stream) if is_plain => self.write_to_one(stream, run),
            None if is_plain => self.write_to_several(run),
            _ => self.write_each(run),
        }
    }

    /// All pages go to one stream of the only bank, as many as its open block has room for.
    #[inline(always)]
    fn write_to_one<F: Fn(usize) -> Option<Lpn>>(
        &mut self,
        stream: u8,
        run: &Run<F>,
    ) -> Result<usize, (usize, FtlError)> {
        let Parts { chip, tables, banks, placement, durability, counters, .. } = &mut self.parts;
        let (home, s, before) = (&mut banks[0], usize::from(stream), durability.programs());
        let (to, taken) = home.take_run(s, run.count);
        if taken == 0 {
            return Ok(0);
        }
        let kept = P::Page::KEPT;
        // Whether the words of the superseded copies count.
        let recalls = kept.is_any() && P::Page::RECALLED;
        let oob = |i: u32| {
            let (lpn, time) = ((run.page)(i as usize).unwrap_or(Lpn::NONE), run.time(i as usize));
            let sequence = before + u64::from(i) + 1;
            let word = if recalls { tables.word(kept, lpn) } else { 0 };
            Oob { lpn, stream, sequence, time, note: placement.saved(lpn, word) }
        };
        let (programmed, failed) = match chip.program_run(to.at, taken, oob) {
            Ok(()) => (taken, None),
            Err((programmed, failed)) => (programmed, Some(failed)),
        };
        durability.set_programs(before + u64::from(programmed));
        let mut rows = tables.rows();
        debug_assert_eq!(rows.shape().slot_of(to.at), to.slot, "a run goes to {:?}", to.at);
        let mut bank = home.writes(rows.shape());
        let open = bank.wrote(s, programmed, run.time(programmed.max(1) as usize - 1));
        let (mut written, mut result) = (0, Ok(()));
        while written < programmed as usize {
            if let Some(later) = (run.page)(written + AHEAD) {
                rows.prefetch(later);
                placement.prefetch(later);
            }
            let later = (run.page)(written + AHEAD_MORE);
            if let Some(at) = later.and_then(|lpn| rows.current(lpn)) {
                bank.prefetch(at);
                if recalls {
                    rows.prefetch_word(at);
                }
            }
            let Some(lpn) = (run.page)(written) else { break };
            let Some(entry) = rows.entry(lpn) else {
                result = Err(FtlError::OutOfRange(lpn));
                break;
            };
            let (to, now) = (to.nth(written), run.time(written));
            rows.point(lpn, entry, to);
            if rows.is_current(entry) {
                bank.invalidate(entry, now);
            }
            let word = if recalls { rows.word_at(kept, entry) } else { 0 };
            let word = placement.written_word(lpn, word, now);
            rows.set_word(kept, to, word);
            written += 1;
        }
        counters.host_writes += written as u64;
        // Programmed pages without a logical page are garbage.
        for _ in written..programmed as usize {
            bank.invalidate_in(open, run.now);
        }
        home.watch_all((0..written).filter_map(&run.page));
        result.map_err(|e| (written, e))?;
        let Some(failed) = failed else { return Ok(written) };
        // The page whose program failed stays taken.
        home.untake_all(s, taken - programmed - 1);
        let Some(lpn) = (run.page)(written) else { return Ok(written) };
        let now = run.time(written);
        self.write_elsewhere(lpn, stream, now, failed).map_err(|e| (written, e))?;
        Ok(written + 1)
    }

    /// The program of a page of a run failed.
    #[cold]
    #[inline(never)]
    fn write_elsewhere(
        &mut self,
        lpn: Lpn,
        stream: u8,
        now: u64,
        failed: FlashError,
    ) -> Result<(), FtlError> {
        let write = PageWrite { lpn, stream, data: &[], now };
        self.parts.counters.host_writes += 1;
        // The number of the program that failed.
        self.parts.durability.set_programs(self.parts.durability.programs() + 1);
        let (to, word) = self.program_elsewhere(0, write, failed)?;
        let word = self.parts.placement.written_word(lpn, word, now);
        self.point_to(0, write, word, to);
        self.parts.banks[0].watch(lpn);
        Ok(())
    }

    /// Each page goes to its stream of the only bank, until one finds no room at once.
    #[inline(always)]
    fn write_to_several<F: Fn(usize) -> Option<Lpn>>(
        &mut self,
        run: &Run<F>,
    ) -> Result<usize, (usize, FtlError)> {
        let Parts { chip, tables, banks, placement, durability, counters, .. } = &mut self.parts;
        let before = durability.programs();
        let kept = P::Page::KEPT;
        let mut rows = tables.rows();
        let mut bank = banks[0].writes(rows.shape());
        bank.begin();
        let mut written = 0;
        let mut stopped = None;
        while written < run.count {
            if let Some(later) = (run.page)(written + AHEAD) {
                rows.prefetch(later);
                placement.prefetch(later);
            }
            let later = (run.page)(written + AHEAD_MORE);
            if let Some(at) = later.and_then(|lpn| rows.current(lpn)) {
                bank.prefetch(at);
                if kept.is_any() {
                    rows.prefetch_word(at);
                }
            }
            let Some(lpn) = (run.page)(written) else { break };
            // Nothing between here and its program moves the page.
            let Some(entry) = rows.entry(lpn) else { break };
            let now = run.time(written);
            let old = || rows.data_at(entry).map(|old| bank.place(old));
            let word = if kept.is_any() { rows.word_at(kept, entry) } else { 0 };
            let stream = placement.host(P::Page::from_word(word), &Write { lpn, now, old });
            let Some(to) = bank.take_if_room(usize::from(stream), now) else {
                stopped = Some((lpn, stream, now, None));
                break;
            };
            debug_assert_eq!(rows.shape().slot_of(to.at), to.slot, "{lpn:?} goes to {:?}", to.at);
            let sequence = before + written as u64 + 1;
            let note = placement.saved(lpn, word);
            let oob = Oob { lpn, stream, sequence, time: now, note };
            if let Err(failed) = chip.program(to.at, oob, &[]) {
                bank.skip(usize::from(stream));
                stopped = Some((lpn, stream, now, Some(failed)));
                break;
            }
            if rows.is_current(entry) {
                bank.invalidate(entry, now);
            }
            rows.point(lpn, entry, to);
            let word = placement.written_word(lpn, word, now);
            rows.set_word(kept, to, word);
            written += 1;
        }
        bank.end();
        banks[0].watch_all((0..written).filter_map(&run.page));
        counters.host_writes += written as u64;
        durability.set_programs(before + written as u64);
        let Some((lpn, stream, now, failed)) = stopped else { return Ok(written) };
        let done = match failed {
            Some(failed) => self.write_elsewhere(lpn, stream, now, failed),
            // A single write, with its copies.
            None if self.is_paced() => return Ok(written),
            None => {
                self.parts.counters.host_writes += 1;
                self.write_to(0, stream, lpn, &[], now)
            }
        };
        done.map_err(|e| (written, e))?;
        Ok(written + 1)
    }

    /// Pages of the only bank up to the next that pays, and what that pays.
    #[inline(always)]
    fn write_and_pay<F: Fn(usize) -> Option<Lpn>>(
        &mut self,
        run: &Run<F>,
    ) -> Result<usize, (usize, FtlError)> {
        let Run { count, now, step, ref page } = *run;
        let run = Run { count: count.min(self.cleaner.unpaid(0) as usize), page, now, step };
        let written = match self.parts.placement.host_stream() {
            Some(stream) => self.write_to_one(stream, &run)?,
            None => self.write_to_several(&run)?,
        };
        if written > 0 {
            let last = run.time(written - 1);
            self.pace(0, written as u32, last).map_err(|e| (written - 1, e))?;
        }
        Ok(written)
    }

    /// Each page by itself, until one finds no room at once or, where blocks are cleaned eagerly, few free blocks.
    #[inline(always)]
    fn write_each<F: Fn(usize) -> Option<Lpn>>(
        &mut self,
        run: &Run<F>,
    ) -> Result<usize, (usize, FtlError)> {
        for i in 0..run.count {
            if let Some(later) = (run.page)(i + AHEAD) {
                self.prefetch(later);
            }
            if let Some(later) = (run.page)(i + AHEAD_MORE) {
                self.prefetch_more(later);
            }
            let Some(lpn) = (run.page)(i) else { return Ok(i) };
            let now = run.time(i);
            self.check_writable(lpn, now).map_err(|e| (i, e))?;
            self.parts.counters.host_writes += 1;
            let stream = stream_of(&mut self.parts, lpn, now);
            let bank = self.assign(lpn, stream);
            let Parts { banks, config, .. } = &self.parts;
            let home = &banks[bank];
            let may_clean = home.open(usize::from(stream)).is_full()
                || config.trigger == Trigger::Eager && home.free_blocks() <= banks.reserve();
            let before = self.own_operations();
            self.write_to(bank, stream, lpn, &[], now).map_err(|e| (i, e))?;
            if may_clean || self.own_operations() != before {
                return Ok(i + 1);
            }
        }
        Ok(run.count)
    }
}
