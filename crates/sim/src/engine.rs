//! The loop: extents in, page operations on the layer, response times out.
//!
//! Two clocks. On the *device's own* a request starts when the last has ended, and policies see the
//! device's time. With *arrivals* a request waits for its arrival and for those before it; policies
//! see arrival times, as in the papers' simulator, where cleaning takes no time of its own.

use thermocline_flash::{CountingChip, Lpn, Timing};
use thermocline_ftl::Layer;
use thermocline_trace::Op;

use crate::{
    Progress, SimError,
    input::{Extent, Extents},
    metrics::{ResponseTimes, Responses},
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
    /// Chip time at the start of the run.
    started: u64,
    /// Chip time since then, after the last request.
    busy: u64,
    /// When the device is done with everything so far.
    done_ns: u64,
    last_arrival: u64,
    /// The time policies see; never falls.
    now: u64,
    writes: Responses,
    reads: Responses,
    requests: u64,
    flushes: u64,
    pages_written: u64,
    bytes_written: u64,
}

impl<'a, L: Layer<Chip = CountingChip>> Engine<'a, L> {
    pub(crate) fn new(layer: &'a mut L, timing: Timing, arrivals: bool) -> Self {
        let started = layer.chip().counts().time_ns(&timing);
        Self {
            layer,
            timing,
            arrivals,
            started,
            busy: 0,
            done_ns: 0,
            last_arrival: 0,
            now: 0,
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
            if self.arrivals {
                self.now = self.now.max(extent.time_ns);
            }
            match extent.op {
                Op::Write => self.write(extent)?,
                Op::Read => {
                    for lpn in (extent.first..extent.first + extent.pages).map(Lpn) {
                        self.layer.read(lpn).map_err(|e| self.error(e))?;
                    }
                }
                Op::Trim => {
                    for lpn in (extent.first..extent.first + extent.pages).map(Lpn) {
                        self.layer.trim(lpn, self.now).map_err(|e| self.error(e))?;
                    }
                }
                Op::Flush => self.flushes += 1,
            }
            self.answer(extent);
        }
        self.last_arrival = batch.iter().map(|e| e.time_ns).fold(self.last_arrival, u64::max);
        self.requests += batch.iter().filter(|extent| !extent.continued).count() as u64;
        Ok(())
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
                self.layer.read(lpn).map_err(|e| self.error(e))?;
            }
            // Every page has a time of its own, so that ages order pages of one request.
            self.now = match (self.arrivals, i) {
                (true, _) => self.now + 1,
                (false, 0) => self.busy,
                (false, _) => self.busy_ns(),
            };
            self.layer.write(lpn, self.now).map_err(|e| self.error(e))?;
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

    #[inline(always)]
    fn answer(&mut self, extent: &Extent) {
        let busy = self.busy_ns();
        let service = busy - self.busy;
        self.busy = busy;
        let arrival = if self.arrivals { extent.time_ns } else { self.done_ns };
        self.done_ns = self.done_ns.max(arrival) + service;
        let response = self.done_ns - arrival;
        match extent.op {
            Op::Write => self.writes.record(response),
            Op::Read => self.reads.record(response),
            Op::Trim | Op::Flush => {}
        }
    }

    #[cold]
    fn error(&self, error: thermocline_ftl::FtlError) -> SimError {
        SimError::of_layer(error, self.layer.counters().retired)
    }
}
