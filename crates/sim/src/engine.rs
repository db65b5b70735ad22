//! The loop: extents in, page operations on the layer, response times out.
//!
//! Two clocks. On the *device's own* a request starts when the last has ended, and policies see the
//! device's time. With *arrivals* a request waits for its arrival and for those before it; policies
//! see arrival times, as in the papers' simulator, where cleaning takes no time of its own.
//!
//! A chip with a [`Clock`](thermocline_flash::Clock) says itself when each page is done. Without
//! one its operations follow one another, and their counts tell the time.

use std::{cmp::Reverse, collections::BinaryHeap};

use thermocline_flash::{CountingChip, Lpn, Timing};
use thermocline_ftl::Layer;
use thermocline_trace::Op;

use crate::{
    Progress, SimError,
    input::{Extent, Extents},
    job::{Clock, Job},
    metrics::{ResponseTimes, Responses},
    setup::Setup,
};

/// How far ahead table entries are asked for, and those that depend on them: in requests, and in
/// pages within a long one.
const AHEAD: usize = 24;
const AHEAD_MORE: usize = 12;

/// What the host asked and how long it waited.
pub(crate) struct Measured {
    pub requests: u64,
    pub flushes: u64,
    pub bytes_written: u64,
    pub write: ResponseTimes,
    pub read: ResponseTimes,
    pub elapsed_ns: u64,
    /// The last arrival, where requests arrive.
    pub last_arrival_ns: Option<u64>,
}

pub(crate) struct Engine<'a, L> {
    layer: &'a mut L,
    timing: Timing,
    arrivals: bool,
    /// Whether requests are served one by one without a pause: no arrivals, no queue, no overlap.
    in_line: bool,
    idle: Option<u64>,
    queue: Queue,
    /// Chip time at the start of the run.
    started: u64,
    /// Chip time since then, after the last request; where operations follow one another.
    busy: u64,
    /// When the device is done with everything the host asked so far.
    done_ns: u64,
    last_arrival: u64,
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

/// The ends of the requests that the device works on, where it takes only so many at once.
struct Queue {
    depth: Option<usize>,
    /// Where it takes one at a time, the end of that; else the ends of all.
    last: u64,
    ends: BinaryHeap<Reverse<u64>>,
}

impl Queue {
    /// When a request that comes at `time` is taken up.
    #[inline]
    fn take_up(&mut self, time: u64) -> u64 {
        match self.depth {
            Some(1) => self.last.max(time),
            Some(depth) if self.ends.len() >= depth => {
                let Reverse(first) = self.ends.pop().expect("a queue is at least one deep");
                first.max(time)
            }
            _ => time,
        }
    }

    #[inline]
    fn until(&mut self, end: u64) {
        match self.depth {
            Some(1) => self.last = end,
            Some(_) => self.ends.push(Reverse(end)),
            None => {}
        }
    }
}

impl<'a, L: Layer<Chip = CountingChip>> Engine<'a, L> {
    pub(crate) fn new(layer: &'a mut L, job: &Job<'_>, setup: &Setup) -> Self {
        let timing = setup.device.profile.timing;
        let arrivals = setup.clock == Clock::Arrivals;
        let started = layer.chip().counts().time_ns(&timing);
        if let Some(clock) = layer.chip_mut().clock_mut() {
            clock.restart();
        }
        let depth = job.queue_depth.or((!arrivals).then_some(1)).map(|depth| depth as usize);
        let clock = layer.chip().clock().is_some();
        Self {
            layer,
            timing,
            arrivals,
            in_line: !arrivals && !clock && depth == Some(1),
            idle: job.idle.as_ref().filter(|_| arrivals).map(|idle| idle.after.0),
            queue: Queue { depth, last: 0, ends: BinaryHeap::new() },
            started,
            busy: 0,
            done_ns: 0,
            last_arrival: 0,
            now: 0,
            answer: Answer { op: Op::Flush, arrival: 0, begin: 0, end: 0 },
            writes: Responses::new(),
            reads: Responses::new(),
            requests: 0,
            flushes: 0,
            pages_written: 0,
            bytes_written: 0,
        }
    }

    pub(crate) fn run(
        mut self,
        mut extents: Extents,
        progress: &Progress,
    ) -> Result<Measured, SimError> {
        let mut batch = Vec::new();
        loop {
            extents.next_batch(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            if progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
            let before = self.pages_written;
            match self.batch(&batch) {
                // A worn-out device has an end of its own, which is a result.
                Err(SimError::Failed(_)) if self.layer.counters().retired > 0 => break,
                done => done?,
            }
            progress.advance(self.pages_written - before);
        }
        self.close_answer();
        if self.in_line {
            self.done_ns = self.busy;
        }
        Ok(Measured {
            requests: self.requests,
            flushes: self.flushes,
            bytes_written: self.bytes_written,
            write: self.writes.times(),
            read: self.reads.times(),
            elapsed_ns: self.done_ns,
            last_arrival_ns: self.arrivals.then_some(self.last_arrival),
        })
    }

    // Not inlined: the loop wants all the registers.
    #[inline(never)]
    fn batch(&mut self, batch: &[Extent]) -> Result<(), SimError> {
        for extent in &batch[..AHEAD.min(batch.len())] {
            self.layer.prefetch(Lpn(extent.first));
        }
        for (i, extent) in batch.iter().enumerate() {
            if let Some(next) = batch.get(i + AHEAD) {
                self.layer.prefetch(Lpn(next.first));
            }
            if let Some(next) = batch.get(i + AHEAD_MORE) {
                self.layer.prefetch_more(Lpn(next.first));
            }
            if let Err(e) = self.serve(extent) {
                self.count(&batch[..=i]);
                return Err(e);
            }
        }
        self.count(batch);
        Ok(())
    }

    #[inline(always)]
    fn serve(&mut self, extent: &Extent) -> Result<(), SimError> {
        if self.in_line {
            self.next_in_line(extent);
        } else if !extent.continued {
            self.open_answer(extent)?;
        }
        match extent.op {
            Op::Write => self.write(extent)?,
            Op::Read => {
                for lpn in (extent.first..extent.first + extent.pages).map(Lpn) {
                    self.layer.read(lpn, &mut []).map_err(|e| self.error(e))?;
                }
            }
            Op::Trim => {
                for lpn in (extent.first..extent.first + extent.pages).map(Lpn) {
                    self.layer.trim(lpn, self.now).map_err(|e| self.error(e))?;
                }
            }
            Op::Flush => self.flushes += 1,
        }
        if self.in_line {
            let busy = self.busy_ns();
            self.answer.end += busy - self.busy;
            self.busy = busy;
        } else {
            self.extend_answer();
        }
        Ok(())
    }

    /// Counts what was asked for; a device that wears out ends amid a batch.
    fn count(&mut self, batch: &[Extent]) {
        self.last_arrival = batch.iter().map(|e| e.time_ns).fold(self.last_arrival, u64::max);
        self.requests += batch.iter().filter(|extent| !extent.continued).count() as u64;
    }

    #[inline(always)]
    fn write(&mut self, extent: &Extent) -> Result<(), SimError> {
        for i in 0..extent.pages {
            let lpn = Lpn(extent.first + i);
            if i + (AHEAD as u32) < extent.pages {
                self.layer.prefetch(Lpn(lpn.0 + AHEAD as u32));
            }
            if i + (AHEAD_MORE as u32) < extent.pages {
                self.layer.prefetch_more(Lpn(lpn.0 + AHEAD_MORE as u32));
            }
            if extent.partial_head && i == 0 || extent.partial_tail && i + 1 == extent.pages {
                self.layer.read(lpn, &mut []).map_err(|e| self.error(e))?;
            }
            // Every page has a time of its own, so that ages order pages of one request.
            self.now = match (self.arrivals, i) {
                (true, _) => self.now + 1,
                (false, 0) if self.in_line || !extent.continued => self.now,
                (false, _) => self.device_time(),
            };
            self.layer.write(lpn, &[], self.now).map_err(|e| self.error(e))?;
        }
        self.pages_written += u64::from(extent.pages);
        self.bytes_written += extent.bytes;
        Ok(())
    }

    /// Time the chip worked since the start of the run, in nanoseconds.
    #[inline(always)]
    fn busy_ns(&self) -> u64 {
        self.layer.chip().counts().time_ns(&self.timing) - self.started
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
            self.record();
            self.answer = Answer { op: extent.op, arrival: 0, begin: 0, end: 0 };
        }
    }

    /// The last request is complete, and another one is taken up.
    #[inline(always)]
    fn open_answer(&mut self, extent: &Extent) -> Result<(), SimError> {
        self.close_answer();
        let arrival = if self.arrivals {
            if let Some(after) = self.idle {
                self.clean_until(extent.time_ns, after)?;
            }
            self.now = self.now.max(extent.time_ns);
            extent.time_ns
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
        self.record();
        self.queue.until(self.answer.end);
    }

    #[inline(always)]
    fn record(&mut self) {
        let Answer { op, arrival, end, .. } = self.answer;
        match op {
            Op::Write => self.writes.record(end - arrival),
            Op::Read => self.reads.record(end - arrival),
            Op::Trim | Op::Flush => {}
        }
    }

    /// Cleans ahead while the device is idle, until a request comes.
    fn clean_until(&mut self, arrival: u64, after: u64) -> Result<(), SimError> {
        let quiet = match self.layer.chip().clock() {
            Some(clock) => clock.quiet().max(self.done_ns),
            None => self.done_ns,
        };
        let mut from = quiet.saturating_add(after);
        while from < arrival {
            self.now = self.now.max(from);
            if let Some(clock) = self.layer.chip_mut().clock_mut() {
                clock.begin(from);
            }
            if !self.layer.clean_in_idle_time(self.now).map_err(|e| self.error(e))? {
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
    fn error(&self, error: thermocline_ftl::FtlError) -> SimError {
        SimError::of_layer(error, self.layer.counters().retired)
    }
}
