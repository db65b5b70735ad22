//! Bytes on their way to the client.

use std::fmt::{self, Write};

use crate::wire::MAX_STRING;

/// A buffer of bytes to send. Encoders append; the owner sends [`pending`](Self::pending) and says
/// how much of it went out.
///
/// Its memory stays initialised between uses, so that room for data that a read is about to fill is
/// not zeroed first, and is given back only by [`release`](Self::release).
#[derive(Debug, Default)]
pub struct Output {
    /// Initialised memory; what is beyond `end` is rubbish of earlier uses.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Output {
    /// An empty buffer that has allocated nothing.
    #[must_use]
    pub fn new() -> Output {
        Output::default()
    }

    /// What waits to be sent.
    #[must_use]
    #[inline]
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Number of bytes that wait to be sent.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// True if nothing waits to be sent.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Says that the first `count` pending bytes went out (all of them if there are fewer).
    #[inline]
    pub fn sent(&mut self, count: usize) {
        self.start += count.min(self.len());
        if self.start == self.end {
            self.clear();
        } else if self.start > self.len() {
            // Each byte moves less often than one is sent, and what was sent takes up no room.
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.len());
        }
    }

    /// Forgets what is pending.
    #[inline]
    pub fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Gives memory beyond `keep` bytes back to the system, if nothing is pending. For after a large
    /// read, so that an idle connection does not hold on to its room.
    pub fn release(&mut self, keep: usize) {
        if self.is_empty() && self.bytes.capacity() > keep {
            self.bytes.truncate(keep);
            self.bytes.shrink_to(keep);
        }
    }

    /// Appends room for `count` bytes with whatever is in it.
    #[inline]
    pub(crate) fn room(&mut self, count: usize) -> &mut [u8] {
        let from = self.end;
        self.end += count;
        if self.end > self.bytes.len() {
            self.grow();
        }
        &mut self.bytes[from..self.end]
    }

    #[cold]
    fn grow(&mut self) {
        // Vec doubles its capacity; initialising all of it now means it is done once.
        self.bytes.resize(self.end, 0);
        self.bytes.resize(self.bytes.capacity(), 0);
    }

    /// Appends `bytes`.
    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
    }

    /// Where the next byte goes, for [`patch`](Self::patch) and [`cut`](Self::cut). Valid until
    /// something is sent.
    #[inline]
    pub(crate) fn mark(&self) -> usize {
        self.end
    }

    /// Overwrites what was appended at `mark`.
    #[inline]
    pub(crate) fn patch(&mut self, mark: usize, bytes: &[u8]) {
        self.bytes[mark..mark + bytes.len()].copy_from_slice(bytes);
    }

    /// Takes back what was appended since `mark`.
    #[inline]
    pub(crate) fn cut(&mut self, mark: usize) {
        self.end = mark;
    }

    /// Appends a text, at most as much of it as a string of the protocol may hold, and returns its
    /// length in bytes.
    pub(crate) fn text(&mut self, text: &dyn fmt::Display) -> usize {
        let mut writer = Text { output: self, left: MAX_STRING };
        // The writer says no once it is full; what went in before stays.
        let _ = write!(writer, "{text}");
        MAX_STRING - writer.left
    }
}

/// Takes up to `left` bytes of text and cuts between characters.
struct Text<'a> {
    output: &'a mut Output,
    left: usize,
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // NUL is not allowed in the protocol's strings.
        for piece in text.split('\0') {
            let mut take = piece.len().min(self.left);
            while !piece.is_char_boundary(take) {
                take -= 1;
            }
            self.output.put(&piece.as_bytes()[..take]);
            self.left -= take;
            if take < piece.len() {
                return Err(fmt::Error);
            }
        }
        Ok(())
    }
}
