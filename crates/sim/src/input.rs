//! What a run is driven by: a prepared trace or a generated workload, as extents of logical pages.
//!
//! A trace is read once. Its requests go to a temporary file while the pages they touch are
//! collected; then the pages are numbered densely and the requests rewritten as extents of those
//! numbers, 24 bytes each. Every run of a comparison reads that file, so memory grows with the
//! footprint and not with the trace, and parsing is paid for once.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write},
};

use sha2::{Digest, Sha256};
use thermocline_trace::{
    Op, Request, Source,
    generate::{Generator, GeneratorOptions, WorkloadSpec},
    transform::{Access, DenseIndex, Footprint},
};

use crate::{Progress, SimError, units};

/// Requests handled together.
const BATCH: usize = 4096;

/// Consecutive logical pages that one request touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub time_ns: u64,
    pub first: u32,
    pub pages: u32,
    pub op: Op,
    /// The first page is written only in part.
    pub partial_head: bool,
    /// The last page is written only in part, and is not the first.
    pub partial_tail: bool,
}

const EXTENT_BYTES: usize = 24;

impl Extent {
    fn encode(&self) -> [u8; EXTENT_BYTES] {
        let mut bytes = [0; EXTENT_BYTES];
        bytes[..8].copy_from_slice(&self.time_ns.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.first.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.pages.to_le_bytes());
        bytes[16] = self.op as u8;
        bytes[17] = u8::from(self.partial_head) | u8::from(self.partial_tail) << 1;
        bytes
    }

    fn decode(bytes: &[u8; EXTENT_BYTES]) -> Self {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Self {
            time_ns: u64::from(word(0)) | u64::from(word(4)) << 32,
            first: word(8),
            pages: word(12),
            op: OPS[usize::from(bytes[16])],
            partial_head: bytes[17] & 1 != 0,
            partial_tail: bytes[17] & 2 != 0,
        }
    }
}

/// In the order of their numbers.
const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

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
    /// From the first request to the last.
    pub duration_ns: u64,
    /// One bit a logical page: written by the trace at some time.
    written: Vec<u64>,
    spool: File,
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
        let (mut requests, mut first_time, mut last_time, mut top) = (0_u64, None, 0, 0);
        let mut volume = None;
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
                let first = *first_time.get_or_insert(request.time_ns);
                let time = request.time_ns.saturating_sub(first);
                last_time = last_time.max(time);
                if request.op != Op::Flush {
                    top = top.max(request.offset.saturating_add(request.len).div_ceil(page));
                }
                let bytes = encode_request(request, time);
                hasher.update(bytes);
                raw.write(&bytes)?;
            }
            requests += batch.len() as u64;
        }
        let access = if mapping.written_only { Access::Written } else { Access::Any };
        let numbering = if mapping.absolute {
            Numbering::Absolute { pages: top }
        } else {
            Numbering::Dense(footprint.freeze(access))
        };
        let pages = match &numbering {
            Numbering::Dense(index) => index.len(),
            Numbering::Absolute { pages } => *pages,
        };
        if pages == 0 {
            return Err(SimError::Input(format!(
                "{path}: the trace touches no page; check its format with `thermocline trace info`"
            )));
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
            duration_ns: last_time,
            written: vec![0; (pages as usize).div_ceil(64)],
            spool: tempfile::tempfile().map_err(spool_error)?,
        };
        prepared.number(raw, &numbering, mapping)?;
        Ok(prepared)
    }

    /// The second pass: from requests to extents of logical pages.
    fn number(
        &mut self,
        raw: Spool,
        numbering: &Numbering,
        mapping: TraceMapping,
    ) -> Result<(), SimError> {
        let mut out = BufWriter::with_capacity(1 << 20, &self.spool);
        let mut input = raw.read_back()?;
        let mut bytes = [0; REQUEST_BYTES];
        for _ in 0..self.requests {
            input.read_exact(&mut bytes).map_err(spool_error)?;
            let extent = extent(&decode_request(&bytes), numbering, mapping);
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

    fn extents(&self) -> Result<Replay, SimError> {
        // A clone would share its position with every other run of the comparison.
        Ok(Replay {
            file: self.spool.try_clone().map_err(spool_error)?,
            at: 0,
            left: self.requests,
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
    let head = modify
        && (!request.offset.is_multiple_of(page)
            || touched.end - touched.start == 1 && !end.is_multiple_of(page));
    let tail = modify && touched.end - touched.start > 1 && !end.is_multiple_of(page);
    Extent {
        time_ns: request.time_ns,
        first: numbers.start as u32,
        pages: pages as u32,
        op: request.op,
        partial_head: head,
        partial_tail: tail,
    }
}

const REQUEST_BYTES: usize = 29;

fn encode_request(request: &Request, time_ns: u64) -> [u8; REQUEST_BYTES] {
    let mut bytes = [0; REQUEST_BYTES];
    bytes[..8].copy_from_slice(&time_ns.to_le_bytes());
    bytes[8..16].copy_from_slice(&request.offset.to_le_bytes());
    bytes[16..24].copy_from_slice(&request.len.to_le_bytes());
    bytes[24..28].copy_from_slice(&request.volume.to_le_bytes());
    bytes[28] = request.op as u8;
    bytes
}

fn decode_request(bytes: &[u8; REQUEST_BYTES]) -> Request {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    Request {
        time_ns: word(0),
        offset: word(8),
        len: word(16),
        volume: u32::from_le_bytes(std::array::from_fn(|i| bytes[24 + i])),
        op: OPS[usize::from(bytes[28])],
    }
}

/// A temporary file that nobody else sees, written once and read once.
struct Spool(BufWriter<File>);

impl Spool {
    fn create() -> Result<Self, SimError> {
        let file = tempfile::tempfile().map_err(spool_error)?;
        Ok(Self(BufWriter::with_capacity(1 << 20, file)))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), SimError> {
        self.0.write_all(bytes).map_err(spool_error)
    }

    fn read_back(self) -> Result<BufReader<File>, SimError> {
        let mut file = self.0.into_inner().map_err(|e| spool_error(e.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(spool_error)?;
        Ok(BufReader::with_capacity(1 << 20, file))
    }
}

fn spool_error(e: std::io::Error) -> SimError {
    SimError::Failed(format!(
        "temporary file in {}: {e}; point TMPDIR at a folder with more room",
        std::env::temp_dir().display()
    ))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A generated workload.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The pattern.
    pub spec: WorkloadSpec,
    /// Bytes to write. Where none are given, phases have their own and steady patterns write
    /// [`Workload::DEFAULT_FILLS`] times the filled data.
    pub bytes: Option<u64>,
    /// Bytes of a request; a page where none are given.
    pub request_bytes: Option<u64>,
    /// Mean gap between requests of a Poisson process; without it the device's own time runs.
    pub interarrival_ns: Option<u64>,
    /// Share of the requests that read.
    pub read_share: f64,
}

impl Workload {
    /// How often a steady workload without a length writes as much as is filled.
    pub const DEFAULT_FILLS: u64 = 4;

    /// The workload with its length, on a device filled with so many bytes.
    #[must_use]
    pub fn on(&self, filled_bytes: u64) -> Self {
        let steady = matches!(self.spec, WorkloadSpec::Steady(_));
        let length = steady.then_some(Self::DEFAULT_FILLS * filled_bytes);
        Self { bytes: self.bytes.or(length), ..self.clone() }
    }

    /// What results call it.
    #[must_use]
    pub fn name(&self) -> String {
        let mut name = self.spec.to_string();
        if let Some(bytes) = self.bytes {
            name += &format!(" --bytes {bytes}");
        }
        if let Some(bytes) = self.request_bytes {
            name += &format!(" --request {bytes}");
        }
        if let Some(gap) = self.interarrival_ns {
            name += &format!(" --interarrival {gap}ns");
        }
        if self.read_share > 0.0 {
            name += &format!(" --reads {}", self.read_share);
        }
        name
    }

    fn generator(
        &self,
        first: u32,
        pages: u32,
        page_size: u32,
        seed: u64,
    ) -> Result<Generated, SimError> {
        let page = u64::from(page_size);
        let options = GeneratorOptions {
            span_bytes: u64::from(pages) * page,
            bytes: self.bytes,
            request_bytes: self.request_bytes,
            page_bytes: page,
            interarrival_ns: self.interarrival_ns.map(|ns| ns as f64),
            seed,
            read_share: self.read_share,
        };
        let generator = Generator::new(&self.spec, &options)?;
        let request = self.request_bytes.unwrap_or(page);
        let expected = generator.writes_left() * request.div_ceil(page);
        Ok(Generated { generator, batch: Vec::with_capacity(BATCH), first, page, expected })
    }
}

/// What drives a run.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A trace, replayed a number of times.
    Trace(&'a PreparedTrace, u32),
    /// A generated workload.
    Workload(&'a Workload),
}

impl Input<'_> {
    /// Opens the stream of extents. A workload addresses the pages from `first` on.
    pub(crate) fn open(
        &self,
        first: u32,
        pages: u32,
        page_size: u32,
        seed: u64,
    ) -> Result<Extents, SimError> {
        match self {
            Input::Trace(trace, times) => Ok(Extents::Replay {
                replay: trace.extents()?,
                times: *times,
                requests: trace.requests,
                base_ns: 0,
                // The next time begins one mean gap after the last request.
                period_ns: trace.duration_ns + trace.duration_ns / trace.requests.max(1),
                wrap: pages,
            }),
            Input::Workload(workload) => {
                let filled = u64::from(first + pages) * u64::from(page_size);
                let workload = workload.on(filled);
                Ok(Extents::Generated(Box::new(workload.generator(first, pages, page_size, seed)?)))
            }
        }
    }

    /// Pages that will be written, as far as known ahead.
    pub(crate) fn expected_pages(&self, extents: &Extents) -> u64 {
        match (self, extents) {
            (Input::Trace(trace, times), _) => trace.page_writes * u64::from(*times),
            (_, Extents::Generated(generated)) => generated.expected,
            _ => 0,
        }
    }
}

/// A stream of extents, in batches.
pub(crate) enum Extents {
    Replay { replay: Replay, times: u32, requests: u64, base_ns: u64, period_ns: u64, wrap: u32 },
    Generated(Box<Generated>),
}

pub(crate) struct Replay {
    file: File,
    at: u64,
    left: u64,
}

pub(crate) struct Generated {
    generator: Generator,
    batch: Vec<Request>,
    first: u32,
    page: u64,
    expected: u64,
}

impl Extents {
    /// Replaces the batch by the next extents; empty at the end.
    pub(crate) fn next_batch(&mut self, batch: &mut Vec<Extent>) -> Result<(), SimError> {
        batch.clear();
        match self {
            Self::Replay { replay, times, requests, base_ns, period_ns, wrap } => {
                if replay.left == 0 && *times > 1 {
                    *times -= 1;
                    *base_ns += *period_ns;
                    (replay.at, replay.left) = (0, *requests);
                }
                replay.next_batch(batch, *base_ns)?;
                wrap_around(batch, *wrap);
            }
            Self::Generated(generated) => generated.next_batch(batch)?,
        }
        Ok(())
    }
}

impl Replay {
    fn next_batch(&mut self, batch: &mut Vec<Extent>, base_ns: u64) -> Result<(), SimError> {
        let count = self.left.min(BATCH as u64) as usize;
        let mut bytes = vec![0; count * EXTENT_BYTES];
        read_at(&self.file, &mut bytes, self.at).map_err(spool_error)?;
        self.at += bytes.len() as u64;
        self.left -= count as u64;
        batch.extend(bytes.as_chunks::<EXTENT_BYTES>().0.iter().map(|bytes| {
            let extent = Extent::decode(bytes);
            Extent { time_ns: extent.time_ns + base_ns, ..extent }
        }));
        Ok(())
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

/// Pages beyond the device are taken modulo its size; an extent that crosses the end is cut in two.
fn wrap_around(batch: &mut Vec<Extent>, pages: u32) {
    if batch.iter().all(|e| u64::from(e.first) + u64::from(e.pages) <= u64::from(pages)) {
        return;
    }
    let mut wrapped = Vec::with_capacity(batch.len() + 1);
    for extent in batch.iter() {
        let mut rest = Extent { first: extent.first % pages, ..*extent };
        loop {
            let here = rest.pages.min(pages - rest.first);
            wrapped.push(Extent { pages: here, ..rest });
            rest = Extent { first: 0, pages: rest.pages - here, ..rest };
            if rest.pages == 0 {
                break;
            }
        }
    }
    *batch = wrapped;
}

impl Generated {
    fn next_batch(&mut self, batch: &mut Vec<Extent>) -> Result<(), SimError> {
        self.generator.next_batch(&mut self.batch, BATCH)?;
        // Pages are nearly always a power of two long, and two divisions a request are not free.
        let page = self.page;
        if page.is_power_of_two() {
            let bits = page.trailing_zeros();
            self.extend(batch, |offset| offset >> bits);
        } else {
            self.extend(batch, |offset| offset / page);
        }
        Ok(())
    }

    #[inline(always)]
    fn extend(&self, batch: &mut Vec<Extent>, page_of: impl Fn(u64) -> u64) {
        batch.extend(self.batch.iter().map(|request| {
            let first = page_of(request.offset);
            let pages = page_of(request.offset + request.len - 1) + 1 - first;
            Extent {
                time_ns: request.time_ns,
                first: self.first + first as u32,
                pages: pages as u32,
                op: request.op,
                partial_head: request.op == Op::Write && request.len < self.page,
                partial_tail: false,
            }
        }));
    }
}

/// Remedy shared by everything that finds the device too small.
pub(crate) fn show_pages(pages: u64, page_size: u32) -> String {
    format!("{pages} pages ({})", units::show_size(pages * u64::from(page_size)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_survive_the_spool() {
        for op in OPS {
            let extent = Extent {
                time_ns: u64::MAX - 5,
                first: 7,
                pages: u32::MAX,
                op,
                partial_head: op == Op::Write,
                partial_tail: op == Op::Read,
            };
            assert_eq!(Extent::decode(&extent.encode()), extent);
            assert_eq!(OPS[op as usize], op);
        }
    }

    #[test]
    fn a_partial_page_is_the_first_or_the_last() {
        let mapping = TraceMapping {
            page_size: 4096,
            absolute: true,
            written_only: false,
            read_modify_write: true,
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

    #[test]
    fn addresses_beyond_the_device_wrap() {
        let e = Extent {
            time_ns: 0,
            first: 8,
            pages: 5,
            op: Op::Write,
            partial_head: false,
            partial_tail: false,
        };
        let mut batch = vec![e];
        wrap_around(&mut batch, 10);
        assert_eq!(batch, [Extent { pages: 2, ..e }, Extent { first: 0, pages: 3, ..e }]);
    }
}
