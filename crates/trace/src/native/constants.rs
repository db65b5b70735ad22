//! Numbers of the native format.

/// The first bytes of a native trace.
pub const MAGIC: [u8; 8] = *b"TCTRACE1";

/// The revision in the header. Readers refuse others.
pub(super) const REVISION: u64 = 1;

/// Requests in a block: about 64 KiB before compression.
pub(super) const BLOCK_REQUESTS: usize = 16 << 10;
