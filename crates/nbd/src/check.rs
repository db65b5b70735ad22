//! Which requests are refused, and with which error (doc/proto.md, "Error values").

use crate::{
    errno::Errno,
    negotiated::{Headers, Negotiated},
    request::{Command, Request},
    wire,
};

/// Why a request is refused before it has any effect. The text is sent to clients that accept
/// texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// An unknown command.
    #[error("unknown command {0}")]
    Command(u16),
    /// Flags that the command does not have or that were not negotiated.
    #[error("flags {0:#x} do not belong to this command here")]
    Flags(u16),
    /// A write with extended headers without the flag that announces its payload.
    #[error("a write without its payload")]
    NoPayload,
    /// A write to a read-only export.
    #[error("the export is read-only")]
    ReadOnly,
    /// A range that ends beyond the export.
    #[error("{length} bytes at {offset} go beyond the end of the export at {size}")]
    PastEnd {
        /// First byte of the range.
        offset: u64,
        /// Bytes of the range.
        length: u64,
        /// Size of the export in bytes.
        size: u64,
        /// The error required for the command.
        errno: Errno,
    },
    /// A range that does not begin or end at a multiple of the minimum block size.
    #[error("{length} bytes at {offset} are no multiple of the minimum block size {minimum}")]
    Unaligned {
        /// First byte of the range.
        offset: u64,
        /// Bytes of the range.
        length: u64,
        /// Minimum block size in bytes.
        minimum: u32,
    },
    /// A payload, of the request or of its reply, longer than the advertised maximum.
    #[error("{length} bytes are more than the maximum of {maximum}; ask for fewer at a time")]
    TooLong {
        /// Bytes of the range.
        length: u64,
        /// Advertised maximum in bytes.
        maximum: u32,
        /// The error required for the command.
        errno: Errno,
    },
    /// A flush with a range.
    #[error("a flush has neither offset nor length; both must be 0")]
    FlushRange,
    /// A block status without a negotiated metadata context.
    #[error("no metadata context was chosen for this export in the handshake")]
    NoContexts,
    /// A block status with metadata contexts that were not negotiated, or with one twice.
    #[error("the list of metadata contexts is empty, has one twice or one that was not chosen")]
    Contexts,
    /// A block status of an empty range.
    #[error("a block status of no bytes")]
    EmptyStatus,
}

impl Refusal {
    /// The error of the reply.
    #[must_use]
    pub fn errno(&self) -> Errno {
        match self {
            Refusal::ReadOnly => Errno::Permission,
            Refusal::PastEnd { errno, .. } | Refusal::TooLong { errno, .. } => *errno,
            _ => Errno::Invalid,
        }
    }
}

impl Negotiated {
    /// Checks whether the request may be executed. Requests of length zero are allowed and do
    /// nothing. The payload of a refused request must still be taken from the stream.
    ///
    /// # Errors
    ///
    /// The reason; [`reply_refusal`](Self::reply_refusal) sends it to the client.
    #[inline]
    pub fn check(&self, request: &Request) -> Result<(), Refusal> {
        let wrong = request.flags & !self.allowed(request.command);
        if wrong != 0 {
            return Err(match request.command {
                Command::Unknown(number) => Refusal::Command(number),
                _ => Refusal::Flags(wrong),
            });
        }
        let &Request { offset, length, .. } = request;
        let range = match request.command {
            Command::Unknown(number) => return Err(Refusal::Command(number)),
            Command::Disconnect => return Ok(()),
            Command::Flush if (offset, length) == (0, 0) => return Ok(()),
            Command::Flush => return Err(Refusal::FlushRange),
            Command::BlockStatus if self.contexts.is_empty() => return Err(Refusal::NoContexts),
            Command::BlockStatus if request.contexts.is_empty() => return Err(Refusal::Contexts),
            Command::BlockStatus if length == 0 => return Err(Refusal::EmptyStatus),
            _ => offset.checked_add(length),
        };
        let write = request.command.is_write();
        if write && self.is_read_only() {
            return Err(Refusal::ReadOnly);
        }
        if range.is_none_or(|end| end > self.size) {
            let full = matches!(request.command, Command::Write | Command::WriteZeroes);
            let errno = if full { Errno::NoSpace } else { Errno::Invalid };
            return Err(Refusal::PastEnd { offset, length, size: self.size, errno });
        }
        let minimum = self.blocks.minimum;
        if (offset | length) & u64::from(minimum.saturating_sub(1)) != 0 {
            return Err(Refusal::Unaligned { offset, length, minimum });
        }
        let carries = matches!(request.command, Command::Read | Command::Write);
        if carries && length > u64::from(self.blocks.maximum) {
            // Only a read with a reply in chunks may be refused with EOVERFLOW.
            let chunks = request.command == Command::Read && self.headers != Headers::Simple;
            let errno = if chunks { Errno::Overflow } else { Errno::Invalid };
            return Err(Refusal::TooLong { length, maximum: self.blocks.maximum, errno });
        }
        let extended = self.headers == Headers::Extended;
        if extended && request.command == Command::Write && u64::from(request.payload) != length {
            return Err(Refusal::NoPayload);
        }
        Ok(())
    }

    /// The flags that `command` may carry.
    #[inline]
    fn allowed(&self, command: Command) -> u16 {
        // Some clients set FUA on commands that write nothing.
        let own = match command {
            Command::Read if self.headers != Headers::Simple => wire::CMD_FLAG_DF,
            Command::Write if self.headers == Headers::Extended => wire::CMD_FLAG_PAYLOAD_LEN,
            Command::WriteZeroes => wire::CMD_FLAG_NO_HOLE | wire::CMD_FLAG_FAST_ZERO,
            Command::BlockStatus if self.headers == Headers::Extended => {
                wire::CMD_FLAG_REQ_ONE | wire::CMD_FLAG_PAYLOAD_LEN
            }
            Command::BlockStatus => wire::CMD_FLAG_REQ_ONE,
            _ => 0,
        };
        own | wire::CMD_FLAG_FUA
    }
}
