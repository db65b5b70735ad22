//! Files of one kind: photographs, songs, messages.

use crate::session::Session;
use std::io;

/// A file of a [`Library`].
struct Stored {
    number: u32,
    bytes: u64,
}

/// Files in some directories, named by number, the oldest first.
pub(crate) struct Library {
    /// Three letters.
    kind: &'static str,
    directories: u32,
    next: u32,
    files: Vec<Stored>,
}

impl Library {
    /// An empty one; its directories still have to be made.
    pub fn new(kind: &'static str) -> Self {
        Library { kind, directories: 0, next: 0, files: Vec::new() }
    }

    /// Makes directories for about this many files: some dozens in each, as on a camera's card, until
    /// there are more directories than that.
    pub fn make_directories(&mut self, session: &mut Session, files: u64) -> io::Result<()> {
        const IN_EACH: u64 = 64;
        let directories = files.div_ceil(IN_EACH).min(files.isqrt().max(IN_EACH));
        self.directories = directories.clamp(1, 900) as u32;
        (0..self.directories).try_for_each(|at| session.create_directory(&self.directory(at)))
    }

    fn directory(&self, at: u32) -> String {
        format!("{:03}{}", 100 + at, self.kind)
    }

    fn path(&self, index: usize) -> String {
        let number = self.files[index].number;
        let directory = self.directory(number % self.directories);
        format!("{directory}/F{number:07}.{}", self.kind)
    }

    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn bytes(&self, index: usize) -> u64 {
        self.files[index].bytes
    }

    /// Creates a file; it is the last one.
    pub fn add(&mut self, session: &mut Session, bytes: u64) -> io::Result<()> {
        self.files.push(Stored { number: self.next, bytes });
        // Seven digits; the file that had the number before is long gone.
        self.next = (self.next + 1) % 10_000_000;
        session.create(&self.path(self.files.len() - 1), bytes)
    }

    pub fn remove(&mut self, session: &mut Session, index: usize) -> io::Result<()> {
        let path = self.path(index);
        self.files.remove(index);
        session.remove(&path)
    }

    /// Removes the oldest files until a new one of this many bytes has room; leaves at least `keep`.
    pub fn make_room(&mut self, session: &mut Session, bytes: u64, keep: usize) -> io::Result<()> {
        while session.room() < bytes && self.files.len() > keep {
            self.remove(session, 0)?;
        }
        Ok(())
    }

    /// Any file; there is at least one.
    pub fn any(&self, session: &mut Session) -> usize {
        session.below(self.files.len() as u64) as usize
    }

    pub fn append(&mut self, session: &mut Session, index: usize, bytes: u64) -> io::Result<()> {
        self.files[index].bytes += bytes;
        session.append(&self.path(index), bytes)
    }

    /// Writes over part of a file, which is longer than that.
    pub fn update(
        &self,
        session: &mut Session,
        index: usize,
        at: u64,
        bytes: u64,
    ) -> io::Result<()> {
        session.update(&self.path(index), at, bytes)
    }

    pub fn read(&self, session: &mut Session, index: usize, at: u64, bytes: u64) -> io::Result<()> {
        session.read(&self.path(index), at, bytes)
    }
}
