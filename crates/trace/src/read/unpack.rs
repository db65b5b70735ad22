//! Unpacks a file: removes compression and archives, in any order and nesting.

use std::{
    fmt,
    io::{self, Read},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use super::{ahead::Ahead, compress::Compression, tar::Tar, zip::Zip};
use crate::{Place, TraceError};

/// Number of bytes that determine the packing: a tar header.
const HEAD: usize = 512;

/// Maximum nesting, because a file may contain itself.
const DEEPEST: usize = 8;

type Bytes = Box<dyn Read + Send>;

/// The bytes of all traces in a file, one after the other.
pub(super) struct Unpacked {
    pub(super) bytes: Bytes,
    pub(super) passed: Passed,
}

/// Names of the skipped files in archives, as far as they were read.
#[derive(Clone, Debug, Default)]
pub(super) struct Passed(Arc<Mutex<Vec<String>>>);

impl Passed {
    /// The names.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, name: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(name);
    }
}

/// Unpacks `raw`, in a thread that reads ahead where there are threads.
pub(super) fn unpacked(raw: impl Read + Send + 'static) -> io::Result<Unpacked> {
    let passed = Passed::default();
    let (is_packed, bytes) = opened(Box::new(Marked(raw)), 0, &passed)?;
    let reads_ahead = is_packed && !cfg!(target_family = "wasm");
    let bytes: Bytes = if reads_ahead { Box::new(Ahead::new(bytes)?) } else { bytes };
    Ok(Unpacked { bytes, passed })
}

/// Unpacks `source` by one step. Returns whether it was packed, and its content.
fn opened(source: Bytes, depth: usize, passed: &Passed) -> io::Result<(bool, Bytes)> {
    let whole = Peeked::new(source);
    let compression = Compression::of(&whole.head);
    let (is_tar, is_zip) = (Tar::begins(&whole.head), Zip::begins(&whole.head));
    if compression == Compression::Plain && !is_tar && !is_zip {
        return Ok((false, Box::new(whole)));
    }
    if depth == DEEPEST {
        return Err(broken("more than 8 archives are one within the other", "unpack the file"));
    }
    let passed = passed.clone();
    let bytes: Bytes = if is_tar {
        Box::new(Members::new(Tar::new(whole), depth + 1, passed))
    } else if is_zip {
        Box::new(Members::new(Zip::new(whole), depth + 1, passed))
    } else {
        opened(compression.decoder(whole)?, depth + 1, &passed)?.1
    };
    Ok((true, bytes))
}

/// An archive of files.
pub(super) trait Archive: Send {
    /// Continues with the next file, after all of the current one. Returns its name, or `None` at
    /// the end.
    fn next(&mut self) -> io::Result<Option<String>>;

    /// Reads from the current file; 0 at its end.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize>;
}

/// The unpacked files of an archive, one after the other. A line end is inserted between two texts
/// if the first lacks one.
struct Members<A> {
    archive: Arc<Mutex<A>>,
    current: Option<Bytes>,
    depth: usize,
    passed: Passed,
    /// The last byte delivered, if it belonged to a text.
    last: u8,
    ended: bool,
}

impl<A: Archive + 'static> Members<A> {
    fn new(archive: A, depth: usize, passed: Passed) -> Self {
        let archive = Arc::new(Mutex::new(archive));
        Self { archive, current: None, depth, passed, last: b'\n', ended: false }
    }
}

impl<A: Archive + 'static> Read for Members<A> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !self.ended && !into.is_empty() {
            if let Some(current) = &mut self.current {
                let read = current.read(into)?;
                if let [.., last] = &into[..read] {
                    let is_text = memchr::memchr(0, &into[..read]).is_none();
                    self.last = if is_text { *last } else { b'\n' };
                    return Ok(read);
                }
                self.current = None;
            }
            let next = locked(&self.archive)?.next()?;
            match next {
                None => self.ended = true,
                Some(name) if is_no_trace(&name) => self.passed.add(name),
                Some(_) => {
                    let member = Box::new(Member(self.archive.clone()));
                    self.current = Some(opened(member, self.depth, &self.passed)?.1);
                    if self.last != b'\n' {
                        self.last = b'\n';
                        into[0] = b'\n';
                        return Ok(1);
                    }
                }
            }
        }
        Ok(0)
    }
}

/// Whether a file of an archive is not a trace: a description, checksums, or metadata added by
/// systems.
fn is_no_trace(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let begins = [
        "readme",
        "license",
        "licence",
        "copying",
        "changelog",
        "citation",
        "manifest",
        "md5",
        "sha",
    ];
    let ends = [
        ".md", ".pdf", ".html", ".htm", ".rst", ".doc", ".docx", ".png", ".jpg", ".svg", ".py",
        ".sh", ".md5", ".sha1", ".sha256", ".sha512", ".asc", ".sig",
    ];
    base.starts_with('.')
        || name.starts_with("__MACOSX/")
        || begins.iter().any(|word| base.starts_with(word))
        || ends.iter().any(|word| base.ends_with(word))
}

/// The current file of an archive.
struct Member<A>(Arc<Mutex<A>>);

impl<A: Archive> Read for Member<A> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        locked(&self.0)?.read(into)
    }
}

fn locked<A>(archive: &Mutex<A>) -> io::Result<std::sync::MutexGuard<'_, A>> {
    archive.lock().map_err(|_| io::Error::other("the archive's reader panicked"))
}

/// A stream whose first bytes were examined, and an error after them if there was one.
pub(super) struct Peeked {
    head: Vec<u8>,
    at: usize,
    error: Option<io::Error>,
    source: Bytes,
}

impl Peeked {
    fn new(mut source: Bytes) -> Self {
        let mut head = Vec::with_capacity(HEAD);
        let error = source.by_ref().take(HEAD as u64).read_to_end(&mut head).err();
        Self { head, at: 0, error, source }
    }
}

impl Read for Peeked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at < self.head.len() {
            let read = (&self.head[self.at..]).read(into)?;
            self.at += read;
            return Ok(read);
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => self.source.read(into),
        }
    }
}

/// A failure to unpack, with its remedy.
#[derive(Debug)]
struct Broken {
    what: String,
    remedy: &'static str,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Broken {}

/// The error for a failure to unpack.
pub(super) fn broken(what: impl Into<String>, remedy: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Broken { what: what.into(), remedy })
}

/// The error for a truncated stream or archive with this name.
pub(super) fn cut(what: impl fmt::Display) -> io::Error {
    broken(format!("the {what} ends early"), "the file is truncated, fetch it again")
}

/// Whether an error was already reported, by the system or by an outer packing.
pub(super) fn is_told(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<System>() || inner.is::<Broken>())
}

/// The error of a read: the system's, or that of the packing.
pub(super) fn explain(path: &Path, error: io::Error) -> TraceError {
    let path = path.to_owned();
    let error = match error.downcast::<System>() {
        Ok(System(source)) => return TraceError::Io { path, source },
        Err(error) => error,
    };
    match error.downcast::<Broken>() {
        Ok(Broken { what, remedy }) => {
            TraceError::Malformed { path, place: Place::Whole, what, remedy: remedy.into() }
        }
        Err(source) => TraceError::Io { path, source },
    }
}

/// An error of the operating system, marked to distinguish it from a damaged stream.
#[derive(Debug)]
struct System(io::Error);

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for System {}

/// Marks the errors of the inner reader.
struct Marked<R>(R);

impl<R: Read> Read for Marked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into).map_err(|error| match error.kind() {
            // The standard library retries this kind and must see it unchanged.
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, System(error)),
        })
    }
}
