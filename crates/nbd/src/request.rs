//! Requests: from bytes to a command and its range.

use crate::{
    close::Close,
    context::{Context, Contexts},
    negotiated::{Headers, Negotiated},
    wire::{self, EXTENDED_REQUEST_MAGIC, REQUEST_MAGIC},
};

/// What a client wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Send the range.
    Read,
    /// Store the payload.
    Write,
    /// End the session after the requests before it. There is no reply.
    Disconnect,
    /// Make durable every write that was replied to, on any connection.
    Flush,
    /// Forget the range.
    Trim,
    /// Make the range quick to read.
    Cache,
    /// Make the range read as zeroes.
    WriteZeroes,
    /// Tell what is known of the range.
    BlockStatus,
    /// A command of this number, unknown here.
    Unknown(u16),
}

impl Command {
    fn of(number: u16) -> Command {
        match number {
            wire::CMD_READ => Command::Read,
            wire::CMD_WRITE => Command::Write,
            wire::CMD_DISC => Command::Disconnect,
            wire::CMD_FLUSH => Command::Flush,
            wire::CMD_TRIM => Command::Trim,
            wire::CMD_CACHE => Command::Cache,
            wire::CMD_WRITE_ZEROES => Command::WriteZeroes,
            wire::CMD_BLOCK_STATUS => Command::BlockStatus,
            other => Command::Unknown(other),
        }
    }

    /// True if it changes what the export holds.
    #[must_use]
    #[inline]
    pub fn is_write(self) -> bool {
        matches!(self, Command::Write | Command::Trim | Command::WriteZeroes)
    }
}

/// A request, as it was sent; [`Negotiated::check`] says whether it may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to do.
    pub command: Command,
    /// Flags of the command (`wire::CMD_FLAG_…`).
    pub flags: u16,
    /// The client's own number for the request; the reply repeats it.
    pub cookie: u64,
    /// First byte of the range.
    pub offset: u64,
    /// Bytes of the range.
    pub length: u64,
    /// Bytes that follow the request in the stream and have to be taken from it, even if the request
    /// is refused. At most [`Negotiated::payload_limit`].
    pub payload: u32,
    /// What a block status shall tell of.
    pub contexts: Contexts,
}

impl Request {
    /// Durable before the reply.
    #[must_use]
    #[inline]
    pub fn fua(&self) -> bool {
        self.flags & wire::CMD_FLAG_FUA != 0
    }

    /// Zeroes that must take up space (`NBD_CMD_FLAG_NO_HOLE`).
    #[must_use]
    #[inline]
    pub fn no_hole(&self) -> bool {
        self.flags & wire::CMD_FLAG_NO_HOLE != 0
    }

    /// Zero faster than by a write, or refuse with [`Errno::Unsupported`](crate::Errno).
    #[must_use]
    #[inline]
    pub fn fast_zero(&self) -> bool {
        self.flags & wire::CMD_FLAG_FAST_ZERO != 0
    }
}

/// What a slice of the stream begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// Less than a request; call again with this many bytes at least, counted from the same place.
    NeedMore(usize),
    /// A request, and the bytes that it took. [`Request::payload`] bytes follow them.
    Request(Request, usize),
    /// Nothing that can be gone on from.
    Close(Close),
}

impl Negotiated {
    /// Reads the request that `input` begins with. The payload stays where it is: take it from the
    /// buffer in place, or read it from the stream straight to where it belongs.
    #[must_use]
    #[inline]
    pub fn parse(&self, input: &[u8]) -> Parsed {
        if self.headers == Headers::Extended {
            return self.parse_extended(input);
        }
        let Some(head) = input.first_chunk::<28>() else {
            return short(input, REQUEST_MAGIC, 28);
        };
        if u32::from_be_bytes(at(head, 0)) != REQUEST_MAGIC {
            return short(input, REQUEST_MAGIC, 28);
        }
        let mut request = self.head(head);
        request.length = u64::from(u32::from_be_bytes(at(head, 24)));
        if request.command == Command::Write {
            match self.payload(request.length) {
                Ok(payload) => request.payload = payload,
                Err(close) => return Parsed::Close(close),
            }
        }
        Parsed::Request(request, head.len())
    }

    fn parse_extended(&self, input: &[u8]) -> Parsed {
        let Some((head, rest)) = input.split_first_chunk::<32>() else {
            return short(input, EXTENDED_REQUEST_MAGIC, 32);
        };
        if u32::from_be_bytes(at(head, 0)) != EXTENDED_REQUEST_MAGIC {
            return short(input, EXTENDED_REQUEST_MAGIC, 32);
        }
        let mut request = self.head(head);
        request.length = u64::from_be_bytes(at(head, 24));
        if request.flags & wire::CMD_FLAG_PAYLOAD_LEN == 0 {
            return Parsed::Request(request, head.len());
        }
        match self.payload(request.length) {
            Ok(payload) => request.payload = payload,
            Err(close) => return Parsed::Close(close),
        }
        if request.command != Command::BlockStatus {
            return Parsed::Request(request, head.len());
        }
        // The payload is the true length and a list of contexts. Each stands in it once at most, so
        // there is no need to look at long lists.
        request.contexts = Contexts::NONE;
        let length = request.payload as usize;
        if !(8..=8 + 4 * Context::ALL.len()).contains(&length) || !length.is_multiple_of(4) {
            return Parsed::Request(request, head.len());
        }
        let Some((effect, list)) = rest.get(..length).and_then(|list| list.split_first_chunk())
        else {
            return Parsed::NeedMore(head.len() + length);
        };
        request.payload = 0;
        request.length = u64::from_be_bytes(*effect);
        request.contexts = self.contexts.select(list.as_chunks().0).unwrap_or(Contexts::NONE);
        Parsed::Request(request, head.len() + length)
    }

    /// What both forms have in the same place.
    #[inline]
    fn head<const N: usize>(&self, head: &[u8; N]) -> Request {
        Request {
            command: Command::of(u16::from_be_bytes(at(head, 6))),
            flags: u16::from_be_bytes(at(head, 4)),
            cookie: u64::from_be_bytes(at(head, 8)),
            offset: u64::from_be_bytes(at(head, 16)),
            length: 0,
            payload: 0,
            contexts: self.contexts,
        }
    }

    /// A payload of that length, if it is not too long even to be skipped.
    #[inline]
    fn payload(&self, length: u64) -> Result<u32, Close> {
        let maximum = self.payload_limit();
        match u32::try_from(length) {
            Ok(payload) if payload <= maximum => Ok(payload),
            _ => Err(Close::Payload { length, maximum }),
        }
    }
}

/// What to do with input that is no request, or not yet.
#[cold]
fn short(input: &[u8], expected: u32, needed: usize) -> Parsed {
    match input.first_chunk().map(|magic| u32::from_be_bytes(*magic)) {
        Some(found) if found != expected => Parsed::Close(Close::RequestMagic { found, expected }),
        _ => Parsed::NeedMore(needed),
    }
}

/// The `N` bytes of a header from `from` on.
#[inline(always)]
fn at<const LEN: usize, const N: usize>(head: &[u8; LEN], from: usize) -> [u8; N] {
    std::array::from_fn(|index| head[from + index])
}
