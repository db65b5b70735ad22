//! Temporary files between the passes over a trace.

use std::{fs::File, io::Write};

use thermocline_trace::Request;

use super::extent::OPS;
use crate::SimError;

/// Bytes of a request in a file.
pub(super) const REQUEST_BYTES: usize = 31;

/// Those of them that are hashed of a request without a hint: hints came later, and digests stay.
const HASHED: usize = 29;

pub(super) fn encode_request(request: &Request) -> [u8; REQUEST_BYTES] {
    let mut bytes = [0; REQUEST_BYTES];
    bytes[..8].copy_from_slice(&request.time_ns.to_le_bytes());
    bytes[8..16].copy_from_slice(&request.offset.to_le_bytes());
    bytes[16..24].copy_from_slice(&request.len.to_le_bytes());
    bytes[24..28].copy_from_slice(&request.volume.to_le_bytes());
    bytes[28] = request.op as u8;
    bytes[29..].copy_from_slice(&request.hint.to_le_bytes());
    bytes
}

/// Appends what a request adds to the digest of its trace.
pub(super) fn push_hashed(bytes: &mut Vec<u8>, request: &Request) {
    let count = if request.hint == 0 { HASHED } else { REQUEST_BYTES };
    bytes.extend_from_slice(&encode_request(request)[..count]);
}

pub(super) fn decode_request(bytes: &[u8; REQUEST_BYTES]) -> Request {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    Request {
        time_ns: word(0),
        offset: word(8),
        len: word(16),
        volume: u32::from_le_bytes(std::array::from_fn(|i| bytes[24 + i])),
        op: OPS[usize::from(bytes[28])],
        hint: u16::from_le_bytes([bytes[29], bytes[30]]),
    }
}

/// An anonymous temporary file. Batches are large enough to be written without a buffer.
pub(super) struct Spool(File);

impl Spool {
    pub(super) fn create() -> Result<Self, SimError> {
        tempfile::tempfile().map(Self).map_err(spool_error)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), SimError> {
        self.0.write_all(bytes).map_err(spool_error)
    }

    pub(super) fn into_file(self) -> File {
        self.0
    }
}

pub(super) fn spool_error(e: std::io::Error) -> SimError {
    SimError::Failed(format!(
        "temporary file in {}: {e}; point TMPDIR at a folder with more room",
        std::env::temp_dir().display()
    ))
}
