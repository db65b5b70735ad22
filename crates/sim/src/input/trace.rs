//! A trace, read once and renumbered densely, for any number of runs.
//!
//! Requests go to a temporary file (in a browser: to memory) while the pages that they access are collected. Then the pages
//! are numbered, and the requests are rewritten as extents of those numbers, 24 bytes each. If
//! addresses are kept, requests become extents at once. Every run of a comparison reads that file,
//! so memory grows with the footprint and not with the trace, and the trace is parsed once. One
//! thread decodes while another collects.

use thermocline_policy::{Ticks, params::ParamValue};
use thermocline_trace::{
    Op, Request, Source,
    transform::{Access, DenseIndex},
};
use thermocline_units::naming::in_results;

use super::{
    BATCH, Batch, Known,
    collect::{Collected, Whole, collect},
    extent::{EXTENT_BYTES, Extent, cuts},
    spool::{REQUEST_BYTES, Spool, decode_request, spool_error},
};
use crate::{Device, Progress, SimError};

/// The mapping from trace addresses to logical pages.
#[derive(Clone, Copy, Debug)]
pub struct TraceMapping {
    /// Bytes of a logical page.
    pub page_size: u32,
    /// Keeps addresses; the trace must have one volume.
    pub absolute: bool,
    /// Only written pages belong to the footprint; reads of other pages find no data.
    pub written_only: bool,
    /// Partly written pages are read first, as on a real device.
    pub read_modify_write: bool,
    /// Logical pages of the device for which the trace was made, accessed or not; with `absolute`.
    pub device_pages: u32,
    /// Restricts the trace to a sample of the pages.
    pub sample: Option<Sampling>,
}

/// Which pages of a trace are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// One page of this many.
    pub of: u32,
    /// Selects the pages.
    pub seed: u64,
}

impl TraceMapping {
    /// The mapping for requests made on a device that exports this many pages, at their own
    /// addresses.
    #[must_use]
    pub fn of_files(device: &Device, exported_pages: u32) -> Self {
        Self {
            page_size: device.profile.geometry.page_size,
            absolute: true,
            written_only: false,
            read_modify_write: true,
            device_pages: exported_pages,
            sample: None,
        }
    }
}

/// Accepted range of the sample's writes relative to its share. Estimates were validated within it.
const FAIR: std::ops::RangeInclusive<f64> = 0.9..=1.1;

/// A clock that steps back by no more than this has rows slightly out of order, whatever the length
/// of the trace.
const DISORDER_NS: u64 = 10_000_000;
/// The same for a step back of at most this part of the trace's duration, as an inverse.
const DISORDER_SHARE: u64 = 8;

/// A trace that is ready to be replayed any number of times.
#[derive(Debug)]
pub struct PreparedTrace {
    /// Its path, for results.
    pub path: String,
    /// SHA-256 of the decoded requests, independent of format and compression.
    pub digest: String,
    /// Requests of all kinds.
    pub requests: u64,
    /// Number of logical pages it needs: the footprint, or all up to the highest address.
    pub pages: u32,
    /// Pages of all writes.
    pub page_writes: u64,
    /// Number of volumes named by its requests. Each has its own pages.
    pub volumes: usize,
    /// The largest placement hint of its writes; 0 is none.
    pub most_hint: u16,
    /// Time from the first request to the last.
    pub duration_ns: u64,
    /// The largest step back of its clock.
    back_ns: u64,
    /// Number of requests at the start that only prepare the device; statistics begin after them.
    pub prelude: u64,
    /// Totals before sampling; equal to its own without a sample.
    pub whole: Whole,
    /// The sample, if it is one.
    pub sample: Option<Sampling>,
    /// Number of requests with known written contents.
    pub known_requests: u64,
    /// Pages that were read before they were written, with the contents found: what the device
    /// holds when the trace begins.
    pub(crate) found: Vec<(u32, Box<[u8]>)>,
    /// One bit a logical page: whether the trace ever writes it.
    written: Vec<u64>,
    /// Extents with the trace's times.
    spool: Spool,
    /// Arrival of its first request.
    first_ns: u64,
    /// Written contents: number of the request, bytes before them in the first page, length, bytes.
    known: Spool,
}

/// The numbering of pages.
pub(super) enum Numbering {
    Dense(DenseIndex),
    Absolute,
}

impl PreparedTrace {
    /// Reads a whole trace.
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
        let (collected, contents) = collect(source, path, mapping, progress)?;
        let digest = collected.digest();
        let absolute = collected.absolute_pages(source);
        let Collected { footprint, requests, whole, named, first_ns, mut written, .. } = collected;
        let numbering = if mapping.absolute {
            Numbering::Absolute
        } else {
            let access = if mapping.written_only { Access::Written } else { Access::Any };
            Numbering::Dense(footprint.freeze(access))
        };
        let pages = match &numbering {
            Numbering::Dense(index) => index.len(),
            Numbering::Absolute => absolute,
        };
        if pages == 0 {
            return Err(SimError::Input(nothing(path, requests, whole, mapping)));
        }
        let pages = u32::try_from(pages).ok().filter(|p| *p < u32::MAX).ok_or_else(|| {
            SimError::Input(format!(
                "{path}: the trace touches more than 2^32 pages; take a larger page size"
            ))
        })?;
        written.resize((pages as usize).div_ceil(64), 0);
        let mut prepared = Self {
            path: name(path, mapping),
            digest,
            requests,
            pages,
            page_writes: collected.page_writes,
            most_hint: collected.most_hint,
            volumes: named.iter().filter(|named| **named).count(),
            duration_ns: collected.last_ns - first_ns.min(collected.last_ns),
            back_ns: collected.back_ns,
            prelude: collected.prelude,
            whole,
            sample: mapping.sample,
            known_requests: contents.requests,
            found: contents.found,
            written,
            spool: collected.spool,
            first_ns,
            known: contents.out.into_inner().map_err(|e| spool_error(e.into_error()))?,
        };
        if let Numbering::Dense(_) = &numbering {
            prepared.number(&numbering, mapping)?;
        }
        prepared.is_fair()?;
        Ok(prepared)
    }

    /// The second pass: rewrites requests as extents of logical pages. Extents are shorter, so they
    /// overwrite requests that were read.
    fn number(&mut self, numbering: &Numbering, mapping: TraceMapping) -> Result<(), SimError> {
        let (mut from, mut to, mut left) = (0, 0, self.requests);
        let (mut input, mut output) = (Vec::new(), Vec::new());
        while left > 0 {
            let count = left.min(16 * BATCH as u64);
            input.resize(count as usize * REQUEST_BYTES, 0);
            self.spool.read_at(&mut input, from)?;
            output.clear();
            for bytes in input.as_chunks::<REQUEST_BYTES>().0 {
                let extent = extent(&decode_request(bytes), numbering, mapping);
                if extent.op == Op::Write {
                    self.page_writes += u64::from(extent.pages);
                    extent.mark(&mut self.written);
                }
                output.extend_from_slice(&extent.encode());
            }
            self.spool.write_at(&output, to)?;
            from += input.len() as u64;
            to += output.len() as u64;
            left -= count;
        }
        self.spool.cut(to)
    }

    /// Pages written by the sample relative to its share of all pages written.
    pub(crate) fn share_of_writes(&self) -> f64 {
        let of = self.sample.map_or(1, |sample| sample.of);
        self.page_writes as f64 * f64::from(of) / self.whole.page_writes.max(1) as f64
    }

    /// Checks that the pages of a sample are written about as often as the others.
    fn is_fair(&self) -> Result<(), SimError> {
        let (share, sample) = (self.share_of_writes(), self.sample);
        let Some(Sampling { of, .. }) = sample.filter(|_| self.whole.page_writes > 0) else {
            return Ok(());
        };
        if FAIR.contains(&share) {
            return Ok(());
        }
        Err(SimError::Input(format!(
            "{}: the pages of the sample have {:.0} % of their share of the writes, so it does not stand \
             for the trace: few pages have most of the writes; take more than 1/{of}, another ‹seed›, or \
             leave out ‹sample›",
            self.path,
            share * 100.0
        )))
    }

    /// Checks that the times can be used as arrivals. A clock that steps back far was reset, or
    /// several traces were concatenated. Then the difference of the last and the first time is not
    /// the duration.
    ///
    /// # Errors
    /// [`SimError::Input`], with the remedy.
    pub(crate) fn has_clock(&self) -> Result<(), SimError> {
        if self.back_ns <= DISORDER_NS.max(self.duration_ns / DISORDER_SHARE) {
            return Ok(());
        }
        // Rounded up to two digits: a window that contains the disorder.
        let digit = 10_u64.pow(self.back_ns.ilog10().saturating_sub(1));
        let window = Ticks(self.back_ns.div_ceil(digit).saturating_mul(digit)).show();
        Err(SimError::Input(format!(
            "{}: the clock goes back by up to {window}, of {} in all, so its times are no arrivals: sort rows of \
             several recorders by ‹sort-window {window}›; cut a trace whose clock begins anew, and simulate the \
             parts; or take ‹clock device›, which leaves the times out",
            self.path,
            Ticks(self.duration_ns / 1_000_000 * 1_000_000).show(),
        )))
    }

    pub(crate) fn is_written(&self, page: u32) -> bool {
        self.written.get(page as usize / 64).is_some_and(|word| word >> (page % 64) & 1 == 1)
    }

    pub(super) fn extents(&self) -> Result<Replay, SimError> {
        Ok(Replay {
            spool: self.spool.share()?,
            first_ns: self.first_ns,
            at: 0,
            left: self.requests,
            known: (self.known_requests > 0).then(|| self.known.share()).transpose()?,
            known_at: 0,
            known_left: self.known_requests,
            done: 0,
            known_requests: self.known_requests,
        })
    }
}

/// Its name in results.
fn name(path: &str, mapping: TraceMapping) -> String {
    match mapping.sample {
        Some(sample) => format!("{path} {}", in_results("sample", &format!("1/{}", sample.of))),
        None => path.into(),
    }
}

/// Why there is nothing to replay.
fn nothing(path: &str, requests: u64, whole: Whole, mapping: TraceMapping) -> String {
    if whole.requests == 0 {
        return format!("{path}: the trace has no requests, or none that were asked for");
    }
    if let Some(sample) = mapping.sample {
        return format!(
            "{path}: a sample of one page in {} leaves nothing of the trace; leave out ‹sample›",
            sample.of
        );
    }
    format!(
        "{path}: none of the {requests} requests reads or writes a page that counts; look at \
         `thermocline trace info`{}",
        if mapping.written_only { ", or leave out ‹footprint written›" } else { "" }
    )
}

pub(super) fn extent(request: &Request, numbering: &Numbering, mapping: TraceMapping) -> Extent {
    let page = u64::from(mapping.page_size);
    let end = request.offset.saturating_add(request.len);
    let range = match request.op {
        _ if request.len == 0 => 0..0,
        Op::Flush => 0..0,
        // A trim frees only pages that it covers completely.
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
            Numbering::Absolute => range,
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
        hint: request.hint,
        partial_head: head,
        partial_tail: tail,
        continued: false,
    }
}

/// The position of one run in the renumbered trace.
pub(crate) struct Replay {
    spool: Spool,
    first_ns: u64,
    at: u64,
    pub(super) left: u64,
    /// Number of requests already read.
    done: u64,
    known: Option<Spool>,
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
        let first_ns = self.first_ns;
        let mut bytes = vec![0; count * EXTENT_BYTES];
        self.spool.read_at(&mut bytes, self.at)?;
        self.at += bytes.len() as u64;
        self.left -= count as u64;
        batch.extents.extend(bytes.as_chunks::<EXTENT_BYTES>().0.iter().map(|bytes| {
            let extent = Extent::decode(bytes);
            Extent { time_ns: extent.time_ns - first_ns + base_ns, ..extent }
        }));
        self.read_known(&mut batch.known, count as u64)?;
        self.done += count as u64;
        Ok(())
    }

    /// Reads the known contents of the next `count` requests.
    fn read_known(&mut self, into: &mut Known, count: u64) -> Result<(), SimError> {
        let Some(spool) = &self.known else { return Ok(()) };
        while self.known_left > 0 {
            let mut head = [0; 24];
            spool.read_at(&mut head, self.known_at)?;
            let [number, skip, len] = *head.as_chunks::<8>().0 else { unreachable!("24 bytes") };
            let [number, skip, len] = [number, skip, len].map(u64::from_le_bytes);
            if number >= self.done + count {
                break;
            }
            let bytes = into.add((number - self.done) as usize, skip as usize, len as usize);
            spool.read_at(bytes, self.known_at + 24)?;
            self.known_at += 24 + len;
            self.known_left -= 1;
        }
        Ok(())
    }
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
            sample: None,
        };
        let numbering = Numbering::Absolute;
        let write = |offset, len| {
            let request = Request { time_ns: 0, offset, len, volume: 0, op: Op::Write, hint: 0 };
            let e = extent(&request, &numbering, mapping);
            (e.first, e.pages, e.partial_head, e.partial_tail)
        };
        assert_eq!(write(0, 4096), (0, 1, false, false));
        assert_eq!(write(512, 512), (0, 1, true, false));
        assert_eq!(write(0, 512), (0, 1, true, false));
        assert_eq!(write(4096, 4608), (1, 2, false, true));
        assert_eq!(write(3584, 8192), (0, 3, true, true));
        let trim = Request { time_ns: 0, offset: 512, len: 8192, volume: 0, op: Op::Trim, hint: 0 };
        let e = extent(&trim, &numbering, mapping);
        assert_eq!((e.first, e.pages), (1, 1));
    }
}
