//! Turns requests into page operations of the layer.

use thermocline_assembly::AssemblyError;
use thermocline_flash::{Clock, CountingChip, Lpn};
use thermocline_ftl::{AHEAD, AHEAD_MORE, FtlError, Layer};
use thermocline_trace::Op;

use super::host::{Answer, Host};
use crate::{
    SimError,
    input::{Batch, Extent},
};

/// Pages of a long request that are written in one run.
const AT_ONCE: usize = 256;

/// A layer that serves requests. Only this part of the engine is compiled for each type of layer.
pub(crate) trait Driven: Layer<Chip = CountingChip> {
    /// Serves requests whose contents are unspecified.
    ///
    /// # Errors
    /// [`SimError`].
    fn serve(&mut self, host: &mut Host<'_>, batch: &[Extent]) -> Result<(), SimError>;
}

impl<L: Layer<Chip = CountingChip>> Driven for L {
    fn serve(&mut self, host: &mut Host<'_>, batch: &[Extent]) -> Result<(), SimError> {
        let in_line = host.in_line;
        let drive = Drive { layer: self, host };
        if in_line { drive.batch::<true>(batch) } else { drive.batch::<false>(batch) }
    }
}

/// A layer and its host.
pub(super) struct Drive<'e, 'a, L: ?Sized> {
    pub(super) layer: &'e mut L,
    pub(super) host: &'e mut Host<'a>,
}

impl<L: Layer<Chip = CountingChip>> Drive<'_, '_, L> {
    // Not inlined, because the loop needs all registers. Compiled for both clocks: a request in
    // line needs little of the other's state.
    #[inline(never)]
    fn batch<const IN_LINE: bool>(mut self, batch: &[Extent]) -> Result<(), SimError> {
        for extent in &batch[..AHEAD.min(batch.len())] {
            self.layer.prefetch(Lpn(extent.first));
        }
        let mut at = 0;
        // Number of requests from `at` on that write one page each.
        let mut alike = 0;
        while at < batch.len() {
            if IN_LINE && self.host.log.is_none() {
                if alike == 0 {
                    alike = batch[at..].iter().take_while(|extent| extent.is_one_page()).count();
                }
                match self.write_alike(&batch[at..], alike) {
                    Ok(0) => {}
                    Ok(done) => {
                        (at, alike) = (at + done, alike - done);
                        continue;
                    }
                    Err((done, e)) => {
                        self.host.count(&batch[..=at + done]);
                        return Err(e);
                    }
                }
                alike = alike.saturating_sub(1);
            }
            if let Some(next) = batch.get(at + AHEAD) {
                self.layer.prefetch(Lpn(next.first));
            }
            if let Some(next) = batch.get(at + AHEAD_MORE) {
                self.layer.prefetch_more(Lpn(next.first));
            }
            if let Err(e) = self.serve::<IN_LINE>(&batch[at]) {
                self.host.count(&batch[..=at]);
                return Err(e);
            }
            at += 1;
        }
        self.host.count(batch);
        Ok(())
    }

    /// Serves up to `count` requests in line that write one page each. Returns how many were
    /// served. After an error, the next request had been started.
    #[inline(always)]
    fn write_alike(&mut self, batch: &[Extent], count: usize) -> Result<usize, (usize, SimError)> {
        if count == 0 {
            return Ok(0);
        }
        let done = write_run(self.layer, batch, count, self.host.busy, self.host.program_ns);
        let (Ok(written) | Err((written, _))) = done;
        if written > 0 {
            self.host.record::<true>();
            // All but the last took exactly one program.
            let begin = self.host.busy + (written as u64 - 1) * self.host.program_ns;
            self.host.busy =
                if done.is_ok() { self.busy_ns() } else { begin + self.host.program_ns };
            self.host.writes.record_n(self.host.program_ns, written as u64 - 1);
            self.host.now = begin;
            self.host.answer = Answer { op: Op::Write, arrival: begin, begin, end: self.host.busy };
            self.host.pages_written += written as u64;
            self.host.bytes_written +=
                batch[..written].iter().map(|extent| extent.bytes).sum::<u64>();
        }
        done.map_err(|(written, e)| {
            self.host.next_in_line(&batch[written]);
            (written, self.error(e))
        })
    }

    #[inline(always)]
    fn serve<const IN_LINE: bool>(&mut self, extent: &Extent) -> Result<(), SimError> {
        self.open::<IN_LINE>(extent)?;
        if extent.op == Op::Write {
            self.write::<IN_LINE>(extent)?;
        } else {
            self.ask(extent)?;
        }
        self.close::<IN_LINE>();
        Ok(())
    }

    #[inline(always)]
    fn write<const IN_LINE: bool>(&mut self, extent: &Extent) -> Result<(), SimError> {
        let cut = extent.partial_head | extent.partial_tail;
        let mut first = 0;
        while IN_LINE && !cut && first + 1 < extent.pages {
            // In chunks, because a request may be as long as the device.
            let mut pages = std::mem::take(&mut self.host.pages);
            pages.clear();
            let page = |i| Extent { first: extent.first + i, ..*extent };
            pages.extend((first..extent.pages).take(AT_ONCE).map(page));
            let (count, now) = (pages.len(), self.busy_ns());
            let done = write_run(self.layer, &pages, count, now, self.host.program_ns);
            self.host.pages = pages;
            match done.map_err(|(_, e)| self.error(e))? {
                0 => break,
                written => first += written as u32,
            }
        }
        for i in first..extent.pages {
            let lpn = Lpn(extent.first + i);
            // The prefetch for the first page covers only the first pages of a long request.
            if i + (AHEAD_MORE as u32) < extent.pages {
                self.layer.prefetch_more(Lpn(lpn.0 + AHEAD_MORE as u32));
                if i + (AHEAD as u32) < extent.pages {
                    self.layer.prefetch(Lpn(lpn.0 + AHEAD as u32));
                }
            }
            if cut
                && (extent.partial_head && i == 0 || extent.partial_tail && i + 1 == extent.pages)
            {
                self.layer.read(lpn, &mut []).map_err(|e| self.error(e))?;
            }
            self.host.now = self.time_of::<IN_LINE>(extent, i);
            self.layer.write(lpn, &[], self.host.now).map_err(|e| self.error(e))?;
        }
        self.host.pages_written += u64::from(extent.pages);
        self.host.bytes_written += extent.bytes;
        Ok(())
    }
}

/// Writes the first pages of `count` extents one after another, prefetching for the extents behind
/// them. Not inlined, because this is most of the code compiled for each type of layer.
#[inline(never)]
fn write_run<L: Layer>(
    layer: &mut L,
    extents: &[Extent],
    count: usize,
    now: u64,
    step: u64,
) -> Result<usize, (usize, FtlError)> {
    layer.write_run(count, |i| extents.get(i).map(|extent| Lpn(extent.first)), now, step)
}

impl<L: Layer<Chip = CountingChip> + ?Sized> Drive<'_, '_, L> {
    /// Serves a batch whose contents are partly known.
    pub(super) fn known_batch<const IN_LINE: bool>(
        &mut self,
        batch: &Batch,
        (at, count): (usize, usize),
        page: &mut [u8],
    ) -> Result<(), SimError> {
        let extents = &batch.extents[at..at + count];
        for (i, extent) in extents.iter().enumerate() {
            let known = batch.known.of(at + i);
            let done = self.open::<IN_LINE>(extent).and_then(|()| match (extent.op, known) {
                (Op::Write, known) => self.write_known::<IN_LINE>(extent, known, page),
                _ => self.ask(extent),
            });
            if let Err(e) = done {
                self.host.count(&extents[..=i]);
                return Err(e);
            }
            self.close::<IN_LINE>();
        }
        self.host.count(extents);
        Ok(())
    }

    /// Writes pages with the known bytes. A partly covered page keeps the rest of its old content.
    /// Pages without known content are written without a payload.
    fn write_known<const IN_LINE: bool>(
        &mut self,
        extent: &Extent,
        known: Option<(usize, &[u8])>,
        page: &mut [u8],
    ) -> Result<(), SimError> {
        let size = page.len();
        let (skip, bytes) = known.unwrap_or_default();
        for i in 0..extent.pages {
            let lpn = Lpn(extent.first + i);
            // The known bytes within this page.
            let start = i as usize * size;
            let from = start.max(skip);
            let to = (start + size).min(skip + bytes.len()).max(from);
            let whole = to - from == size;
            let partial =
                extent.partial_head && i == 0 || extent.partial_tail && i + 1 == extent.pages;
            page.fill(0);
            if partial || !whole && to > from {
                self.layer.read(lpn, page).map_err(|e| self.error(e))?;
            }
            if to > from {
                page[from - start..to - start].copy_from_slice(&bytes[from - skip..to - skip]);
            }
            let nothing_known = to == from && page.iter().all(|byte| *byte == 0);
            let data = if nothing_known { &[][..] } else { &page[..] };
            self.host.now = self.time_of::<IN_LINE>(extent, i);
            self.layer.write(lpn, data, self.host.now).map_err(|e| self.error(e))?;
        }
        self.host.pages_written += u64::from(extent.pages);
        self.host.bytes_written += extent.bytes;
        Ok(())
    }

    /// Starts a request, unless the extent continues one.
    #[inline(always)]
    fn open<const IN_LINE: bool>(&mut self, extent: &Extent) -> Result<(), SimError> {
        if IN_LINE {
            self.host.next_in_line(extent);
        } else if !extent.continued {
            self.open_answer(extent)?;
        }
        Ok(())
    }

    /// Serves a request other than a write.
    #[inline(always)]
    fn ask(&mut self, extent: &Extent) -> Result<(), SimError> {
        match extent.op {
            Op::Read => {
                for lpn in (extent.first..extent.first + extent.pages).map(Lpn) {
                    self.layer.read(lpn, &mut []).map_err(|e| self.error(e))?;
                }
            }
            Op::Trim if self.host.ignores_trims => {}
            Op::Trim => {
                for lpn in (extent.first..extent.first + extent.pages).map(Lpn) {
                    self.layer.trim(lpn, self.host.now).map_err(|e| self.error(e))?;
                }
            }
            Op::Flush => {
                self.host.flushes += 1;
                if self.host.buffers {
                    self.layer.upkeep().settle(self.host.now).map_err(|e| self.error(e))?;
                }
            }
            Op::Write => {}
        }
        Ok(())
    }

    /// Ends an extent.
    #[inline(always)]
    fn close<const IN_LINE: bool>(&mut self) {
        if IN_LINE {
            self.host.busy = self.busy_ns();
            self.host.answer.end = self.host.busy;
        } else {
            self.extend_answer();
        }
    }

    /// Write time of a page of an extent. Each page has a distinct time, so that ages order the
    /// pages of one request.
    #[inline(always)]
    fn time_of<const IN_LINE: bool>(&self, extent: &Extent, page: u32) -> u64 {
        match (self.host.arrivals, page) {
            (_, 0) if IN_LINE => self.host.now,
            (_, _) if IN_LINE => self.busy_ns(),
            (true, _) => self.host.now + 1,
            (false, 0) if !extent.continued => self.host.now,
            (false, _) => self.device_time(),
        }
    }

    /// Busy time of the chip since the start of the run, in nanoseconds.
    #[inline(always)]
    fn busy_ns(&self) -> u64 {
        self.layer.chip().busy_ns() - self.host.started
    }

    /// The device's time between the pages of a request.
    #[inline(always)]
    fn device_time(&self) -> u64 {
        match self.layer.chip().clock() {
            None => self.busy_ns(),
            Some(clock) => clock.ready().max(self.host.now + 1),
        }
    }

    /// Completes the last request and starts another.
    #[inline(always)]
    fn open_answer(&mut self, extent: &Extent) -> Result<(), SimError> {
        self.close_answer();
        let arrival = if self.host.arrivals {
            let arrival = extent.time_ns.saturating_add(self.host.shift);
            if self.host.idle.is_some() {
                self.clean_until(arrival)?;
            }
            self.host.now = self.host.now.max(arrival);
            arrival
        } else {
            0
        };
        let begin = self.take_up(arrival);
        if let Some(clock) = self.layer.chip_mut().clock_mut() {
            clock.begin(begin);
            if !self.host.arrivals {
                self.host.now = self.host.now.max(clock.ready());
            }
        } else if !self.host.arrivals {
            self.host.now = self.host.busy;
        }
        // On the device's clock a request arrives when the queue has room for it.
        let arrival = if self.host.arrivals { arrival } else { begin };
        self.host.answer = Answer { op: extent.op, arrival, begin, end: begin };
        Ok(())
    }

    /// Ends the current request. Where reads are served first, its response time is recorded later.
    #[inline(always)]
    fn close_answer(&mut self) {
        match self.layer.chip_mut().clock_mut().and_then(Clock::schedule_mut) {
            None => self.host.close_answer(),
            Some(schedule) => {
                let (_, operations) = schedule.close();
                self.host.in_progress.push(self.host.answer, operations);
                self.host.collect(schedule);
            }
        }
    }

    /// Records the last request, and all that are in progress.
    pub(super) fn finish(&mut self) {
        self.close_answer();
        if let Some(schedule) = self.layer.chip_mut().clock_mut().and_then(Clock::schedule_mut) {
            while schedule.advance() {
                self.host.collect(schedule);
            }
        }
    }

    /// When the device starts a request that arrives at `time`.
    #[inline(always)]
    fn take_up(&mut self, time: u64) -> u64 {
        let Some(schedule) = self.layer.chip_mut().clock_mut().and_then(Clock::schedule_mut) else {
            return self.host.queue.take_up(time);
        };
        let depth = self.host.queue.depth().unwrap_or(usize::MAX);
        while self.host.in_progress.unfinished() >= depth && schedule.advance() {
            self.host.collect(schedule);
        }
        time.max(schedule.now())
    }

    /// Extends the current request by an extent that was served.
    #[inline(always)]
    fn extend_answer(&mut self) {
        self.host.answer.end = match self.layer.chip().clock() {
            Some(clock) if clock.schedule().is_some() => return,
            Some(clock) => clock.answered(),
            None => {
                // Without overlap, the chip's work for this extent follows all earlier work.
                let busy = self.busy_ns();
                self.host.done_ns =
                    self.host.done_ns.max(self.host.answer.begin) + (busy - self.host.busy);
                self.host.busy = busy;
                self.host.done_ns
            }
        };
        self.host.done_ns = self.host.done_ns.max(self.host.answer.end);
    }

    /// Cleans between the last request and this one, as the idle policy decides.
    fn clean_until(&mut self, arrival: u64) -> Result<(), SimError> {
        let Some(idle) = &mut self.host.idle else { return Ok(()) };
        let leisure = idle.leisure(self.host.idle_step);
        let last = self.host.last_gap_from.replace(arrival);
        if let (Some(last), Some(predicted)) = (last, idle.predicted(self.host.idle_step)) {
            self.host.predictions.note(
                predicted,
                arrival.saturating_sub(last),
                self.host.idle_step,
            );
        }
        idle.arrived(arrival);
        let mut steps = leisure.steps;
        let quiet = match self.layer.chip().clock() {
            Some(clock) => clock.quiet().max(self.host.done_ns),
            None => self.host.done_ns,
        };
        let mut from = quiet.saturating_add(leisure.after);
        while steps > 0 && (from < arrival || !leisure.yields) {
            steps -= 1;
            self.host.now = self.host.now.max(from);
            if let Some(clock) = self.layer.chip_mut().clock_mut() {
                clock.begin(from);
            }
            if !self.layer.upkeep().clean_in_idle_time(self.host.now).map_err(|e| self.error(e))? {
                break;
            }
            from = match self.layer.chip().clock() {
                Some(clock) => clock.quiet(),
                None => {
                    let busy = self.busy_ns();
                    self.host.done_ns = from + (busy - self.host.busy);
                    self.host.busy = busy;
                    self.host.done_ns
                }
            };
        }
        Ok(())
    }

    #[cold]
    fn error(&self, error: FtlError) -> SimError {
        AssemblyError::of_layer(error, self.layer.inspect().counters().retired).into()
    }
}
