//! The host: its clocks, the current request, and the response times of earlier ones.

use thermocline_flash::Schedule;
use thermocline_policy::{dead::DeadData, idle::Idle};
use thermocline_trace::Op;

use crate::{
    DelayLog, SimError,
    delays::RequestDelay,
    in_progress::InProgress,
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
    /// From arrival to completion.
    pub response_ns: u128,
    /// From arrival, or from the completion of the previous request if that is later, to
    /// completion: the device's time, including waits for cleaning in idle time.
    pub delay_ns: u128,
    /// The part of `delay_ns` for writes.
    pub write_delay_ns: u128,
}

/// A request in progress.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    pub(super) op: Op,
    pub(super) arrival: u64,
    /// When the device started it.
    pub(super) begin: u64,
    pub(crate) end: u64,
}

/// The host's state in the engine.
pub(crate) struct Host<'a> {
    pub(super) arrivals: bool,
    /// Whether requests are served one by one without a pause: no arrivals, no queue, no overlap.
    pub(super) in_line: bool,
    /// Duration of a program on the chip.
    pub(super) program_ns: u64,
    pub(super) idle: Option<Box<dyn Idle>>,
    /// Longest step of the idle policy.
    pub(super) idle_step: u64,
    /// Time of the last arrival, if there is an idle policy.
    pub(super) last_gap_from: Option<u64>,
    pub(super) predictions: Predictions,
    pub(super) ignores_trims: bool,
    /// Whether a flush of the host empties a write buffer.
    pub(super) buffers: bool,
    pub(super) log: Option<&'a DelayLog>,
    pub(super) queue: Queue,
    /// Replaces the queue where reads are served first.
    pub(super) in_progress: InProgress,
    /// Busy time of the chip at the start of the run.
    pub(super) started: u64,
    /// Busy time of the chip since then, after the last request; where operations do not overlap.
    pub(super) busy: u64,
    /// When the device has completed everything requested so far.
    pub(super) done_ns: u64,
    /// When the last request was answered.
    pub(super) answered_ns: u64,
    /// Start of the statistics.
    pub(super) start_ns: u64,
    /// How long the device was still busy with earlier work at the start of the statistics.
    pub(super) late_ns: u64,
    pub(super) last_arrival: u64,
    /// Delay of arrivals against the trace: the host waits for the preparation of the device.
    pub(super) shift: u64,
    /// The time passed to policies; never decreases.
    pub(super) now: u64,
    /// The request in progress.
    pub(super) answer: Answer,
    pub(super) writes: Responses,
    pub(super) reads: Responses,
    pub(super) requests: u64,
    pub(super) flushes: u64,
    pub(super) pages_written: u64,
    pub(super) bytes_written: u64,
    pub(super) write_delay_ns: u128,
    pub(super) read_delay_ns: u128,
    /// Buffer for the pages of a request, each as an extent.
    pub(super) pages: Vec<Extent>,
}

impl<'a> Host<'a> {
    /// `started` is the busy time of the chip.
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
            buffers: setup.plan.device.profile.write_buffer.is_some(),
            log: job.delays,
            queue: Queue::new(depth),
            in_progress: InProgress::default(),
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

    /// Starts the statistics.
    pub(super) fn begin(&mut self) {
        (self.writes, self.reads) = (Responses::new(), Responses::new());
        (self.requests, self.flushes, self.pages_written, self.bytes_written) = (0, 0, 0, 0);
        (self.write_delay_ns, self.read_delay_ns) = (0, 0);
        self.predictions = Predictions::default();
        // Flushes are not recorded, so this marks that no request is in progress.
        self.answer.op = Op::Flush;
        self.start_ns = if self.arrivals { self.last_arrival } else { self.done_ns };
        self.late_ns = self.done_ns.saturating_sub(self.start_ns);
    }

    /// Counts requests. A device that wears out ends within a batch.
    pub(super) fn count(&mut self, batch: &[Extent]) {
        let last = batch.iter().map(|e| e.time_ns).max().unwrap_or(0);
        self.last_arrival = self.last_arrival.max(last.saturating_add(self.shift));
        self.requests += batch.iter().filter(|extent| !extent.continued).count() as u64;
    }

    /// Starts a request in line: it arrives when the last has ended, and its service time is its
    /// response time.
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

    /// Records the end of operations of requests in progress.
    pub(super) fn collect(&mut self, schedule: &mut Schedule) {
        for (request, time) in schedule.ended() {
            self.in_progress.ended(request, time);
        }
        while let Some(answer) = self.in_progress.take() {
            self.answer = answer;
            self.done_ns = self.done_ns.max(answer.end);
            self.record::<false>();
        }
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

    /// Records the delay of the current request, without that of earlier ones.
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

    /// Sums over all reads and writes. In line, requests do not wait, so every delay equals the
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
