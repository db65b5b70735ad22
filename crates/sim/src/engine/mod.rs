//! The main loop: takes extents, performs page operations on the layer, and measures response
//! times.
//!
//! There are two clocks. On the *device's own* clock a request starts when the last has ended, and
//! policies see the device's time. With *arrivals* a request waits for its arrival and for those
//! before it. Policies then see arrival times, as in the papers' simulator, where cleaning takes no
//! time.
//!
//! A chip with a [`Clock`](thermocline_flash::Clock) gives the completion of each page. Without
//! one, operations do not overlap, and their counts give the time.

mod drive;
mod host;

use thermocline_assembly::policy::Faults;
use thermocline_flash::{Flash, Lpn, Passed};
use thermocline_ftl::Counters;
use thermocline_policy::placement::Ahead;
use thermocline_trace::Op;

use self::{drive::Drive, host::Host};
pub(crate) use self::{
    drive::Driven,
    host::{Answer, Application},
};
use crate::{
    Look, Progress, SimError, Watch,
    history::{Quantile, Recorder, Sample},
    input::{Batch, Extent, Extents},
    job::Job,
    predictions::Predictions,
    result::ResponseTimes,
    settling::{Series, Settling},
    setup::Setup,
};

/// Host requests and their response times.
pub(crate) struct Measured {
    pub requests: u64,
    pub flushes: u64,
    pub bytes_written: u64,
    pub write: ResponseTimes,
    pub read: ResponseTimes,
    pub application: Application,
    pub elapsed_ns: u64,
    /// The part of it that went to requests from before the statistics.
    pub late_ns: u64,
    /// How often reads were served first, where they are.
    pub passed: Option<Passed>,
    /// Accuracy of the idle policy's predictions.
    pub predictions: Predictions,
    /// The last arrival, with arrivals.
    pub last_arrival_ns: Option<u64>,
    /// The last two stretches of the run.
    pub settling: Option<Settling>,
    /// Number of passes until the input settled, if requested.
    pub passes: Option<u32>,
    /// Recorded data for charts, if requested.
    pub recorded: Option<Recorded>,
}

/// Recorded data for charts.
pub(crate) struct Recorded {
    pub samples: Vec<Sample>,
    pub victims: Vec<u64>,
    pub writes: Vec<Quantile>,
    pub reads: Vec<Quantile>,
}

/// Feeds requests to a layer.
pub(crate) struct Engine<'a> {
    layer: &'a mut dyn Driven,
    host: Host<'a>,
    /// Buffer for a page, if contents are known.
    page: Vec<u8>,
    recorder: Option<Recorder>,
    series: Series,
    watch: Option<&'a dyn Watch>,
    faults: &'a Faults,
    /// The layer's counters at the start of the statistics.
    before: Counters,
    passed_before: Option<Passed>,
    /// The current batch, and how many of its extents were served.
    batch: Batch,
    at: usize,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(
        layer: &'a mut dyn Driven,
        job: &Job<'a>,
        setup: &'a Setup,
    ) -> Result<Self, SimError> {
        let profile = &setup.plan.device.profile;
        let started = layer.chip().busy_ns();
        if let Some(clock) = layer.chip_mut().clock_mut() {
            clock.restart();
        }
        let clock = layer.chip().clock().is_some();
        let idle_step = layer.upkeep().idle_step_ns(&profile.timing);
        let page_size = profile.geometry.page_size as usize;
        Ok(Self {
            layer,
            host: Host::new(job, setup, clock, started, idle_step)?,
            page: vec![0; if setup.keeps_contents { page_size } else { 0 }],
            recorder: job.history.then(|| Recorder::new(profile.geometry.data_pages_per_block())),
            series: Series::begin(&Counters::default()),
            watch: None,
            faults: &setup.plan.faults,
            before: Counters::default(),
            passed_before: None,
            batch: Batch::default(),
            at: 0,
        })
    }

    pub(crate) const fn layer(&self) -> &dyn Driven {
        self.layer
    }

    /// Serves this many requests that prepare the device, continues until the host has written this
    /// many pages, and discards the measurements.
    pub(crate) fn prepare(
        &mut self,
        extents: &mut Extents,
        requests: u64,
        pages: u64,
        progress: &Progress,
    ) -> Result<(), SimError> {
        let log = self.host.log.take();
        self.serve_all(extents, requests, progress)?;
        self.end();
        // On the device's clock, arrivals are not used.
        if self.host.arrivals {
            self.host.shift = self.host.done_ns.saturating_sub(self.host.last_arrival);
            self.host.last_arrival = self.host.last_arrival.saturating_add(self.host.shift);
        }
        // The warm-up is part of the input, so the next request does not wait for its end.
        if pages > 0 {
            self.warm_up(extents, pages, progress)?;
            self.end();
        }
        self.host.log = log;
        self.begin();
        Ok(())
    }

    /// Starts the statistics.
    fn begin(&mut self) {
        self.host.begin();
        self.layer.upkeep().begin_statistics();
        let counters = self.layer.inspect().counters();
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(counters);
        }
        self.series = Series::begin(counters);
        self.before = *counters;
        self.passed_before = self.passed();
    }

    /// Serves requests until the host has written this many pages.
    fn warm_up(
        &mut self,
        extents: &mut Extents,
        pages: u64,
        progress: &Progress,
    ) -> Result<(), SimError> {
        let from = self.host.pages_written;
        while self.host.pages_written - from < pages {
            // One request at a time, so that none too many is served.
            if self.serve_all(extents, 1, progress)? == 0 {
                return Err(SimError::Usage(format!(
                    "the input ends within the warm-up, after {} of {pages} pages; give a longer input or \
                     a shorter warm-up",
                    self.host.pages_written - from
                )));
            }
        }
        Ok(())
    }

    /// Serves the measured requests.
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

    /// Begins another pass over the input, and restarts the statistics.
    pub(crate) fn run_again(&mut self, extents: &mut Extents) -> Result<(), SimError> {
        let gap = extents.begin_again()?;
        if self.host.arrivals {
            self.host.last_arrival = self.host.last_arrival.saturating_add(gap);
            self.host.shift = self.host.last_arrival;
        }
        self.begin();
        Ok(())
    }

    /// How often reads were served first so far.
    fn passed(&self) -> Option<Passed> {
        Some(self.layer.chip().clock()?.schedule()?.passed())
    }

    /// Page programs per page written since the statistics began.
    pub(crate) fn write_amplification(&self) -> Option<f64> {
        let did = self.layer.inspect().counters().since(&self.before);
        (did.host_writes > 0).then(|| did.programs() as f64 / did.host_writes as f64)
    }

    /// The measurements since the statistics began.
    pub(crate) fn finish(mut self) -> Measured {
        let settling = self.series.finish(self.layer.inspect().counters());
        let recorded = self.recorder.take().map(|recorder| {
            let (samples, victims) = recorder.finish();
            let (writes, reads) = (self.host.writes.quantiles(), self.host.reads.quantiles());
            Recorded { samples, victims, writes, reads }
        });
        let since = |time: u64| time.saturating_sub(self.host.start_ns);
        Measured {
            settling,
            passes: None,
            recorded,
            requests: self.host.requests,
            flushes: self.host.flushes,
            bytes_written: self.host.bytes_written,
            elapsed_ns: since(self.host.done_ns),
            late_ns: self.host.late_ns,
            last_arrival_ns: self.host.arrivals.then_some(since(self.host.last_arrival)),
            application: self.host.application(),
            passed: self.passed().zip(self.passed_before).map(|(now, then)| now.since(&then)),
            predictions: self.host.predictions,
            write: self.host.writes.times(),
            read: self.host.reads.times(),
        }
    }

    /// Serves requests until there are no more or this many were served. Returns how many.
    fn serve_all(
        &mut self,
        extents: &mut Extents,
        most: u64,
        progress: &Progress,
    ) -> Result<u64, SimError> {
        let mut due = most;
        // A recorder runs after every request. Without one, the whole batch is served.
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
            let before = self.host.pages_written;
            let left = (batch.extents.len() - self.at) as u64;
            let watched = self.watch.map_or(u64::MAX, |watch| watch.stride(before).max(1) as u64);
            let count = due.min(left).min(stride).min(watched).min(self.series.due()) as usize;
            let done = self.serve(&batch, count);
            match done {
                // The end of a worn-out device is a result, not an error.
                Err(SimError::Failed(_)) if self.layer.inspect().counters().retired > 0 => break,
                done => done?,
            }
            progress.advance(self.host.pages_written - before);
            if let Some(recorder) = &mut self.recorder {
                let end = if self.host.in_line { self.host.busy } else { self.host.done_ns };
                let elapsed = end.saturating_sub(self.host.start_ns);
                recorder.note(self.layer.inspect().counters(), elapsed);
            }
            self.series.note(count as u64, self.layer.inspect().counters());
            self.at += count;
            due -= count as u64;
            self.look();
        }
        self.batch = batch;
        Ok(most - due)
    }

    /// Serves this many requests of a batch.
    fn serve(&mut self, batch: &Batch, count: usize) -> Result<(), SimError> {
        let some = (self.at, count);
        if self.page.is_empty() {
            return self.layer.serve(&mut self.host, &batch.extents[self.at..][..count]);
        }
        let in_line = self.host.in_line;
        let mut drive = Drive { layer: &mut *self.layer, host: &mut self.host };
        if in_line {
            drive.known_batch::<true>(batch, some, &mut self.page)
        } else {
            drive.known_batch::<false>(batch, some, &mut self.page)
        }
    }

    /// Calls the observer.
    fn look(&self) {
        let Some(watch) = self.watch else { return };
        let elapsed = if self.host.in_line { self.host.busy } else { self.host.done_ns };
        watch.look(&Look {
            inspect: self.layer.inspect(),
            geometry: self.layer.chip().geometry(),
            counters: self.layer.inspect().counters().since(&self.before),
            requests: self.host.requests,
            elapsed_ns: elapsed.saturating_sub(self.host.start_ns),
            writes: &self.host.writes,
        });
    }

    /// Completes the last request.
    fn end(&mut self) {
        Drive { layer: &mut *self.layer, host: &mut self.host }.finish();
        if self.host.in_line {
            self.host.done_ns = self.host.busy;
        }
    }
}

/// The error that ends a run whose policy failed. The caller reports the failure itself.
pub(crate) fn stopped() -> SimError {
    SimError::Failed("its policy failed".into())
}

/// Announces the pages that the host will write, and their hints.
fn announce(ahead: &mut dyn Ahead, extents: &[Extent]) {
    let writes = extents.iter().filter(|extent| extent.op == Op::Write);
    let pages = |extent: &Extent| {
        let hint = extent.hint;
        (extent.first..extent.first + extent.pages).map(move |page| (Lpn(page), hint))
    };
    ahead.coming(&mut writes.flat_map(pages));
}
