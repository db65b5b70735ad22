//! The simulator's clock: when operations begin and end on a chip of several banks.
//!
//! An operation has two phases (striping paper, §2). In its *setup* phase the command and the data
//! pass over the channel. In its *busy* phase the bank works alone. Banks overlap; operations that
//! share a channel queue for it in the order of issue. Bank `k` is on channel `k mod channels`.
//!
//! A program or an erase waits for its bank, occupies the channel for its setup and leaves the bank
//! busy. A read keeps the bank busy first and then occupies the channel to transfer the data.
//!
//! Operations begin in the order of issue. With [reads first](Schedule) a read passes others.

use alloc::{boxed::Box, vec, vec::Vec};

use crate::{ReadsFirst, Schedule, Timing};

/// The time of every channel and bank, in nanoseconds since the start.
#[derive(Clone, Debug)]
pub struct Clock {
    timing: Timing,
    /// When each channel is free again.
    channels: Vec<u64>,
    /// When each bank is idle again.
    banks: Vec<u64>,
    /// Earliest time of the next operation: the host has issued nothing before it.
    issue: u64,
    /// When the last host operation since `issue` ends.
    answered: u64,
    /// Decides where reads are served first. The times of channels and banks are then those of
    /// what was issued so far, if nothing more is.
    schedule: Option<Box<Schedule>>,
}

impl Clock {
    /// A clock with everything idle at time 0.
    #[must_use]
    pub fn new(timing: Timing, banks: u32, channels: u32) -> Self {
        Self {
            timing,
            channels: vec![0; channels.clamp(1, banks.max(1)) as usize],
            banks: vec![0; banks.max(1) as usize],
            issue: 0,
            answered: 0,
            schedule: None,
        }
    }

    /// Serves reads first.
    #[must_use]
    pub fn with_reads_first(mut self, rule: ReadsFirst) -> Self {
        let (banks, channels) = (self.banks.len() as u32, self.channels.len() as u32);
        self.schedule = Some(Box::new(Schedule::new(self.timing, banks, channels, rule)));
        self
    }

    /// The schedule, where reads are served first.
    #[inline(always)]
    #[must_use]
    pub fn schedule(&self) -> Option<&Schedule> {
        self.schedule.as_deref()
    }

    /// The schedule, where reads are served first.
    #[inline(always)]
    pub fn schedule_mut(&mut self) -> Option<&mut Schedule> {
        self.schedule.as_deref_mut()
    }

    /// Changes the schedule, and takes over its times.
    #[cold]
    #[inline(never)]
    fn on_schedule(&mut self, change: impl FnOnce(&mut Schedule)) {
        let Some(schedule) = &mut self.schedule else { return };
        change(schedule);
        self.issue = schedule.from();
        self.channels.copy_from_slice(schedule.channels());
        for (bank, quiet) in self.banks.iter_mut().zip(schedule.quiet()) {
            *bank = quiet;
        }
    }

    /// Resets the clock: everything is idle at time 0.
    pub fn restart(&mut self) {
        if self.schedule.is_some() {
            return self.on_schedule(Schedule::restart);
        }
        self.channels.fill(0);
        self.banks.fill(0);
        (self.issue, self.answered) = (0, 0);
    }

    /// Sets the times of the next programs.
    pub(crate) fn set_programs(&mut self, setup_ns: u64, ns: u64) {
        (self.timing.program_setup_ns, self.timing.program_ns) = (setup_ns, ns);
        if let Some(schedule) = &mut self.schedule {
            schedule.set_programs(setup_ns, ns);
        }
    }

    /// Sets the time of the next copies.
    pub(crate) fn set_copies(&mut self, ns: u64) {
        self.timing.copy_ns = ns;
        if let Some(schedule) = &mut self.schedule {
            schedule.set_copies(ns);
        }
    }

    /// Sets the time at which the host issues its next request.
    #[inline]
    pub fn begin(&mut self, time: u64) {
        if self.schedule.is_some() {
            return self.on_schedule(|schedule| schedule.begin(time));
        }
        self.issue = time;
        self.answered = time;
    }

    /// When the last host page since [`begin`](Self::begin) was read or programmed. Cleaning that
    /// continues afterwards delays only operations that need its bank or channel. Where reads are
    /// served first, the [schedule](Self::schedule) knows this once it has come to pass.
    #[must_use]
    pub const fn answered(&self) -> u64 {
        self.answered
    }

    /// The earliest time at which a new operation could begin on an idle bank.
    #[must_use]
    pub fn ready(&self) -> u64 {
        self.issue.max(self.channels.iter().copied().min().unwrap_or(0))
    }

    /// When all channels and banks are idle.
    #[must_use]
    pub fn quiet(&self) -> u64 {
        self.channels.iter().chain(&self.banks).copied().max().unwrap_or(0)
    }

    /// Whether a bank would begin an operation at once.
    #[must_use]
    pub fn is_idle(&self, bank: u32) -> bool {
        let channel = self.channels[bank as usize % self.channels.len()];
        self.banks[bank as usize] <= self.issue.max(channel)
    }

    /// Issues nothing until a busy bank is idle.
    pub fn wait_for_a_bank(&mut self) {
        if self.schedule.is_some() {
            return self.on_schedule(|schedule| schedule.wait_for_a_bank());
        }
        let busy = (0..self.banks.len()).filter(|&bank| !self.is_idle(bank as u32));
        if let Some(end) = busy.map(|bank| self.banks[bank]).min() {
            for channel in &mut self.channels {
                *channel = end.max(*channel);
            }
        }
    }

    /// Accounts for processor time, during which nothing is issued.
    pub fn compute(&mut self) {
        if self.schedule.is_some() {
            return self.on_schedule(|schedule| schedule.compute());
        }
        let ns = self.timing.hotness_scan_ns;
        for channel in &mut self.channels {
            *channel = self.issue.max(*channel) + ns;
        }
    }

    /// Programs a page.
    #[inline]
    pub fn program(&mut self, bank: u32) {
        if self.schedule.is_some() {
            return self.on_schedule(|schedule| schedule.program(bank));
        }
        let end = self.occupy(bank, self.timing.program_setup_ns, self.timing.program_ns);
        self.answered = self.answered.max(end);
    }

    /// Moves a page within its bank.
    #[inline]
    pub fn copy(&mut self, bank: u32) {
        if self.schedule.is_some() {
            return self.on_schedule(|schedule| schedule.copy(bank));
        }
        let setup = self.timing.copy_setup_ns;
        self.occupy(bank, setup, self.timing.copy_ns - setup);
    }

    /// Erases a block.
    pub fn erase(&mut self, bank: u32) {
        if self.schedule.is_some() {
            return self.on_schedule(|schedule| schedule.erase(bank));
        }
        self.occupy(bank, self.timing.erase_setup_ns, self.timing.erase_ns);
    }

    /// Reads a page.
    #[inline]
    pub fn read(&mut self, bank: u32) {
        if self.schedule.is_some() {
            return self.on_schedule(|schedule| schedule.read(bank));
        }
        let bank = bank as usize;
        let sensed = self.banks[bank].max(self.issue) + self.timing.read_ns;
        let of_banks = self.channels.len();
        let channel = &mut self.channels[bank % of_banks];
        *channel = sensed.max(*channel) + self.timing.read_setup_ns;
        self.banks[bank] = *channel;
        self.answered = self.answered.max(*channel);
    }

    /// Reads only the out-of-band area of a page.
    #[inline]
    pub fn read_oob(&mut self, bank: u32) {
        if self.schedule.is_some() {
            return self.on_schedule(|schedule| schedule.read_oob(bank));
        }
        self.occupy(bank, 0, self.timing.oob_read_ns);
    }

    /// Schedules an operation that begins with a setup on the channel. Returns its end.
    #[inline]
    fn occupy(&mut self, bank: u32, setup: u64, busy: u64) -> u64 {
        let bank = bank as usize;
        let of_banks = self.channels.len();
        let channel = &mut self.channels[bank % of_banks];
        let begin = self.banks[bank].max(*channel).max(self.issue);
        if setup > 0 {
            *channel = begin + setup;
        }
        self.banks[bank] = begin + setup + busy;
        self.banks[bank]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const W: Timing = Timing {
        read_setup_ns: 348,
        read_ns: 0,
        oob_read_ns: 0,
        program_setup_ns: 606,
        program_ns: 303,
        copy_setup_ns: 0,
        copy_ns: 0,
        erase_setup_ns: 31,
        erase_ns: 1850,
        hotness_scan_ns: 0,
    };

    fn three_pages(timing: Timing, banks: u32) -> u64 {
        let mut clock = Clock::new(timing, banks, 1);
        for page in 0..3 {
            clock.program(page % banks);
        }
        clock.answered()
    }

    #[test]
    fn three_pages_on_one_two_and_three_banks() {
        // Striping paper, §4.1 (as 23 %).
        let measured: [u64; 3] = [1, 2, 3].map(|banks| three_pages(W, banks));
        assert_eq!(measured, [2727, 2121, 2121]);
        let faster = Timing { program_setup_ns: 50, ..W };
        assert_eq!([1, 2, 3].map(|banks| three_pages(faster, banks)), [1059, 706, 453]);
    }

    #[test]
    fn a_bank_that_erases_is_waited_for_by_its_own_pages_only() {
        let mut clock = Clock::new(W, 2, 1);
        clock.erase(0);
        clock.begin(100);
        assert!(!clock.is_idle(0) && clock.is_idle(1));
        clock.program(1);
        assert_eq!(clock.answered(), 100 + 606 + 303);
        clock.wait_for_a_bank();
        assert!(clock.is_idle(1) && !clock.is_idle(0));
        clock.program(0);
        assert_eq!(clock.answered(), 31 + 1850 + 606 + 303);
        assert_eq!(clock.quiet(), clock.answered());
    }

    #[test]
    fn reads_of_two_banks_overlap_until_the_channel() {
        let timing = Timing { read_setup_ns: 10, read_ns: 50, ..W };
        let mut clock = Clock::new(timing, 4, 2);
        clock.read(0);
        clock.read(1); // the other channel
        clock.read(2); // the first channel, another bank
        assert_eq!(clock.answered(), 70);
        clock.read(0);
        assert_eq!(clock.answered(), 60 + 50 + 10);
    }
}
