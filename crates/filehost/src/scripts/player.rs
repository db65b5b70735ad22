//! mp3, mpeg and mad: one medium is played while another is written.
//!
//! * `mp3`: a song is read at 128 kbit/s, 32 KiB every two seconds, while a download is written
//!   sequentially. Slack: fractions of a second, irregular, after every write. The writes are the
//!   most sequential of all, so the thesis gains most here.
//! * `mpeg`: a film is read and another recorded at 1.2 Mbit/s. Slack: nearly constant between two
//!   chunks of the steady stream, and therefore predictable.
//! * `mad`: songs are decoded as fast as the processor can, and the sound is written through the
//!   page cache. Slack: only that of the timer. The host writes back in long bursts of large
//!   requests, each of which takes as long as several folds. Between bursts the decoder works.

use super::ballast::{Ballast, Playback};
use crate::{
    library::Library,
    script::{MILLISECOND, Script},
    session::Session,
};
use std::{io, ops::Range};

const WINDOW: u64 = 32 << 10;

/// Plays one medium and writes another.
pub(crate) struct Player {
    ballast: Ballast,
    playing: Playback,
    written: Library,
    /// Bytes of a written file.
    size: Range<u64>,
    /// Bytes written at a time.
    chunk: Range<u64>,
    /// Nanoseconds between two chunks.
    pause: Range<u64>,
    /// Number of chunks for each window read.
    chunks: u64,
    /// Whether each chunk is made durable.
    durable: bool,
    /// Bytes left in the file being written.
    left: u64,
    /// Chunks left until the next window.
    until_window: u64,
}

impl Player {
    pub fn mp3() -> Self {
        Player {
            size: 2 << 20..5 << 20,
            chunk: 16 << 10..48 << 10,
            pause: 100 * MILLISECOND..700 * MILLISECOND,
            chunks: 5,
            durable: true,
            ..Self::new(12 << 20)
        }
    }

    pub fn mpeg() -> Self {
        Player {
            size: 2 << 20..4 << 20,
            chunk: WINDOW..WINDOW + 1,
            pause: 160 * MILLISECOND..165 * MILLISECOND,
            chunks: 1,
            durable: true,
            ..Self::new(16 << 20)
        }
    }

    pub fn mad() -> Self {
        Player {
            size: 2 << 20..4 << 20,
            // Two seconds of 16-bit stereo sound, decoded in a third of a second.
            chunk: 352_800..352_801,
            pause: 300 * MILLISECOND..360 * MILLISECOND,
            chunks: 1,
            durable: false,
            ..Self::new(12 << 20)
        }
    }

    fn new(spare: u64) -> Self {
        Player {
            ballast: Ballast::leaving(spare),
            playing: Playback::default(),
            written: Library::new("NEW"),
            size: 0..0,
            chunk: 0..0,
            pause: 0..0,
            chunks: 0,
            durable: false,
            left: 0,
            until_window: 0,
        }
    }
}

fn within(session: &mut Session, range: &Range<u64>) -> u64 {
    session.between(range.start, range.end)
}

impl Script for Player {
    fn fill(&mut self, session: &mut Session) -> io::Result<bool> {
        if !self.ballast.fill(session)? {
            return Ok(false);
        }
        if self.written.len() == 0 {
            self.written.make_directories(session, self.ballast.spare / self.size.start)?;
        }
        let size = within(session, &self.size).min(session.room());
        self.written.add(session, size)?;
        Ok(session.room() == 0)
    }

    fn step(&mut self, session: &mut Session) -> io::Result<()> {
        if self.until_window == 0 {
            self.until_window = self.chunks;
            self.playing.next(&self.ballast.library, session, WINDOW)?;
        }
        self.until_window -= 1;
        let pause = within(session, &self.pause);
        session.think(pause);
        let chunk = within(session, &self.chunk);
        self.written.make_room(session, chunk, 1)?;
        if self.left == 0 {
            self.left = within(session, &self.size);
            self.written.add(session, chunk)?;
        } else {
            self.written.append(session, self.written.len() - 1, chunk)?;
        }
        self.left = self.left.saturating_sub(chunk);
        if self.durable {
            session.sync();
        }
        Ok(())
    }
}
