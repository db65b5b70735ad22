//! s1, s2, s3: files of a range of sizes created and deleted at constant utilisation, as with a
//! digital camera (thesis, chapters 1 and 5: "a few media files of sizes varying between 2KB and
//! 32MB were created and deleted").

use crate::{
    library::Library,
    script::{SECOND, Script},
    session::Session,
};
use std::io;

/// Creates a file whenever enough others were deleted to make room.
pub(crate) struct Churn {
    library: Library,
    smallest: u64,
    largest: u64,
    /// Share of the operations that overwrite or append to a file.
    edits: f64,
    /// Maximum number of operations between two syncs.
    group: u64,
}

impl Churn {
    pub fn huge() -> Self {
        Self::of("VID", 4 << 20, 32 << 20, 0.0, 1)
    }

    pub fn medium() -> Self {
        Self::of("IMG", 64 << 10, 2 << 20, 0.1, 4)
    }

    pub fn small() -> Self {
        Self::of("DOC", 2 << 10, 32 << 10, 0.2, 32)
    }

    fn of(kind: &'static str, smallest: u64, largest: u64, edits: f64, group: u64) -> Self {
        Churn { library: Library::new(kind), smallest, largest, edits, group }
    }

    fn create(&mut self, session: &mut Session) -> io::Result<()> {
        // The last file has the size that is left to write.
        let size = session.magnitude(self.smallest, self.largest).min(session.left()).max(1);
        while session.room() < size && self.library.len() > 0 {
            let victim = self.library.any(session);
            self.library.remove(session, victim)?;
        }
        let size = size.min(session.room());
        self.library.add(session, size)
    }

    fn edit(&mut self, session: &mut Session) -> io::Result<()> {
        let file = self.library.any(session);
        let bytes = self.library.bytes(file);
        let part = (bytes / 8).max(1);
        if session.chance(0.5) && session.room() > 2 * part {
            return self.library.append(session, file, part);
        }
        let at = session.below(bytes - part + 1);
        self.library.update(session, file, at, part)
    }
}

impl Script for Churn {
    fn fill(&mut self, session: &mut Session) -> io::Result<bool> {
        if self.library.len() == 0 {
            let files = session.capacity() / (self.largest / 3);
            self.library.make_directories(session, files)?;
        }
        let room = session.room();
        if room > 0 {
            let size = session.magnitude(self.smallest, self.largest);
            self.library.add(session, size.min(room))?;
        }
        Ok(session.room() == 0)
    }

    fn step(&mut self, session: &mut Session) -> io::Result<()> {
        for _ in 0..session.between(0, self.group) + 1 {
            if self.library.len() > 0 && session.chance(self.edits) {
                self.edit(session)?;
            } else {
                self.create(session)?;
            }
        }
        session.sync();
        let pause = session.exponential(2 * SECOND);
        session.think(pause);
        Ok(())
    }
}
