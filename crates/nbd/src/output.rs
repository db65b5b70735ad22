//! Bytes to be sent to the client.

use std::fmt::{self, Write};

use crate::wire::MAX_STRING;

/// A buffer of bytes to send. Encoders append; the owner sends [`pending`](Self::pending) and
/// reports how much was sent.
///
/// Its memory stays initialised between uses, so that space for read data need not be zeroed first.
/// Only [`release`](Self::release) returns it.
#[derive(Debug, Default)]
pub struct Output {
    /// Initialised memory. Bytes beyond `end` are left over from earlier uses.
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

    /// The bytes to be sent.
    #[must_use]
    #[inline]
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Number of bytes to be sent.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// True if there is nothing to send.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Records that the first `count` pending bytes (or all, if there are fewer) were sent.
    #[inline]
    pub fn sent(&mut self, count: usize) {
        self.start += count.min(self.len());
        if self.start == self.end {
            self.clear();
        } else if self.start > self.len() {
            // Moves at most one byte for each byte sent, and frees the space of sent bytes.
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.len());
        }
    }

    /// Discards the pending bytes.
    #[inline]
    pub fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Allocated memory in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns memory beyond `keep` bytes to the system, if nothing is pending. Called after a
    /// large read, so that an idle connection does not keep its buffer.
    pub fn release(&mut self, keep: usize) {
        if self.is_empty() && self.bytes.capacity() > keep {
            self.bytes.truncate(keep);
            self.bytes.shrink_to(keep);
        }
    }

    /// Appends `count` bytes with arbitrary content.
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
        // Vec doubles its capacity. Initialising all of it at once avoids repeating that.
        self.bytes.resize(self.end, 0);
        self.bytes.resize(self.bytes.capacity(), 0);
    }

    /// Appends `bytes`.
    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
    }

    /// The position of the next byte, for [`patch`](Self::patch) and [`cut`](Self::cut). Valid
    /// until something is sent.
    #[inline]
    pub(crate) fn mark(&self) -> usize {
        self.end
    }

    /// Overwrites what was appended at `mark`.
    #[inline]
    pub(crate) fn patch(&mut self, mark: usize, bytes: &[u8]) {
        self.bytes[mark..mark + bytes.len()].copy_from_slice(bytes);
    }

    /// Removes what was appended since `mark`.
    #[inline]
    pub(crate) fn cut(&mut self, mark: usize) {
        self.end = mark;
    }

    /// Appends a text, truncated to the maximum length of a string, and returns its length in
    /// bytes.
    pub(crate) fn text(&mut self, text: &dyn fmt::Display) -> usize {
        let mut writer = Text { output: self, left: MAX_STRING };
        // The writer fails once it is full; what it took before stays.
        let _ = write!(writer, "{text}");
        MAX_STRING - writer.left
    }
}

/// Takes up to `left` bytes of text, truncated between characters.
struct Text<'a> {
    output: &'a mut Output,
    left: usize,
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // The protocol's strings must not contain NUL.
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
