//! The decompressed bytes of one trace, in a buffer that readers take slices of.

use std::{
    fs::File,
    io::{self, BufRead, Read},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::unpack::{Passed, Unpacked, explain, unpacked};
use crate::{Place, TraceError};

/// What the buffer begins with: large enough to make system calls rare, small enough for the
/// second-level cache.
const START: usize = 256 << 10;

/// What the buffer may grow to, for the sake of long lines and records.
pub(crate) const LARGEST: usize = 4 << 20;

/// Standard input, where it was looked at and nothing of it read.
static LOOKED_AT: Mutex<Option<Input>> = Mutex::new(None);

/// A trace's bytes: a window over a file or a pipe.
pub(crate) struct Input {
    path: PathBuf,
    source: Box<dyn Read + Send>,
    passed: Passed,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `buffer[start]` in the decompressed stream.
    position: u64,
    /// An error met while reading ahead, delivered where the bytes before it run out.
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
        let file =
            File::open(path).map_err(|source| TraceError::Io { path: path.to_owned(), source })?;
        Input::new(path, file)
    }

    /// Reads from `raw`; `path` is what messages call it.
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

    /// Ends a look at the first bytes. Standard input can be read once: whoever opens it next goes on with this.
    pub(super) fn looked_at(self) {
        if self.path.as_os_str() == "-" {
            *LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner) = Some(self);
        }
    }

    /// What messages call the trace.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The files of its archives that are passed over.
    pub(super) fn passed(&self) -> Passed {
        self.passed.clone()
    }

    /// The bytes at hand.
    #[inline]
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Offset of the first of [`Input::window`] in the decompressed stream.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Passes over the first `n` bytes at hand.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        debug_assert!(n <= self.end - self.start);
        self.start += n;
        self.position += n as u64;
    }

    /// Adds to the bytes at hand; false at the end of the trace.
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

    /// Reads until `wanted` bytes are at hand or the trace ends. An error waits until the
    /// bytes before it have been used, or is returned at once where there are none.
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

    /// The error met while reading ahead, if there was one.
    pub(crate) fn take_error(&mut self) -> Option<TraceError> {
        self.error.take()
    }

    /// Makes `size` bytes stand at the front of [`Input::window`]; false at the end of the trace.
    ///
    /// A record cut in two by the end of the trace is an error: `what` names it.
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

    /// Room behind the bytes at hand, by moving them to the front or by growing.
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

/// One read, again if a signal interrupted it.
fn read_some(source: &mut dyn Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// For readers that work on any buffered stream.
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
