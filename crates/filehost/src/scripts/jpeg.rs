//! One picture compressed and stored every few hundred milliseconds (MiBench' `jpeg`).
//!
//! Slack: several hundred milliseconds for each picture, during its compression: ten folds or more,
//! regularly. The source is read ahead in large requests, and the picture is written at once.

use super::ballast::{Ballast, Playback};
use crate::{
    library::Library,
    script::{MILLISECOND, Script},
    session::Session,
};
use std::io;

const SMALLEST: u64 = 20 << 10;
const LARGEST: u64 = 200 << 10;
/// Source bytes per byte of the compressed picture.
const COMPRESSION: u64 = 6;
const READ_AHEAD: u64 = 32 << 10;

/// Compresses files on the volume; the oldest pictures are deleted to make room.
pub(crate) struct Jpeg {
    ballast: Ballast,
    sources: Playback,
    pictures: Library,
}

impl Jpeg {
    pub fn new() -> Self {
        Jpeg {
            ballast: Ballast::leaving(10 << 20),
            sources: Playback::default(),
            pictures: Library::new("JPG"),
        }
    }
}

impl Script for Jpeg {
    fn fill(&mut self, session: &mut Session) -> io::Result<bool> {
        if !self.ballast.fill(session)? {
            return Ok(false);
        }
        if self.pictures.len() == 0 {
            self.pictures.make_directories(session, self.ballast.spare / (LARGEST / 2))?;
        }
        let size = session.magnitude(SMALLEST, LARGEST).min(session.room());
        self.pictures.add(session, size)?;
        Ok(session.room() == 0)
    }

    fn step(&mut self, session: &mut Session) -> io::Result<()> {
        let size = session.magnitude(SMALLEST, LARGEST);
        for _ in 0..(size * COMPRESSION).div_ceil(READ_AHEAD) {
            self.sources.next(&self.ballast.library, session, READ_AHEAD)?;
        }
        let work = session.between(150 * MILLISECOND, 400 * MILLISECOND);
        session.think(work);
        self.pictures.make_room(session, size, 1)?;
        self.pictures.add(session, size)?;
        session.sync();
        Ok(())
    }
}
