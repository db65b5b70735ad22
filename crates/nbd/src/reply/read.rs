//! The reply to a read, put together in the output buffer.

use std::fmt;

use super::Envelope;
use crate::{
    errno::Errno,
    negotiated::{Headers, Negotiated},
    output::Output,
    request::Request,
    wire,
};

/// A reply to a read in the making: pieces of data and holes from the first byte to the last, then
/// [`finish`](Self::finish) or [`fail`](Self::fail).
///
/// Nothing of it is sent before it is whole, so a failure takes back what was put together and
/// sends an error alone. So does a reply that is dropped or finished too early.
#[must_use]
#[derive(Debug)]
pub struct ReadReply<'a> {
    output: &'a mut Output,
    envelope: Envelope,
    /// Where the reply begins in the output.
    start: usize,
    /// First byte of the export that no piece holds yet.
    position: u64,
    /// End of the read.
    end: u64,
    /// One chunk of data only.
    whole: bool,
    /// The chunk that a next piece may go on with.
    open: Open,
    answered: bool,
}

/// The last chunk of a reply, whose header is written when it ends.
#[derive(Clone, Copy, Debug)]
enum Open {
    None,
    Data { mark: usize },
    Hole { mark: usize, length: u32 },
}

impl<'a> ReadReply<'a> {
    #[inline]
    pub(super) fn new(
        negotiated: &Negotiated,
        request: &Request,
        output: &'a mut Output,
    ) -> ReadReply<'a> {
        let envelope = Envelope::of(negotiated, request);
        let start = output.mark();
        if envelope.headers == Headers::Simple {
            envelope.simple(0, output);
        }
        ReadReply {
            output,
            envelope,
            start,
            position: request.offset,
            end: request.offset.saturating_add(request.length),
            whole: request.flags & wire::CMD_FLAG_DF != 0,
            open: Open::None,
            answered: false,
        }
    }

    /// Bytes of the read that no piece holds yet.
    #[must_use]
    #[inline]
    pub fn left(&self) -> u64 {
        self.end - self.position
    }

    /// Appends a piece of `length` bytes, at most what is [`left`](Self::left), and returns the room
    /// for them. The room holds rubbish: fill all of it.
    #[inline]
    pub fn data(&mut self, length: usize) -> &mut [u8] {
        let length = usize::try_from(self.left()).map_or(length, |left| length.min(left));
        if length == 0 {
            return &mut [];
        }
        if self.envelope.headers != Headers::Simple && !matches!(self.open, Open::Data { .. }) {
            self.close(0);
            let mark = self.output.mark();
            self.envelope.reserve(self.output);
            self.output.put(&self.position.to_be_bytes());
            self.open = Open::Data { mark };
        }
        self.position += length as u64;
        self.output.room(length)
    }

    /// Appends `length` zeroes, at most what is [`left`](Self::left): where the client takes it, as a
    /// hole without data.
    pub fn hole(&mut self, length: u64) {
        let length = length.min(self.left());
        let all = length == self.end - self.envelope.offset;
        if self.envelope.headers == Headers::Simple || self.whole && !all {
            // A read is no longer than the maximum payload, which is 32 bits.
            self.data(length as usize).fill(0);
            return;
        }
        if length == 0 {
            return;
        }
        let more = length as u32;
        if let Open::Hole { length, .. } = &mut self.open {
            *length += more;
        } else {
            self.close(0);
            let mark = self.output.mark();
            self.envelope.reserve(self.output);
            self.output.put(&self.position.to_be_bytes());
            self.output.room(4);
            self.open = Open::Hole { mark, length: more };
        }
        self.position += length;
    }

    /// Ends the reply. One that does not hold the whole read becomes an error.
    #[inline]
    pub fn finish(mut self) {
        if self.left() != 0 {
            return;
        }
        match self.open {
            Open::None if self.envelope.headers != Headers::Simple => {
                self.envelope.done(true, self.output);
            }
            _ => self.close(wire::REPLY_FLAG_DONE),
        }
        self.answered = true;
    }

    /// Takes the reply back and sends an error in its place, with the first byte that could not be
    /// read if that is known.
    pub fn fail(mut self, errno: Errno, at: Option<u64>, text: &dyn fmt::Display) {
        self.answer(errno, at, text);
    }

    fn answer(&mut self, errno: Errno, at: Option<u64>, text: &dyn fmt::Display) {
        self.output.cut(self.start);
        let at = at.filter(|at| (self.envelope.offset..self.end).contains(at));
        self.envelope.error(errno, at, text, self.output);
        self.answered = true;
    }

    /// Writes the header of the open chunk.
    #[inline]
    fn close(&mut self, flags: u16) {
        match self.open {
            Open::None => {}
            Open::Data { mark } => {
                self.envelope.seal(mark, flags, wire::REPLY_OFFSET_DATA, self.output);
            }
            Open::Hole { mark, length } => {
                let at = mark + self.envelope.header_len() + 8;
                self.output.patch(at, &length.to_be_bytes());
                self.envelope.seal(mark, flags, wire::REPLY_OFFSET_HOLE, self.output);
            }
        }
        self.open = Open::None;
    }
}

impl Drop for ReadReply<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.answered {
            self.answer(Errno::Io, Some(self.position), &"the server could not read all of it");
        }
    }
}
