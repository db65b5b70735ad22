//! The volume as `fatfs` sees it.

use crate::host::Host;
use std::{
    cell::RefCell,
    io::{self, Read, Seek, SeekFrom, Write},
};

/// Where FAT32 keeps its state; bit 0 says that the volume was not unmounted.
pub(crate) const STATE: u64 = 0x41;

/// A window on the host's page cache.
pub(crate) struct Disk<'a> {
    pub host: &'a RefCell<Host>,
    /// First byte and length of the volume on the device.
    pub start: u64,
    pub length: u64,
    position: u64,
    /// Whether the volume's state is the host's business.
    mounted: bool,
}

impl<'a> Disk<'a> {
    pub fn new(host: &'a RefCell<Host>, start: u64, length: u64, mounted: bool) -> Self {
        Disk { host, start, length, position: 0, mounted }
    }

    /// `fatfs` is started anew for each operation and would mark and unmark the volume each time.
    /// A host marks it when it is mounted and unmarks it when it is unmounted (Linux since 3.9).
    fn is_state(&self, length: usize) -> bool {
        self.mounted && self.position == STATE && length == 1
    }

    fn left(&self, length: usize) -> usize {
        (self.length.saturating_sub(self.position)).min(length as u64) as usize
    }
}

impl Read for Disk<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.left(buffer.len());
        let buffer = &mut buffer[..most];
        let mut read = 0;
        if self.is_state(most) {
            (buffer[0], read) = (0, 1);
        }
        while read < most {
            let at = self.start + self.position + read as u64;
            read += self.host.borrow_mut().read(at, &mut buffer[read..]);
        }
        self.position += read as u64;
        Ok(read)
    }
}

impl Write for Disk<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let most = self.left(bytes.len());
        let mut written = 0;
        if self.is_state(most) {
            written = 1;
        }
        while written < most {
            let at = self.start + self.position + written as u64;
            written += self.host.borrow_mut().write(at, &bytes[written..most]);
        }
        self.position += written as u64;
        Ok(written)
    }

    /// Closing a file writes nothing back: that is the page cache's to decide.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Disk<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
