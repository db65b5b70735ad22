//! The loop: extents in, page operations on the layer, response times out.
//!
//! Two clocks. On the *device's own* a request starts when the last has ended, and policies see the
//! device's time. With *arrivals* a request waits for its arrival and for those before it; policies
//! see arrival times, as in the papers' simulator, where cleaning takes no time of its own.
//!
//! A chip with a [`Clock`](thermocline_flash::Clock) says itself when each page is done. Without
//! one its operations follow one another, and their counts give the time.

use thermocline_assembly::{AssemblyError, policy::Faults};
use thermocline_flash::{CountingChip, Flash, Lpn};
use thermocline_ftl::{AHEAD, AHEAD_MORE, Counters, FtlError, Layer};
use thermocline_policy::{dead::DeadData, idle::Idle, placement::Ahead};
use thermocline_trace::Op;

use crate::{
    DelayLog, Look, Progress, SimError, Watch,
    delays::RequestDelay,
    history::{Quantile, Recorder, Sample},
    input::{Batch, Extent, Extents},
    job::{Clock, Job},
    predictions::Predictions,
    queue::Queue,
    responses::Responses,
    result::ResponseTimes,
    settling::{Series, Settling},
    setup::Setup,
};

/// What the host asked and how long it waited.
pub(crate) struct Measured {
    pub requests: u64,
    pub flushes: u64,
    pub bytes_written: u64,
    pub write: ResponseTimes,
    pub read: ResponseTimes,
    pub application: Application,
    pub elapsed_ns: u64,
    /// How well the idle policy foretold the silence between requests.
    pub predictions: Predictions,
    /// The last arrival, where requests arrive.
    pub last_arrival_ns: Option<u64>,
    /// The last two stretches of the run.
    pub settling: Option<Settling>,
    /// How often the input was run until it settled, where that was asked for.
    pub passes: Option<u32>,
    /// What was recorded for pictures, where that was asked for.
    pub recorded: Option<Recorded>,
}

/// What was recorded for pictures.
pub(crate) struct Recorded {
    pub samples: Vec<Sample>,
    pub victims: Vec<u64>,
    pub writes: Vec<Quantile>,
    pub reads: Vec<Quantile>,
}

/// Sums over all reads and writes, in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Application {
    /// From arrivals to ends.
    pub response_ns: u128,
    /// From arrivals, or from the end of the request before where that is later, to ends: what the
    /// device took, the waiting for cleaning in idle time included.
    pub delay_ns: u128,
    /// The part of writes in it.
    pub write_delay_ns: u128,
}

pub(crate) struct Engine<'a, L> {
    layer: &'a mut L,
    arrivals: bool,
    /// Whether requests are served one by one without a pause: no arrivals, no queue, no overlap.
    in_line: bool,
    /// What a program takes on the chip.
    program_ns: u64,
    idle: Option<Box<dyn Idle>>,
    /// The longest step of that.
    idle_step: u64,
    /// When the last request came, where an idle policy is asked.
    last_gap_from: Option<u64>,
    predictions: Predictions,
    ignores_trims: bool,
    /// Room for a page, where something is known of what is written.
    page: Vec<u8>,
    log: Option<&'a DelayLog>,
    recorder: Option<Recorder>,
    series: Series,
    watch: Option<&'a dyn Watch>,
    faults: &'a Faults,
    /// What the layer had done when the statistics began.
    before: Counters,
    queue: Queue,
    /// Chip time at the start of the run.
    started: u64,
    /// Chip time since then, after the last request; where operations follow one another.
    busy: u64,
    /// When the device is done with everything the host asked so far.
    done_ns: u64,
    /// When the last request was answered.
    answered_ns: u64,
    /// Where statistics begin.
    start_ns: u64,
    last_arrival: u64,
    /// How much later requests come than the trace says: the host waits for what prepares the device.
    shift: u64,
    /// The time policies see; never falls.
    now: u64,
    /// The request that is being answered.
    answer: Answer,
    writes: Responses,
    reads: Responses,
    requests: u64,
    flushes: u64,
    pages_written: u64,
    bytes_written: u64,
    write_delay_ns: u128,
    read_delay_ns: u128,
    /// The batch at hand, and how far it was served.
    batch: Batch,
    at: usize,
}

/// A request, of whose extents some were done.
#[derive(Clone, Copy)]
struct Answer {
    op: Op,
    arrival: u64,
    /// When the device took it up.
    begin: u64,
    end: u64,
}

impl<'a, L: Layer<Chip = CountingChip>> Engine<'a, L> {
    pub(crate) fn new(layer: &'a mut L, job: &Job<'a>, setup: &'a Setup) -> Result<Self, SimError> {
        let timing = setup.plan.device.profile.timing;
        let arrivals = setup.clock == Clock::Arrivals;
        let started = layer.chip().busy_ns();
        if let Some(clock) = layer.chip_mut().clock_mut() {
            clock.restart();
        }
        let depth = job.queue_depth.or((!arrivals).then_some(1)).map(|depth| depth as usize);
        let clock = layer.chip().clock().is_some();
        let page_size = setup.plan.device.profile.geometry.page_size as usize;
        Ok(Self {
            idle_step: layer.upkeep().idle_step_ns(&timing),
            layer,
            arrivals,
            in_line: !arrivals && !clock && depth == Some(1),
            program_ns: timing.program(),
            idle: job.policy.build_idle()?.filter(|_| arrivals),
            last_gap_from: None,
            predictions: Predictions::default(),
            ignores_trims: job.policy.build_dead_data()? == DeadData::None,
            page: vec![0; if setup.keeps_contents { page_size } else { 0 }],
            log: job.delays,
            recorder: job
                .history
                .then(|| Recorder::new(setup.plan.device.profile.geometry.data_pages_per_block())),
            series: Series::begin(&Counters::default()),
            watch: None,
            faults: &setup.plan.faults,
            before: Counters::default(),
            queue: Queue::new(depth),
            started,
            busy: 0,
            done_ns: 0,
            answered_ns: 0,
            start_ns: 0,
            last_arrival: 0,
            shift: 0,
            now: 0,
            answer: Answer { op: Op::Flush, arrival: 0, begin: 0, end: 0 },
            writes: Responses::new(),
            reads: Responses::new(),
            requests: 0,
            flushes: 0,
            pages_written: 0,
            bytes_written: 0,
            write_delay_ns: 0,
            read_delay_ns: 0,
            batch: Batch::default(),
            at: 0,
        })
    }

    pub(crate) const fn layer(&self) -> &L {
        self.layer
    }

    /// Serves the requests that only prepare the device, and forgets what it measured: this many, and
    /// then on until the host has written this many pages.
    pub(crate) fn prepare(
        &mut self,
        extents: &mut Extents,
        requests: u64,
        pages: u64,
        progress: &Progress,
    ) -> Result<(), SimError> {
        let log = self.log.take();
        self.serve_all(extents, requests, progress)?;
        self.end();
        // On the device's own clock arrivals are of no account.
        if self.arrivals {
            self.shift = self.done_ns.saturating_sub(self.last_arrival);
            self.last_arrival = self.last_arrival.saturating_add(self.shift);
        }
        // What warms the device up is part of the input: nobody waits for its end.
        if pages > 0 {
            self.warm_up(extents, pages, progress)?;
            self.end();
        }
        self.log = log;
        self.begin();
        Ok(())
    }

    /// Statistics begin here.
    fn begin(&mut self) {
        (self.writes, self.reads) = (Responses::new(), Responses::new());
        (self.requests, self.flushes, self.pages_written, self.bytes_written) = (0, 0, 0, 0);
        (self.write_delay_ns, self.read_delay_ns) = (0, 0);
        self.predictions = Predictions::default();
        // A flush is not recorded: nothing is being answered.
        self.answer.op = Op::Flush;
        self.start_ns = if self.arrivals { self.last_arrival } else { self.done_ns };
        let counters = self.layer.inspect().counters();
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(counters);
        }
        self.series = Series::begin(counters);
        self.before = *counters;
    }

    /// Serves requests until the host has written this many pages.
    fn warm_up(
        &mut self,
        extents: &mut Extents,
        pages: u64,
        progress: &Progress,
    ) -> Result<(), SimError> {
        let from = self.pages_written;
        while self.pages_written - from < pages {
            // One at a time, so that none too many is served.
            if self.serve_all(extents, 1, progress)? == 0 {
                return Err(SimError::Usage(format!(
                    "the input ends within the warm-up, after {} of {pages} pages; give a longer input or \
                     a shorter warm-up",
                    self.pages_written - from
                )));
            }
        }
        Ok(())
    }

    /// Serves the requests whose statistics count.
    pub(crate) fn run(
        &mut self,
        extents: &mut Extents,
        watch: Option<&'a dyn Watch>,
        progress: &Progress,
    ) -> Result<(), SimError> {
        self.watch = watch;
        self.look();
        self.serve_all(extents, u64::MAX, progress)?;
        self.end();
        Ok(())
    }

    /// Begins another pass over the input, and the statistics with it.
    pub(crate) fn run_again(&mut self, extents: &mut Extents) -> Result<(), SimError> {
        let gap = extents.begin_again()?;
        if self.arrivals {
            self.last_arrival = self.last_arrival.saturating_add(gap);
            self.shift = self.last_arrival;
        }
        self.begin();
        Ok(())
    }

    /// Page programs a page written, since the statistics began.
    pub(crate) fn write_amplification(&self) -> Option<f64> {
        let did = self.layer.inspect().counters().since(&self.before);
        let programs = did.host_writes + did.copies + did.map_programs;
        (did.host_writes > 0).then(|| programs as f64 / did.host_writes as f64)
    }

    /// What was measured since the statistics began.
    pub(crate) fn finish(mut self) -> Measured {
        let settling = self.series.finish(self.layer.inspect().counters());
        let recorded = self.recorder.take().map(|recorder| {
            let (samples, victims) = recorder.finish();
            let (writes, reads) = (self.writes.quantiles(), self.reads.quantiles());
            Recorded { samples, victims, writes, reads }
        });
        let since = |time: u64| time.saturating_sub(self.start_ns);
        Measured {
            settling,
            passes: None,
            recorded,
            requests: self.requests,
            flushes: self.flushes,
            bytes_written: self.bytes_written,
            elapsed_ns: since(self.done_ns),
            last_arrival_ns: self.arrivals.then_some(since(self.last_arrival)),
            application: self.application(),
            predictions: self.predictions,
            write: self.writes.times(),
            read: self.reads.times(),
        }
    }

    /// Serves requests until there are no more, or this many were served; gives how many.
    fn serve_all(
        &mut self,
        extents: &mut Extents,
        most: u64,
        progress: &Progress,
    ) -> Result<u64, SimError> {
        let mut due = most;
        // A recorder looks after every request; without one the batch is served whole.
        let stride = if self.recorder.is_some() { 1 } else { u64::MAX };
        // Moved out while it is served.
        let mut batch = std::mem::take(&mut self.batch);
        while due > 0 {
            if self.at == batch.extents.len() {
                extents.next_batch(&mut batch)?;
                self.at = 0;
                if batch.extents.is_empty() {
                    break;
                }
                if batch.begins_pass {
                    self.series.pass(self.layer.inspect().counters());
                }
                if let Some(ahead) = self.layer.ahead() {
                    announce(ahead, &batch.extents);
                }
            }
            if self.faults.any() {
                return Err(stopped());
            }
            if progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
            let before = self.pages_written;
            let left = (batch.extents.len() - self.at) as u64;
            let watched = self.watch.map_or(u64::MAX, |watch| watch.stride(before).max(1) as u64);
            let count = due.min(left).min(stride).min(watched).min(self.series.due()) as usize;
            let done = match (self.page.is_empty(), self.in_line) {
                (true, true) => self.batch::<true>(&batch.extents[self.at..self.at + count]),
                (true, false) => self.batch::<false>(&batch.extents[self.at..self.at + count]),
                (false, true) => self.known_batch::<true>(&batch, count),
                (false, false) => self.known_batch::<false>(&batch, count),
            };
            match done {
                // A worn-out device has an end of its own, which is a result.
                Err(SimError::Failed(_)) if self.layer.inspect().counters().retired > 0 => break,
                done => done?,
            }
            progress.advance(self.pages_written - before);
            if let Some(recorder) = &mut self.recorder {
                recorder.note(self.layer.inspect().counters());
            }
            self.series.note(count as u64, self.layer.inspect().counters());
            self.at += count;
            due -= count as u64;
            self.look();
        }
        self.batch = batch;
        Ok(most - due)
    }

    /// Shows itself to who looks on.
    fn look(&self) {
        let Some(watch) = self.watch else { return };
        let elapsed = if self.in_line { self.busy } else { self.done_ns };
        watch.look(&Look {
            inspect: self.layer.inspect(),
            geometry: self.layer.chip().geometry(),
            counters: self.layer.inspect().counters().since(&self.before),
            requests: self.requests,
            elapsed_ns: elapsed.saturating_sub(self.start_ns),
            writes: &self.writes,
        });
    }

    /// The last request is answered.
    fn end(&mut self) {
        self.close_answer();
        if self.in_line {
            self.done_ns = self.busy;
        }
    }

    /// A batch of which it is known in part what is written.
    fn known_batch<const IN_LINE: bool>(
        &mut self,
        batch: &Batch,
        count: usize,
    ) -> Result<(), SimError> {
        let extents = &batch.extents[self.at..self.at + count];
        for (i, extent) in extents.iter().enumerate() {
            let known = batch.known.of(self.at + i);
            let done = self.open::<IN_LINE>(extent).and_then(|()| match (extent.op, known) {
                (Op::Write, known) => self.write_known::<IN_LINE>(extent, known),
                _ => self.ask(extent),
            });
            if let Err(e) = done {
                self.count(&extents[..=i]);
                return Err(e);
            }
            self.close::<IN_LINE>();
        }
        self.count(extents);
        Ok(())
    }

    /// Writes pages with the bytes that are known: a page covered in part keeps the rest of its old
    /// content. Of pages that nobody knows anything of, no content is given.
    fn write_known<const IN_LINE: bool>(
        &mut self,
        extent: &Extent,
        known: Option<(usize, &[u8])>,
    ) -> Result<(), SimError> {
        let mut page = std::mem::take(&mut self.page);
        let size = page.len();
        let (skip, bytes) = known.unwrap_or_default();
        for i in 0..extent.pages {
            let lpn = Lpn(extent.first + i);
            // The known bytes that fall into this page.
            let start = i as usize * size;
            let from = start.max(skip);
            let to = (start + size).min(skip + bytes.len()).max(from);
            let whole = to - from == size;
            let partial =
                extent.partial_head && i == 0 || extent.partial_tail && i + 1 == extent.pages;
            page.fill(0);
            if partial || !whole && to > from {
                self.layer.read(lpn, &mut page).map_err(|e| self.error(e))?;
            }
            if to > from {
                page[from - start..to - start].copy_from_slice(&bytes[from - skip..to - skip]);
            }
            let nothing_known = to == from && page.iter().all(|byte| *byte == 0);
            let data = if nothing_known { &[][..] } else { &page[..] };
            self.now = self.time_of::<IN_LINE>(extent, i);
            self.layer.write(lpn, data, self.now).map_err(|e| self.error(e))?;
        }
        self.page = page;
        self.pages_written += u64::from(extent.pages);
        self.bytes_written += extent.bytes;
        Ok(())
    }

    // Not inlined: the loop wants all the registers. Compiled for either kind of time: served in line, a
    // request needs little of what the others do.
    #[inline(never)]
    fn batch<const IN_LINE: bool>(&mut self, batch: &[Extent]) -> Result<(), SimError> {
        for extent in &batch[..AHEAD.min(batch.len())] {
            self.layer.prefetch(Lpn(extent.first));
        }
        let mut at = 0;
        // Requests from `at` on that write a page each.
        let mut alike = 0;
        while at < batch.len() {
            if IN_LINE && self.log.is_none() {
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
                        self.count(&batch[..=at + done]);
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
                self.count(&batch[..=at]);
                return Err(e);
            }
            at += 1;
        }
        self.count(batch);
        Ok(())
    }

    /// Serves up to `count` requests in line that write a page each, one after another. Returns how many;
    /// after an error the next one was taken up.
    #[inline(always)]
    fn write_alike(&mut self, batch: &[Extent], count: usize) -> Result<usize, (usize, SimError)> {
        if count == 0 {
            return Ok(0);
        }
        let page = |i: usize| batch.get(i).map(|extent| Lpn(extent.first));
        let done = self.layer.write_run(count, page, self.busy, self.program_ns);
        let (Ok(written) | Err((written, _))) = done;
        if written > 0 {
            self.record::<true>();
            // All but the last took the time of a program.
            let begin = self.busy + (written as u64 - 1) * self.program_ns;
            self.busy = if done.is_ok() { self.busy_ns() } else { begin + self.program_ns };
            self.writes.record_n(self.program_ns, written as u64 - 1);
            self.now = begin;
            self.answer = Answer { op: Op::Write, arrival: begin, begin, end: self.busy };
            self.pages_written += written as u64;
            self.bytes_written += batch[..written].iter().map(|extent| extent.bytes).sum::<u64>();
        }
        done.map_err(|(written, e)| {
            self.next_in_line(&batch[written]);
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

    /// A request is taken up, unless this is the rest of one.
    #[inline(always)]
    fn open<const IN_LINE: bool>(&mut self, extent: &Extent) -> Result<(), SimError> {
        if IN_LINE {
            self.next_in_line(extent);
        } else if !extent.continued {
            self.open_answer(extent)?;
        }
        Ok(())
    }

    /// What is no write.
    #[inline(always)]
    fn ask(&mut self, extent: &Extent) -> Result<(), SimError> {
        match extent.op {
            Op::Read => {
                for lpn in (extent.first..extent.first + extent.pages).map(Lpn) {
                    self.layer.read(lpn, &mut []).map_err(|e| self.error(e))?;
                }
            }
            Op::Trim if self.ignores_trims => {}
            Op::Trim => {
                for lpn in (extent.first..extent.first + extent.pages).map(Lpn) {
                    self.layer.trim(lpn, self.now).map_err(|e| self.error(e))?;
                }
            }
            Op::Flush => self.flushes += 1,
            Op::Write => {}
        }
        Ok(())
    }

    /// An extent was done.
    #[inline(always)]
    fn close<const IN_LINE: bool>(&mut self) {
        if IN_LINE {
            self.busy = self.busy_ns();
            self.answer.end = self.busy;
        } else {
            self.extend_answer();
        }
    }

    /// Counts what was asked for; a device that wears out ends amid a batch.
    fn count(&mut self, batch: &[Extent]) {
        let last = batch.iter().map(|e| e.time_ns).max().unwrap_or(0);
        self.last_arrival = self.last_arrival.max(last.saturating_add(self.shift));
        self.requests += batch.iter().filter(|extent| !extent.continued).count() as u64;
    }

    #[inline(always)]
    fn write<const IN_LINE: bool>(&mut self, extent: &Extent) -> Result<(), SimError> {
        let cut = extent.partial_head | extent.partial_tail;
        let mut first = 0;
        while IN_LINE && !cut && first + 1 < extent.pages {
            let page = |i: usize| {
                let i = first as usize + i;
                (i < extent.pages as usize).then(|| Lpn(extent.first + i as u32))
            };
            let (count, now) = ((extent.pages - first) as usize, self.busy_ns());
            let done = self.layer.write_run(count, page, now, self.program_ns);
            match done.map_err(|(_, e)| self.error(e))? {
                0 => break,
                written => first += written as u32,
            }
        }
        for i in first..extent.pages {
            let lpn = Lpn(extent.first + i);
            // What follows the first pages of a long request was not asked for with its first page.
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
            self.now = self.time_of::<IN_LINE>(extent, i);
            self.layer.write(lpn, &[], self.now).map_err(|e| self.error(e))?;
        }
        self.pages_written += u64::from(extent.pages);
        self.bytes_written += extent.bytes;
        Ok(())
    }

    /// When a page of an extent is written: each has a time of its own, so that ages order pages of
    /// one request.
    #[inline(always)]
    fn time_of<const IN_LINE: bool>(&self, extent: &Extent, page: u32) -> u64 {
        match (self.arrivals, page) {
            (_, 0) if IN_LINE => self.now,
            (_, _) if IN_LINE => self.busy_ns(),
            (true, _) => self.now + 1,
            (false, 0) if !extent.continued => self.now,
            (false, _) => self.device_time(),
        }
    }

    /// Time the chip worked since the start of the run, in nanoseconds.
    #[inline(always)]
    fn busy_ns(&self) -> u64 {
        self.layer.chip().busy_ns() - self.started
    }

    /// The device's own time, between the pages of a request.
    #[inline(always)]
    fn device_time(&self) -> u64 {
        match self.layer.chip().clock() {
            None => self.busy_ns(),
            Some(clock) => clock.ready().max(self.now + 1),
        }
    }

    /// In line, a request comes when the last has ended, and what it took is its response time.
    #[inline(always)]
    fn next_in_line(&mut self, extent: &Extent) {
        self.now = self.busy;
        if !extent.continued {
            self.record::<true>();
            let now = self.busy;
            self.answer = Answer { op: extent.op, arrival: now, begin: now, end: now };
        }
    }

    /// The last request is complete, and another one is taken up.
    #[inline(always)]
    fn open_answer(&mut self, extent: &Extent) -> Result<(), SimError> {
        self.close_answer();
        let arrival = if self.arrivals {
            let arrival = extent.time_ns.saturating_add(self.shift);
            if self.idle.is_some() {
                self.clean_until(arrival)?;
            }
            self.now = self.now.max(arrival);
            arrival
        } else {
            0
        };
        let begin = self.queue.take_up(arrival);
        if let Some(clock) = self.layer.chip_mut().clock_mut() {
            clock.begin(begin);
            if !self.arrivals {
                self.now = self.now.max(clock.ready());
            }
        } else if !self.arrivals {
            self.now = self.busy;
        }
        // On the device's own clock a request comes when there is room for it.
        let arrival = if self.arrivals { arrival } else { begin };
        self.answer = Answer { op: extent.op, arrival, begin, end: begin };
        Ok(())
    }

    /// An extent of the request was done.
    #[inline(always)]
    fn extend_answer(&mut self) {
        self.answer.end = match self.layer.chip().clock() {
            Some(clock) => clock.answered(),
            None => {
                // One after another: what the chip did for this extent comes after all before.
                let busy = self.busy_ns();
                self.done_ns = self.done_ns.max(self.answer.begin) + (busy - self.busy);
                self.busy = busy;
                self.done_ns
            }
        };
        self.done_ns = self.done_ns.max(self.answer.end);
    }

    #[inline(always)]
    fn close_answer(&mut self) {
        self.record::<false>();
        self.queue.until(self.answer.end);
    }

    #[inline(always)]
    fn record<const IN_LINE: bool>(&mut self) {
        let Answer { op, arrival, end, .. } = self.answer;
        let response = end - arrival;
        match op {
            Op::Write => self.writes.record(response),
            Op::Read => self.reads.record(response),
            Op::Trim | Op::Flush => {}
        }
        if !IN_LINE || self.log.is_some() {
            self.record_delay();
        }
    }

    /// What the device took for the request, and not for those before it.
    fn record_delay(&mut self) {
        let Answer { op, arrival, end, .. } = self.answer;
        let from = arrival.max(self.answered_ns);
        self.answered_ns = self.answered_ns.max(end);
        let delay = end.saturating_sub(from);
        match op {
            Op::Write => self.write_delay_ns += u128::from(delay),
            Op::Read => self.read_delay_ns += u128::from(delay),
            Op::Trim | Op::Flush => return,
        }
        if let Some(log) = self.log {
            log.note(&RequestDelay {
                arrival_ns: arrival.saturating_sub(self.start_ns),
                op,
                response_ns: end - arrival,
                delay_ns: delay,
            });
        }
    }

    /// Sums over all reads and writes. In line requests wait for nobody, and every delay is a
    /// response time.
    fn application(&self) -> Application {
        let (writes, reads) = (self.writes.sum(), self.reads.sum());
        let (write_delay, read_delay) = match self.in_line {
            true => (writes, reads),
            false => (self.write_delay_ns, self.read_delay_ns),
        };
        Application {
            response_ns: writes + reads,
            delay_ns: write_delay + read_delay,
            write_delay_ns: write_delay,
        }
    }

    /// Does between the last request and this one what the idle policy wants done.
    fn clean_until(&mut self, arrival: u64) -> Result<(), SimError> {
        let Some(idle) = &mut self.idle else { return Ok(()) };
        let leisure = idle.leisure(self.idle_step);
        let last = self.last_gap_from.replace(arrival);
        if let (Some(last), Some(predicted)) = (last, idle.predicted(self.idle_step)) {
            self.predictions.note(predicted, arrival.saturating_sub(last), self.idle_step);
        }
        idle.arrived(arrival);
        let mut steps = leisure.steps;
        let quiet = match self.layer.chip().clock() {
            Some(clock) => clock.quiet().max(self.done_ns),
            None => self.done_ns,
        };
        let mut from = quiet.saturating_add(leisure.after);
        while steps > 0 && (from < arrival || !leisure.yields) {
            steps -= 1;
            self.now = self.now.max(from);
            if let Some(clock) = self.layer.chip_mut().clock_mut() {
                clock.begin(from);
            }
            if !self.layer.upkeep().clean_in_idle_time(self.now).map_err(|e| self.error(e))? {
                break;
            }
            from = match self.layer.chip().clock() {
                Some(clock) => clock.quiet(),
                None => {
                    let busy = self.busy_ns();
                    self.done_ns = from + (busy - self.busy);
                    self.busy = busy;
                    self.done_ns
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

/// The end of a run whose policy failed; the caller reports the failure itself.
pub(crate) fn stopped() -> SimError {
    SimError::Failed("its policy failed".into())
}

/// Says which pages the host will write.
fn announce(ahead: &mut dyn Ahead, extents: &[Extent]) {
    let writes = extents.iter().filter(|extent| extent.op == Op::Write);
    let pages = |extent: &Extent| extent.first..extent.first + extent.pages;
    ahead.coming(&mut writes.flat_map(pages).map(Lpn));
}
