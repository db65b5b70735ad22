//! The first pass over a trace. It writes requests to a temporary file and collects their common
//! properties. The caller's thread decodes, a second one collects; in a browser one does both.

use std::{
    panic::resume_unwind,
    sync::mpsc::{Receiver, Sender, channel, sync_channel},
    thread,
};

use sha2::{Digest, Sha256};
use thermocline_trace::{
    Op, Request, Source,
    transform::{Footprint, PageSample, pages_touched},
};

use super::{
    BATCH,
    contents::Contents,
    spool::{Spool, encode_request, push_hashed},
    trace::{Numbering, TraceMapping, extent},
};
use crate::{Progress, SimError};

/// Number of batches that may wait between the two threads.
const WAITING: usize = 4;

/// Totals of a whole trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whole {
    /// Requests of all kinds.
    pub requests: u64,
    /// Pages of all writes.
    pub page_writes: u64,
}

/// The result of the first pass over a trace.
pub(super) struct Collected {
    mapping: TraceMapping,
    sample: Option<PageSample>,
    hasher: Sha256,
    /// The only volume, if addresses are kept.
    volume: Option<u32>,
    /// The end of the highest page accessed.
    top: u64,
    /// A batch in the form that is hashed.
    bytes: Vec<u8>,
    /// Pages accessed, if they are to be renumbered.
    pub footprint: Footprint,
    /// Extents if addresses are kept, otherwise requests.
    pub spool: Spool,
    pub first_ns: u64,
    pub last_ns: u64,
    /// The maximum by which a request is earlier than one before it.
    pub back_ns: u64,
    /// Volumes named by requests.
    pub named: Vec<bool>,
    /// The largest placement hint of a write.
    pub most_hint: u16,
    /// Requests in the spool.
    pub requests: u64,
    /// Requests in the spool that only prepare the device.
    pub prelude: u64,
    pub whole: Whole,
    /// Pages written by the extents in the spool; 0 if it has requests.
    pub page_writes: u64,
    /// One bit for each page that they write.
    pub written: Vec<u64>,
}

/// Reads a whole trace.
pub(super) fn collect(
    source: &mut dyn Source,
    path: &str,
    mapping: TraceMapping,
    progress: &Progress,
) -> Result<(Collected, Contents), SimError> {
    let mut contents = Contents::new(mapping.page_size.into())?;
    let mut collected = Collected::new(mapping)?;
    // With renumbered pages, addresses do not identify contents.
    let known = (mapping.absolute && mapping.sample.is_none()).then_some(&mut contents);
    // A browser's worker is one thread.
    if cfg!(target_family = "wasm") {
        decode(source, known, progress, |batch, prelude| {
            collected.take_batch(&batch, prelude, path)?;
            Ok(Some(batch))
        })?;
        return Ok((collected, contents));
    }
    let (full, batches) = sync_channel(WAITING);
    let (empty, spare) = channel();
    let collected = thread::scope(|scope| {
        let worker =
            scope.spawn(move || collected.take_all(&batches, &empty, path).map(|()| collected));
        let decoded = decode(source, known, progress, |batch, prelude| {
            let is_taken = full.send((batch, prelude)).is_ok();
            Ok(is_taken.then(|| spare.try_recv().unwrap_or_default()))
        });
        drop(full);
        // An error in a batch takes precedence over an error in a later one.
        let collected = worker.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        decoded.map(|()| collected)
    })?;
    Ok((collected, contents))
}

/// A batch, and the number of the trace's requests that only prepare the device, as far as known.
type Message = (Vec<Request>, u64);

/// Passes on batches until the source ends or they are not wanted any more. `pass_on` returns room for the next one.
fn decode(
    source: &mut dyn Source,
    mut contents: Option<&mut Contents>,
    progress: &Progress,
    mut pass_on: impl FnMut(Vec<Request>, u64) -> Result<Option<Vec<Request>>, SimError>,
) -> Result<(), SimError> {
    let mut requests = 0;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        source.next_batch(&mut batch, BATCH)?;
        if progress.is_cancelled() {
            return Err(SimError::Interrupted);
        }
        if let Some(contents) = &mut contents {
            contents.note(&batch, source.contents(), requests)?;
        }
        requests += batch.len() as u64;
        let ended = batch.is_empty();
        match pass_on(batch, source.prelude())? {
            Some(room) if !ended => batch = room,
            _ => return Ok(()),
        }
    }
}

impl Collected {
    fn new(mapping: TraceMapping) -> Result<Self, SimError> {
        let page = u64::from(mapping.page_size);
        Ok(Self {
            mapping,
            sample: mapping.sample.map(|sample| PageSample::new(sample.of, sample.seed, page)),
            hasher: Sha256::new(),
            volume: None,
            top: 0,
            bytes: Vec::new(),
            footprint: Footprint::new(page),
            spool: Spool::create()?,
            first_ns: u64::MAX,
            last_ns: 0,
            back_ns: 0,
            named: Vec::new(),
            most_hint: 0,
            requests: 0,
            prelude: 0,
            whole: Whole::default(),
            page_writes: 0,
            written: Vec::new(),
        })
    }

    fn take_all(
        &mut self,
        batches: &Receiver<Message>,
        empty: &Sender<Vec<Request>>,
        path: &str,
    ) -> Result<(), SimError> {
        for (batch, prelude) in batches {
            self.take_batch(&batch, prelude, path)?;
            // The receiver is gone at the end.
            let _ = empty.send(batch);
        }
        Ok(())
    }

    fn take_batch(&mut self, batch: &[Request], prelude: u64, path: &str) -> Result<(), SimError> {
        self.bytes.clear();
        for request in batch {
            push_hashed(&mut self.bytes, request);
        }
        self.hasher.update(&self.bytes);
        // The hash does not cover the spool's form.
        self.bytes.clear();
        for request in batch {
            self.take(request, prelude, path)?;
        }
        self.spool.append(&self.bytes)?;
        if self.sample.is_none() {
            self.prelude = prelude;
        }
        Ok(())
    }

    fn take(&mut self, request: &Request, prelude: u64, path: &str) -> Result<(), SimError> {
        let page = u64::from(self.mapping.page_size);
        if self.mapping.absolute
            && request.op != Op::Flush
            && *self.volume.get_or_insert(request.volume) != request.volume
        {
            return Err(SimError::Input(format!(
                "{path}: the trace has several volumes, whose addresses overlap; choose one with \
                 ‹volume›, or leave out ‹absolute›"
            )));
        }
        let number = request.volume as usize;
        if number >= self.named.len() {
            self.named.resize(number + 1, false);
        }
        self.named[number] = true;
        self.first_ns = self.first_ns.min(request.time_ns);
        self.back_ns = self.back_ns.max(self.last_ns.saturating_sub(request.time_ns));
        self.last_ns = self.last_ns.max(request.time_ns);
        let touched = pages_touched(request, page)?;
        let before = self.whole.requests;
        self.whole.requests += 1;
        if request.op == Op::Write {
            self.most_hint = self.most_hint.max(request.hint);
            self.whole.page_writes += touched.end - touched.start;
        }
        let Some(sample) = &self.sample else { return self.keep(request) };
        let Some(request) = sample.of(request) else { return Ok(()) };
        self.prelude += u64::from(before < prelude);
        self.keep(&request)
    }

    /// Writes a request to the spool; as an extent if addresses are kept.
    fn keep(&mut self, request: &Request) -> Result<(), SimError> {
        self.requests += 1;
        if !self.mapping.absolute {
            self.bytes.extend_from_slice(&encode_request(request));
            return Ok(self.footprint.add(request)?);
        }
        if request.op != Op::Flush {
            let end = request.offset.saturating_add(request.len);
            self.top = self.top.max(end.div_ceil(self.mapping.page_size.into()));
        }
        let extent = extent(request, &Numbering::Absolute, self.mapping);
        // Beyond that, page numbers are invalid, and the trace will be refused.
        if extent.op == Op::Write && self.top < u64::from(u32::MAX) {
            self.page_writes += u64::from(extent.pages);
            extent.mark(&mut self.written);
        }
        self.bytes.extend_from_slice(&extent.encode());
        Ok(())
    }

    /// SHA-256 of all requests, including those outside the sample.
    pub(super) fn digest(&self) -> String {
        let digest = self.hasher.clone().finalize();
        format!("sha256:{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }

    /// Number of logical pages of a device that keeps the trace's addresses.
    pub(super) fn absolute_pages(&self, source: &dyn Source) -> u64 {
        let page = u64::from(self.mapping.page_size);
        let of = u64::from(self.mapping.sample.map_or(1, |sample| sample.of));
        // Space behind the last accessed page is part of the file system too. If the device is too
        // large for the tables, only the accessed part counts.
        let bytes = self.volume.and_then(|volume| source.volume_bytes(volume));
        let device = bytes.map(|bytes| (bytes / page).div_ceil(of));
        let device = device.filter(|pages| *pages < u64::from(u32::MAX)).unwrap_or(0);
        self.top.max(u64::from(self.mapping.device_pages).div_ceil(of)).max(device)
    }
}
