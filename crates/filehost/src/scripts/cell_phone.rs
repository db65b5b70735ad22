//! A cell phone: short records, each made durable at once, with seconds between them.
//!
//! Slack: the requests of one record follow each other in much less time than a fold (20 ms). Then
//! nothing happens for seconds. So every few requests there is a slack of many folds (thesis,
//! chapter 3 and Fig. 3: "several I/O requests have slack times that will allow fold operations").

use super::ballast::Ballast;
use crate::{
    library::Library,
    script::{MILLISECOND, SECOND, Script},
    session::Session,
};
use std::io;

const RECORD: u64 = 256;
const CONTACTS_BYTES: u64 = 128 << 10;
const CALLS_BYTES: u64 = 32 << 10;
const CONTACTS: usize = 0;
const CALLS: usize = 1;
const MESSAGES: u64 = 400;

/// Contacts and calls in files that are updated in place; messages and pictures that are created
/// and deleted.
pub(crate) struct CellPhone {
    ballast: Ballast,
    /// The contacts and the list of calls.
    records: Library,
    messages: Library,
    pictures: Library,
    /// Offset of the next entry in the list of calls.
    next_call: u64,
}

impl CellPhone {
    pub fn new() -> Self {
        CellPhone {
            ballast: Ballast::leaving(6 << 20),
            records: Library::new("SYS"),
            messages: Library::new("SMS"),
            pictures: Library::new("PIC"),
            next_call: 0,
        }
    }

    fn update_contacts(&mut self, session: &mut Session) -> io::Result<()> {
        for _ in 0..session.between(1, 4) {
            let at = session.below(CONTACTS_BYTES / RECORD) * RECORD;
            self.records.update(session, CONTACTS, at, RECORD)?;
        }
        Ok(())
    }

    fn note_call(&mut self, session: &mut Session) -> io::Result<()> {
        self.records.update(session, CALLS, self.next_call, RECORD)?;
        self.next_call = (self.next_call + RECORD) % CALLS_BYTES;
        Ok(())
    }

    fn receive_message(&mut self, session: &mut Session) -> io::Result<()> {
        if self.messages.len() as u64 >= MESSAGES {
            self.messages.remove(session, 0)?;
        }
        let size = session.magnitude(300, 4 << 10);
        self.messages.add(session, size)
    }

    fn take_picture(&mut self, session: &mut Session) -> io::Result<()> {
        let size = session.magnitude(40 << 10, 160 << 10);
        self.pictures.make_room(session, size, 1)?;
        self.pictures.add(session, size)
    }
}

impl Script for CellPhone {
    fn fill(&mut self, session: &mut Session) -> io::Result<bool> {
        if self.records.len() == 0 {
            self.records.make_directories(session, 2)?;
            self.messages.make_directories(session, MESSAGES)?;
            self.pictures.make_directories(session, 64)?;
            self.records.add(session, CONTACTS_BYTES)?;
            self.records.add(session, CALLS_BYTES)?;
        }
        if !self.ballast.fill(session)? {
            return Ok(false);
        }
        if (self.messages.len() as u64) < MESSAGES {
            self.receive_message(session)?;
            return Ok(false);
        }
        let size = session.magnitude(40 << 10, 160 << 10).min(session.room());
        self.pictures.add(session, size)?;
        Ok(session.room() == 0)
    }

    fn step(&mut self, session: &mut Session) -> io::Result<()> {
        match session.below(100) {
            0..35 => self.update_contacts(session)?,
            35..65 => self.note_call(session)?,
            65..94 => self.receive_message(session)?,
            _ => self.take_picture(session)?,
        }
        session.sync();
        let pause = session.exponential(3 * SECOND);
        session.think(300 * MILLISECOND + pause);
        Ok(())
    }
}
