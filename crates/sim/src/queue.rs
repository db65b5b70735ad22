//! The requests that the device works on at once.

use std::{cmp::Reverse, collections::BinaryHeap};

/// The ends of the requests that the device works on. Without a depth it takes any number at once.
pub(crate) struct Queue {
    depth: Option<usize>,
    /// The end of the last request, at a depth of one.
    last: u64,
    /// The ends of all requests, at a greater depth.
    ends: BinaryHeap<Reverse<u64>>,
}

impl Queue {
    pub(crate) fn new(depth: Option<usize>) -> Self {
        Self { depth, last: 0, ends: BinaryHeap::new() }
    }

    /// When the device takes up a request that comes at `time`.
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

    /// The request that was taken up last is done at `end`.
    #[inline]
    pub(crate) fn until(&mut self, end: u64) {
        match self.depth {
            Some(1) => self.last = end,
            Some(_) => self.ends.push(Reverse(end)),
            None => {}
        }
    }
}
