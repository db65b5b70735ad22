//! Writes native traces.

use super::{
    block::{BlockWriter, Kind},
    constants::{BLOCK_REQUESTS, MAGIC, REVISION},
    encode::Encoder,
    varint::push,
};
use crate::{Request, TraceError, write::writer::TraceWriter};
use std::{
    io::{self, Write},
    path::PathBuf,
};

/// Writes a trace in the native format, block by block.
///
/// Without [`TraceWriter::finish`] the file lacks its end block, and readers report it as cut off.
pub struct NativeWriter<W: Write> {
    blocks: BlockWriter<W>,
    path: PathBuf,
    pending: Vec<Request>,
    encoder: Encoder,
    payload: Vec<u8>,
    named: usize,
    requests: u64,
}

impl<W: Write> NativeWriter<W> {
    /// Begins a trace of unknown origin. `path` is for messages.
    ///
    /// # Errors
    /// [`TraceError::Io`] if writing fails.
    pub fn new(writer: W, path: impl Into<PathBuf>) -> Result<Self, TraceError> {
        Self::with_origin(writer, path, None)
    }

    /// Begins a trace with the device profile on which it was recorded, if known.
    ///
    /// # Errors
    /// [`TraceError::Io`] if writing fails.
    pub fn recorded_on(
        writer: W,
        path: impl Into<PathBuf>,
        device: Option<&str>,
    ) -> Result<Self, TraceError> {
        Self::begun(writer, path.into(), None, device)
    }

    /// Begins a trace whose time 0 is `origin_unix_ns`, in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`TraceError::Io`] if writing fails.
    pub fn with_origin(
        writer: W,
        path: impl Into<PathBuf>,
        origin_unix_ns: Option<u64>,
    ) -> Result<Self, TraceError> {
        Self::begun(writer, path.into(), origin_unix_ns, None)
    }

    fn begun(
        writer: W,
        path: PathBuf,
        origin_unix_ns: Option<u64>,
        device: Option<&str>,
    ) -> Result<Self, TraceError> {
        let begin = || {
            let mut blocks = BlockWriter::new(writer)?;
            let mut payload = Vec::new();
            push(&mut payload, REVISION);
            payload.push(origin_unix_ns.is_some().into());
            push(&mut payload, origin_unix_ns.unwrap_or(0));
            if let Some(device) = device {
                push(&mut payload, device.len() as u64);
                payload.extend_from_slice(device.as_bytes());
            }
            blocks.out.write_all(&MAGIC)?;
            blocks.write(Kind::Header, 0, &payload)?;
            Ok((blocks, payload))
        };
        let (blocks, payload) =
            begin().map_err(|source| TraceError::Io { path: path.clone(), source })?;
        Ok(NativeWriter {
            blocks,
            path,
            pending: Vec::with_capacity(BLOCK_REQUESTS),
            encoder: Encoder::default(),
            payload,
            named: 0,
            requests: 0,
        })
    }

    /// Writes pending requests as a block, so that a reader can have them now. Frequent calls cost
    /// space, because blocks do not refer to each other.
    ///
    /// # Errors
    /// [`TraceError::Io`] if writing fails.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        let result = self.write_pending().and_then(|()| self.blocks.out.flush());
        self.explain(result)
    }

    fn name(&mut self, volumes: &[String], needed: usize) -> io::Result<()> {
        let count = needed.max(volumes.len());
        // Names are added in portions far smaller than the largest block.
        while self.named < count {
            self.payload.clear();
            let first = self.named;
            while self.named < count && self.payload.len() < 64 << 10 {
                let index = self.named.to_string();
                let name = volumes.get(self.named).unwrap_or(&index);
                push(&mut self.payload, name.len() as u64);
                self.payload.extend_from_slice(name.as_bytes());
                self.named += 1;
            }
            self.blocks.write(Kind::Volumes, (self.named - first) as u32, &self.payload)?;
        }
        Ok(())
    }

    fn write_pending(&mut self) -> io::Result<()> {
        if !self.pending.is_empty() {
            self.encoder.encode(&self.pending, &mut self.payload);
            self.blocks.write(Kind::Requests, self.pending.len() as u32, &self.payload)?;
            self.pending.clear();
        }
        Ok(())
    }

    fn append(&mut self, batch: &[Request], volumes: &[String]) -> io::Result<()> {
        // Unnamed volumes are named by their number.
        let highest = batch.iter().map(|request| request.volume as usize + 1).max().unwrap_or(0);
        self.name(volumes, highest)?;
        self.requests += batch.len() as u64;
        let mut rest = batch;
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(rest.len().min(BLOCK_REQUESTS - self.pending.len()));
            self.pending.extend_from_slice(head);
            rest = tail;
            if self.pending.len() == BLOCK_REQUESTS {
                self.write_pending()?;
            }
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.write_pending()?;
        self.payload.clear();
        push(&mut self.payload, self.requests);
        self.blocks.write(Kind::End, 0, &self.payload)?;
        self.blocks.out.flush()
    }

    fn explain(&self, result: io::Result<()>) -> Result<(), TraceError> {
        result.map_err(|source| TraceError::Io { path: self.path.clone(), source })
    }
}

impl<W: Write> TraceWriter for NativeWriter<W> {
    fn write_batch(&mut self, batch: &[Request], volumes: &[String]) -> Result<(), TraceError> {
        let result = self.append(batch, volumes);
        self.explain(result)
    }

    fn finish(&mut self) -> Result<(), TraceError> {
        let result = self.end();
        self.explain(result)
    }
}
