//! A fax machine: pages written line by line as they arrive over the telephone.
//!
//! A page arrives in strips of lines a few milliseconds apart. Changing the sheet between pages
//! takes seconds, and pauses between calls are longer. Strips need not be durable at once: the page
//! cache writes back after some seconds. If each strip were synced, most folds would concern blocks
//! with metadata, which the thesis does not have.
//!
//! Slack: between write-backs, and between the large requests of one.

use super::ballast::Ballast;
use crate::{
    library::Library,
    script::{MILLISECOND, SECOND, Script},
    session::Session,
};
use std::io;

const SMALLEST_PAGE: u64 = 16 << 10;
const LARGEST_PAGE: u64 = 96 << 10;

/// Receives calls of several pages each; the oldest pages are deleted to make room.
pub(crate) struct Fax {
    ballast: Ballast,
    pages: Library,
    /// Pages left in this call, and bytes left in this page.
    pages_left: u64,
    bytes_left: u64,
}

impl Fax {
    pub fn new() -> Self {
        Fax {
            ballast: Ballast::leaving(8 << 20),
            pages: Library::new("FAX"),
            pages_left: 0,
            bytes_left: 0,
        }
    }

    fn turn_page(&mut self, session: &mut Session) -> io::Result<()> {
        if self.pages_left == 0 {
            self.pages_left = session.between(1, 6);
            let quiet = session.exponential(60 * SECOND);
            session.think(quiet);
        }
        self.pages_left -= 1;
        let change = session.between(2 * SECOND, 5 * SECOND);
        session.think(change);
        self.bytes_left = session.magnitude(SMALLEST_PAGE, LARGEST_PAGE);
        self.pages.make_room(session, self.bytes_left, 1)?;
        let strip = self.strip(session);
        self.pages.add(session, strip)
    }

    /// Bytes of the next strip: several lines, run-length coded.
    fn strip(&mut self, session: &mut Session) -> u64 {
        let strip = session.between(500, 2500).min(self.bytes_left);
        self.bytes_left -= strip;
        strip
    }
}

impl Script for Fax {
    fn fill(&mut self, session: &mut Session) -> io::Result<bool> {
        if !self.ballast.fill(session)? {
            return Ok(false);
        }
        if self.pages.len() == 0 {
            self.pages.make_directories(session, self.ballast.spare / (LARGEST_PAGE / 2))?;
        }
        let size = session.magnitude(SMALLEST_PAGE, LARGEST_PAGE).min(session.room());
        self.pages.add(session, size)?;
        Ok(session.room() == 0)
    }

    fn step(&mut self, session: &mut Session) -> io::Result<()> {
        if self.bytes_left == 0 {
            self.turn_page(session)?;
        } else {
            let strip = self.strip(session);
            self.pages.append(session, self.pages.len() - 1, strip)?;
        }
        let pause = session.between(MILLISECOND, 8 * MILLISECOND);
        session.think(pause);
        Ok(())
    }
}
