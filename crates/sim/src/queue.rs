//! The requests that the device works on at the same time.

use std::{cmp::Reverse, collections::BinaryHeap};

/// The completion times of the requests in progress. Without a depth any number may be in progress.
pub(crate) struct Queue {
    depth: Option<usize>,
    /// Completion of the last request, at a depth of one.
    last: u64,
    /// Completion of all requests, at a greater depth.
    ends: BinaryHeap<Reverse<u64>>,
}

impl Queue {
    pub(crate) fn new(depth: Option<usize>) -> Self {
        Self { depth, last: 0, ends: BinaryHeap::new() }
    }

    /// How many requests may be in progress, if that is bounded.
    pub(crate) const fn depth(&self) -> Option<usize> {
        self.depth
    }

    /// When the device starts a request that arrives at `time`.
    #[inline]
    pub(crate) fn take_up(&mut self, time: u64) -> u64 {
        match self.depth {
            Some(1) => self.last.max(time),
            Some(depth) if self.ends.len() >= depth => {
                let Reverse(first) = self.ends.pop().expect("a queue is at least one deep");
                first.max(time)
            }
            _ => time,
        }
    }

    /// Sets the completion of the request that was started last.
    #[inline]
    pub(crate) fn until(&mut self, end: u64) {
        match self.depth {
            Some(1) => self.last = end,
            Some(_) => self.ends.push(Reverse(end)),
            None => {}
        }
    }
}
