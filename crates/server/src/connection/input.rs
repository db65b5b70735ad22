//! Unprocessed input from the client.

use std::io::{self, Read};

use crate::stream::Stream;

/// A buffer of bytes received. Its capacity is what one system call brings at most; a request that does
/// not fit is taken in pieces.
pub(super) struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    /// An empty buffer.
    pub(super) fn new(capacity: usize) -> Self {
        Self { bytes: vec![0; capacity], start: 0, end: 0 }
    }

    /// Bytes it can hold.
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no more can be received before something is consumed.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.end - self.start == self.bytes.len()
    }

    /// Changes the capacity; pending input stays, and must fit.
    pub(super) fn resize(&mut self, capacity: usize) {
        let mut bytes = vec![0; capacity];
        let pending = self.pending();
        bytes[..pending.len()].copy_from_slice(pending);
        *self = Self { bytes, start: 0, end: pending.len() };
    }

    /// The pending input.
    #[inline]
    pub(super) fn pending(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// The first `count` bytes were dealt with.
    #[inline]
    pub(super) fn consume(&mut self, count: usize) {
        self.start += count.min(self.end - self.start);
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Receives the available input, or waits for some; makes room for `need` bytes in all, at most
    /// its capacity. 0 if the client closed.
    #[inline]
    pub(super) fn fill(&mut self, from: &mut impl Read, need: usize) -> io::Result<usize> {
        let room = self.room(need);
        loop {
            match from.read(room) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Receives the available input, if any; room and result as for [`fill`](Self::fill).
    #[inline]
    pub(super) fn fill_now(&mut self, from: &mut Stream, need: usize) -> io::Result<Option<usize>> {
        let done = from.read_now(self.room(need));
        if let Ok(Some(count)) = done {
            self.end += count;
        }
        done
    }

    /// The free part of the buffer.
    #[inline]
    fn room(&mut self, need: usize) -> &mut [u8] {
        if self.start == self.end {
            self.clear();
        } else if self.bytes.len() - self.end < self.bytes.len() / 4
            || self.bytes.len() - self.start < need
        {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        &mut self.bytes[self.end..]
    }
}
