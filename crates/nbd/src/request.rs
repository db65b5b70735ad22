//! Requests: from bytes to a command and its range.

use crate::{
    close::Close,
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
    /// A request of [`Negotiated::request_len`] bytes, which [`Request::payload`] bytes follow.
    Request(Request),
    /// Nothing that can be gone on from.
    Close(Close),
}

impl Negotiated {
    /// Reads the request that `input` begins with. The payload stays where it is: take it from the
    /// buffer in place, or read it from the stream straight to where it belongs.
    #[must_use]
    #[inline]
    pub fn parse(&self, input: &[u8]) -> Parsed {
        let extended = self.headers == Headers::Extended;
        let expected = if extended { EXTENDED_REQUEST_MAGIC } else { REQUEST_MAGIC };
        if let Some(magic) = input.first_chunk() {
            let found = u32::from_be_bytes(*magic);
            if found != expected {
                return Parsed::Close(Close::RequestMagic { found, expected });
            }
        }
        let length = if extended {
            let Some(head) = input.first_chunk::<32>() else { return Parsed::NeedMore(32) };
            u64::from_be_bytes(at(head, 24))
        } else {
            let Some(head) = input.first_chunk::<28>() else { return Parsed::NeedMore(28) };
            u64::from(u32::from_be_bytes(at(head, 24)))
        };
        let Some(head) = input.first_chunk::<24>() else { return Parsed::NeedMore(28) };
        let flags = u16::from_be_bytes(at(head, 4));
        let command = Command::of(u16::from_be_bytes(at(head, 6)));
        let follows = match self.headers {
            Headers::Extended => flags & wire::CMD_FLAG_PAYLOAD_LEN != 0,
            Headers::Simple | Headers::Structured => command == Command::Write,
        };
        let maximum = self.payload_limit();
        let payload = match u32::try_from(length) {
            _ if !follows => 0,
            Ok(payload) if payload <= maximum => payload,
            _ => return Parsed::Close(Close::Payload { length, maximum }),
        };
        Parsed::Request(Request {
            command,
            flags,
            cookie: u64::from_be_bytes(at(head, 8)),
            offset: u64::from_be_bytes(at(head, 16)),
            length,
            payload,
        })
    }
}

/// The `N` bytes of a header from `from` on.
#[inline(always)]
fn at<const LEN: usize, const N: usize>(head: &[u8; LEN], from: usize) -> [u8; N] {
    std::array::from_fn(|index| head[from + index])
}
