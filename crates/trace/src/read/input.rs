//! The decompressed bytes of one trace, in a buffer from which readers take slices.

use std::{
    io::{self, BufRead, Read},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::{
    files,
    unpack::{Passed, Unpacked, explain, unpacked},
};
use crate::{Place, TraceError};

/// Initial size of the buffer: large enough to make system calls rare, small enough for the
/// second-level cache.
const START: usize = 256 << 10;

/// Maximum size of the buffer, for long lines and records.
pub(crate) const LARGEST: usize = 4 << 20;

/// Standard input after its beginning was examined without being consumed.
static LOOKED_AT: Mutex<Option<Input>> = Mutex::new(None);

/// A trace's bytes: a window into a file or a pipe.
pub(crate) struct Input {
    path: PathBuf,
    source: Box<dyn Read + Send>,
    passed: Passed,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `buffer[start]` in the decompressed stream.
    position: u64,
    /// An error that occurred while reading ahead. It is returned after the bytes before it.
    error: Option<TraceError>,
    ended: bool,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    pub(crate) fn open(path: &Path) -> Result<Input, TraceError> {
        if path.as_os_str() == "-" {
            let known = LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner).take();
            return known.map_or_else(|| Input::new(path, io::stdin()), Ok);
        }
        let file = files::open(path);
        let file = file.map_err(|source| TraceError::Io { path: path.to_owned(), source })?;
        Input::new(path, file)
    }

    /// Reads from `raw`. `path` is its name in messages.
    pub(crate) fn new(path: &Path, raw: impl Read + Send + 'static) -> Result<Input, TraceError> {
        let Unpacked { bytes: source, passed } =
            unpacked(raw).map_err(|error| explain(path, error))?;
        Ok(Input {
            path: path.to_owned(),
            source,
            passed,
            buffer: vec![0; START],
            start: 0,
            end: 0,
            position: 0,
            error: None,
            ended: false,
        })
    }

    /// Ends an examination of the first bytes. Standard input can be read only once, so the next
    /// caller that opens it continues with this input.
    pub(super) fn looked_at(self) {
        if self.path.as_os_str() == "-" {
            *LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner) = Some(self);
        }
    }

    /// Name of the trace in messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The files of its archives that are skipped.
    pub(super) fn passed(&self) -> Passed {
        self.passed.clone()
    }

    /// The buffered bytes.
    #[inline]
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Offset of the first of [`Input::window`] in the decompressed stream.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Consumes the first `n` buffered bytes.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        debug_assert!(n <= self.end - self.start);
        self.start += n;
        self.position += n as u64;
    }

    /// Buffers more bytes; false at the end of the trace.
    pub(crate) fn fill(&mut self) -> Result<bool, TraceError> {
        if let Some(error) = self.error.take() {
            self.ended = true;
            return Err(error);
        }
        if self.ended {
            return Ok(false);
        }
        self.make_room()?;
        match read_some(&mut *self.source, &mut self.buffer[self.end..]) {
            Ok(0) => {
                self.ended = true;
                Ok(false)
            }
            Ok(n) => {
                self.end += n;
                Ok(true)
            }
            Err(error) => {
                self.ended = true;
                Err(explain(&self.path, error))
            }
        }
    }

    /// Buffers `wanted` bytes if the trace has as many. An error is returned after the bytes before
    /// it were consumed, or at once if there are none.
    pub(crate) fn prefetch(&mut self, wanted: usize) -> Result<(), TraceError> {
        while self.window().len() < wanted {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if self.window().is_empty() => return Err(error),
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
        }
        Ok(())
    }

    /// The error that occurred while reading ahead, if any.
    pub(crate) fn take_error(&mut self) -> Option<TraceError> {
        self.error.take()
    }

    /// Ensures that [`Input::window`] has `size` bytes; false at the end of the trace.
    ///
    /// A record cut off by the end of the trace is an error; `what` names the record.
    pub(crate) fn need(&mut self, size: usize, what: &str) -> Result<bool, TraceError> {
        while self.window().len() < size {
            if self.fill()? {
                continue;
            }
            let left = self.window().len();
            if left == 0 {
                return Ok(false);
            }
            return Err(TraceError::Malformed {
                path: self.path.clone(),
                place: Place::Byte(self.position),
                what: format!("the trace ends within {what}: {left} of {size} bytes are there"),
                remedy: "the file is truncated or not of this format; fetch it again, \
                         or name the right format with ‹trace-format›"
                    .into(),
            });
        }
        Ok(true)
    }

    /// Makes room after the buffered bytes, by moving them to the front or by growing the buffer.
    fn make_room(&mut self) -> Result<(), TraceError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            if self.buffer.len() >= LARGEST {
                return Err(TraceError::Malformed {
                    path: self.path.clone(),
                    place: Place::Byte(self.position),
                    what: format!("a line or record is longer than {} MiB", LARGEST >> 20),
                    remedy: "name the right format with ‹trace-format›".into(),
                });
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        Ok(())
    }
}

/// Reads once; retries if a signal interrupted the read.
fn read_some(source: &mut dyn Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// For readers of any buffered stream.
impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(into)?;
        Input::consume(self, n);
        Ok(n)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            self.fill().map_err(io::Error::other)?;
        }
        Ok(self.window())
    }

    fn consume(&mut self, n: usize) {
        Input::consume(self, n);
    }
}
