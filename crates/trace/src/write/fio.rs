//! Iologs for `fio --read_iolog`.

use super::{text::Text, writer::TraceWriter};
use crate::{Op, Request, TraceError};
use std::{io::Write, path::Path};

/// Versions of the iolog format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FioVersion {
    /// Waits between requests; supported by every fio.
    V2,
    /// A time on every line; supported since fio 3.31.
    V3,
}

/// Writes an iolog. Each volume becomes a file of its name, with `_` for whitespace.
///
/// Times are in microseconds in both versions. In version 2 each wait is computed from the sum of
/// the earlier ones, so that rounding errors do not accumulate. Requests that step back in time are
/// written without a wait, or at the current time.
pub struct FioIologWriter<W> {
    text: Text<W>,
    version: FioVersion,
    files: Vec<String>,
    /// Time of the first request in nanoseconds: time 0 of the log.
    origin_ns: Option<u64>,
    /// The current time in microseconds.
    now_us: u64,
}

impl<W: Write> FioIologWriter<W> {
    /// Writes the header; `path` is for messages.
    ///
    /// # Errors
    /// [`TraceError::Io`] if writing fails.
    pub fn new(writer: W, path: &Path, version: FioVersion) -> Result<Self, TraceError> {
        let mut text = Text::new(writer, path);
        text.push(match version {
            FioVersion::V2 => "fio version 2 iolog\n",
            FioVersion::V3 => "fio version 3 iolog\n",
        });
        text.write()?;
        Ok(FioIologWriter { text, version, files: Vec::new(), origin_ns: None, now_us: 0 })
    }

    /// Adds and opens the files of all volumes up to this one.
    fn open(&mut self, volume: usize, volumes: &[String]) {
        while self.files.len() <= volume {
            let index = self.files.len();
            let mut name: String = volumes
                .get(index)
                .map(|name| name.split_whitespace().collect::<Vec<_>>().join("_"))
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| format!("volume{index}"));
            // Equal names would merge volumes.
            while self.files.contains(&name) {
                name.push('_');
            }
            self.files.push(name);
            self.file_action(index, "add");
            self.file_action(index, "open");
        }
    }

    fn file_action(&mut self, index: usize, action: &str) {
        self.stamp();
        self.text.push(&self.files[index]);
        self.text.push(" ");
        self.text.push(action);
        self.text.push("\n");
    }

    fn stamp(&mut self) {
        if self.version == FioVersion::V3 {
            self.text.number(self.now_us);
            self.text.push(" ");
        }
    }

    fn action(&mut self, index: usize, action: &str, offset: u64, len: u64) {
        self.stamp();
        self.text.push(&self.files[index]);
        self.text.push(action);
        self.text.number(offset);
        self.text.push(" ");
        self.text.number(len);
        self.text.push("\n");
    }
}

impl<W: Write> TraceWriter for FioIologWriter<W> {
    fn write_batch(&mut self, batch: &[Request], volumes: &[String]) -> Result<(), TraceError> {
        for request in batch {
            let volume = request.volume as usize;
            self.open(volume, volumes);
            let origin = *self.origin_ns.get_or_insert(request.time_ns);
            let time_us = request.time_ns.saturating_sub(origin) / 1000;
            if time_us > self.now_us {
                if self.version == FioVersion::V2 {
                    self.action(volume, " wait ", time_us - self.now_us, 0);
                }
                self.now_us = time_us;
            }
            let action = match request.op {
                Op::Read => " read ",
                Op::Write => " write ",
                Op::Trim => " trim ",
                Op::Flush => " sync ",
            };
            self.action(volume, action, request.offset, request.len);
        }
        self.text.write()
    }

    fn finish(&mut self) -> Result<(), TraceError> {
        for index in 0..self.files.len() {
            self.file_action(index, "close");
        }
        self.text.finish()
    }
}
