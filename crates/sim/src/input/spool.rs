//! What lies between the passes over a trace: an anonymous temporary file, or memory where there are no files.

#[cfg(not(target_family = "wasm"))]
mod file;
#[cfg(any(target_family = "wasm", test))]
mod memory;

use std::io::{self, Write};

use thermocline_trace::Request;

#[cfg(not(target_family = "wasm"))]
use file::Store;
#[cfg(target_family = "wasm")]
use memory::Store;

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

/// Bytes that are written, then read at any place by several runs. Batches are large enough to need no buffer.
#[derive(Debug)]
pub(super) struct Spool(Store);

impl Spool {
    pub(super) fn create() -> Result<Self, SimError> {
        Store::create().map(Self).map_err(spool_error)
    }

    /// Writes at the end.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), SimError> {
        self.0.write_all(bytes).map_err(spool_error)
    }

    pub(super) fn write_at(&mut self, bytes: &[u8], at: u64) -> Result<(), SimError> {
        self.0.write_at(bytes, at).map_err(spool_error)
    }

    pub(super) fn read_at(&self, into: &mut [u8], at: u64) -> Result<(), SimError> {
        self.0.read_at(into, at).map_err(spool_error)
    }

    pub(super) fn cut(&mut self, length: u64) -> Result<(), SimError> {
        self.0.cut(length).map_err(spool_error)
    }

    /// The same bytes for another run.
    pub(super) fn share(&self) -> Result<Self, SimError> {
        self.0.share().map(Self).map_err(spool_error)
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn spool_error(e: io::Error) -> SimError {
    SimError::Failed(format!(
        "temporary file in {}: {e}; point TMPDIR at a folder with more room",
        std::env::temp_dir().display()
    ))
}
