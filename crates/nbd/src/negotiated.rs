//! The result of a handshake.

use crate::{
    context::Contexts,
    export::{BlockSizes, Export},
    wire::{self, DEFAULT_MAX_PAYLOAD},
};

/// The form of requests and replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Headers {
    /// Compact requests, simple replies.
    #[default]
    Simple,
    /// Compact requests, structured replies.
    Structured,
    /// Extended requests and replies, with 64-bit lengths.
    Extended,
}

/// The parameters of one connection's transmission phase; small and copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Negotiated {
    /// Index of the export in the list of [`Exports`](crate::Exports).
    pub export: usize,
    /// The form of requests and replies.
    pub headers: Headers,
    /// The contexts that a block status reports.
    pub contexts: Contexts,
    /// The transmission flags sent to the client.
    pub flags: u16,
    /// Size of the export in bytes.
    pub size: u64,
    /// Sizes of requests.
    pub blocks: BlockSizes,
}

impl Negotiated {
    pub(crate) fn new(
        index: usize,
        export: &Export,
        headers: Headers,
        contexts: Contexts,
    ) -> Negotiated {
        let flags = export.flags(headers, contexts);
        Negotiated {
            export: index,
            headers,
            contexts,
            flags,
            size: export.size,
            blocks: export.blocks,
        }
    }

    /// True if the export is read-only.
    #[must_use]
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.flags & wire::SEND_READ_ONLY != 0
    }

    /// Maximum length in bytes of a payload that is read, even if only to discard it. A longer one
    /// ends the connection.
    #[must_use]
    #[inline]
    pub fn payload_limit(&self) -> u32 {
        self.blocks.maximum.max(DEFAULT_MAX_PAYLOAD)
    }
}
