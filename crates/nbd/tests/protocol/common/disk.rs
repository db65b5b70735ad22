//! A tiny disk in memory: its bytes, which blocks of 512 are stored, and what a power loss would
//! keep.

use thermocline_nbd::wire::{STATE_HOLE, STATE_ZERO};

/// Bytes of a block.
pub const BLOCK: u64 = 512;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    pub bytes: Vec<u8>,
    /// The stream that holds each block; `None` if it is not stored.
    pub stored: Vec<Option<u8>>,
    /// The bytes as of the last flush or forced write.
    pub durable: Vec<u8>,
    /// Offset of a byte whose read fails.
    pub broken: Option<u64>,
}

impl Disk {
    pub fn new(size: u64) -> Disk {
        let bytes = vec![0; size as usize];
        Disk {
            durable: bytes.clone(),
            bytes,
            stored: vec![None; size.div_ceil(BLOCK) as usize],
            broken: None,
        }
    }

    /// The bytes of a range, to be overwritten in place.
    pub fn write(&mut self, offset: u64, length: u64, stream: u8) -> &mut [u8] {
        if length != 0 {
            let blocks = (offset / BLOCK) as usize..(offset + length).div_ceil(BLOCK) as usize;
            self.stored[blocks].fill(Some(stream));
        }
        &mut self.bytes[offset as usize..(offset + length) as usize]
    }

    /// Makes a range read as zeroes. Whole blocks in it are no longer stored.
    pub fn trim(&mut self, offset: u64, length: u64) {
        self.bytes[offset as usize..(offset + length) as usize].fill(0);
        let end = offset + length;
        let first = offset.div_ceil(BLOCK) as usize;
        // The last block of the disk may be short.
        let last = if end == self.bytes.len() as u64 { end.div_ceil(BLOCK) } else { end / BLOCK };
        if first < last as usize {
            self.stored[first..last as usize].fill(None);
        }
    }

    pub fn sync(&mut self) {
        self.durable.copy_from_slice(&self.bytes);
    }

    /// Bytes from `offset` to the end of its block, and the stream that holds it.
    pub fn block(&self, offset: u64) -> (u64, Option<u8>) {
        let end = ((offset / BLOCK + 1) * BLOCK).min(self.bytes.len() as u64);
        (end - offset, self.stored[(offset / BLOCK) as usize])
    }

    /// The two statuses of a block: `base:allocation` and the temperature.
    pub fn statuses(stored: Option<u8>) -> [u32; 2] {
        match stored {
            Some(stream) => [0, u32::from(stream) + 1],
            None => [STATE_HOLE | STATE_ZERO, 0],
        }
    }
}
