//! The reply to a block status: the extents of the range for each metadata context.

use std::fmt;

use super::Envelope;
use crate::{
    context::{Context, Contexts},
    errno::Errno,
    negotiated::{Headers, Negotiated},
    output::Output,
    request::Request,
    wire,
};

/// A reply to a block status under construction.
///
/// ```text
/// while let Some(context) = reply.next_context() {
///     while reply.extent(length, status) {}     // from the first byte of the request on
/// }
/// reply.finish();
/// ```
///
/// Adjacent extents of equal status are merged. A reply that is dropped unfinished becomes an
/// error.
#[must_use]
#[derive(Debug)]
pub struct StatusReply<'a> {
    output: &'a mut Output,
    envelope: Envelope,
    /// Start of the reply in the output.
    start: usize,
    /// Bytes of the range.
    length: u64,
    /// Maximum number of extents of one context.
    most: u32,
    /// Contexts that have not been reported yet.
    contexts: Contexts,
    open: Option<Chunk>,
    answered: bool,
}

/// The chunk of one context.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    mark: usize,
    /// Bytes of the range without an extent.
    left: u64,
    /// Number of extents, including the last one, which is not written yet.
    extents: u32,
    last: (u64, u32),
    full: bool,
}

impl<'a> StatusReply<'a> {
    pub(super) fn new(
        negotiated: &Negotiated,
        request: &Request,
        output: &'a mut Output,
    ) -> StatusReply<'a> {
        let envelope = Envelope::of(negotiated, request);
        let each = if envelope.headers == Headers::Extended { 16 } else { 8 };
        let most = wire::MAX_EXTENTS.min(negotiated.blocks.maximum / each);
        let one = request.flags & wire::CMD_FLAG_REQ_ONE != 0;
        StatusReply {
            start: output.mark(),
            output,
            envelope,
            length: request.length,
            most: if one { 1 } else { most },
            contexts: request.contexts,
            open: None,
            answered: false,
        }
    }

    /// Continues with the next context and returns it; the extents of the range follow. `None` if
    /// all contexts were reported.
    pub fn next_context(&mut self) -> Option<Context> {
        // The last chunk stays open, because it carries the flag that ends the reply.
        let context = self.contexts.iter().next()?;
        self.close(0);
        self.contexts = self.contexts.without(context);
        let mark = self.output.mark();
        self.envelope.reserve(self.output);
        self.output.put(&context.id().to_be_bytes());
        if self.envelope.headers == Headers::Extended {
            self.output.room(4);
        }
        self.open = Some(Chunk { mark, left: self.length, extents: 0, last: (0, 0), full: false });
        Some(context)
    }

    /// Reports the status of the next `length` bytes, and returns whether more is needed. Bytes
    /// beyond the range are ignored.
    #[inline]
    pub fn extent(&mut self, length: u64, status: u32) -> bool {
        let Some(chunk) = &mut self.open else { return false };
        let length = length.min(chunk.left);
        if chunk.full || length == 0 {
            return !chunk.full && chunk.left != 0;
        }
        if chunk.extents != 0 && chunk.last.1 == status {
            chunk.last.0 += length;
        } else if chunk.extents == self.most {
            chunk.full = true;
            return false;
        } else {
            if chunk.extents != 0 {
                put(self.envelope.headers, chunk.last, self.output);
            }
            chunk.extents += 1;
            chunk.last = (length, status);
        }
        chunk.left -= length;
        chunk.left != 0
    }

    /// Ends the reply. Contexts without extents get status 0, which is always correct.
    pub fn finish(mut self) {
        while self.next_context().is_some() {}
        if self.open.is_some() {
            self.close(wire::REPLY_FLAG_DONE);
            self.answered = true;
        }
    }

    /// Discards the reply and sends an error instead.
    pub fn fail(mut self, errno: Errno, text: &dyn fmt::Display) {
        self.answer(errno, text);
    }

    fn answer(&mut self, errno: Errno, text: &dyn fmt::Display) {
        self.output.cut(self.start);
        self.envelope.error(errno, None, text, self.output);
        self.answered = true;
    }

    /// Ends the open chunk.
    fn close(&mut self, flags: u16) {
        let Some(chunk) = self.open.take() else { return };
        let last = if chunk.extents == 0 { (self.length, 0) } else { chunk.last };
        put(self.envelope.headers, last, self.output);
        let kind = if self.envelope.headers == Headers::Extended {
            let at = chunk.mark + self.envelope.header_len() + 4;
            self.output.patch(at, &chunk.extents.max(1).to_be_bytes());
            wire::REPLY_BLOCK_STATUS_EXT
        } else {
            wire::REPLY_BLOCK_STATUS
        };
        self.envelope.seal(chunk.mark, flags, kind, self.output);
    }
}

/// Appends an extent.
#[inline]
fn put(headers: Headers, (length, status): (u64, u32), output: &mut Output) {
    if headers == Headers::Extended {
        output.put(&length.to_be_bytes());
        output.put(&u64::from(status).to_be_bytes());
    } else {
        // Not longer than the request, whose length has 32 bits in this form.
        output.put(&(length as u32).to_be_bytes());
        output.put(&status.to_be_bytes());
    }
}

impl Drop for StatusReply<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.answer(Errno::Io, &"the server could not find out its status");
        }
    }
}
