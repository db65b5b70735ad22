//! The first pass over a trace: requests go to a temporary file, while what they have in common is
//! collected. The caller's thread decodes, a second one collects.

use std::{
    panic::resume_unwind,
    sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
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
    spool::{Spool, encode_request},
    trace::{Numbering, TraceMapping, extent},
};
use crate::{Progress, SimError};

/// Batches that may wait between the two threads.
const WAITING: usize = 4;

/// What a trace asks in all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whole {
    /// Requests of all kinds.
    pub requests: u64,
    /// Pages of all writes together.
    pub page_writes: u64,
}

/// What is known of a trace after the first pass.
pub(super) struct Collected {
    mapping: TraceMapping,
    sample: Option<PageSample>,
    hasher: Sha256,
    /// The only volume, where addresses are kept.
    volume: Option<u32>,
    /// The end of the last page touched.
    top: u64,
    /// A batch, as it is hashed.
    bytes: Vec<u8>,
    /// Pages touched, where they are to be numbered.
    pub footprint: Footprint,
    /// Extents where addresses are kept, otherwise requests.
    pub spool: Spool,
    pub first_ns: u64,
    pub last_ns: u64,
    /// How far a request lies before the latest of those before it, at most.
    pub back_ns: u64,
    /// Volumes that requests name.
    pub named: Vec<bool>,
    /// Requests in the spool.
    pub requests: u64,
    /// Those of them that only prepare the device.
    pub prelude: u64,
    pub whole: Whole,
    /// Of the extents in the spool; nothing where it has requests.
    pub page_writes: u64,
    /// One bit a page that they write.
    pub written: Vec<u64>,
}

/// Reads a trace to its end.
pub(super) fn collect(
    source: &mut dyn Source,
    path: &str,
    mapping: TraceMapping,
    progress: &Progress,
) -> Result<(Collected, Contents), SimError> {
    let mut contents = Contents::new(mapping.page_size.into())?;
    let mut collected = Collected::new(mapping)?;
    let (full, batches) = sync_channel(WAITING);
    let (empty, spare) = channel();
    let collected = thread::scope(|scope| {
        let worker =
            scope.spawn(move || collected.take_all(&batches, &empty, path).map(|()| collected));
        // Dense numbers are no addresses: nobody could tell what is where.
        let known = (mapping.absolute && mapping.sample.is_none()).then_some(&mut contents);
        let decoded = decode(source, known, &full, &spare, progress);
        drop(full);
        // What is wrong with a batch was there before what is wrong with a later one.
        let collected = worker.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        decoded.map(|()| collected)
    })?;
    Ok((collected, contents))
}

/// A batch, and how many of the trace's requests only prepare the device, as far as known.
type Message = (Vec<Request>, u64);

/// Passes on batches until the source ends, or nobody takes them.
fn decode(
    source: &mut dyn Source,
    mut contents: Option<&mut Contents>,
    full: &SyncSender<Message>,
    spare: &Receiver<Vec<Request>>,
    progress: &Progress,
) -> Result<(), SimError> {
    let mut requests = 0;
    loop {
        let mut batch = spare.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
        source.next_batch(&mut batch, BATCH)?;
        if progress.is_cancelled() {
            return Err(SimError::Interrupted);
        }
        if let Some(contents) = &mut contents {
            contents.note(&batch, source.contents(), requests)?;
        }
        requests += batch.len() as u64;
        let ended = batch.is_empty();
        if full.send((batch, source.prelude())).is_err() || ended {
            return Ok(());
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
            self.bytes.clear();
            for request in &batch {
                self.bytes.extend_from_slice(&encode_request(request));
            }
            self.hasher.update(&self.bytes);
            if self.sample.is_some() || self.mapping.absolute {
                // What is written down is something else.
                self.bytes.clear();
            }
            for request in &batch {
                self.take(request, prelude, path)?;
            }
            self.spool.write(&self.bytes)?;
            if self.sample.is_none() {
                self.prelude = prelude;
            }
            // Nobody wants it after the end.
            let _ = empty.send(batch);
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
            self.whole.page_writes += touched.end - touched.start;
        }
        let Some(sample) = &self.sample else { return self.keep(request) };
        let Some(request) = sample.of(request) else { return Ok(()) };
        self.prelude += u64::from(before < prelude);
        self.keep(&request)?;
        if !self.mapping.absolute {
            self.bytes.extend_from_slice(&encode_request(&request));
        }
        Ok(())
    }

    /// Counts a request of the spool; where addresses are kept, it is an extent of it.
    fn keep(&mut self, request: &Request) -> Result<(), SimError> {
        self.requests += 1;
        if !self.mapping.absolute {
            return Ok(self.footprint.add(request)?);
        }
        if request.op != Op::Flush {
            let end = request.offset.saturating_add(request.len);
            self.top = self.top.max(end.div_ceil(self.mapping.page_size.into()));
        }
        let extent = extent(request, &Numbering::Absolute, self.mapping);
        // Beyond, the numbers are none: the trace will be refused.
        if extent.op == Op::Write && self.top < u64::from(u32::MAX) {
            self.page_writes += u64::from(extent.pages);
            extent.mark(&mut self.written);
        }
        self.bytes.extend_from_slice(&extent.encode());
        Ok(())
    }

    /// SHA-256 of all requests, those included that the sample leaves out.
    pub(super) fn digest(&self) -> String {
        let digest = self.hasher.clone().finalize();
        format!("sha256:{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }

    /// Logical pages of a device that keeps the trace's addresses.
    pub(super) fn absolute_pages(&self, source: &dyn Source) -> u64 {
        let page = u64::from(self.mapping.page_size);
        let of = u64::from(self.mapping.sample.map_or(1, |sample| sample.of));
        // What lies behind the last page touched is part of the file system all the same. A device
        // too large for the tables is no larger than what is used of it.
        let bytes = self.volume.and_then(|volume| source.volume_bytes(volume));
        let device = bytes.map(|bytes| (bytes / page).div_ceil(of));
        let device = device.filter(|pages| *pages < u64::from(u32::MAX)).unwrap_or(0);
        self.top.max(u64::from(self.mapping.device_pages).div_ceil(of)).max(device)
    }
}
