//! Temporary files between the passes over a trace.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Seek, SeekFrom, Write},
};

use thermocline_trace::Request;

use super::extent::OPS;
use crate::SimError;

/// Bytes of a request in a file.
pub(super) const REQUEST_BYTES: usize = 29;

pub(super) fn encode_request(request: &Request) -> [u8; REQUEST_BYTES] {
    let mut bytes = [0; REQUEST_BYTES];
    bytes[..8].copy_from_slice(&request.time_ns.to_le_bytes());
    bytes[8..16].copy_from_slice(&request.offset.to_le_bytes());
    bytes[16..24].copy_from_slice(&request.len.to_le_bytes());
    bytes[24..28].copy_from_slice(&request.volume.to_le_bytes());
    bytes[28] = request.op as u8;
    bytes
}

pub(super) fn decode_request(bytes: &[u8; REQUEST_BYTES]) -> Request {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    Request {
        time_ns: word(0),
        offset: word(8),
        len: word(16),
        volume: u32::from_le_bytes(std::array::from_fn(|i| bytes[24 + i])),
        op: OPS[usize::from(bytes[28])],
    }
}

/// A temporary file that nobody else sees, written once and read once.
pub(super) struct Spool(BufWriter<File>);

impl Spool {
    pub(super) fn create() -> Result<Self, SimError> {
        let file = tempfile::tempfile().map_err(spool_error)?;
        Ok(Self(BufWriter::with_capacity(1 << 20, file)))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), SimError> {
        self.0.write_all(bytes).map_err(spool_error)
    }

    pub(super) fn read_back(self) -> Result<BufReader<File>, SimError> {
        let mut file = self.0.into_inner().map_err(|e| spool_error(e.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(spool_error)?;
        Ok(BufReader::with_capacity(1 << 20, file))
    }
}

pub(super) fn spool_error(e: std::io::Error) -> SimError {
    SimError::Failed(format!(
        "temporary file in {}: {e}; point TMPDIR at a folder with more room",
        std::env::temp_dir().display()
    ))
}
