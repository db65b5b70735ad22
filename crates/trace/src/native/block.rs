//! Blocks: lengths and checksums around a payload.

use std::io::{self, Read, Write};

use crate::zstd::{Compressor, Decompressor};

const HEADER: usize = 20;
/// Twice the size of the largest block of requests. A greater length is corrupt and is not
/// allocated.
const LARGEST_PAYLOAD: u32 = 4 << 20;
const PLAIN: u8 = 0;
const ZSTD: u8 = 1;

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Header = b'H' as isize,
    Volumes = b'V' as isize,
    Requests = b'R' as isize,
    End = b'E' as isize,
}

/// A block as read. Its payload is in the reader's buffer.
pub(super) struct Block {
    pub kind: Kind,
    pub count: u32,
    /// Bytes of the whole block in the file.
    pub size: u64,
}

/// Why a block could not be read.
pub(super) enum Fault {
    Io(io::Error),
    /// The file ends at the start of a block or within one.
    Truncated,
    /// What is wrong with it.
    Corrupt(&'static str),
}

pub(super) struct BlockWriter<W> {
    pub out: W,
    compressor: Compressor,
    stored: Vec<u8>,
}

impl<W: Write> BlockWriter<W> {
    pub fn new(out: W) -> io::Result<Self> {
        let compressor = Compressor::new()?;
        Ok(BlockWriter { out, compressor, stored: Vec::new() })
    }

    pub fn write(&mut self, kind: Kind, count: u32, payload: &[u8]) -> io::Result<()> {
        self.compressor.compress(payload, &mut self.stored)?;
        let is_smaller = self.stored.len() < payload.len();
        let (coding, stored) = if is_smaller { (ZSTD, &self.stored[..]) } else { (PLAIN, payload) };
        let mut header = [0; HEADER];
        header[0] = kind as u8;
        header[1] = coding;
        header[4..8].copy_from_slice(&count.to_le_bytes());
        header[8..12].copy_from_slice(&length(payload)?.to_le_bytes());
        header[12..16].copy_from_slice(&length(stored)?.to_le_bytes());
        let crc = checksum(&header[..16], stored);
        header[16..].copy_from_slice(&crc.to_le_bytes());
        self.out.write_all(&header)?;
        self.out.write_all(stored)
    }
}

fn length(bytes: &[u8]) -> io::Result<u32> {
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= LARGEST_PAYLOAD);
    length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a block of more than 4 MiB"))
}

fn checksum(header: &[u8], stored: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(header);
    crc.update(stored);
    crc.finalize()
}

pub(super) struct BlockReader<R> {
    pub input: R,
    decompressor: Decompressor,
    stored: Vec<u8>,
}

impl<R: Read> BlockReader<R> {
    pub fn new(input: R) -> io::Result<Self> {
        let decompressor = Decompressor::new()?;
        Ok(BlockReader { input, decompressor, stored: Vec::new() })
    }

    /// Reads the next block, with its payload into `payload`.
    pub fn read(&mut self, payload: &mut Vec<u8>) -> Result<Block, Fault> {
        let mut header = [0; HEADER];
        self.input.read_exact(&mut header).map_err(fault)?;
        let word = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (count, raw_len, stored_len, crc) = (word(4), word(8), word(12), word(16));
        if raw_len > LARGEST_PAYLOAD || stored_len > LARGEST_PAYLOAD {
            return Err(Fault::Corrupt("the block's length is impossible"));
        }
        self.stored.resize(stored_len as usize, 0);
        self.input.read_exact(&mut self.stored).map_err(fault)?;
        if checksum(&header[..16], &self.stored) != crc {
            return Err(Fault::Corrupt("the block's checksum does not match"));
        }
        let kind = [Kind::Header, Kind::Volumes, Kind::Requests, Kind::End]
            .into_iter()
            .find(|kind| *kind as u8 == header[0])
            .ok_or(Fault::Corrupt("the block is of an unknown kind"))?;
        payload.clear();
        match header[1] {
            PLAIN => payload.extend_from_slice(&self.stored),
            ZSTD => {
                self.decompressor
                    .decompress(&self.stored, raw_len as usize, payload)
                    .map_err(|_| Fault::Corrupt("the block does not decompress"))?;
            }
            _ => return Err(Fault::Corrupt("the block is coded in an unknown way")),
        }
        if payload.len() != raw_len as usize {
            return Err(Fault::Corrupt("the block's payload has the wrong length"));
        }
        Ok(Block { kind, count, size: HEADER as u64 + u64::from(stored_len) })
    }
}

fn fault(error: io::Error) -> Fault {
    if error.kind() == io::ErrorKind::UnexpectedEof { Fault::Truncated } else { Fault::Io(error) }
}
