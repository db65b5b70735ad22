//! An event recorder: nothing for a long time, then hundreds of events at once.
//!
//! Slack: nearly none. Each event is made durable by a few requests before the next one, which
//! already waits, so gaps inside an influx stay below a few milliseconds. Only between influxes
//! there are a few long slacks (thesis, section 6.4: "it records event data to Flash upon sudden
//! influx of events", hence the smallest gain of all).

use super::ballast::Ballast;
use crate::{
    library::Library,
    script::{MILLISECOND, SECOND, Script},
    session::Session,
};
use std::io;

const LOG_BYTES: u64 = 128 << 10;

/// Appends events to a log file, begins a new one when it is full, and deletes the oldest.
pub(crate) struct EventRecorder {
    ballast: Ballast,
    logs: Library,
    /// Events left in this influx.
    waiting: u64,
}

impl EventRecorder {
    pub fn new() -> Self {
        EventRecorder { ballast: Ballast::leaving(12 << 20), logs: Library::new("LOG"), waiting: 0 }
    }

    fn record(&mut self, session: &mut Session) -> io::Result<()> {
        let event = session.between(256, 2048);
        let log = self.logs.len() - 1;
        if self.logs.bytes(log) + event <= LOG_BYTES {
            self.logs.append(session, log, event)
        } else {
            self.logs.make_room(session, LOG_BYTES, 1)?;
            self.logs.add(session, event)
        }
    }
}

impl Script for EventRecorder {
    fn fill(&mut self, session: &mut Session) -> io::Result<bool> {
        if !self.ballast.fill(session)? {
            return Ok(false);
        }
        if self.logs.len() == 0 {
            self.logs.make_directories(session, self.ballast.spare / LOG_BYTES)?;
        }
        let size = LOG_BYTES.min(session.room());
        self.logs.add(session, size)?;
        Ok(session.room() == 0)
    }

    fn step(&mut self, session: &mut Session) -> io::Result<()> {
        if self.waiting == 0 {
            self.waiting = session.between(200, 1000);
            let quiet = session.exponential(60 * SECOND);
            session.think(5 * SECOND + quiet);
        }
        self.waiting -= 1;
        self.record(session)?;
        session.sync();
        let pause = session.below(MILLISECOND);
        session.think(pause);
        Ok(())
    }
}
