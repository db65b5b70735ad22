//! Sorts rows that are slightly out of order by their times.

use crate::{Request, Source, TraceError};
use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

/// How far a request may be out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Number of requests that are held back.
    Requests(usize),
    /// Requests are held back until one that is this many nanoseconds later arrives.
    Time(u64),
}

/// Sorts by time within a window. Requests with equal times keep their order.
pub struct SortWindow<S> {
    source: S,
    window: Window,
    held: BinaryHeap<Reverse<Held>>,
    /// The last batch read, and how much of it was processed.
    input: Vec<Request>,
    next: usize,
    ended: bool,
    serial: u64,
    newest_ns: u64,
    delivered_ns: u64,
    late: u64,
}

/// Ordered by time, then by arrival.
#[derive(PartialEq, Eq)]
struct Held {
    serial: u64,
    request: Request,
}

impl Held {
    fn key(&self) -> (u64, u64) {
        (self.request.time_ns, self.serial)
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<S: Source> SortWindow<S> {
    /// Sorts `source` within `window`.
    pub fn new(source: S, window: Window) -> Self {
        SortWindow {
            source,
            window,
            held: BinaryHeap::new(),
            input: Vec::new(),
            next: 0,
            ended: false,
            serial: 0,
            newest_ns: 0,
            delivered_ns: 0,
            late: 0,
        }
    }

    /// Number of requests that were out of order by more than the window, and therefore still step
    /// back in time.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    fn ripe(&self) -> bool {
        let Some(Reverse(oldest)) = self.held.peek() else { return false };
        self.ended
            || match self.window {
                Window::Requests(count) => self.held.len() > count,
                Window::Time(ns) => self.newest_ns.saturating_sub(oldest.request.time_ns) > ns,
            }
    }

    /// Reads one request; more would widen the window by a batch.
    fn take_in(&mut self, limit: usize) -> Result<(), TraceError> {
        if self.next == self.input.len() {
            self.source.next_batch(&mut self.input, limit)?;
            self.next = 0;
        }
        match self.input.get(self.next) {
            None => self.ended = true,
            Some(&request) => {
                self.newest_ns = self.newest_ns.max(request.time_ns);
                self.held.push(Reverse(Held { serial: self.serial, request }));
                self.serial += 1;
                self.next += 1;
            }
        }
        Ok(())
    }
}

impl<S: Source> Source for SortWindow<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < limit {
            if self.ripe() {
                let Some(Reverse(held)) = self.held.pop() else { break };
                self.late += u64::from(held.request.time_ns < self.delivered_ns);
                self.delivered_ns = self.delivered_ns.max(held.request.time_ns);
                batch.push(held.request);
            } else if self.ended {
                break;
            } else {
                self.take_in(limit)?;
            }
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        self.source.volumes()
    }

    fn volume_bytes(&self, volume: u32) -> Option<u64> {
        self.source.volume_bytes(volume)
    }
}
