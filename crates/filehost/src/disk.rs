//! The volume as a disk for `fatfs`.

use crate::host::Host;
use std::{
    cell::RefCell,
    io::{self, Read, Seek, SeekFrom, Write},
};

/// Offset of FAT32's state byte; bit 0 means that the volume was not unmounted.
pub(crate) const STATE: u64 = 0x41;

/// Access to the volume through the host's page cache.
pub(crate) struct Disk<'a> {
    pub host: &'a RefCell<Host>,
    /// First byte and length of the volume on the device.
    pub start: u64,
    pub length: u64,
    position: u64,
    /// Whether the host maintains the volume's state byte.
    mounted: bool,
}

impl<'a> Disk<'a> {
    pub fn new(host: &'a RefCell<Host>, start: u64, length: u64, mounted: bool) -> Self {
        Disk { host, start, length, position: 0, mounted }
    }

    /// Whether a write only changes the state byte of a mounted volume. `fatfs` is opened anew for
    /// each operation and would change it each time. A host sets it at mount and clears it at
    /// unmount (Linux since 3.9).
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

    /// Closing a file writes nothing back; the page cache decides that.
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
