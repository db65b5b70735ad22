//! Encodes replies.

mod read;
mod status;

use std::fmt;

pub use self::{read::ReadReply, status::StatusReply};
use crate::{
    check::Refusal,
    errno::Errno,
    negotiated::{Headers, Negotiated},
    output::Output,
    request::{Command, Request},
    wire,
};

/// The fields that all chunks of one reply share.
#[derive(Clone, Copy, Debug)]
struct Envelope {
    headers: Headers,
    cookie: u64,
    offset: u64,
}

impl Envelope {
    #[inline]
    fn of(negotiated: &Negotiated, request: &Request) -> Envelope {
        Envelope { headers: negotiated.headers, cookie: request.cookie, offset: request.offset }
    }

    /// Appends a simple reply without data.
    #[inline]
    fn simple(&self, error: u32, output: &mut Output) {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&wire::SIMPLE_REPLY_MAGIC.to_be_bytes());
        bytes[4..8].copy_from_slice(&error.to_be_bytes());
        bytes[8..].copy_from_slice(&self.cookie.to_be_bytes());
        output.put(&bytes);
    }

    /// Appends room for the header of a chunk.
    #[inline]
    fn reserve(&self, output: &mut Output) {
        output.room(self.header_len());
    }

    /// Length of a chunk's header in bytes.
    #[inline]
    fn header_len(&self) -> usize {
        if self.headers == Headers::Extended { 32 } else { 20 }
    }

    /// Writes the header of the chunk that begins at `mark` and ends where the output ends.
    #[inline]
    fn seal(&self, mark: usize, flags: u16, kind: u16, output: &mut Output) {
        let length = (output.mark() - mark - self.header_len()) as u64;
        self.head(mark, length, flags, kind, output);
    }

    /// Writes the header of the chunk at `mark`, which has `length` bytes.
    #[inline]
    fn head(&self, mark: usize, length: u64, flags: u16, kind: u16, output: &mut Output) {
        let extended = self.headers == Headers::Extended;
        let magic =
            if extended { wire::EXTENDED_REPLY_MAGIC } else { wire::STRUCTURED_REPLY_MAGIC };
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&magic.to_be_bytes());
        bytes[4..6].copy_from_slice(&flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&kind.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        if extended {
            bytes[16..24].copy_from_slice(&self.offset.to_be_bytes());
            bytes[24..].copy_from_slice(&length.to_be_bytes());
            output.patch(mark, &bytes);
        } else {
            // Payloads are bounded by the export's maximum and by MAX_EXTENTS.
            bytes[16..20].copy_from_slice(&(length as u32).to_be_bytes());
            output.patch(mark, &bytes[..20]);
        }
    }

    /// Appends a reply for success.
    #[inline]
    fn done(&self, chunked: bool, output: &mut Output) {
        if chunked {
            let mark = output.mark();
            self.reserve(output);
            self.seal(mark, wire::REPLY_FLAG_DONE, wire::REPLY_NONE, output);
        } else {
            self.simple(0, output);
        }
    }

    /// Appends a reply that ends with an error.
    #[cold]
    fn error(&self, errno: Errno, at: Option<u64>, text: &dyn fmt::Display, output: &mut Output) {
        if self.headers == Headers::Simple {
            self.simple(errno.number(), output);
            return;
        }
        let mark = output.mark();
        self.reserve(output);
        output.put(&errno.number().to_be_bytes());
        let length = output.mark();
        output.put(&[0; 2]);
        // At most MAX_STRING, which fits.
        let bytes = output.text(text) as u16;
        output.patch(length, &bytes.to_be_bytes());
        let mut kind = wire::REPLY_ERROR;
        if let Some(at) = at {
            output.put(&at.to_be_bytes());
            kind = wire::REPLY_ERROR_OFFSET;
        }
        self.seal(mark, wire::REPLY_FLAG_DONE, kind, output);
    }
}

impl Negotiated {
    /// Appends the reply to a successful request without data. Not for a disconnect, which has no
    /// reply, nor for a read or block status of a non-empty range.
    #[inline]
    pub fn reply_done(&self, request: &Request, output: &mut Output) {
        match request.command {
            Command::Read => self.reply_read(request, output).finish(),
            Command::BlockStatus => self.reply_status(request, output).finish(),
            // A simple reply is also allowed with structured ones, and is shorter.
            _ => {
                let chunked = self.headers == Headers::Extended;
                Envelope::of(self, request).done(chunked, output);
            }
        }
    }

    /// Appends the reply to a failed request. Clients that accept texts get up to 4096 bytes of
    /// `text`.
    pub fn reply_error(
        &self,
        request: &Request,
        errno: Errno,
        text: &dyn fmt::Display,
        output: &mut Output,
    ) {
        Envelope::of(self, request).error(errno, None, text, output);
    }

    /// [`reply_error`](Self::reply_error) with the offset of the first byte that failed. An offset
    /// outside the request is ignored.
    pub fn reply_error_at(
        &self,
        request: &Request,
        errno: Errno,
        at: u64,
        text: &dyn fmt::Display,
        output: &mut Output,
    ) {
        let within = at.checked_sub(request.offset).is_some_and(|from| from < request.length);
        let ranged =
            !matches!(request.command, Command::Flush | Command::Disconnect | Command::Unknown(_));
        let at = (within && ranged).then_some(at);
        Envelope::of(self, request).error(errno, at, text, output);
    }

    /// Appends the reply to a request that [`check`](Self::check) refused.
    pub fn reply_refusal(&self, request: &Request, refusal: &Refusal, output: &mut Output) {
        self.reply_error(request, refusal.errno(), refusal, output);
    }

    /// Begins the reply to a read that passed [`check`](Self::check).
    #[inline]
    pub fn reply_read<'a>(&self, request: &Request, output: &'a mut Output) -> ReadReply<'a> {
        ReadReply::new(self, request, output)
    }

    /// Begins a part of the reply to a read that passed [`check`](Self::check): `length` bytes from
    /// byte `at` of the export. Parts follow each other; the last one ends where the read does.
    pub fn reply_read_part<'a>(
        &self,
        request: &Request,
        at: u64,
        length: u64,
        output: &'a mut Output,
    ) -> ReadReply<'a> {
        ReadReply::part(self, request, at, length, output)
    }

    /// Whether an error can still be sent after the first part of this read's reply.
    #[must_use]
    pub fn can_fail_late(&self, request: &Request) -> bool {
        self.headers != Headers::Simple && request.flags & wire::CMD_FLAG_DF == 0
    }

    /// Begins the reply to a block status that passed [`check`](Self::check).
    pub fn reply_status<'a>(&self, request: &Request, output: &'a mut Output) -> StatusReply<'a> {
        StatusReply::new(self, request, output)
    }
}
