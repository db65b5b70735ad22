//! Collections of similar files: photographs, songs, messages.

use crate::session::Session;
use std::io;

/// A file of a [`Library`].
struct Stored {
    number: u32,
    bytes: u64,
}

/// Files in several directories, named by number, the oldest first.
pub(crate) struct Library {
    /// Name prefix of three letters.
    kind: &'static str,
    directories: u32,
    next: u32,
    files: Vec<Stored>,
}

impl Library {
    /// An empty library whose directories do not exist yet.
    pub fn new(kind: &'static str) -> Self {
        Library { kind, directories: 0, next: 0, files: Vec::new() }
    }

    /// Creates directories for about this many files: some dozens of files in each, as on a
    /// camera's card, up to a maximum number of directories.
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

    /// Creates a file and appends it to the list.
    pub fn add(&mut self, session: &mut Session, bytes: u64) -> io::Result<()> {
        self.files.push(Stored { number: self.next, bytes });
        // Seven digits. The previous file with the same number was deleted long ago.
        self.next = (self.next + 1) % 10_000_000;
        session.create(&self.path(self.files.len() - 1), bytes)
    }

    pub fn remove(&mut self, session: &mut Session, index: usize) -> io::Result<()> {
        let path = self.path(index);
        self.files.remove(index);
        session.remove(&path)
    }

    /// Deletes the oldest files until a new one of this many bytes fits. Keeps at least `keep`
    /// files.
    pub fn make_room(&mut self, session: &mut Session, bytes: u64, keep: usize) -> io::Result<()> {
        while session.room() < bytes && self.files.len() > keep {
            self.remove(session, 0)?;
        }
        Ok(())
    }

    /// A random file; there must be at least one.
    pub fn any(&self, session: &mut Session) -> usize {
        session.below(self.files.len() as u64) as usize
    }

    pub fn append(&mut self, session: &mut Session, index: usize, bytes: u64) -> io::Result<()> {
        self.files[index].bytes += bytes;
        session.append(&self.path(index), bytes)
    }

    /// Overwrites a part of a file that is longer than the part.
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
