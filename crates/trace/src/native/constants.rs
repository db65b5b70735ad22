//! Numbers of the native format.

/// The first bytes of a native trace.
pub const MAGIC: [u8; 8] = *b"TCTRACE1";

/// The revision written in the header; readers refuse others.
pub(super) const REVISION: u64 = 1;

/// Requests of a block: some 64 KiB before compression.
pub(super) const BLOCK_REQUESTS: usize = 16 << 10;
