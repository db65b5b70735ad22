//! How a page and the free bytes beside it are read, and what the error correction had to do.

use std::{fs::File, io, os::unix::fs::FileExt};

use super::{
    BLANK,
    abi::{self, Statistics},
};

/// How pages are read.
#[derive(Debug)]
pub(super) enum Reading {
    /// In one call, which returns the corrections of this read.
    Whole,
    /// In parts. Offset and length of the free out-of-band bytes, and how many bytes hold the record.
    Parts { free: Vec<(usize, usize)>, area: Vec<u8> },
}

impl Reading {
    /// The best way that there is.
    pub(super) fn of(device: &File, whole: bool) -> io::Result<Self> {
        if whole {
            match abi::read(device, 0, &mut [], &mut [0; crate::record::BYTES]) {
                Err(error) if error.raw_os_error() == Some(libc::ENOTTY) => {}
                // Reads report any other error.
                _ => return Ok(Self::Whole),
            }
        }
        let layout = abi::layout(device)?;
        let (mut free, mut left) = (Vec::new(), crate::record::BYTES);
        for [start, length] in layout.free {
            let length = left.min(length as usize);
            free.push((start as usize, length));
            left -= length;
        }
        if left > 0 {
            // The kernel describes only the first eight rows of free bytes.
            return Err(io::Error::other("Linux 6.1 or later is needed for this chip"));
        }
        let end = free.iter().map(|(start, length)| start + length).max().unwrap_or(0);
        Ok(Self::Parts { free, area: vec![BLANK; end] })
    }

    /// Reads a page and its record. With empty `data` it reads the record alone.
    pub(super) fn read(
        &mut self,
        device: &File,
        at: u64,
        data: &mut [u8],
        record: &mut crate::record::Record,
    ) -> io::Result<Statistics> {
        let (free, area) = match self {
            Self::Whole => return abi::read(device, at, data, record),
            Self::Parts { free, area } => (free, area),
        };
        let before = abi::totals(device)?;
        if !data.is_empty() {
            device.read_exact_at(data, at)?;
        }
        abi::read_oob(device, at, area)?;
        let after = abi::totals(device)?;
        let mut rest = record.as_mut_slice();
        for &(start, length) in free.iter() {
            let (here, behind) = rest.split_at_mut(length);
            here.copy_from_slice(&area[start..start + length]);
            rest = behind;
        }
        // The totals do not name the step. The worst case is that all bits were in one.
        let corrected = after.corrected.wrapping_sub(before.corrected);
        let failed = after.failed.wrapping_sub(before.failed);
        Ok(Statistics { failed, corrected, worst: corrected })
    }
}
