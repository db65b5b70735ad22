//! Reads native traces.

use super::{
    block::{BlockReader, Fault, Kind},
    constants::{BLOCK_REQUESTS, MAGIC, REVISION},
    decode::decode,
    encode::Context,
    varint::take,
};
use crate::{Place, Request, Source, TraceError};
use std::{
    io::{self, Read},
    path::PathBuf,
};

const FETCH_AGAIN: &str = "fetch or convert the trace again; what precedes this place is intact";

/// A native trace as a [`Source`].
pub struct NativeReader<R> {
    blocks: BlockReader<R>,
    path: PathBuf,
    /// Offset of the next block in the file.
    position: u64,
    payload: Vec<u8>,
    context: Context,
    requests: Vec<Request>,
    next: usize,
    volumes: Vec<String>,
    origin_unix_ns: Option<u64>,
    device: Option<String>,
    delivered: u64,
    ended: bool,
}

/// The device on which a trace was recorded, if these bytes are the beginning of a native trace
/// that contains it.
pub(crate) fn recorded_on(begin: &[u8]) -> Option<String> {
    begin.starts_with(&MAGIC).then(|| NativeReader::new(begin, "").ok()?.device).flatten()
}

impl<R: Read> NativeReader<R> {
    /// Reads the header. `path` is for messages.
    ///
    /// # Errors
    /// [`TraceError::Format`] if this is not a native trace of a known revision.
    pub fn new(reader: R, path: impl Into<PathBuf>) -> Result<Self, TraceError> {
        let path = path.into();
        let io_error = |source: io::Error| TraceError::Io { path: path.clone(), source };
        let mut blocks = BlockReader::new(reader).map_err(io_error)?;
        let mut magic = [0; MAGIC.len()];
        match blocks.input.read_exact(&mut magic) {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                return Err(io_error(error));
            }
            _ => {}
        }
        if magic != MAGIC {
            return Err(TraceError::Format {
                path,
                what: "this is not a native trace: it does not begin with TCTRACE1".into(),
                remedy: "let the format be detected, or name the right one".into(),
            });
        }
        let mut reader = NativeReader {
            blocks,
            path,
            position: MAGIC.len() as u64,
            payload: Vec::new(),
            context: Context::default(),
            requests: Vec::new(),
            next: 0,
            volumes: Vec::new(),
            origin_unix_ns: None,
            device: None,
            delivered: 0,
            ended: false,
        };
        reader.header()?;
        Ok(reader)
    }

    /// Unix time of the trace's time 0 in nanoseconds, if it was recorded.
    #[must_use]
    pub fn origin_unix_ns(&self) -> Option<u64> {
        self.origin_unix_ns
    }

    fn header(&mut self) -> Result<(), TraceError> {
        let (kind, _) = self.block()?;
        let mut bytes = &self.payload[..];
        let revision = take(&mut bytes);
        if kind == Kind::Header && revision.is_some_and(|revision| revision != REVISION) {
            return Err(TraceError::Format {
                path: self.path.clone(),
                what: format!("revision {} of the native format", revision.unwrap_or(0)),
                remedy: format!("this version reads revision {REVISION}; use a newer one"),
            });
        }
        let origin = take(&mut bytes).and_then(|flag| Some((flag, take(&mut bytes)?)));
        self.device = take(&mut bytes).and_then(|length| {
            let name = bytes.get(..usize::try_from(length).ok()?)?;
            String::from_utf8(name.to_vec()).ok()
        });
        match (kind, origin) {
            (Kind::Header, Some((0, _))) => Ok(()),
            (Kind::Header, Some((1, origin))) => {
                self.origin_unix_ns = Some(origin);
                Ok(())
            }
            _ => Err(self.corrupt(MAGIC.len() as u64, "there is no valid header")),
        }
    }

    /// Reads a block's payload. Returns its kind, and the number of its entries.
    fn block(&mut self) -> Result<(Kind, usize), TraceError> {
        match self.blocks.read(&mut self.payload) {
            Ok(block) => {
                self.position += block.size;
                Ok((block.kind, block.count as usize))
            }
            Err(Fault::Io(source)) => Err(TraceError::Io { path: self.path.clone(), source }),
            Err(Fault::Truncated) => {
                Err(self.corrupt(self.position, "the trace is cut off: the end is missing"))
            }
            Err(Fault::Corrupt(what)) => Err(self.corrupt(self.position, what)),
        }
    }

    fn corrupt(&self, position: u64, what: &str) -> TraceError {
        TraceError::Malformed {
            path: self.path.clone(),
            place: Place::Byte(position),
            what: what.into(),
            remedy: FETCH_AGAIN.into(),
        }
    }

    /// Reads blocks until one has requests, or to the end.
    fn refill(&mut self) -> Result<(), TraceError> {
        self.requests.clear();
        self.next = 0;
        while self.requests.is_empty() && !self.ended {
            let begin = self.position;
            let (kind, count) = self.block()?;
            let done = match kind {
                Kind::Header => None,
                Kind::Volumes => self.take_names(count),
                Kind::Requests => self.take_requests(count),
                Kind::End => self.take_end(),
            };
            done.ok_or_else(|| self.corrupt(begin, "the block's contents make no sense"))?;
        }
        if self.ended { self.nothing_follows() } else { Ok(()) }
    }

    /// Checks that nothing follows. Otherwise the second of two concatenated traces would be lost
    /// silently.
    fn nothing_follows(&mut self) -> Result<(), TraceError> {
        match self.blocks.input.read_exact(&mut [0]) {
            Ok(()) => Err(self.corrupt(self.position, "something follows the end of the trace")),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Err(source) => Err(TraceError::Io { path: self.path.clone(), source }),
        }
    }

    fn take_names(&mut self, count: usize) -> Option<()> {
        let mut bytes = &self.payload[..];
        for _ in 0..count {
            let length = usize::try_from(take(&mut bytes)?).ok()?;
            let (name, rest) = bytes.split_at_checked(length)?;
            self.volumes.push(String::from_utf8(name.to_vec()).ok()?);
            bytes = rest;
        }
        bytes.is_empty().then_some(())
    }

    fn take_requests(&mut self, count: usize) -> Option<()> {
        if count > BLOCK_REQUESTS {
            return None;
        }
        let decoded = decode(&self.payload, count, &mut self.context, &mut self.requests)
            .filter(|()| self.requests.iter().all(|r| (r.volume as usize) < self.volumes.len()));
        if decoded.is_none() {
            self.requests.clear();
        }
        self.delivered += self.requests.len() as u64;
        decoded
    }

    fn take_end(&mut self) -> Option<()> {
        self.ended = true;
        let mut bytes = &self.payload[..];
        (take(&mut bytes)? == self.delivered && bytes.is_empty()).then_some(())
    }
}

impl<R: Read> Source for NativeReader<R> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        if self.next == self.requests.len() && !self.ended {
            self.refill().inspect_err(|_| self.ended = true)?;
        }
        let end = self.requests.len().min(self.next.saturating_add(limit));
        batch.extend_from_slice(&self.requests[self.next..end]);
        self.next = end;
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        &self.volumes
    }
}
