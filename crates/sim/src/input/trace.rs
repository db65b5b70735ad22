//! A trace, read once and numbered densely, for any number of runs.
//!
//! Its requests go to a temporary file while the pages they touch are collected; then the pages are
//! numbered and the requests rewritten as extents of those numbers, 24 bytes each. Every run of a
//! comparison reads that file, so memory grows with the footprint and not with the trace, and
//! parsing is paid for once.

use std::{
    collections::HashSet,
    fs::File,
    io::{BufWriter, Read, Write},
};

use sha2::{Digest, Sha256};
use thermocline_trace::{
    Op, Request, Source,
    transform::{Access, DenseIndex, Footprint},
};

use super::{
    BATCH, Batch, Known,
    extent::{EXTENT_BYTES, Extent, cuts},
    spool::{REQUEST_BYTES, Spool, decode_request, encode_request, spool_error},
};
use crate::{Device, Progress, SimError};

/// How a trace's addresses become logical pages.
#[derive(Clone, Copy, Debug)]
pub struct TraceMapping {
    /// Bytes of a logical page.
    pub page_size: u32,
    /// Addresses are kept as they are; the trace must have one volume.
    pub absolute: bool,
    /// Only pages that are written belong to the footprint; reads of others find no data.
    pub written_only: bool,
    /// Pages written only in part are read first, as a real device must.
    pub read_modify_write: bool,
    /// Logical pages of the device that the trace was made for, touched or not; with `absolute`.
    pub device_pages: u32,
}

impl TraceMapping {
    /// For requests made on a device that exports so many pages, at their own addresses.
    #[must_use]
    pub fn of_files(device: &Device, exported_pages: u32) -> Self {
        Self {
            page_size: device.profile.geometry.page_size,
            absolute: true,
            written_only: false,
            read_modify_write: true,
            device_pages: exported_pages,
        }
    }
}

/// A trace, ready to be replayed any number of times.
#[derive(Debug)]
pub struct PreparedTrace {
    /// Where it came from, for results.
    pub path: String,
    /// SHA-256 of the decoded requests, whatever the format and compression they were read from.
    pub digest: String,
    /// Requests of all kinds.
    pub requests: u64,
    /// Logical pages it needs: of the footprint, or up to the greatest address.
    pub pages: u32,
    /// Pages of all writes together.
    pub page_writes: u64,
    /// Volumes that its requests name; their pages are numbered apart.
    pub volumes: usize,
    /// From the first request to the last.
    pub duration_ns: u64,
    /// Requests from the start on that only prepare the device: statistics begin after them.
    pub prelude: u64,
    /// Requests of which it is known what they wrote.
    pub known_requests: u64,
    /// Pages that were read before they were written, with what was found there: what the device
    /// holds when the trace begins.
    pub(crate) found: Vec<(u32, Box<[u8]>)>,
    /// One bit a logical page: written by the trace at some time.
    written: Vec<u64>,
    spool: File,
    /// What requests wrote: number of the request, bytes before it in the first page, length, bytes.
    known: File,
}

/// What a trace knows of contents, while it is read.
struct Contents {
    page: u64,
    out: BufWriter<File>,
    /// Requests of which it is known what they wrote.
    requests: u64,
    found: Vec<(u32, Box<[u8]>)>,
    /// Pages that were found or written already.
    settled: HashSet<u64>,
}

impl Contents {
    fn new(page: u64) -> Result<Self, SimError> {
        let file = tempfile::tempfile().map_err(spool_error)?;
        let out = BufWriter::with_capacity(1 << 20, file);
        Ok(Self { page, out, requests: 0, found: Vec::new(), settled: HashSet::new() })
    }

    /// Takes note of a batch, before which there were so many requests.
    fn note(
        &mut self,
        batch: &[Request],
        contents: &thermocline_trace::Contents,
        before: u64,
    ) -> Result<(), SimError> {
        if contents.is_empty() && self.requests == 0 && self.found.is_empty() {
            return Ok(());
        }
        for (i, request) in batch.iter().enumerate() {
            match (request.op, contents.of(i)) {
                (Op::Write, bytes) => {
                    let end = request.offset.saturating_add(request.len);
                    self.settled.extend(request.offset / self.page..end.div_ceil(self.page));
                    if let Some(bytes) = bytes {
                        self.write(before + i as u64, request.offset % self.page, bytes)?;
                    }
                }
                (Op::Read, Some(bytes)) => self.find(request.offset, bytes),
                _ => {}
            }
        }
        Ok(())
    }

    fn write(&mut self, request: u64, skip: u64, bytes: &[u8]) -> Result<(), SimError> {
        for word in [request, skip, bytes.len() as u64] {
            self.out.write_all(&word.to_le_bytes()).map_err(spool_error)?;
        }
        self.requests += 1;
        self.out.write_all(bytes).map_err(spool_error)
    }

    /// Whole pages that were read; zeros are what blank pages hold anyway.
    fn find(&mut self, offset: u64, bytes: &[u8]) {
        let first = offset.div_ceil(self.page);
        let Some(bytes) = bytes.get((first * self.page - offset) as usize..) else { return };
        for (number, page) in (first..).zip(bytes.chunks_exact(self.page as usize)) {
            if page.iter().any(|byte| *byte != 0)
                && self.settled.insert(number)
                && let Ok(number) = u32::try_from(number)
            {
                self.found.push((number, page.into()));
            }
        }
    }
}

/// How requests are numbered.
enum Numbering {
    Dense(DenseIndex),
    Absolute { pages: u64 },
}

impl PreparedTrace {
    /// Reads a trace to its end.
    ///
    /// # Errors
    /// [`SimError::Trace`] from the reader; [`SimError::Input`] if the trace has nothing to replay
    /// or cannot be mapped; [`SimError::Failed`] if the temporary folder is full.
    pub fn prepare(
        source: &mut dyn Source,
        path: &str,
        mapping: TraceMapping,
        progress: &Progress,
    ) -> Result<Self, SimError> {
        let page = u64::from(mapping.page_size);
        let mut raw = Spool::create()?;
        let mut footprint = Footprint::new(page);
        let mut hasher = Sha256::new();
        let mut batch = Vec::with_capacity(BATCH);
        let (mut requests, mut first_time, mut last_time, mut top) = (0_u64, u64::MAX, 0, 0);
        let (mut volume, mut named) = (None, Vec::new());
        let mut contents = Contents::new(page)?;
        loop {
            source.next_batch(&mut batch, BATCH)?;
            if batch.is_empty() {
                break;
            }
            if progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
            for request in &batch {
                if mapping.absolute
                    && request.op != Op::Flush
                    && *volume.get_or_insert(request.volume) != request.volume
                {
                    return Err(SimError::Input(format!(
                        "{path}: the trace has several volumes, whose addresses overlap; choose \
                         one with --volume, or leave out --absolute"
                    )));
                }
                footprint.add(request)?;
                let number = request.volume as usize;
                if number >= named.len() {
                    named.resize(number + 1, false);
                }
                named[number] = true;
                first_time = first_time.min(request.time_ns);
                last_time = last_time.max(request.time_ns);
                if request.op != Op::Flush {
                    top = top.max(request.offset.saturating_add(request.len).div_ceil(page));
                }
                let bytes = encode_request(request);
                hasher.update(bytes);
                raw.write(&bytes)?;
            }
            // Dense numbers are no addresses: nobody could tell what is where.
            if mapping.absolute {
                contents.note(&batch, source.contents(), requests)?;
            }
            requests += batch.len() as u64;
        }
        // What lies behind the last page touched is part of the file system all the same. A device
        // too large for the tables is no larger than what is used of it.
        let device = volume
            .filter(|_| mapping.absolute)
            .and_then(|volume| source.volume_bytes(volume))
            .map(|bytes| bytes / page)
            .filter(|pages| *pages < u64::from(u32::MAX))
            .unwrap_or(0);
        let access = if mapping.written_only { Access::Written } else { Access::Any };
        let numbering = if mapping.absolute {
            Numbering::Absolute { pages: top.max(mapping.device_pages.into()).max(device) }
        } else {
            Numbering::Dense(footprint.freeze(access))
        };
        let pages = match &numbering {
            Numbering::Dense(index) => index.len(),
            Numbering::Absolute { pages } => *pages,
        };
        if pages == 0 {
            return Err(SimError::Input(if requests == 0 {
                format!("{path}: the trace has no requests, or none that were asked for")
            } else {
                format!(
                    "{path}: none of the {requests} requests reads or writes a page that counts; \
                     look at `thermocline trace info`{}",
                    if mapping.written_only { ", or leave out --footprint written" } else { "" }
                )
            }));
        }
        let pages = u32::try_from(pages).ok().filter(|p| *p < u32::MAX).ok_or_else(|| {
            SimError::Input(format!(
                "{path}: the trace touches more than 2^32 pages; take a larger --page-size"
            ))
        })?;
        let mut prepared = Self {
            path: path.into(),
            digest: format!("sha256:{}", hex(&hasher.finalize())),
            requests,
            pages,
            page_writes: 0,
            volumes: named.iter().filter(|named| **named).count(),
            duration_ns: last_time - first_time.min(last_time),
            prelude: source.prelude(),
            known_requests: contents.requests,
            found: contents.found,
            written: vec![0; (pages as usize).div_ceil(64)],
            spool: tempfile::tempfile().map_err(spool_error)?,
            known: contents.out.into_inner().map_err(|e| spool_error(e.into_error()))?,
        };
        prepared.number(raw, &numbering, mapping, first_time)?;
        Ok(prepared)
    }

    /// The second pass: from requests to extents of logical pages.
    fn number(
        &mut self,
        raw: Spool,
        numbering: &Numbering,
        mapping: TraceMapping,
        first_time: u64,
    ) -> Result<(), SimError> {
        let mut out = BufWriter::with_capacity(1 << 20, &self.spool);
        let mut input = raw.read_back()?;
        let mut bytes = [0; REQUEST_BYTES];
        for _ in 0..self.requests {
            input.read_exact(&mut bytes).map_err(spool_error)?;
            let mut extent = extent(&decode_request(&bytes), numbering, mapping);
            extent.time_ns -= first_time;
            if extent.op == Op::Write {
                self.page_writes += u64::from(extent.pages);
                for page in extent.first..extent.first + extent.pages {
                    self.written[page as usize / 64] |= 1 << (page % 64);
                }
            }
            out.write_all(&extent.encode()).map_err(spool_error)?;
        }
        out.flush().map_err(spool_error)
    }

    pub(crate) fn is_written(&self, page: u32) -> bool {
        self.written.get(page as usize / 64).is_some_and(|word| word >> (page % 64) & 1 == 1)
    }

    pub(super) fn extents(&self) -> Result<Replay, SimError> {
        // A clone would share its position with every other run of the comparison.
        Ok(Replay {
            file: self.spool.try_clone().map_err(spool_error)?,
            at: 0,
            left: self.requests,
            known: (self.known_requests > 0)
                .then(|| self.known.try_clone())
                .transpose()
                .map_err(spool_error)?,
            known_at: 0,
            known_left: self.known_requests,
            done: 0,
            known_requests: self.known_requests,
        })
    }
}

fn extent(request: &Request, numbering: &Numbering, mapping: TraceMapping) -> Extent {
    let page = u64::from(mapping.page_size);
    let end = request.offset.saturating_add(request.len);
    let range = match request.op {
        _ if request.len == 0 => 0..0,
        Op::Flush => 0..0,
        // A trim frees only what it covers wholly.
        Op::Trim => {
            let first = request.offset.div_ceil(page);
            first..(end / page).max(first)
        }
        Op::Read | Op::Write => request.offset / page..end.div_ceil(page),
    };
    let (touched, numbers) = (
        range.clone(),
        match numbering {
            Numbering::Dense(index) => index.ranks(request.volume, range),
            Numbering::Absolute { .. } => range,
        },
    );
    let pages = numbers.end - numbers.start;
    let modify = mapping.read_modify_write && request.op == Op::Write && pages > 0;
    let (head, tail) = if modify { cuts(request, &touched, page) } else { (false, false) };
    Extent {
        time_ns: request.time_ns,
        first: numbers.start as u32,
        pages: pages as u32,
        bytes: request.len,
        op: request.op,
        partial_head: head,
        partial_tail: tail,
        continued: false,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A run's own position in the numbered trace.
pub(crate) struct Replay {
    file: File,
    at: u64,
    pub(super) left: u64,
    /// Requests before the next one.
    done: u64,
    known: Option<File>,
    known_at: u64,
    known_left: u64,
    known_requests: u64,
}

impl Replay {
    pub(super) fn rewind(&mut self, requests: u64) {
        (self.at, self.left, self.done) = (0, requests, 0);
        (self.known_at, self.known_left) = (0, self.known_requests);
    }

    pub(super) fn next_batch(&mut self, batch: &mut Batch, base_ns: u64) -> Result<(), SimError> {
        let count = self.left.min(BATCH as u64) as usize;
        let mut bytes = vec![0; count * EXTENT_BYTES];
        read_at(&self.file, &mut bytes, self.at).map_err(spool_error)?;
        self.at += bytes.len() as u64;
        self.left -= count as u64;
        batch.extents.extend(bytes.as_chunks::<EXTENT_BYTES>().0.iter().map(|bytes| {
            let extent = Extent::decode(bytes);
            Extent { time_ns: extent.time_ns + base_ns, ..extent }
        }));
        self.read_known(&mut batch.known, count as u64)?;
        self.done += count as u64;
        Ok(())
    }

    /// What is known of the next `count` requests.
    fn read_known(&mut self, into: &mut Known, count: u64) -> Result<(), SimError> {
        let Some(file) = &self.known else { return Ok(()) };
        while self.known_left > 0 {
            let mut head = [0; 24];
            read_at(file, &mut head, self.known_at).map_err(spool_error)?;
            let [number, skip, len] = *head.as_chunks::<8>().0 else { unreachable!("24 bytes") };
            let [number, skip, len] = [number, skip, len].map(u64::from_le_bytes);
            if number >= self.done + count {
                break;
            }
            let bytes = into.add((number - self.done) as usize, skip as usize, len as usize);
            read_at(file, bytes, self.known_at + 24).map_err(spool_error)?;
            self.known_at += 24 + len;
            self.known_left -= 1;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_page_is_the_first_or_the_last() {
        let mapping = TraceMapping {
            page_size: 4096,
            absolute: true,
            written_only: false,
            read_modify_write: true,
            device_pages: 0,
        };
        let numbering = Numbering::Absolute { pages: 100 };
        let write = |offset, len| {
            let request = Request { time_ns: 0, offset, len, volume: 0, op: Op::Write };
            let e = extent(&request, &numbering, mapping);
            (e.first, e.pages, e.partial_head, e.partial_tail)
        };
        assert_eq!(write(0, 4096), (0, 1, false, false));
        assert_eq!(write(512, 512), (0, 1, true, false));
        assert_eq!(write(0, 512), (0, 1, true, false));
        assert_eq!(write(4096, 4608), (1, 2, false, true));
        assert_eq!(write(3584, 8192), (0, 3, true, true));
        let trim = Request { time_ns: 0, offset: 512, len: 8192, volume: 0, op: Op::Trim };
        let e = extent(&trim, &numbering, mapping);
        assert_eq!((e.first, e.pages), (1, 1));
    }
}
