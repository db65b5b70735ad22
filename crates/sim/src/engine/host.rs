//! The host: its clocks, the request it waits for, and how long it waited for those before.

use thermocline_policy::{dead::DeadData, idle::Idle};
use thermocline_trace::Op;

use crate::{
    DelayLog, SimError,
    delays::RequestDelay,
    input::Extent,
    job::{Clock, Job},
    predictions::Predictions,
    queue::Queue,
    responses::Responses,
    setup::Setup,
};

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

/// A request, of whose extents some were done.
#[derive(Clone, Copy)]
pub(super) struct Answer {
    pub(super) op: Op,
    pub(super) arrival: u64,
    /// When the device took it up.
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// The host, as the engine sees it.
pub(crate) struct Host<'a> {
    pub(super) arrivals: bool,
    /// Whether requests are served one by one without a pause: no arrivals, no queue, no overlap.
    pub(super) in_line: bool,
    /// What a program takes on the chip.
    pub(super) program_ns: u64,
    pub(super) idle: Option<Box<dyn Idle>>,
    /// The longest step of that.
    pub(super) idle_step: u64,
    /// When the last request came, where an idle policy is asked.
    pub(super) last_gap_from: Option<u64>,
    pub(super) predictions: Predictions,
    pub(super) ignores_trims: bool,
    pub(super) log: Option<&'a DelayLog>,
    pub(super) queue: Queue,
    /// Chip time at the start of the run.
    pub(super) started: u64,
    /// Chip time since then, after the last request; where operations follow one another.
    pub(super) busy: u64,
    /// When the device is done with everything the host asked so far.
    pub(super) done_ns: u64,
    /// When the last request was answered.
    pub(super) answered_ns: u64,
    /// Where statistics begin.
    pub(super) start_ns: u64,
    /// How long the device was still busy then with what came before.
    pub(super) late_ns: u64,
    pub(super) last_arrival: u64,
    /// How much later requests come than the trace says: the host waits for what prepares the device.
    pub(super) shift: u64,
    /// The time policies see; never falls.
    pub(super) now: u64,
    /// The request that is being answered.
    pub(super) answer: Answer,
    pub(super) writes: Responses,
    pub(super) reads: Responses,
    pub(super) requests: u64,
    pub(super) flushes: u64,
    pub(super) pages_written: u64,
    pub(super) bytes_written: u64,
    pub(super) write_delay_ns: u128,
    pub(super) read_delay_ns: u128,
    /// Room for the pages of a request, each as an extent.
    pub(super) pages: Vec<Extent>,
}

impl<'a> Host<'a> {
    /// `started` is the time of the chip.
    pub(super) fn new(
        job: &Job<'a>,
        setup: &Setup,
        clock: bool,
        started: u64,
        idle_step: u64,
    ) -> Result<Self, SimError> {
        let arrivals = setup.clock == Clock::Arrivals;
        let depth = job.queue_depth.or((!arrivals).then_some(1)).map(|depth| depth as usize);
        Ok(Self {
            idle_step,
            arrivals,
            in_line: !arrivals && !clock && depth == Some(1),
            program_ns: setup.plan.device.profile.timing.program(),
            idle: job.policy.build_idle()?.filter(|_| arrivals),
            last_gap_from: None,
            predictions: Predictions::default(),
            ignores_trims: job.policy.build_dead_data()? == DeadData::None,
            log: job.delays,
            queue: Queue::new(depth),
            started,
            busy: 0,
            done_ns: 0,
            answered_ns: 0,
            start_ns: 0,
            late_ns: 0,
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
            pages: Vec::new(),
        })
    }

    /// Statistics begin here.
    pub(super) fn begin(&mut self) {
        (self.writes, self.reads) = (Responses::new(), Responses::new());
        (self.requests, self.flushes, self.pages_written, self.bytes_written) = (0, 0, 0, 0);
        (self.write_delay_ns, self.read_delay_ns) = (0, 0);
        self.predictions = Predictions::default();
        // A flush is not recorded: nothing is being answered.
        self.answer.op = Op::Flush;
        self.start_ns = if self.arrivals { self.last_arrival } else { self.done_ns };
        self.late_ns = self.done_ns.saturating_sub(self.start_ns);
    }

    /// Counts what was asked for; a device that wears out ends amid a batch.
    pub(super) fn count(&mut self, batch: &[Extent]) {
        let last = batch.iter().map(|e| e.time_ns).max().unwrap_or(0);
        self.last_arrival = self.last_arrival.max(last.saturating_add(self.shift));
        self.requests += batch.iter().filter(|extent| !extent.continued).count() as u64;
    }

    /// In line, a request comes when the last has ended, and what it took is its response time.
    #[inline(always)]
    pub(super) fn next_in_line(&mut self, extent: &Extent) {
        self.now = self.busy;
        if !extent.continued {
            self.record::<true>();
            let now = self.busy;
            self.answer = Answer { op: extent.op, arrival: now, begin: now, end: now };
        }
    }

    #[inline(always)]
    pub(super) fn close_answer(&mut self) {
        self.record::<false>();
        self.queue.until(self.answer.end);
    }

    #[inline(always)]
    pub(super) fn record<const IN_LINE: bool>(&mut self) {
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
    pub(super) fn application(&self) -> Application {
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
}
