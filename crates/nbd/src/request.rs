//! Decodes requests.

use crate::{
    close::Close,
    context::{Context, Contexts},
    negotiated::{Headers, Negotiated},
    wire::{self, EXTENDED_REQUEST_MAGIC, REQUEST_MAGIC},
};

/// A command of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Send the data of the range.
    Read,
    /// Write the payload to the range.
    Write,
    /// End the session after all earlier requests. There is no reply.
    Disconnect,
    /// Make every acknowledged write durable, on any connection.
    Flush,
    /// Discard the range.
    Trim,
    /// Prefetch the range.
    Cache,
    /// Make the range read as zeroes.
    WriteZeroes,
    /// Report the status of the range.
    BlockStatus,
    /// An unknown command, with its number.
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

    /// True if the command changes the export's content.
    #[must_use]
    #[inline]
    pub fn is_write(self) -> bool {
        matches!(self, Command::Write | Command::Trim | Command::WriteZeroes)
    }
}

/// A request as received; [`Negotiated::check`] decides whether it may be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The command.
    pub command: Command,
    /// Flags of the command (`wire::CMD_FLAG_…`).
    pub flags: u16,
    /// The client's identifier of the request; the reply repeats it.
    pub cookie: u64,
    /// First byte of the range.
    pub offset: u64,
    /// Bytes of the range.
    pub length: u64,
    /// Number of bytes that follow the request in the stream. They must be taken from it even if
    /// the request is refused. At most [`Negotiated::payload_limit`].
    pub payload: u32,
    /// The contexts that a block status must report.
    pub contexts: Contexts,
}

impl Request {
    /// Whether the data must be durable before the reply.
    #[must_use]
    #[inline]
    pub fn fua(&self) -> bool {
        self.flags & wire::CMD_FLAG_FUA != 0
    }

    /// Whether zeroes must be allocated (`NBD_CMD_FLAG_NO_HOLE`).
    #[must_use]
    #[inline]
    pub fn no_hole(&self) -> bool {
        self.flags & wire::CMD_FLAG_NO_HOLE != 0
    }

    /// Whether to refuse with [`Errno::Unsupported`](crate::Errno) if zeroing is no faster than a
    /// write.
    #[must_use]
    #[inline]
    pub fn fast_zero(&self) -> bool {
        self.flags & wire::CMD_FLAG_FAST_ZERO != 0
    }
}

/// The start of a slice of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// Less than a request. Call again with at least this many bytes from the same position.
    NeedMore(usize),
    /// A request, and its length in bytes. [`Request::payload`] bytes follow it.
    Request(Request, usize),
    /// Invalid input that ends the connection.
    Close(Close),
}

impl Negotiated {
    /// Parses the request at the start of `input`. The payload is not copied: use it in the buffer,
    /// or read it from the stream to its destination.
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
        // The payload has the actual length and a list of contexts. Each context may occur once, so
        // long lists need not be parsed.
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

    /// The fields that both forms have in common.
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

    /// Checks that a payload is not too long even to skip.
    #[inline]
    fn payload(&self, length: u64) -> Result<u32, Close> {
        let maximum = self.payload_limit();
        match u32::try_from(length) {
            Ok(payload) if payload <= maximum => Ok(payload),
            _ => Err(Close::Payload { length, maximum }),
        }
    }
}

/// The result for input that is not, or not yet, a request.
#[cold]
fn short(input: &[u8], expected: u32, needed: usize) -> Parsed {
    match input.first_chunk().map(|magic| u32::from_be_bytes(*magic)) {
        Some(found) if found != expected => Parsed::Close(Close::RequestMagic { found, expected }),
        _ => Parsed::NeedMore(needed),
    }
}

/// The `N` bytes of a header at offset `from`.
#[inline(always)]
fn at<const LEN: usize, const N: usize>(head: &[u8; LEN], from: usize) -> [u8; N] {
    std::array::from_fn(|index| head[from + index])
}
