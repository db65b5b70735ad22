//! Counters of connections, at almost no cost.
//!
//! A connection counts in its own memory, which no other thread writes: an addition is a load and a
//! store. A reader sums all connections, and the totals of ended ones.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use thermocline_nbd::Command;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Trim,
    Zero,
    Flush,
    Other,
}

impl Kind {
    pub(crate) const ALL: [Self; KINDS] =
        [Self::Read, Self::Write, Self::Trim, Self::Zero, Self::Flush, Self::Other];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Zero => "zero",
            Self::Flush => "flush",
            Self::Other => "other",
        }
    }
}

impl From<Command> for Kind {
    #[inline]
    fn from(command: Command) -> Self {
        match command {
            Command::Read => Self::Read,
            Command::Write => Self::Write,
            Command::Trim => Self::Trim,
            Command::WriteZeroes => Self::Zero,
            Command::Flush => Self::Flush,
            Command::Cache | Command::BlockStatus | Command::Disconnect | Command::Unknown(_) => {
                Self::Other
            }
        }
    }
}

pub(crate) const KINDS: usize = 6;
/// Latencies up to 2, 4, 8 µs and so on, up to 16 s, and beyond.
pub(crate) const LATENCIES: usize = 25;

/// Written by one thread, read by any.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline(always)]
    pub(crate) fn add(&self, more: u64) {
        // No other thread writes it.
        self.0.store(self.0.load(Relaxed) + more, Relaxed);
    }

    fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The requests of one kind.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    /// Taken up; of those that ended with their connection before an answer, nothing is kept.
    pub begun: Count,
    /// Answered.
    pub answered: Count,
    pub bytes: Count,
    /// Answered with an error.
    pub failed: Count,
    pub latency: [Count; LATENCIES],
    pub latency_ns: Count,
    /// Time that they kept the device: from the receipt of a request, or the answer before it if that is later, to its
    /// answer.
    pub delay_ns: Count,
}

/// The counters of a connection.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub kinds: [Operations; KINDS],
    /// Writes, trims and the like that had to last before their answer.
    pub fua: Count,
    /// System calls that received, and that sent.
    pub receives: Count,
    pub sends: Count,
}

impl Counters {
    #[inline]
    pub(crate) fn of(&self, kind: Kind) -> &Operations {
        &self.kinds[kind as usize]
    }

    /// `count` requests of a kind were answered after `latency`; together they kept the device for `delay`.
    #[inline]
    pub(crate) fn answered(&self, kind: Kind, count: u64, latency: Duration, delay: Duration) {
        let it = self.of(kind);
        let ns = crate::device::nanoseconds(latency);
        it.answered.add(count);
        it.delay_ns.add(crate::device::nanoseconds(delay));
        it.latency_ns.add(ns.saturating_mul(count));
        it.latency[latency_class(ns)].add(count);
    }

    fn add(&self, other: &Self) {
        for (mine, theirs) in self.kinds.iter().zip(&other.kinds) {
            mine.begun.add(theirs.begun.get());
            mine.answered.add(theirs.answered.get());
            mine.bytes.add(theirs.bytes.get());
            mine.failed.add(theirs.failed.get());
            mine.latency_ns.add(theirs.latency_ns.get());
            mine.delay_ns.add(theirs.delay_ns.get());
            for (mine, theirs) in mine.latency.iter().zip(&theirs.latency) {
                mine.add(theirs.get());
            }
        }
        self.fua.add(other.fua.get());
        self.receives.add(other.receives.get());
        self.sends.add(other.sends.get());
    }
}

fn latency_class(ns: u64) -> usize {
    let us = ns / 1000;
    (u64::BITS - us.leading_zeros()).saturating_sub(1).min(LATENCIES as u32 - 1) as usize
}

/// The end of a class of latencies, in seconds.
pub(crate) fn latency_limit(class: usize) -> f64 {
    (2_u64 << class) as f64 / 1e6
}

/// The counters of all connections of an export.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<Connections>);

#[derive(Debug, Default)]
struct Connections {
    open: Vec<Arc<Counters>>,
    opened: u64,
    ended: Counters,
}

impl Registry {
    /// A connection begins.
    pub(crate) fn open(&self) -> Counted<'_> {
        let counters = Arc::new(Counters::default());
        let mut all = self.lock();
        all.opened += 1;
        all.open.push(counters.clone());
        Counted { registry: self, counters }
    }

    /// The sum of all, the number of those open, and of all there ever were.
    pub(crate) fn sum(&self) -> (Counters, usize, u64) {
        let all = self.lock();
        let sum = Counters::default();
        for counters in std::iter::once(&all.ended).chain(all.open.iter().map(|open| &**open)) {
            sum.add(counters);
        }
        (sum, all.open.len(), all.opened)
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        // Slightly wrong counts are harmless.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is counted until it ends, however it ends.
#[derive(Debug)]
pub(crate) struct Counted<'a> {
    registry: &'a Registry,
    counters: Arc<Counters>,
}

impl Counted<'_> {
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let mut all = self.registry.lock();
        all.open.retain(|open| !Arc::ptr_eq(open, &self.counters));
        all.ended.add(&self.counters);
        // Its unanswered requests are no longer in flight.
        for kind in &all.ended.kinds {
            kind.begun.set(kind.answered.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_lies_below_the_limit_of_its_class_and_not_below_the_one_before() {
        for ns in [0, 1, 999, 1000, 1999, 2000, 4000, 70_000, 5_000_000, 16_000_000_000] {
            let class = latency_class(ns);
            assert!(ns as f64 / 1e9 <= latency_limit(class) || class == LATENCIES - 1, "{ns} ns");
            assert!(class == 0 || ns as f64 / 1e9 >= latency_limit(class - 1), "{ns} ns");
        }
    }

    #[test]
    fn what_a_connection_did_counts_after_it_ended_too() {
        let registry = Registry::default();
        let (one, two) = (registry.open(), registry.open());
        one.counters().of(Kind::Read).begun.add(3);
        two.counters().of(Kind::Read).begun.add(4);
        two.counters().answered(Kind::Read, 4, Duration::from_micros(3), Duration::from_micros(2));
        drop(two);
        let (sum, open, opened) = registry.sum();
        assert_eq!((sum.of(Kind::Read).begun.get(), open, opened), (7, 1, 2));
        assert_eq!(sum.of(Kind::Read).latency[1].get(), 4);
        assert_eq!(sum.of(Kind::Read).delay_ns.get(), 2000);
    }

    #[test]
    fn what_a_connection_left_unanswered_is_not_in_flight_after_it_ended() {
        let registry = Registry::default();
        let (one, two) = (registry.open(), registry.open());
        one.counters().of(Kind::Write).begun.add(3);
        two.counters().of(Kind::Write).begun.add(5);
        two.counters().answered(Kind::Write, 4, Duration::ZERO, Duration::ZERO);
        drop(two);
        let (sum, ..) = registry.sum();
        let writes = sum.of(Kind::Write);
        assert_eq!((writes.begun.get(), writes.answered.get()), (7, 4), "those of the other are");
    }
}
