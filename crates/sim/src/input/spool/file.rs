//! An anonymous temporary file.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::FileExt,
};

#[derive(Debug)]
pub(super) struct Store(File);

impl Store {
    pub(super) fn create() -> io::Result<Self> {
        tempfile::tempfile().map(Self)
    }

    pub(super) fn write_at(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, at)
    }

    pub(super) fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        self.0.read_exact_at(into, at)
    }

    pub(super) fn cut(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    pub(super) fn share(&self) -> io::Result<Self> {
        // The position is shared too, and only the first pass uses it.
        self.0.try_clone().map(Self)
    }
}

impl Write for Store {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
