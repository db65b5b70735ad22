//! The clock of a controller that serves reads first.
//!
//! Each bank has two queues: *reads*, and *steps* (programs, copies, erases). An idle bank begins
//! its oldest read even if older steps wait. After [`ReadsFirst::most`] reads in a row it begins a
//! step. Thus a read waits for the operation that runs on its bank and for earlier reads, and each
//! step is put off by at most `most` reads.
//!
//! A chip that can suspend stops a program, a copy or an erase for a read. The operation continues
//! after the reads. Each suspension has a read to serve, so an operation is suspended at most
//! `most` times.
//!
//! Time advances only to the next request ([`Schedule::begin`]) or to the next end of a host
//! operation ([`Schedule::advance`]). So the order of the operations depends on nothing that
//! arrives later. A page whose program waits is in the controller's buffer; its read costs as much
//! as any other.

use alloc::{collections::VecDeque, vec, vec::Vec};

use crate::{Suspend, Timing};

/// How a controller serves reads first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadsFirst {
    /// Most reads that pass a step; at least 1.
    pub most: u32,
    /// Times to suspend an operation, if the chip can.
    pub suspend: Option<Suspend>,
}

/// How often reads were served first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Reads that passed at least one older step.
    pub reads: u64,
    /// Suspensions of a running operation.
    pub suspensions: u64,
}

impl Passed {
    /// Those after `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            suspensions: self.suspensions - earlier.suspensions,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Program,
    Erase,
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    kind: Kind,
    /// Time on the channel: before the busy phase of a step, after that of a read.
    setup: u64,
    /// Rest of the busy phase.
    busy: u64,
    /// Its place in the order of issue.
    order: u64,
    /// Earliest begin.
    from: u64,
    /// The host's request to which it belongs.
    request: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    /// `None` while another operation is being suspended.
    operation: Option<Operation>,
    /// When its setup on the channel ends.
    busy_from: u64,
    end: u64,
}

#[derive(Clone, Debug)]
struct Bank {
    reads: VecDeque<Operation>,
    steps: VecDeque<Operation>,
    suspended: Option<Operation>,
    running: Option<Running>,
    /// Reads that passed the next step.
    passed: u32,
    /// When the last operation ended.
    idle_from: u64,
    /// Duration of everything that waits.
    waits: u64,
}

impl Bank {
    const IDLE: Self = Self {
        reads: VecDeque::new(),
        steps: VecDeque::new(),
        suspended: None,
        running: None,
        passed: 0,
        idle_from: 0,
        waits: 0,
    };

    /// When an operation ends or begins next.
    fn next(&self) -> Option<u64> {
        if let Some(running) = &self.running {
            return Some(running.end);
        }
        let step = self.suspended.as_ref().or(self.steps.front());
        let first = self.reads.front().into_iter().chain(step).map(|next| next.from).min();
        first.map(|from| from.max(self.idle_from))
    }

    /// When the bank will be idle, if nothing else is issued and no channel is awaited.
    fn quiet(&self, now: u64) -> u64 {
        let end = self.running.as_ref().map_or(self.idle_from, |running| running.end);
        if self.waits > 0 { end.max(now) + self.waits } else { end }
    }

    fn push(&mut self, operation: Operation) {
        self.waits += operation.setup + operation.busy;
        if operation.kind == Kind::Read { &mut self.reads } else { &mut self.steps }
            .push_back(operation);
    }

    /// The operation that begins now, and whether it is a read that passes a step.
    fn take(&mut self, now: u64, most: u32) -> Option<(Operation, bool)> {
        let read = self.reads.front().filter(|read| read.from <= now);
        let step = self.suspended.as_ref().or(self.steps.front()).filter(|step| step.from <= now);
        let passes = read.zip(step).is_some_and(|(read, step)| step.order < read.order);
        let taken = if read.is_some() && !(passes && self.passed >= most) {
            self.passed += u32::from(passes);
            self.reads.pop_front()
        } else {
            step?;
            self.suspended.take().or_else(|| self.steps.pop_front())
        };
        taken.map(|operation| {
            self.waits -= operation.setup + operation.busy;
            (operation, passes && operation.kind == Kind::Read)
        })
    }
}

/// The time of every channel and bank, in nanoseconds since the start.
#[derive(Clone, Debug)]
pub struct Schedule {
    timing: Timing,
    rule: ReadsFirst,
    /// The time up to which everything has happened.
    now: u64,
    /// When the host issues its request.
    issue: u64,
    /// Earliest begin of what the current request issues, where it waits for a bank.
    held: u64,
    /// End of the processor's work.
    computed: u64,
    /// When each channel is free again.
    channels: Vec<u64>,
    banks: Vec<Bank>,
    issued: u64,
    /// The host's current request, and how many operations it has issued.
    request: u64,
    operations: u32,
    /// Host operations that have ended: the request and the time.
    ended: Vec<(u64, u64)>,
    passed: Passed,
}

impl Schedule {
    pub(crate) fn new(timing: Timing, banks: u32, channels: u32, rule: ReadsFirst) -> Self {
        Self {
            timing,
            rule,
            now: 0,
            issue: 0,
            held: 0,
            computed: 0,
            channels: vec![0; channels.clamp(1, banks.max(1)) as usize],
            banks: vec![Bank::IDLE; banks.max(1) as usize],
            issued: 0,
            request: 0,
            operations: 0,
            ended: Vec::new(),
            passed: Passed::default(),
        }
    }

    pub(crate) fn restart(&mut self) {
        let (banks, channels) = (self.banks.len() as u32, self.channels.len() as u32);
        *self = Self::new(self.timing, banks, channels, self.rule);
    }

    /// Ends the host's current request. Returns its number, counted from 0, and how many of its
    /// operations [end](Self::ended) sooner or later.
    pub fn close(&mut self) -> (u64, u32) {
        self.request += 1;
        (self.request - 1, core::mem::take(&mut self.operations))
    }

    /// Advances to the end of a host operation; false if none is left.
    pub fn advance(&mut self) -> bool {
        while self.ended.is_empty() {
            let Some((time, bank)) = self.next() else { return false };
            self.happen(time, bank);
        }
        true
    }

    /// The host operations that have ended since the last call: the request and the time.
    pub fn ended(&mut self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ended.drain(..)
    }

    /// The time up to which everything has happened.
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// How often reads were served first.
    #[must_use]
    pub const fn passed(&self) -> Passed {
        self.passed
    }

    pub(crate) fn begin(&mut self, time: u64) {
        while let Some((next, bank)) = self.next().filter(|(next, _)| *next <= time) {
            self.happen(next, bank);
        }
        self.now = self.now.max(time);
        (self.issue, self.held) = (time, 0);
    }

    pub(crate) fn channels(&self) -> &[u64] {
        &self.channels
    }

    /// When each bank will be idle, if nothing more is issued.
    pub(crate) fn quiet(&self) -> impl Iterator<Item = u64> + '_ {
        self.banks.iter().map(|bank| bank.quiet(self.now))
    }

    fn is_idle(&self, bank: usize) -> bool {
        let channel = self.channels[bank % self.channels.len()];
        self.banks[bank].quiet(self.now) <= self.from().max(channel)
    }

    pub(crate) fn wait_for_a_bank(&mut self) {
        let busy = (0..self.banks.len()).filter(|&bank| !self.is_idle(bank));
        if let Some(end) = busy.map(|bank| self.banks[bank].quiet(self.now)).min() {
            self.held = self.held.max(end);
        }
    }

    pub(crate) fn compute(&mut self) {
        self.computed = self.from() + self.timing.hotness_scan_ns;
    }

    /// Sets the times of the programs that follow.
    pub(crate) fn set_programs(&mut self, setup_ns: u64, ns: u64) {
        (self.timing.program_setup_ns, self.timing.program_ns) = (setup_ns, ns);
    }

    /// Sets the time of the copies that follow.
    pub(crate) fn set_copies(&mut self, ns: u64) {
        self.timing.copy_ns = ns;
    }

    pub(crate) fn program(&mut self, bank: u32) {
        let (setup, busy) = (self.timing.program_setup_ns, self.timing.program_ns);
        self.issue(bank, Kind::Program, setup, busy, true);
    }

    pub(crate) fn copy(&mut self, bank: u32) {
        let setup = self.timing.copy_setup_ns;
        self.issue(bank, Kind::Program, setup, self.timing.copy_ns - setup, false);
    }

    pub(crate) fn erase(&mut self, bank: u32) {
        let (setup, busy) = (self.timing.erase_setup_ns, self.timing.erase_ns);
        self.issue(bank, Kind::Erase, setup, busy, false);
    }

    pub(crate) fn read(&mut self, bank: u32) {
        self.issue(bank, Kind::Read, self.timing.read_setup_ns, self.timing.read_ns, true);
        self.suspend(bank as usize);
    }

    pub(crate) fn read_oob(&mut self, bank: u32) {
        self.issue(bank, Kind::Read, 0, self.timing.oob_read_ns, false);
    }

    /// Earliest begin of what is issued now.
    pub(crate) fn from(&self) -> u64 {
        self.issue.max(self.held).max(self.computed)
    }

    fn issue(&mut self, bank: u32, kind: Kind, setup: u64, busy: u64, is_hosts: bool) {
        self.issued += 1;
        self.operations += u32::from(is_hosts);
        let request = is_hosts.then_some(self.request);
        let (order, from) = (self.issued, self.from());
        let operation = Operation { kind, setup, busy, order, from, request };
        self.banks[bank as usize].push(operation);
    }

    /// Suspends what runs on a bank for the read that was just issued, if the chip can, the bound
    /// allows it, and the operation would not end before.
    fn suspend(&mut self, bank: usize) {
        let now = self.now.max(self.from());
        let bank = &mut self.banks[bank];
        let (Some(suspend), Some(running)) = (self.rule.suspend, bank.running) else { return };
        let Some(mut operation) = running.operation.filter(|it| it.kind != Kind::Read) else {
            return;
        };
        let stopped = now.max(running.busy_from);
        let end = stopped + suspend.of(operation.kind == Kind::Erase);
        if end < running.end && bank.passed < self.rule.most {
            (operation.setup, operation.busy) = (0, running.end - stopped);
            bank.waits += operation.busy;
            bank.suspended = Some(operation);
            bank.running = Some(Running { operation: None, busy_from: end, end });
            self.passed.suspensions += 1;
        }
    }

    /// The next event: its time and its bank.
    fn next(&self) -> Option<(u64, usize)> {
        let banks = self.banks.iter().enumerate();
        banks.filter_map(|(at, bank)| bank.next().map(|time| (time, at))).min()
    }

    /// Ends what runs on a bank at this time, and begins the next operation.
    fn happen(&mut self, time: u64, at: usize) {
        self.now = self.now.max(time);
        let of_banks = self.channels.len();
        let bank = &mut self.banks[at];
        if let Some(Running { operation, end, .. }) = bank.running.take() {
            bank.idle_from = end;
            if let Some(Operation { kind, request, .. }) = operation {
                if kind != Kind::Read {
                    bank.passed = 0;
                }
                self.ended.extend(request.map(|request| (request, end)));
            }
        }
        let Some((operation, passes)) = bank.take(time, self.rule.most) else { return };
        self.passed.reads += u64::from(passes);
        let Operation { kind, setup, busy, .. } = operation;
        let channel = &mut self.channels[at % of_banks];
        let (busy_from, end) = if kind == Kind::Read {
            let end = if setup > 0 { (time + busy).max(*channel) + setup } else { time + busy };
            (time, end)
        } else {
            let begin = if setup > 0 { time.max(*channel) } else { time };
            (begin + setup, begin + setup + busy)
        };
        if setup > 0 {
            *channel = if kind == Kind::Read { end } else { busy_from };
        }
        bank.running = Some(Running { operation: Some(operation), busy_from, end });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Timing = Timing {
        read_setup_ns: 10,
        read_ns: 40,
        oob_read_ns: 40,
        program_setup_ns: 20,
        program_ns: 180,
        copy_setup_ns: 0,
        copy_ns: 250,
        erase_setup_ns: 0,
        erase_ns: 1000,
        hotness_scan_ns: 0,
    };

    fn schedule(banks: u32, most: u32, suspend: Option<Suspend>) -> Schedule {
        Schedule::new(TIMES, banks, 1, ReadsFirst { most, suspend })
    }

    /// Issues a request of the host; returns its number.
    fn request(schedule: &mut Schedule, time: u64, issue: impl FnOnce(&mut Schedule)) -> u64 {
        schedule.begin(time);
        issue(schedule);
        schedule.close().0
    }

    /// The ends of all host operations, in order.
    fn ends(schedule: &mut Schedule) -> Vec<(u64, u64)> {
        let mut ends: Vec<_> = schedule.ended().collect();
        while schedule.advance() {
            ends.extend(schedule.ended());
        }
        ends
    }

    #[test]
    fn a_read_passes_waiting_steps_but_not_the_running_one() {
        let mut clock = schedule(1, 8, None);
        // Copies 0-250, 250-500, 500-750; erase 750-1750; the program behind them.
        let write = request(&mut clock, 0, |clock| {
            (0..3).for_each(|_| clock.copy(0));
            clock.erase(0);
            clock.program(0);
        });
        let read = request(&mut clock, 300, |clock| clock.read(0));
        // The read runs from 500 to 550, and everything after it is 50 later.
        assert_eq!(ends(&mut clock), [(read, 550), (write, 1750 + 50 + 200)]);
        assert_eq!(clock.passed(), Passed { reads: 1, suspensions: 0 });
    }

    #[test]
    fn a_step_is_put_off_by_a_bounded_number_of_reads() {
        let mut clock = schedule(1, 2, None);
        let write = request(&mut clock, 0, |clock| {
            clock.copy(0);
            clock.copy(0);
            clock.program(0);
        });
        let reads: Vec<_> =
            (1..=5).map(|time| request(&mut clock, time, |clock| clock.read(0))).collect();
        // Copy to 250, two reads to 350, copy to 600, two reads to 700, program to 900, the last read.
        let read = |at: usize, end| (reads[at], end);
        let expected =
            [read(0, 300), read(1, 350), read(2, 650), read(3, 700), (write, 900), read(4, 950)];
        assert_eq!(ends(&mut clock), expected);
        assert_eq!(clock.passed().reads, 4);
    }

    #[test]
    fn a_running_erase_is_suspended_and_continues_where_it_stopped() {
        let suspend = Suspend { program_ns: 15, erase_ns: 30 };
        let mut clock = schedule(1, 8, Some(suspend));
        let write = request(&mut clock, 0, |clock| {
            clock.erase(0);
            clock.program(0);
        });
        let first = request(&mut clock, 400, |clock| clock.read(0));
        // Stops at 400, reads from 430 to 480, and erases for another 600 until 1080.
        let second = request(&mut clock, 1060, |clock| clock.read(0));
        // The erase ends before it could be suspended; the read passes the program.
        assert_eq!(ends(&mut clock), [(first, 480), (second, 1130), (write, 1130 + 200)]);
        assert_eq!(clock.passed(), Passed { reads: 2, suspensions: 1 });
    }

    #[test]
    fn a_program_is_suspended_after_its_transfer_and_no_more_often_than_the_bound_allows() {
        let suspend = Suspend { program_ns: 15, erase_ns: 30 };
        let mut clock = schedule(1, 1, Some(suspend));
        let write = request(&mut clock, 0, |clock| clock.program(0));
        let first = request(&mut clock, 5, |clock| clock.read(0));
        // The transfer ends at 20; the chip is ready at 35, the read ends at 85, the program at 265.
        let second = request(&mut clock, 100, |clock| clock.read(0));
        assert_eq!(ends(&mut clock), [(first, 85), (write, 265), (second, 315)]);
        assert_eq!(clock.passed(), Passed { reads: 1, suspensions: 1 });
    }

    #[test]
    fn banks_overlap_and_share_the_channel() {
        let mut clock = schedule(2, 8, None);
        let write = request(&mut clock, 0, |clock| {
            clock.program(0);
            clock.program(1);
        });
        let read = request(&mut clock, 30, |clock| clock.read(0));
        // Transfers 0-20 and 20-40; programs until 200 and 220; the read from 200.
        assert_eq!(ends(&mut clock), [(write, 200), (write, 220), (read, 250)]);
    }

    #[test]
    fn a_request_that_waits_for_a_bank_does_not_hold_up_the_next() {
        let mut clock = schedule(2, 8, None);
        clock.begin(0);
        clock.erase(0);
        clock.begin(1);
        assert!(!clock.is_idle(0) && clock.is_idle(1));
        clock.copy(1);
        clock.wait_for_a_bank();
        assert!(clock.is_idle(1) && !clock.is_idle(0));
        clock.program(1);
        let write = clock.close().0;
        let read = request(&mut clock, 2, |clock| clock.read(1));
        // The copy runs from 1 to 251, then the read, then the program.
        assert_eq!(ends(&mut clock), [(read, 301), (write, 501)]);
    }
}
