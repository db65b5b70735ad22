//! The reply to a read, built in the output buffer.

use std::fmt;

use super::Envelope;
use crate::{
    errno::Errno,
    negotiated::{Headers, Negotiated},
    output::Output,
    request::Request,
    wire,
};

/// A reply to a read under construction: pieces of data and holes from the first byte to the last,
/// then [`finish`](Self::finish) or [`fail`](Self::fail).
///
/// A failure discards what was built and sends an error instead. So does a reply that is dropped or
/// finished too early.
///
/// The reply to a long read can be built of [parts](Negotiated::reply_read_part). Each is sent
/// before the next is built, so memory is bounded by one part. An error in a later part ends the
/// reply if the protocol has chunks. If the client was promised the whole read at once (simple
/// replies, "don't fragment"), the error cannot be sent: [`fail`](Self::fail) returns false, and
/// the connection must be closed.
#[must_use]
#[derive(Debug)]
pub struct ReadReply<'a> {
    output: &'a mut Output,
    envelope: Envelope,
    /// Start of the reply in the output.
    start: usize,
    /// Offset in the export of the first byte without a piece.
    position: u64,
    /// End of the read.
    end: u64,
    /// Whether the reply must be one chunk of data.
    whole: bool,
    /// Whether the header for the whole read was sent, so that only its bytes follow.
    raw: bool,
    /// Whether this is the first part, or the whole reply.
    first: bool,
    /// Whether this is the last part, or the whole reply.
    last: bool,
    /// The chunk that the next piece may extend.
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
        let mut reply = Self::of(negotiated, request, output);
        reply.raw = reply.envelope.headers == Headers::Simple;
        if reply.raw {
            reply.envelope.simple(0, reply.output);
        }
        reply
    }

    /// Begins the part of `length` bytes from byte `at` of the export on.
    pub(super) fn part(
        negotiated: &Negotiated,
        request: &Request,
        at: u64,
        length: u64,
        output: &'a mut Output,
    ) -> ReadReply<'a> {
        let mut reply = Self::of(negotiated, request, output);
        let simple = reply.envelope.headers == Headers::Simple;
        reply.raw = simple || reply.whole;
        (reply.first, reply.position) = (at == request.offset, at);
        reply.last = at + length >= reply.end;
        reply.end = reply.end.min(at + length);
        if reply.first && simple {
            reply.envelope.simple(0, reply.output);
        } else if reply.first && reply.raw {
            let mark = reply.output.mark();
            reply.envelope.reserve(reply.output);
            reply.output.put(&at.to_be_bytes());
            let (done, kind) = (wire::REPLY_FLAG_DONE, wire::REPLY_OFFSET_DATA);
            reply.envelope.head(mark, 8 + request.length, done, kind, reply.output);
        }
        reply
    }

    #[inline]
    fn of(negotiated: &Negotiated, request: &Request, output: &'a mut Output) -> ReadReply<'a> {
        let start = output.mark();
        ReadReply {
            output,
            envelope: Envelope::of(negotiated, request),
            start,
            position: request.offset,
            end: request.offset.saturating_add(request.length),
            whole: request.flags & wire::CMD_FLAG_DF != 0,
            raw: false,
            first: true,
            last: true,
            open: Open::None,
            answered: false,
        }
    }

    /// Offset in the export of the request's first byte.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.envelope.offset
    }

    /// Offset in the export of the first byte without a piece.
    #[must_use]
    #[inline]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Bytes of the read, or of this part, without a piece.
    #[must_use]
    #[inline]
    pub fn left(&self) -> u64 {
        self.end - self.position
    }

    /// Appends a piece of `length` bytes, at most [`left`](Self::left), and returns its buffer. The
    /// buffer has arbitrary content; the caller must fill all of it.
    #[inline]
    pub fn data(&mut self, length: usize) -> &mut [u8] {
        let length = usize::try_from(self.left()).map_or(length, |left| length.min(left));
        if length == 0 {
            return &mut [];
        }
        if !self.raw && !matches!(self.open, Open::Data { .. }) {
            self.close(0);
            let mark = self.output.mark();
            self.envelope.reserve(self.output);
            self.output.put(&self.position.to_be_bytes());
            self.open = Open::Data { mark };
        }
        self.position += length as u64;
        self.output.room(length)
    }

    /// Appends `length` zeroes, at most [`left`](Self::left); as a hole without data if the client
    /// accepts that.
    pub fn hole(&mut self, length: u64) {
        let length = length.min(self.left());
        let all = length == self.end - self.envelope.offset;
        if self.raw || self.whole && !all {
            // A read is no longer than the 32-bit maximum payload.
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

    /// Ends the reply. An incomplete reply becomes an error.
    #[inline]
    pub fn finish(mut self) {
        if self.left() != 0 {
            return;
        }
        match self.open {
            Open::None if !self.raw => self.envelope.done(true, self.output),
            _ => self.close(if self.last { wire::REPLY_FLAG_DONE } else { 0 }),
        }
        self.answered = true;
    }

    /// Discards the reply, or this part of it, and sends an error instead, with the offset of the
    /// first byte that could not be read, if known. Returns false if an earlier part promised all
    /// of the data; the connection must then be closed.
    pub fn fail(mut self, errno: Errno, at: Option<u64>, text: &dyn fmt::Display) -> bool {
        self.answer(errno, at, text)
    }

    fn answer(&mut self, errno: Errno, at: Option<u64>, text: &dyn fmt::Display) -> bool {
        self.output.cut(self.start);
        self.answered = true;
        if self.raw && !self.first {
            return false;
        }
        let at = at.filter(|at| (self.envelope.offset..self.end).contains(at));
        self.envelope.error(errno, at, text, self.output);
        true
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
