//! Files on a device that its software does not change: photographs and songs.

use crate::{library::Library, session::Session};
use std::io;

const SMALLEST: u64 = 256 << 10;
const LARGEST: u64 = 4 << 20;

/// Files that fill the volume before a script begins.
pub(super) struct Ballast {
    pub library: Library,
    /// Bytes left for the script.
    pub spare: u64,
    /// Whether the directories exist.
    begun: bool,
}

impl Ballast {
    /// Leaves `spare` bytes below the utilisation to the script, but at most a third of the volume,
    /// so that there is always something to read.
    pub fn leaving(spare: u64) -> Self {
        Ballast { library: Library::new("MED"), spare, begun: false }
    }

    /// Adds one file; true when there is no room for more.
    pub fn fill(&mut self, session: &mut Session) -> io::Result<bool> {
        if !self.begun {
            self.begun = true;
            self.spare = self.spare.min(session.capacity() / 3);
            let files = session.capacity() / (LARGEST / 3);
            self.library.make_directories(session, files)?;
        }
        let room = session.room().saturating_sub(self.spare);
        if room > 0 {
            let size = session.magnitude(SMALLEST, LARGEST);
            self.library.add(session, size.min(room))?;
        }
        Ok(session.room() <= self.spare)
    }
}

/// Reads a file from start to end, then another, and so on.
#[derive(Default)]
pub(super) struct Playback {
    file: usize,
    at: u64,
}

impl Playback {
    /// Reads the next bytes, or as many as are left in the file.
    pub fn next(&mut self, from: &Library, session: &mut Session, bytes: u64) -> io::Result<()> {
        if self.file >= from.len() || self.at >= from.bytes(self.file) {
            *self = Playback { file: from.any(session), at: 0 };
        }
        from.read(session, self.file, self.at, bytes)?;
        self.at += bytes;
        Ok(())
    }
}
